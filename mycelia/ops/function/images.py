"""Convolution, pooling and normalisation of images, and normalisation of features."""
from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import float64
from mycelia.ops import convolution, exponential, normalisation, pooling
from mycelia.ops.arithmetic import Maximum, Square
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.creation import Full
from mycelia.ops.function.effects import assign
from mycelia.ops.function.shaping import reshape
from mycelia.ops.indexing import Gather
from mycelia.ops.inference import HALVES, normalise_axes, normalise_axis
from mycelia.ops.movement import Pad, Reshape
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.reduction import ReduceMax, ReduceMean, ReduceSum
from mycelia.tensor.tensor import Tensor

Pads = tuple[int, int, int, int]


def pair(name: str, value: Any, what: str) -> tuple[int, int]:
    """Two numbers from one or two (or the last two of four)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value, value
    if isinstance(value, (tuple, list)) and len(value) in (1, 2, 4):
        return (int(value[-2 % len(value)]), int(value[-1]))
    raise TypeError(
        f"{name}: {what} must be an int or two of them. Received: {what}={value!r} (of type "
        f"{type(value).__name__})"
    )


def window_pads(
    name: str,
    pad_mode: str,
    padding: Any,
    size: tuple[Any, Any],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int] = (1, 1),
) -> Pads:
    """The (top, bottom, left, right) padding of a pad mode: ``"same"``, ``"valid"`` or ``"pad"``.

    Raises:
        ValueError: another mode, or padding given with a mode that leaves no room for it.
    """
    mode = str(pad_mode).lower()
    if mode == "valid":
        return 0, 0, 0, 0
    if mode == "same":
        pads = []
        for extent, k, s, d in zip(size, kernel, stride, dilation):
            total = (-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent
            total = total if total > 0 else 0
            pads += [total // 2, total - total // 2]
        return tuple(pads)  # type: ignore[return-value]
    if mode != "pad":
        raise ValueError(
            f"{name}: pad_mode must be 'same', 'valid' or 'pad'. Received: pad_mode={pad_mode!r}"
        )
    if isinstance(padding, int):
        return (padding,) * 4
    if len(padding) == 4:
        return tuple(int(p) for p in padding)  # type: ignore[return-value]
    high, wide = pair(name, padding, "padding")
    return high, high, wide, wide


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Two-dimensional convolution.

    Args:
        input: images ``[n, c, h, w]``.
        weight: ``[out, c / groups, kh, kw]``.
        bias: ``[out]``, or None.
        stride, dilation: an int, or one for each axis.
        pad_mode: ``"valid"``, ``"same"`` (as many outputs as inputs over stride) or ``"pad"`` by ``padding``.
        padding: an int, two (high, wide) or four (top, bottom, left, right).
        groups: groups of channels that do not mix.

    Returns:
        ``[n, out, high, wide]``.

    Raises:
        TypeError: element types that differ.
        ValueError: shapes that do not fit.
    """
    x, w = require_tensor("conv2d", input), require_tensor("conv2d", weight, "weight")
    steps, spread = pair("conv2d", stride, "stride"), pair("conv2d", dilation, "dilation")
    pads = window_pads("conv2d", pad_mode, padding, x.shape[2:], w.shape[2:], steps, spread)
    y = convolution.Conv2D(x, w, stride=steps, pads=pads, dilation=spread, groups=int(groups))
    return y if bias is None else y + Reshape(bias, shape=(1, bias.shape[0], 1, 1))


def conv2d_transpose(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The adjoint of `conv2d`: images grow by the stride. Weight ``[c, out / groups, kh, kw]``."""
    x, w = require_tensor("conv2d_transpose", input), require_tensor("conv2d_transpose", weight, "weight")
    steps, spread = pair("conv2d_transpose", stride, "stride"), pair("conv2d_transpose", dilation, "dilation")
    pads = window_pads("conv2d_transpose", "pad", padding, x.shape[2:], w.shape[2:], steps, spread)
    extra = pair("conv2d_transpose", output_padding, "output_padding")
    size = tuple(
        (x.shape[2 + i] - 1) * steps[i]
        - pads[2 * i]
        - pads[2 * i + 1]
        + spread[i] * (w.shape[2 + i] - 1)
        + 1
        + extra[i]
        for i in range(2)
    )
    y = convolution.Conv2DInputGrad(
        x,
        w,
        input_shape=(x.shape[0], w.shape[1] * groups, *size),
        stride=steps,
        pads=pads,
        dilation=spread,
        groups=int(groups),
    )
    return y if bias is None else y + Reshape(bias, shape=(1, bias.shape[0], 1, 1))


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: int = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """One-dimensional convolution of ``[n, c, length]`` with ``[out, c / groups, k]``."""
    sides = (padding, padding) if isinstance(padding, int) else (padding[0], padding[-1])
    y = conv2d(
        Reshape(input, shape=(*input.shape[:2], 1, input.shape[2])),
        Reshape(weight, shape=(*weight.shape[:2], 1, weight.shape[2])),
        bias,
        (1, stride),
        pad_mode,
        (0, 0, *sides),
        (1, dilation),
        groups,
    )
    return Reshape(y, shape=(*y.shape[:2], y.shape[3]))


# -- pooling -------------------------------------------------------------------------------------------------
def _rounded_up(size: tuple[Any, Any], kernel: tuple[int, int], stride: tuple[int, int], pads: Pads) -> Pads:
    """Padding after the image so that windows which begin within it all count (ceil mode)."""
    grown = list(pads)
    for i in range(2):
        span = size[i] + pads[2 * i] + pads[2 * i + 1]
        count = -(-(span - kernel[i]) // stride[i]) + 1
        if (count - 1) * stride[i] >= size[i] + pads[2 * i]:
            count -= 1
        more = (count - 1) * stride[i] + kernel[i] - span
        grown[2 * i + 1] += more if more > 0 else 0
    return tuple(grown)  # type: ignore[return-value]


def _images(name: str, x: Any) -> tuple[Tensor, bool]:
    x = require_tensor(name, x)
    return (Reshape(x, shape=(1, *x.shape)), True) if x.ndim == 3 else (x, False)


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    pad_mode: str = "pad",
) -> Tensor:
    """The largest element of each window of images ``[n, c, h, w]``.

    Args:
        x: a float tensor.
        kernel_size, stride, padding: ints or pairs; the stride is the kernel's size unless given.
        ceil_mode: also take windows that reach over the end.

    Raises:
        NotImplementedError: dilation, or indices.
    """
    if pair("max_pool2d", dilation, "dilation") != (1, 1) or return_indices:
        raise NotImplementedError(
            f"max_pool2d: dilation must be 1 and return_indices False. Received: dilation={dilation}, "
            f"return_indices={return_indices}. Slice the input for dilation"
        )
    images, single = _images("max_pool2d", x)
    kernel = pair("max_pool2d", kernel_size, "kernel_size")
    steps = kernel if stride is None else pair("max_pool2d", stride, "stride")
    pads = window_pads("max_pool2d", pad_mode, padding, images.shape[2:], kernel, steps)
    if ceil_mode:
        pads = _rounded_up(images.shape[2:], kernel, steps, pads)
    y = pooling.MaxPool(images, kernel_size=kernel, stride=steps, pads=pads)
    return Reshape(y, shape=y.shape[1:]) if single else y


def avg_pool2d(
    input_x: Any,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    pad_mode: str = "pad",
) -> Tensor:
    """The mean of each window of images ``[n, c, h, w]``.

    Args:
        input_x: a float tensor.
        kernel_size, stride, padding: ints or pairs.
        ceil_mode: also take windows that reach over the end.
        count_include_pad: count padding zeros as elements.
        divisor_override: divide by this instead of by the number of elements, unless 0.
    """
    images, single = _images("avg_pool2d", input_x)
    kernel = pair("avg_pool2d", kernel_size, "kernel_size")
    steps = kernel if stride is None else pair("avg_pool2d", stride, "stride")
    pads = window_pads("avg_pool2d", pad_mode, padding, images.shape[2:], kernel, steps)
    include = bool(count_include_pad) and str(pad_mode).lower() == "pad"
    if ceil_mode:
        grown = _rounded_up(images.shape[2:], kernel, steps, pads)
        if grown != pads and include:  # padding counts, what lies beyond it does not
            images = Pad(images, paddings=((0, 0), (0, 0), pads[:2], pads[2:]), value=0.0)
            grown = tuple(g - p for g, p in zip(grown, pads))  # type: ignore[assignment]
            include = False
        pads = grown
    if divisor_override:
        y = pooling.AvgPool(images, kernel_size=kernel, stride=steps, pads=pads, count_include_pad=True)
        y = y * (kernel[0] * kernel[1] / divisor_override)
    else:
        y = pooling.AvgPool(images, kernel_size=kernel, stride=steps, pads=pads, count_include_pad=include)
    return Reshape(y, shape=y.shape[1:]) if single else y


def _adaptive(x: Tensor, axis: int, count: int, reduce: Any) -> Tensor:
    """An axis cut into ``count`` pieces, as equal as they can be, each reduced to one element."""
    from mycelia.ops.function.shaping import cat, narrow
    extent = x.shape[axis]
    if count == extent:
        return x
    if extent % count == 0:
        apart = reshape(x, (*x.shape[:axis], count, extent // count, *x.shape[axis + 1:]))
        return reduce(apart, axes=(axis + 1,), keepdims=False)
    pieces = []
    for i in range(count):
        first, last = i * extent // count, -(-(i + 1) * extent // count)
        pieces.append(reduce(narrow(x, axis, first, last - first), axes=(axis,), keepdims=True))
    return cat(pieces, axis)


def _adaptive_size(name: str, x: Tensor, output_size: Any) -> tuple[int, int]:
    high, wide = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    return x.shape[-2] if high is None else high, x.shape[-1] if wide is None else wide


@composite
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """The means of ``output_size`` pieces of the last two axes, as equal as they can be."""
    high, wide = _adaptive_size("adaptive_avg_pool2d", input, output_size)
    if (high, wide) == (1, 1):
        return ReduceMean(input, axes=(input.ndim - 2, input.ndim - 1), keepdims=True)
    return _adaptive(_adaptive(input, input.ndim - 2, high, ReduceMean), input.ndim - 1, wide, ReduceMean)


@composite
def adaptive_max_pool2d(input: Any, output_size: Any) -> Tensor:
    """The largest elements of ``output_size`` pieces of the last two axes."""
    high, wide = _adaptive_size("adaptive_max_pool2d", input, output_size)
    return _adaptive(_adaptive(input, input.ndim - 2, high, ReduceMax), input.ndim - 1, wide, ReduceMax)


# -- normalisation -------------------------------------------------------------------------------------------
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
        running_mean, running_var: ``[c]``; the statistics outside of training. While training they are moved
        towards the batch's
            by ``momentum``, in place; the variance by the unbiased one.
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
    count = 1
    for i, d in enumerate(x.shape):
        count = count * d if i != 1 else count
    momentum = float(momentum)
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


# -- resizing ------------------------------------------------------------------------------------------------
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Images ``[n, c, h, w]`` (or sequences ``[n, c, length]``) of another size, by nearest neighbour or
    linear interpolation.

    Raises:
        ValueError: neither size nor scale_factor, or another mode.
    """
    import numpy as np
    x = require_tensor("interpolate", input)
    spatial = x.shape[2:]
    if size is None:
        if scale_factor is None:
            raise ValueError("interpolate: size or scale_factor must be given. Received: neither")
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * len(spatial)
        size = tuple(int(d * f) for d, f in zip(spatial, factors))
    size = (size,) * len(spatial) if isinstance(size, int) else tuple(size)
    if mode not in ("nearest", "linear", "bilinear"):
        raise ValueError(
            f"interpolate: mode must be 'nearest', 'linear' or 'bilinear'. Received: mode={mode!r}"
        )
    for axis, (have, want) in enumerate(zip(spatial, size), 2):
        if have == want:
            continue
        if mode == "nearest":
            places = np.minimum(np.floor(np.arange(want) * (have / want)).astype(np.int64), have - 1)
            x = Gather(x, constant(places), axis=axis)
            continue
        if align_corners:
            at = np.arange(want) * ((have - 1) / (want - 1) if want > 1 else 0.0)
        else:
            at = np.clip((np.arange(want) + 0.5) * (have / want) - 0.5, 0, None)
        low = np.minimum(np.floor(at).astype(np.int64), have - 1)
        share = (at - low).astype(np.float32).reshape((-1,) + (1,) * (x.ndim - axis - 1))
        first, second = (
            Gather(x, constant(low), axis=axis),
            Gather(x, constant(np.minimum(low + 1, have - 1)), axis=axis),
        )
        x = first + (second - first) * cast(constant(share), x.dtype)
    return x
