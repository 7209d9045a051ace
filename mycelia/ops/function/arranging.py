"""Functions that arrange tensors: stacking along given axes, turning, diagonals, grids of indices."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mycelia.ir.dtypes import int64
from mycelia.ops.comparison import Less
from mycelia.ops.constants import constant
from mycelia.ops.creation import Iota
from mycelia.ops.function.padding import pad
from mycelia.ops.function.shaping import (
    broadcast_to,
    cat,
    expand_dims,
    flip,
    meshgrid,
    narrow,
    reshape,
    split,
    stack,
    swapaxes,
    transpose,
)
from mycelia.ops.inference import normalise_axis
from mycelia.ops.movement import Transpose
from mycelia.ops.promotion import as_tensor, cast, require_tensor
from mycelia.ops.reduction import ReduceMax
from mycelia.tensor.tensor import Tensor

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "column_stack",
    "combinations",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "dsplit",
    "dstack",
    "expand",
    "expand_as",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "movedim",
    "ravel",
    "rot90",
    "row_stack",
    "sequence_mask",
    "swapdims",
    "tensor_split",
    "trace",
    "tril_indices",
    "triu_indices",
    "type_as",
    "vander",
    "view_as",
    "vsplit",
    "vstack",
]


# -- ranks ---------------------------------------------------------------------------------------------------
def _at_least(rank: int) -> Any:
    def function(*inputs: Any) -> Any:
        items = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
        raised = tuple(_raised(as_tensor(f"atleast_{rank}d", x), rank) for x in items)
        return raised[0] if len(inputs) == 1 and isinstance(inputs[0], Tensor) else raised

    function.__name__ = function.__qualname__ = f"atleast_{rank}d"
    function.__doc__ = f"The tensors with axes of extent 1 added until they have {rank}; a tuple of several."
    return function


def _raised(x: Tensor, rank: int) -> Tensor:
    if x.ndim >= rank:
        return x
    if x.ndim == 2:
        return expand_dims(x, 2)
    if x.ndim == 1 and rank == 3:
        return reshape(x, (1, *x.shape, 1))
    return reshape(x, (*(1,) * (rank - x.ndim), *x.shape))


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


# -- stacking and splitting ----------------------------------------------------------------------------------
def _tensors(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not tensors:
        raise TypeError(
            f"{name}: the tensors must be a list or tuple that is not empty. Received: "
            f"{type(tensors).__name__}"
        )
    return [as_tensor(name, x) for x in tensors]


def hstack(tensors: Any) -> Tensor:
    """The tensors side by side: along axis 1, vectors along axis 0."""
    items = [_raised(x, 1) for x in _tensors("hstack", tensors)]
    return cat(items, 0 if items[0].ndim == 1 else 1)


def vstack(inputs: Any) -> Tensor:
    """The tensors one below the other: along axis 0, vectors being rows."""
    return cat([_raised(x, 2) for x in _tensors("vstack", inputs)], 0)


row_stack = vstack


def dstack(tensors: Any) -> Tensor:
    """The tensors one behind the other: along axis 2."""
    return cat([_raised(x, 3) for x in _tensors("dstack", tensors)], 2)


def column_stack(tensors: Any) -> Tensor:
    """The tensors as columns side by side; vectors are columns."""
    items = _tensors("column_stack", tensors)
    return cat([x if x.ndim > 1 else reshape(x, (-1, 1)) for x in items], 1)


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Views along an axis: so many, as equal as they can be, or cut at the indices given.

    Raises:
        TypeError: neither an int nor a list of them.
        ValueError: a number below 1.
    """
    x = as_tensor("tensor_split", input)
    at = normalise_axis("tensor_split", axis, x.ndim)
    extent = int(x.shape[at])
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count < 1:
            raise ValueError(f"tensor_split: the number of sections must be positive. Received: {count}")
        sizes = [extent // count + (i < extent % count) for i in range(count)]
        return split(x, sizes, at)
    if not isinstance(indices_or_sections, (list, tuple)):
        raise TypeError(
            "tensor_split: indices_or_sections must be an int or a list of ints. Received: "
            f"{indices_or_sections!r}"
        )
    bounds = [slice(None, i).indices(extent)[1] for i in indices_or_sections]
    pairs = zip([0, *bounds], [*bounds, extent])
    return tuple(narrow(x, at, lo, max(hi - lo, 0)) for lo, hi in pairs)


def _splitter(name: str, axis: int, least: int) -> Any:
    def function(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
        x = as_tensor(name, input)
        if x.ndim < least:
            raise ValueError(f"{name}: the input must have at least {least} axes. Received: {x.type}")
        return tensor_split(x, indices_or_sections, axis if x.ndim > axis else 0)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`tensor_split` along axis {axis}."
    return function


hsplit, vsplit, dsplit = _splitter("hsplit", 1, 1), _splitter("vsplit", 0, 2), _splitter("dsplit", 2, 3)


def ravel(input: Any) -> Tensor:
    """All elements as a vector; a view where memory allows."""
    return reshape(input, (-1,))


def expand(input: Any, size: Any) -> Tensor:
    """`broadcast_to`."""
    return broadcast_to(input, size)


def expand_as(input: Any, other: Any) -> Tensor:
    """The input broadcast to another tensor's shape."""
    return broadcast_to(input, other.shape)


def view_as(input: Any, other: Any) -> Tensor:
    """The input under another tensor's shape."""
    return reshape(input, other.shape)


def type_as(input: Any, other: Any) -> Tensor:
    """The input with another tensor's dtype."""
    return cast(input, other.dtype)


# -- turning -------------------------------------------------------------------------------------------------
swapdims = swapaxes


def movedim(x: Any, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places; the rest keep their order.

    Raises:
        ValueError: different numbers of sources and destinations, or an axis twice.
    """
    x = as_tensor("movedim", x)
    given = [v if isinstance(v, (tuple, list)) else (v,) for v in (source, destination)]
    sources, targets = ([normalise_axis("movedim", a, x.ndim) for a in v] for v in given)
    if len(sources) != len(targets) or len(set(sources)) < len(sources) or len(set(targets)) < len(targets):
        raise ValueError(
            "movedim: source and destination must name as many axes, none twice. Received: "
            f"source={source}, destination={destination}"
        )
    order: list[Any] = [None] * x.ndim
    for a, b in zip(sources, targets):
        order[b] = a
    rest = iter(i for i in range(x.ndim) if i not in sources)
    return transpose(x, tuple(next(rest) if a is None else a for a in order))


def fliplr(input: Any) -> Tensor:
    """Axis 1 in reverse order."""
    return flip(input, (1,))


def flipud(input: Any) -> Tensor:
    """Axis 0 in reverse order."""
    return flip(input, (0,))


def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two axes turned by 90 degrees, k times, from the first towards the second."""
    x = as_tensor("rot90", input)
    a, b = (normalise_axis("rot90", d, x.ndim, "dims") for d in dims)
    if a == b:
        raise ValueError(f"rot90: dims must be two different axes. Received: dims={tuple(dims)}")
    turn = k % 4
    if turn == 0:
        return x
    if turn == 2:
        return flip(x, (a, b))
    return swapaxes(flip(x, (b,)), a, b) if turn == 1 else flip(swapaxes(x, a, b), (b,))


# -- diagonals -----------------------------------------------------------------------------------------------
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of the plane of two axes, as the last axis; a view where memory allows.

    Args:
        input: at least two axes.
        offset: above (positive) or below the main diagonal.
        dim1, dim2: the axes.

    Raises:
        ValueError: fewer axes, or one of them twice.
    """
    x = as_tensor("diagonal", input)
    if x.ndim < 2:
        raise ValueError(f"diagonal: the input must have at least two axes. Received: {x.type}")
    a, b = (normalise_axis("diagonal", d, x.ndim, "dim") for d in (dim1, dim2))
    if a == b:
        raise ValueError(f"diagonal: dim1 and dim2 must differ. Received: {dim1}, {dim2}")
    rest = [i for i in range(x.ndim) if i not in (a, b)]
    planes = x if rest == list(range(x.ndim - 2)) and a < b else Transpose(x, perm=(*rest, a, b))
    rows, columns = int(planes.shape[-2]), int(planes.shape[-1])
    low, right = max(-offset, 0), max(offset, 0)
    count = max(min(rows - low, columns - right), 0)
    flat = reshape(planes, (*planes.shape[:-2], rows * columns))
    if count == 0:
        return narrow(flat, -1, 0, 0)
    lead = (slice(None),) * (flat.ndim - 1)
    first = low * columns + right
    return flat[(*lead, slice(first, first + (count - 1) * (columns + 1) + 1, columns + 1))]


def trace(input: Any) -> Tensor:
    """The sum of a matrix's diagonal."""
    from mycelia.ops.function.reducing import sum
    x = require_tensor("trace", input)
    if x.ndim != 2:
        raise ValueError(f"trace: the input must have two axes. Received: {x.type}")
    return sum(diagonal(x), dtype=x.dtype if x.dtype.is_float else None)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices whose diagonals are the last axis of the input, 0 elsewhere.

    Args:
        input: at least one axis.
        offset: above (positive) or below the main diagonal.
        dim1, dim2: the matrices' axes in the result.
    """
    x = as_tensor("diag_embed", input)
    rank = x.ndim + 1
    a, b = (normalise_axis("diag_embed", d, rank, "dim") for d in (dim1, dim2))
    if a == b:
        raise ValueError(f"diag_embed: dim1 and dim2 must differ. Received: {dim1}, {dim2}")
    count = int(x.shape[-1])
    size = count + abs(offset)
    # Each element followed by `size` zeros makes rows that are one longer than the matrix's.
    spread = pad(expand_dims(x, -1), (0, size))
    body = reshape(spread, (*x.shape[:-1], count * (size + 1)))
    first = max(-offset, 0) * size + max(offset, 0)
    flat = pad(body, (first, max(size * size - first - count * (size + 1), 0)))
    planes = reshape(narrow(flat, -1, 0, size * size), (*x.shape[:-1], size, size))
    order: list[Any] = [None] * rank
    order[a], order[b] = rank - 2, rank - 1
    rest = iter(range(rank - 2))
    return transpose(planes, tuple(next(rest) if i is None else i for i in order))


def numpy_diag(input: Any, diagonal: int = 0) -> Tensor:
    """A matrix with the vector on a diagonal, or a matrix's diagonal.

    Raises:
        ValueError: another number of axes.
    """
    x = as_tensor("diag", input)
    if x.ndim == 1:
        return diag_embed(x, diagonal)
    if x.ndim != 2:
        raise ValueError(f"diag: the input must have one or two axes. Received: {x.type}")
    return _diagonal(x, diagonal)


_diagonal = diagonal


def diag(input: Any) -> Tensor:
    """A vector's elements on the diagonal of a matrix; in general, of an input of shape ``s`` a tensor of
    shape ``s + s`` with the elements where both halves of the index agree (``ops.diag``)."""
    x = as_tensor("diag", input)
    return reshape(diag_embed(reshape(x, (-1,))), (*x.shape, *x.shape))


def diagflat(input: Any, offset: int = 0) -> Tensor:
    """A matrix with all elements on a diagonal."""
    return diag_embed(ravel(input), offset)


def block_diag(*inputs: Any) -> Tensor:
    """A matrix with the matrices along its diagonal, 0 elsewhere."""
    blocks = [_raised(as_tensor("block_diag", x), 2) for x in inputs]
    columns = sum(int(b.shape[1]) for b in blocks)
    rows, before = [], 0
    for block in blocks:
        width = int(block.shape[1])
        rows.append(pad(block, (before, columns - before - width)))
        before += width
    return cat(rows, 0)


# -- indices and combinations --------------------------------------------------------------------------------
def _triangle(name: str, make: Any, row: int, col: int, offset: int, dtype: Any) -> Tensor:
    if row < 0 or col < 0:
        raise ValueError(f"{name}: row and col must not be negative. Received: row={row}, col={col}")
    return cast(constant(np.stack(make(row, offset, col))), dtype)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Tensor:
    """The indices (two rows) of the elements on and below a diagonal."""
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = int64) -> Tensor:
    """The indices (two rows) of the elements on and above a diagonal."""
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype)


def cartesian_prod(*inputs: Any) -> Tensor:
    """All ways to take an element of each vector, one a row."""
    if len(inputs) == 1:
        return as_tensor("cartesian_prod", inputs[0])
    return stack([ravel(g) for g in meshgrid(*inputs, indexing="ij")], -1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to take r elements of a vector, in order, one a row."""
    x = as_tensor("combinations", input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(int(x.shape[0])), r)), np.int64).reshape(-1, r)
    from mycelia.ops.indexing import Gather
    return Gather(x, constant(places), axis=0)


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Tensor:
    """Booleans along a new last axis of extent ``maxlen``: true before each length.

    Args:
        lengths: integers.
        maxlen: the largest length unless given.
    """
    x = require_tensor("sequence_mask", lengths)
    if maxlen is None:
        longest = ReduceMax(x, axes=tuple(range(x.ndim)), keepdims=False)
        maxlen = int(longest.asnumpy())
    steps = Iota(size=int(maxlen), dtype=x.dtype)
    return Less(steps, expand_dims(x, -1))


def vander(x: Any, N: int | None = None) -> Tensor:
    """The powers of a vector's elements, falling from N - 1 to 0, one row for each."""
    x = as_tensor("vander", x)
    count = int(x.shape[-1]) if N is None else N
    powers = cast(constant(np.arange(count - 1, -1, -1)), x.dtype)
    return expand_dims(x, -1) ** powers
