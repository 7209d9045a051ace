"""Softmax and its logarithm along one axis."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front
from mycelia.ops.definition import operator
from mycelia.ops.exponential import Exp
from mycelia.ops.inference import require_dtypes, wrong_shape
from mycelia.ops.reduction import ReduceSum
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values


class AlongAxis:
    """The type rule of a float operator that works along one axis."""

    operator = "?"

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(self, x: TensorType, *cotangent: TensorType, axis: int) -> TensorType:
        require_dtypes(self.operator, (x, *cotangent), dtypes.FLOATS)
        if any(t.shape != x.shape for t in cotangent):
            raise wrong_shape(self.operator, (x, *cotangent), "y and its cotangent must have one shape",
                              "Broadcast the cotangent")
        if not 0 <= axis < x.ndim:
            raise wrong_shape(self.operator, (x,), f"axis must be within {x.ndim} dimensions, not {axis}",
                              "Normalise it first; a 0-d tensor has none")
        return x


def _batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes, *inputs, axis):
        return op()(*all_at_front(axes, inputs), axis=axis + 1), 0
    return batch


def _samples() -> Iterator[Sample]:
    for dtype in dtypes.FLOATS:
        for shape, axis in (
            ((5,), 0),
            ((3, 4), 1),
            ((3, 4), 0),
            ((2, 3, 17), 1),
            ((0, 3), 1),
            ((3, 0), 1),
            ((2, 129), 1),
        ):
            yield Sample((values(shape, dtype, -4.0, 4.0),), {"axis": axis}, tolerance=2.0)
        yield Sample((strided(values((4, 6), dtype, -4.0, 4.0)),), {"axis": 1}, tolerance=2.0)
    yield Sample(
        (np.array([[1e4, 1e4 - 1, 0.0], [-1e4, -1e4, -1e4]], np.float32),), {"axis": 1}, gradient=False
    )


_ERRORS = [
    ErrorCase((tensor(dtypes.int32, 2),), TypeError, "dtype must be float16", {"axis": 0}),
    ErrorCase(
        (tensor(dtypes.float32, 2),), ValueError, "axis must be within 1 dimensions, not 1", {"axis": 1}
    ),
]


def _softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    return np.exp(_log_softmax(x, axis=axis))


def _log_softmax(x: np.ndarray, *, axis: int) -> np.ndarray:
    if x.size == 0:
        return x.copy()
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))).astype(x.dtype)


@operator("Softmax")
class Softmax:
    """exp(x) over the sum of exp(x) along an axis, computed without overflow."""

    infer = AlongAxis()
    def vjp(g, x, y, *, axis): return SoftmaxGrad(y, g, axis=axis)
    batch = _batch(lambda: Softmax)
    reference = widened(_softmax)
    samples = _samples
    errors = _ERRORS


@operator("LogSoftmax")
class LogSoftmax:
    """x minus the logarithm of the sum of exp(x) along an axis."""

    infer = AlongAxis()
    def vjp(g, x, y, *, axis): return LogSoftmaxGrad(y, g, axis=axis)
    batch = _batch(lambda: LogSoftmax)
    reference = widened(_log_softmax)
    samples = _samples
    errors = _ERRORS


def _grad_samples(outputs: Callable[..., np.ndarray]) -> Callable[[], Iterator[Sample]]:
    """Outputs of the forward operator with cotangents of their shapes."""
    def samples() -> Iterator[Sample]:
        for sample in _samples():
            (x,) = sample.inputs
            y, g = outputs(x, **sample.attrs), values(x.shape, dtypes.from_numpy_dtype(x.dtype), key="g")
            yield Sample((y, g if x.flags.c_contiguous else strided(g)), sample.attrs, sample.gradient, 4.0)
    return samples


_GRAD_ERRORS = [
    ErrorCase((tensor(dtypes.int32, 2),) * 2, TypeError, "dtype must be float16", {"axis": 0}),
    ErrorCase((tensor(dtypes.float32, 2), tensor(dtypes.float32, 3)), ValueError, "one shape", {"axis": 0}),
]


@operator("SoftmaxGrad")
class SoftmaxGrad:
    """The cotangent of `Softmax`'s input, ``(g - sum(g * y)) * y``, from its output and that one's
    cotangent."""

    infer = AlongAxis()

    def vjp(h, y, g, dx, *, axis):
        total = ReduceSum(g * y, axes=(axis,), keepdims=True)
        along = ReduceSum(h * y, axes=(axis,), keepdims=True)
        return h * (g - total) - g * along, (h - along) * y

    batch = _batch(lambda: SoftmaxGrad)

    def _reference(y, g, *, axis):
        return ((g - (g.astype(np.float64) * y).sum(axis, keepdims=True)) * y).astype(y.dtype)

    reference = widened(_reference)
    samples = _grad_samples(Softmax.reference)
    errors = _GRAD_ERRORS


@operator("LogSoftmaxGrad")
class LogSoftmaxGrad:
    """The cotangent of `LogSoftmax`'s input, ``g - exp(y) * sum(g)``, from its output and that one's
    cotangent."""

    infer = AlongAxis()

    def vjp(h, y, g, dx, *, axis):
        weighted = h * Exp(y)
        along = ReduceSum(weighted, axes=(axis,), keepdims=True)
        return -weighted * ReduceSum(g, axes=(axis,), keepdims=True), h - along

    batch = _batch(lambda: LogSoftmaxGrad)

    def _reference(y, g, *, axis):
        return (g - np.exp(y) * g.astype(np.float64).sum(axis, keepdims=True)).astype(y.dtype)

    reference = widened(_reference)
    samples = _grad_samples(LogSoftmax.reference)
    errors = _GRAD_ERRORS
