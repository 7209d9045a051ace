"""Normalisation of images and features; convolution, pooling and resizing under the same roof."""
from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import float64
from mycelia.ops import exponential, normalisation
from mycelia.ops.arithmetic import Maximum, Square
from mycelia.ops.composite import composite
from mycelia.ops.constants import like
from mycelia.ops.creation import Full
from mycelia.ops.function.convolving import *  # noqa: F403
from mycelia.ops.function.effects import assign
from mycelia.ops.function.pools import *  # noqa: F403
from mycelia.ops.function.resizing import *  # noqa: F403
from mycelia.ops.function.shaping import reshape
from mycelia.ops.function.sliding import several, window_pads  # noqa: F401
from mycelia.ops.inference import HALVES, normalise_axes, normalise_axis
from mycelia.ops.movement import Reshape
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.reduction import ReduceMean, ReduceSum
from mycelia.tensor.tensor import Tensor


@composite
def batch_norm_inference(
    input_x: Any, mean: Any, var: Any, weight: Any, bias: Any, epsilon: float = 1e-5
) -> Tensor:
    """Batch normalisation by given statistics, as one scale and shift for each channel."""
    x = input_x
    scale = weight * exponential.Rsqrt(var + epsilon)
    shift = bias - mean * scale
    lined_up = (1, scale.shape[0], *(1,) * (x.ndim - 2))
    return x * cast(Reshape(scale, shape=lined_up), x.dtype) + cast(Reshape(shift, shape=lined_up), x.dtype)


def batch_norm(
    input_x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalisation over all axes but 1.

    Args:
        input_x: ``[n, c, ...]``.
        running_mean, running_var: ``[c]`` or None; the statistics outside of training. While training they
            are moved towards the batch's by ``momentum``, in place; the variance by the unbiased one.
        weight, bias: scale and shift, ``[c]``.
        training: use the batch's statistics.
        momentum: the share of the batch in the running statistics.
        eps: added to the variance.

    Raises:
        TypeError, ValueError: types or shapes that do not match.
    """
    x = require_tensor("batch_norm", input_x)
    if not training:
        return batch_norm_inference(x, running_mean, running_var, weight, bias, eps)
    y, mean, var = normalisation.BatchNormTrain(x, weight, bias, epsilon=float(eps))
    if running_mean is None:
        return y
    count = 1
    for i, d in enumerate(x.shape):
        count = count * d if i != 1 else count
    momentum = momentum if isinstance(momentum, Tensor) else float(momentum)
    share: Any = momentum
    if isinstance(count, int):
        share = momentum * (count / (count - 1) if count > 1 else 1.0)
    elif count > 1:  # a symbol: its number is known when the graph runs
        number = Full(shape=(), value=count, dtype=float64)
        share = cast(number / (number - 1.0) * momentum, running_var.dtype)
    assign(running_mean, _moved(running_mean, cast(mean, running_mean.dtype), momentum, momentum))
    assign(running_var, _moved(running_var, cast(var, running_var.dtype), momentum, share))
    return y


@composite
def _moved(running: Tensor, batch: Tensor, momentum: float, share: Any) -> Tensor:
    from mycelia.ops.control import StopGradient
    return running * (1.0 - momentum) + StopGradient(batch) * share


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Normalises over the last axes, whose extents are ``normalized_shape``, then scales and shifts.

    Raises:
        ValueError: the input does not end in that shape.
    """
    x = require_tensor("layer_norm", input)
    inner = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    begin = x.ndim - len(inner)
    if begin < 0 or x.shape[begin:] != inner:
        raise ValueError(
            f"layer_norm: the input must end in normalized_shape {inner}. Received: a tensor of shape "
            f"{x.shape}"
        )
    gamma = Full(shape=inner, value=1, dtype=x.dtype) if weight is None else weight
    beta = Full(shape=inner, value=0, dtype=gamma.dtype) if bias is None else bias
    return normalisation.LayerNorm(x, gamma, beta, begin_axis=begin, epsilon=float(eps))[0]


@composite
def layer_norm_with_statistics(
    x: Any, gamma: Any, beta: Any, begin_norm_axis: int = 1, begin_params_axis: int = 1, epsilon: float = 1e-7
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalisation with its mean and biased variance, where scale and shift may span other axes than
    the statistics."""
    begin = normalise_axis("LayerNorm", begin_norm_axis, x.ndim, "begin_norm_axis")
    params = normalise_axis("LayerNorm", begin_params_axis, x.ndim, "begin_params_axis")
    if begin == params:
        y, mean, rstd = normalisation.LayerNorm(x, gamma, beta, begin_axis=begin, epsilon=epsilon)
    else:
        ones, zeros = (Full(shape=x.shape[begin:], value=v, dtype=x.dtype) for v in (1, 0))
        y, mean, rstd = normalisation.LayerNorm(x, ones, zeros, begin_axis=begin, epsilon=epsilon)
        y = y * cast(gamma, x.dtype) + cast(beta, x.dtype)
    return y, cast(mean, x.dtype) if x.dtype in HALVES else mean, 1.0 / Square(rstd) - epsilon


@composite
def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Tensor:
    """The input over the root of the mean of its squares along gamma's axes, scaled by gamma (Zhang and
    Sennrich 2019)."""
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    wide = cast(x, normalisation.wide(x.dtype))
    r = exponential.Rsqrt(ReduceMean(Square(wide), axes=axes, keepdims=True) + epsilon)
    return cast(wide * r, x.dtype) * gamma


@composite
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Tensor:
    """Normalises each of ``num_groups`` groups of channels of ``[n, c, ...]``, then scales and shifts
    channels.

    Raises:
        ValueError: the channels do not divide by the groups.
    """
    if input.ndim < 2:
        raise ValueError(f"group_norm: input must be [n, c, ...]. Received: a tensor of shape {input.shape}")
    n, c = input.shape[:2]
    if c % num_groups:
        raise ValueError(
            f"group_norm: num_groups must divide the channels. Received: num_groups={num_groups} for {c} "
            "channels"
        )
    x = reshape(input, (n, num_groups, -1))
    ones, zeros = (Full(shape=x.shape[2:], value=v, dtype=x.dtype) for v in (1, 0))
    y = reshape(normalisation.LayerNorm(x, ones, zeros, begin_axis=2, epsilon=float(eps))[0], input.shape)
    lined_up = (1, c, *(1,) * (input.ndim - 2))
    if weight is not None:
        y = y * reshape(weight, lined_up)
    return y if bias is None else y + reshape(bias, lined_up)


@composite
def l2_normalize(x: Any, axis: Any = 0, epsilon: float = 1e-4) -> Tensor:
    """The input over its 2-norm along axes, the squared norm being at least epsilon."""
    squares = ReduceSum(Square(x), axes=normalise_axes("l2_normalize", axis, x.ndim), keepdims=True)
    return x * exponential.Rsqrt(Maximum(squares, like(epsilon, squares)))


@composite
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """The input over its p-norm along an axis, which is at least eps."""
    from mycelia.ops.function.reducing import norm
    size = norm(input, p, dim, True)
    return input / Maximum(size, like(eps, size))


@composite
def lrn(
    x: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """``x / (bias + alpha * s) ** beta``, s being the sum of squares over 2 * depth_radius + 1 channels
    (Krizhevsky et al. 2012).

    Raises:
        ValueError: another norm_region.
    """
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"lrn: norm_region must be 'ACROSS_CHANNELS'. Received: norm_region={norm_region!r}")
    size = 2 * depth_radius + 1
    lined = reshape(Square(x), (x.shape[0], 1, x.shape[1], -1))
    around = avg_pool2d(lined, (size, 1), 1, (depth_radius, 0)) * float(size)  # noqa: F405
    return x * (reshape(around, x.shape) * alpha + bias) ** (-beta)
