"""Functions of linear algebra: inverses, determinants, equations, decompositions and norms of matrices."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ops import linear_algebra as la
from mycelia.ops.constants import constant, like
from mycelia.ops.function import reducing
from mycelia.ops.function.creating import eye
from mycelia.ops.function.linear import matmul
from mycelia.ops.function.shaping import broadcast_to, expand_dims, narrow, reshape, swapaxes, tril, triu
from mycelia.ops.indexing import GatherD
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import as_tensor, cast, floating, require_tensor, resolve_dtype
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = [
    "cholesky", "cholesky_inverse", "cholesky_solve", "det", "eig", "eigh", "eigvals", "geqrf", "inverse",
    "log_matrix_determinant", "logdet", "lstsq", "lu_factor", "lu_solve", "lu_unpack", "matrix_determinant",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_solve", "orgqr", "ormqr", "pinv", "qr", "slogdet",
    "solve_triangular", "svd", "vector_norm",
]


def inverse(input: Any) -> Tensor:
    """The inverses of matrices; a singular one is an error."""
    return la.MatrixInverse(require_tensor("inverse", input))


def det(input: Any) -> Tensor:
    """The determinants of matrices."""
    return la.MatrixDeterminant(require_tensor("det", input))


matrix_determinant = det


def slogdet(input: Any) -> tuple[Tensor, Tensor]:
    """The signs of determinants, and the logarithms of their sizes."""
    return la.LogMatrixDeterminant(require_tensor("slogdet", input))


log_matrix_determinant = slogdet


def logdet(input: Any) -> Tensor:
    """The logarithms of determinants; NaN for a negative one."""
    sign, log = slogdet(input)
    return Select(sign < 0.0, like(float("nan"), log), log)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Tensor:
    """x of ``matrix @ x = rhs`` (with ``adjoint`` of the transposed matrix)."""
    a = require_tensor("matrix_solve", matrix, "matrix")
    return la.MatrixSolve(swapaxes(a, -1, -2) if adjoint else a, require_tensor("matrix_solve", rhs, "rhs"))


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Tensor:
    """x of ``a @ x = b`` for a triangular a (``trans`` 1 or "T": transposed); b may be a vector."""
    x, y = require_tensor("solve_triangular", a, "a"), require_tensor("solve_triangular", b, "b")
    if trans not in (0, 1, "N", "T"):
        raise ValueError(f"solve_triangular: trans must be 0, 1, 'N' or 'T'. Received: trans={trans!r}")
    turned = trans in (1, "T")
    side = expand_dims(y, -1) if y.ndim == x.ndim - 1 else y
    solved = la.MatrixTriangularSolve(
        swapaxes(x, -1, -2) if turned else x, side, lower=bool(lower) != turned, unit=bool(unit_diagonal)
    )
    return reshape(solved, y.shape)


def cholesky(input_x: Any, upper: bool = False) -> Tensor:
    """The lower triangular L with ``L @ L.T = input`` of symmetric positive definite matrices, or its
    transpose."""
    factor = la.Cholesky(require_tensor("cholesky", input_x))
    return swapaxes(factor, -1, -2) if upper else factor


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Tensor:
    """x of ``A @ x = input``, where ``input2`` is A's Cholesky factor."""
    b, factor = require_tensor("cholesky_solve", input), require_tensor("cholesky_solve", input2, "input2")
    lower = swapaxes(factor, -1, -2) if upper else factor
    half = la.MatrixTriangularSolve(lower, b, lower=True, unit=False)
    return la.MatrixTriangularSolve(swapaxes(lower, -1, -2), half, lower=False, unit=False)


def cholesky_inverse(input_x: Any, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is given."""
    x = require_tensor("cholesky_inverse", input_x)
    return cholesky_solve(broadcast_to(eye(int(x.shape[-1]), dtype=x.dtype), x.shape), x, upper)


def qr(input: Any, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and upper triangular R with ``Q @ R = input``; ``mode="complete"`` makes Q
    square."""
    if mode not in ("reduced", "complete"):
        raise TypeError(f"qr: mode must be 'reduced' or 'complete'. Received: mode={mode!r}")
    return la.Qr(require_tensor("qr", input), complete=mode == "complete")


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular values s in descending order, U and V with ``U @ diag(s) @ V.T = input``; s alone without
    ``compute_uv``."""
    x = require_tensor("svd", input)
    results = la.Svd(x, full=bool(full_matrices) and bool(compute_uv))
    return results if compute_uv else results[0]


def eigh(A: Any, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    """The eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns."""
    x = require_tensor("eigh", A)
    if UPLO not in ("L", "U"):
        raise ValueError(f"eigh: UPLO must be 'L' or 'U'. Received: UPLO={UPLO!r}")
    return la.Eigh(x if UPLO == "L" else swapaxes(x, -1, -2))


def eig(A: Any) -> tuple[Tensor, Tensor]:
    """The eigenvalues of square matrices, and the eigenvectors as columns; complex, in no order."""
    return la.Eig(require_tensor("eig", A))


def eigvals(A: Any) -> Tensor:
    """The eigenvalues of square matrices; complex, in no order."""
    return eig(A)[0]


def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * largest)`` count as 0."""
    x = require_tensor("pinv", x)
    s, u, v = la.Svd(x, full=False)
    if s.shape[-1] == 0:
        return swapaxes(x, -1, -2)
    unit = float(np.finfo(x.dtype.numpy).eps)
    relative = max(x.shape[-2:]) * unit if rtol is None and atol is None else (0.0 if rtol is None else rtol)
    least = s[..., :1] * relative
    if atol is not None:
        from mycelia.ops.function.elementwise import maximum
        least = maximum(least, cast(as_tensor("pinv", atol), x.dtype))
    large = s > least
    inverted = Select(large, 1.0 / Select(large, s, like(1, s)), like(0, s))
    return matmul(v * expand_dims(inverted, -2), swapaxes(u, -1, -2))


def lstsq(input: Any, A: Any) -> Tensor:
    """x with the least ``|input @ x - A|``, of the least size where several have it."""
    x, b = require_tensor("lstsq", input), require_tensor("lstsq", A, "A")
    if x.ndim != 2 or b.ndim not in (1, 2) or x.shape[0] != b.shape[0]:
        raise ValueError(
            f"lstsq: the input must be a matrix, and A have as many rows. Received: shapes {x.shape} and "
            f"{b.shape}"
        )
    side = reshape(b, (-1, 1)) if b.ndim == 1 else b
    return matmul(pinv(x), side)


def matrix_power(input: Any, n: int) -> Tensor:
    """The n-th power of matrices by repeated squares; of the inverse for a negative n."""
    x = require_tensor("matrix_power", input)
    if not isinstance(n, int):
        raise TypeError(f"matrix_power: n must be an int. Received: n={n!r}")
    base = inverse(x) if n < 0 else x
    power, result = abs(n), None
    while power:
        if power & 1:
            result = base if result is None else matmul(result, base)
        power >>= 1
        base = matmul(base, base) if power else base
    if result is None:
        return broadcast_to(eye(int(x.shape[-1]), dtype=x.dtype), x.shape).copy()
    return result


def matrix_exp(input: Any) -> Tensor:
    """The exponential of matrices."""
    return la.MatrixExp(require_tensor("matrix_exp", input))


# -- factors in LAPACK's form --------------------------------------------------------------------------------
def lu_factor(a: Any) -> tuple[Tensor, Tensor]:
    """L (diagonal 1) and U in one matrix, and for each row the one it was exchanged with (int32, counted from
    1)."""
    return la.Lu(require_tensor("lu_factor", a))


def _order(pivots: Tensor, rows: int) -> Tensor:
    """The order of the rows after all exchanges, ``[..., rows]``."""
    exchanged = pivots.asnumpy().astype(np.int64) - 1
    order = np.broadcast_to(np.arange(rows), (*exchanged.shape[:-1], rows)).copy()
    for at in np.ndindex(exchanged.shape[:-1]):
        for i, p in enumerate(exchanged[at]):
            order[at][[i, p]] = order[at][[p, i]]
    return constant(order)


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Tensor:
    """x of ``A @ x = b`` from A's factors and exchanges."""
    b, lu = require_tensor("lu_solve", b), require_tensor("lu_solve", LU_data)
    side = reshape(b, (-1, 1)) if b.ndim == 1 else b
    order = _order(require_tensor("lu_solve", LU_pivots), int(lu.shape[-1]))
    moved = GatherD(side, broadcast_to(expand_dims(order, -1), side.shape), axis=side.ndim - 2)
    half = la.MatrixTriangularSolve(lu, moved, lower=True, unit=True)
    return reshape(la.MatrixTriangularSolve(lu, half, lower=False, unit=False), b.shape)


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The permutation P, L and U with ``P @ L @ U = A``."""
    lu = require_tensor("lu_unpack", LU_data)
    m, n = (int(d) for d in lu.shape[-2:])
    k = min(m, n)
    order = _order(require_tensor("lu_unpack", LU_pivots), m)
    rows = eye(m, dtype=lu.dtype)
    hit = expand_dims(order, -2) == reshape(constant(np.arange(m)), (m, 1))
    permutation = cast(hit, lu.dtype)
    lower = tril(narrow(lu, -1, 0, k), -1) + narrow(rows, 1, 0, k)
    upper = triu(narrow(lu, -2, 0, k))
    return (*((permutation,) if unpack_pivots else ()), *((lower, upper) if unpack_data else ()))


def geqrf(input: Any) -> tuple[Tensor, Tensor]:
    """Householder's reflections below R's triangle, and their factors tau, as LAPACK has them."""
    x = require_tensor("geqrf", input)
    la.require_matrices("geqrf", (x.type,), square=False)
    a = x.asnumpy().astype(np.float64)
    m, n = a.shape[-2:]
    tau = np.zeros((*a.shape[:-2], min(m, n)))
    for at in np.ndindex(a.shape[:-2]):
        one = a[at]
        for i in range(min(m, n)):
            column = one[i:, i].copy()
            size = np.linalg.norm(column[1:])
            if size == 0:
                continue
            beta = -np.copysign(np.hypot(column[0], size), column[0])
            tau[(*at, i)] = (beta - column[0]) / beta
            v = column / (column[0] - beta)
            v[0] = 1
            one[i:, i + 1 :] -= tau[(*at, i)] * np.outer(v, v @ one[i:, i + 1 :])
            one[i + 1 :, i], one[i, i] = v[1:], beta
    return constant(a.astype(x.dtype.numpy)), constant(tau.astype(x.dtype.numpy))


def _reflected(x: Tensor, tau: Tensor, other: Tensor, transpose: bool) -> Tensor:
    """Householder's reflections applied to the columns of another matrix."""
    m = int(x.shape[-2])
    count = int(tau.shape[-1])
    for i in range(count) if transpose else reversed(range(count)):
        v, place = x[..., :, i], constant(np.arange(m))
        v = Select(place > i, v, Select(place == i, like(1, v), like(0, v)))
        column = expand_dims(v, -1)
        scale = expand_dims(expand_dims(tau[..., i], -1), -1)
        other = other - scale * matmul(column, matmul(swapaxes(column, -1, -2), other))
    return other


def orgqr(input: Any, input2: Any) -> Tensor:
    """The first columns of the Q of `geqrf`'s results, as many as the input has."""
    x, tau = require_tensor("orgqr", input), require_tensor("orgqr", input2, "input2")
    m, n = (int(d) for d in x.shape[-2:])
    start = broadcast_to(eye(m, n, x.dtype), (*x.shape[:-2], m, n))
    return _reflected(x, tau, start, False)


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of the Q of `geqrf`'s results (transposed or not) with another matrix, from the left or the
    right."""
    x, t = require_tensor("ormqr", input), require_tensor("ormqr", tau, "tau")
    c = require_tensor("ormqr", other, "other")
    if left:
        return _reflected(x, t, c, bool(transpose))
    return swapaxes(_reflected(x, t, swapaxes(c, -1, -2), not transpose), -1, -2)


# -- norms ---------------------------------------------------------------------------------------------------
def vector_norm(
    x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None
) -> Tensor:
    """The p-norm over axes, of all elements unless told otherwise."""
    return reducing.p_norm(x, ord, axis, keepdims, dtype=dtype)


def matrix_norm(
    A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None
) -> Tensor:
    """A norm of the matrices in two axes: ``"fro"``, ``"nuc"`` (the sum of singular values), 2 and -2 (the
    largest and smallest one), 1 and -1 (sums of columns), inf and -inf (sums of rows)."""
    x = floating("matrix_norm", A)
    x = x if dtype is None else cast(x, resolve_dtype("matrix_norm", dtype))
    first, second = (normalise_axis("matrix_norm", a, x.ndim) for a in axis)
    if first == second:
        raise ValueError(f"matrix_norm: axis must name two axes. Received: axis={axis}")
    if ord == "fro":
        return reducing.p_norm(x, 2, (first, second), keepdims)
    from mycelia.ops.function.arranging import movedim
    moved = movedim(x, (first, second), (-2, -1))
    if ord in ("nuc", 2, -2):
        s = svd(moved, compute_uv=False)
        result = {"nuc": reducing.sum, 2: reducing.amax, -2: reducing.amin}[ord](s, -1)
    elif ord in (1, -1, float("inf"), -float("inf")):
        from mycelia.ops.arithmetic import Abs
        sums = reducing.sum(Abs(moved), -2 if abs(ord) == 1 else -1)
        result = (reducing.amax if ord > 0 else reducing.amin)(sums, -1)
    else:
        raise ValueError(
            f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf. Received: ord={ord!r}"
        )
    if not keepdims:
        return result
    return reshape(result, tuple(1 if i in (first, second) else d for i, d in enumerate(x.shape)))
