"""Random numbers of distributions that need rejection, gamma and Poisson, from the same Philox counters as
the others."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ir.operator import Effects
from mycelia.ir.types import Dim, TensorType
from mycelia.ops import philox
from mycelia.ops.batching import at_front, reshape
from mycelia.ops.definition import operator
from mycelia.ops.inference import no_gradient, wrong_dtype, wrong_shape
from mycelia.ops.random import _require_state
from mycelia.ops.samples import ErrorCase, Sample, tensor


class Drawn:
    """The type rule of a draw with a parameter that broadcasts to the values' shape."""

    operator = "?"

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(
        self, state: TensorType, parameter: TensorType, *, shape: tuple[Dim, ...], dtype: DType
    ) -> tuple[TensorType, TensorType]:
        types = (state, parameter)
        _require_state(self.operator, types)
        if not parameter.dtype.is_float:
            raise wrong_dtype(self.operator, types, "the parameter must be a float", "Convert it with astype")
        lead = len(shape) - parameter.ndim
        if lead < 0 or any(d != 1 and d != shape[lead + i] for i, d in enumerate(parameter.shape)):
            raise wrong_shape(
                self.operator, types, f"the parameter must broadcast to {tuple(shape)}", "Reshape it"
            )
        return state, TensorType(dtype, tuple(shape))


def _batch(op: Callable):
    def batch(axes, state, parameter, *, shape, dtype):
        if axes[0] is not None:
            raise NotImplementedError("vmap over the generator's state is not possible. Draw outside of vmap")
        parameter = at_front(parameter, axes[1])
        size = parameter.shape[0]
        parameter = reshape(
            parameter, size, *(1,) * (len(shape) - parameter.ndim + 1), *parameter.shape[1:]
        )
        state, drawn = op()(state, parameter, shape=(size, *shape), dtype=dtype)
        return (state, drawn), (None, 0)
    return batch


class _Stream:
    """Doubles from a generator's state, one array after the other."""

    def __init__(self, state: np.ndarray) -> None:
        self.state = state

    def uniform(self, count: int) -> np.ndarray:
        self.state, values = philox.uniform(self.state, shape=(count,), dtype=dtypes.float64)
        return values

    def normal(self, count: int) -> np.ndarray:
        self.state, values = philox.normal(self.state, shape=(count,), dtype=dtypes.float64)
        return values


def _gamma(stream: _Stream, alpha: np.ndarray) -> np.ndarray:
    """Standard gamma numbers by squeezed cubes of normal ones (Marsaglia and Tsang 2000); a shape below 1
    from one above it and a power of a uniform number."""
    small = alpha < 1
    d = np.where(small, alpha + 1, alpha) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    result = np.full(alpha.shape, np.nan)
    left = np.flatnonzero(alpha > 0)
    while left.size:
        x, u = stream.normal(left.size), stream.uniform(left.size)
        v = (1 + c[left] * x) ** 3
        inside = v > 0
        logs = np.log(np.where(inside, v, 1))
        taken = inside & (np.log(u) < 0.5 * x * x + d[left] * (1 - v + logs))
        result[left[taken]] = (d[left] * v)[taken]
        left = left[~taken]
    power = stream.uniform(alpha.size) ** (1 / np.where(small, alpha, 1))
    return np.where(small, result * power, result)


_SMALL_RATE = 30.0


def _poisson(stream: _Stream, rate: np.ndarray) -> np.ndarray:
    """Poisson numbers: of small rates by inverting the distribution, of others by transformed rejection
    (Hoermann 1993, PTRS)."""
    result = np.where(rate >= 0, 0.0, np.nan)
    u = stream.uniform(rate.size)
    small = np.flatnonzero((rate > 0) & (rate < _SMALL_RATE))
    if small.size:
        term = np.exp(-rate[small])
        total, k = term.copy(), np.zeros(small.size)
        going = u[small] > total
        while going.any():
            k[going] += 1
            term = np.where(going, term * rate[small] / np.maximum(k, 1), term)
            total = np.where(going, total + term, total)
            going = going & (u[small] > total) & (term > 1e-300)
        result[small] = k
    left = np.flatnonzero(rate >= _SMALL_RATE)
    while left.size:
        r = rate[left]
        b = 0.931 + 2.53 * np.sqrt(r)
        a = -0.059 + 0.02483 * b
        inverse = 1.1239 + 1.1328 / (b - 3.4)
        u, v = stream.uniform(left.size) - 0.5, stream.uniform(left.size)
        us = 0.5 - np.abs(u)
        k = np.floor((2 * a / us + b) * u + r + 0.43)
        quick = (us >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        height = np.log(v * inverse / (a / (us * us) + b))
        taken = quick | possible & (height <= k * np.log(r) - r - _log_factorial(np.maximum(k, 0)))
        result[left[taken]] = k[taken]
        left = left[~taken]
    return result


def _log_factorial(k: np.ndarray) -> np.ndarray:
    """Stirling's series from 10 on, after a product below."""
    z = np.where(k < 10, k + 10, k) + 1
    series = (z - 0.5) * np.log(z) - z + 0.5 * np.log(2 * np.pi) + 1 / (12 * z) - 1 / (360 * z**3)
    shift = sum(np.log(k + i) for i in range(1, 11))
    return np.where(k < 10, series - shift, series)


def _reference(numbers: Callable[[_Stream, np.ndarray], np.ndarray]):
    def reference(state, parameter, *, shape, dtype):
        stream = _Stream(state)
        wide = np.broadcast_to(parameter.astype(np.float64), shape).ravel()
        with np.errstate(all="ignore"):
            values = numbers(stream, wide).reshape(shape)
            values = np.nan_to_num(values) if dtype.is_integer else values
            return stream.state, values.astype(dtype.numpy)
    return reference


def _samples():
    state = np.array([7, 3])
    for dtype in (*dtypes.FLOATS, dtypes.int32, dtypes.int64):
        yield Sample((state, np.float32(2.5)), {"shape": (3, 5), "dtype": dtype}, gradient=False)
    for shape, parameter in (((), 0.5), ((0,), 1.0), ((4, 3), np.array([0.3, 40.0, 4000.0]))):
        how = {"shape": shape, "dtype": dtypes.float32}
        yield Sample((state, np.asarray(parameter)), how, gradient=False)


_ERRORS = [
    ErrorCase((tensor(dtypes.int64, 2), tensor(dtypes.float32, 3)), ValueError, "must broadcast",
              {"shape": (2,), "dtype": dtypes.float32}),
    ErrorCase((tensor(dtypes.int64, 2), tensor(dtypes.int32)), TypeError, "must be a float",
              {"shape": (2,), "dtype": dtypes.float32}),
]


@operator("RandomGamma", num_outputs=2, effects=Effects(random=True))
class RandomGamma:
    """Numbers of the gamma distribution with a shape parameter and scale 1; NaN where it is not positive."""

    infer = Drawn()
    vjp = no_gradient
    batch = _batch(lambda: RandomGamma)
    reference = _reference(_gamma)
    samples = _samples
    errors = _ERRORS


@operator("RandomPoisson", num_outputs=2, effects=Effects(random=True))
class RandomPoisson:
    """Numbers of the Poisson distribution with a rate; NaN where it is negative (0 of an integer dtype)."""

    infer = Drawn()
    vjp = no_gradient
    batch = _batch(lambda: RandomPoisson)
    reference = _reference(_poisson)
    samples = _samples
    errors = _ERRORS
