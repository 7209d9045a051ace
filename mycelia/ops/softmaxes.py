"""Softmax and its logarithm along one axis."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import TensorType
from mycelia.ops.batching import at_front
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

    def __call__(self, x: TensorType, *, axis: int) -> TensorType:
        require_dtypes(self.operator, (x,), dtypes.FLOATS)
        if not 0 <= axis < x.ndim:
            raise wrong_shape(self.operator, (x,), f"axis must be within {x.ndim} dimensions, not {axis}",
                              "Normalise it first; a 0-d tensor has none")
        return x


def _batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes, x, *, axis):
        return op()(at_front(x, axes[0]), axis=axis + 1), 0
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

    def vjp(g, x, y, *, axis):
        weighted = g * y
        return weighted - y * ReduceSum(weighted, axes=(axis,), keepdims=True)

    batch = _batch(lambda: Softmax)
    reference = widened(_softmax)
    samples = _samples
    errors = _ERRORS


@operator("LogSoftmax")
class LogSoftmax:
    """x minus the logarithm of the sum of exp(x) along an axis."""

    infer = AlongAxis()
    def vjp(g, x, y, *, axis): return g - Exp(y) * ReduceSum(g, axes=(axis,), keepdims=True)
    batch = _batch(lambda: LogSoftmax)
    reference = widened(_log_softmax)
    samples = _samples
    errors = _ERRORS
