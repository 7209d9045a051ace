"""`mycelia.numpy` against NumPy: the same expressions over both, and the dtypes that MindSpore gives."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
import mycelia.numpy as mnp
from mycelia import Tensor

RNG = np.random.default_rng(8)
ARRAYS = {
    "v": RNG.uniform(-2, 2, 6).astype(np.float32),
    "w": RNG.uniform(-2, 2, 6).astype(np.float32),
    "m": RNG.uniform(-2, 2, (3, 4)).astype(np.float32),
    "n": RNG.uniform(-2, 2, (4, 5)).astype(np.float32),
    "x": RNG.uniform(-2, 2, (2, 3, 4)).astype(np.float32),
    "p": RNG.uniform(0.1, 0.9, 6).astype(np.float32),
    "s": np.sort(RNG.uniform(-2, 2, 6)).astype(np.float32),
    "i": np.array([[3, -7, 4], [0, 9, -2]], np.int32),
    "j": np.array([[6, 3, -4], [5, 6, 10]], np.int32),
    "c": np.array([3, 1, 1, 0, 5, 3], np.int32),
    "b": np.array([True, False, True, True, False, False]),
    "q": np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 6.5]], np.float32),
    "a3": RNG.uniform(-2, 2, (5, 3)).astype(np.float32),
    "b3": RNG.uniform(-2, 2, (5, 3)).astype(np.float32),
}

EXPRESSIONS = """
np.add(v, w); np.subtract(v, 2); np.multiply(v, w); np.divide(i, 2); np.power(p, 3); np.floor_divide(i, 2)
np.mod(i, 4); np.remainder(v, w); np.fmod(i, 4); np.maximum(v, w); np.minimum(v, 0); np.hypot(v, w)
np.arctan2(v, w); np.logaddexp(v, w); np.logaddexp2(v, w); np.copysign(v, w); np.heaviside(v, 0.5)
np.gcd(i, j); np.lcm(i, j); np.equal(c, 3); np.less(v, w); np.greater_equal(v, w); np.logical_and(b, c)
np.bitwise_and(i, j); np.bitwise_xor(i, j); np.divmod(c, 2); np.true_divide(i, j + 50); np.float_power(p, 2)
np.abs(v); np.fabs(v); np.exp(v); np.exp2(v); np.expm1(v); np.log(p); np.log2(p); np.log10(p); np.log1p(p)
np.sqrt(p); np.cbrt(v); np.square(v); np.reciprocal(v); np.sin(v); np.cos(v); np.tan(v); np.arcsin(p)
np.arccos(p); np.arctan(v); np.sinh(v); np.cosh(v); np.tanh(v); np.arcsinh(v); np.arccosh(p + 1)
np.arctanh(p); np.floor(v); np.ceil(v); np.trunc(v); np.fix(v); np.rint(v); np.sign(v); np.negative(v)
np.positive(v); np.deg2rad(v); np.rad2deg(v); np.radians(v); np.isnan(q); np.isfinite(q); np.isinf(q)
np.isneginf(q); np.isposinf(q); np.signbit(v); np.invert(i); np.logical_not(b); np.clip(v, -1, 1)
np.where(b, v, w); np.isclose(v, v + 1e-9); np.array_equal(v, v); np.array_equal(v, w); np.array_equiv(v, v)
np.select([v > 1, v > 0], [v, w], 7.0); np.sum(x); np.sum(x, 1); np.sum(x, (0, 2), keepdims=True)
np.mean(x, -1); np.var(x, 1); np.std(x, ddof=1); np.max(x, 1); np.min(x); np.amax(x, (0, 1))
np.argmax(m, 1); np.argmin(m); np.ptp(m, 0); np.average(v, weights=p); np.average(m, 0); np.count_nonzero(i)
np.count_nonzero(i, 0); np.cumsum(m); np.cumsum(m, 1); np.cumprod(m, 0); np.nansum(q); np.nansum(q, 0)
np.nanmean(q, 1); np.nanmax(q, 0); np.nanmin(q); np.nanvar(q, 0); np.nanstd(q); np.nancumsum(q, 1)
np.cov(m); np.cov(v, w); np.corrcoef(m); np.cov(m, ddof=0); np.cov(m, aweights=p[:4], fweights=c[1:5] + 1)
np.trapz(m); np.trapz(v, s); np.interp(v, s, w); np.interp(v, s, w, -9.0, 9.0); np.digitize(v, s[::2])
np.digitize(v, s[::-1], True); np.histogram(v, 4); np.histogram(v, 3, (-1.0, 1.0), density=True)
np.histogram(v, [-2.0, 0.0, 2.0], weights=p); np.histogram2d(v, w, 3); np.histogram_bin_edges(v, 5)
np.bincount(c); np.bincount(c, p, 8); np.linalg.norm(m); np.linalg.norm(m, axis=1); np.reshape(x, (4, 6))
np.reshape(x, (-1, 2)); np.ravel(m); np.transpose(x); np.transpose(x, (1, 0, 2)); np.swapaxes(x, 0, 2)
np.moveaxis(x, 0, -1); np.moveaxis(x, (0, 1), (2, 0)); np.rollaxis(x, 2); np.rollaxis(x, 0, 3)
np.expand_dims(m, 1); np.squeeze(x[:1]); np.broadcast_to(v, (2, 6)); np.tile(m, (2, 2)); np.tile(v, 3)
np.repeat(m, 2, 1); np.repeat(v, 2); np.roll(m, 1); np.roll(m, (1, -1), (0, 1)); np.flip(m); np.flip(m, 1)
np.fliplr(m); np.flipud(m); np.rot90(m); np.rot90(m, 3); np.concatenate((m, m), 1)
np.concatenate((m, v), None); np.append(v, w); np.stack((v, w)); np.stack((v, w), 1); np.hstack((m, m))
np.vstack((v, w)); np.dstack((m, m)); np.column_stack((v, w)); np.split(m, 2, 1); np.split(v, [1, 4])
np.array_split(v, 4); np.hsplit(m, 2); np.vsplit(m, 3); np.dsplit(x, 2); np.atleast_1d(m); np.atleast_2d(v)
np.atleast_3d(v); np.broadcast_arrays(v, np.asarray(1.0)); np.pad(m, 1); np.pad(m, ((1, 0), (2, 1)), "edge")
np.pad(m, 2, "reflect"); np.pad(m, (1, 2), "wrap"); np.pad(m, 1, "symmetric")
np.pad(m, 1, constant_values=3.0); np.take(v, c); np.take(m, c, axis=1, mode="wrap")
np.take(v, c + 2, mode="clip"); np.take_along_axis(m, np.argmax(m, 1)[:, None], 1); np.argwhere(i)
np.unravel_index(c, (2, 3)); np.unravel_index(c, (2, 3), "F"); np.ravel_multi_index((c % 2, c), (2, 6))
np.isin(i, c); np.isin(c, i, invert=True); np.searchsorted(s, v); np.searchsorted(s, s, "right")
np.choose(c % 3, (v, w, 1.0)); np.diff(m); np.diff(v, 2); np.diff(m, axis=0, prepend=0.0)
np.ediff1d(m, 9.0, -9.0); np.gradient(m); np.gradient(v, 2.0); np.gradient(m, 1.0, 2.0); np.unwrap(v * 4)
np.dot(m, n); np.dot(x, n); np.dot(v, w); np.inner(m, m); np.inner(v, w); np.outer(v, w)
np.tensordot(x, n, 1); np.tensordot(x, x, ([0, 2], [0, 2])); np.kron(m, v); np.kron(v, m); np.cross(a3, b3)
np.cross(a3[:, :2], b3[:, :2]); np.cross(a3[:, :2], b3); np.matmul(x, n); np.trace(m); np.trace(x, 1, 0, 2)
np.diagonal(m, 1); np.diag(v); np.diag(m, -1); np.diagflat(m, 1); np.tril(m, 1); np.triu(m)
np.convolve(v, p[:3]); np.convolve(p[:3], v, "same"); np.convolve(v, w, "valid"); np.correlate(v, p[:3])
np.correlate(v, p[:3], "full"); np.correlate(p[:3], v, "same"); np.polyadd(v, p[:3]); np.polysub(p[:3], v)
np.polymul(v, p[:3]); np.polyval(p, v); np.polyder(v); np.polyder(v, 2); np.polyint(v)
np.polyint(v, 2, [1.0, 2.0]); np.apply_along_axis(lambda t: t[:2] * 2, 1, m); np.unique(c)
np.unique(c, return_inverse=True); np.intersect1d(c, i); np.setdiff1d(c, i)
np.apply_over_axes(np.sum, x, (0, 2)); np.linalg.multi_dot((m, n, n.T)); np.zeros((2, 3)); np.ones(3)
np.full((2, 2), 3); np.zeros_like(m); np.ones_like(i); np.full_like(m, 2.5); np.arange(5)
np.arange(2, 9, 3); np.arange(0, 1, 0.25); np.linspace(0, 1, 5); np.linspace(0, 1, 4, False)
np.linspace(0, 2, 5, retstep=True); np.logspace(0, 2, 3); np.geomspace(1, 8, 4); np.eye(3); np.eye(2, 4, 1)
np.identity(2); np.tri(3, 4, -1); np.indices((2, 3)); np.meshgrid(v, p); np.meshgrid(v, p, indexing="ij")
np.meshgrid(v, p, sparse=True); np.ix_(c, v); np.diag_indices(3); np.tril_indices(3)
np.triu_indices(3, 1, 4); np.tril_indices_from(m); np.vander(v, 3); np.vander(v, 3, True)
np.mgrid[0:2, 0:3]; np.ogrid[0:2, 0:3]; np.mgrid[0:4]; np.hanning(5); np.hamming(5); np.blackman(5)
np.bartlett(5); np.array([[1, 2], [3, 4]]); np.array([1.5, 2], ndmin=3); np.asarray([True, 2])
"""


def cases():
    return [part.strip() for line in EXPRESSIONS.splitlines() for part in line.split(";") if part.strip()]


class _Linalg:
    norm, multi_dot = staticmethod(mnp.norm), staticmethod(mnp.multi_dot)


class _Ours:
    linalg = _Linalg

    def __getattr__(self, name):
        return getattr(mnp, name)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in flat(item)]
    return [value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("text", cases())
def test_same_as_numpy(text):
    if "trapz" in text and not hasattr(np, "trapz"):
        pytest.skip("NumPy calls it trapezoid")
    expected = flat(eval(text, {"np": np, **ARRAYS}))
    found = flat(eval(text, {"np": _Ours(), **{k: Tensor(a) for k, a in ARRAYS.items()}}))
    if ("indices(" in text and text.startswith("np.indices")) or "mgrid" in text:
        expected = flat(list(expected[0])) if len(found) > 1 else expected
    assert len(found) == len(expected)
    for y, want in zip(found, expected):
        assert y.shape == want.shape
        if want.dtype.kind == "f":
            np.testing.assert_allclose(y, want, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda: mnp.arange(5), ms.int32),
        (lambda: mnp.arange(0, 1, 0.3), ms.float32),
        (lambda: mnp.array([1, 2]), ms.int32),
        (lambda: mnp.array([1.5]), ms.float32),
        (lambda: mnp.sum(Tensor([1, 2])), ms.int64),
        (lambda: mnp.mean(Tensor([1, 2])), ms.int64),
        (lambda: mnp.argmin(Tensor([3, 1])), ms.int32),
        (lambda: mnp.argmax(Tensor([3, 1])), ms.int64),
        (lambda: mnp.cumsum(Tensor([True])), ms.int32),
        (lambda: mnp.divide(Tensor([1]), Tensor([2])), ms.float32),
        (lambda: mnp.add([1, 2], 3), ms.int32),
        (lambda: mnp.full((2,), 3.5), ms.float32),
        (lambda: mnp.var(Tensor([1, 2])), ms.float32),
        (lambda: mnp.count_nonzero(Tensor([1, 0])), ms.int32),
        (lambda: mnp.bincount(Tensor([1, 1, 2])), ms.float32),
        (lambda: mnp.searchsorted(Tensor([1, 2, 3]), Tensor([2])), ms.int32),
        (lambda: mnp.digitize(Tensor([1.5]), Tensor([1.0, 2.0])), ms.int32),
        (lambda: mnp.zeros(3, ms.int32), ms.int32),
        (lambda: mnp.sum(Tensor([1.0]), dtype=ms.float16), ms.float16),
        (lambda: mnp.add(Tensor([1.0]), 1, ms.float16), ms.float16),
    ],
)
def test_dtypes_of_mindspore(call, dtype):
    assert call().dtype is dtype


def test_dtypes_and_constants():
    assert mnp.promote_types(ms.float32, ms.int64) is ms.float32
    assert mnp.result_type("i2", ms.float32) is ms.float32
    assert mnp.float_ is ms.float32 and mnp.int_ is ms.int32 and mnp.newaxis is None
    assert mnp.isscalar(2) and not mnp.isscalar([2])
    assert mnp.size(Tensor(ARRAYS["m"])) == 12 and mnp.size(Tensor(ARRAYS["m"]), 1) == 4


def test_random():
    ms.set_seed(3)
    assert mnp.rand(2, 3).shape == (2, 3) and mnp.randn(4).dtype is ms.float32
    drawn = mnp.randint(2, 5, (100,)).asnumpy()
    assert drawn.dtype == np.int32 and set(drawn) == {2, 3, 4}


def test_gradients_and_graphs():
    x = Tensor(ARRAYS["m"])
    def function(t):
        return mnp.sum(mnp.tanh(mnp.where(t > 0, t, mnp.square(t))) * mnp.roll(t, 1))
    np.testing.assert_allclose(ms.jit(function)(x).asnumpy(), function(x).asnumpy(), rtol=1e-6)
    assert np.isfinite(ms.grad(function)(x).asnumpy()).all()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: mnp.array(np.arange(3)), TypeError, "Wrap it in mindspore.Tensor"),
        (lambda: mnp.asarray("x"), TypeError, "a Tensor, a number or lists"),
        (lambda: mnp.split(Tensor([1, 2, 3]), 2), ValueError, "Use array_split"),
        (lambda: mnp.pad(Tensor([1]), 1, "cubic"), ValueError, "mode must be"),
        (lambda: mnp.take(Tensor([1]), Tensor([0]), mode="x"), ValueError, "mode must be"),
        (lambda: mnp.searchsorted(Tensor([1]), Tensor([1]), "middle"), ValueError, "side must be"),
        (lambda: mnp.tensordot(Tensor([[1.0, 2.0]]), Tensor([1.0]), 1), ValueError, "equal extents"),
        (lambda: mnp.cross(Tensor([1.0]), Tensor([1.0])), ValueError, "two or three"),
        (lambda: mnp.meen, AttributeError, "did you mean mean"),
        (lambda: mnp.select([Tensor([True])], []), ValueError, "a choice for each condition"),
    ],
)
def test_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call()
