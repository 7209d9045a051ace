"""Channels-last pooling and its gradients against the references; ties, NaN and infinities by hand."""

from __future__ import annotations

import harness
import ml_dtypes
import numpy as np
import pytest

import mycelia.kernels.cpu.pool  # noqa: F401
from mycelia.codegen import pool
from mycelia.codegen.gemm import Tile
from mycelia.codegen.pack import arithmetic
from mycelia.codegen.target import ALL
from mycelia.ir import operator
from mycelia.ops import conv_layouts  # noqa: F401
from mycelia.runtime.link import compile_object

CASES = {  # n, h, w, c, kernel, stride, pads
    "halves": (2, 6, 8, 16, (2, 2), (2, 2), (0, 0, 0, 0)),
    "six channels": (3, 14, 14, 6, (2, 2), (2, 2), (0, 0, 0, 0)),
    "one channel": (2, 7, 9, 1, (3, 3), (1, 1), (1, 1, 1, 1)),
    "overlapping": (1, 11, 12, 70, (3, 3), (2, 2), (1, 1, 1, 1)),
    "uneven": (2, 9, 8, 13, (3, 2), (2, 3), (1, 0, 0, 1)),
    "whole image": (2, 7, 7, 40, (7, 7), (1, 1), (0, 0, 0, 0)),
    "gaps": (1, 9, 9, 8, (2, 2), (3, 3), (0, 0, 0, 0)),
    "empty batch": (0, 4, 4, 3, (2, 2), (2, 2), (0, 0, 0, 0)),
}
TOLERANCE = {
    np.dtype(np.float32): 1e-6,
    np.dtype(np.float64): 1e-14,
    np.dtype(np.float16): 1e-3,
    np.dtype(ml_dtypes.bfloat16): 8e-3,
}
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]


def problem(name, dtype):
    n, h, w, c, kernel, stride, pads = CASES[name]
    rng = np.random.default_rng(0)
    x = rng.permutation(n * h * w * c).reshape(n, h, w, c)  # few distinct values in half precision: ties
    x = ((x - x.size / 2) / 16).astype(dtype)
    return x, dict(kernel_size=kernel, stride=stride, pads=pads)


def compare(op, inputs, dtype, **attrs):
    got = harness.apply(op, inputs, **attrs)
    expected = operator.get(op).reference(*(a.astype(np.float64) for a in inputs), **attrs)
    assert got.shape == expected.shape and got.dtype == dtype
    if got.size:
        scale = max(np.abs(expected).max(), 1.0)
        assert np.abs(got.astype(np.float64) - expected).max() <= TOLERANCE[np.dtype(dtype)] * scale
    return got


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_max(name, dtype):
    x, window = problem(name, dtype)
    y = compare("MaxPoolNHWC", [x], dtype, **window)
    dy = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
    compare("MaxPoolGradNHWC", [x, y, dy], dtype, **window)
    g = np.random.default_rng(2).standard_normal(x.shape).astype(dtype)
    compare("MaxPoolGradGradNHWC", [x, y, g], dtype, **window)


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_avg(name, dtype, include):
    x, window = problem(name, dtype)
    y = compare("AvgPoolNHWC", [x], dtype, **window, count_include_pad=include)
    dy = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
    compare("AvgPoolGradNHWC", [dy], dtype, **window, count_include_pad=include, input_shape=x.shape)


def test_ties_go_to_the_first():
    x = np.zeros((1, 2, 2, 9), np.float32)
    window = dict(kernel_size=(2, 2), stride=(2, 2), pads=(0, 0, 0, 0))
    dx = harness.apply("MaxPoolGradNHWC", [x, x[:, :1, :1], np.full((1, 1, 1, 9), 3, np.float32)], **window)
    np.testing.assert_array_equal(dx[0, 0, 0], 3)
    assert dx.sum() == 27


def test_nan_wins_and_takes_the_gradient():
    x = np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1).repeat(5, 3)
    x[0, 0, 1] = x[0, 1, 0] = np.nan
    window = dict(kernel_size=(2, 2), stride=(2, 2), pads=(0, 0, 0, 0))
    y = harness.apply("MaxPoolNHWC", [x], **window)
    assert np.isnan(y).all()
    dx = harness.apply("MaxPoolGradNHWC", [x, y, np.ones_like(y)], **window)
    np.testing.assert_array_equal(dx[0, :, :, 0], [[0, 1], [0, 0]])
    g = np.arange(20, dtype=np.float32).reshape(x.shape)
    picked = harness.apply("MaxPoolGradGradNHWC", [x, y, g], **window)
    np.testing.assert_array_equal(picked[0, 0, 0], g[0, 0, 1])


def test_padding_loses_against_minus_infinity():
    x = np.full((1, 2, 2, 3), -np.inf, np.float32)
    window = dict(kernel_size=(3, 3), stride=(2, 2), pads=(1, 1, 1, 1))
    y = harness.apply("MaxPoolNHWC", [x], **window)
    assert (y == -np.inf).all()
    dx = harness.apply("MaxPoolGradNHWC", [x, y, np.ones_like(y)], **window)
    np.testing.assert_array_equal(dx[0, :, :, 0], [[1, 0], [0, 0]])


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("stored", ["float", "double", "half", "bfloat"])
def test_text_compiles_for_every_target(target, stored):
    tile = Tile.of(target, arithmetic(stored))
    for kind in ("max", "avg"):
        for text in (
            pool.pool(pool.Pooling(kind, tile, stored), "k"),
            pool.pool_grad(pool.Pooling(kind, tile, stored), "k"),
            pool.max_pool_grad_grad(pool.Pooling("max", tile, stored), "k"),
        ):
            assert harness.undefined_symbols(compile_object(text, target)) <= {"memcpy", "memset", "memmove"}
