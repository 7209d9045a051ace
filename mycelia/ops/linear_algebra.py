"""Decompositions, inverses and determinants of the matrices in the last two axes, by NumPy on the host.

float32 is computed in float64 and rounded once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.batching import all_at_front, at_front
from mycelia.ops.complex_numbers import WHOLE
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.inference import require_dtypes, wrong_shape
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values
from mycelia.ops.selection import Select

TAKES = (dtypes.float32, dtypes.float64)


def _mm(*matrices: Any) -> Any:
    from mycelia.ops.function.linear import matmul
    product = matrices[0]
    for m in matrices[1:]:
        product = matmul(product, m)
    return product


def _t(x: Any) -> Any:
    from mycelia.ops.function.shaping import swapaxes
    return swapaxes(x, -1, -2)


def _eye(x: Any) -> Any:
    from mycelia.ops.function.creating import eye
    return eye(int(x.shape[-1]), dtype=x.dtype)


def _column(x: Any) -> Any:
    from mycelia.ops.function.shaping import expand_dims
    return expand_dims(x, -1)


def _row(x: Any) -> Any:
    from mycelia.ops.function.shaping import expand_dims
    return expand_dims(x, -2)


def _lower(x: Any, below: int = 0) -> Any:
    from mycelia.ops.function.shaping import tril
    return tril(x, -below)


def require_matrices(name: str, types: tuple[TensorType, ...], square: bool = True) -> TensorType:
    """The first input, if it holds (square) matrices of float32 or float64.

    Raises:
        TypeError: another dtype.
        ValueError: fewer than two axes, or matrices that are not square.
    """
    x = types[0]
    require_dtypes(name, types, TAKES)
    if x.ndim < 2:
        raise wrong_shape(name, types, "the input must have at least two axes", "Reshape it")
    if square and x.shape[-1] != x.shape[-2]:
        raise wrong_shape(name, types, "the matrices must be square", "Slice or pad them")
    return x


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Computes in float64 and rounds to the first input's dtype."""
    def reference(*arrays: np.ndarray, **attrs: Any) -> Any:
        narrow = arrays[0].dtype
        results = function(*(a.astype(np.float64) for a in arrays), **attrs)
        if isinstance(results, tuple):
            return tuple(np.asarray(r).astype(narrow) for r in results)
        return np.asarray(results).astype(narrow)
    return reference


def _batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes, *inputs, **attrs):
        record = op()
        whole = [at_front(inputs[0], axes[0])] if len(inputs) == 1 else all_at_front(axes, inputs)
        results = record(*whole, **attrs)
        return results, (0,) * len(results) if isinstance(results, tuple) else 0
    return batch


def matrices(shape: tuple[int, ...], dtype: Any = dtypes.float64, definite: bool = False) -> np.ndarray:
    """Well-conditioned matrices: random ones plus multiples of the identity, or their symmetric squares."""
    x = values(shape, dtypes.float64, -1.0, 1.0, "m")
    n = min(shape[-2:])
    if definite:
        x = x @ np.swapaxes(x, -1, -2)
    x[..., np.arange(n), np.arange(n)] += np.arange(1, n + 1) * 1.5
    return x.astype(dtype.numpy)


def _square_samples(definite: bool = False, **attrs: Any) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        for dtype in TAKES:
            for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 2, 2)):
                yield Sample((matrices(shape, dtype, definite),), attrs, tolerance=50.0)
        yield Sample((strided(matrices((3, 3), definite=definite)),), attrs, tolerance=50.0)
    return samples


def _errors(square: bool = True, **attrs: Any) -> list[ErrorCase]:
    cases = [
        ErrorCase((tensor(dtypes.int32, 2, 2),), TypeError, "dtype must be float32", attrs),
        ErrorCase((tensor(dtypes.float32, 2),), ValueError, "at least two axes", attrs),
    ]
    if square:
        cases.append(ErrorCase((tensor(dtypes.float32, 2, 3),), ValueError, "must be square", attrs))
    return cases


# -- inverses, determinants, equations -----------------------------------------------------------------------
@operator("MatrixInverse")
class MatrixInverse:
    """The inverse; a singular matrix is an error."""

    def infer(x: TensorType) -> TensorType: return require_matrices("MatrixInverse", (x,))
    def vjp(g, x, y): return -_mm(_t(y), g, _t(y))
    batch = _batch(lambda: MatrixInverse)
    reference = _wide(np.linalg.inv)
    samples = _square_samples()
    errors = _errors()


@operator("MatrixDeterminant")
class MatrixDeterminant:
    """The determinant."""

    def infer(x: TensorType) -> TensorType:
        return TensorType(x.dtype, require_matrices("MatrixDeterminant", (x,)).shape[:-2])

    def vjp(g, x, y): return _column(_column(g * y)) * _t(MatrixInverse(x))
    batch = _batch(lambda: MatrixDeterminant)
    reference = _wide(np.linalg.det)
    samples = _square_samples()
    errors = _errors()


@operator("LogMatrixDeterminant", num_outputs=2)
class LogMatrixDeterminant:
    """The determinant's sign, and the logarithm of its size."""

    def infer(x: TensorType) -> tuple[TensorType, TensorType]:
        one = TensorType(x.dtype, require_matrices("LogMatrixDeterminant", (x,)).shape[:-2])
        return one, one

    def vjp(g, x, sign, log): return _column(_column(g[1])) * _t(MatrixInverse(x))
    batch = _batch(lambda: LogMatrixDeterminant)
    reference = _wide(lambda x: tuple(np.linalg.slogdet(x)))
    samples = _square_samples()
    errors = _errors()


def _require_sides(name: str, a: TensorType, b: TensorType) -> TensorType:
    require_matrices(name, (a, b))
    if b.ndim < 2 or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise wrong_shape(name, (a, b), "b must have the leading axes of a, and as many rows", "Reshape it")
    return b


_SIDES_ERRORS = [
    ErrorCase((tensor(dtypes.float32, 2, 2), tensor(dtypes.float32, 3, 2)), ValueError, "as many rows"),
    ErrorCase((tensor(dtypes.float32, 2, 3), tensor(dtypes.float32, 2, 2)), ValueError, "must be square"),
]


@operator("MatrixSolve")
class MatrixSolve:
    """x of ``a @ x = b``; a singular matrix is an error."""

    def infer(a: TensorType, b: TensorType) -> TensorType: return _require_sides("MatrixSolve", a, b)

    def vjp(g, a, b, x):
        db = MatrixSolve(_t(a), g)
        return -_mm(db, _t(x)), db

    batch = _batch(lambda: MatrixSolve)
    reference = _wide(np.linalg.solve)

    def samples():
        for dtype in TAKES:
            for lead in ((), (2,), (0,)):
                yield Sample((matrices((*lead, 3, 3), dtype), values((*lead, 3, 2), dtype)), tolerance=50.0)

    errors = _SIDES_ERRORS


def _triangular(a: np.ndarray, b: np.ndarray, lower: bool, unit: bool) -> np.ndarray:
    """Substitution, row by row."""
    n = a.shape[-1]
    x = b.copy()
    for i in range(n) if lower else reversed(range(n)):
        rest = slice(0, i) if lower else slice(i + 1, n)
        x[..., i, :] -= np.einsum("...k,...kj->...j", a[..., i, rest], x[..., rest, :])
        if not unit:
            x[..., i, :] /= a[..., i, i, None]
    return x


@operator("MatrixTriangularSolve")
class MatrixTriangularSolve:
    """x of ``a @ x = b`` for triangular a, whose other triangle isn't read; ``unit`` takes its diagonal as
    1."""

    def infer(a: TensorType, b: TensorType, *, lower: bool, unit: bool) -> TensorType:
        return _require_sides("MatrixTriangularSolve", a, b)

    def vjp(g, a, b, x, *, lower, unit):
        db = MatrixTriangularSolve(_t(a), g, lower=not lower, unit=unit)
        da = -_mm(db, _t(x))
        return (_lower(da, int(unit)) if lower else _t(_lower(_t(da), int(unit)))), db

    batch = _batch(lambda: MatrixTriangularSolve)

    def _solve(a, b, *, lower, unit):
        with np.errstate(all="ignore"):
            return _triangular(a, b, lower, unit)

    reference = _wide(_solve)

    def samples():
        for dtype in TAKES:
            for lower in (False, True):
                for unit in (False, True):
                    yield Sample((matrices((2, 3, 3), dtype), values((2, 3, 2), dtype)),
                                 {"lower": lower, "unit": unit}, tolerance=50.0)

    errors = [ErrorCase(c.types, c.error, c.match, {"lower": True, "unit": False}) for c in _SIDES_ERRORS]


# -- decompositions ------------------------------------------------------------------------------------------
@operator("Cholesky")
class Cholesky:
    """The lower triangular L with ``L @ L.T = x``, of which only the lower triangle is read; a matrix that is
    not positive definite is an error."""

    def infer(x: TensorType) -> TensorType: return require_matrices("Cholesky", (x,))

    def vjp(g, x, y):
        """``L^-T phi(L^T g) L^-1``, symmetric: phi halves the diagonal of the lower triangle."""
        inner = _mm(_t(y), g)
        inner = _lower(inner) - inner * _eye(y) * 0.5
        left = MatrixTriangularSolve(_t(y), inner, lower=False, unit=False)
        whole = _t(MatrixTriangularSolve(_t(y), _t(left), lower=False, unit=False))
        both = whole + _t(whole)
        return _lower(both) - both * _eye(y) * 0.5

    batch = _batch(lambda: Cholesky)
    reference = _wide(np.linalg.cholesky)

    samples = _square_samples(definite=True)
    errors = _errors()


def _extents(x: TensorType) -> tuple[tuple[Dim, ...], Any, Any]:
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def _qr(x: np.ndarray, complete: bool) -> tuple[np.ndarray, np.ndarray]:
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    k = m if complete else min(m, n)
    q, r = np.zeros((*lead, m, k)), np.zeros((*lead, k, n))
    for at in np.ndindex(lead):
        q[at], r[at] = np.linalg.qr(x[at], "complete" if complete else "reduced")
    return q, r


@operator("Qr", num_outputs=2)
class Qr:
    """Q with orthonormal columns and upper triangular R with ``Q @ R = x``; ``complete`` makes Q square."""

    def infer(x: TensorType, *, complete: bool) -> tuple[TensorType, TensorType]:
        lead, m, n = _extents(require_matrices("Qr", (x,), square=False))
        k = m if complete else min(m, n)
        return x.with_shape(*lead, m, k), x.with_shape(*lead, k, n)

    def vjp(g, x, q, r, *, complete):
        """Of matrices at least as high as wide (Walter and Lehmann 2010)."""
        if complete and q.shape[-1] != r.shape[-1] or r.shape[-1] > r.shape[-2]:
            raise NotImplementedError(
                f"Qr: the gradient exists for reduced factors of matrices at least as high as wide. "
                f"Received: shape {x.shape}, complete={complete}"
            )
        m = _mm(r, _t(g[1])) - _mm(_t(g[0]), q)
        symmetric = _lower(m) + _t(_lower(m, 1))
        inner = g[0] + _mm(q, symmetric)
        return _t(MatrixTriangularSolve(r, _t(inner), lower=False, unit=False))

    batch = _batch(lambda: Qr)
    reference = _wide(_qr)

    def samples():
        for dtype in TAKES:
            for shape in ((3, 3), (2, 4, 3), (2, 3, 4)):
                for complete in (False, True):
                    smooth = shape[-2] == shape[-1] or shape[-2] > shape[-1] and not complete
                    yield Sample((matrices(shape, dtype),), {"complete": complete}, smooth, tolerance=50.0)

    errors = _errors(False, complete=False)


@operator("Eigh", num_outputs=2)
class Eigh:
    """The eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns; only the
    lower triangle is read."""

    def infer(x: TensorType) -> tuple[TensorType, TensorType]:
        require_matrices("Eigh", (x,))
        return x.with_shape(*x.shape[:-1]), x

    def vjp(g, x, w, v):
        apart = _row(w) - _column(w)
        diagonal = _eye(v)
        f = (1.0 - diagonal) / (apart + diagonal)
        inner = _mm(_t(v), g[1]) * f + _column(g[0]) * diagonal
        full = _mm(v, inner, _t(v))
        both = full + _t(full)
        return _lower(both) - both * diagonal * 0.5

    batch = _batch(lambda: Eigh)
    reference = _wide(lambda x: tuple(np.linalg.eigh(x)))
    samples = _square_samples(definite=True)
    errors = _errors()


@operator("Svd", num_outputs=3)
class Svd:
    """Singular values in descending order, and U and V with ``U @ diag(s) @ V.T = x``; ``full`` makes U and V
    square."""

    def infer(x: TensorType, *, full: bool) -> tuple[TensorType, ...]:
        lead, m, n = _extents(require_matrices("Svd", (x,), square=False))
        k = min(m, n)
        return (
            x.with_shape(*lead, k),
            x.with_shape(*lead, m, m if full else k),
            x.with_shape(*lead, n, n if full else k),
        )

    def vjp(g, x, s, u, v, *, full):
        """Townsend 2016, of the reduced decomposition."""
        if full and x.shape[-1] != x.shape[-2]:
            raise NotImplementedError(
                f"Svd: the gradient exists for full_matrices=False. Received: shape {x.shape}, full=True"
            )
        gs, gu, gv = g
        diagonal = _eye(_mm(_t(u), u))
        apart = _row(s) * _row(s) - _column(s) * _column(s)
        f = (1.0 - diagonal) / (apart + diagonal)
        safe = Select(s == 0.0, like(1, s), s)
        core = _column(gs) * diagonal
        left, right = _mm(_t(u), gu), _mm(_t(v), gv)
        core = core + (f * (left - _t(left))) * _row(s) + _column(s) * (f * (right - _t(right)))
        total = _mm(u, core, _t(v))
        if u.shape[-2] > u.shape[-1]:
            rest = gu / _row(safe)
            total = total + _mm(rest - _mm(u, _t(u), rest), _t(v))
        if v.shape[-2] > v.shape[-1]:
            rest = gv / _row(safe)
            total = total + _mm(u, _t(rest - _mm(v, _t(v), rest)))
        return total

    batch = _batch(lambda: Svd)

    def _svd(x, *, full):
        u, s, vt = np.linalg.svd(x, full_matrices=full)
        return s, u, np.swapaxes(vt, -1, -2)

    reference = _wide(_svd)

    def samples():
        for dtype in TAKES:
            for shape in ((3, 3), (2, 4, 3), (2, 3, 4)):
                for full in (False, True):
                    smooth = not full or shape[-2] == shape[-1]
                    yield Sample((matrices(shape, dtype),), {"full": full}, smooth, tolerance=50.0)

    errors = _errors(False, full=False)


def _lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Elimination with row exchanges: both triangles in one, and the row that each was exchanged with,
    counted from 1 as in LAPACK."""
    lu = x.astype(np.float64)
    lead, (m, n) = lu.shape[:-2], lu.shape[-2:]
    pivots = np.zeros((*lead, min(m, n)), np.int32)
    with np.errstate(all="ignore"):
        for at in np.ndindex(lead):
            a = lu[at]
            for i in range(min(m, n)):
                p = i + int(np.argmax(np.abs(a[i:, i])))
                pivots[(*at, i)] = p + 1
                a[[i, p]] = a[[p, i]]
                if a[i, i] != 0:
                    a[i + 1 :, i] /= a[i, i]
                    a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
    return lu.astype(x.dtype), pivots


@operator("Lu", num_outputs=2)
class Lu:
    """The triangular factors L (diagonal 1) and U in one matrix, and the row exchanges (int32, from 1)."""

    def infer(x: TensorType) -> tuple[TensorType, TensorType]:
        lead, m, n = _extents(require_matrices("Lu", (x,), square=False))
        return x, TensorType(dtypes.int32, (*lead, min(m, n)))

    def vjp(g, x, lu, pivots):
        raise NotImplementedError("Lu: has no gradient. Use solve, inverse or slogdet, which have one")

    batch = _batch(lambda: Lu)
    reference = staticmethod(_lu)

    def samples():
        for dtype in TAKES:
            for shape in ((3, 3), (2, 4, 3), (2, 3, 4)):
                yield Sample((matrices(shape, dtype),), gradient=False, tolerance=50.0)

    errors = _errors(False)


def _exponential(x: np.ndarray) -> np.ndarray:
    """Scaling and squaring of a series (Higham 2005, with Taylor's terms for the approximant's)."""
    if x.size == 0:
        return x.copy()
    size = max(float(np.abs(x).sum(-1).max()), 1e-300)
    squarings = max(0, int(np.ceil(np.log2(size))) + 1)
    scaled = x / 2.0**squarings
    total = term = np.broadcast_to(np.eye(x.shape[-1]), x.shape)
    for k in range(1, 19):
        term = term @ scaled / k
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return total


@operator("MatrixExp")
class MatrixExp:
    """The exponential of matrices."""

    def infer(x: TensorType) -> TensorType: return require_matrices("MatrixExp", (x,))

    def vjp(g, x, y):
        """The upper right block of the exponential of ``[[x.T, g], [0, x.T]]``."""
        from mycelia.ops.function.shaping import cat
        n = x.shape[-1]
        above, below = cat((_t(x), g), -1), cat((g * 0.0, _t(x)), -1)
        return MatrixExp(cat((above, below), -2))[..., :n, n:]

    batch = _batch(lambda: MatrixExp)
    reference = _wide(_exponential)
    samples = _square_samples()
    errors = _errors()


def _eig(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    w, v = np.linalg.eig(x.astype(np.float64))
    kind = WHOLE[dtypes.from_numpy_dtype(x.dtype)].numpy
    return w.astype(kind), v.astype(kind)


@operator("Eig", num_outputs=2)
class Eig:
    """The eigenvalues of any square matrices, and the eigenvectors as columns; complex, in no order."""

    def infer(x: TensorType) -> tuple[TensorType, TensorType]:
        dtype = WHOLE[require_matrices("Eig", (x,)).dtype]
        return TensorType(dtype, x.shape[:-1]), TensorType(dtype, x.shape)

    def vjp(g, x, w, v):
        raise NotImplementedError("Eig: has no gradient. For symmetric matrices use eigh, which has one")

    batch = _batch(lambda: Eig)
    reference = staticmethod(_eig)

    def samples():
        for sample in _square_samples()():
            yield Sample(sample.inputs, gradient=False, tolerance=50.0)

    errors = _errors()
