"""Random numbers: Philox counters (see `mycelia.ops.philox`), so that every device and mode draws the same
ones.

Each operator takes the generator's state, int64[2] = (seed, offset), and returns the state after it, so that
program order is data flow: two draws never share counters, and a run from the same state repeats them.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ir.operator import Effects
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.batching import at_front, reshape
from mycelia.ops.definition import operator
from mycelia.ops.inference import INTEGERS_AND_BOOL, names, no_gradient, wrong_dtype, wrong_shape
from mycelia.ops.samples import ErrorCase, Sample, tensor

_BITS = INTEGERS_AND_BOOL


def _require_state(name: str, types: tuple[TensorType, ...]) -> None:
    state = types[0]
    if state.dtype is not dtypes.int64 or state.shape != (2,):
        raise wrong_shape(
            name,
            types,
            "the state of the generator must be int64[2], (seed, offset)",
            "Pass a Generator's state",
        )


class Draw:
    """The type rule of a random operator: the state, and values of ``shape`` and ``dtype``."""

    operator = "?"

    def __init__(self, gives: tuple[DType, ...]) -> None:
        self.gives = gives

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(
        self, state: TensorType, *, shape: tuple[Dim, ...], dtype: DType
    ) -> tuple[TensorType, TensorType]:
        _require_state(self.operator, (state,))
        if dtype not in self.gives:
            raise wrong_dtype(
                self.operator,
                (state,),
                f"dtype must be {names(self.gives)}, not {dtype.name}",
                "Convert afterwards",
            )
        return state, TensorType(dtype, tuple(shape))


def _samples(gives: tuple[DType, ...]) -> Any:
    def samples() -> Iterator[Sample]:
        for dtype in gives:
            for shape in ((), (0,), (3, 5), (1031,)):
                yield Sample((np.array([7, 3]),), {"shape": shape, "dtype": dtype}, gradient=False)
        yield Sample((np.array([-1, 2**40]),), {"shape": (17,), "dtype": gives[0]}, gradient=False)
    return samples


def _errors(refused: DType, given: DType) -> list[ErrorCase]:
    return [
        ErrorCase(
            (tensor(dtypes.int32, 2),), ValueError, r"must be int64\[2\]", {"shape": (2,), "dtype": given}
        ),
        ErrorCase((tensor(dtypes.int64, 2),), TypeError, "dtype must be", {"shape": (2,), "dtype": refused}),
    ]


@operator("RandomBits", num_outputs=2, effects=Effects(random=True))
class RandomBits:
    """Integers whose bits are all random."""

    infer = Draw(_BITS)
    vjp = no_gradient

    def reference(state, *, shape, dtype):
        from mycelia.ops import philox
        return philox.bits(state, shape=shape, dtype=dtype)

    samples = _samples(_BITS)
    errors = _errors(dtypes.float32, dtypes.uint32)


@operator("RandomUniform", num_outputs=2, effects=Effects(random=True))
class RandomUniform:
    """Uniform floats in [0, 1)."""

    infer = Draw(dtypes.FLOATS)
    vjp = no_gradient

    def reference(state, *, shape, dtype):
        from mycelia.ops import philox
        return philox.uniform(state, shape=shape, dtype=dtype)

    samples = _samples(dtypes.FLOATS)
    errors = _errors(dtypes.int32, dtypes.float32)


@operator("RandomNormal", num_outputs=2, effects=Effects(random=True))
class RandomNormal:
    """Floats of the standard normal distribution."""

    infer = Draw(dtypes.FLOATS)
    vjp = no_gradient

    def reference(state, *, shape, dtype):
        from mycelia.ops import philox
        return philox.normal(state, shape=shape, dtype=dtype)

    samples = _samples(dtypes.FLOATS)
    errors = _errors(dtypes.int32, dtypes.float32)


@operator("RandomBernoulli", num_outputs=2, effects=Effects(random=True))
class RandomBernoulli:
    """1 with probability ``p``, else 0; ``p`` is a float tensor that broadcasts to ``shape``."""

    def infer(
        state: TensorType, p: TensorType, *, shape: tuple[Dim, ...], dtype: DType
    ) -> tuple[TensorType, TensorType]:
        _require_state("RandomBernoulli", (state, p))
        if not p.dtype.is_float:
            raise wrong_dtype("RandomBernoulli", (state, p), "p must be a float", "Convert it with astype")
        lead = len(shape) - p.ndim
        if lead < 0 or any(d != 1 and d != shape[lead + i] for i, d in enumerate(p.shape)):
            raise wrong_shape(
                "RandomBernoulli", (state, p), f"p must broadcast to {tuple(shape)}", "Reshape it"
            )
        return state, TensorType(dtype, tuple(shape))

    vjp = no_gradient

    def batch(axes, state, p, *, shape, dtype):
        if axes[0] is not None:
            raise NotImplementedError(
                "RandomBernoulli: vmap over the generator's state. Draw outside of vmap"
            )
        p = at_front(p, axes[1])
        size = p.shape[0]
        p = reshape(p, size, *(1,) * (len(shape) - p.ndim + 1), *p.shape[1:])
        state, drawn = RandomBernoulli(state, p, shape=(size, *shape), dtype=dtype)
        return (state, drawn), (None, 0)

    def reference(state, p, *, shape, dtype):
        from mycelia.ops import philox
        return philox.bernoulli(state, p, shape=shape, dtype=dtype)

    def samples():
        for dtype in dtypes.ALL:
            yield Sample(
                (np.array([7, 3]), np.float32(0.25)), {"shape": (3, 5), "dtype": dtype}, gradient=False
            )
        for shape in ((), (0,), (1031,)):
            yield Sample(
                (np.array([7, 3]), np.float32(0.5)), {"shape": shape, "dtype": dtypes.float32}, gradient=False
            )
        yield Sample(
            (np.array([7, 3]), np.array([0.0, 0.5, 1.0])),
            {"shape": (40, 3), "dtype": dtypes.bool_},
            gradient=False,
        )

    errors = [ErrorCase((tensor(dtypes.int64, 2), tensor(dtypes.float32, 3)), ValueError, "p must broadcast",
                        {"shape": (2,), "dtype": dtypes.float32}),
              ErrorCase((tensor(dtypes.int64, 2), tensor(dtypes.int32)), TypeError, "p must be a float",
                        {"shape": (2,), "dtype": dtypes.float32})]
