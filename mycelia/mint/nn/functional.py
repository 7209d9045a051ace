"""``mint.nn.functional``: networks' functions under PyTorch's names and parameters."""
from __future__ import annotations

from typing import Any

from mycelia.ir import dtypes
from mycelia.ops import indexing
from mycelia.ops.function import activations, drawing, images, losses, reducing, shaping
from mycelia.ops.function.activations import (
    gelu,
    hardsigmoid,
    hardswish,
    hardtanh,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    softplus,
)
from mycelia.ops.function.elementwise import sigmoid, tanh
from mycelia.ops.function.images import adaptive_avg_pool2d, group_norm, interpolate, layer_norm, normalize
from mycelia.ops.function.linear import linear
from mycelia.ops.function.losses import cross_entropy, l1_loss, mse_loss, nll_loss
from mycelia.tensor.tensor import Tensor

upsample = interpolate


def _last(input: Tensor, dim: int | None) -> int:
    """PyTorch's choice of an axis where none is given."""
    return dim if dim is not None else 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """exp(input) over its sum along an axis."""
    return activations.softmax(input, _last(input, dim), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return activations.log_softmax(input if dtype is None else input.astype(dtype), _last(input, dim))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return activations.silu(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return activations.elu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """The input, times the slope where it is negative."""
    return activations.leaky_relu(input, negative_slope)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    return activations.glu(input, dim)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While training each element is 0 with probability ``p``, and the others grow by ``1 / (1 - p)``."""
    return drawing.dropout(input, p, training)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Elements added around the last axes."""
    return shaping.pad(input, pad, mode, value)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each index along a new last axis, 0 elsewhere (int64); as many classes as occur when
    ``num_classes`` is -1."""
    if num_classes == -1:
        num_classes = int(reducing.amax(tensor)) + 1
    return indexing.OneHot(tensor, depth=num_classes, on=1, off=0, dtype=dtypes.int64)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of ``weight`` at each index; the row ``padding_idx`` gets no gradient.

    Raises:
        NotImplementedError: max_norm or scale_grad_by_freq.
    """
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            "embedding: max_norm must be None and scale_grad_by_freq False. Received: "
            f"max_norm={max_norm}, scale_grad_by_freq={scale_grad_by_freq}. Scale the weight beforehand"
        )
    rows = shaping.gather(weight, input, 0)
    if padding_idx is None:
        return rows
    from mycelia.ops.function.effects import stop_gradient
    padded = shaping.expand_dims(input == padding_idx % weight.shape[0], -1)
    from mycelia.ops.function.elementwise import where
    return where(padded, stop_gradient(rows), rows)


# -- images --------------------------------------------------------------------------------------------------
def _pad_mode(padding: Any) -> tuple[str, Any]:
    return (padding, 0) if isinstance(padding, str) else ("pad", padding)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Two-dimensional convolution; ``padding`` is an int, a pair, ``"same"`` or ``"valid"``."""
    mode, pads = _pad_mode(padding)
    return images.conv2d(input, weight, bias, stride, mode, pads, dilation, groups)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """One-dimensional convolution."""
    mode, pads = _pad_mode(padding)
    one = [v[0] if isinstance(v, (tuple, list)) else v for v in (stride, pads, dilation)]
    return images.conv1d(input, weight, bias, one[0], mode, one[1], one[2], groups)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of `conv2d`."""
    return images.conv2d_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The largest element of each window."""
    return images.max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window."""
    return images.avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or 0
    )


def batch_norm(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalisation over all axes but 1."""
    from mycelia.ops.function.creating import ones_like, zeros_like
    scale = ones_like(running_mean) if weight is None else weight
    shift = zeros_like(running_mean) if bias is None else bias
    return images.batch_norm(input, running_mean, running_var, scale, shift, training, momentum, eps)


# -- losses --------------------------------------------------------------------------------------------------
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the probability given to the true class."""
    return losses.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``."""
    return losses.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """A squared difference below ``beta``, an absolute one above."""
    return losses.smooth_l1_loss(input, target, beta, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The divergence of distributions; the first, and with ``log_target`` the second too, given by
    logarithms."""
    from mycelia.ops.function.elementwise import exp
    return losses.kl_div(input, exp(target) if log_target else target, reduction)


__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "cross_entropy",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "glu",
    "group_norm",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "max_pool2d",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softplus",
    "tanh",
    "upsample",
]
