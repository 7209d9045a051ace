"""``x[key]`` and ``x[key] = value``: NumPy's indexing over the operators.

Integers, slices, ``...`` and ``None`` give views (`StridedSlice` and `Reshape`); tensors, lists and boolean
masks pick elements (`Gather`). Writing through a basic key writes to the view; through any other key the
tensor takes over a new value.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir.dtypes import bool_, int64
from mycelia.ir.types import Dim, Sym
from mycelia.ops import inplace
from mycelia.ops.batching import reshape
from mycelia.ops.constants import constant, scalar
from mycelia.ops.function.shaping import rows_of_nonzero
from mycelia.ops.indexing import Gather, ScatterUpdate, flat_index
from mycelia.ops.inference import broadcast_shapes
from mycelia.ops.movement import BroadcastTo, Reshape, StridedSlice, Transpose, slice_extent
from mycelia.ops.promotion import as_tensor, cast
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor


def _expanded(x: Tensor, key: Any) -> tuple[list[Any], bool]:
    """The key as a list with one item for each axis, besides ``None`` for new ones: arrays as tensors, the
    ellipsis spelled out; and whether that stands between tensors (or integers beside tensors), which sends
    their axes to the front even where it stands for no axis.

    Raises:
        IndexError: too many indices, or two ellipses.
        TypeError: an item that cannot index.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    for i, item in enumerate(items):
        if isinstance(item, (list, range, np.ndarray)):
            array = np.asarray(item if not isinstance(item, range) else list(item))
            items[i] = constant(array.astype(np.int64) if array.dtype != np.bool_ else array)
        elif isinstance(item, (bool, np.bool_)):
            items[i] = scalar(bool(item), bool_)
        elif isinstance(item, np.integer):
            items[i] = int(item)
        elif not (item is None or item is Ellipsis or isinstance(item, (int, slice, Tensor, Sym))):
            raise TypeError(
                f"Tensor index: items must be ints, slices, None, ..., lists or tensors. Received: {item!r} "
                "(of type "
                f"{type(item).__name__})"
            )
    used = sum(_axes_of(item) for item in items)
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("Tensor index: at most one '...' may be given. Received: several")
    if used > x.ndim:
        raise IndexError(
            f"Tensor index: at most {x.ndim} indices for a tensor of shape {x.shape}. Received: {used}"
        )
    fill: list[Any] = [slice(None)] * (x.ndim - used)
    at = dots[0] if dots else len(items)
    picks = [i for i, item in enumerate(items) if isinstance(item, (Tensor, int))]
    apart = bool(dots and picks) and picks[0] < at < picks[-1]
    items = items[:at] + fill + items[at + bool(dots):]
    _require_masks_to_fit(x, items)
    return items, apart


def _require_masks_to_fit(x: Tensor, items: Sequence[Any]) -> None:
    axis = 0
    for item in items:
        width = 1 if isinstance(item, slice) else _axes_of(item)
        if isinstance(item, Tensor) and item.dtype is bool_:
            for i, (have, want) in enumerate(zip(item.shape, x.shape[axis:])):
                if isinstance(have, int) and isinstance(want, int) and have != want:
                    raise IndexError(
                        f"Tensor index: a mask must have the extents of the axes it indexes. Received: a "
                        f"mask of shape {item.shape} for axes of extents {x.shape[axis : axis + item.ndim]}, "
                        f"which differ in axis {axis + i} of {x.shape}"
                    )
        axis += width


def _axes_of(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Tensor) and item.dtype is bool_:
        return item.ndim
    return 1


def _bounds(item: slice, extent: Dim) -> tuple[Dim, Dim, int]:
    """begin, end and stride of a slice, clamped to the axis as Python does."""
    start, stop, step = (
        int(v.asnumpy()) if isinstance(v, Tensor) else v for v in (item.start, item.stop, item.step)
    )
    step = 1 if step is None else int(step)
    if step == 0:
        raise ValueError("Tensor index: the step of a slice must not be 0. Received: 0")
    if isinstance(extent, Sym) or isinstance(start, Sym) or isinstance(stop, Sym):
        if step > 0 and start is None and stop is None:
            return 0, extent, step
        if step == 1 and stop is None and isinstance(start, int) and 0 <= start <= getattr(extent, "lo", 0):
            return start, extent, 1
        if step == 1 and isinstance(stop, int) and 0 <= (start or 0) <= stop <= getattr(extent, "lo", 0):
            return start or 0, stop, 1
        extent = int(extent)  # asks for the concrete size
    begin, end, step = slice(start, stop, step).indices(extent)
    if slice_extent(begin, end, step) == 0:
        return 0, 0, 1
    return begin, end, step


def _index(item: Any, extent: Dim, axis: int) -> Dim:
    if isinstance(extent, int) and isinstance(item, int):
        if not -extent <= item < extent:
            raise IndexError(f"index {item} is out of bounds for dimension with size {extent} (axis {axis})")
        return item % extent
    return item if not isinstance(item, int) or item >= 0 else extent + item


def _basic(x: Tensor, items: Sequence[Any]) -> Tensor:
    """Applies integers, slices and None: a view."""
    begin: list[Dim] = []
    end: list[Dim] = []
    strides: list[int] = []
    shape: list[Dim] = []
    axis, sliced = 0, False
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            b, e, s = _bounds(item, extent)
            shape.append(slice_extent(b, e, s))
        else:
            b = _index(item, extent, axis)
            e, s = b + 1, 1
        sliced = sliced or not (
            isinstance(b, int) and b == 0 and s == 1 and e is extent or (b, e, s) == (0, extent, 1)
        )
        begin.append(b)
        end.append(e)
        strides.append(s)
        axis += 1
    if sliced:
        x = StridedSlice(x, begin=tuple(begin), end=tuple(end), strides=tuple(strides))
    return x if x.shape == tuple(shape) else Reshape(x, shape=tuple(shape))


def getitem(x: Tensor, key: Any) -> Tensor:
    """``x[key]``; see the module's text.

    Raises:
        IndexError: out of range, or too many indices.
        TypeError: an item that cannot index.
    """
    if isinstance(key, Tensor) and key.dtype is bool_ and key.ndim > 1 and key.shape == x.shape[: key.ndim]:
        # one flat mask is quicker than indices for each axis
        x, key = reshape(x, key.size, *x.shape[key.ndim :]), reshape(key, key.size)
    items, apart = _expanded(x, key)
    if not any(isinstance(item, Tensor) for item in items):
        return _basic(x, items)
    shown, axes, indices = _advanced(x, items)
    if len(axes) == 1:
        return Gather(shown, indices[0], axis=axes[0])
    merged, flat, lead = _merged(shown, axes, indices, apart)
    return Gather(merged, flat, axis=lead)


def _advanced(x: Tensor, items: list[Any]) -> tuple[Tensor, list[int], list[Tensor]]:
    """Applies the basic items; what remains are integer tensors on some axes of the result. As in NumPy,
    integers count as tensors when there are tensors, and a mask stands for the indices where it holds (a 0-d
    one for those of a new axis)."""
    shown: list[Any] = []
    axes, indices = [], []

    def pick(index: Tensor, axis_item: Any) -> None:
        axes.append(len(shown))
        indices.append(index)
        shown.append(axis_item)

    for item in items:
        if isinstance(item, Tensor) and item.dtype is bool_:
            if item.ndim == 0:
                pick(rows_of_nonzero(reshape(item, 1))[:, 0], None)
            else:
                rows = rows_of_nonzero(item)
                for i in range(item.ndim):
                    pick(rows[:, i], slice(None))
        elif isinstance(item, Tensor):
            pick(item, slice(None))
        elif isinstance(item, int):
            pick(scalar(item, int64), slice(None))
        else:
            shown.append(item)
    return _basic(x, shown), axes, indices


def _adjacent(axes: list[int], apart: bool) -> bool:
    return not apart and axes == list(range(axes[0], axes[0] + len(axes)))


def _merged(
    x: Tensor, axes: list[int], indices: list[Tensor], apart: bool
) -> tuple[Tensor, Tensor, int]:
    """x with the indexed axes merged into one, the matching flat index, and that axis's place."""
    adjacent = _adjacent(axes, apart)
    lead = axes[0] if adjacent else 0
    if not adjacent:
        x = Transpose(x, perm=(*axes, *(i for i in range(x.ndim) if i not in axes)))
    extents = x.shape[lead:lead + len(axes)]
    shape = broadcast_shapes("Tensor index", [i.type for i in indices])
    merged: Dim = 1
    for extent in extents:
        merged = merged * extent
    flat = flat_index(indices, extents)
    flat = flat if flat.shape == shape else BroadcastTo(flat, shape=shape)
    return Reshape(x, shape=(*x.shape[:lead], merged, *x.shape[lead + len(axes):])), flat, lead


def _fitted(value: Any, x: Tensor, shape: tuple[Dim, ...]) -> Tensor:
    """The value with x's dtype, broadcast to the shape of what it overwrites."""
    value = (
        scalar(value, x.dtype)
        if isinstance(value, (bool, int, float))
        else cast(as_tensor("Tensor assignment", value, "value"), x.dtype)
    )
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = Reshape(value, shape=value.shape[1:])
    return value if value.shape == shape else BroadcastTo(value, shape=shape)


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``: in place, visible through every view of the same memory.

    Raises:
        IndexError, TypeError: as for `getitem`.
        ValueError: the value does not broadcast to what is overwritten.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if (
        isinstance(key, Tensor)
        and key.dtype is bool_
        and (isinstance(value, (bool, int, float)) or getattr(value, "size", 0) == 1)
    ):
        inplace.write(x, _masked(x, key, value))
        return
    items, apart = _expanded(x, key)
    if not any(isinstance(item, Tensor) for item in items):
        shown = _basic(x, items)
        inplace.write(shown, _fitted(value, x, shown.shape))
        return
    shown, axes, indices = _advanced(x, items)
    inplace.write(shown, _scattered(shown, axes, indices, apart, value))


def _masked(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """x with one value where the mask of the leading axes holds."""
    value = scalar(value, x.dtype) if not isinstance(value, Tensor) else cast(reshape(value), x.dtype)
    return Select(reshape(mask, *mask.shape, *(1,) * (x.ndim - mask.ndim)), value, x)


def _scattered(x: Tensor, axes: list[int], indices: list[Tensor], apart: bool, value: Any) -> Tensor:
    """x with the elements at the indices replaced by a value."""
    if len(axes) == 1:
        axis, index = axes[0], indices[0]
        shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1:])
        return ScatterUpdate(x, cast(index, int64), _fitted(value, x, shape), axis=axis)
    merged, flat, lead = _merged(x, axes, indices, apart)
    shape = (*merged.shape[:lead], *flat.shape, *merged.shape[lead + 1:])
    updated = ScatterUpdate(merged, flat, _fitted(value, x, shape), axis=lead)
    if _adjacent(axes, apart):
        return Reshape(updated, shape=x.shape)
    order = (*axes, *(i for i in range(x.ndim) if i not in axes))
    apart = Reshape(updated, shape=tuple(x.shape[i] for i in order))
    return Transpose(apart, perm=tuple(order.index(i) for i in range(x.ndim)))
