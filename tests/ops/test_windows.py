"""Convolution, pooling, padding and resizing of any number of axes against loops written out in NumPy."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

RNG = np.random.default_rng(4)


def drawn(*shape, dtype=np.float32):
    return RNG.uniform(-1, 1, shape).astype(dtype)


def close(tensor, expected, tolerance=1e-5):
    assert tensor.shape == expected.shape
    np.testing.assert_allclose(tensor.asnumpy().astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def padded(x, pads, value=0.0):
    return np.pad(x, ((0, 0), (0, 0), *pads), constant_values=value)


def places(size, kernel, stride, dilation):
    return [range((d - dl * (k - 1) - 1) // s + 1) for d, k, s, dl in zip(size, kernel, stride, dilation)]


def window(x, at, kernel, stride, dilation):
    return x[(slice(None), slice(None), *(
        slice(i * s, i * s + dl * (k - 1) + 1, dl) for i, s, k, dl in zip(at, stride, kernel, dilation)
    ))]


def conv(x, w, stride, pads, dilation, groups):
    """The definition of a convolution, element by element."""
    x = padded(x.astype(np.float64), pads)
    kernel, out = w.shape[2:], w.shape[0]
    grid = places(x.shape[2:], kernel, stride, dilation)
    y = np.zeros((x.shape[0], out, *map(len, grid)))
    each, c = out // groups, w.shape[1]
    for o in range(out):
        g = o // each
        for at in itertools.product(*grid):
            part = window(x[:, g * c:(g + 1) * c], at, kernel, stride, dilation)
            y[(slice(None), o, *at)] = (part * w[o]).sum(tuple(range(1, part.ndim)))
    return y


CONVOLUTIONS = [
    ((2, 4, 9), (6, 4, 3), (2,), (1,), (1,), 1),
    ((1, 4, 9), (6, 2, 2), (1,), (0,), (3,), 2),
    ((2, 4, 5, 6), (4, 1, 3, 2), (1, 2), (1, 0), (1, 2), 4),
    ((2, 2, 4, 5, 4), (3, 2, 2, 3, 2), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
    ((1, 4, 5, 4, 6), (4, 2, 3, 2, 1), (2, 1, 3), (1, 1, 0), (1, 2, 1), 2),
]


@pytest.mark.parametrize(("x", "w", "stride", "pad", "dilation", "groups"), CONVOLUTIONS)
def test_convolution(x, w, stride, pad, dilation, groups):
    x, w, b = drawn(*x), drawn(*w), drawn(w[0])
    function = getattr(ops, f"conv{len(stride)}d")
    line = (1, -1, *(1,) * len(stride))
    expected = conv(x, w, stride, [(p, p) for p in pad], dilation, groups)
    how = (stride, "pad", pad, dilation, groups)
    close(function(Tensor(x), Tensor(w), Tensor(b), *how), expected + b.reshape(line))
    close(function(Tensor(x[0]), Tensor(w), None, *how), expected[0])
    close(ms.jit(lambda t, k: function(t, k, None, *how))(Tensor(x), Tensor(w)), expected)


@pytest.mark.parametrize(("x", "w", "stride", "pad", "dilation", "groups"), CONVOLUTIONS)
def test_transposed_convolution_is_the_adjoint(x, w, stride, pad, dilation, groups):
    x, w = drawn(*x, dtype=np.float64), drawn(*w, dtype=np.float64)
    axes = len(stride)
    y = conv(x, w, stride, [(p, p) for p in pad], dilation, groups)
    g = drawn(*y.shape, dtype=np.float64)
    spans = [(y.shape[2 + i] - 1) * stride[i] - 2 * pad[i] + dilation[i] * (w.shape[2 + i] - 1) + 1
             for i in range(axes)]
    extra = tuple(x.shape[2 + i] - spans[i] for i in range(axes))
    transposed = getattr(ops, f"conv_transpose{axes}d")
    back = transposed(Tensor(g), Tensor(w), None, stride, pad, extra, groups, dilation)
    assert back.shape == x.shape
    np.testing.assert_allclose((back.asnumpy() * x).sum(), (g * y).sum(), rtol=1e-10)
    forward = getattr(ops, f"conv{axes}d")
    how = (None, stride, "pad", pad, dilation, groups)
    dx = ms.grad(lambda t: (forward(t, Tensor(w), *how) * Tensor(g)).sum())(Tensor(x))
    close(dx, back.asnumpy(), 1e-10)


def test_same_padding_keeps_extents_over_stride():
    x, w = Tensor(drawn(1, 2, 5, 6, 7)), Tensor(drawn(3, 2, 3, 2, 3))
    assert ops.conv3d(x, w, None, 2, "same").shape == (1, 3, 3, 3, 4)
    assert ops.conv1d(Tensor(drawn(1, 2, 7)), Tensor(drawn(3, 2, 4)), None, 3, "same").shape == (1, 3, 3)


def test_convolution_of_empty_and_strided_tensors():
    w = Tensor(drawn(3, 2, 2, 2, 2))
    assert ops.conv3d(Tensor(drawn(0, 2, 3, 3, 3)), w).shape == (0, 3, 2, 2, 2)
    x = drawn(1, 2, 3, 4, 8)
    expected = conv(x[..., ::2], w.asnumpy(), (1,) * 3, [(0, 0)] * 3, (1,) * 3, 1)
    close(ops.conv3d(Tensor(x)[..., ::2], w), expected)


def test_convolution_under_vmap():
    x, w = drawn(3, 1, 2, 4, 3, 4), drawn(2, 2, 2, 2, 2)
    y = ms.vmap(lambda t: ops.conv3d(t, Tensor(w)))(Tensor(x))
    close(y, np.stack([conv(t, w, (1,) * 3, [(0, 0)] * 3, (1,) * 3, 1) for t in x]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_convolution_keeps_dtypes(dtype):
    y = ops.conv3d(Tensor(drawn(1, 1, 2, 2, 2, dtype=dtype)), Tensor(drawn(1, 1, 1, 1, 1, dtype=dtype)))
    assert y.asnumpy().dtype == dtype


def pool(x, kernel, stride, pads, dilation, reduce, value):
    x = padded(x, pads, value)
    grid = places(x.shape[2:], kernel, stride, dilation)
    y = np.zeros((*x.shape[:2], *map(len, grid)))
    for at in itertools.product(*grid):
        part = window(x, at, kernel, stride, dilation)
        y[(slice(None), slice(None), *at)] = reduce(part.reshape(*part.shape[:2], -1))
    return y


@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "pad", "dilation"),
    [
        ((2, 3, 9), (3,), (2,), (1,), (1,)),
        ((1, 2, 7, 6), (3, 2), (2, 1), (1, 0), (1, 1)),
        ((1, 2, 7, 8), (2, 3), (1, 2), (0, 1), (2, 1)),
        ((1, 2, 5, 4, 6), (2, 2, 3), (2, 1, 2), (1, 0, 1), (1, 1, 1)),
        ((1, 1, 5, 6, 6), (2, 2, 2), (1, 1, 1), (0, 0, 0), (1, 2, 2)),
    ],
)
def test_pooling(shape, kernel, stride, pad, dilation):
    x, axes = drawn(*shape), len(kernel)
    pads = [(p, p) for p in pad]
    expected = pool(x, kernel, stride, pads, dilation, lambda t: t.max(-1), -np.inf)
    largest = getattr(ops, f"max_pool{axes}d")
    close(largest(Tensor(x), kernel, stride, pad, dilation), expected)
    y, at = largest(Tensor(x), kernel, stride, pad, dilation, return_indices=True)
    close(y, expected)
    picked = np.take_along_axis(x.reshape(*shape[:2], -1), at.asnumpy().reshape(*shape[:2], -1), 2)
    np.testing.assert_array_equal(picked.reshape(expected.shape), y.asnumpy())
    if dilation == (1,) * axes:
        mean = getattr(ops, f"avg_pool{axes}d")
        close(mean(Tensor(x), kernel, stride, pad),
              pool(x, kernel, stride, pads, dilation, lambda t: t.mean(-1), 0.0))
        close(mean(Tensor(x), kernel, stride, pad, count_include_pad=False),
              pool(x, kernel, stride, pads, dilation, lambda t: np.nanmean(t, -1), np.nan))
        close(mean(Tensor(x), kernel, stride, pad, divisor_override=5),
              pool(x, kernel, stride, pads, dilation, lambda t: t.sum(-1) / 5, 0.0))


def test_ceil_mode_takes_the_last_window():
    x = drawn(1, 1, 5, 6, 7)
    assert ops.max_pool3d(Tensor(x), 2, 2, ceil_mode=True).shape == (1, 1, 3, 3, 4)
    y = ops.avg_pool3d(Tensor(x), 2, 2, 0, True)
    np.testing.assert_allclose(y.asnumpy()[0, 0, -1, 0, -1], x[0, 0, 4:, :2, 6:].mean(), rtol=1e-5)


def test_unpooling_puts_maxima_back():
    x = drawn(2, 3, 6, 4)
    y, at = ops.max_pool2d(Tensor(x), 2, 2, return_indices=True)
    back = ops.max_unpool2d(y, at, 2).asnumpy()
    kept = back != 0
    np.testing.assert_array_equal(back[kept], x[kept])
    assert kept.sum() == y.size


@pytest.mark.parametrize("size", [(2, 3, 4), (1, 1, 1), (None, 2, 5), (3, 4, 6)])
def test_adaptive_pooling(size):
    x = drawn(2, 2, 3, 4, 6)
    want = [d if n is None else n for n, d in zip(size, x.shape[2:])]
    cuts = [[(i * d // n, -(-(i + 1) * d // n)) for i in range(n)] for n, d in zip(want, x.shape[2:])]
    for name, reduce in (("avg", np.mean), ("max", np.max)):
        expected = np.array([[[reduce(x[:, :, a:b, c:d, e:f], (2, 3, 4)) for e, f in cuts[2]]
                              for c, d in cuts[1]] for a, b in cuts[0]]).transpose(3, 4, 0, 1, 2)
        close(getattr(ops, f"adaptive_{name}_pool3d")(Tensor(x), size), expected)
    y, at = ops.adaptive_max_pool3d(Tensor(x), size, True)
    picked = np.take_along_axis(x.reshape(2, 2, -1), at.asnumpy().reshape(2, 2, -1).astype(int), 2)
    np.testing.assert_array_equal(picked.reshape(y.shape), y.asnumpy())


def test_unfold_and_fold_are_adjoint():
    x = drawn(2, 3, 5, 6, dtype=np.float64)
    columns = ops.unfold(Tensor(x), (3, 2), 1, (1, 0), (2, 1))
    g = drawn(*columns.shape, dtype=np.float64)
    back = ops.fold(Tensor(g), (5, 6), (3, 2), 1, (1, 0), (2, 1))
    np.testing.assert_allclose((back.asnumpy() * x).sum(), (g * columns.asnumpy()).sum(), rtol=1e-12)
    patch = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))[0, :, 2:5, 3:5]
    np.testing.assert_allclose(columns.asnumpy()[0, :, 5 + 3].reshape(3, 3, 2), patch)


@pytest.mark.parametrize(
    ("mode", "theirs"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
@pytest.mark.parametrize("pads", [(1, 2), (1, 2, 0, 1), (1, 0, 2, 1, 1, 2)])
def test_padding(mode, theirs, pads):
    x = drawn(1, 2, 4, 3, 4)
    pairs = [(0, 0)] * (5 - len(pads) // 2) + [pads[i:i + 2] for i in range(len(pads) - 2, -1, -2)]
    close(ops.pad(Tensor(x), pads, mode), np.pad(x, pairs, mode=theirs))
    grad = ms.grad(lambda t: ops.pad(t, pads, mode).sum())(Tensor(x))
    elements = np.prod([d + sum(p) for d, p in zip(x.shape, pairs)])
    np.testing.assert_allclose(grad.asnumpy().sum(), elements, rtol=1e-5)


def interpolated(x, at):
    """Linear interpolation along the last axis."""
    low = np.clip(np.floor(at), 0, x.shape[-1] - 1).astype(int)
    high = np.minimum(low + 1, x.shape[-1] - 1)
    share = np.clip(at, 0, x.shape[-1] - 1) - low
    return x[..., low] * (1 - share) + x[..., high] * share


@pytest.mark.parametrize(("have", "want"), [(4, 7), (7, 4), (3, 3), (1, 4), (5, 1)])
@pytest.mark.parametrize("corners", [False, True])
def test_linear_interpolation(have, want, corners):
    x = drawn(2, 3, have)
    at = np.arange(want) * ((have - 1) / (want - 1) if want > 1 else 0) if corners else \
        np.maximum((np.arange(want) + 0.5) * have / want - 0.5, 0)
    close(ops.interpolate(Tensor(x), want, mode="linear", align_corners=corners), interpolated(x, at))


def test_interpolation_of_volumes_goes_axis_by_axis():
    x = drawn(1, 2, 3, 4, 5)
    expected = x
    for axis, want in zip((2, 3, 4), (5, 3, 8)):
        have = x.shape[axis]
        at = np.maximum((np.arange(want) + 0.5) * have / want - 0.5, 0)
        expected = np.moveaxis(interpolated(np.moveaxis(expected, axis, -1), at), -1, axis)
    close(ops.interpolate(Tensor(x), (5, 3, 8), mode="trilinear"), expected)


def test_bicubic_interpolation_reproduces_cubic_weights():
    x = drawn(1, 1, 6, 1)
    t = 0.25  # element 5 of twice the size lies at (5 + 0.5) / 2 - 0.5 = 2.25
    a = -0.75
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    w = [far(1 + t), near(t), near(1 - t), far(2 - t)]
    y = ops.interpolate(Tensor(x), (12, 1), mode="bicubic")
    np.testing.assert_allclose(y.asnumpy()[0, 0, 5, 0], np.dot(w, x[0, 0, 1:5, 0]), rtol=1e-5)


def test_grid_sample_at_the_elements_gives_them_back():
    x = drawn(2, 3, 4, 5)
    theta = Tensor(np.tile(np.eye(2, 3, dtype=np.float32), (2, 1, 1)))
    for corners in (False, True):
        grid = ops.affine_grid(theta, (2, 3, 4, 5), corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            close(ops.grid_sample(Tensor(x), grid, mode, "border", corners), x)
    volume = drawn(1, 2, 3, 4, 2)
    grid = ops.affine_grid(Tensor(np.eye(3, 4, dtype=np.float32)[None]), volume.shape, True)
    close(ops.grid_sample(Tensor(volume), grid, align_corners=True), volume)


def test_grid_sample_between_and_beyond():
    x = Tensor(np.array([[[[1.0, 3.0]]]], np.float32))
    grid = lambda at: Tensor(np.array([[[[at, 0.0]]]], np.float32))
    for at, mode, expected in (
        (0.0, "zeros", 2.0), (9.0, "zeros", 0.0), (9.0, "border", 3.0), (3.0, "reflection", 1.0)
    ):
        y = ops.grid_sample(x, grid(at), padding_mode=mode, align_corners=True)
        assert y.tolist() == [[[[expected]]]]


def test_pixels_and_channels():
    x = drawn(2, 8, 3, 4)
    y = ops.pixel_shuffle(Tensor(x), 2)
    np.testing.assert_array_equal(y.asnumpy()[:, 1, 1::2, 0::2], x[:, 6])
    close(ops.pixel_unshuffle(y, 2), x)
    close(ops.space_to_depth(ops.depth_to_space(Tensor(x), 2), 2), x)
    np.testing.assert_array_equal(ops.channel_shuffle(Tensor(x), 2).asnumpy()[:, 1], x[:, 4])


X1, X2, X3 = (Tensor(np.ones((1, 2) + (3,) * n, np.float32)) for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: ops.conv3d(X1, X3), ValueError, "conv3d: the input must have 5 axes"),
        (lambda: ops.conv3d(X3, X3, None, (1, 2)), TypeError, "stride must be an int or a tuple of 3"),
        (lambda: ops.conv3d(X3, Tensor(np.ones((1, 2, 9, 1, 1), np.float32))), ValueError, "must fit"),
        (lambda: ops.conv1d(X1, X1, pad_mode="full"), ValueError, "pad_mode must be"),
        (lambda: ops.conv1d(X1, X1, None, 1, "pad", -1), ValueError, "none negative"),
        (lambda: ops.conv_transpose2d(X2, X2, None, 1, 0, 1), ValueError, "output_padding must be smaller"),
        (lambda: ops.max_pool3d(X2[0], 2), ValueError, "must have 4 or 5 axes"),
        (lambda: ops.max_pool2d(X2, 0), ValueError, "must be positive"),
        (lambda: ops.max_pool2d(X2, 9, return_indices=True), ValueError, "must fit"),
        (lambda: ops.adaptive_avg_pool2d(X2, (1, 2, 3)), TypeError, "an int or 2 of them"),
        (lambda: ops.adaptive_avg_pool2d(X2, 0), ValueError, "must be positive"),
        (lambda: ops.max_unpool2d(X2, X2[:, :1], 2), ValueError, "one shape"),
        (lambda: ops.unfold(X1, 2), ValueError, "must have 4 axes"),
        (lambda: ops.fold(X1, (4, 4), 2), ValueError, "rows and"),
        (lambda: ops.pad(X2, (1, 2, 3)), ValueError, "a pair for each"),
        (lambda: ops.pad(X2, (3, 0), "reflect"), ValueError, "at most 2 on axis 3"),
        (lambda: ops.pad(X2, (1, 1), "mirror"), ValueError, "mode must be"),
        (lambda: ops.pad(X2, (1, 1), "reflect", 2.0), ValueError, "value only goes with"),
        (lambda: ops.interpolate(X2), ValueError, "either size or scale_factor"),
        (lambda: ops.interpolate(X1, 2, mode="bilinear"), ValueError, "for an input of 3 axes"),
        (lambda: ops.interpolate(X2, 2, align_corners=True), ValueError, "align_corners only goes"),
        (lambda: ops.interpolate(X2, (2, 2, 2)), ValueError, "or 2 of them"),
        (lambda: ops.grid_sample(X2, X3), ValueError, r"a grid \[n, oh, ow, 2\]"),
        (lambda: ops.grid_sample(X2, Tensor(np.ones((1, 2, 2, 2)))), TypeError, "one dtype"),
        (lambda: ops.affine_grid(X2, (1, 1, 2, 2)), ValueError, r"theta must be \[n, 2, 3\]"),
        (lambda: ops.pixel_shuffle(X2, 2), ValueError, r"\[..., c \* 4, h, w\]"),
        (lambda: ops.pixel_shuffle(X2, 2.0), TypeError, "must be an int"),
        (lambda: ops.pixel_unshuffle(X2, 2), ValueError, r"h \* 2, w \* 2"),
        (lambda: ops.channel_shuffle(X2, 3), ValueError, "must divide the channels"),
    ],
)
def test_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call()
