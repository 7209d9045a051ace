"""Losses as cells; the formulas are in `mycelia.ops`."""

from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import float32, int32
from mycelia.nn.cell import Cell
from mycelia.nn.function_cell import cell
from mycelia.nn.layer.activation import get_activation
from mycelia.nn.loss.ctc import ctc_loss
from mycelia.ops.arithmetic import Maximum, Minimum, Pow, Square
from mycelia.ops.comparison import Greater, Less
from mycelia.ops.constants import like
from mycelia.ops.exponential import Exp, Log, Sqrt
from mycelia.ops.function import activations, losses, margin_losses
from mycelia.ops.function.shaping import reshape, transpose
from mycelia.ops.indexing import OneHot
from mycelia.ops.promotion import as_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor


class LossBase(Cell):
    """Base of losses: ``get_loss`` weighs and reduces what ``construct`` computed element by element.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: another reduction.
    """

    reductions = ("mean", "sum", "none")

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction
        self.check_settings()

    def check_settings(self) -> None:
        """Raises ValueError for a reduction that there is not."""
        if self.reduction not in self.reductions:
            raise ValueError(
                f"{self.cls_name}: reduction must be one of {self.reductions}. Received: "
                f"reduction={self.reduction!r}"
            )

    def get_loss(self, x: Tensor, weights: Any = 1.0) -> Tensor:
        """``x`` times the weights, reduced."""
        dtype = x.dtype
        x = x.astype(float32) * weights
        if self.reduction == "mean":
            x = x.mean()
        elif self.reduction == "sum":
            x = x.sum()
        return x.astype(dtype)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        raise NotImplementedError(f"{self.cls_name}: a loss computes in construct(self, logits, labels)")


_Loss = LossBase  # its older name


class MSELoss(LossBase):
    """(logits - labels)², reduced."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.mse_loss(logits, labels, self.reduction)


class L1Loss(LossBase):
    """|logits - labels|, reduced."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.l1_loss(logits, labels, self.reduction)


class MAELoss(L1Loss):
    """The mean absolute error: `L1Loss` by another name."""


class SmoothL1Loss(LossBase):
    """d² / (2 * beta) where d = |logits - labels| is below beta, d - beta / 2 elsewhere."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """d² / 2 where d = |logits - labels| is below delta, delta * (d - delta / 2) elsewhere."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.huber_loss(logits, labels, self.reduction, self.delta)


class BCELoss(LossBase):
    """-(y * log(p) + (1 - y) * log(1 - p)) of probabilities p."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """`BCELoss` of the sigmoid of logits."""

    def __init__(
        self, reduction: str = "mean", weight: Tensor | None = None, pos_weight: Tensor | None = None
    ) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.binary_cross_entropy_with_logits(
            logits, labels, self.weight, self.pos_weight, self.reduction
        )


class NLLLoss(LossBase):
    """Minus the log-probability of the label's class; see `mycelia.ops.nll_loss`."""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(LossBase):
    """Cross entropy of logits ``[n, classes, ...]`` with class indices ``[n, ...]`` or with probabilities of
    the logits' shape.

    Args:
        weight: a weight for each class.
        ignore_index: labels of this class do not count.
        reduction: ``"mean"`` (over the weights that count), ``"sum"`` or ``"none"``.
        label_smoothing: the share of a label that is spread over all classes.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        if not 0 <= label_smoothing <= 1:
            raise ValueError(
                "CrossEntropyLoss: label_smoothing must be in [0, 1]. Received: "
                f"label_smoothing={label_smoothing!r}"
            )
        self.weight, self.ignore_index, self.label_smoothing = weight, ignore_index, float(label_smoothing)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of logits ``[n, classes]`` with probabilities of their shape, or with class indices
    ``[n]`` if ``sparse``."""

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        if not isinstance(sparse, bool):
            raise TypeError(
                f"SoftmaxCrossEntropyWithLogits: sparse must be a bool. Received: sparse={sparse!r} (of type "
                f"{type(sparse).__name__})"
            )
        self.sparse = sparse

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        compute = losses.sparse_softmax_cross_entropy if self.sparse else losses.softmax_cross_entropy
        return compute(logits, labels, self.reduction)


def _loss(name: str, function: Any, inputs: int = 2, only: str | None = None, **defaults: Any) -> type[Cell]:
    return cell(name, function, inputs, only, base=LossBase, **defaults)


CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", losses.cosine_embedding_loss, 3)
MarginRankingLoss = _loss("MarginRankingLoss", margin_losses.margin_ranking_loss, 3)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", margin_losses.hinge_embedding_loss)
SoftMarginLoss = _loss("SoftMarginLoss", margin_losses.soft_margin_loss)
GaussianNLLLoss = _loss("GaussianNLLLoss", margin_losses.gaussian_nll_loss, 3)
MultilabelMarginLoss = _loss("MultilabelMarginLoss", margin_losses.multilabel_margin_loss)
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", margin_losses.multilabel_soft_margin_loss)
L1LossExt = _loss("L1LossExt", losses.l1_loss)


class KLDivLoss(LossBase):
    """labels * (log(labels) - logits), reduced; ``"batchmean"`` divides the sum by the first extent."""

    reductions = ("mean", "sum", "none", "batchmean")

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.kl_div(logits, labels, self.reduction)


class MultiMarginLoss(LossBase):
    """sum(max(0, margin - x[y] + x[i]) ** p) over the other classes i, over the number of classes."""

    def __init__(
        self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Tensor | None = None
    ) -> None:
        super().__init__(reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p must be 1 or 2. Received: p={p!r}")
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        weight = self.weight if weight is None else weight
        return margin_losses.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class TripletMarginLoss(LossBase):
    """max(d(x, positive) - d(x, negative) + margin, 0) with the p-norm as distance. Balntas et al. 2016.

    Args:
        p: of the norm.
        swap: whether the negative's distance is the smaller of those to x and to the positive.
        eps: added to differences.
        reduction: see `LossBase`.
        margin: see there.
    """

    def __init__(
        self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        self.p, self.swap, self.eps, self.margin = p, bool(swap), eps, margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: Any = None) -> Tensor:
        margin = self.margin if margin is None else margin
        return margin_losses.triplet_margin_loss(
            x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction
        )


class TripletMarginWithDistanceLoss(LossBase):
    """`TripletMarginLoss` with a distance of one's own, ``distance_function(a, b)``; the Euclidean along
    axis 1
    if None."""

    def __init__(
        self, distance_function: Any = None, swap: bool = False, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        if margin < 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: margin must be at least 0. Received: {margin}")
        self.distance_function = distance_function or _euclidean
        self.swap, self.margin = bool(swap), margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = Minimum(far, self.distance_function(positive, negative))
        loss = near - far + self.margin
        return self.get_loss(Maximum(loss, like(0, loss)))


def _euclidean(a: Tensor, b: Tensor) -> Tensor:
    return Sqrt(Square(a - b).sum(1))


class RMSELoss(LossBase):
    """The root of the mean squared difference."""

    def __init__(self) -> None:
        super().__init__("mean")

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return Sqrt(losses.mse_loss(logits, label))


class PoissonNLLLoss(LossBase):
    """exp(input) - target * input, or with ``log_input=False`` input - target * log(input + eps).

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: whether Stirling's approximation of log(target!) is added where the target is above 1.
        eps: see there.
        reduction: see `LossBase`.
    """

    def __init__(
        self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        if eps == 0:
            raise ValueError("PoissonNLLLoss: eps must not be 0. Received: eps=0")
        self.log_input, self.full, self.eps = bool(log_input), bool(full), eps

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        if self.log_input:
            loss = Exp(input) - target * input
        else:
            loss = input - target * Log(input + self.eps)
        if self.full:
            one = like(1, target)
            many = Greater(target, one)
            n = Select(many, target, one)
            stirling = n * Log(n) - n + Log(n * (2 * math.pi)) * 0.5
            loss = loss + Select(many, stirling, like(0, target))
        return self.get_loss(loss)


class DiceLoss(LossBase):
    """1 - 2 * sum(logits * label) / (sum(logits²) + sum(label²) + smooth). Milletari, Navab and Ahmadi,
    "V-Net", 2016, section 3."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if smooth <= 0:
            raise ValueError(f"DiceLoss: smooth must be positive. Received: smooth={smooth!r}")
        self.smooth = float(smooth)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        if logits.shape != label.shape:
            raise ValueError(
                f"{self.cls_name}: logits and label must have one shape. Received: {logits.shape} and "
                f"{label.shape}"
            )
        union = Square(logits).sum() + Square(label).sum() + self.smooth
        return 1.0 - (logits * label).sum() * 2.0 / union


class MultiClassDiceLoss(LossBase):
    """The mean of the `DiceLoss` of each class of ``[n, classes, ...]``.

    Args:
        weights: a weight for each class (the first axis counts), or None.
        ignore_indiex: a class that adds nothing.
        activation: of the logits, a name, a Cell or None.
    """

    def __init__(
        self, weights: Tensor | None = None, ignore_indiex: int | None = None, activation: Any = "softmax"
    ) -> None:
        super().__init__()
        self.weights, self.ignore_indiex = weights, ignore_indiex
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        self.binarydiceloss = DiceLoss()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        if logits.shape != label.shape or logits.ndim < 2:
            raise ValueError(
                "MultiClassDiceLoss: logits and label must have one shape of two axes or more. Received: "
                f"{logits.shape} and {label.shape}"
            )
        if self.activation is not None:
            logits = self.activation(logits)
        total: Any = 0.0
        for i in range(label.shape[1]):
            if i != self.ignore_indiex:
                loss = self.binarydiceloss(logits[:, i], label[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / float(label.shape[1])


class FocalLoss(LossBase):
    """-(1 - p) ** gamma * log(p) of the label's probability p. Lin et al., "Focal Loss for Dense Object
    Detection", 2017, equation 5.

    Args:
        weight: a weight for each class.
        gamma: how much less sure predictions count.
        reduction: see `LossBase`.

    ``construct(logits, labels)``: logits ``[n, classes, ...]``, labels ``[n, 1, ...]`` with class indices or
    ``[n, classes, ...]`` with zeros and ones.
    """

    def __init__(self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if weight is not None and (not isinstance(weight, Tensor) or weight.ndim != 1):
            raise ValueError(f"FocalLoss: weight must be a 1-D Tensor or None. Received: {weight!r:.80}")
        self.weight, self.gamma = weight, float(gamma)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        n, classes = logits.shape[:2]
        if labels.ndim != logits.ndim or labels.shape[1] not in (1, classes):
            raise ValueError(
                f"FocalLoss: labels must be [n, 1, ...] or [n, {classes}, ...] for logits {logits.shape}. "
                f"Received: {labels.shape}"
            )
        places = logits.size // (n * classes)
        log_p = activations.log_softmax(reshape(logits, (n, classes, places)), 1)
        if labels.shape[1] == 1:
            index = reshape(labels, (n, places)).astype(int32)
            hot = OneHot(index, depth=classes, on=1, off=0, dtype=logits.dtype)
            hot = transpose(hot, (0, 2, 1))
        else:
            hot = reshape(labels, (n, classes, places)).astype(logits.dtype)
        loss = -Pow(1.0 - Exp(log_p), like(self.gamma, log_p)) * log_p * hot
        if self.weight is not None:
            loss = loss * reshape(self.weight, (1, classes, 1)).astype(loss.dtype)
        return self.get_loss(loss.sum(1).mean(1) if labels.shape[1] == 1 else loss.mean(-1))


class CTCLoss(LossBase):
    """Minus the log-probability of sequences of labels that are not aligned with the steps; see
    `mycelia.nn.loss.ctc`.

    Args:
        blank: the class that stands for no label.
        reduction: ``"mean"`` divides by the targets' lengths first.
        zero_infinity: whether impossible targets count as 0 instead of infinity.

    ``construct(log_probs, targets, input_lengths, target_lengths)``: log-probabilities ``[steps, n,
    classes]``,
    targets ``[n, labels]``.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, bool(zero_infinity)

    def construct(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        single = log_probs.ndim == 2
        if single:
            log_probs = log_probs.expand_dims(1)
            targets = targets.expand_dims(0) if targets.ndim == 1 else targets
        loss = ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank)
        if self.zero_infinity:
            loss = Select(Less(loss, like(_IMPOSSIBLE, loss)), loss, like(0, loss))
        if self.reduction == "mean":
            lengths = reshape(as_tensor("CTCLoss", target_lengths), loss.shape).astype(loss.dtype)
            return (loss / Maximum(lengths, like(1, loss))).mean()
        if self.reduction == "sum":
            return loss.sum()
        return loss.squeeze(0) if single else loss


_IMPOSSIBLE = 1e29
