"""Running sums, products and extrema along one axis."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType, bool_
from mycelia.ir.types import TensorType
from mycelia.ops.batching import at_front
from mycelia.ops.comparison import Equal, Greater
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.exponential import Exp, Log
from mycelia.ops.indexing import GatherDGrad
from mycelia.ops.inference import NUMBERS, names, wrong_dtype, wrong_shape
from mycelia.ops.logic import LogicalAnd
from mycelia.ops.reference import accumulated, widened
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values
from mycelia.ops.selection import Cast, Select


def _require(name: str, x: TensorType, axis: int, takes: tuple[DType, ...]) -> None:
    if x.dtype not in takes:
        raise wrong_dtype(name, (x,), f"the dtype must be {names(takes)}", "Convert with astype")
    if not 0 <= axis < x.ndim:
        raise wrong_shape(name, (x,), f"axis must be within {x.ndim} dimensions, not {axis}",
                          "Normalise it first")


class Running:
    """The type rule of a running result: the input's own type."""

    operator = "?"

    def __init__(self, takes: tuple[DType, ...] = NUMBERS) -> None:
        self.takes = takes

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(self, x: TensorType, *, axis: int, exclusive: bool, reverse: bool) -> TensorType:
        _require(self.operator, x, axis, self.takes)
        return x


class RunningExtremum(Running):
    """The type rule of a running extremum and its place."""

    def __call__(self, x: TensorType, *, axis: int) -> tuple[TensorType, TensorType]:  # type: ignore[override]
        _require(self.operator, x, axis, self.takes)
        return x, x.with_dtype(dtypes.int64)


def _batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes, x, *, axis, **how):
        record = op()
        at = (0,) * record.num_outputs if record.num_outputs > 1 else 0
        return record(at_front(x, axes[0]), axis=axis + 1, **how), at
    return batch


_SHAPES = (((5,), 0), ((3, 4), 1), ((2, 3, 7), 1), ((2, 2, 19), 1), ((0, 3), 0))


def _samples(takes: tuple[DType, ...], low: float = -2.0) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        for dtype in takes:
            for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
                for shape, axis in _SHAPES:
                    how = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
                    yield Sample((values(shape, dtype, low, 2.0),), how, tolerance=4.0)
        how = {"axis": 1, "exclusive": False, "reverse": False}
        yield Sample((strided(values((4, 6), dtypes.float32, low, 2.0)),), how, tolerance=4.0)
    return samples


def _errors(refused: DType, **more: bool) -> list[ErrorCase]:
    return [
        ErrorCase((tensor(refused, 2),), TypeError, "the dtype must be", {"axis": 0, **more}),
        ErrorCase((tensor(dtypes.float32, 2),), ValueError, "axis must be within", {"axis": 1, **more}),
    ]


def _running(function: Callable[..., Any], nothing: float) -> Callable[..., Any]:
    def reference(x: np.ndarray, *, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
        total = accumulated(function, np.flip(x, axis) if reverse else x, axis=axis)
        if exclusive:
            total = np.roll(total, 1, axis)
            total[(slice(None),) * axis + (slice(0, 1),)] = nothing
        return np.ascontiguousarray(np.flip(total, axis)) if reverse else total
    return reference


_PLAIN = {"exclusive": False, "reverse": False}


@operator("CumSum")
class CumSum:
    """Running sums along an axis; ``exclusive`` leaves out the element itself, ``reverse`` runs from the
    end."""

    infer = Running()

    def vjp(g, x, y, *, axis, exclusive, reverse):
        return CumSum(g, axis=axis, exclusive=exclusive, reverse=not reverse)

    batch = _batch(lambda: CumSum)
    reference = _running(np.cumsum, 0)
    samples = _samples(NUMBERS)
    errors = _errors(bool_, **_PLAIN)


@operator("CumProd")
class CumProd:
    """Running products along an axis; ``exclusive`` leaves out the element itself, ``reverse`` runs from the
    end."""

    infer = Running()

    def vjp(g, x, y, *, axis, exclusive, reverse):
        """Each product over the factor; the first zero's own products are taken without it."""
        zero = Equal(x, like(0, x))
        count = CumSum(Cast(zero, dtype=dtypes.int64), axis=axis, exclusive=False, reverse=reverse)
        first = LogicalAnd(zero, Equal(count, like(1, count)))
        without = CumProd(Select(first, like(1, x), x), axis=axis, exclusive=exclusive, reverse=reverse)
        how = {"axis": axis, "exclusive": exclusive, "reverse": not reverse}
        usual = CumSum(g * y, **how) / Select(zero, like(1, x), x)
        return Select(zero, Select(first, CumSum(g * without, **how), like(0, x)), usual)

    batch = _batch(lambda: CumProd)
    reference = _running(np.cumprod, 1)

    def samples():
        yield from _samples(NUMBERS)()
        for exclusive in (False, True):
            yield Sample((np.array([[2.0, 0.0, 3.0, 0.0], [1.0, -2.0, 0.0, 4.0]]),),
                         {"axis": 1, "exclusive": exclusive, "reverse": exclusive})

    errors = _errors(bool_, **_PLAIN)


@operator("CumulativeLogsumexp")
class CumulativeLogsumexp:
    """The logarithm of the running sums of exp(x) along an axis, without overflow."""

    infer = Running(dtypes.FLOATS)

    def vjp(g, x, y, *, axis, exclusive, reverse):
        """``exp(x) * sum(g * exp(-y))``, positive and negative cotangents apart and as logarithms."""
        how = {"axis": axis, "exclusive": exclusive, "reverse": not reverse}
        nothing, zero = like(float("-inf"), g), like(0, g)
        parts = [
            Exp(x + CumulativeLogsumexp(Select(Greater(part, zero), Log(part) - y, nothing), **how))
            for part in (g, -g)
        ]
        return parts[0] - parts[1]

    batch = _batch(lambda: CumulativeLogsumexp)
    reference = _running(np.logaddexp.accumulate, -np.inf)

    def samples():
        for sample in _samples(dtypes.FLOATS)():
            # the logarithm of nothing is -inf, which has no finite differences
            yield Sample(sample.inputs, sample.attrs, not sample.attrs["exclusive"], sample.tolerance)
        yield Sample((np.array([-np.inf, -np.inf, 900.0, 901.0, np.inf], np.float32),), {"axis": 0, **_PLAIN},
                     gradient=False)

    errors = _errors(dtypes.int32, **_PLAIN)


def _extremum(ufunc: Any) -> Callable[..., Any]:
    def reference(x: np.ndarray, *, axis: int) -> tuple[np.ndarray, np.ndarray]:
        if x.size == 0:
            return x.copy(), np.zeros(x.shape, np.int64)
        y = ufunc.accumulate(x, axis=axis)
        place = np.arange(x.shape[axis]).reshape(-1, *(1,) * (x.ndim - axis - 1))
        hit = (x == y) | (x != x)
        return y, np.maximum.accumulate(np.where(hit, place, 0), axis=axis).astype(np.int64)
    return widened(reference)


def _extremum_samples() -> Iterator[Sample]:
    for dtype in NUMBERS:
        for shape, axis in _SHAPES:
            ties = dtype.is_integer
            yield Sample((values(shape, dtype, -3.0, 9.0),), {"axis": axis}, gradient=not ties)
    yield Sample((np.array([[1, 3, 3, np.nan, 2, np.nan, 5]], np.float32),), {"axis": 1}, gradient=False)
    yield Sample((np.array([-np.inf, np.inf, np.inf, -np.inf], np.float32),), {"axis": 0}, gradient=False)


@operator("CumMax", num_outputs=2)
class CumMax:
    """The largest element so far along an axis, and its place (int64), the latest of equal ones; NaN
    stays."""

    infer = RunningExtremum()
    def vjp(g, x, y, places, *, axis): return GatherDGrad(places, g[0], axis=axis, shape=x.shape)
    batch = _batch(lambda: CumMax)
    reference = _extremum(np.maximum)
    samples = _extremum_samples
    errors = _errors(bool_)


@operator("CumMin", num_outputs=2)
class CumMin:
    """The smallest element so far along an axis, and its place (int64), the latest of equal ones; NaN
    stays."""

    infer = RunningExtremum()
    def vjp(g, x, y, places, *, axis): return GatherDGrad(places, g[0], axis=axis, shape=x.shape)
    batch = _batch(lambda: CumMin)
    reference = _extremum(np.minimum)
    samples = _extremum_samples
    errors = _errors(bool_)
