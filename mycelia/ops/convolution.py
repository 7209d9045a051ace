"""Two-dimensional convolution (cross-correlation, as networks mean it) in NCHW, and its two gradients.

``y[n, o, i, j] = sum over c, u, v of x[n, c, i*sh + u*dh - top, j*sw + v*dw - left] * w[o, c, u, v]`` within
each of ``groups`` groups of channels. The three operators are bilinear and adjoint to one another, so each
gradient is one of them.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.batching import all_at_front, at_front, fold, reshape, unfold
from mycelia.ops.definition import operator
from mycelia.ops.inference import require_dtypes, require_rank, wrong_shape
from mycelia.ops.movement import Transpose
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]


def window_extent(size: Dim, kernel: int, stride: int, before: int, after: int, dilation: int = 1) -> Dim:
    """How many places a window takes along an axis."""
    return (size + (before + after - dilation * (kernel - 1) - 1)) // stride + 1


def _require_windows(name: str, types: tuple[TensorType, ...], shape: tuple[Dim, ...]) -> None:
    if any(isinstance(d, int) and d < 1 for d in shape):
        raise wrong_shape(
            name, types, "the kernel must fit into the padded image", "Pad the image or use a smaller kernel"
        )


def _conv_shape(
    name: str,
    types: tuple[TensorType, ...],
    x: tuple[Dim, ...],
    w: tuple[Dim, ...],
    stride: Pair,
    pads: Pads,
    dilation: Pair,
    groups: int,
) -> tuple[Dim, ...]:
    if x[1] != w[1] * groups or w[0] % groups:
        raise wrong_shape(
            name,
            types,
            f"with {groups} group(s) the image must have groups times the weight's {w[1]} input "
            f"channels, and the {w[0]} output channels must divide by groups",
            "Check the layer's in_channels and group",
        )
    high = window_extent(x[2], w[2], stride[0], pads[0], pads[1], dilation[0])
    wide = window_extent(x[3], w[3], stride[1], pads[2], pads[3], dilation[1])
    _require_windows(name, types, (high, wide))
    return x[0], w[0], high, wide


def patches(
    x: np.ndarray, kernel: Pair, stride: Pair, pads: Pads, dilation: Pair = (1, 1), fill: float = 0.0
) -> np.ndarray:
    """The windows of an image as a view: ``[n, c, high, wide, kh, kw]``."""
    padded = np.pad(x, ((0, 0), (0, 0), pads[:2], pads[2:]), constant_values=fill)
    spread = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel))
    windows = np.lib.stride_tricks.sliding_window_view(padded, spread, (2, 3))
    return windows[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]


def unpatch(
    windows: np.ndarray, shape: tuple[int, ...], stride: Pair, pads: Pads, dilation: Pair = (1, 1)
) -> np.ndarray:
    """Adds windows ``[n, c, high, wide, kh, kw]`` back to where `patches` took them from."""
    n, c, h, w = shape
    high, wide, kh, kw = windows.shape[2:]
    image = np.zeros((n, c, h + pads[0] + pads[1], w + pads[2] + pads[3]), windows.dtype)
    for u in range(kh):
        for v in range(kw):
            top, left = u * dilation[0], v * dilation[1]
            image[:, :, top:top + (high - 1) * stride[0] + 1:stride[0],
                  left:left + (wide - 1) * stride[1] + 1:stride[1]] += windows[:, :, :, :, u, v]
    return image[:, :, pads[0]:pads[0] + h, pads[2]:pads[2] + w]


def _grouped(channels: np.ndarray, groups: int, axis: int) -> np.ndarray:
    shape = channels.shape
    return channels.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1:])


def _conv(x, w, *, stride, pads, dilation, groups):
    windows = _grouped(patches(x, w.shape[2:], stride, pads, dilation), groups, 1)
    y = np.einsum("ngchwuv,gocuv->ngohw", windows, _grouped(w, groups, 0), optimize=True)
    return y.reshape(x.shape[0], w.shape[0], *y.shape[3:])


def _conv_input_grad(dy, w, *, input_shape, stride, pads, dilation, groups):
    windows = np.einsum(
        "ngohw,gocuv->ngchwuv", _grouped(dy, groups, 1), _grouped(w, groups, 0), optimize=True
    )
    n, c = input_shape[:2]
    return unpatch(windows.reshape(n, c, *windows.shape[3:]), input_shape, stride, pads, dilation)


def _conv_weight_grad(x, dy, *, weight_shape, stride, pads, dilation, groups):
    windows = _grouped(patches(x, weight_shape[2:], stride, pads, dilation), groups, 1)
    dw = np.einsum("ngchwuv,ngohw->gocuv", windows, _grouped(dy, groups, 1), optimize=True)
    return dw.reshape(weight_shape)


# n, c, h, w, out channels, kh, kw, then attributes
_CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 5, 6, 4, 3, 3), {"stride": (1, 1), "pads": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}),
    ((1, 1, 7, 7, 2, 5, 5), {"stride": (1, 1), "pads": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1}),
    ((2, 4, 6, 5, 6, 1, 1), {"stride": (2, 2), "pads": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1}),
    ((1, 3, 9, 8, 2, 3, 2), {"stride": (2, 3), "pads": (1, 0, 2, 1), "dilation": (1, 1), "groups": 1}),
    ((2, 2, 7, 7, 3, 3, 3), {"stride": (1, 1), "pads": (2, 2, 2, 2), "dilation": (2, 2), "groups": 1}),
    ((2, 4, 5, 5, 6, 3, 3), {"stride": (1, 1), "pads": (1, 1, 1, 1), "dilation": (1, 1), "groups": 2}),
    ((1, 3, 5, 5, 3, 3, 3), {"stride": (2, 2), "pads": (1, 1, 1, 1), "dilation": (1, 1), "groups": 3}),
    ((0, 3, 5, 6, 4, 3, 3), {"stride": (1, 1), "pads": (1, 1, 1, 1), "dilation": (1, 1), "groups": 1}),
]


def _shapes(
    sizes: tuple[int, ...], attrs: dict[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    n, c, h, w, o, kh, kw = sizes
    x, weight = (n, c, h, w), (o, c // attrs["groups"], kh, kw)
    return x, weight, _conv_shape("Conv2D", (), x, weight, **attrs)  # type: ignore[return-value]


def _samples(kind: str) -> Any:
    def samples() -> Iterator[Sample]:
        for number, (sizes, attrs) in enumerate(_CASES):
            for dtype in dtypes.FLOATS if number == 0 else (dtypes.float32, dtypes.float64):
                x, w, y = (values(s, dtype, -1.0, 1.0, k) for s, k in zip(_shapes(sizes, attrs), "xwy"))
                if kind == "forward":
                    yield Sample((x, w), attrs, tolerance=8.0)
                elif kind == "input":
                    yield Sample((y, w), {"input_shape": x.shape, **attrs}, tolerance=8.0)
                else:
                    yield Sample((x, y), {"weight_shape": w.shape, **attrs}, tolerance=8.0)
        if kind == "forward":
            yield Sample(
                (strided(values((2, 3, 5, 6))), strided(values((4, 3, 3, 3)))), _CASES[0][1], tolerance=8.0
            )
    return samples


_PLAIN = _CASES[1][1]
_F32 = dtypes.float32


@operator("Conv2D")
class Conv2D:
    """The convolution of images ``[n, c, h, w]`` with weights ``[o, c / groups, kh, kw]``; ``pads`` are (top,
    bottom, left, right)."""

    def infer(
        x: TensorType, w: TensorType, *, stride: Pair, pads: Pads, dilation: Pair, groups: int
    ) -> TensorType:
        require_rank("Conv2D", (x, w), 4, 4)
        dtype = require_dtypes("Conv2D", (x, w), dtypes.FLOATS)
        return TensorType(
            dtype, _conv_shape("Conv2D", (x, w), x.shape, w.shape, stride, pads, dilation, groups)
        )

    def vjp(g, x, w, y, *, needed=(True, True), **how):
        return (
            Conv2DInputGrad(g, w, input_shape=x.shape, **how) if needed[0] else None,
            Conv2DWeightGrad(x, g, weight_shape=w.shape, **how) if needed[1] else None,
        )

    def batch(axes, x, w, *, groups, **how):
        if axes[1] is None:
            x = at_front(x, axes[0])
            return unfold(Conv2D(fold(x), w, groups=groups, **how), x.shape[0]), 0
        x, w = all_at_front(axes, (x, w))
        y = Conv2D(_channels_of(x), fold(w), groups=groups * x.shape[0], **how)
        return reshape(y, y.shape[0], x.shape[0], y.shape[1] // x.shape[0], *y.shape[2:]), 1

    reference = widened(_conv)
    samples = _samples("forward")
    errors = [
        ErrorCase((tensor(_F32, 1, 3, 5, 5), tensor(_F32, 4, 2, 3, 3)), ValueError, "in_channels", _PLAIN),
        ErrorCase((tensor(_F32, 1, 2, 5, 5), tensor(_F32, 4, 2, 7, 7)), ValueError, "must fit", _PLAIN),
        ErrorCase((tensor(_F32, 2, 5, 5), tensor(_F32, 4, 2, 3, 3)), ValueError, "4-D", _PLAIN),
        ErrorCase(
            (tensor(dtypes.int32, 1, 2, 5, 5), tensor(dtypes.int32, 4, 2, 3, 3)), TypeError, "float16", _PLAIN
        ),
    ]


def _channels_of(x: Any) -> Any:
    """[batch, n, c, ...] -> [n, batch * c, ...]."""
    x = Transpose(x, perm=(1, 0, *range(2, x.ndim)))
    return reshape(x, x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:])


@operator("Conv2DInputGrad")
class Conv2DInputGrad:
    """The cotangent of a convolution's image, from that of its output and the weights."""

    def infer(
        dy: TensorType,
        w: TensorType,
        *,
        input_shape: tuple,
        stride: Pair,
        pads: Pads,
        dilation: Pair,
        groups: int,
    ) -> TensorType:
        require_rank("Conv2DInputGrad", (dy, w), 4, 4)
        dtype = require_dtypes("Conv2DInputGrad", (dy, w), dtypes.FLOATS)
        expected = _conv_shape(
            "Conv2DInputGrad", (dy, w), input_shape, w.shape, stride, pads, dilation, groups
        )
        if dy.shape != expected:
            raise wrong_shape(
                "Conv2DInputGrad",
                (dy, w),
                f"dy must have the shape of the convolution's output, {expected}",
                "Check input_shape and the attributes",
            )
        return TensorType(dtype, tuple(input_shape))

    def vjp(g, dy, w, dx, *, input_shape, **how):
        return Conv2D(g, w, **how), Conv2DWeightGrad(g, dy, weight_shape=w.shape, **how)

    def batch(axes, dy, w, *, input_shape, groups, **how):
        n, c, *rest = input_shape
        if axes[1] is None:
            dy = at_front(dy, axes[0])
            size = dy.shape[0]
            return unfold(
                Conv2DInputGrad(fold(dy), w, input_shape=(size * n, c, *rest), groups=groups, **how), size
            ), 0
        dy, w = all_at_front(axes, (dy, w))
        size = w.shape[0]
        dx = Conv2DInputGrad(
            _channels_of(dy), fold(w), input_shape=(n, size * c, *rest), groups=groups * size, **how
        )
        return reshape(dx, n, size, c, *rest), 1

    reference = widened(_conv_input_grad)
    samples = _samples("input")
    errors = [
        ErrorCase(
            (tensor(_F32, 1, 4, 9, 9), tensor(_F32, 4, 2, 3, 3)),
            ValueError,
            "shape of the convolution's output",
            {"input_shape": (1, 2, 5, 5), **_PLAIN},
        )
    ]


@operator("Conv2DWeightGrad")
class Conv2DWeightGrad:
    """The cotangent of a convolution's weights, from its image and the cotangent of its output."""

    def infer(
        x: TensorType,
        dy: TensorType,
        *,
        weight_shape: tuple,
        stride: Pair,
        pads: Pads,
        dilation: Pair,
        groups: int,
    ) -> TensorType:
        require_rank("Conv2DWeightGrad", (x, dy), 4, 4)
        dtype = require_dtypes("Conv2DWeightGrad", (x, dy), dtypes.FLOATS)
        expected = _conv_shape(
            "Conv2DWeightGrad", (x, dy), x.shape, weight_shape, stride, pads, dilation, groups
        )
        if dy.shape != expected:
            raise wrong_shape(
                "Conv2DWeightGrad",
                (x, dy),
                f"dy must have the shape of the convolution's output, {expected}",
                "Check weight_shape and the attributes",
            )
        return TensorType(dtype, tuple(weight_shape))

    def vjp(g, x, dy, dw, *, weight_shape, **how):
        return Conv2DInputGrad(dy, g, input_shape=x.shape, **how), Conv2D(x, g, **how)

    def batch(axes, x, dy, *, weight_shape, groups, **how):
        x, dy = all_at_front(axes, (x, dy))
        size = x.shape[0]
        dw = Conv2DWeightGrad(
            _channels_of(x),
            _channels_of(dy),
            weight_shape=(size * weight_shape[0], *weight_shape[1:]),
            groups=groups * size,
            **how,
        )
        return unfold(dw, size), 0

    reference = widened(_conv_weight_grad)
    samples = _samples("weight")
    errors = [
        ErrorCase(
            (tensor(_F32, 1, 2, 5, 5), tensor(_F32, 1, 4, 9, 9)),
            ValueError,
            "shape of the convolution's output",
            {"weight_shape": (4, 2, 3, 3), **_PLAIN},
        )
    ]
