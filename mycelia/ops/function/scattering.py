"""Functions that put elements where indices say: replacing, adding, multiplying, keeping extrema."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mycelia.ir.dtypes import bool_, int64
from mycelia.ir.types import Dim
from mycelia.ops import combining, indexing, inplace, movement
from mycelia.ops.constants import like
from mycelia.ops.function import shaping
from mycelia.ops.function.creating import full, zeros
from mycelia.ops.function.shaping import broadcast_to, expand_dims, extents, narrow, reshape, rows_of_nonzero
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import as_tensor, cast, require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

_WAYS = ("update", "add", "sub", "mul", "div", "max", "min")

__all__ = [
    *(f"{family}_{way}" for family in ("tensor_scatter", "scatter", "scatter_nd") for way in _WAYS),
    "index_add", "index_fill", "inplace_add", "inplace_index_add", "inplace_sub", "inplace_update",
    "masked_select", "put_", "scatter", "scatter_nd", "select_scatter", "slice_scatter",
    "tensor_scatter_elements", "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod",
    "unsorted_segment_sum",
]


def _combine(base: Tensor, indices: Tensor, value: Tensor, axis: int, reduce: str) -> Tensor:
    """Elements along an axis; sums by the adjoint of the gather, which is the fastest."""
    if reduce in ("add", "sub"):
        total = indexing.GatherDGrad(indices, value, axis=axis, shape=base.shape)
        return base + total if reduce == "add" else base - total
    return combining.ScatterElements(base, indices, value, axis=axis, reduce=reduce)


def _rows(base: Tensor, indices: Tensor, value: Tensor, axis: int, reduce: str) -> Tensor:
    """Slices along an axis: ``value`` has the shape that `Gather` gives."""
    shape = (*base.shape[:axis], *indices.shape, *base.shape[axis + 1:])
    value = cast(value, base.dtype)
    value = value if value.shape == shape else broadcast_to(value, shape)
    if reduce == "update":
        return indexing.ScatterUpdate(base, indices, value, axis=axis)
    if reduce in ("add", "sub"):
        total = indexing.GatherGrad(indices, value, axis=axis, shape=base.shape)
        return base + total if reduce == "add" else base - total
    count = math.prod(indices.shape)
    flat = reshape(value, (*base.shape[:axis], count, *base.shape[axis + 1:]))
    along = reshape(indices, tuple(count if i == axis else 1 for i in range(base.ndim)))
    return combining.ScatterElements(base, broadcast_to(along, flat.shape), flat, axis=axis, reduce=reduce)


def _flat_places(name: str, indices: Tensor, shape: Sequence[Dim]) -> tuple[Tensor, int]:
    """Index tuples along the last axis as indices into the merged leading axes, and how many these are."""
    depth = indices.shape[-1] if indices.ndim else 1
    if not isinstance(depth, int) or depth > len(shape):
        raise ValueError(
            f"{name}: the last axis of indices must hold at most {len(shape)} indices, for a tensor of shape "
            f"{tuple(shape)}. Received: indices of shape {indices.shape}"
        )
    return indexing.flat_index([indices[..., i] for i in range(depth)], shape[:depth]), depth


def _at_tuples(name: str, base: Tensor, indices: Any, updates: Any, reduce: str) -> Tensor:
    """Slices at index tuples combined with those of ``updates``."""
    indices, updates = as_tensor(name, indices, "indices"), as_tensor(name, updates, "updates")
    if not indices.dtype.is_integer:
        raise TypeError(f"{name}: indices must be integers. Received: {indices.type}. Convert with astype")
    flat, depth = _flat_places(name, indices, base.shape)
    rest = base.shape[depth:]
    if updates.shape != (*indices.shape[:-1], *rest):
        raise ValueError(
            f"{name}: updates must have the shape {(*indices.shape[:-1], *rest)}, that of indices without "
            f"its last axis and then the axes that they leave. Received: indices of shape {indices.shape}, "
            f"updates of shape {updates.shape} for a tensor of shape {base.shape}"
        )
    merged = reshape(base, (math.prod(base.shape[:depth]), *rest))
    return reshape(_rows(merged, flat, updates, 0, reduce), base.shape)


def _tensor_scatter(name: str, reduce: str) -> Callable[..., Tensor]:
    def function(input_x: Any, indices: Any, updates: Any) -> Tensor:
        return _at_tuples(name, require_tensor(name, input_x, "input_x"), indices, updates, reduce)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The input with slices at ``indices`` (index tuples along the last axis) combined with ``updates``: "
        f"{reduce}."
    )
    return function


def _scatter_into(name: str, reduce: str, tuples: bool) -> Callable[..., Tensor]:
    def function(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Tensor:
        x = require_tensor(name, input_x, "input_x")
        indices, updates = as_tensor(name, indices, "indices"), as_tensor(name, updates, "updates")
        if tuples:
            return inplace.write(x, _at_tuples(name, x, indices, updates, reduce))
        expected = (*indices.shape, *x.shape[1:])
        if updates.shape != expected:
            raise ValueError(
                f"{name}: updates must have the shape {expected}. Received: indices of shape "
                f"{indices.shape}, updates of shape {updates.shape} for a parameter of shape {x.shape}"
            )
        return inplace.write(x, _rows(x, indices, updates, 0, reduce))

    where = "index tuples along the last axis" if tuples else "rows of axis 0"
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Combines slices of a parameter at ``indices`` ({where}) in place: {reduce}."
    return function


TENSOR_SCATTER = {f"tensor_scatter_{w}": _tensor_scatter(f"tensor_scatter_{w}", w) for w in _WAYS}
SCATTER = {f"scatter_{w}": _scatter_into(f"scatter_{w}", w, False) for w in _WAYS}
SCATTER_ND = {f"scatter_nd_{w}": _scatter_into(f"scatter_nd_{w}", w, True) for w in _WAYS}


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Tensor:
    """Zeros of a shape to which slices of ``updates`` are added at index tuples."""
    updates = as_tensor("scatter_nd", updates, "updates")
    base = zeros(extents("scatter_nd", shape), updates.dtype)
    return _at_tuples("scatter_nd", base, indices, updates, "add")


# -- elements along an axis ----------------------------------------------------------------------------------
_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min", "sub": "sub",
               "div": "div"}


def tensor_scatter_elements(
    input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """The input with the element at each index along an axis replaced by that of ``updates``, or increased by
    it (``"add"``): ``y[i][indices[i][j]] = updates[i][j]`` for axis 1.

    Raises:
        ValueError: shapes that do not fit, or another reduction.
    """
    name = "tensor_scatter_elements"
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{name}: reduction must be 'none' or 'add'. Received: reduction={reduction!r}")
    return _elements(name, require_tensor(name, input_x), axis, indices, updates, _REDUCTIONS[reduction])


def _elements(name: str, x: Tensor, axis: Any, indices: Any, value: Any, reduce: str) -> Tensor:
    indices = as_tensor(name, indices, "indices")
    at = normalise_axis(name, axis, x.ndim)
    value = as_tensor(name, value, "updates")
    if value.ndim == 0 and indices.ndim:
        value = broadcast_to(value, indices.shape)
    value = cast(value, x.dtype)
    fits = indices.ndim == x.ndim == value.ndim
    for i in range(x.ndim if fits else 0):
        if value.shape[i] != indices.shape[i]:
            fits = fits and value.shape[i] > indices.shape[i]
            value = narrow(value, i, 0, indices.shape[i]) if fits else value
        fits = fits and (i == at or indices.shape[i] <= x.shape[i])
    if not fits:
        raise ValueError(
            f"{name}: indices and updates must have one shape, no larger than the input's but for axis {at}. "
            f"Received: input of shape {x.shape}, indices of shape {indices.shape}, updates of shape "
            f"{value.shape}"
        )
    whole = x.shape
    begin = (0,) * x.ndim
    end = tuple(d if i == at else n for i, (d, n) in enumerate(zip(x.shape, indices.shape)))
    if end == whole:
        return _combine(x, indices, value, at, reduce)
    ones = (1,) * x.ndim
    part = _combine(movement.StridedSlice(x, begin=begin, end=end, strides=ones), indices, value, at, reduce)
    return movement.SliceScatter(x, part, begin=begin, end=end, strides=ones)


def scatter(input: Any, axis: int, index: Any, src: Any) -> Tensor:
    """The input with the element at each index along an axis replaced by that of ``src``."""
    return _elements("scatter", require_tensor("scatter", input), axis, index, src, "update")


def scatter_add_elements(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """The input with the element of ``src`` added at each index along an axis (``Tensor.scatter_add``)."""
    return _elements("scatter_add", require_tensor("scatter_add", input), dim, index, src, "add")


# -- slices along an axis ------------------------------------------------------------------------------------
def index_add(x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True,
              check_index_bound: bool = True) -> Tensor:
    """Adds slices of ``y`` to those of a parameter at ``indices`` along an axis, in place."""
    x = require_tensor("index_add", x, "x")
    at = normalise_axis("index_add", axis, x.ndim)
    return inplace.write(x, _indexed("index_add", x, at, indices, y, "add"))


def _indexed(name: str, x: Tensor, at: int, indices: Any, value: Any, reduce: str) -> Tensor:
    indices, value = as_tensor(name, indices, "indices"), as_tensor(name, value, "value")
    expected = (*x.shape[:at], *indices.shape, *x.shape[at + 1:])
    if value.ndim and value.shape != expected:
        raise ValueError(
            f"{name}: the slices must have the shape {expected}. Received: a tensor of shape {x.shape}, "
            f"indices of shape {indices.shape}, slices of shape {value.shape}"
        )
    return _rows(x, indices, value, at, reduce)


def index_added(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    """The input with slices of ``source`` times ``alpha`` added at ``index`` (``Tensor.index_add``)."""
    x = require_tensor("index_add", input)
    at = normalise_axis("index_add", dim, x.ndim, "dim")
    source = as_tensor("index_add", source, "source")
    return _indexed("index_add", x, at, index, source if alpha == 1 else source * alpha, "add")


def index_fill(input: Any, axis: int, index: Any, value: Any) -> Tensor:
    """The input with the slices at ``index`` along an axis filled with one value."""
    x = require_tensor("index_fill", input, "x")
    at = normalise_axis("index_fill", axis, x.ndim)
    value = as_tensor("index_fill", value, "value")
    if value.size != 1:
        raise ValueError(f"index_fill: value must have one element. Received: shape {value.shape}")
    return _indexed("index_fill", x, at, index, reshape(value, ()), "update")


def index_copied(input: Any, dim: int, index: Any, source: Any) -> Tensor:
    """The input with the slices at ``index`` along an axis replaced by those of ``source``."""
    x = require_tensor("index_copy", input)
    at = normalise_axis("index_copy", dim, x.ndim, "dim")
    return _indexed("index_copy", x, at, index, source, "update")


def index_put(input: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Tensor:
    """The input with the elements at a tuple of index tensors replaced by ``values``, or increased by
    them."""
    x = require_tensor("index_put", input)
    key = tuple(indices)
    if not accumulate:
        y = x.copy()
        y[key] = values
        return y
    places = shaping.reshape(_places(x.shape), x.shape)[key]
    values = broadcast_to(cast(as_tensor("index_put", values, "values"), x.dtype), places.shape)
    flat = indexing.GatherGrad(reshape(places, (-1,)), reshape(values, (-1,)), axis=0, shape=(x.size,))
    return x + reshape(flat, x.shape)


def _places(shape: Sequence[Dim]) -> Tensor:
    """The place of each element of a shape in row-major order."""
    from mycelia.ops.creation import Iota
    return Iota(size=math.prod(shape), dtype=int64)


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """The input with the elements at flat indices replaced by those of ``source``, or increased by them."""
    x = require_tensor("put", input)
    flat, index = reshape(x, (-1,)), reshape(as_tensor("put", index, "index"), (-1,))
    source = reshape(as_tensor("put", source, "source"), (-1,))
    return reshape(_rows(flat, index, source, 0, "add" if accumulate else "update"), x.shape)


def put_(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """`put` in place."""
    return inplace.write(input, put(input, index, source, accumulate))


def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """The input with the elements where the mask holds replaced by those of ``source`` in order."""
    x = require_tensor("masked_scatter", input)
    mask, source = as_tensor("masked_scatter", mask, "mask"), as_tensor("masked_scatter", source, "source")
    if mask.dtype is not bool_:
        raise TypeError(f"masked_scatter: mask must be bool. Received: {mask.type}. Compare it, e.g. x != 0")
    if source.dtype is not x.dtype:
        raise TypeError(
            f"masked_scatter: source must have the input's dtype. Received: {x.type} and {source.type}. "
            "Convert with astype"
        )
    flat = reshape(broadcast_to(mask, x.shape), (-1,))
    if flat._storage is not None and int(flat.asnumpy().sum()) > source.size:
        raise ValueError(
            f"masked_scatter: source must have an element for each that the mask picks. Received: "
            f"{source.size} elements for {int(flat.asnumpy().sum())}"
        )
    from mycelia.ops.cumulative import CumSum
    order = CumSum(cast(flat, int64), axis=0, exclusive=True, reverse=False)
    picked = indexing.Gather(reshape(source, (-1,)), Select(flat, order, like(0, order)), axis=0)
    return Select(reshape(flat, x.shape), reshape(picked, x.shape), x)


def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask holds, as a vector; both broadcast together."""
    x, mask = as_tensor("masked_select", input), as_tensor("masked_select", mask, "mask")
    if mask.dtype is not bool_:
        raise TypeError(f"masked_select: mask must be bool. Received: {mask.type}. Compare it, e.g. x != 0")
    from mycelia.ops.inference import broadcast_shapes
    shape = broadcast_shapes("masked_select", [x.type, mask.type])
    places = rows_of_nonzero(reshape(broadcast_to(mask, shape), (-1,)))[:, 0]
    return indexing.Gather(reshape(broadcast_to(x, shape), (-1,)), places, axis=0)


# -- a part replaced -----------------------------------------------------------------------------------------
def select_scatter(input: Any, src: Any, axis: int, index: int) -> Tensor:
    """The input with one index along an axis replaced by ``src``."""
    x = require_tensor("select_scatter", input)
    at = normalise_axis("select_scatter", axis, x.ndim)
    if not -x.shape[at] <= index < x.shape[at]:
        raise ValueError(
            f"select_scatter: index must be in [{-x.shape[at]}, {x.shape[at]}). Received: index={index}"
        )
    index %= x.shape[at]
    return slice_scatter(x, expand_dims(as_tensor("select_scatter", src, "src"), at), at, index, index + 1)


def slice_scatter(
    input: Any, src: Any, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The input with the slice ``start:end:step`` along an axis replaced by ``src``."""
    x, src = require_tensor("slice_scatter", input), as_tensor("slice_scatter", src, "src")
    at = normalise_axis("slice_scatter", axis, x.ndim)
    if step < 1:
        raise ValueError(f"slice_scatter: step must be positive. Received: step={step}")
    first, last, _ = slice(start, end, step).indices(x.shape[at])
    count = max(0, -(-(last - first) // step))
    if count == 0:
        return x
    shape = tuple(count if i == at else d for i, d in enumerate(x.shape))
    src = cast(src, x.dtype)
    src = src if src.shape == shape else broadcast_to(src, shape)
    return movement.SliceScatter(
        x,
        src,
        begin=tuple(first if i == at else 0 for i in range(x.ndim)),
        end=tuple(last if i == at else d for i, d in enumerate(x.shape)),
        strides=tuple(step if i == at else 1 for i in range(x.ndim)),
    )


def inplace_update(x: Any, v: Any, indices: Any) -> Tensor:
    """Rows of ``x`` at ``indices`` (an int or a tuple) replaced by those of ``v``."""
    return _inplace_rows("inplace_update", x, v, indices, "update")


def inplace_add(x: Any, v: Any, indices: Any) -> Tensor:
    """Rows of ``x`` at ``indices`` (an int or a tuple) increased by those of ``v``."""
    return _inplace_rows("inplace_add", x, v, indices, "add")


def inplace_sub(x: Any, v: Any, indices: Any) -> Tensor:
    """Rows of ``x`` at ``indices`` (an int or a tuple) decreased by those of ``v``."""
    return _inplace_rows("inplace_sub", x, v, indices, "sub")


def _inplace_rows(name: str, x: Any, v: Any, indices: Any, reduce: str) -> Tensor:
    x, v = require_tensor(name, x, "x"), as_tensor(name, v, "v")
    rows = list(indices) if isinstance(indices, (tuple, list)) else [indices]
    index = indices if isinstance(indices, Tensor) else as_tensor(name, rows, "indices")
    return _indexed(name, x, 0, index, v, reduce)


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: int) -> Tensor:
    """Slices of ``var`` at ``indices`` along an axis increased by those of ``updates``, in place."""
    return index_add(var, indices, updates, axis)


# -- segments ------------------------------------------------------------------------------------------------
def _segments(name: str, x: Any, segment_ids: Any, num_segments: Any, reduce: str) -> Tensor:
    x, ids = require_tensor(name, x, "x"), as_tensor(name, segment_ids, "segment_ids")
    count = int(num_segments.asnumpy()) if isinstance(num_segments, Tensor) else int(num_segments)
    if ids.shape != x.shape[: ids.ndim]:
        raise ValueError(
            f"{name}: segment_ids must have the leading extents of x. Received: shapes {ids.shape} and "
            f"{x.shape}"
        )
    rest = x.shape[ids.ndim:]
    rows = reshape(x, (math.prod(ids.shape), *rest))
    ids = reshape(cast(ids, int64), (-1,))
    # rows of a negative segment belong nowhere: they go to one more, which is cut off
    ids = Select(ids < 0, like(count, ids), ids)
    import numpy as np
    starts = {"add": 0, "mul": 1}
    if reduce in starts:
        start: Any = starts[reduce]
    elif x.dtype.is_float:
        start = float(np.finfo(np.float32 if x.dtype.itemsize == 2 else x.dtype.numpy).max)
        start = -start if reduce == "max" else start
        if x.dtype.itemsize == 2:
            start = float("-inf" if reduce == "max" else "inf")
    else:
        info = np.iinfo(x.dtype.numpy)
        start = int(info.min if reduce == "max" else info.max)
    base = full((count + 1, *rest), start, dtype=x.dtype)
    return narrow(_rows(base, ids, rows, 0, reduce), 0, 0, count)


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The sums of the rows of each segment; 0 for an empty one."""
    return _segments("unsorted_segment_sum", input_x, segment_ids, num_segments, "add")


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The products of the rows of each segment; 1 for an empty one."""
    return _segments("unsorted_segment_prod", x, segment_ids, num_segments, "mul")


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The largest rows' elements of each segment; the dtype's smallest number for an empty one."""
    return _segments("unsorted_segment_max", x, segment_ids, num_segments, "max")


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any) -> Tensor:
    """The smallest rows' elements of each segment; the dtype's largest number for an empty one."""
    return _segments("unsorted_segment_min", x, segment_ids, num_segments, "min")


globals().update(TENSOR_SCATTER)
globals().update(SCATTER)
globals().update(SCATTER_ND)
