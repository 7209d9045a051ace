"""Looking up places in sorted elements, and telling elements apart."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL, int64
from mycelia.ir.operator import Operator
from mycelia.ir.types import Sym, TensorType
from mycelia.ops.batching import all_at_front
from mycelia.ops.constants import constant
from mycelia.ops.definition import operator
from mycelia.ops.indexing import Gather
from mycelia.ops.inference import NUMBERS, no_gradient, require_dtypes, wrong_shape
from mycelia.ops.reference import is_half
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values
from mycelia.tensor.tensor import Tensor


@operator("SearchSorted")
class SearchSorted:
    """The place (int64) of each value in a sorted last axis: before equal elements, or with ``right`` after
    them. The sorted tensor is a vector, or has the leading axes of the values. NaN counts as largest."""

    def infer(ordered: TensorType, v: TensorType, *, right: bool) -> TensorType:
        types = (ordered, v)
        require_dtypes("SearchSorted", types, NUMBERS)
        if ordered.ndim == 0 or ordered.ndim > 1 and ordered.shape[:-1] != v.shape[:-1]:
            raise wrong_shape("SearchSorted", types, "the sorted tensor must be a vector, or both must have "
                              "equal leading axes", "Reshape one of them")
        return v.with_dtype(int64)

    vjp = no_gradient

    def batch(axes, ordered, v, *, right):
        return SearchSorted(*all_at_front(axes, (ordered, v)), right=right), 0

    def reference(ordered, v, *, right):
        if is_half(v):
            ordered, v = ordered.astype(np.float32), v.astype(np.float32)
        side = "right" if right else "left"
        if ordered.ndim == 1:
            return np.asarray(np.searchsorted(ordered, v, side)).astype(np.int64)
        result = np.empty(v.shape, np.int64)
        for row in np.ndindex(v.shape[:-1]):
            result[row] = np.searchsorted(ordered[row], v[row], side)
        return result

    def samples():
        for right in (False, True):
            for dtype in NUMBERS:
                ordered = np.sort(values((5,), dtypes.float32, 0, 9)).astype(dtype.numpy)
                asked = np.concatenate([ordered[1:4], values((4,), dtype, 0, 9)])
                yield Sample((ordered, asked), {"right": right}, gradient=False)
            rows = np.sort(values((2, 3, 7)), -1)
            for asked in (values((2, 3, 4)), strided(values((2, 3, 2)))):
                yield Sample((rows, asked), {"right": right}, gradient=False)
            yield Sample((np.zeros(0, np.float32), values((3,))), {"right": right}, gradient=False)
            yield Sample((np.arange(4.0), np.array(2.0)), {"right": right}, gradient=False)

    errors = [ErrorCase((tensor(dtypes.float32, 2, 3), tensor(dtypes.float32, 3, 3)), ValueError,
                        "leading axes", {"right": False}),
              ErrorCase((tensor(dtypes.float32, 3), tensor(dtypes.int32, 3)), TypeError, "one dtype",
                        {"right": False})]


def found(op: Operator, x: Tensor, **attrs: Any) -> tuple[Tensor, ...]:
    """The results of a data-dependent operator: worked out on the spot where the tensor has elements, else in
    the graph, with an extent that is known only when it runs."""
    if x._storage is None:
        return op(x, **attrs)
    op.infer(x.type, **attrs)
    assert op.reference is not None
    return tuple(constant(array) for array in op.reference(x.asnumpy(), **attrs))


def _count(bound: Any) -> Sym:
    return Sym(lo=0, hi=bound if isinstance(bound, int) else bound.hi, bounded=True)


def _told_apart(x: np.ndarray, ordered: bool) -> tuple[np.ndarray, ...]:
    keys = x.astype(np.float32) if is_half(x) else x
    _, first, inverse, counts = np.unique(
        keys.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    inverse = inverse.reshape(x.shape)
    if not ordered:  # by first occurrence
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    return x.ravel()[first], inverse.astype(np.int64), counts.astype(np.int64)


def _samples(**attrs: Any) -> Iterator[Sample]:
    for dtype in ALL:
        yield Sample((values((3, 7), dtype, 0, 4),), attrs, gradient=False)
    for shape in ((0,), (), (1,)):
        yield Sample((values(shape),), attrs, gradient=False)
    yield Sample((strided(values((4, 6), dtypes.int32, 0, 3)),), attrs, gradient=False)


@operator("Unique", num_outputs=3)
class Unique:
    """The elements without repetition, in ascending order or that of their first occurrence; the place
    (int64) of each input element among them; how often each occurs (int64)."""

    def infer(x: TensorType, *, sorted: bool) -> tuple[TensorType, ...]:
        count = _count(x.size)
        return TensorType(x.dtype, (count,)), x.with_dtype(int64), TensorType(int64, (count,))

    def vjp(g, x, y, inverse, counts, *, sorted): return Gather(g[0], inverse, axis=0)
    def reference(x, *, sorted): return _told_apart(x, sorted)

    def samples():
        yield from _samples(sorted=True)
        yield from _samples(sorted=False)


def _slices(name: str, x: TensorType, axis: int) -> tuple[TensorType, ...]:
    if not 0 <= axis < x.ndim:
        raise wrong_shape(name, (x,), f"axis must be within {x.ndim} dimensions, not {axis}", "Normalise it")
    count = _count(x.shape[axis])
    along = TensorType(int64, (x.shape[axis],))
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return TensorType(x.dtype, shape), along, TensorType(int64, (count,))


@operator("UniqueSlices", num_outputs=3)
class UniqueSlices:
    """`Unique` of whole slices along an axis, in ascending order."""

    def infer(x: TensorType, *, axis: int) -> tuple[TensorType, ...]: return _slices("UniqueSlices", x, axis)

    vjp = no_gradient

    def reference(x, *, axis):
        keys = x.astype(np.float32) if is_half(x) else x
        y, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True, axis=axis)
        return y.astype(x.dtype), inverse.reshape(-1).astype(np.int64), counts.astype(np.int64)

    def samples():
        for dtype in ALL:
            yield Sample((values((7, 2), dtype, 0, 2),), {"axis": 0}, gradient=False)
        yield Sample((strided(values((2, 9), dtypes.int32, 0, 2)),), {"axis": 1}, gradient=False)

    errors = [ErrorCase((tensor(dtypes.float32, 2),), ValueError, "axis must be within", {"axis": 1})]


@operator("UniqueConsecutive", num_outputs=3)
class UniqueConsecutive:
    """The elements that differ from the one before (slices along ``axis``; the flattened tensor for -1); each
    element's place among them; how many are equal in a row."""

    def infer(x: TensorType, *, axis: int) -> tuple[TensorType, ...]:
        if axis < 0:
            count = _count(x.size)
            return TensorType(x.dtype, (count,)), x.with_dtype(int64), TensorType(int64, (count,))
        return _slices("UniqueConsecutive", x, axis)

    vjp = no_gradient

    def reference(x, *, axis):
        rows = x.reshape(-1, 1) if axis < 0 else np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
        keys = rows.astype(np.float32) if is_half(rows) else rows
        starts = np.ones(len(rows), np.bool_)
        starts[1:] = (keys[1:] != keys[:-1]).any(1)
        first = np.flatnonzero(starts)
        inverse = (np.cumsum(starts) - 1).astype(np.int64)
        counts = np.diff(np.append(first, len(rows))).astype(np.int64)
        if axis < 0:
            return x.ravel()[first], inverse.reshape(x.shape), counts
        return np.take(x, first, axis), inverse, counts

    def samples():
        yield from _samples(axis=-1)
        yield Sample((values((7, 2), dtypes.int32, 0, 1),), {"axis": 0}, gradient=False)
        yield Sample((strided(values((2, 9), dtypes.int32, 0, 1)),), {"axis": 1}, gradient=False)

    errors = [ErrorCase((tensor(dtypes.float32, 2),), ValueError, "axis must be within", {"axis": 1})]
