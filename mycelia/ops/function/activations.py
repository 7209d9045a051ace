"""Activation functions and softmax."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ops import activation, arithmetic, comparison, exponential, selection, softmaxes
from mycelia.ops.activation import Sigmoid
from mycelia.ops.composite import composite
from mycelia.ops.constants import like
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import as_tensor, cast, floating, require_tensor, resolve_dtype
from mycelia.ops.trigonometric import Tanh
from mycelia.tensor.tensor import Tensor

_ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)


def relu(input: Any, inplace: bool = False) -> Tensor:
    """max(input, 0); with ``inplace`` the input is overwritten too."""
    y = activation.ReLU(as_tensor("relu", input))
    if inplace:
        from mycelia.ops.inplace import write
        return write(input, y)
    return y


@composite
def gelu(input: Any, approximate: str = "none") -> Tensor:
    """The input times the probability that a standard normal number is below it (Hendrycks and Gimpel 2016).

    Args:
        input: a float tensor.
        approximate: ``"none"`` (through erf) or ``"tanh"``: ``x * sigmoid(2 sqrt(2 / pi) (x + 0.044715
            x**3))``.

    Raises:
        TypeError: an integer tensor.
        ValueError: another approximation.

    Example:
        >>> gelu(Tensor([1.0]), approximate="tanh")
        Tensor(shape=[1], dtype=Float32, value= [0.841192])
    """
    x = _float_input("gelu", input)
    if approximate == "tanh":
        return x * Sigmoid(x * ((x * x) * (2 * _ROOT_TWO_OVER_PI * 0.044715) + 2 * _ROOT_TWO_OVER_PI))
    if approximate != "none":
        raise ValueError(f"gelu: approximate must be 'none' or 'tanh'. Received: approximate={approximate!r}")
    return x * 0.5 * (exponential.Erf(x * math.sqrt(0.5)) + 1.0)


def _float_input(name: str, x: Any) -> Tensor:
    x = require_tensor(name, x)
    if x.dtype.kind != "f":
        raise TypeError(
            f"{name}: the input must be a float tensor. Received: {x.type}. Convert it with "
            "astype(mindspore.float32)"
        )
    return x


@composite
def silu(input: Any) -> Tensor:
    """``input * sigmoid(input)``."""
    x = _float_input("silu", input)
    return x * Sigmoid(x)


@composite
def mish(x: Any) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return x * Tanh(softplus(x))


@composite
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, and the input itself where ``beta * input`` is above the
    threshold."""
    x = _float_input("softplus", input)
    scaled = x * beta
    large = comparison.Greater(scaled, like(threshold, x))
    safe = selection.Select(large, like(0, x), scaled)
    return selection.Select(large, x, exponential.Log1p(exponential.Exp(safe)) / beta)


@composite
def logsigmoid(x: Any) -> Tensor:
    """``log(sigmoid(x))`` without underflow."""
    return arithmetic.Minimum(x, like(0, x)) - exponential.Log1p(exponential.Exp(-arithmetic.Abs(x)))


def _piecewise(x: Tensor, negative: Tensor) -> Tensor:
    return selection.Select(comparison.Greater(x, like(0, x)), x, negative)


@composite
def leaky_relu(input: Any, alpha: float = 0.2) -> Tensor:
    """The input, times ``alpha`` where it is negative."""
    return _piecewise(input, input * alpha)


@composite
def prelu(input: Any, weight: Any) -> Tensor:
    """The input, times a weight for its channel (axis 1) where it is negative."""
    from mycelia.ops.function.shaping import reshape
    scale = reshape(weight, (1, -1, *(1,) * (input.ndim - 2))) if input.ndim > 1 else weight
    return _piecewise(input, input * scale)


def _expm1_below_zero(x: Tensor) -> Tensor:
    return exponential.Expm1(arithmetic.Minimum(x, like(0, x)))


@composite
def elu(input_x: Any, alpha: float = 1.0) -> Tensor:
    """The input where positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return _piecewise(input_x, _expm1_below_zero(input_x) * alpha)


@composite
def selu(input_x: Any) -> Tensor:
    """`elu` scaled so that mean and variance of activations stay (Klambauer et al. 2017)."""
    scale, alpha = 1.05070098, 1.67326324
    return _piecewise(input_x, _expm1_below_zero(input_x) * alpha) * scale


@composite
def relu6(x: Any) -> Tensor:
    """The input between 0 and 6."""
    return arithmetic.Minimum(activation.ReLU(x), like(6, x))


@composite
def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """The input between two bounds."""
    return arithmetic.Minimum(arithmetic.Maximum(input, like(min_val, input)), like(max_val, input))


@composite
def hardsigmoid(input: Any) -> Tensor:
    """``(input + 3) / 6`` between 0 and 1."""
    return relu6(input + 3.0) * (1.0 / 6.0)


@composite
def hardswish(input: Any) -> Tensor:
    """``input * hardsigmoid(input)``."""
    return input * hardsigmoid(input)


@composite
def softsign(x: Any) -> Tensor:
    """``x / (1 + |x|)``."""
    return x / (arithmetic.Abs(x) + 1.0)


@composite
def glu(x: Any, axis: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    from mycelia.ops.function.shaping import chunk
    first, second = chunk(x, 2, axis)
    return first * Sigmoid(second)


@composite
def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`` (Barron 2017).

    Raises:
        TypeError: an integer tensor.
        ValueError: alpha 0.
    """
    x = _float_input("celu", x)
    if alpha == 0:
        raise ValueError("celu: alpha must not be 0. Received: alpha=0")
    return _piecewise(x, _expm1_below_zero(x * (1.0 / alpha)) * alpha)


def _within(x: Tensor, bound: float) -> Tensor:
    return comparison.LessEqual(arithmetic.Abs(x), like(bound, x))


@composite
def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """The input, 0 where it is within ``lambd`` of 0."""
    x = _float_input("hardshrink", input)
    return selection.Select(_within(x, lambd), like(0, x), x)


@composite
def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """The input moved towards 0 by ``lambd``, 0 where it is within that."""
    x = _float_input("softshrink", input)
    return selection.Select(_within(x, lambd), like(0, x), x - arithmetic.Sign(x) * lambd)


@composite
def tanhshrink(input: Any) -> Tensor:
    """``input - tanh(input)``."""
    x = _float_input("tanhshrink", input)
    return x - Tanh(x)


@composite
def threshold(input: Any, thr: float, value: float) -> Tensor:
    """The input where it is above ``thr``, ``value`` elsewhere."""
    x = as_tensor("threshold", input)
    return selection.Select(comparison.Greater(x, like(thr, x)), x, like(value, x))


@composite
def fast_gelu(x: Any) -> Tensor:
    """``x * sigmoid(1.702 * x)``, close to `gelu` (Hendrycks and Gimpel 2016)."""
    x = _float_input("fast_gelu", x)
    return x * Sigmoid(x * 1.702)


@composite
def swiglu(input: Any, dim: int = -1) -> Tensor:
    """`silu` of the first half along an axis times the second (Shazeer 2020)."""
    from mycelia.ops.function.shaping import chunk
    first, second = chunk(input, 2, dim)
    return silu(first) * second


@composite
def logit(input: Any, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``, the input being kept within [eps, 1 - eps]."""
    x = _float_input("logit", input)
    if eps is not None:
        x = arithmetic.Minimum(arithmetic.Maximum(x, like(eps, x)), like(1.0 - eps, x))
    return exponential.Log(x / (1.0 - x))


def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """The input, times a number drawn uniformly from [lower, upper) where it is negative (Xu et al. 2015).

    Raises:
        ValueError: bounds outside [0, 1], or the wrong way round.
    """
    from mycelia.ops.function.drawing import rand_like
    x = _float_input("rrelu", input)
    if not 0 <= lower <= upper <= 1:
        raise ValueError(
            f"rrelu: 0 <= lower <= upper <= 1 must hold. Received: lower={lower}, upper={upper}"
        )
    return _piecewise(x, x * (rand_like(x) * (upper - lower) + lower))


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution (Jang et al. 2017).

    Args:
        logits: unnormalised log-probabilities.
        tau: temperature, positive.
        hard: give one-hot vectors, with the gradient of the soft samples.
        dim: the axis of the categories.

    Raises:
        TypeError: an integer tensor.
        ValueError: a temperature that is not positive.
    """
    from mycelia.ops.control import StopGradient
    from mycelia.ops.function.drawing import rand_like
    from mycelia.ops.function.reducing import argmax
    from mycelia.ops.function.shaping import one_hot
    x = _float_input("gumbel_softmax", logits)
    if tau <= 0:
        raise ValueError(f"gumbel_softmax: tau must be positive. Received: tau={tau}")
    drawn = arithmetic.Maximum(rand_like(x), like(1e-20, x))
    y = softmax((x - exponential.Log(-exponential.Log(drawn))) / tau, dim)
    if not hard:
        return y
    axis = normalise_axis("gumbel_softmax", dim, x.ndim)
    hot = cast(one_hot(argmax(y, axis), x.shape[axis], axis=axis if axis < x.ndim - 1 else -1), y.dtype)
    return StopGradient(hot - y) + y


def softmax(input: Any, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """``exp(input)`` over its sum along an axis.

    Args:
        input: a float tensor with at least one axis.
        axis: where the results add up to 1.
        dtype: converts the input first.

    Raises:
        TypeError: an integer tensor.
        ValueError: an axis out of range.

    Example:
        >>> softmax(Tensor([0.0, 0.0]))
        Tensor(shape=[2], dtype=Float32, value= [0.5, 0.5])
    """
    x = as_tensor("softmax", input)
    x = x if dtype is None else cast(x, resolve_dtype("softmax", dtype))
    return softmaxes.Softmax(x, axis=normalise_axis("softmax", axis, x.ndim))


def log_softmax(logits: Any, axis: int = -1) -> Tensor:
    """The logarithm of `softmax`, computed without underflow."""
    x = as_tensor("log_softmax", logits)
    return softmaxes.LogSoftmax(x, axis=normalise_axis("log_softmax", axis, x.ndim))


def softmin(x: Any, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """`softmax` of the negated input."""
    return softmax(-floating("softmin", x), axis, dtype=dtype)


swish, soft_shrink = silu, softshrink
