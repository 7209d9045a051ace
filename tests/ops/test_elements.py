"""Functions of picking, placing, ordering and counting against NumPy, in both modes; gradients, errors."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, ops

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype(np.float32)
CUBE = RNG.standard_normal((2, 3, 4)).astype(np.float32)
V = RNG.standard_normal(6).astype(np.float32)
ROWS = np.array([2, 0])
TIES = np.array([[3, 1, 3], [2, 1, 9]], np.int32)
NANS = np.where(X > 0.8, np.nan, X).astype(np.float32)


def put_elements(base, indices, value, axis, ufunc=None):
    result = base.copy()
    at = list(np.ogrid[tuple(slice(d) for d in indices.shape)])
    at[axis] = indices
    if ufunc is None:
        result[tuple(at)] = value
    else:
        ufunc.at(result, tuple(at), value)
    return result


def put_tuples(base, indices, value, ufunc):
    result = base.copy()
    at = tuple(np.moveaxis(indices, -1, 0))
    if ufunc is None:
        result[at] = value
    else:
        ufunc.at(result, at, value)
    return result


TUPLES = np.array([[0, 1], [2, 3], [0, 1]])
THREE = np.array([2.0, 3.0, 4.0], np.float32)
ELEMENTS = np.array([[3, 0], [1, 2], [-1, 2]])
VALUES = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2)
UFUNCS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
          "min": np.minimum}


def unique_first(x):
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return x.ravel()[first[order]], np.argsort(order)[inverse].reshape(x.shape)


# name: (function of tensors, what NumPy gives, operands)
CASES = {
    "scatter_nd": (
        lambda i, u: ops.scatter_nd(i, u, (3, 4)),
        lambda i, u: put_tuples(np.zeros((3, 4), np.float32), i, u, np.add), (TUPLES, THREE)),
    **{
        f"tensor_scatter_{way}": (
            getattr(ops, f"tensor_scatter_{way}"),
            lambda x, i, u, way=way: put_tuples(x, i, u, UFUNCS[way]), (X, TUPLES, THREE))
        for way in UFUNCS
    },
    "tensor_scatter_update": (
        ops.tensor_scatter_update, lambda x, i, u: put_tuples(x, i, u, None), (X, TUPLES, THREE)),
    "tensor_scatter_update of rows": (
        ops.tensor_scatter_update, lambda x, i, u: put_tuples(x, i, u, None),
        (X, np.array([[2], [0]]), CUBE[0, :2])),
    **{
        f"tensor_scatter_elements {way}": (
            lambda x, i, u, way=way: ops.tensor_scatter_elements(x, i, u, 1, way),
            lambda x, i, u, way=way: put_elements(x, i, u, 1, UFUNCS.get(way)), (X, ELEMENTS, VALUES))
        for way in ("none", "add", "mul", "max", "min")
    },
    "scatter of a part": (
        lambda x, i, u: ops.scatter(x, 1, i, u), lambda x, i, u: put_elements(x, i, u, 1),
        (X, ELEMENTS[:2], VALUES[:2])),
    "scatter_add method": (
        lambda x, i, u: x.scatter_add(1, i, u), lambda x, i, u: put_elements(x, i, u, 1, np.add),
        (X, ELEMENTS, VALUES)),
    "index_add method": (
        lambda x, i, u: x.index_add(0, i, u, alpha=2),
        lambda x, i, u: put_tuples(x, i[:, None], 2 * u, np.add),
        (X, ROWS, CUBE[0, :2])),
    "index_fill": (
        lambda x, i: ops.index_fill(x, 1, i, 7.0),
        lambda x, i: put_tuples(x.T, i[:, None], 7.0, None).T, (X, ROWS)),
    "index_put accumulates": (
        lambda x, i, j, u: x.index_put((i, j), u, True),
        lambda x, i, j, u: put_tuples(x, np.stack([i, j], -1), u, np.add),
        (X, TUPLES[:, 0], TUPLES[:, 1], THREE)),
    "masked_scatter": (
        lambda x, m, s: x.masked_scatter(m, s),
        lambda x, m, s: np.place(y := x.copy(), m, s) or y, (X, X > 0, np.arange(12, dtype=np.float32))),
    "masked_select": (lambda x, m: ops.masked_select(x, m), lambda x, m: x[np.broadcast_to(m, x.shape)],
                      (X, X[0] > 0)),
    "select_scatter": (
        lambda x, s: ops.select_scatter(x, s, 1, -1),
        lambda x, s: np.concatenate([x[:, :-1], s[:, None]], 1), (X, V[:3])),
    "slice_scatter": (
        lambda x, s: ops.slice_scatter(x, s, 1, 0, 4, 2),
        lambda x, s: np.stack([s[:, 0], x[:, 1], s[:, 1], x[:, 3]], 1), (X, VALUES)),
    "diagonal_scatter": (
        lambda x, s: ops.diagonal_scatter(x, s, 1),
        lambda x, s: np.where(np.eye(3, 4, 1, dtype=bool), np.pad(np.diag(s), ((0, 0), (1, 0))), x),
        (X, V[:3])),
    "take": (ops.take, np.take, (X, TUPLES)),
    "repeat_interleave": (
        lambda x: ops.repeat_interleave(x, Tensor([2, 0, 1]), 0), lambda x: np.repeat(x, [2, 0, 1], 0), (X,)),
    "reverse_sequence": (
        lambda x: ops.reverse_sequence(x, Tensor([1, 3, 4]), 1, 0),
        lambda x: np.stack([x[0], x[1, [2, 1, 0, 3]], x[2, ::-1]]), (X,)),
    "matrix_band_part": (
        lambda x: ops.matrix_band_part(x, 1, 0), lambda x: np.tril(np.triu(x, -1)), (X,)),
    "fill_diagonal": (
        lambda x: x.fill_diagonal(5.0), lambda x: np.fill_diagonal(y := x.copy(), 5.0) or y, (X,)),
    "searchsorted": (
        lambda a, v: ops.searchsorted(a, v, right=True), lambda a, v: np.searchsorted(a, v, "right"),
        (np.sort(V), np.concatenate([V, X[0]]))),
    "bucketize": (lambda v: ops.bucketize(v, [-1.0, 0.0, 1.0]),
                  lambda v: np.digitize(v, [-1.0, 0.0, 1.0], right=True).astype(np.int32), (V,)),
    "unique": (ops.unique, unique_first, (TIES,)),
    "unique method": (
        lambda x: x.unique(return_inverse=True, return_counts=True),
        lambda x: np.unique(x, return_inverse=True, return_counts=True), (TIES,)),
    "unique_consecutive": (
        lambda x: ops.unique_consecutive(x, True, True),
        lambda x: (np.array([1, 2, 1], np.int32), np.array([0, 0, 1, 1, 2]), np.array([2, 2, 1])),
        (np.array([1, 1, 2, 2, 1], np.int32),)),
    "histc": (lambda v: ops.histc(v, 5, -1.0, 1.0),
              lambda v: np.histogram(v, 5, (-1, 1))[0].astype(np.float32), (V,)),
    "quantile": (lambda x: ops.quantile(x, Tensor([0.1, 0.5], ms.float32), 1),
                 lambda x: np.quantile(x, [0.1, 0.5], axis=1).astype(np.float32), (X,)),
    "quantile of the middle": (lambda x: ops.quantile(x, 0.3, 1, True),
                               lambda x: np.quantile(x, 0.3, axis=1, keepdims=True).astype(np.float32),
                               (CUBE,)),
    "nanquantile": (lambda x: ops.nanquantile(x, 0.4, 0),
                    lambda x: np.nanquantile(x, 0.4, axis=0).astype(np.float32), (NANS,)),
    "nansum": (lambda x: ops.nansum(x, 0), lambda x: np.nansum(x, 0), (NANS,)),
    "nanmean": (lambda x: ops.nanmean(x, 1), lambda x: np.nanmean(x, 1), (NANS,)),
    "cov": (ops.cov, lambda x: np.cov(x).astype(np.float32), (X,)),
    "diff": (lambda x: ops.diff(x, 2, 1), lambda x: np.diff(x, 2, 1), (X,)),
    "trapz": (lambda x: ops.trapz(x, dx=0.5), lambda x: np.trapezoid(x, dx=0.5).astype(np.float32)
              if hasattr(np, "trapezoid") else np.trapz(x, dx=0.5).astype(np.float32), (X,)),
    "kthvalue": (lambda x: x.kthvalue(2, 1),
                 lambda x: (np.sort(x, 1)[:, 1], np.argsort(x, 1)[:, 1]), (X,)),
    "cummax": (lambda x: ops.cummax(x, 1)[0], lambda x: np.maximum.accumulate(x, 1), (X,)),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, 1), lambda x: np.logaddexp.accumulate(x, 1), (X,)),
    "choose": (lambda i: i.choose([Tensor([1, 2, 3]), Tensor([4, 5, 6])]),
               lambda i: np.choose(i, [np.array([1, 2, 3]), np.array([4, 5, 6])]), (np.array([1, 0, 1]),)),
    "ptp": (lambda x: x.ptp(1), lambda x: np.ptp(x, 1), (X,)),
}



def flat(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("mode", ["eager", "strided", "graph"])
@pytest.mark.parametrize("name", CASES)
def test_gives_what_numpy_gives(name, mode):
    function, expected, operands = CASES[name]
    tensors = [Tensor(a) for a in operands]
    if mode == "strided":
        tensors = [
            Tensor(np.stack([a, a], -1).reshape(*a.shape[:-1], -1))[..., ::2] if a.ndim else Tensor(a)
            for a in operands
        ]
    called = ms.jit(lambda *t: function(*t)) if mode == "graph" else function
    for got, wanted in zip(flat(called(*tensors)), flat(expected(*operands)), strict=True):
        wanted = np.asarray(wanted)
        assert got.shape == wanted.shape and got.asnumpy().dtype == wanted.dtype
        np.testing.assert_allclose(got.asnumpy(), wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("way", [*UFUNCS, "update"])
def test_parameters_are_written(way):
    p = Parameter(Tensor(X), name="p")
    getattr(ops, f"scatter_{way}")(p, Tensor(ROWS), Tensor(CUBE[0, :2] + 3))
    np.testing.assert_allclose(p.asnumpy(), put_tuples(X, ROWS[:, None], CUBE[0, :2] + 3, UFUNCS.get(way)),
                               rtol=1e-6)
    p = Parameter(Tensor(X), name="p")
    getattr(ops, f"scatter_nd_{way}")(p, Tensor(TUPLES), Tensor(THREE))
    np.testing.assert_allclose(p.asnumpy(), put_tuples(X, TUPLES, THREE, UFUNCS.get(way)), rtol=1e-6)


@pytest.mark.parametrize("way", ["sum", "prod", "max", "min"])
def test_segments(way):
    ids = np.array([1, 0, 1])
    got = getattr(ops, f"unsorted_segment_{way}")(Tensor(X), Tensor(ids), 2).asnumpy()
    np.testing.assert_allclose(got, [getattr(np, way)(X[ids == i], 0) for i in range(2)], rtol=1e-6)


def test_gradients_reach_base_and_updates():
    for way in ("add", "sub", "update"):
        function = getattr(ops, f"tensor_scatter_{way}")
        weights = Tensor(CUBE[0])
        dx, du = ms.grad(lambda x, u: (function(x, Tensor(TUPLES[:2]), u) * weights).sum(), (0, 1))(
            Tensor(X), Tensor(THREE[:2])
        )
        hit = CUBE[0][tuple(TUPLES[:2].T)]
        np.testing.assert_allclose(du.asnumpy(), -hit if way == "sub" else hit, rtol=1e-6)
        kept = CUBE[0].copy()
        if way == "update":
            kept[tuple(TUPLES[:2].T)] = 0
        np.testing.assert_allclose(dx.asnumpy(), kept, rtol=1e-6)


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.scatter_nd(Tensor([[0]]), Tensor([1.0, 2.0]), (3,)), ValueError, "updates must have"),
    (lambda: ops.tensor_scatter_add(Tensor(X), Tensor([[0.0]]), Tensor([1.0])), TypeError, "integers"),
    (lambda: ops.tensor_scatter_elements(Tensor(X), Tensor(ELEMENTS), Tensor(VALUES), 1, "mean"), ValueError,
     "reduction"),
    (lambda: ops.scatter(Tensor(X), 5, Tensor(ELEMENTS), Tensor(VALUES)), ValueError, "axis must be in"),
    (lambda: ops.masked_select(Tensor(X), Tensor(ROWS)), TypeError, "mask must be bool"),
    (lambda: ops.select_scatter(Tensor(X), Tensor(V[:3]), 1, 9), ValueError, "index must be in"),
    (lambda: ops.searchsorted(Tensor(X), Tensor(V)), ValueError, "leading axes"),
    (lambda: ops.bincount(Tensor([-1, 2])), ValueError, "must not be negative"),
    (lambda: ops.histc(Tensor(V), 0), ValueError, "bins must be positive"),
    (lambda: ops.quantile(Tensor(V), 2.0), ValueError, r"q must be in \[0, 1\]"),
    (lambda: ops.repeat_interleave(Tensor(X), Tensor([1, 2]), 0), ValueError, "one for each of the 3"),
    (lambda: Tensor(X).kthvalue(9), ValueError, "k must be in"),
    (lambda: ops.take(Tensor(X), Tensor([99])), IndexError, "99"),
    (lambda: ops.tensor_scatter_update(Tensor(X), Tensor([[0, 9]]), Tensor([1.0])), IndexError, "out of"),
    (lambda: Tensor(X)[Tensor([0]), Tensor([9])], IndexError, "out of"),
    (lambda: Tensor(X)[Tensor([True, False])], IndexError, "a mask must have"),
])
def test_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call().asnumpy()
