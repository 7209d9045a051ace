"""The table of MindSpore's primitive classes."""
from __future__ import annotations

import functools
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ops import cumulative, indexing, normalisation, reduction
from mycelia.ops.constants import constant
from mycelia.ops.function import (
    activations,
    creating,
    drawing,
    effects,
    elementwise,
    images,
    linear,
    losses,
    reducing,
    resizing,
    shaping,
)
from mycelia.ops.inference import normalise_axis
from mycelia.ops.movement import Pad as PadOperator
from mycelia.ops.primitive import Function, primitive
from mycelia.ops.promotion import cast
from mycelia.tensor.tensor import Tensor

# Without settings: a name and the function.
_PLAIN: dict[str, Function] = {
    "Partial": lambda function, *args, **named: functools.partial(function, *args, **named),
    "Add": elementwise.add,
    "Sub": elementwise.sub,
    "Mul": elementwise.mul,
    "Div": elementwise.div,
    "RealDiv": elementwise.div,
    "TensorAdd": elementwise.add,
    "FloorDiv": elementwise.floor_div,
    "FloorMod": elementwise.floor_mod,
    "Mod": elementwise.fmod,
    "Neg": elementwise.neg,
    "Abs": elementwise.abs,
    "Pow": elementwise.pow,
    "Sqrt": elementwise.sqrt,
    "Rsqrt": elementwise.rsqrt,
    "Square": elementwise.square,
    "Reciprocal": elementwise.reciprocal,
    "Inv": elementwise.reciprocal,
    "Exp": elementwise.exp,
    "Expm1": elementwise.expm1,
    "Log": elementwise.log,
    "Log1p": elementwise.log1p,
    "Sin": elementwise.sin,
    "Cos": elementwise.cos,
    "Tan": elementwise.tan,
    "Asin": elementwise.asin,
    "ACos": elementwise.acos,
    "Atan": elementwise.atan,
    "Atan2": elementwise.atan2,
    "Sinh": elementwise.sinh,
    "Cosh": elementwise.cosh,
    "Tanh": elementwise.tanh,
    "Asinh": elementwise.asinh,
    "Acosh": elementwise.acosh,
    "Atanh": elementwise.atanh,
    "Erf": elementwise.erf,
    "Erfc": elementwise.erfc,
    "Floor": elementwise.floor,
    "Ceil": elementwise.ceil,
    "Rint": elementwise.rint,
    "Round": elementwise.round,
    "Trunc": elementwise.trunc,
    "Sign": elementwise.sign,
    "Maximum": elementwise.maximum,
    "Minimum": elementwise.minimum,
    "Equal": elementwise.equal,
    "NotEqual": elementwise.not_equal,
    "Less": elementwise.less,
    "LessEqual": elementwise.less_equal,
    "Greater": elementwise.greater,
    "GreaterEqual": elementwise.greater_equal,
    "LogicalAnd": elementwise.logical_and,
    "LogicalOr": elementwise.logical_or,
    "LogicalNot": elementwise.logical_not,
    "LogicalXor": elementwise.logical_xor,
    "BitwiseAnd": elementwise.bitwise_and,
    "BitwiseOr": elementwise.bitwise_or,
    "BitwiseXor": elementwise.bitwise_xor,
    "IsNan": elementwise.isnan,
    "IsInf": elementwise.isinf,
    "IsFinite": elementwise.isfinite,
    "Select": elementwise.select,
    "Cast": elementwise.cast,
    "MaskedFill": elementwise.masked_fill,
    "Xlogy": elementwise.xlogy,
    "Lerp": elementwise.lerp,
    "AddN": elementwise.addn,
    "Sigmoid": elementwise.sigmoid,
    "ReLU": activations.relu,
    "ReLU6": activations.relu6,
    "SiLU": activations.silu,
    "Mish": activations.mish,
    "SeLU": activations.selu,
    "HSwish": activations.hardswish,
    "HSigmoid": activations.hardsigmoid,
    "Softplus": activations.softplus,
    "Softsign": activations.softsign,
    "PReLU": activations.prelu,
    "Reshape": shaping.reshape,
    "Transpose": shaping.transpose,
    "ExpandDims": shaping.expand_dims,
    "Flatten": shaping.flatten,
    "Tile": shaping.tile,
    "Shape": shaping.shape,
    "Rank": shaping.rank,
    "DType": shaping.dtype,
    "Size": shaping.size,
    "Slice": shaping.slice,
    "GatherNd": shaping.gather_nd,
    "GatherD": shaping.gather_elements,
    "NonZero": shaping.nonzero,
    "Fill": creating.fill,
    "Ones": creating.ones,
    "Zeros": creating.zeros,
    "OnesLike": creating.ones_like,
    "ZerosLike": creating.zeros_like,
    "Eye": creating.eye,
    "LinSpace": creating.linspace,
    "ScalarToTensor": creating.scalar_to_tensor,
    "Assign": effects.assign,
    "AssignAdd": effects.assign_add,
    "AssignSub": effects.assign_sub,
    "Print": effects.print_,
    "Depend": effects.depend,
    "Identity": effects.identity,
    "StopGradient": effects.stop_gradient,
    "L2Loss": lambda x: reducing.sum(x * x) * 0.5,
    "TupleToArray": shaping.tuple_to_array,
}
for _name, _function in _PLAIN.items():
    primitive(_function, _name)


@primitive
def GeLU(x: Any) -> Tensor:
    """The tanh form of `gelu`."""
    return activations.gelu(x, approximate="tanh")


@primitive
def Elu(x: Any, *, alpha: float = 1.0) -> Tensor:
    return activations.elu(x, alpha)


@primitive
def Softmax(x: Any, *, axis: Any = -1) -> Tensor:
    return activations.softmax(x, axis[0] if isinstance(axis, tuple) else axis)


@primitive
def LogSoftmax(logits: Any, *, axis: int = -1) -> Tensor:
    return activations.log_softmax(logits, axis)


def _axes(axis: Any) -> Any:
    return None if isinstance(axis, (tuple, list)) and not axis else axis


@primitive
def ReduceSum(x: Any, axis: Any = (), *, keep_dims: bool = False, skip_mode: bool = False) -> Tensor:
    """The sum over axes in the input's own dtype; no axes mean all, or none with ``skip_mode``."""
    if skip_mode and not _axes(axis):
        return x
    return reducing.sum(x, _axes(axis), keep_dims, dtype=None if x.dtype.kind == "b" else x.dtype)


@primitive
def ReduceMean(x: Any, axis: Any = (), *, keep_dims: bool = False) -> Tensor:
    return reducing.mean(x, _axes(axis), keep_dims)


@primitive
def ReduceProd(x: Any, axis: Any = (), *, keep_dims: bool = False) -> Tensor:
    return reducing.prod(x, _axes(axis), keep_dims, x.dtype)


@primitive
def ReduceMax(x: Any, axis: Any = (), *, keep_dims: bool = False) -> Tensor:
    return reducing.amax(x, _axes(axis), keep_dims)


@primitive
def ReduceMin(x: Any, axis: Any = (), *, keep_dims: bool = False) -> Tensor:
    return reducing.amin(x, _axes(axis), keep_dims)


@primitive
def ReduceAll(input: Any, axis: Any = None, *, keep_dims: bool = False) -> Tensor:
    return reducing.all(input, _axes(axis), keep_dims)


@primitive
def ReduceAny(input: Any, axis: Any = None, *, keep_dims: bool = False) -> Tensor:
    return reducing.any(input, _axes(axis), keep_dims)


@primitive
def Argmax(input_x: Any, *, axis: int = -1, output_type: DType = dtypes.int32) -> Tensor:
    return reduction.ArgMax(
        input_x, axis=normalise_axis("Argmax", axis, input_x.ndim), keepdims=False, dtype=output_type
    )


@primitive
def Argmin(input_x: Any, *, axis: int = -1, output_type: DType = dtypes.int32) -> Tensor:
    return reduction.ArgMin(
        input_x, axis=normalise_axis("Argmin", axis, input_x.ndim), keepdims=False, dtype=output_type
    )


@primitive
def ArgMaxWithValue(input: Any, *, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The index of the largest element along an axis, and the element."""
    value, index = reducing.max(input, axis, keep_dims)
    return index, value


@primitive
def ArgMinWithValue(input: Any, *, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The index of the smallest element along an axis, and the element."""
    value, index = reducing.min(input, axis, keep_dims)
    return index, value


@primitive
def CumSum(input: Any, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    return cumulative.CumSum(
        input, axis=normalise_axis("CumSum", axis, input.ndim), exclusive=exclusive, reverse=reverse
    )


@primitive
def CumProd(x: Any, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    return cumulative.CumProd(
        x, axis=normalise_axis("CumProd", axis, x.ndim), exclusive=exclusive, reverse=reverse
    )


@primitive
def CumulativeLogsumexp(x: Any, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    return cumulative.CumulativeLogsumexp(
        x, axis=normalise_axis("CumulativeLogsumexp", axis, x.ndim), exclusive=exclusive, reverse=reverse
    )


@primitive
def TopK(input_x: Any, k: int, *, sorted: bool = True) -> tuple[Tensor, Tensor]:
    return reducing.topk(input_x, k)


@primitive
def Sort(x: Any, *, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    return reducing.sort(x, axis, descending)


@primitive
def MatMul(input: Any, mat2: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """The product of two matrices, either taken transposed."""
    return linear.batch_matmul(input, mat2, transpose_a, transpose_b)


@primitive
def BatchMatMul(x: Any, y: Any, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """A product of matrices for each item of the leading axes."""
    return linear.batch_matmul(x, y, transpose_a, transpose_b)


@primitive
def BiasAdd(input_x: Any, bias: Any, *, data_format: str = "NCHW") -> Tensor:
    return input_x + bias if data_format == "NHWC" else linear.bias_add(input_x, bias)


def _require_nchw(name: str, data_format: str) -> None:
    if data_format != "NCHW":
        raise ValueError(
            f"{name}: data_format must be 'NCHW'. Received: data_format={data_format!r}. Transpose the "
            "images; inside a graph "
            "the fastest layout is chosen anyway"
        )


@primitive
def Conv2D(
    x: Any,
    weight: Any,
    *,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    """Two-dimensional convolution of images with a weight ``[out_channel, c / group, *kernel_size]``."""
    _require_nchw("Conv2D", data_format)
    if weight.shape[0] != out_channel or tuple(weight.shape[2:]) != images.several(
        "Conv2D", kernel_size, "kernel_size", 2
    ):
        raise ValueError(
            f"Conv2D: the weight must have the shape ({out_channel}, c / group, *{kernel_size}). Received: "
            f"{weight.type}"
        )
    return images.conv2d(x, weight, None, stride, pad_mode, pad, dilation, group)


@primitive
def Conv2DTranspose(
    dout: Any,
    weight: Any,
    input_size: Any,
    *,
    out_channel: int,
    kernel_size: Any,
    pad_mode: str = "valid",
    pad: Any = 0,
    pad_list: Any = None,
    mode: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    """The adjoint of `Conv2D`: from its output's shape to ``input_size``."""
    from mycelia.ops.convolution import Conv2DInputGrad
    _require_nchw("Conv2DTranspose", data_format)
    steps, spread = (
        images.several("Conv2DTranspose", stride, "stride", 2),
        images.several("Conv2DTranspose", dilation, "dilation", 2),
    )
    pads = images.window_pads(
        "Conv2DTranspose", pad_mode, pad_list or pad, input_size[2:], weight.shape[2:], steps, spread
    )
    return Conv2DInputGrad(
        dout, weight, input_shape=tuple(input_size), stride=steps, pads=pads, dilation=spread, groups=group
    )


@primitive
def MaxPool(
    x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
) -> Tensor:
    _require_nchw("MaxPool", data_format)
    return images.max_pool2d(x, kernel_size, strides, pad_mode=pad_mode)


@primitive
def AvgPool(
    x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
) -> Tensor:
    _require_nchw("AvgPool", data_format)
    return images.avg_pool2d(x, kernel_size, strides, count_include_pad=False, pad_mode=pad_mode)


@primitive
def BatchNorm(
    x: Any,
    scale: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    *,
    is_training: bool = False,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    data_format: str = "NCHW",
) -> tuple[Tensor, ...]:
    """Batch normalisation; gives the result and the statistics that were used, twice."""
    if is_training:
        y, batch_mean, batch_var = normalisation.BatchNormTrain(x, scale, bias, epsilon=float(epsilon))
        effects.assign(mean, mean * (1.0 - momentum) + effects.stop_gradient(batch_mean) * momentum)
        effects.assign(variance, variance * (1.0 - momentum) + effects.stop_gradient(batch_var) * momentum)
        return y, batch_mean, batch_var, batch_mean, batch_var
    return (
        images.batch_norm_inference(x, mean, variance, scale, bias, float(epsilon)),
        mean,
        variance,
        mean,
        variance,
    )


@primitive
def LayerNorm(input_x: Any, gamma: Any, beta: Any, *, begin_norm_axis: int = 1, begin_params_axis: int = 1,
              epsilon: float = 1e-7) -> tuple[Tensor, ...]:
    """Layer normalisation; gives the result, the mean and the variance."""
    return images.layer_norm_with_statistics(
        input_x, gamma, beta, begin_norm_axis, begin_params_axis, float(epsilon)
    )


@primitive
def RmsNorm(x: Any, gamma: Any, *, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The input over the root of the mean of its squares, scaled; and the reciprocal of that root."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    rstd = elementwise.rsqrt(
        reducing.mean(elementwise.square(cast(x, normalisation.wide(x.dtype))), axes, True) + epsilon
    )
    return images.rms_norm(x, gamma, float(epsilon)), rstd


@primitive
def L2Normalize(x: Any, *, axis: Any = 0, epsilon: float = 1e-4) -> Tensor:
    return images.l2_normalize(x, axis, epsilon)


@primitive
def BroadcastTo(input: Any, *, shape: Any) -> Tensor:
    return shaping.broadcast_to(input, shape)


@primitive
def Concat(tensors: Any, *, axis: int = 0) -> Tensor:
    return shaping.cat(tensors, axis)


@primitive
def Stack(tensors: Any, *, axis: int = 0) -> Tensor:
    return shaping.stack(tensors, axis)


@primitive
def Unstack(input_x: Any, *, axis: int = 0, num: int | None = None) -> tuple[Tensor, ...]:
    return shaping.unstack(input_x, axis)


@primitive
def Split(input_x: Any, *, axis: int = 0, output_num: int = 1) -> tuple[Tensor, ...]:
    """Views of equal size along an axis, ``output_num`` of them."""
    extent = input_x.shape[normalise_axis("Split", axis, input_x.ndim)]
    if extent % output_num:
        raise ValueError(
            f"Split: output_num must divide the axis's extent {extent}. Received: output_num={output_num}"
        )
    return shaping.split(input_x, extent // output_num, axis)


@primitive
def Squeeze(input: Any, *, axis: Any = ()) -> Tensor:
    return shaping.squeeze(input, _axes(axis))


@primitive
def StridedSlice(
    input_x: Any,
    begin: Any,
    end: Any,
    strides: Any,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    return shaping.strided_slice(
        input_x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )


@primitive
def Pad(input_x: Any, *, paddings: Any) -> Tensor:
    """Zeros added: ``paddings[i]`` = (before, after) on axis i."""
    return PadOperator(input_x, paddings=tuple((int(lo), int(hi)) for lo, hi in paddings), value=0)


@primitive
def ReverseV2(input: Any, *, axis: Any) -> Tensor:
    return shaping.flip(input, axis)


@primitive
def Gather(input_params: Any, input_indices: Any, axis: int, *, batch_dims: int = 0) -> Tensor:
    return shaping.gather(input_params, input_indices, axis, batch_dims)


@primitive
def OneHot(indices: Any, depth: int, on_value: Any, off_value: Any, *, axis: int = -1) -> Tensor:
    return shaping.one_hot(indices, depth, on_value, off_value, axis)


@primitive
def Tril(x: Any, *, diagonal: int = 0) -> Tensor:
    return shaping.tril(x, diagonal)


@primitive
def Triu(x: Any, *, diagonal: int = 0) -> Tensor:
    return shaping.triu(x, diagonal)


@primitive
def Range(start: Any, end: Any, step: Any, *, maxlen: int = 1000000) -> Tensor:
    return creating.arange(start, end, step)


@primitive
def ResizeNearestNeighbor(input_x: Any, *, size: Any, align_corners: bool = False) -> Tensor:
    return resizing.resized_images(input_x, size, "nearest", align_corners, False)


@primitive
def Dropout(x: Any, *, keep_prob: float = 0.5, Seed0: int = 0, Seed1: int = 0) -> tuple[Tensor, Tensor]:
    """The input with elements dropped, and the mask of those kept."""
    keep = drawing.bernoulli(
        creating.zeros(x.shape, dtypes.bool_), float(keep_prob), (Seed0 << 32 | Seed1) or None
    )
    return elementwise.select(keep, x * (1.0 / keep_prob), 0), cast(keep, x.dtype)


@primitive
def StandardNormal(shape: Any, *, seed: int = 0, seed2: int = 0) -> Tensor:
    return drawing.standard_normal(shape, (seed << 32 | seed2) or None)


@primitive
def UniformReal(shape: Any, *, seed: int = 0, seed2: int = 0) -> Tensor:
    return drawing.uniform_real(shape, (seed << 32 | seed2) or None)


@primitive
def SoftmaxCrossEntropyWithLogits(logits: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """The cross entropy for each row, and its gradient by the logits."""
    gradient = activations.softmax(logits, -1) - labels
    return losses.softmax_cross_entropy(logits, labels, "none"), effects.stop_gradient(gradient)


@primitive
def SparseSoftmaxCrossEntropyWithLogits(logits: Any, labels: Any, *, is_grad: bool = False) -> Tensor:
    """The mean cross entropy with class indices, or its gradient by the logits."""
    if is_grad:
        hot = indexing.OneHot(labels, depth=logits.shape[1], on=1, off=0, dtype=logits.dtype)
        return (activations.softmax(logits, -1) - hot) / float(logits.shape[0])
    return losses.sparse_softmax_cross_entropy(logits, labels, "mean")


@primitive
def SigmoidCrossEntropyWithLogits(logits: Any, label: Any) -> Tensor:
    return losses.binary_cross_entropy_with_logits(logits, label, None, None, "none")


@primitive
def BinaryCrossEntropy(logits: Any, labels: Any, weight: Any = None, *, reduction: str = "mean") -> Tensor:
    return losses.binary_cross_entropy(logits, labels, weight, reduction)


@primitive
def BCEWithLogitsLoss(
    logits: Any, label: Any, weight: Any = None, pos_weight: Any = None, *, reduction: str = "mean"
) -> Tensor:
    return losses.binary_cross_entropy_with_logits(logits, label, weight, pos_weight, reduction)


@primitive
def SmoothL1Loss(prediction: Any, target: Any, *, beta: float = 1.0, reduction: str = "none") -> Tensor:
    return losses.smooth_l1_loss(prediction, target, beta, reduction)


@primitive
def KLDivLoss(logits: Any, labels: Any, *, reduction: str = "mean") -> Tensor:
    return losses.kl_div(logits, labels, reduction)


@primitive
def InvertPermutation(input_x: Any) -> Any:
    """The order that undoes an order."""
    order = [int(i) for i in (input_x.asnumpy() if isinstance(input_x, Tensor) else input_x)]
    inverse = tuple(order.index(i) for i in range(len(order)))
    return constant(list(inverse)) if isinstance(input_x, Tensor) else inverse
