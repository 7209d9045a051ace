"""Blocks of space moved into the batch and back, batched products over chosen axes, and slices kept below a
norm."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ops.comparison import Greater
from mycelia.ops.composite import composite
from mycelia.ops.constants import like
from mycelia.ops.function.linear import bmm
from mycelia.ops.function.padding import pad
from mycelia.ops.function.products import _p_norm
from mycelia.ops.function.shaping import reshape, transpose
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = ["batch_dot", "batch_to_space_nd", "renorm", "space_to_batch_nd"]


def _blocks(name: str, x: Tensor, size: Any, pairs: Any, what: str) -> tuple[list[int], list[list[int]]]:
    """Extents of a block along the last axes, and the pairs of numbers to add or crop there."""
    pairs = [list(pair) for pair in pairs] if isinstance(pairs, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) for pair in pairs) else None
    block = [size] * len(pairs or ()) if isinstance(size, int) else size
    fits = isinstance(block, (list, tuple)) and pairs is not None and 0 < len(block) == len(pairs) < x.ndim
    if not fits or any(type(b) is not int or b < 1 for b in block) or any(
            len(pair) != 2 or any(type(n) is not int or n < 0 for n in pair) for pair in pairs):
        raise ValueError(
            f"{name}: the block must have a positive integer for each of the last axes, and {what} a pair of "
            f"non-negative integers for each of them. Received: {x.type}, block {size!r}, {what}={pairs!r}"
        )
    return list(block), pairs


@composite
def space_to_batch_nd(input_x: Any, block_size: Any, paddings: Any) -> Tensor:
    """Elements of each block of the last axes, after padding with zeros, as entries of the batch.

    Args:
        input_x: a tensor [n, ..., *space].
        block_size: the extents of a block along the last axes, or one for all of them.
        paddings: for each of these axes how many zeros to put before and after.

    Returns:
        A tensor [n * elements of a block, ..., *space / block_size]; the block's place varies slowest.

    Raises:
        TypeError: no tensor.
        ValueError: blocks and paddings that do not fit each other or the input; padded extents that blocks
            do not divide.

    Example:
        >>> space_to_batch_nd(ops.ones((1, 1, 4, 4)), [2, 2], [[0, 0], [2, 0]]).shape
        (4, 1, 2, 3)
    """
    x = require_tensor("space_to_batch_nd", input_x, "input_x")
    block, pairs = _blocks("space_to_batch_nd", x, block_size, paddings, "paddings")
    if any(n for pair in pairs for n in pair):
        x = pad(x, [n for pair in reversed(pairs) for n in pair])
    count = len(block)
    kept, space = x.shape[:-count], x.shape[-count:]
    if any(d % b for d, b in zip(space, block)):
        raise ValueError(
            f"space_to_batch_nd: block_size must divide the padded extents. Received: {list(space)} after "
            f"padding by {pairs}, block_size={block_size!r}"
        )
    cut = [n for d, b in zip(space, block) for n in (d // b, b)]
    first = len(kept)
    places, rest = [first + 2 * i + 1 for i in range(count)], [first + 2 * i for i in range(count)]
    x = transpose(reshape(x, (*kept, *cut)), (*places, *range(first), *rest))
    return reshape(x, (kept[0] * math.prod(block), *kept[1:], *(d // b for d, b in zip(space, block))))


@composite
def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Tensor:
    """What `space_to_batch_nd` undoes: entries of the batch laid out as blocks, then cropped.

    Args:
        input_x: a tensor [n * elements of a block, ..., *space].
        block_shape: the extents of a block along the last axes, or one for all of them.
        crops: for each of these axes how many elements to take away before and after.

    Returns:
        A tensor [n, ..., *space * block_shape - crops].

    Raises:
        TypeError: no tensor.
        ValueError: blocks and crops that do not fit each other or the input; a batch that is no multiple of
            a block; crops that leave nothing.

    Example:
        >>> batch_to_space_nd(ops.ones((4, 1, 2, 2)), [2, 2], [[0, 0], [1, 0]]).shape
        (1, 1, 4, 3)
    """
    x = require_tensor("batch_to_space_nd", input_x, "input_x")
    block, pairs = _blocks("batch_to_space_nd", x, block_shape, crops, "crops")
    count, elements = len(block), math.prod(block)
    space, middle = x.shape[-count:], x.shape[1:-count]
    if x.shape[0] % elements:
        raise ValueError(
            f"batch_to_space_nd: the batch must be a multiple of the block's {elements} elements. Received: "
            f"{x.type}, block_shape={block_shape!r}"
        )
    whole = [d * b for d, b in zip(space, block)]
    if any(sum(pair) >= d for pair, d in zip(pairs, whole)):
        raise ValueError(f"batch_to_space_nd: crops must leave something of {whole}. Received: crops={pairs}")
    n = x.shape[0] // elements
    first = count + 1 + len(middle)
    order = [count, *range(count + 1, first)]
    for i in range(count):
        order += [first + i, i]
    x = reshape(transpose(reshape(x, (*block, n, *middle, *space)), tuple(order)), (n, *middle, *whole))
    if not any(k for pair in pairs for k in pair):
        return x
    return x[(..., *(slice(pair[0], d - pair[1]) for pair, d in zip(pairs, whole)))]


@composite
def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Tensor:
    """For each entry of the batch, the product of two tensors summed over one axis of each.

    Args:
        x1, x2: tensors [n, ...] of one dtype with at least two axes.
        axes: the axis of each that is summed over, or one number for both; default: the last of x1 and the
            last but one of x2 (the last where there are two).

    Returns:
        A tensor [n, the other axes of x1, the other axes of x2], [n, 1] where there are none.

    Raises:
        TypeError: no tensors, or axes that are no integers.
        ValueError: fewer axes, batches or extents that differ, or the axis of the batch.

    Example:
        >>> batch_dot(ops.ones((2, 2, 3)), ops.ones((2, 3, 4))).shape
        (2, 2, 4)
    """
    x, y = require_tensor("batch_dot", x1, "x1"), require_tensor("batch_dot", x2, "x2")
    if x.ndim < 2 or y.ndim < 2 or x.shape[0] != y.shape[0]:
        raise ValueError(
            "batch_dot: x1 and x2 must have two axes or more and batches of one size. Received: "
            f"x1={x.type}, x2={y.type}"
        )
    if axes is None:
        axes = (x.ndim - 1, max(y.ndim - 2, 1))
    pair = (axes, axes) if isinstance(axes, int) else axes
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or any(type(a) is not int for a in pair):
        raise TypeError(f"batch_dot: axes must be an integer or two. Received: axes={axes!r}")
    a = normalise_axis("batch_dot", pair[0], x.ndim, "axes")
    b = normalise_axis("batch_dot", pair[1], y.ndim, "axes")
    if not a or not b or x.shape[a] != y.shape[b]:
        raise ValueError(
            "batch_dot: axes must be of one extent and not the batch's. Received: "
            f"x1={x.type}, x2={y.type}, axes={axes!r}"
        )
    left = [i for i in range(1, x.ndim) if i != a]
    right = [i for i in range(1, y.ndim) if i != b]
    n, rows, columns = x.shape[0], [x.shape[i] for i in left], [y.shape[i] for i in right]
    product = bmm(
        reshape(transpose(x, (0, *left, a)), (n, math.prod(rows), x.shape[a])),
        reshape(transpose(y, (0, b, *right)), (n, y.shape[b], math.prod(columns))),
    )
    return reshape(product, (n, *(rows + columns or [1])))


@composite
def renorm(input: Any, p: float, axis: int, maxnorm: float) -> Tensor:
    """Slices along an axis scaled down to a p-norm of at most maxnorm; the others stay.

    Args:
        input: a float tensor.
        p: of the norm, positive.
        axis: each index of it is one slice.
        maxnorm: the greatest norm, not negative.

    Raises:
        TypeError: no tensor, or not of floats.
        ValueError: p or maxnorm out of range, or an axis.

    Example:
        >>> renorm(Tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
        Tensor(shape=[2, 2], dtype=Float32, value=
        [[0.6, 0.8],
         [0.3, 0.4]])
    """
    x = require_tensor("renorm", input)
    if x.dtype.kind != "f":
        raise TypeError(f"renorm: input must be a tensor of floats. Received: input={x.type}")
    if not isinstance(p, (int, float)) or not p > 0 or not isinstance(maxnorm, (int, float)) or maxnorm < 0:
        raise ValueError(f"renorm: p must be positive and maxnorm not negative. Received: p={p!r}, "
                         f"maxnorm={maxnorm!r}")
    kept = normalise_axis("renorm", axis, x.ndim)
    norm = _p_norm(x, p, tuple(i for i in range(x.ndim) if i != kept))
    above = Greater(norm, like(float(maxnorm), norm))
    scale = Select(above, like(float(maxnorm), norm) / Select(above, norm, like(1, norm)), like(1, norm))
    return x * reshape(scale, tuple(x.shape[kept] if i == kept else 1 for i in range(x.ndim)))
