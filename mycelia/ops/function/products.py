"""Products and distances of tensors, made of matrix products and sums."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ops.arithmetic import Abs, Pow
from mycelia.ops.comparison import NotEqual
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.exponential import Sqrt
from mycelia.ops.function.linear import bmm, matmul
from mycelia.ops.function.shaping import expand_dims, moveaxis, reshape, stack, transpose
from mycelia.ops.indexing import Gather
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import cast, operands, require_tensor
from mycelia.ops.reduction import ReduceMax, ReduceMin, ReduceSum
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = [
    "addbmm",
    "addmv",
    "addr",
    "cdist",
    "cross",
    "dist",
    "inner",
    "kron",
    "pdist",
    "tensor_dot",
    "vdot",
    "vecdot",
]


@composite
def tensor_dot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """The product summed over axes.

    Args:
        x1, x2: tensors of one dtype.
        axes: how many of the last of x1 and the first of x2, or two lists of axes.

    Raises:
        TypeError: dtypes that differ.
        ValueError: extents that differ, or more axes than there are.
    """
    x, y = require_tensor("tensor_dot", x1, "x1"), require_tensor("tensor_dot", x2, "x2")
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ValueError(
                f"tensor_dot: axes must be from 0 to {min(x.ndim, y.ndim)}. Received: axes={axes}"
            )
        first, second = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        first, second = ([v] if isinstance(v, int) else list(v) for v in axes)
        first = [normalise_axis("tensor_dot", a, x.ndim, "axes") for a in first]
        second = [normalise_axis("tensor_dot", a, y.ndim, "axes") for a in second]
    summed = [x.shape[a] for a in first]
    if len(first) != len(second) or summed != [y.shape[a] for a in second]:
        raise ValueError(
            f"tensor_dot: the axes that are summed must have equal extents. Received: {x.type} and {y.type}, "
            f"axes={axes}"
        )
    rows, columns = ([i for i in range(t.ndim) if i not in gone] for t, gone in ((x, first), (y, second)))
    inner: Any = 1
    for d in summed:
        inner = inner * d
    left = reshape(transpose(x, (*rows, *first)) if x.ndim else x, (-1, inner))
    right = reshape(transpose(y, (*second, *columns)) if y.ndim else y, (inner, -1))
    return reshape(matmul(left, right), (*(x.shape[i] for i in rows), *(y.shape[i] for i in columns)))


def inner(input: Any, other: Any) -> Tensor:
    """The product over the last axes of both."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return tensor_dot(input, other, ([input.ndim - 1], [other.ndim - 1]))


@composite
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Tensor:
    """The products of vectors along an axis."""
    a, b = operands("vecdot", x, y)
    product = a * b
    at = normalise_axis("vecdot", axis, product.ndim)
    return ReduceSum(product, axes=(at,), keepdims=False)


def vdot(input: Any, other: Any) -> Tensor:
    """The product of two vectors."""
    return vecdot(input, other)


@composite
def kron(input: Any, other: Any) -> Tensor:
    """The Kronecker product: each element of the first times the whole second."""
    x, y = operands("kron", input, other)
    rank = max(x.ndim, y.ndim)
    x, y = (reshape(t, (*(1,) * (rank - t.ndim), *t.shape)) for t in (x, y))
    a = reshape(x, tuple(d for extent in x.shape for d in (extent, 1)))
    b = reshape(y, tuple(d for extent in y.shape for d in (1, extent)))
    return reshape(a * b, tuple(m * n for m, n in zip(x.shape, y.shape)))


@composite
def cross(input: Any, other: Any, dim: int | None = None) -> Tensor:
    """The vector product along an axis of extent 3 (the first such axis unless given).

    Raises:
        ValueError: no such axis.
    """
    x, y = operands("cross", input, other)
    if dim is None:
        dim = next((i for i, d in enumerate(x.shape) if d == 3), None)
    if dim is None or x.shape[dim] != 3 or y.shape[dim] != 3:
        raise ValueError(f"cross: the axis must have extent 3. Received: {x.type} and {y.type}, dim={dim}")
    (x0, x1, x2), (y0, y1, y2) = (
        [moveaxis(t, dim, 0)[i] for i in range(3)] for t in (x, y)
    )
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    return stack(parts, normalise_axis("cross", dim, x.ndim))


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (sum of the products of matrices)``."""
    return beta * input + alpha * ReduceSum(bmm(batch1, batch2), axes=(0,), keepdims=False)


def addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``."""
    return beta * input + alpha * matmul(mat, vec)


def addr(x: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * x + alpha * outer(vec1, vec2)``."""
    return beta * x + alpha * (reshape(vec1, (-1, 1)) * reshape(vec2, (1, -1)))


# -- distances -----------------------------------------------------------------------------------------------
def _p_norm(difference: Tensor, p: float, axes: tuple[int, ...]) -> Tensor:
    """The p-norm over axes, whose derivative at 0 is 0."""
    how = {"axes": axes, "keepdims": False}
    size = Abs(difference)
    if p == 0:
        return ReduceSum(cast(NotEqual(size, like(0, size)), size.dtype), **how)
    if p == 1:
        return ReduceSum(size, **how)
    if p == math.inf:
        return ReduceMax(size, **how)
    if p == -math.inf:
        return ReduceMin(size, **how)
    total = ReduceSum(difference * difference if p == 2 else Pow(size, like(float(p), size)), **how)
    apart = NotEqual(total, like(0, total))
    safe = Select(apart, total, like(1, total))
    root = Sqrt(safe) if p == 2 else Pow(safe, like(1.0 / p, safe))
    return Select(apart, root, like(0, root))


@composite
def cdist(x1: Any, x2: Any, p: float = 2.0) -> Tensor:
    """The p-norm's distances of all pairs of rows: ``[..., n, d]`` and ``[..., m, d]`` give ``[..., n, m]``.

    Raises:
        ValueError: rows of different extents, a negative p.
    """
    x, y = operands("cdist", x1, x2)
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1] or p < 0:
        raise ValueError(
            "cdist: x1 must be [..., n, d], x2 [..., m, d] and p not negative. Received: "
            f"{x.type} and {y.type}, p={p}"
        )
    difference = expand_dims(x, -2) - expand_dims(y, -3)
    return _p_norm(difference, p, (difference.ndim - 1,))


@composite
def pdist(input: Any, p: float = 2.0) -> Tensor:
    """The p-norm's distances of all pairs of different rows: ``[..., n, d]`` gives ``[..., n (n - 1) / 2]``.

    Raises:
        TypeError: no tensor.
    """
    import numpy as np
    x = require_tensor("pdist", input)
    first, second = np.triu_indices(int(x.shape[-2]), 1)
    a, b = (Gather(x, constant(at.astype(np.int64)), axis=x.ndim - 2) for at in (first, second))
    return _p_norm(a - b, p, (x.ndim - 1,))


@composite
def dist(input: Any, other: Any, p: float = 2) -> Tensor:
    """The p-norm of the difference."""
    x, y = operands("dist", input, other)
    difference = x - y
    return _p_norm(difference, float(p), tuple(range(difference.ndim)))
