"""Functions that pick and replace by place: repeated, reversed in part, on diagonals, within bands."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir.dtypes import int64
from mycelia.ops import indexing, movement
from mycelia.ops.comparison import Equal, GreaterEqual, LessEqual
from mycelia.ops.constants import constant, like
from mycelia.ops.creation import Iota
from mycelia.ops.function.arranging import diag_embed, diagonal, movedim
from mycelia.ops.function.shaping import broadcast_to, flip, reshape
from mycelia.ops.inference import normalise_axis
from mycelia.ops.logic import LogicalAnd
from mycelia.ops.promotion import as_tensor, cast, require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = ["diagonal_scatter", "fill_diagonal", "matrix_band_part", "reverse",
           "reverse_sequence", "take"]


def take(input: Any, index: Any) -> Tensor:
    """The elements at flat indices, with the indices' shape."""
    return indexing.Gather(reshape(input, (-1,)), as_tensor("take", index, "index"), axis=0)


def reverse(x: Any, axis: Any) -> Tensor:
    """`flip` under another name."""
    return flip(x, axis)


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """For each item of the batch axis, the first ``seq_lengths[i]`` elements along ``seq_dim`` in reverse
    order."""
    x = require_tensor("reverse_sequence", x)
    along, batch = (normalise_axis("reverse_sequence", d, x.ndim) for d in (seq_dim, batch_dim))
    place = _along(x.shape, along)
    length = reshape(cast(as_tensor("reverse_sequence", seq_lengths), int64), _only(x.shape, batch))
    source = Select(place < length, length - 1 - place, place)
    return indexing.GatherD(x, broadcast_to(source, x.shape), axis=along)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The input with a diagonal of two axes replaced by ``src``."""
    x, src = require_tensor("diagonal_scatter", input), as_tensor("diagonal_scatter", src, "src")
    a, b = (normalise_axis("diagonal_scatter", d, x.ndim) for d in (dim1, dim2))
    kept = diagonal(x, offset, a, b)
    if src.shape != kept.shape:
        raise ValueError(
            f"diagonal_scatter: src must have the diagonal's shape {kept.shape}. Received: shape {src.shape}"
        )
    moved = movedim(x, (a, b), (-2, -1))
    high, wide = moved.shape[-2:]
    row, column = max(-offset, 0), max(offset, 0)
    count = kept.shape[-1]
    square = diag_embed(cast(src, x.dtype))
    lead = ((0, 0),) * (moved.ndim - 2)
    pads = (*lead, (row, high - row - count), (column, wide - column - count))
    spread = movement.Pad(square, paddings=pads, value=0)
    hit = Equal(_along((high, wide), 0) + offset, _along((high, wide), 1))
    return movedim(Select(hit, spread, moved), (-2, -1), (a, b))


def fill_diagonal(input: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """The input with one value on its main diagonal; ``wrap`` begins anew below a tall matrix's end."""
    x = require_tensor("fill_diagonal", input)
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError(
            f"fill_diagonal: the input must be a matrix, or have equal extents. Received: shape {x.shape}"
        )
    step = 1 + sum(math.prod(x.shape[i + 1 :]) for i in range(x.ndim - 1))
    end = x.size if wrap or x.ndim > 2 else min(x.size, x.shape[1] * x.shape[1])
    hit = np.zeros(x.size, np.bool_)
    hit[:end:step] = True
    return Select(constant(hit.reshape(x.shape)), like(fill_value, x), x)


def matrix_band_part(x: Any, lower: Any, upper: Any) -> Tensor:
    """The elements of the last two axes at most ``lower`` below and ``upper`` above the main diagonal (all of
    them for -1), 0 elsewhere."""
    x = require_tensor("matrix_band_part", x)
    low, high = (int(v.asnumpy()) if isinstance(v, Tensor) else int(v) for v in (lower, upper))
    most = max(x.shape, default=0)
    if x.ndim < 2:
        raise ValueError(f"matrix_band_part: x must have at least two axes. Received: shape {x.shape}")
    distance = _along(x.shape[-2:], 1) - _along(x.shape[-2:], 0)
    above = LessEqual(distance, like(most if high < 0 else high, distance))
    below = GreaterEqual(distance, like(-(most if low < 0 else low), distance))
    return Select(LogicalAnd(above, below), x, like(0, x))


def _along(shape: Sequence[Any], axis: int) -> Tensor:
    """Indices along one axis, of extent 1 in the others."""
    return reshape(Iota(size=shape[axis], dtype=int64), _only(shape, axis))


def _only(shape: Sequence[Any], axis: int) -> tuple:
    return tuple(d if i == axis else 1 for i, d in enumerate(shape))
