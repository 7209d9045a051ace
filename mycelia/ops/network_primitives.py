"""Primitive classes of networks on images and volumes, of detectors and of attention: more of the table in
`mycelia.ops.primitives`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.ir.dtypes import float32, int32
from mycelia.ops.creation import Iota
from mycelia.ops.function import (
    activations,
    arranging,
    attention,
    convolving,
    detection,
    dropouts,
    elementwise,
    embeddings,
    images,
    linear,
    losses,
    margin_losses,
    padding,
    pools,
    products,
    reducing,
    resizing,
    scalars,
    shaping,
    sliding,
)
from mycelia.ops.function.sliding import several, window_pads
from mycelia.ops.primitive import primitive, primitive_of_inputs
from mycelia.ops.promotion import cast
from mycelia.tensor.tensor import Tensor

# Without settings: a name and the function.
_PLAIN: dict[str, Callable[..., Any]] = {
    "AccumulateNV2": elementwise.addn,
    "Addcdiv": elementwise.addcdiv,
    "Addcmul": elementwise.addcmul,
    "CheckValid": detection.check_valid,
    "Dense": linear.dense,
    "Diag": arranging.diag,
    "DivNoNan": scalars.div_no_nan,
    "Expand": arranging.expand,
    "Fmax": scalars.fmax,
    "Fmin": scalars.fmin,
    "Gcd": scalars.gcd,
    "Ger": linear.ger,
    "Heaviside": scalars.heaviside,
    "Hypot": elementwise.hypot,
    "Invert": elementwise.bitwise_not,
    "Lcm": scalars.lcm,
    "MulNoNan": scalars.mul_no_nan,
    "RotaryPositionEmbedding": embeddings.rotary_position_embedding,
    "Sinc": scalars.sinc,
    "SquaredDifference": scalars.squared_difference,
    "Trace": arranging.trace,
    "TruncateDiv": scalars.truncate_div,
    "TruncateMod": scalars.truncate_mod,
    "Xdivy": scalars.xdivy,
    "FastGeLU": activations.fast_gelu,
    "FastGelu": activations.fast_gelu,
    "Gelu": activations.gelu,
}
for _name, _function in _PLAIN.items():
    primitive(_function, _name)


# name, function, the parameters that are tensors
for _name, _function, _inputs in (
    ("ApproximateEqual", scalars.approximate_equal, "x y"),
    ("Cdist", products.cdist, "x1 x2"),
    ("Cross", products.cross, "input other"),
    ("IsClose", elementwise.isclose, "input other"),
    ("Logit", activations.logit, "input"),
    ("NanToNum", elementwise.nan_to_num, "input"),
    ("Pdist", products.pdist, "input"),
    ("AdaptiveAvgPool2D", pools.adaptive_avg_pool2d, "input"),
    ("AdaptiveAvgPool3D", pools.adaptive_avg_pool3d, "input"),
    ("AdaptiveMaxPool2D", pools.adaptive_max_pool2d, "input"),
    ("AdaptiveMaxPool3D", pools.adaptive_max_pool3d, "input"),
    ("BoundingBoxEncode", detection.bounding_box_encode, "anchor_box groundtruth_box"),
    ("BoundingBoxDecode", detection.bounding_box_decode, "anchor_box deltas"),
    ("CeLU", activations.celu, "x"),
    ("ChannelShuffle", resizing.channel_shuffle, "x"),
    ("DepthToSpace", resizing.depth_to_space, "x"),
    ("GLU", activations.glu, "x"),
    ("HShrink", activations.hardshrink, "input"),
    ("IOU", detection.iou, "anchor_boxes gt_boxes"),
    ("MirrorPad", padding.mirror_pad, "input_x paddings"),
    ("MultiMarginLoss", margin_losses.multi_margin_loss, "input target weight"),
    ("MultilabelMarginLoss", margin_losses.multilabel_margin_loss, "input target"),
    ("Padding", padding.padding, "x"),
    ("SoftMarginLoss", margin_losses.soft_margin_loss, "input target"),
    ("SoftShrink", activations.softshrink, "input"),
    ("SpaceToDepth", resizing.space_to_depth, "x"),
    ("TripletMarginLoss", margin_losses.triplet_margin_loss, "anchor positive negative"),
):
    primitive_of_inputs(_name, _function, _inputs)


# -- convolution and pooling ---------------------------------------------------------------------------------
@primitive
def Conv3D(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCDHW",
) -> Tensor:
    """Convolution of volumes ``[n, c, d, h, w]``."""
    return convolving.conv3d(x, weight, bias, stride, pad_mode, pad, dilation, group)


@primitive
def Conv3DTranspose(
    dout: Any,
    weight: Any,
    bias: Any = None,
    *,
    in_channel: int,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
    data_format: str = "NCDHW",
) -> Tensor:
    """The adjoint of `Conv3D`: volumes grow by the stride."""
    y = convolving.conv3d_transpose(dout, weight, pad_mode, pad, stride, dilation, group, output_padding)
    return y if bias is None else linear.bias_add(y, bias)


@primitive
def MaxPool3D(x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", pad_list: Any = 0,
              ceil_mode: bool | None = None, data_format: str = "NCDHW") -> Tensor:
    """The largest element of each window of volumes."""
    return pools.max_over_volumes(
        x, kernel_size, strides, pad_list, 1, False, bool(ceil_mode), pad_mode
    )


@primitive
def AvgPool3D(x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", pad: Any = 0,
              ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int = 0,
              data_format: str = "NCDHW") -> Tensor:
    """The mean of each window of volumes."""
    return pools.avg_pool3d(
        x, kernel_size, strides, pad, ceil_mode, count_include_pad, divisor_override, pad_mode
    )


@primitive
def MaxPoolWithArgmax(x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid",
                      data_format: str = "NCHW") -> tuple[Tensor, Tensor]:
    """The largest element of each window of images, and its place (int32) among all elements of its image."""
    kernel, steps = several("MaxPoolWithArgmax", kernel_size, "kernel_size", 2), several(
        "MaxPoolWithArgmax", strides, "strides", 2
    )
    pads = window_pads("MaxPoolWithArgmax", pad_mode, 0, x.shape[2:], kernel, steps)
    y, places = pools.max_with_indices("MaxPoolWithArgmax", x, kernel, steps, pads, (1, 1))
    channel = Iota(size=x.shape[1], dtype=int32) * (x.shape[2] * x.shape[3])
    return y, cast(places, int32) + channel.reshape(1, -1, 1, 1)


@primitive
def MaxPoolWithArgmaxV2(
    x: Any, *, kernel_size: Any, strides: Any = None, pads: Any = 0, dilation: Any = (1, 1),
    ceil_mode: bool = False, argmax_type: Any = None,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of images, and its place (int64 unless told otherwise)."""
    y, places = pools.max_pool2d(x, kernel_size, strides, pads, dilation, True, ceil_mode)
    return y, places if argmax_type is None else cast(places, argmax_type)


@primitive
def MaxUnpool2D(x: Any, argmax: Any, *, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (),
                data_format: str = "NCHW") -> Tensor:
    """Undoes `MaxPoolWithArgmax`."""
    return pools.max_unpool2d(x, argmax, ksize, strides or None, pads, output_shape)


@primitive
def MaxUnpool3D(x: Any, argmax: Any, *, ksize: Any, strides: Any = 0, pads: Any = 0, output_shape: Any = (),
                data_format: str = "NCDHW") -> Tensor:
    """Undoes a pooling of volumes."""
    return pools.max_unpool3d(x, argmax, ksize, strides or None, pads, output_shape)


@primitive
def Im2Col(x: Any, *, ksizes: Any, strides: Any = 1, dilations: Any = 1, pads: Any = 0) -> Tensor:
    """The windows of images ``[n, c, h, w]`` as ``[n, c, kernel_h * kernel_w, windows]``."""
    columns = sliding.unfold(x, ksizes, dilations, pads, strides)
    return columns.reshape(x.shape[0], x.shape[1], -1, columns.shape[2])


@primitive
def Col2Im(x: Any, output_size: Any, *, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
           stride: Any = 1) -> Tensor:
    """Undoes `Im2Col`: ``[n, c, kernel_h * kernel_w, windows]`` added up to images."""
    size = tuple(output_size.asnumpy().tolist()) if isinstance(output_size, Tensor) else output_size
    columns = x.reshape(x.shape[0], x.shape[1] * x.shape[2], x.shape[3])
    return sliding.fold(columns, size, kernel_size, dilation, padding, stride)


@primitive
def PadV3(x: Any, paddings: Any, constant_value: Any = None, *, mode: str = "constant",
          paddings_contiguous: bool = True) -> Tensor:
    """`pad`; without ``paddings_contiguous`` the first half of paddings is before, the second after."""
    counts = paddings.asnumpy().reshape(-1).tolist() if isinstance(paddings, Tensor) else list(paddings)
    if not paddings_contiguous:
        half = len(counts) // 2
        counts = [n for pair in zip(counts[:half], counts[half:]) for n in pair]
    return padding.pad(x, tuple(counts), {"edge": "replicate"}.get(mode, mode), constant_value)


# -- resizing and sampling -----------------------------------------------------------------------------------
@primitive
def ResizeBilinear(
    x: Any, *, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Images of another size by linear interpolation."""
    return resizing.resized_images(x, size, "bilinear", align_corners, half_pixel_centers)


def _resize(name: str, mode: str) -> None:
    def function(
        image: Any, size: Any, *, align_corners: bool = False, half_pixel_centers: bool = False
    ) -> Tensor:
        size = tuple(size.asnumpy().tolist()) if isinstance(size, Tensor) else size
        return resizing.resized_images(image, size, mode, align_corners, half_pixel_centers)

    function.__name__ = name
    function.__doc__ = f"Images of another size, mode {mode!r}."
    primitive(function)


_resize("ResizeBilinearV2", "bilinear")
_resize("ResizeBicubic", "bicubic")
_resize("ResizeNearestNeighborV2", "nearest")


@primitive
def GridSampler2D(input_x: Any, grid: Any, *, interpolation_mode: str = "bilinear",
                  padding_mode: str = "zeros", align_corners: bool = False) -> Tensor:
    """`grid_sample` of images."""
    return resizing.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


@primitive
def GridSampler3D(input_x: Any, grid: Any, *, interpolation_mode: str = "bilinear",
                  padding_mode: str = "zeros", align_corners: bool = False) -> Tensor:
    """`grid_sample` of volumes."""
    return resizing.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


@primitive
def AffineGrid(theta: Any, output_size: Any, *, align_corners: bool = False) -> Tensor:
    """`affine_grid`."""
    return resizing.affine_grid(theta, tuple(output_size), align_corners)


# -- the rest ------------------------------------------------------------------------------------------------
@primitive
def LRN(x: Any, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS") -> Tensor:
    """`lrn`."""
    return images.lrn(x, depth_radius, bias, alpha, beta, norm_region)


@primitive
def LpNorm(input: Any, *, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Tensor:
    """The p-norm along axes, at least epsilon to the power of 1 / p."""
    total = reducing.sum(elementwise.pow(elementwise.abs(input), float(p)), axis, keep_dims)
    return elementwise.pow(elementwise.maximum(total, epsilon), 1.0 / p)


@primitive
def InTopK(x1: Any, x2: Any, *, k: int) -> Tensor:
    """`intopk`."""
    return reducing.intopk(x1, x2, k)


@primitive
def Einsum(x: Any, *, equation: str) -> Tensor:
    """`einsum` of a list of tensors."""
    return linear.einsum(equation, *x)


@primitive
def NLLLoss(logits: Any, labels: Any, weight: Any, *, reduction: str = "mean",
            ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """Minus the log-probability of the label's class, and the sum of the weights that count."""
    loss = losses.nll_loss(logits, labels, weight, ignore_index, reduction)
    counted = elementwise.select(elementwise.not_equal(labels, ignore_index), weight[labels], 0.0)
    return loss, reducing.sum(counted)


def _channel_dropout(name: str, function: Any) -> None:
    def drop(x: Any, *, keep_prob: float = 0.5) -> tuple[Tensor, Tensor]:
        kept = function(elementwise.cast(elementwise.equal(x, x), x.dtype), 1.0 - keep_prob)
        return x * kept, elementwise.not_equal(kept, 0)

    drop.__name__ = name
    drop.__doc__ = "The input with channels dropped, and the mask of those kept."
    primitive(drop)


_channel_dropout("Dropout2D", dropouts.dropout2d)
_channel_dropout("Dropout3D", dropouts.dropout3d)


@primitive
def RandomChoiceWithMask(
    input_x: Any, *, count: int = 256, seed: int = 0, seed2: int = 0
) -> tuple[Tensor, Tensor]:
    """`choice_with_mask`."""
    return detection.choice_with_mask(input_x, count, (seed << 32 | seed2) or None)


@primitive
def NMSWithMask(bboxes: Any, *, iou_threshold: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
    """`nms_with_mask`."""
    return detection.nms_with_mask(bboxes, iou_threshold)


@primitive
def ROIAlign(features: Any, rois: Any, *, pooled_height: int, pooled_width: int, spatial_scale: float,
             sample_num: int = 2, roi_end_mode: int = 1) -> Tensor:
    """`roi_align`."""
    return detection.roi_align(
        features, rois, pooled_height, pooled_width, spatial_scale, sample_num, roi_end_mode
    )


@primitive
def CropAndResize(
    x: Any, boxes: Any, box_index: Any, crop_size: Any, *, method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """`crop_and_resize`."""
    return detection.crop_and_resize(x, boxes, box_index, tuple(crop_size), method, extrapolation_value)


@primitive
def Meshgrid(inputs: Any, *, indexing: str = "xy") -> tuple[Tensor, ...]:
    """`meshgrid` of a tuple of vectors."""
    return shaping.meshgrid(inputs, indexing=indexing)


@primitive
def FloatStatus(x: Any) -> Tensor:
    """1 (float32, ``[1]``) where any element is NaN or infinite, else 0."""
    finite = reducing.all(elementwise.isfinite(x))
    return cast(elementwise.logical_not(finite), float32).reshape(1)


@primitive
def FlashAttentionScore(
    query: Any,
    key: Any,
    value: Any,
    real_shift: Any = None,
    drop_mask: Any = None,
    padding_mask: Any = None,
    attn_mask: Any = None,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    *,
    head_num: int = 1,
    keep_prob: float = 1.0,
    scale_value: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    inner_precise: int = 1,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> tuple[Any, Any, Any, Tensor]:
    """`flash_attention_score`; the statistics of the softmax, which come first in MindSpore, are None."""
    y = attention.flash_attention_score(
        query, key, value, head_num, real_shift, drop_mask, padding_mask, attn_mask, prefix, actual_seq_qlen,
        actual_seq_kvlen, keep_prob, scale_value, pre_tokens, next_tokens, inner_precise, input_layout,
        sparse_mode,
    )
    return None, None, None, y

