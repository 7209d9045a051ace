"""``mint.nn.functional``: networks' functions under PyTorch's names and parameters."""
from __future__ import annotations

from typing import Any

from mycelia.ir import dtypes
from mycelia.ops import indexing
from mycelia.ops.explanations import explain_public
from mycelia.ops.function import (
    activations,
    convolving,
    creating,
    drawing,
    dropouts,
    elementwise,
    images,
    losses,
    padding,
    pools,
    reducing,
    shaping,
)
from mycelia.ops.function.activations import (
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    logsigmoid,
    mish,
    prelu,
    relu,
    selu,
    softplus,
    softshrink,
)
from mycelia.ops.function.convolving import conv_transpose2d
from mycelia.ops.function.elementwise import sigmoid, tanh
from mycelia.ops.function.embeddings import embedding
from mycelia.ops.function.images import group_norm, layer_norm, normalize
from mycelia.ops.function.linear import linear
from mycelia.ops.function.losses import cosine_embedding_loss, cross_entropy, l1_loss, mse_loss, nll_loss
from mycelia.ops.function.margin_losses import soft_margin_loss
from mycelia.ops.function.pools import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    max_unpool2d,
)
from mycelia.ops.function.resizing import grid_sample, interpolate, pixel_shuffle
from mycelia.ops.function.sliding import fold, unfold
from mycelia.ops.inplace import write
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


def _in_place(function: Any, name: str) -> Any:
    """The function's form with a trailing underscore, which overwrites the input."""
    def overwrite(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return write(input, function(input, *args, **kwargs))

    overwrite.__name__ = overwrite.__qualname__ = f"{name}_"
    overwrite.__doc__ = f"`{name}`, written over the input."
    return overwrite


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    y = activations.silu(input)
    return write(input, y) if inplace else y


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    y = activations.elu(input, alpha)
    return write(input, y) if inplace else y


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """The input between 0 and 6."""
    y = activations.relu6(input)
    return write(input, y) if inplace else y


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input between two bounds."""
    y = activations.hardtanh(input, min_val, max_val)
    return write(input, y) if inplace else y


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it is above the threshold, ``value`` elsewhere."""
    y = activations.threshold(input, threshold, value)
    return write(input, y) if inplace else y


relu_, elu_, hardtanh_, threshold_, sigmoid_ = (
    _in_place(function, function.__name__) for function in (relu, elu, hardtanh, threshold, sigmoid)
)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """The input, times the slope where it is negative."""
    return activations.leaky_relu(input, negative_slope)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    return activations.glu(input, dim)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While training each element is 0 with probability ``p``, and the others grow by ``1 / (1 - p)``."""
    y = drawing.dropout(input, p, training)
    return write(input, y) if inplace else y


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """While training each channel ``[n, c, ...]`` is 0 with probability ``p``, and the others grow by ``1 /
    (1 - p)``."""
    y = dropouts.dropout2d(input, p, training)
    return write(input, y) if inplace else y


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from ``start_dim`` to ``end_dim`` merged into one."""
    return shaping.flatten(input, start_dim=start_dim, end_dim=end_dim)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Elements added around the last axes."""
    return padding.pad(input, pad, mode, value)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each index along a new last axis, 0 elsewhere (int64); as many classes as occur when
    ``num_classes`` is -1."""
    if num_classes == -1:
        num_classes = int(reducing.amax(tensor)) + 1
    return indexing.OneHot(tensor, depth=num_classes, on=1, off=0, dtype=dtypes.int64)


# -- images --------------------------------------------------------------------------------------------------
def _convolution(axes: int, function: Any) -> Any:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        mode, pads = (padding, 0) if isinstance(padding, str) else ("pad", padding)
        return function(input, weight, bias, stride, mode, pads, dilation, groups)

    conv.__name__ = conv.__qualname__ = f"conv{axes}d"
    conv.__doc__ = f"""Convolution along {axes} axes; ``padding`` is an int, one for each axis, \
``"same"`` or ``"valid"``."""
    return conv


conv1d, conv2d, conv3d = (
    _convolution(axes, getattr(convolving, f"conv{axes}d")) for axes in (1, 2, 3)
)


def _average(axes: int, function: Any) -> Any:
    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return function(
            input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override or 0
        )

    pool.__name__ = pool.__qualname__ = f"avg_pool{axes}d"
    pool.__doc__ = f"The mean of each window along {axes} axes; the stride is the window's size unless given."
    return pool


avg_pool1d, avg_pool2d, avg_pool3d = (
    _average(axes, getattr(pools, f"avg_pool{axes}d")) for axes in (1, 2, 3)
)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window, and where it is if ``return_indices``."""
    return pools.max_pool2d(input, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


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
    channels = (input.shape[1],)
    scale = creating.ones(channels, input.dtype) if weight is None else weight
    shift = creating.zeros(channels, input.dtype) if bias is None else bias
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
    return losses.kl_div(input, elementwise.exp(target) if log_target else target, reduction)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d", "conv_transpose2d",
    "cosine_embedding_loss", "cross_entropy", "dropout", "dropout2d", "elu", "elu_", "embedding", "flatten",
    "fold", "gelu", "glu", "grid_sample", "group_norm", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax",
    "logsigmoid", "max_pool2d", "max_unpool2d", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pixel_shuffle", "prelu", "relu", "relu6", "relu_", "selu", "sigmoid", "sigmoid_", "silu",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softplus", "softshrink", "tanh", "threshold",
    "threshold_", "unfold", "upsample",
]

explain_public(__name__, globals(), __all__)
