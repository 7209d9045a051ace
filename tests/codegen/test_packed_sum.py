"""Gradients of convolution weights with many output channels: sums over pixels from packed operands."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5, np.float16: 5e-3}


def weight_gradient(x, dy, kernel, stride, padding, groups):
    """Of ``sum(conv2d(x, w) * dy)`` by w, in float64."""
    (n, channels, _, _), (_, oc, oh, ow) = x.shape, dy.shape
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    x = x.reshape(n, groups, channels // groups, *x.shape[2:])
    dy = dy.reshape(n, groups, oc // groups, oh, ow)
    result = np.empty((groups, oc // groups, channels // groups, kernel, kernel))
    for i, j in np.ndindex(kernel, kernel):
        window = x[..., i : i + stride * oh : stride, j : j + stride * ow : stride][..., :oh, :ow]
        result[..., i, j] = np.einsum("ngohw,ngchw->goc", dy.astype(np.float64), window)
    return result.reshape(oc, channels // groups, kernel, kernel)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("images", "channels", "oc", "size", "kernel", "stride", "padding", "groups"), [
    (2, 5, 40, 9, 3, 1, 1, 1),  # some vectors of a panel
    (2, 7, 33, 9, 3, 2, 1, 1),
    (3, 16, 64, 7, 1, 1, 0, 1),  # no table
    (2, 16, 48, 8, 1, 2, 0, 1),
    (2, 12, 80, 6, 3, 1, 1, 2),  # groups
    (2, 8, 40, 30, 3, 1, 1, 1),  # parts
    (2, 8, 80, 30, 1, 1, 0, 2),  # parts of groups
    (1, 64, 300, 7, 3, 1, 1, 1),  # several chunks of C
    (0, 4, 40, 5, 3, 1, 1, 1),
])
def test_weight_gradients(images, channels, oc, size, kernel, stride, padding, groups, dtype):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(images, channels, size, size)).astype(dtype)
    w = rng.normal(size=(oc, channels // groups, kernel, kernel)).astype(dtype)

    def convolved(w):
        return ops.conv2d(Tensor(x), w, stride=stride, pad_mode="pad", padding=padding, groups=groups)

    dy = rng.normal(size=convolved(Tensor(w)).shape).astype(dtype)
    found = ms.jit(ms.grad(lambda w: (convolved(w) * Tensor(dy)).sum()))(Tensor(w)).asnumpy()
    expected = weight_gradient(x, dy, kernel, stride, padding, groups)
    assert found.dtype == dtype
    largest = np.abs(expected).max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * largest)
