"""Losses as cells; the formulas are in `mycelia.ops`."""

from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import float32
from mycelia.nn.cell import Cell
from mycelia.ops.function import losses
from mycelia.tensor.tensor import Tensor


class LossBase(Cell):
    """Base of losses: ``get_loss`` weighs and reduces what ``construct`` computed element by element.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: another reduction.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"{self.cls_name}: reduction must be 'mean', 'sum' or 'none'. Received: "
                f"reduction={reduction!r}"
            )
        self.reduction = reduction

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
