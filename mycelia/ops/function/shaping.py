"""Functions that move elements: shapes, axes, joining, splitting, picking."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import bool_, int64
from mycelia.ir.types import Dim
from mycelia.ops import indexing, movement, selection
from mycelia.ops.constants import constant, like
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import as_tensor, cast, promote, require_tensor
from mycelia.tensor.tensor import Tensor


def extents(name: str, shape: Any, what: str = "shape") -> tuple[Dim, ...]:
    """A tuple of dimensions from an int, a sequence or an integer tensor."""
    if isinstance(shape, Tensor):
        return tuple(int(d) for d in np.atleast_1d(shape.asnumpy()))
    if isinstance(shape, (tuple, list)):
        for d in shape:
            if isinstance(d, (float, str, np.floating)):
                raise TypeError(
                    f"{name}: {what} must hold ints. Received: {what}={shape!r}, where {d!r} is of type "
                    f"{type(d).__name__}. Convert it with int(), or divide with //"
                )
        return tuple(
            int(d.asnumpy()) if isinstance(d, Tensor) else d if not isinstance(d, np.integer) else int(d)
            for d in shape
        )
    if hasattr(shape, "__index__"):
        return (shape,)
    raise TypeError(
        f"{name}: {what} must be an int or a tuple of ints. Received: {what}={shape!r} (of type "
        f"{type(shape).__name__})"
    )


def _product(shape: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for d in shape:
        total = total * d
    return total


def reshape(input: Any, shape: Any) -> Tensor:
    """The same elements in row-major order under another shape, a view where memory allows.

    Args:
        input: a tensor.
        shape: extents; one of them may be -1 and is worked out.

    Raises:
        ValueError: the shape holds another number of elements, or -1 twice.

    Example:
        >>> reshape(Tensor([1, 2, 3, 4]), (2, -1)).shape
        (2, 2)
    """
    x = as_tensor("reshape", input)
    wanted = extents("reshape", shape)
    if any(isinstance(d, int) and d == -1 for d in wanted):
        unknown = [i for i, d in enumerate(wanted) if isinstance(d, int) and d == -1]
        known = _product([d for i, d in enumerate(wanted) if i not in unknown])
        size = _product(x.shape)
        if (
            len(unknown) > 1
            or known == 0
            or isinstance(size, int)
            and isinstance(known, int)
            and size % known
        ):
            raise ValueError(
                f"reshape: the shape {wanted} must hold the input's {size} elements, with at most one -1. "
                "Received: a "
                f"tensor of shape {x.shape}. Give extents whose product is {size}"
            )
        wanted = tuple(size // known if i in unknown else d for i, d in enumerate(wanted))
    return x if wanted == x.shape else movement.Reshape(x, shape=wanted)


def transpose(input: Any, dims: Any = None) -> Tensor:
    """The axes in another order, a view; reversed when no order is given."""
    x = as_tensor("transpose", input)
    if dims is None:
        return movement.Transpose(x, perm=tuple(range(x.ndim))[::-1])
    order = extents("transpose", dims, "dims")
    if len(order) != x.ndim:
        raise ValueError(
            f"transpose: dims must name each of the {x.ndim} axes once. Received: dims={order} for a tensor "
            f"of shape {x.shape}. "
            "For two axes use swapaxes"
        )
    return movement.Transpose(x, perm=tuple(normalise_axis("transpose", d, x.ndim, "dims") for d in order))


def permute(input: Any, axis: Any) -> Tensor:
    """`transpose` under another name."""
    return transpose(input, axis)


def swapaxes(input: Any, axis0: int, axis1: int) -> Tensor:
    """Two axes exchanged; a view."""
    x = as_tensor("swapaxes", input)
    a, b = normalise_axis("swapaxes", axis0, x.ndim), normalise_axis("swapaxes", axis1, x.ndim)
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    return movement.Transpose(x, perm=tuple(order))


def moveaxis(x: Any, source: int, destination: int) -> Tensor:
    """One axis moved to another place; a view."""
    a, b = normalise_axis("moveaxis", source, x.ndim), normalise_axis("moveaxis", destination, x.ndim)
    order = [i for i in range(x.ndim) if i != a]
    order.insert(b, a)
    return movement.Transpose(x, perm=tuple(order))


def t(input: Any) -> Tensor:
    """A matrix transposed; tensors of fewer axes as they are."""
    return swapaxes(input, 0, 1) if input.ndim == 2 else input


def broadcast_to(input: Any, shape: Any) -> Tensor:
    """The input repeated to a shape; -1 keeps an extent. A view."""
    x = as_tensor("broadcast_to", input)
    wanted = extents("broadcast_to", shape)
    lead = len(wanted) - x.ndim
    wanted = tuple(
        x.shape[i - lead] if isinstance(d, int) and d == -1 and i >= lead else d for i, d in enumerate(wanted)
    )
    return x if wanted == x.shape else movement.BroadcastTo(x, shape=wanted)


def expand_dims(input_x: Any, axis: Any) -> Tensor:
    """New axes of extent 1 at the positions ``axis`` (an int or several) of the result."""
    x = as_tensor("expand_dims", input_x)
    places = extents("expand_dims", axis, "axis")
    rank = x.ndim + len(places)
    at = {normalise_axis("expand_dims", p, rank) for p in places}
    rest = iter(x.shape)
    return movement.Reshape(x, shape=tuple(1 if i in at else next(rest) for i in range(rank)))


def unsqueeze(input: Any, dim: int) -> Tensor:
    """`expand_dims` under another name."""
    return expand_dims(input, dim)


def squeeze(input: Any, axis: Any = None) -> Tensor:
    """Without the axes of extent 1: all of them, or those of ``axis`` that have extent 1."""
    x = as_tensor("squeeze", input)
    if axis is None or axis == ():
        chosen = range(x.ndim)
    else:
        chosen = [normalise_axis("squeeze", a, x.ndim) for a in extents("squeeze", axis, "axis")]
    gone = {i for i in chosen if x.shape[i] == 1}
    return (
        x if not gone else movement.Reshape(x, shape=tuple(d for i, d in enumerate(x.shape) if i not in gone))
    )


def flatten(input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """The axes from ``start_dim`` to ``end_dim`` merged into one; ``order="F"`` runs through them
    column-major."""
    x = as_tensor("flatten", input)
    if order == "F":
        x = transpose(x, (0, *range(x.ndim - 1, 0, -1)))
    elif order != "C":
        raise ValueError(f"flatten: order must be 'C' or 'F'. Received: order={order!r}")
    if x.ndim < 2 and start_dim == 1:
        return reshape(x, (-1,))
    first, last = (
        normalise_axis("flatten", start_dim, x.ndim, "start_dim"),
        normalise_axis("flatten", end_dim, x.ndim, "end_dim"),
    )
    if first > last:
        raise ValueError(
            f"flatten: start_dim must not come after end_dim. Received: start_dim={start_dim}, "
            f"end_dim={end_dim}, shape {x.shape}"
        )
    return reshape(x, (*x.shape[:first], _product(x.shape[first:last + 1]), *x.shape[last + 1:]))


# -- joining -------------------------------------------------------------------------------------------------
def cat(tensors: Any, axis: int = 0) -> Tensor:
    """The tensors one after the other along an axis; dtypes convert to a common one.

    Raises:
        TypeError: not a list or tuple of tensors.
        ValueError: an empty list, or shapes that differ off the axis.
    """
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"cat: tensors must be a list or tuple of tensors. Received: {type(tensors).__name__}"
        )
    if not tensors:
        raise ValueError("cat: tensors must not be empty. Received: no tensor")
    items = _alike("cat", tensors)
    return movement.Concat(*items, axis=normalise_axis("cat", axis, items[0].ndim))


def _alike(name: str, tensors: Sequence[Any]) -> list[Tensor]:
    items = [as_tensor(name, x, "tensors") for x in tensors]
    dtype = items[0].dtype
    for x in items[1:]:
        if x.dtype is not dtype:
            dtype = promote(name, dtype, x.dtype)
    return [cast(x, dtype) for x in items]


concat = cat


def stack(tensors: Any, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TypeError(
            f"stack: tensors must be a list or tuple of tensors that is not empty. Received: {tensors!r}"
        )
    items = _alike("stack", tensors)
    if any(x.shape != items[0].shape for x in items):
        raise ValueError(
            f"stack: the tensors must have one shape. Received: {', '.join(str(x.shape) for x in items)}. "
            "Use cat, or reshape"
        )
    at = normalise_axis("stack", axis, items[0].ndim + 1)
    return movement.Concat(*(expand_dims(x, at) for x in items), axis=at)


# -- taking apart --------------------------------------------------------------------------------------------
def narrow(input: Any, axis: int, start: Any, length: Dim) -> Tensor:
    """``length`` elements from ``start`` on along an axis; a view."""
    x = as_tensor("narrow", input)
    at = normalise_axis("narrow", axis, x.ndim)
    start = int(start.asnumpy()) if isinstance(start, Tensor) else start
    begin = tuple(start if i == at else 0 for i in range(x.ndim))
    end = tuple(start + length if i == at else d for i, d in enumerate(x.shape))
    return movement.StridedSlice(x, begin=begin, end=end, strides=(1,) * x.ndim)


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of equal size along an axis (the last may be smaller), or of the sizes of a list.

    Raises:
        ValueError: a size below 1, or sizes that do not add up.
    """
    x = as_tensor("split", tensor)
    at = normalise_axis("split", axis, x.ndim)
    total = x.shape[at]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 1:
            raise ValueError(f"split: split_size_or_sections must be positive. Received: {size}")
        sizes = [size] * (total // size) + ([total % size] if total % size else []) or [0]
    else:
        sizes = list(split_size_or_sections)
        if _total(sizes) != total:
            raise ValueError(f"split: the sizes must add up to the axis's extent {total}. Received: {sizes}")
    parts, start = [], 0
    for size in sizes:
        parts.append(narrow(x, at, start, size))
        start += size
    return tuple(parts)


def _total(sizes: Sequence[Any]) -> Any:
    total: Any = 0
    for size in sizes:
        total = total + size
    return total


def chunk(input: Any, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` views of equal size along an axis; the last may be smaller."""
    extent = input.shape[normalise_axis("chunk", axis, input.ndim)]
    if chunks < 1:
        raise ValueError(f"chunk: chunks must be positive. Received: chunks={chunks}")
    return split(input, -(-extent // chunks) or 1, axis)


def unstack(input_x: Any, axis: int = 0, num: int | None = None) -> tuple[Tensor, ...]:
    """One view for each index along an axis, without that axis."""
    x = as_tensor("unstack", input_x)
    at = normalise_axis("unstack", axis, x.ndim)
    rest = x.shape[:at] + x.shape[at + 1:]
    return tuple(movement.Reshape(narrow(x, at, i, 1), shape=rest) for i in range(int(x.shape[at])))


def unbind(input: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """`unstack` under another name."""
    return unstack(input, dim)


def strided_slice(
    input_x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """Python's slice ``begin:end:strides`` on each leading axis; bit i of a mask turns item i into an open
    end, an ellipsis, a new axis or a single index."""
    def bit(mask: int, i: int) -> bool:
        return bool(mask >> i & 1)

    key: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides)):
        if bit(ellipsis_mask, i):
            key.append(...)
        elif bit(new_axis_mask, i):
            key.append(None)
        elif bit(shrink_axis_mask, i):
            key.append(int(b))
        else:
            key.append(_slice(None if bit(begin_mask, i) else b, None if bit(end_mask, i) else e, s))
    return input_x[tuple(key)]


_slice = slice


def slice(input_x: Any, begin: Any, size: Any) -> Tensor:  # noqa: A001
    """``size[i]`` elements from ``begin[i]`` on along each axis; a size of -1 means the rest. A view."""
    x = as_tensor("slice", input_x)
    first = tuple(int(b) for b in extents("slice", begin, "begin"))
    lengths = extents("slice", size, "size")
    end = tuple(d if isinstance(n, int) and n == -1 else b + n for b, n, d in zip(first, lengths, x.shape))
    return movement.StridedSlice(x, begin=first, end=end, strides=(1,) * x.ndim)


# -- repeating, turning --------------------------------------------------------------------------------------
def tile(input: Any, dims: Any) -> Tensor:
    """The input repeated ``dims[i]`` times along each axis, counted from the last."""
    x = as_tensor("tile", input)
    counts = extents("tile", dims, "dims")
    lead = len(counts) - x.ndim
    if lead > 0:
        x = movement.Reshape(x, shape=(*(1,) * lead, *x.shape))
    counts = (*(1,) * -lead, *counts)
    if _all_ones(counts):
        return x
    spread = tuple(d for n, extent in zip(counts, x.shape) for d in (1, extent))
    wide = tuple(d for n, extent in zip(counts, x.shape) for d in (n, extent))
    repeated = movement.BroadcastTo(movement.Reshape(x, shape=spread), shape=wide)
    return movement.Reshape(repeated, shape=tuple(n * d for n, d in zip(counts, x.shape)))


def _all_ones(counts: Sequence[Dim]) -> bool:
    return not [n for n in counts if not (isinstance(n, int) and n == 1)]


def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element repeated in place along an axis (the flattened tensor when None): so many times, or as
    many as a list or tensor says for each."""
    x = reshape(input, (-1,)) if axis is None else as_tensor("repeat_interleave", input)
    at = 0 if axis is None else normalise_axis("repeat_interleave", axis, x.ndim)
    counts = repeats.asnumpy() if isinstance(repeats, Tensor) else np.asarray(repeats)
    if (counts < 0).any():
        raise ValueError(f"repeat_interleave: repeats must not be negative. Received: {counts.tolist()}")
    if counts.size != 1:
        if counts.shape != (x.shape[at],):
            raise ValueError(
                f"repeat_interleave: repeats must be one number, or one for each of the {x.shape[at]} "
                f"elements along the axis. Received: {counts.tolist()}"
            )
        return indexing.Gather(x, constant(np.repeat(np.arange(counts.size), counts)), axis=at)
    repeats = int(counts.reshape(()))
    wide = (*x.shape[:at + 1], repeats, *x.shape[at + 1:])
    return reshape(
        movement.BroadcastTo(expand_dims(x, at + 1), shape=wide),
        (*x.shape[:at], x.shape[at] * repeats, *x.shape[at + 1 :]),
    )


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Tensor:
    """`repeat_interleave` along an axis."""
    return repeat_interleave(x, rep, axis)


def flip(input: Any, dims: Any) -> Tensor:
    """The elements along the given axes in reverse order; a view."""
    x = as_tensor("flip", input)
    turned = {normalise_axis("flip", a, x.ndim, "dims") for a in extents("flip", dims, "dims")}
    begin = tuple(d - 1 if i in turned else 0 for i, d in enumerate(x.shape))
    end = tuple(-1 if i in turned else d for i, d in enumerate(x.shape))
    if not all(x.shape):
        return x
    return movement.StridedSlice(
        x, begin=begin, end=end, strides=tuple(-1 if i in turned else 1 for i in range(x.ndim))
    )


def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """The elements moved along axes, those pushed over the end coming in at the start."""
    x = as_tensor("roll", input)
    if dims is None:
        return reshape(roll(reshape(x, (-1,)), shifts, 0), x.shape)
    for shift, axis in zip(extents("roll", shifts, "shifts"), extents("roll", dims, "dims")):
        at = normalise_axis("roll", axis, x.ndim, "dims")
        extent = x.shape[at]
        step = shift % extent if extent else 0
        if step:
            x = cat((narrow(x, at, extent - step, step), narrow(x, at, 0, extent - step)), at)
    return x


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Grids of coordinates: output k varies along axis k (``"ij"``), or with the first two exchanged
    (``"xy"``)."""
    tensors = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij'. Received: indexing={indexing!r}")
    shape = tuple(x.size for x in tensors)
    grids = [
        broadcast_to(reshape(x, tuple(-1 if i == k else 1 for i in range(len(shape)))), shape)
        for k, x in enumerate(tensors)
    ]
    return tuple(swapaxes(g, 0, 1) if indexing == "xy" and len(grids) > 1 else g for g in grids)


# -- picking -------------------------------------------------------------------------------------------------
def gather(input_params: Any, input_indices: Any, axis: int, batch_dims: int = 0) -> Tensor:
    """Slices of the input along an axis, picked by a tensor of indices; negative ones count from the end.

    Raises:
        TypeError: indices that are no integers.
        ValueError: an axis out of range.
    """
    x, indices = as_tensor("gather", input_params), as_tensor("gather", input_indices, "input_indices")
    axis = int(axis.asnumpy()) if isinstance(axis, Tensor) else axis
    at = normalise_axis("gather", axis, x.ndim)
    if batch_dims == 0:
        return indexing.Gather(x, indices, axis=at)
    lead = x.shape[:batch_dims]
    count = math.prod(lead)
    flat_x, flat_i = (
        reshape(x, (count, *x.shape[batch_dims:])),
        reshape(indices, (count, *indices.shape[batch_dims:])),
    )
    picked, _ = indexing.Gather.batch((0, 0), flat_x, flat_i, axis=at - batch_dims)
    return reshape(picked, (*lead, *picked.shape[1:]))


def index_select(input: Any, axis: int, index: Any) -> Tensor:
    """`gather` by a vector of indices.

    Raises:
        TypeError: the index is no tensor.
    """
    return gather(input, require_tensor("index_select", index, "index"), axis)


def gather_elements(input: Any, dim: int, index: Any) -> Tensor:
    """The element at each index along an axis: ``y[i][j] = input[i][index[i][j]]`` for axis 1."""
    x = as_tensor("gather_elements", input)
    at = normalise_axis("gather_elements", dim, x.ndim, "dim")
    for i, (have, want) in enumerate(zip(x.shape, index.shape)):
        if i != at and want != have:
            x = narrow(x, i, 0, want)
    return indexing.GatherD(x, index, axis=at)


def gather_nd(input_x: Any, indices: Any) -> Tensor:
    """Slices of the input picked by index tuples along the last axis of ``indices``."""
    return input_x[tuple(unstack(indices, -1))]


def one_hot(indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1) -> Tensor:
    """``on_value`` at each index along a new axis of extent ``depth``, ``off_value`` elsewhere."""
    x = as_tensor("one_hot", indices, "indices")
    dtype = (
        on_value.dtype
        if isinstance(on_value, Tensor)
        else int64
        if isinstance(on_value, int)
        else dtypes.float32
    )
    on, off = (v.asnumpy().item() if isinstance(v, Tensor) else v for v in (on_value, off_value))
    hot = indexing.OneHot(x, depth=int(depth), on=on, off=off, dtype=dtype)
    return hot if axis in (-1, x.ndim) else moveaxis(hot, -1, axis)


def rows_of_nonzero(x: Tensor) -> Tensor:
    """One row of indices (int64) for each element that is not 0: worked out on the spot where the tensor has
    elements, else in the graph, with an extent that is known only when it runs."""
    if x._storage is None:
        return indexing.NonZero(x)
    return constant(indexing.places_of_nonzero(x.asnumpy()))


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0, one row each; a tensor for each axis if ``as_tuple``."""
    found = rows_of_nonzero(as_tensor("nonzero", input))
    return tuple(found[:, i] for i in range(input.ndim)) if as_tuple else found


def argwhere(input: Any) -> Tensor:
    return nonzero(input)


def tril(input: Any, diagonal: int = 0) -> Tensor:
    """The elements on and below a diagonal of the last two axes, 0 above."""
    return _triangle(as_tensor("tril", input), diagonal, lower=True)


def triu(input: Any, diagonal: int = 0) -> Tensor:
    """The elements on and above a diagonal of the last two axes, 0 below."""
    return _triangle(as_tensor("triu", input), diagonal, lower=False)


def _triangle(x: Tensor, diagonal: int, lower: bool) -> Tensor:
    from mycelia.ops.comparison import GreaterEqual, LessEqual
    from mycelia.ops.creation import Iota
    if x.ndim < 2:
        raise ValueError(
            f"{'tril' if lower else 'triu'}: the input must have at least two axes. Received: a tensor of "
            f"shape {x.shape}"
        )
    rows = reshape(Iota(size=x.shape[-2], dtype=int64), (x.shape[-2], 1)) + int(diagonal)
    columns = reshape(Iota(size=x.shape[-1], dtype=int64), (1, x.shape[-1]))
    keep = (LessEqual if lower else GreaterEqual)(columns, rows)
    return selection.Select(keep, x, like(0, x) if x.dtype is not bool_ else like(False, x))


# -- asking --------------------------------------------------------------------------------------------------
def shape(input_x: Any) -> tuple[Dim, ...]:
    """The shape as a tuple."""
    return require_tensor("shape", input_x).shape


def rank(input_x: Any) -> int:
    """The number of axes."""
    return require_tensor("rank", input_x).ndim


def size(input_x: Any) -> Dim:
    """The number of elements."""
    return require_tensor("size", input_x).size


def dtype(x: Any) -> dtypes.DType:
    """The element type."""
    return require_tensor("dtype", x).dtype


numel = size


def is_tensor(obj: Any) -> bool:
    """Whether the object is a tensor."""
    return isinstance(obj, Tensor)


def tuple_to_array(input_x: Sequence[Any]) -> Tensor:
    """A tensor of a tuple of numbers: int32 or float32, as the first of them is."""
    kind = dtypes.int32 if isinstance(input_x[0], int) else dtypes.float32
    return cast(as_tensor("tuple_to_array", list(input_x)), kind)
