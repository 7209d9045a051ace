"""Losses that keep scores apart by a margin, and those of several labels at once."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import int64
from mycelia.ops import arithmetic, comparison, exponential
from mycelia.ops.composite import composite
from mycelia.ops.constants import like, scalar
from mycelia.ops.creation import Iota
from mycelia.ops.function.activations import logsigmoid
from mycelia.ops.function.losses import reduced
from mycelia.ops.function.shaping import expand_dims, reshape
from mycelia.ops.indexing import Gather, GatherD
from mycelia.ops.logic import LogicalAnd
from mycelia.ops.promotion import cast, operands, require_tensor
from mycelia.ops.reduction import ReduceAny, ReduceMean, ReduceSum
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = [
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]


def _positive(x: Tensor) -> Tensor:
    return arithmetic.Maximum(x, like(0, x))


@composite
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: the target is 1 where the first should rank higher, -1
    where the second.

    Raises:
        ValueError: shapes that do not broadcast, another reduction.
    """
    x, y = operands("margin_ranking_loss", input1, input2)
    return reduced("margin_ranking_loss", _positive(margin - target * (x - y)), reduction)


@composite
def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Raises:
        ValueError: shapes that do not broadcast, another reduction.
    """
    x, y = operands("hinge_embedding_loss", inputs, targets)
    loss = Select(comparison.Equal(y, like(1, y)), x, like(0, x))
    loss = loss + Select(comparison.Equal(y, like(-1, y)), _positive(margin - x), like(0, x))
    return reduced("hinge_embedding_loss", loss, reduction)


@composite
def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``, the target being 1 or -1.

    Raises:
        ValueError: shapes that do not broadcast, another reduction.
    """
    x, y = operands("soft_margin_loss", input, target)
    return reduced("soft_margin_loss", -logsigmoid(y * x), reduction)


def _distance(x: Tensor, y: Tensor, p: float, eps: float) -> Tensor:
    size = arithmetic.Abs(x - y + eps)
    total = ReduceSum(arithmetic.Pow(size, like(float(p), size)), axes=(x.ndim - 1,), keepdims=False)
    return arithmetic.Pow(total, like(1.0 / p, total))


@composite
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the p-norm's distance along the
    last axis (Schroff et al. 2015).

    Args:
        anchor, positive, negative: ``[n, features]``, or shapes that broadcast.
        margin: how much farther the negative must be.
        p: of the norm.
        eps: added to differences.
        swap: take the positive's distance to the negative where that is smaller (Balntas et al. 2016).
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
    """
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = arithmetic.Minimum(far, _distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", _positive(near - far + margin), reduction)


@composite
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the normal density of the target with mean ``x`` and variance ``var`` (at least
    eps), without its constant unless ``full`` (Nix and Weigend 1994).

    Raises:
        ValueError: eps that is not positive, another reduction.
    """
    if eps <= 0:
        raise ValueError(f"gaussian_nll_loss: eps must be positive. Received: eps={eps}")
    if var.shape != x.shape and (*var.shape, 1) != tuple(x.shape) and var.ndim == x.ndim - 1:
        var = expand_dims(var, -1)
    var = arithmetic.Maximum(var, like(eps, var))
    loss = (exponential.Log(var) + arithmetic.Square(x - target) / var) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", loss, reduction)


def _rows(name: str, x: Any, target: Any) -> tuple[Tensor, Tensor, bool]:
    x, target = require_tensor(name, x), require_tensor(name, target, "target")
    if x.ndim not in (1, 2):
        raise ValueError(
            f"{name}: the input must be [n, classes] or [classes]. Received: {x.type}, target {target.type}"
        )
    if not target.dtype.is_integer:
        raise TypeError(f"{name}: the target must hold integers. Received: {target.type}")
    single = x.ndim == 1
    return (expand_dims(x, 0), expand_dims(target, 0), True) if single else (x, target, False)


@composite
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes of ``max(0, margin - score of the target + score of the other) ** p``.

    Args:
        input: scores ``[n, classes]`` or ``[classes]``.
        target: class indices ``[n]`` or 0-d.
        p: 1 or 2.
        margin: see above.
        weight: a weight for each class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: another p, shapes that do not match.
    """
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p must be 1 or 2. Received: p={p!r}")
    x, target, single = _rows("multi_margin_loss", input, target)
    n, classes = x.shape
    column = reshape(cast(target, int64), (n, 1))
    rest = _positive(margin - GatherD(x, column, axis=1) + x)
    rest = rest if p == 1 else arithmetic.Square(rest)
    if weight is not None:
        rest = rest * Gather(weight, column, axis=0)
    own = comparison.Equal(reshape(Iota(size=classes, dtype=int64), (1, classes)), column)
    loss = ReduceSum(Select(own, like(0, rest), rest), axes=(1,), keepdims=False) / float(classes)
    return reduced("multi_margin_loss", reshape(loss, ()) if single else loss, reduction)


@composite
def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The mean over classes of ``max(0, 1 - score of a target + score of another class)``, summed over pairs.

    Args:
        input: scores ``[n, classes]`` or ``[classes]``.
        target: class indices of the same shape; those from the first -1 on do not count.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: shapes that differ.
    """
    x, target, single = _rows("multilabel_margin_loss", input, target)
    if target.shape != x.shape:
        raise ValueError(
            f"multilabel_margin_loss: input and target must have one shape. Received: {x.shape}, "
            f"{target.shape}"
        )
    from mycelia.ops.function.reducing import cumsum
    n, classes = x.shape
    target = cast(target, int64)
    ended = cumsum(cast(comparison.Less(target, scalar(0, int64)), int64), 1)
    valid = comparison.Equal(ended, scalar(0, int64))
    places = Select(valid, target, scalar(0, int64))
    steps = reshape(Iota(size=classes, dtype=int64), (1, 1, classes))
    hits = LogicalAnd(comparison.Equal(expand_dims(places, 2), steps), expand_dims(valid, 2))
    own = ReduceAny(hits, axes=(1,), keepdims=True)  # [n, 1, classes]
    gap = _positive(1.0 - expand_dims(GatherD(x, places, axis=1), 2) + expand_dims(x, 1))
    counted = LogicalAnd(expand_dims(valid, 2), comparison.Equal(own, scalar(False, own.dtype)))
    loss = ReduceSum(Select(counted, gap, like(0, gap)), axes=(1, 2), keepdims=False) / float(classes)
    return reduced("multilabel_margin_loss", reshape(loss, ()) if single else loss, reduction)


@composite
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes of the binary cross entropies of ``sigmoid(input)``.

    Args:
        input: scores ``[n, classes]``.
        target: 0 or 1, of the same shape.
        weight: a weight for each class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
    """
    x, y = operands("multilabel_soft_margin_loss", input, target)
    loss = -(y * logsigmoid(x) + (1.0 - y) * logsigmoid(-x))
    loss = loss if weight is None else loss * weight
    return reduced(
        "multilabel_soft_margin_loss", ReduceMean(loss, axes=(x.ndim - 1,), keepdims=False), reduction
    )
