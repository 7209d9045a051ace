"""Matrix products in all the forms that programs write them."""
from __future__ import annotations

from typing import Any

from mycelia.ops.composite import composite
from mycelia.ops.constants import like
from mycelia.ops.function.shaping import broadcast_to, expand_dims, reshape, transpose
from mycelia.ops.inference import broadcast_shapes
from mycelia.ops.matrix import BatchMatMul, MatMul
from mycelia.ops.movement import Reshape
from mycelia.ops.precision import converts
from mycelia.ops.promotion import as_tensor, require_tensor
from mycelia.ops.reduction import ReduceSum
from mycelia.tensor.tensor import Tensor


def _require_matrices(name: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x, y = require_tensor(name, x), require_tensor(name, y, "other")
    if x.dtype is not y.dtype and not converts():
        raise TypeError(
            f"{name}: both operands must have one dtype. Received: {x.type} and {y.type}. Convert one with "
            "astype"
        )
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(
            f"{name}: the operands must have at least one axis. Received: {x.type} and {y.type}. Multiply "
            "with *"
        )
    return x, y


def matmul(input: Any, other: Any) -> Tensor:
    """The matrix product as NumPy defines it: leading axes broadcast, a vector is a row on the left and a
    column on the right.

    Args:
        input: ``[..., m, k]`` or ``[k]``.
        other: ``[..., k, n]`` or ``[k]``, of the same dtype.

    Returns:
        ``[..., m, n]``, without m or n where an operand was a vector.

    Raises:
        TypeError: dtypes differ.
        ValueError: the inner extents differ, or the leading ones do not broadcast.

    Example:
        >>> matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]]))
        Tensor(shape=[1, 1], dtype=Float32, value= [[11.]])
    """
    x, y = _require_matrices("matmul", input, other)
    if x.ndim == 2 and y.ndim == 2:
        return MatMul(x, y, transpose_a=False, transpose_b=False)
    if x.ndim == 1 or y.ndim == 1:
        row, column = x.ndim == 1, y.ndim == 1
        product = matmul(expand_dims(x, 0) if row else x, expand_dims(y, 1) if column else y)
        shape = product.shape
        if column:
            shape = shape[:-1]
        if row:
            shape = (*shape[:-2], shape[-1]) if not column else shape[:-1]
        return Reshape(product, shape=shape)
    if y.ndim == 2:  # one tall product
        flat = MatMul(reshape(x, (-1, x.shape[-1])), y, transpose_a=False, transpose_b=False)
        return Reshape(flat, shape=(*x.shape[:-1], y.shape[-1]))
    return _batched(x, y, False, False)


def _batched(x: Tensor, y: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    if x.shape[:-2] != y.shape[:-2]:
        lead = broadcast_shapes(
            "matmul", (x.type.with_shape(*x.shape[:-2]), y.type.with_shape(*y.shape[:-2]))
        )
        x, y = broadcast_to(x, (*lead, *x.shape[-2:])), broadcast_to(y, (*lead, *y.shape[-2:]))
    return BatchMatMul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)


def batch_matmul(x: Any, y: Any, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """A product of matrices for each item of the leading axes, either operand transposed."""
    x, y = _require_matrices("batch_matmul", x, y)
    if x.ndim == 2 and y.ndim == 2:
        return MatMul(x, y, transpose_a=transpose_a, transpose_b=transpose_b)
    return _batched(x, y, transpose_a, transpose_b)


def bmm(input_x: Any, mat2: Any) -> Tensor:
    """A product of matrices for each item of equal leading axes."""
    return batch_matmul(input_x, mat2)


def mm(input: Any, mat2: Any) -> Tensor:
    """The product of two matrices."""
    return MatMul(input, mat2, transpose_a=False, transpose_b=False)


def dense(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """``input @ weight.T + bias``: input ``[..., in]``, weight ``[out, in]``, bias ``[out]``."""
    x, w = _require_matrices("dense", input, weight)
    rows = x if x.ndim == 2 else reshape(x, (-1, x.shape[-1]))
    y = MatMul(rows, w, transpose_a=False, transpose_b=True)
    if bias is not None:
        y = y + bias
    return y if x.ndim == 2 else Reshape(y, shape=(*x.shape[:-1], w.shape[0]))


linear = dense


def outer(input: Any, vec2: Any) -> Tensor:
    """The product of each element of one vector with each of the other."""
    return expand_dims(as_tensor("outer", input), 1) * expand_dims(as_tensor("outer", vec2), 0)


ger = outer


def dot(input: Any, other: Any) -> Tensor:
    """The sum of products of two vectors."""
    return ReduceSum(input * other, axes=(0,), keepdims=False)


def mv(mat: Any, vec: Any) -> Tensor:
    """A matrix times a vector."""
    return matmul(mat, vec)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    return beta * input + alpha * mm(mat1, mat2)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` for each item."""
    return beta * input + alpha * bmm(batch1, batch2)


def bias_add(input_x: Any, bias: Any) -> Tensor:
    """A vector added along axis 1."""
    return input_x + reshape(bias, (1, -1, *(1,) * (input_x.ndim - 2)))


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products in Einstein's notation, e.g. ``"bhqd,bhkd->bhqk"``.

    Each pair of operands becomes one batched matrix product; of an index that an operand repeats the diagonal
    is taken first.

    Raises:
        ValueError: an equation that does not match the operands.
    """
    terms, output = _parsed(equation, operands)
    items = [_without_repetition(term, x) for term, x in zip(terms, operands)]
    while len(items) > 1:
        (a, x), (b, y), *rest = items
        needed = set(output).union(*(term for term, _ in rest)) if rest else set(output)
        items = [_contracted(a, x, b, y, needed), *rest]
    term, x = items[0]
    gone = tuple(i for i, c in enumerate(term) if c not in output)
    if gone:
        x, term = ReduceSum(x, axes=gone, keepdims=False), "".join(c for c in term if c in output)
    return x if term == output else transpose(x, tuple(term.index(c) for c in output))


def _without_repetition(term: str, x: Any) -> tuple[str, Tensor]:
    """The diagonals of the axes that share an index."""
    from mycelia.ops.function.arranging import diagonal
    x = require_tensor("einsum", x, "operands")
    for c in sorted(set(term)):
        while term.count(c) > 1:
            first = term.index(c)
            second = term.index(c, first + 1)
            if x.shape[first] != x.shape[second]:
                raise ValueError(
                    f"einsum: axes that share the index {c!r} must have one extent. Received: {x.type}"
                )
            x = diagonal(x, 0, first, second)
            term = term[:first] + term[first + 1:second] + term[second + 1:] + c
    return term, x


def _parsed(equation: str, operands: tuple) -> tuple[list[str], str]:
    left, arrow, output = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ValueError(
            f"einsum: the equation must have one term for each operand. Received: {equation!r} and "
            f"{len(operands)} operands"
        )
    letters = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
    spread = 0
    for i, (term, x) in enumerate(zip(terms, operands)):
        if "..." in term:
            count = x.ndim - len(term) + 3
            spread = max(spread, count)
            terms[i] = term.replace("...", "".join(letters[spread - count:spread][-count:] if count else ""))
    if not arrow:
        output = "".join(sorted(c for c in set(left) - set(",.") if left.count(c) == 1))
        output = "".join(letters[:spread]) + output
    output = output.replace("...", "".join(letters[:spread]))
    extent_of: dict[str, Any] = {}
    for term, x in zip(terms, operands):
        if len(term) != x.ndim:
            raise ValueError(
                f"einsum: each term must name every axis of its operand. Received: {term!r} for shape "
                f"{x.shape}"
            )
        for c, d in zip(term, x.shape):
            if term.count(c) == 1 and extent_of.setdefault(c, d) != d and 1 not in (d, extent_of[c]):
                shapes = " and ".join(str(y.shape) for y in operands)
                raise ValueError(
                    f"einsum: an index must have one extent everywhere, but {c!r} has {extent_of[c]} and {d} "
                    f"in {equation!r}. Received: operands of shape {shapes}. Transpose one, or rename an "
                    "index"
                )
    if strange := [c for c in output if not any(c in term for term in terms)]:
        raise ValueError(
            f"einsum: the output may only name indices of the operands. Received: {equation!r}, where "
            f"{', '.join(map(repr, strange))} is new"
        )
    return terms, output


def _contracted(a: str, x: Tensor, b: str, y: Tensor, needed: set[str]) -> tuple[str, Tensor]:
    """The product of two operands, summed over the indices that nothing needs any more."""
    for term, other in ((a, b), (b, a)):
        lone = tuple(i for i, c in enumerate(term) if c not in other and c not in needed)
        if lone:
            kept = "".join(c for i, c in enumerate(term) if i not in lone)
            if term == a:
                x, a = ReduceSum(x, axes=lone, keepdims=False), kept
            else:
                y, b = ReduceSum(y, axes=lone, keepdims=False), kept
    batch = [c for c in a if c in b and c in needed]
    inner = [c for c in a if c in b and c not in needed]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    extent = {**dict(zip(a, x.shape)), **dict(zip(b, y.shape))}

    def merged(term: str, t: Tensor, *groups: list[str]) -> Tensor:
        order = tuple(term.index(c) for group in groups for c in group)
        shape = []
        for group in groups:
            count = 1
            for c in group:
                count = count * extent[c]
            shape.append(count)
        return reshape(t if order == tuple(range(t.ndim)) else transpose(t, order), tuple(shape))

    product = BatchMatMul(
        merged(a, x, batch, rows, inner),
        merged(b, y, batch, inner, columns),
        transpose_a=False,
        transpose_b=False,
    )
    term = "".join([*batch, *rows, *columns])
    return term, reshape(product, tuple(extent[c] for c in term))


@composite
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The cosine of the angle between vectors along an axis."""
    from mycelia.ops.arithmetic import Maximum
    from mycelia.ops.function.reducing import norm, sum
    scale = norm(x1, 2, dim) * norm(x2, 2, dim)
    return sum(x1 * x2, dim) / Maximum(scale, like(eps, scale))
