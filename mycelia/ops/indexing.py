"""Picking elements by index, and putting them back."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL, DType
from mycelia.ir.types import Dim, Sym, TensorType
from mycelia.ops.batching import all_at_front, at_front, batch_size, repeated, reshape
from mycelia.ops.definition import operator
from mycelia.ops.inference import no_gradient, require_dtypes, wrong_dtype, wrong_shape
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values


def _require_indices(name: str, types: tuple[TensorType, ...], indices: TensorType) -> None:
    if not indices.dtype.is_integer:
        raise wrong_dtype(
            name, types, "the indices must be integers", "Convert them with astype(mindspore.int32)"
        )


def _checked(name: str, indices: np.ndarray, extent: int) -> np.ndarray:
    if indices.size and (indices.max() >= extent or indices.min() < -extent):
        raise IndexError(
            f"{name}: indices must be in [{-extent}, {extent}). Received: {indices.min()} to {indices.max()}"
        )
    return np.where(indices < 0, indices + extent, indices).astype(np.int64)


def _gather_samples() -> Iterator[Sample]:
    rows = np.array([[2, 0], [1, 2]])
    for index in dtypes.INTEGERS:
        yield Sample((values((3, 4)), rows.astype(index.numpy)), {"axis": 0})
    for dtype in ALL:
        yield Sample((values((3, 4), dtype), np.array([3, 0, 0, -1], np.int32)), {"axis": 1})
    for shape, indices, axis in (
        ((5,), np.array(3), 0),
        ((3, 4, 5), rows, 1),
        ((3, 4), np.zeros((0,), np.int32), 0),
        ((3, 0), np.array([1, 2]), 0),
    ):
        yield Sample((values(shape), indices), {"axis": axis})
    yield Sample((strided(values((4, 6))), strided(np.array([3, 1, 2]))), {"axis": 0})


@operator("Gather")
class Gather:
    """Slices of ``x`` along an axis, picked by ``indices``; a negative index counts from the end.

    Output shape: ``x.shape[:axis] + indices.shape + x.shape[axis + 1:]``. An index out of range is an error.
    """

    def infer(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
        _require_indices("Gather", (x, indices), indices)
        if not 0 <= axis < x.ndim:
            raise wrong_shape(
                "Gather",
                (x, indices),
                f"axis must be within {x.ndim} dimensions, not {axis}",
                "Normalise it first",
            )
        return TensorType(x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]))

    def vjp(g, x, indices, y, *, axis): return GatherGrad(indices, g, axis=axis, shape=x.shape), None

    def batch(axes, x, indices, *, axis):
        if axes[1] is None:
            return Gather(at_front(x, axes[0]), indices, axis=axis + 1), 0
        if axes[0] is None:
            return Gather(x, at_front(indices, axes[1]), axis=axis), axis
        x, indices = at_front(x, axes[0]), at_front(indices, axes[1])
        size = x.shape[0]
        flat, index = _flat(x, axis), _offset(indices, size, x.shape[axis + 1])
        rest = tuple(i for i in range(x.ndim - 1) if i != axis)
        picked = Gather(flat, index, axis=0)  # [batch, *indices, *rest]
        count = indices.ndim - 1
        before = [1 + count + i for i, r in enumerate(rest) if r < axis]
        after = [1 + count + i for i, r in enumerate(rest) if r > axis]
        from mycelia.ops.movement import Transpose
        return Transpose(picked, perm=(0, *before, *range(1, 1 + count), *after)), 0

    def reference(x, indices, *, axis):
        return np.take(x, _checked("Gather", indices, x.shape[axis]), axis=axis)
    samples = _gather_samples
    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 3), tensor(dtypes.float32, 2)),
            TypeError,
            "indices must be integers",
            {"axis": 0},
        ),
        ErrorCase(
            (tensor(dtypes.float32, 3), tensor(dtypes.int32, 2)),
            ValueError,
            "axis must be within",
            {"axis": 1},
        ),
    ]


def _flat(x, axis: int):
    """[batch, ..., axis, ...] -> [batch * axis, ...]."""
    from mycelia.ops.movement import Transpose
    order = (0, axis + 1, *(i for i in range(1, x.ndim) if i != axis + 1))
    moved = Transpose(x, perm=order)
    return reshape(moved, moved.shape[0] * moved.shape[1], *moved.shape[2:])


def _offset(indices, size: Dim, extent: Dim):
    """Batched indices into one item of ``extent`` each, as indices into all items after one another."""
    from mycelia.ops.creation import Iota
    from mycelia.ops.selection import Cast
    indices = Cast(indices, dtype=dtypes.int64)
    inside = indices % extent if isinstance(extent, int) else indices
    start = reshape(Iota(size=size, dtype=dtypes.int64) * extent, size, *(1,) * (indices.ndim - 1))
    return inside + start


def _gather_grad(indices: np.ndarray, dy: np.ndarray, *, axis: int, shape: tuple[int, ...]) -> np.ndarray:
    result = np.zeros(shape, np.float64 if dy.dtype.kind == "f" else dy.dtype)
    where = _checked("GatherGrad", indices, shape[axis])
    moved = np.moveaxis(result, axis, 0)  # a view
    lead = np.moveaxis(dy.reshape(*shape[:axis], where.size, *shape[axis + 1:]), axis, 0)
    np.add.at(moved, where.ravel(), lead)
    return result.astype(dy.dtype)


def _gather_grad_samples() -> Iterator[Sample]:
    for dtype in (*dtypes.FLOATS, dtypes.int32):
        yield Sample(
            (np.array([[2, 0], [2, 2]], np.int32), values((2, 2, 4), dtype)),
            {"axis": 0, "shape": (3, 4)},
            tolerance=2.0,
        )
    for indices, shape, axis, whole in (
        (np.array(3), (), 0, (5,)),
        (np.array([1, 1, -1]), (3, 3, 5), 1, (3, 4, 5)),
        (np.zeros((0,), np.int64), (0, 4), 0, (3, 4)),
    ):
        yield Sample((indices, values(shape)), {"axis": axis, "shape": whole}, tolerance=2.0)


@operator("GatherGrad")
class GatherGrad:
    """Zeros of ``shape`` to which slices of ``dy`` are added at ``indices`` along an axis: the adjoint of
    `Gather`."""

    def infer(indices: TensorType, dy: TensorType, *, axis: int, shape: tuple[Dim, ...]) -> TensorType:
        _require_indices("GatherGrad", (indices, dy), indices)
        expected = (*shape[:axis], *indices.shape, *shape[axis + 1:])
        if dy.shape != expected:
            raise wrong_shape(
                "GatherGrad",
                (indices, dy),
                f"dy must have the shape that Gather gives, {expected}",
                "Reshape it",
            )
        return TensorType(dy.dtype, tuple(shape))

    def vjp(g, indices, dy, y, *, axis, shape): return None, Gather(g, indices, axis=axis)

    def batch(axes, indices, dy, *, axis, shape):
        size = batch_size(axes, (indices, dy))
        if axes[0] is None:
            return GatherGrad(indices, at_front(dy, axes[1]), axis=axis + 1, shape=(size, *shape)), 0
        from mycelia.ops.movement import Transpose
        indices, dy = all_at_front(axes, (indices, dy))
        count, rest = indices.ndim - 1, (*shape[:axis], *shape[axis + 1:])
        spots, before = tuple(range(1 + axis, 1 + axis + count)), tuple(range(1, 1 + axis))
        after = tuple(range(1 + axis + count, dy.ndim))
        moved = Transpose(dy, perm=(0, *spots, *before, *after))
        flat = GatherGrad(
            _offset(indices, size, shape[axis]), moved, axis=0, shape=(size * shape[axis], *rest)
        )
        apart = reshape(flat, size, shape[axis], *rest)
        return Transpose(apart, perm=(0, *(2 + i for i in range(axis)), 1, *range(2 + axis, apart.ndim))), 0

    reference = widened(_gather_grad)
    samples = _gather_grad_samples
    errors = [
        ErrorCase(
            (tensor(dtypes.int32, 2), tensor(dtypes.float32, 3, 4)),
            ValueError,
            r"Gather gives, \(2, 4\)",
            {"axis": 0, "shape": (5, 4)},
        )
    ]


@operator("ScatterUpdate")
class ScatterUpdate:
    """``base`` with the slices at ``indices`` along an axis replaced by those of ``value``; the last one wins
    where indices repeat.

    ``value`` has the shape that `Gather` would give. An index out of range is an error.
    """

    def infer(base: TensorType, indices: TensorType, value: TensorType, *, axis: int) -> TensorType:
        types = (base, indices, value)
        _require_indices("ScatterUpdate", types, indices)
        require_dtypes("ScatterUpdate", (base, value), ALL)
        expected = (*base.shape[:axis], *indices.shape, *base.shape[axis + 1:])
        if value.shape != expected:
            raise wrong_shape(
                "ScatterUpdate",
                types,
                f"the value must have the shape that Gather gives, {expected}",
                "Broadcast it",
            )
        return base

    def vjp(g, base, indices, value, y, *, axis):
        from mycelia.ops.creation import Full
        zeros = Full(shape=value.shape, value=0.0, dtype=g.dtype)
        return ScatterUpdate(g, indices, zeros, axis=axis), None, Gather(g, indices, axis=axis)

    def batch(axes, base, indices, value, *, axis):
        size = batch_size(axes, (base, indices, value))
        if axes[1] is None:
            base, value = (
                repeated(x, size) if at is None else at_front(x, at)
                for x, at in ((base, axes[0]), (value, axes[2]))
            )
            return ScatterUpdate(base, indices, value, axis=axis + 1), 0
        from mycelia.ops.movement import Transpose
        base, indices, value = all_at_front(axes, (base, indices, value))
        count = indices.ndim - 1
        spots, before = tuple(range(1 + axis, 1 + axis + count)), tuple(range(1, 1 + axis))
        moved = Transpose(value, perm=(0, *spots, *before, *range(1 + axis + count, value.ndim)))
        flat = ScatterUpdate(_flat(base, axis), _offset(indices, size, base.shape[axis + 1]), moved, axis=0)
        apart = reshape(flat, size, base.shape[axis + 1], *flat.shape[1:])
        return Transpose(apart, perm=(0, *(2 + i for i in range(axis)), 1, *range(2 + axis, apart.ndim))), 0

    def reference(base, indices, value, *, axis):
        result = base.copy()
        where = _checked("ScatterUpdate", indices, base.shape[axis]).ravel()
        slices = np.moveaxis(value.reshape(*base.shape[:axis], where.size, *base.shape[axis + 1:]), axis, 0)
        np.moveaxis(result, axis, 0)[where] = slices
        return result

    def samples():
        for dtype in ALL:
            yield Sample(
                (values((4, 3), dtype, key="b"), np.array([2, 0], np.int32), values((2, 3), dtype, key="v")),
                {"axis": 0},
            )
        for shape, indices, axis in (((5,), np.array(3), 0), ((3, 4, 5), np.array([[3, 0], [-2, 1]]), 1)):
            picked = (*shape[:axis], *indices.shape, *shape[axis + 1:])
            yield Sample((values(shape, key="b"), indices, values(picked, key="v")), {"axis": axis})

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 3), tensor(dtypes.int32, 2), tensor(dtypes.float32, 3)),
            ValueError,
            r"Gather gives, \(2,\)",
            {"axis": 0},
        )
    ]


@operator("OneHot")
class OneHot:
    """``on`` at each index along a new last axis of extent ``depth``, ``off`` elsewhere; all ``off`` for an
    index out of range."""

    def infer(indices: TensorType, *, depth: int, on: float, off: float, dtype: DType) -> TensorType:
        _require_indices("OneHot", (indices,), indices)
        if isinstance(depth, int) and depth < 0:
            raise ValueError(
                f"OneHot: depth must not be negative. Received: depth={depth}. Give the number of classes"
            )
        return TensorType(dtype, (*indices.shape, depth))

    vjp = no_gradient
    def batch(axes, indices, **attrs): return OneHot(at_front(indices, axes[0]), **attrs), 0

    def reference(indices, *, depth, on, off, dtype):
        hit = indices[..., None] == np.arange(depth)
        return np.where(hit, np.array(on).astype(dtype.numpy), np.array(off).astype(dtype.numpy))

    def samples():
        for dtype in ALL:
            yield Sample(
                (np.array([1, 0, 3, -1, 7]),), {"depth": 4, "on": 1, "off": 0, "dtype": dtype}, gradient=False
            )
        for index in (dtypes.int32, dtypes.uint8):
            for shape in ((), (0,), (2, 3)):
                yield Sample(
                    (values(shape, index, 0, 4),),
                    {"depth": 5, "on": 2.0, "off": -1.0, "dtype": dtypes.float32},
                    gradient=False,
                )

    errors = [ErrorCase((tensor(dtypes.float32, 2),), TypeError, "indices must be integers",
                        {"depth": 2, "on": 1, "off": 0, "dtype": dtypes.float32}),
              ErrorCase((tensor(dtypes.int32, 2),), ValueError, "depth must not be negative",
                        {"depth": -2, "on": 1, "off": 0, "dtype": dtypes.float32})]


def along_axis(indices: np.ndarray, axis: int, extent: int, name: str) -> tuple[np.ndarray, ...]:
    grid = list(np.ogrid[tuple(slice(d) for d in indices.shape)])
    grid[axis] = _checked(name, indices, extent)
    return tuple(grid)


@operator("GatherD")
class GatherD:
    """The element of ``x`` at each index along an axis: ``y[i][j] = x[i][indices[i][j]]`` for axis 1."""

    def infer(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
        _require_indices("GatherD", (x, indices), indices)
        if x.ndim != indices.ndim or not 0 <= axis < x.ndim or \
                any(a != b for i, (a, b) in enumerate(zip(x.shape, indices.shape)) if i != axis):
            raise wrong_shape(
                "GatherD",
                (x, indices),
                f"x and indices must have equal shapes but for axis {axis}",
                "Slice or broadcast one of them",
            )
        return TensorType(x.dtype, indices.shape)

    def vjp(g, x, indices, y, *, axis): return GatherDGrad(indices, g, axis=axis, shape=x.shape), None
    def batch(axes, x, indices, *, axis): return GatherD(*all_at_front(axes, (x, indices)), axis=axis + 1), 0
    def reference(x, indices, *, axis): return x[along_axis(indices, axis, x.shape[axis], "GatherD")]

    def samples():
        for dtype in ALL:
            yield Sample((values((3, 4), dtype), np.array([[3, 0], [1, 1], [-1, 2]])), {"axis": 1})
        yield Sample((values((3, 4)), np.array([[0, 1, 2, 0]], np.int32)[:, :4]), {"axis": 0})

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2, 3), tensor(dtypes.int32, 3, 3)),
            ValueError,
            "equal shapes but",
            {"axis": 1},
        )
    ]


@operator("GatherDGrad")
class GatherDGrad:
    """Zeros of ``shape`` to which each element of ``dy`` is added at its index: the adjoint of `GatherD`."""

    def infer(indices: TensorType, dy: TensorType, *, axis: int, shape: tuple[Dim, ...]) -> TensorType:
        if indices.shape != dy.shape:
            raise wrong_shape(
                "GatherDGrad", (indices, dy), "indices and dy must have one shape", "Broadcast dy"
            )
        return TensorType(dy.dtype, tuple(shape))

    def vjp(g, indices, dy, y, *, axis, shape): return None, GatherD(g, indices, axis=axis)

    def batch(axes, indices, dy, *, axis, shape):
        indices, dy = all_at_front(axes, (indices, dy))
        return GatherDGrad(indices, dy, axis=axis + 1, shape=(indices.shape[0], *shape)), 0

    def _scatter(indices, dy, *, axis, shape):
        result = np.zeros(shape, dy.dtype)
        np.add.at(result, along_axis(indices, axis, shape[axis], "GatherDGrad"), dy)
        return result

    reference = widened(_scatter)

    def samples():
        for dtype in dtypes.FLOATS:
            yield Sample(
                (np.array([[3, 0], [1, 1], [-1, 2]]), values((3, 2), dtype)),
                {"axis": 1, "shape": (3, 4)},
                tolerance=2.0,
            )

    errors = [
        ErrorCase(
            (tensor(dtypes.int32, 2), tensor(dtypes.float32, 3)),
            ValueError,
            "one shape",
            {"axis": 0, "shape": (3,)},
        )
    ]


def flat_index(indices: Sequence[Any], extents: Sequence[Dim]) -> Any:
    """Indices (int64) into axes as they are when merged into one. Negative ones count from the end; where one
    is out of its axis, the result is out of all."""
    from mycelia.ops.logic import LogicalOr
    from mycelia.ops.selection import Cast, Select
    flat: Any = None
    outside: Any = None
    whole: Dim = 1
    for index, extent in zip(indices, extents):
        index = index if index.dtype is dtypes.int64 else Cast(index, dtype=dtypes.int64)
        if isinstance(extent, int):
            beyond = LogicalOr(index >= extent, index < -extent)
            outside = beyond if outside is None else LogicalOr(outside, beyond)
            index = Select(index < 0, index + extent, index)
        flat = index if flat is None else flat * extent + index
        whole = whole * extent
    return flat if outside is None or len(indices) == 1 else Select(outside, flat * 0 + whole, flat)


def places_of_nonzero(x: np.ndarray) -> np.ndarray:
    """One row of indices for each element that is not 0, in row-major order (faster than np.argwhere)."""
    left = np.flatnonzero(x)
    rows = np.empty((left.size, x.ndim), np.int64)
    for axis in reversed(range(1, x.ndim)):
        above = left // x.shape[axis]
        rows[:, axis] = left - above * x.shape[axis]
        left = above
    if x.ndim:
        rows[:, 0] = left
    return rows


@operator("NonZero")
class NonZero:
    """The indices of the elements that are not zero, one row each, in row-major order: how many is known when
    it ran."""

    def infer(x: TensorType) -> TensorType:
        most = x.size
        bound = most if isinstance(most, int) else most.hi
        return TensorType(dtypes.int64, (Sym(lo=0, hi=bound, bounded=True), x.ndim))

    vjp = no_gradient
    def reference(x): return places_of_nonzero(x)

    def samples():
        for dtype in ALL:
            yield Sample((values((3, 5), dtype, -1.0, 1.0),), gradient=False)
        yield Sample((np.zeros((2, 3), np.float32),), gradient=False)


@operator("TopK", num_outputs=2)
class TopK:
    """The k largest (smallest) elements along the last axis in order and their indices (int32); equal ones by
    index. NaN counts as largest."""

    def infer(x: TensorType, *, k: int, largest: bool) -> tuple[TensorType, TensorType]:
        require_dtypes("TopK", (x,), ALL)
        if x.ndim == 0 or isinstance(x.shape[-1], int) and not 0 <= k <= x.shape[-1]:
            raise wrong_shape("TopK", (x,), f"k must be at most the last extent, not {k}", "Clamp it")
        shape = (*x.shape[:-1], k)
        return TensorType(x.dtype, shape), TensorType(dtypes.int32, shape)

    def vjp(g, x, y, indices, *, k, largest):
        return GatherDGrad(indices, g[0], axis=x.ndim - 1, shape=x.shape)

    def batch(axes, x, *, k, largest): return TopK(at_front(x, axes[0]), k=k, largest=largest), (0, 0)

    def reference(x, *, k, largest):
        y, indices = Sort.reference(x, axis=x.ndim - 1, descending=largest)
        return np.ascontiguousarray(y[..., :k]), np.ascontiguousarray(indices[..., :k])

    def samples():
        for dtype in ALL:
            for shape, k in (((5,), 2), ((3, 7), 7), ((2, 3, 4), 1), ((3, 0), 0)):
                for largest in (True, False):
                    yield Sample((values(shape, dtype, -9, 9),), {"k": k, "largest": largest})
        yield Sample((np.array([[1, np.nan, -np.inf, np.nan, 2]], np.float32),), {"k": 3, "largest": True},
                     gradient=False)

    errors = [ErrorCase((tensor(dtypes.float32, 2, 3),), ValueError, "last extent",
                        {"k": 4, "largest": True})]


@operator("Sort", num_outputs=2)
class Sort:
    """The elements in order along an axis and their former indices (int32); equal ones keep their order."""

    def infer(x: TensorType, *, axis: int, descending: bool) -> tuple[TensorType, TensorType]:
        require_dtypes("Sort", (x,), ALL)
        if not 0 <= axis < x.ndim:
            raise wrong_shape(
                "Sort", (x,), f"axis must be within {x.ndim} dimensions, not {axis}", "Normalise it first"
            )
        return x, x.with_dtype(dtypes.int32)

    def vjp(g, x, y, indices, *, axis, descending):
        return GatherDGrad(indices, g[0], axis=axis, shape=x.shape)

    def batch(axes, x, *, axis, descending):
        return Sort(at_front(x, axes[0]), axis=axis + 1, descending=descending), (0, 0)

    def reference(x, *, axis, descending):
        keys = x.astype(np.float32) if x.dtype == dtypes.bfloat16.numpy else x  # whose NaN NumPy cannot sort
        if descending:
            turned = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
            order = x.shape[axis] - 1 - np.flip(turned, axis)
        else:
            order = np.argsort(keys, axis=axis, kind="stable")
        return np.take_along_axis(x, order, axis), order.astype(np.int32)

    def samples():
        for dtype in ALL:
            for shape, axis in (((5,), 0), ((3, 7), 1), ((3, 7), 0), ((0, 2), 1), ((2, 90), 1)):
                for descending in (False, True):
                    yield Sample((values(shape, dtype, -9, 9),), {"axis": axis, "descending": descending})

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2),), ValueError, "axis must be within", {"axis": 1, "descending": False}
        )
    ]


