"""Convolution and pooling in channels-last layout with packed weights: what the layout pass makes of the
NCHW operators.

Images are ``[n, h, w, c]``; ``pads`` are (top, bottom, left, right). Packed weights are a flat buffer whose
order is the device's own
affair; only `PackConvWeights` writes it, and only convolutions with the same ``groups``, ``stride``,
``dilation`` read it. In the
references here it holds the weights in their own order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.operator import Operator, register
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.convolution import Conv2D, Conv2DInputGrad, Conv2DWeightGrad, Pads, Pair, window_extent
from mycelia.ops.pooling import AvgPool, AvgPoolGrad, MaxPool, MaxPoolGrad, MaxPoolGradGrad
from mycelia.ops.reference import widened

# Output channels are filled up to a multiple of the widest panel that any processor uses.
PANEL = 32


def packed_size(weight_shape: tuple[int, ...], groups: int, form: str) -> int:
    """Elements to reserve for packed weights of shape ``[oc, ic / groups, kh, kw]``.

    Args:
        form: ``"forward"``, or ``"input_grad"`` where input channels are the columns.
    """
    oc, ic, kh, kw = weight_shape
    columns, depth = (oc // groups, ic) if form == "forward" else (ic, oc // groups)
    return groups * -(-columns // PANEL) * PANEL * depth * kh * kw


def packed_dtype(dtype: dtypes.DType) -> dtypes.DType:
    """Weights are packed in the type in which products are computed."""
    return dtype if dtype is dtypes.float64 else dtypes.float32


def _nchw(x: np.ndarray) -> np.ndarray:
    return x.transpose(0, 3, 1, 2)


def _nhwc(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def _windows(
    shape: tuple[Dim, ...], kernel: Pair, stride: Pair, pads: Pads, dilation: Pair = (1, 1)
) -> tuple[Dim, Dim]:
    """Extents of the output image of a window that moves over ``[n, h, w, c]``."""
    return (
        window_extent(shape[1], kernel[0], stride[0], pads[0], pads[1], dilation[0]),
        window_extent(shape[2], kernel[1], stride[1], pads[2], pads[3], dilation[1]),
    )


def _pack_infer(w: TensorType, *, groups: int, form: str, stride: Pair, dilation: Pair) -> TensorType:
    return TensorType(packed_dtype(w.dtype), (packed_size(w.shape, groups, form),))  # type: ignore[arg-type]


def _pack_reference(w: np.ndarray, *, groups: int, form: str, stride: Pair, dilation: Pair) -> np.ndarray:
    packed = np.zeros(packed_size(w.shape, groups, form), np.float64 if w.dtype == np.float64 else np.float32)
    packed[: w.size] = w.ravel()
    return packed


def _weights(packed: np.ndarray, oc: int, ic: int, kernel: Pair, like: np.ndarray) -> np.ndarray:
    return packed[: oc * ic * kernel[0] * kernel[1]].reshape(oc, ic, *kernel).astype(like.dtype)


def _conv_infer(
    x: TensorType,
    packed: TensorType,
    *extra: TensorType,
    kernel_size: Pair,
    stride: Pair,
    pads: Pads,
    dilation: Pair,
    groups: int,
    out_channels: int,
    epilogue: str,
    has_bias: bool,
    has_residual: bool,
) -> TensorType:
    return x.with_shape(x.shape[0], *_windows(x.shape, kernel_size, stride, pads, dilation), out_channels)


def _conv_reference(
    x: np.ndarray,
    packed: np.ndarray,
    *extra: np.ndarray,
    kernel_size: Pair,
    stride: Pair,
    pads: Pads,
    dilation: Pair,
    groups: int,
    out_channels: int,
    epilogue: str,
    has_bias: bool,
    has_residual: bool,
) -> np.ndarray:
    w = _weights(packed, out_channels, x.shape[3] // groups, kernel_size, x)
    y = _nhwc(Conv2D.reference(_nchw(x), w, stride=stride, pads=pads, dilation=dilation, groups=groups))
    for term in extra:  # the bias, then the residual
        y = y + term
    return np.maximum(y, 0) if epilogue == "relu" else y


def _input_grad_infer(
    dy: TensorType,
    packed: TensorType,
    *,
    input_shape: tuple[int, ...],
    kernel_size: Pair,
    stride: Pair,
    pads: Pads,
    dilation: Pair,
    groups: int,
) -> TensorType:
    return dy.with_shape(*input_shape)


def _input_grad_reference(
    dy: np.ndarray, packed: np.ndarray, *, input_shape: tuple[int, ...], kernel_size: Pair, **how: Any
) -> np.ndarray:
    n, h, width, c = input_shape
    w = _weights(packed, dy.shape[3], c // how["groups"], kernel_size, dy)
    return _nhwc(Conv2DInputGrad.reference(_nchw(dy), w, input_shape=(n, c, h, width), **how))


def _weight_grad_infer(
    x: TensorType, dy: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads, dilation: Pair, groups: int
) -> TensorType:
    return x.with_shape(dy.shape[3], x.shape[3] // groups, *kernel_size)


def _weight_grad_reference(x: np.ndarray, dy: np.ndarray, *, kernel_size: Pair, **how: Any) -> np.ndarray:
    shape = (dy.shape[3], x.shape[3] // how["groups"], *kernel_size)
    return Conv2DWeightGrad.reference(_nchw(x), _nchw(dy), weight_shape=shape, **how)


def _max_infer(x: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads) -> TensorType:
    return x.with_shape(x.shape[0], *_windows(x.shape, kernel_size, stride, pads), x.shape[3])


def _max_reference(x: np.ndarray, **window: Any) -> np.ndarray:
    return _nhwc(MaxPool.reference(_nchw(x), **window))


def _max_grad_infer(x: TensorType, y: TensorType, dy: TensorType, **window: Any) -> TensorType:
    return x


def _max_grad_reference(x: np.ndarray, y: np.ndarray, dy: np.ndarray, **window: Any) -> np.ndarray:
    return _nhwc(MaxPoolGrad.reference(_nchw(x), _nchw(y), _nchw(dy), **window))


def _max_grad_grad_infer(x: TensorType, y: TensorType, g: TensorType, **window: Any) -> TensorType:
    return y


def _max_grad_grad_reference(x: np.ndarray, y: np.ndarray, g: np.ndarray, **window: Any) -> np.ndarray:
    return _nhwc(MaxPoolGradGrad.reference(_nchw(x), _nchw(y), _nchw(g), **window))


def _avg_infer(
    x: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads, count_include_pad: bool
) -> TensorType:
    return _max_infer(x, kernel_size=kernel_size, stride=stride, pads=pads)


def _avg_reference(x: np.ndarray, **window: Any) -> np.ndarray:
    return _nhwc(AvgPool.reference(_nchw(x), **window))


def _avg_grad_infer(dy: TensorType, *, input_shape: tuple[int, ...], **window: Any) -> TensorType:
    return dy.with_shape(*input_shape)


def _avg_grad_reference(dy: np.ndarray, *, input_shape: tuple[int, ...], **window: Any) -> np.ndarray:
    n, h, w, c = input_shape
    return _nhwc(AvgPoolGrad.reference(_nchw(dy), input_shape=(n, c, h, w), **window))


register(Operator("PackConvWeights", infer=_pack_infer, reference=_pack_reference))
register(Operator("ConvNHWC", infer=_conv_infer, reference=widened(_conv_reference)))
register(Operator("ConvInputGradNHWC", infer=_input_grad_infer, reference=widened(_input_grad_reference)))
register(Operator("ConvWeightGradNHWC", infer=_weight_grad_infer, reference=widened(_weight_grad_reference)))
register(Operator("MaxPoolNHWC", infer=_max_infer, reference=widened(_max_reference)))
register(Operator("MaxPoolGradNHWC", infer=_max_grad_infer, reference=widened(_max_grad_reference)))
register(
    Operator("MaxPoolGradGradNHWC", infer=_max_grad_grad_infer, reference=widened(_max_grad_grad_reference))
)
register(Operator("AvgPoolNHWC", infer=_avg_infer, reference=widened(_avg_reference)))
register(Operator("AvgPoolGradNHWC", infer=_avg_grad_infer, reference=widened(_avg_grad_reference)))
