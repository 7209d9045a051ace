"""Loss functions and gradient clipping by norm."""
from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import float32, uint64
from mycelia.ops import arithmetic, comparison, exponential, selection
from mycelia.ops.composite import composite
from mycelia.ops.constants import like, scalar
from mycelia.ops.function.shaping import reshape
from mycelia.ops.indexing import Gather, GatherD
from mycelia.ops.movement import Reshape
from mycelia.ops.promotion import cast, operands, require_tensor
from mycelia.ops.reduction import ReduceMean, ReduceSum
from mycelia.ops.selection import Select
from mycelia.ops.softmaxes import LogSoftmax
from mycelia.tensor.tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")


def reduced(name: str, loss: Tensor, reduction: str) -> Tensor:
    """The loss itself, its mean, or its sum.

    Raises:
        ValueError: another reduction.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{name}: reduction must be one of {_REDUCTIONS}. Received: reduction={reduction!r}")
    if reduction == "none":
        return loss
    axes = tuple(range(loss.ndim))
    return (ReduceMean if reduction == "mean" else ReduceSum)(loss, axes=axes, keepdims=False)


@composite
def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The squared difference, averaged, summed or as it is."""
    x, y = operands("mse_loss", input, target)
    return reduced("mse_loss", arithmetic.Square(x - y), reduction)


@composite
def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The absolute difference, averaged, summed or as it is."""
    x, y = operands("l1_loss", input, target)
    return reduced("l1_loss", arithmetic.Abs(x - y), reduction)


@composite
def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """``d**2 / (2 beta)`` where the difference d is below beta, ``d - beta / 2`` elsewhere (Girshick
    2015)."""
    x, y = operands("smooth_l1_loss", input, target)
    d = arithmetic.Abs(x - y)
    loss = Select(comparison.Less(d, like(beta, d)), d * d * (0.5 / beta), d - 0.5 * beta) if beta > 0 else d
    return reduced("smooth_l1_loss", loss, reduction)


@composite
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """`smooth_l1_loss` times delta."""
    return reduced("huber_loss", smooth_l1_loss(input, target, delta, "none") * delta, reduction)


@composite
def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Tensor:
    """``labels * (log(labels) - logits)``: the divergence of distributions, the first given by logarithms."""
    zero, one = like(0, labels), like(1, labels)
    positive = comparison.Greater(labels, zero)
    loss = Select(positive, labels * (exponential.Log(Select(positive, labels, one)) - logits), zero)
    if reduction == "batchmean":
        return reduced("kl_div", loss, "sum") / float(loss.shape[0])
    return reduced("kl_div", loss, reduction)


@composite
def binary_cross_entropy(logits: Any, labels: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """Minus the logarithm of the probability given to the true class; logarithms are at least -100."""
    low = like(-100.0, logits)
    loss = -(labels * arithmetic.Maximum(exponential.Log(logits), low)
             + (1.0 - labels) * arithmetic.Maximum(exponential.Log(1.0 - logits), low))
    return reduced("binary_cross_entropy", loss if weight is None else loss * weight, reduction)


@composite
def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None,
                                     reduction: str = "mean") -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, without overflow."""
    softened = arithmetic.Maximum(-input, like(0, input)) + exponential.Log1p(
        exponential.Exp(-arithmetic.Abs(input))
    )
    scale = 1.0 if pos_weight is None else (pos_weight - 1.0) * target + 1.0
    loss = (1.0 - target) * input + scale * softened
    return reduced("binary_cross_entropy_with_logits", loss if weight is None else loss * weight, reduction)


def _class_axis(x: Tensor) -> int:
    return 0 if x.ndim == 1 else 1


def _picked(x: Tensor, target: Tensor, axis: int) -> Tensor:
    """The element of x that each target names. A negative class does not count from the end: it is out of
    range, as one beyond the last is."""
    index = Reshape(cast(target, uint64), shape=tuple(1 if i == axis else d for i, d in enumerate(x.shape)))
    return Reshape(GatherD(x, index, axis=axis), shape=target.shape)


def _require_classes(name: str, x: Any, target: Any) -> None:
    x, target = require_tensor(name, x), require_tensor(name, target, "target")
    axis = _class_axis(x)
    expected = x.shape[:axis] + x.shape[axis + 1:]
    if not target.dtype.is_integer or target.shape != expected:
        cure = "Convert or reshape the target"
        if target.dtype.is_integer and target.ndim == 1 and x.ndim > 2:
            layers = "nn.Flatten(), nn.Dense(features, classes)"
            if x.ndim == 4:
                layers = f"nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense({x.shape[1]}, classes)"
            cure = (
                "The input has more axes than [n, classes], as if the network had no head: flatten it and "
                "let a Dense layer make one number for each class, e.g. with "
                f"nn.SequentialCell({layers}) at the end"
            )
        elif target.dtype.is_integer and target.ndim == 2 and target.shape[1] == 1 and x.ndim == 2:
            cure = "Take the last axis off the target with squeeze(1)"
        raise (TypeError if not target.dtype.is_integer else ValueError)(
            f"{name}: the target must hold class indices (integers) of shape {expected}, or probabilities of "
            f"shape {x.shape}. "
            f"Received: input {x.type}, target {target.type}. {cure}"
        )


def _picked_loss(
    name: str,
    log_probabilities: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """Minus the picked log-probabilities with weights, smoothed, averaged over the weights that count."""
    x, axis = log_probabilities, _class_axis(log_probabilities)
    zero = like(0, x)
    valid = comparison.NotEqual(target, scalar(ignore_index, target.dtype))
    counted = cast(valid, x.dtype)
    target = Select(valid, target, scalar(0, target.dtype))
    if weight is not None:
        x = x * Reshape(weight, shape=tuple(x.shape[axis] if i == axis else 1 for i in range(x.ndim)))
        counted = Select(valid, Gather(weight, target, axis=0), zero)
    loss = -_picked(x, target, axis)
    if label_smoothing:
        spread = -ReduceSum(x, axes=(axis,), keepdims=False)
        loss = loss * (1.0 - label_smoothing) + spread * (label_smoothing / x.shape[axis])
    loss = Select(valid, loss, zero)
    if reduction == "mean":
        axes = tuple(range(loss.ndim))
        return ReduceSum(loss, axes=axes, keepdims=False) / ReduceSum(counted, axes=axes, keepdims=False)
    return reduced(name, loss, reduction)


@composite
def nll_loss(inputs: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
             label_smoothing: float = 0.0) -> Tensor:
    """Minus the log-probability of the target's class.

    Args:
        inputs: log-probabilities ``[n, classes, ...]`` or ``[classes]``.
        target: class indices ``[n, ...]`` or 0-d.
        weight: a weight for each class.
        ignore_index: targets of this class do not count.
        reduction: ``"none"``, ``"mean"`` (over the weights that count) or ``"sum"``.
        label_smoothing: the share of the target that is spread over all classes.

    Raises:
        TypeError: targets that are no integers.
        ValueError: shapes that do not match.
    """
    _require_classes("nll_loss", inputs, target)
    return _picked_loss("nll_loss", inputs, target, weight, ignore_index, reduction, label_smoothing)


@composite
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of the log-softmax of logits; the target holds class indices, or probabilities of the
    input's shape.

    Example:
        >>> cross_entropy(Tensor([[0.0, 0.0]]), Tensor([1]))
        Tensor(shape=[], dtype=Float32, value= 0.6931472)
    """
    x, axis = require_tensor("cross_entropy", input), _class_axis(input)
    logs = LogSoftmax(x, axis=axis)
    if require_tensor("cross_entropy", target, "target").dtype.kind == "f" and target.shape == x.shape:
        if label_smoothing:
            target = target * (1.0 - label_smoothing) + label_smoothing / x.shape[axis]
        weighted = logs * cast(target, x.dtype)
        if weight is not None:
            weighted = weighted * reshape(weight, tuple(-1 if i == axis else 1 for i in range(x.ndim)))
        loss = -ReduceSum(weighted, axes=(axis,), keepdims=False)
        return reduced("cross_entropy", loss, reduction)
    _require_classes("cross_entropy", x, target)
    return _picked_loss("cross_entropy", logs, target, weight, ignore_index, reduction, label_smoothing)


@composite
def sparse_softmax_cross_entropy(logits: Any, labels: Any, reduction: str = "none") -> Tensor:
    """Cross entropy of logits ``[n, classes]`` with class indices ``[n]``."""
    x = require_tensor("sparse_softmax_cross_entropy", logits)
    _require_classes("sparse_softmax_cross_entropy", x, labels)
    logs = LogSoftmax(x, axis=1)
    return reduced("sparse_softmax_cross_entropy", -_picked(logs, labels, 1), reduction)


@composite
def softmax_cross_entropy(logits: Any, labels: Any, reduction: str = "none") -> Tensor:
    """Cross entropy of logits ``[n, classes]`` with probabilities of the same shape."""
    x, y = operands("softmax_cross_entropy", logits, labels)
    if x.shape != y.shape:
        indices = y.ndim == x.ndim - 1 and isinstance(labels, Tensor) and labels.dtype.is_integer
        cure = "For class indices, make the loss with sparse=True" if indices else "Reshape one of them"
        given = str(labels.type) if isinstance(labels, Tensor) else repr(labels)
        raise ValueError(
            "softmax_cross_entropy: labels must have the shape of logits, a probability for each class. "
            f"Received: logits {x.type}, labels {given}. {cure}"
        )
    return reduced(
        "softmax_cross_entropy", -ReduceSum(LogSoftmax(x, axis=1) * y, axes=(1,), keepdims=False), reduction
    )


@composite
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 minus the cosine of similar pairs (target 1), what the cosine exceeds the margin by for others
    (target -1)."""
    from mycelia.ops.function.linear import cosine_similarity
    cosine = cosine_similarity(input1, input2, input1.ndim - 1)
    zero = like(0, cosine)
    similar = comparison.Greater(cast(target, cosine.dtype), zero)
    return reduced(
        "cosine_embedding_loss",
        Select(similar, 1.0 - cosine, arithmetic.Maximum(cosine - margin, zero)),
        reduction,
    )


def global_norm(tensors: Any) -> Tensor:
    """The root of the sum of all squares of a list of tensors, in float32."""
    total = None
    for g in tensors:
        squares = ReduceSum(
            arithmetic.Square(cast(g, float32) if g.dtype.itemsize < 4 else g),
            axes=tuple(range(g.ndim)),
            keepdims=False,
        )
        squares = cast(squares, float32) if squares.dtype.itemsize < 4 else squares
        total = squares if total is None else total + squares
    return exponential.Sqrt(total)


@composite
def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """Tensors scaled so that the norm of all of them together is at most ``clip_norm`` (Pascanu et al. 2013).

    Args:
        x: a list or tuple of tensors, such as gradients.
        clip_norm: the largest norm.
        use_norm: not used, as in MindSpore.

    Raises:
        TypeError: not a list or tuple.
        ValueError: a norm that is not positive, or ``use_norm``.
    """
    if not isinstance(x, (list, tuple)):
        raise TypeError(
            f"clip_by_global_norm: x must be a list or tuple of tensors. Received: {type(x).__name__}"
        )
    if use_norm is not None:
        raise ValueError(f"clip_by_global_norm: use_norm must be None. Received: use_norm={use_norm!r}")
    if clip_norm <= 0:
        raise ValueError(f"clip_by_global_norm: clip_norm must be positive. Received: clip_norm={clip_norm}")
    if not x:
        return x
    norm = global_norm(x)
    limit = like(float(clip_norm), norm)
    scale = limit / arithmetic.Maximum(norm, limit)
    return tuple(
        selection.Cast(g * scale, dtype=g.dtype) if g.dtype is not scale.dtype else g * scale for g in x
    )


def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """Tensors scaled so that their norm together is at most ``max_norm``; only the 2-norm."""
    single = isinstance(x, Tensor)
    if norm_type != 2.0:
        raise ValueError(f"clip_by_norm: norm_type must be 2. Received: norm_type={norm_type}")
    clipped = clip_by_global_norm([x] if single else x, max_norm)
    return clipped[0] if single else clipped
