"""Channels-last convolutions and their gradients against the references, over shapes that leave every kind
of remainder."""

from __future__ import annotations

import harness
import ml_dtypes
import numpy as np
import pytest

import mycelia.kernels.cpu.conv  # noqa: F401
from mycelia.codegen import conv, gemm
from mycelia.codegen.gemm import Tile
from mycelia.codegen.target import ALL
from mycelia.ir import operator
from mycelia.ops import conv_layouts  # noqa: F401
from mycelia.runtime.link import compile_object

CASES = {  # n, h, w, ic, oc, kernel, stride, pads, dilation, groups
    "pointwise": (2, 7, 5, 9, 20, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "pointwise strided": (2, 8, 7, 16, 24, (1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 1),
    "pointwise padded": (1, 4, 4, 3, 17, (1, 1), (1, 1), (1, 0, 0, 1), (1, 1), 1),
    "3x3": (2, 6, 7, 16, 16, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "3x3 odd channels": (1, 9, 8, 11, 19, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "3x3 strided": (2, 9, 10, 16, 33, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1),
    "uneven pads and strides": (1, 11, 9, 12, 8, (3, 2), (2, 3), (0, 1, 2, 1), (1, 1), 1),
    "dilated": (1, 12, 11, 10, 6, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2), 1),
    "dilated and strided": (1, 13, 12, 9, 7, (3, 3), (2, 3), (2, 1, 0, 2), (3, 2), 1),
    "stem": (2, 20, 18, 3, 32, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1), 1),
    "one channel": (3, 10, 10, 1, 6, (5, 5), (1, 1), (2, 2, 2, 2), (1, 1), 1),
    "lenet second": (3, 14, 14, 6, 16, (5, 5), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "no column pads": (1, 8, 9, 20, 5, (3, 3), (1, 1), (1, 1, 0, 0), (1, 1), 1),
    "grouped": (2, 6, 6, 12, 18, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 3),
    "grouped strided": (1, 7, 7, 8, 8, (3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 2),
    "multiplier": (1, 7, 7, 5, 10, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 5),
    "depthwise": (2, 9, 8, 43, 43, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 43),
    "depthwise strided": (1, 9, 8, 5, 5, (5, 3), (2, 2), (2, 2, 1, 1), (1, 1), 5),
    "deep": (1, 4, 4, 700, 17, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "very deep": (1, 3, 3, 3000, 9, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "one pixel": (1, 1, 1, 8, 8, (1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    "empty batch": (0, 5, 5, 4, 4, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    "kernel larger than image": (1, 2, 2, 4, 8, (5, 5), (1, 1), (2, 2, 2, 2), (1, 1), 1),
}
TOLERANCE = {
    np.dtype(np.float32): 2e-5,
    np.dtype(np.float64): 1e-13,
    np.dtype(np.float16): 2e-3,
    np.dtype(ml_dtypes.bfloat16): 1.6e-2,
}


def numbers(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def reference(op, *arrays, **attrs):
    """The reference in double precision."""
    return operator.get(op).reference(*(a.astype(np.float64) for a in arrays), **attrs)


def close(got, expected, dtype):
    assert got.shape == expected.shape and got.dtype == dtype
    if got.size == 0:
        return
    scale = max(np.abs(expected).max(), 1.0)
    assert np.abs(got.astype(np.float64) - expected).max() <= TOLERANCE[np.dtype(dtype)] * scale


def problem(name, dtype):
    n, h, w, ic, oc, kernel, stride, pads, dilation, groups = CASES[name]
    attrs = dict(stride=stride, pads=pads, dilation=dilation, groups=groups)
    x = numbers((n, h, w, ic), dtype, 1)
    weight = numbers((oc, ic // groups, *kernel), dtype, 2)
    high = (h + pads[0] + pads[1] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    wide = (w + pads[2] + pads[3] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
    dy = numbers((n, high, wide, oc), dtype, 3)
    return x, weight, dy, kernel, attrs


def packing(attrs, form):
    return dict(groups=attrs["groups"], form=form, stride=attrs["stride"], dilation=attrs["dilation"])


def check_forward(name, dtype, bias=False, residual=False, relu=False):
    x, weight, dy, kernel, attrs = problem(name, dtype)
    packed = harness.apply("PackConvWeights", [weight], **packing(attrs, "forward"))
    extra = [numbers(weight.shape[:1], dtype, 4)] * bias + [numbers(dy.shape, dtype, 5)] * residual
    how = dict(
        attrs,
        kernel_size=kernel,
        out_channels=weight.shape[0],
        epilogue="relu" if relu else "",
        has_bias=bias,
        has_residual=residual,
    )
    got = harness.apply("ConvNHWC", [x, packed, *extra], **how)
    plain = reference("PackConvWeights", weight, **packing(attrs, "forward"))
    close(got, reference("ConvNHWC", x, plain, *extra, **how), dtype)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forward(name, dtype):
    check_forward(name, dtype)


@pytest.mark.parametrize(
    "name", ["pointwise", "3x3", "3x3 odd channels", "stem", "lenet second", "grouped", "depthwise", "deep"]
)
def test_forward_with_epilogue(name):
    check_forward(name, np.float32, bias=True, residual=True, relu=True)


@pytest.mark.parametrize(
    "bias,residual,relu", [(True, False, False), (False, True, False), (False, False, True)]
)
def test_parts_of_the_epilogue(bias, residual, relu):
    check_forward("3x3 odd channels", np.float32, bias, residual, relu)


@pytest.mark.parametrize("name", ["pointwise", "3x3", "one channel", "grouped", "depthwise", "3x3 strided"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision(name, dtype):
    check_forward(name, dtype, bias=True, residual=True, relu=True)
    check_input_grad(name, dtype)
    check_weight_grad(name, dtype)


def check_input_grad(name, dtype):
    x, weight, dy, kernel, attrs = problem(name, dtype)
    packed = harness.apply("PackConvWeights", [weight], **packing(attrs, "input_grad"))
    how = dict(attrs, kernel_size=kernel, input_shape=x.shape)
    got = harness.apply("ConvInputGradNHWC", [dy, packed], **how)
    plain = reference("PackConvWeights", weight, **packing(attrs, "input_grad"))
    close(got, reference("ConvInputGradNHWC", dy, plain, **how), dtype)


def check_weight_grad(name, dtype):
    x, weight, dy, kernel, attrs = problem(name, dtype)
    how = dict(attrs, kernel_size=kernel)
    got = harness.apply("ConvWeightGradNHWC", [x, dy], **how)
    close(got, reference("ConvWeightGradNHWC", x, dy, **how), dtype)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_input_grad(name, dtype):
    check_input_grad(name, dtype)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weight_grad(name, dtype):
    check_weight_grad(name, dtype)


@pytest.mark.parametrize("name", ["3x3 odd channels", "stem", "lenet second", "one channel", "deep"])
def test_order_of_chunks_does_not_matter(name):
    x, weight, dy, kernel, attrs = problem(name, np.float32)
    packed = harness.apply("PackConvWeights", [weight], **packing(attrs, "forward"))
    how = dict(
        attrs,
        kernel_size=kernel,
        out_channels=weight.shape[0],
        epilogue="",
        has_bias=False,
        has_residual=False,
    )
    bound = harness.bind("ConvNHWC", [x, packed], **how)
    bound.run()
    forwards = bound.outputs[0].copy()
    bound.outputs[0][...] = np.nan
    bound.run(reverse=True)
    np.testing.assert_array_equal(forwards, bound.outputs[0])


def test_relu_keeps_nan():
    x, weight, dy, kernel, attrs = problem("3x3", np.float32)
    x[0, 3, 3, 0] = np.nan
    packed = harness.apply("PackConvWeights", [weight], **packing(attrs, "forward"))
    got = harness.apply(
        "ConvNHWC",
        [x, packed],
        **attrs,
        kernel_size=kernel,
        out_channels=16,
        epilogue="relu",
        has_bias=False,
        has_residual=False,
    )
    assert np.isnan(got[0, 2:5, 2:5]).all() and not np.isnan(got[0, 0]).any()


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("element", ["float", "double"])
def test_text_compiles_for_every_target(target, element):
    tile = Tile.of(target, element)
    texts = [
        conv.pixel_sum(conv.PixelSum(tile, table, columns, shortest), "k")
        for table, columns, shortest in (
            (True, "any", tile.rows - 1),
            (False, "whole", 1),
            (True, "narrow", 3),
        )
    ]
    texts += [
        gemm.contraction(gemm.Contraction(tile, table=True, regular=True, bias=True), "k"),
        conv.depthwise(conv.Depthwise(tile, True, True, True), "k"),
        conv.depthwise_sum(tile, "k"),
    ]
    texts += [
        conv.pad_images(stored, tile, "k")
        for stored in (["double"] if element == "double" else ["float", "half", "bfloat"])
    ]
    for text in texts:
        assert harness.undefined_symbols(compile_object(text, target)) <= {"memcpy", "memset", "memmove"}
