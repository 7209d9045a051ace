"""What the tests of operators share: the samples of all operators, engines to run them, tolerances."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia.autodiff.tape import Tape, token_of
from mycelia.ir import dtypes
from mycelia.ir.operator import REGISTRY, Operator
from mycelia.ops import dispatch
from mycelia.ops.samples import Sample
from mycelia.tensor.tensor import Tensor

# Relative to the largest expected element; a sample's own factor multiplies it.
TOLERANCE = {"float64": 2e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


def operators() -> list[Operator]:
    """Every operator that has samples, by name."""
    return sorted((op for op in REGISTRY.values() if op.samples is not None), key=lambda op: op.name)


def cases(
    select: Callable[[Operator, Sample], bool] = lambda op, sample: True,
    most: int | None = None,
    one_of: Callable[[Sample], Any] | None = None,
) -> list[Any]:
    """pytest parameters (operator, sample): at most ``most`` for each operator, and the first of each kind
    that ``one_of`` tells apart."""
    parameters = []
    for op in operators():
        kept, names, kinds = 0, set(), set()
        for sample in op.samples():
            kind = sample.label if one_of is None else one_of(sample)
            if not select(op, sample) or one_of is not None and kind in kinds:
                continue
            if most is not None and kept >= most:
                break
            kept += 1
            kinds.add(kind)
            name = f"{op.name}-{sample.label}"
            while name in names:
                name += "'"
            names.add(name)
            parameters.append(pytest.param(op, sample, id=name))
    return parameters


def dtypes_and_layout(sample: Sample) -> tuple:
    """Tells samples apart by what a mode may treat differently: dtypes, memory order, emptiness."""
    return (
        tuple(str(a.dtype) for a in sample.inputs),
        str(sample.attrs.get("dtype")),
        all(a.flags.c_contiguous for a in sample.inputs),
        any(a.size == 0 for a in sample.inputs),
        any(a.ndim == 0 for a in sample.inputs),
    )


class ReferenceEngine:
    """Carries out operators by their NumPy references."""

    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        declared = op.output_types(tuple(x.type for x in inputs), attrs)
        with np.errstate(all="ignore"):
            results = op.reference(*(x.asnumpy() for x in inputs), **attrs)
        results = results if isinstance(results, tuple) else (results,)
        for kind, array in zip(declared, results, strict=True):
            assert kind.dtype.numpy == array.dtype, (
                f"{op.name}: infer says {kind}, the reference gives {array.dtype}"
            )
            if kind.is_static:
                assert kind.shape == array.shape, (
                    f"{op.name}: infer says {kind}, the reference gives {array.shape}"
                )
        outputs = tuple(Tensor(np.array(array)) for array in results)
        return outputs[0] if op.num_outputs == 1 else outputs

    def write(self, target: Tensor, value: Tensor) -> None:
        target._storage.write_host(np.ascontiguousarray(value.asnumpy()))


REFERENCE = ReferenceEngine()


def as_tuple(results: Any) -> tuple:
    return results if isinstance(results, tuple) else (results,)


def by_reference(op: Operator, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    with dispatch.interpreting(REFERENCE):
        return tuple(y.asnumpy() for y in as_tuple(op(*(Tensor(np.array(a)) for a in arrays), **attrs)))


def shown(array: np.ndarray) -> Tensor:
    """A tensor with the array's elements; a view of a larger one where the array is not contiguous."""
    if array.flags.c_contiguous:
        return Tensor(np.array(array))
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    wide[..., ::2] = array
    return Tensor(wide)[..., ::2]


def eagerly(op: Operator, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """PyNative mode."""
    return tuple(y.asnumpy() for y in as_tuple(op(*map(shown, arrays), **attrs)))


def in_a_graph(op: Operator, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Graph mode."""
    @ms.jit
    def function(*xs):
        return op(*xs, **attrs)
    return tuple(y.asnumpy() for y in as_tuple(function(*map(shown, arrays))))


def assert_close(found: np.ndarray, expected: np.ndarray, factor: float = 1.0, what: str = "") -> None:
    """Equal dtype and shape, and elements within the dtype's tolerance."""
    assert found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    name = str(expected.dtype)
    if name not in TOLERANCE:
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(np.where(finite, 0, a), np.where(finite, 0, b), err_msg=what)
    if finite.any():
        scale = np.abs(b[finite]).max()
        relative = TOLERANCE[name] * factor
        np.testing.assert_allclose(
            np.where(finite, a, 0),
            np.where(finite, b, 0),
            rtol=relative,
            atol=relative * min(scale, 1.0) + 1e-300,
            err_msg=what,
        )


# -- gradients -----------------------------------------------------------------------------------------------
def in_float64(sample: Sample) -> tuple[np.ndarray, ...]:
    """The sample's inputs with every float as float64."""
    return tuple(
        a.astype(np.float64) if dtypes.from_numpy_dtype(a.dtype).is_float else np.array(a)
        for a in sample.inputs
    )


def is_float(array: np.ndarray) -> bool:
    return dtypes.from_numpy_dtype(array.dtype).is_float


def pullback(
    function: Callable[..., Any], inputs: Sequence[Tensor], cotangents: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The cotangents of the inputs, under whatever interpreter is current."""
    tape = Tape()
    tokens = [token_of(x) for x in inputs]
    with dispatch.interpreting(tape):
        outputs = as_tuple(function(*inputs))
    return tape.backward(outputs, cotangents, tokens)


def noise(array: np.ndarray, seed: int) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, array.shape))
