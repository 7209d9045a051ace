"""Confusion matrices and what is computed from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric


class ConfusionMatrix(Metric):
    """How often each class (rows) was predicted as each (columns).

    Args:
        num_classes: number of classes.
        normalize: ``"no_norm"``, or what each count is divided by: ``"target"`` its row, ``"prediction"`` its
            column, ``"all"`` the whole.
        threshold: from which on scores of two classes ``[N]`` mean class 1.
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        if type(num_classes) is not int or num_classes < 1:
            raise ValueError(
                f"ConfusionMatrix: num_classes must be a positive int. Received: {num_classes!r}"
            )
        if normalize not in ("no_norm", "target", "prediction", "all"):
            raise ValueError(
                "ConfusionMatrix: normalize must be 'no_norm', 'target', 'prediction' or 'all'. Received: "
                f"{normalize!r}"
            )
        self.num_classes, self.normalize, self.threshold = num_classes, normalize, threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._updated = False

    def update(self, *inputs: Any) -> None:
        predicted, true = self._pair(inputs)
        self._require(
            predicted.ndim in (true.ndim, true.ndim + 1),
            "predictions must have as many axes as labels, or one more",
            f"{predicted.shape} and {true.shape}",
        )
        if predicted.ndim == true.ndim + 1:
            predicted = predicted.argmax(axis=1)
        elif predicted.dtype.kind == "f":
            predicted = predicted >= self.threshold
        pairs = true.ravel().astype(np.int64) * self.num_classes + predicted.ravel().astype(np.int64)
        counts = np.bincount(pairs, minlength=self.num_classes**2)
        self.confusion_matrix += counts.reshape(self.num_classes, self.num_classes)
        self._updated = True

    def eval(self) -> np.ndarray:
        self._some(self._updated)
        counts = self.confusion_matrix
        if self.normalize == "no_norm":
            return counts.astype(float)
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        total = counts.sum(axis=axis, keepdims=True)
        return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def _over(a: Any, b: Any) -> Any:
    """a / b, NaN where b is 0."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return np.divide(a, b, out=np.full(np.broadcast(a, b).shape, np.nan), where=b != 0)


# from true and false positives, true and false negatives
_FORMULAS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "tpr": lambda tp, fp, tn, fn: _over(tp, tp + fn),
    "tnr": lambda tp, fp, tn, fn: _over(tn, fp + tn),
    "ppv": lambda tp, fp, tn, fn: _over(tp, tp + fp),
    "npv": lambda tp, fp, tn, fn: _over(tn, tn + fn),
    "fnr": lambda tp, fp, tn, fn: _over(fn, tp + fn),
    "fpr": lambda tp, fp, tn, fn: _over(fp, fp + tn),
    "fdr": lambda tp, fp, tn, fn: _over(fp, fp + tp),
    "for": lambda tp, fp, tn, fn: _over(fn, fn + tn),
    "pt": lambda tp, fp, tn, fn: _prevalence_threshold(_over(tp, tp + fn), _over(tn, fp + tn)),
    "ts": lambda tp, fp, tn, fn: _over(tp, tp + fn + fp),
    "acc": lambda tp, fp, tn, fn: _over(tp + tn, tp + fp + tn + fn),
    "ba": lambda tp, fp, tn, fn: (_over(tp, tp + fn) + _over(tn, fp + tn)) / 2,
    "f1": lambda tp, fp, tn, fn: _over(2 * tp, 2 * tp + fn + fp),
    "mcc": lambda tp, fp, tn, fn: _over(
        tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    ),
    "fm": lambda tp, fp, tn, fn: np.sqrt(_over(tp, tp + fp) * _over(tp, tp + fn)),
    "bm": lambda tp, fp, tn, fn: _over(tp, tp + fn) + _over(tn, fp + tn) - 1,
    "mk": lambda tp, fp, tn, fn: _over(tp, tp + fp) + _over(tn, tn + fn) - 1,
}


def _prevalence_threshold(tpr: Any, tnr: Any) -> Any:
    return _over(np.sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1)


_NAMES = {
    "tpr": "sensitivity recall hit_rate true_positive_rate",
    "tnr": "specificity selectivity true_negative_rate",
    "ppv": "precision positive_predictive_value",
    "npv": "negative_predictive_value",
    "fnr": "miss_rate false_negative_rate",
    "fpr": "fall_out false_positive_rate",
    "fdr": "false_discovery_rate",
    "for": "false_omission_rate",
    "pt": "prevalence_threshold",
    "ts": "threat_score critical_success_index csi",
    "acc": "accuracy",
    "ba": "balanced_accuracy",
    "f1": "f1_score",
    "mcc": "matthews_correlation_coefficient",
    "fm": "fowlkes_mallows_index",
    "bm": "informedness bookmaker_informedness",
    "mk": "markedness deltap",
}
_SHORT = {name: short for short, names in _NAMES.items() for name in (short, *names.split())}

_DECREASES = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class ConfusionMatrixMetric(Metric):
    """A score from true and false positives and negatives of predictions of zeros and ones, ``[N, C, ...]``.

    Args:
        skip_channel: whether the first class counts too; False leaves it out (as background).
        metric_name: such as ``"sensitivity"``, ``"f1_score"`` or ``"acc"``.
        calculation_method: whether each item is scored and scores are averaged, instead of one score of all
            counts.
        decrease: how an item's scores are reduced then: ``"mean"``, ``"sum"``, over ``"..._batch"`` or
            ``"..._channel"`` alone, or ``"none"``.
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        short = _SHORT.get(str(metric_name).replace(" ", "_").lower())
        if short is None:
            raise ValueError(
                f"ConfusionMatrixMetric: metric_name must be one of {', '.join(_SHORT)}. Received: "
                f"{metric_name!r}"
            )
        if decrease not in _DECREASES:
            raise ValueError(
                f"ConfusionMatrixMetric: decrease must be one of {_DECREASES}. Received: {decrease!r}"
            )
        self.skip_channel, self.metric_name = bool(skip_channel), short
        self.calculation_method, self.decrease = bool(calculation_method), decrease
        self.clear()

    def clear(self) -> None:
        self._counts = np.zeros(4)
        self._sum, self._scored = 0.0, 0
        self._updated = False

    def update(self, *inputs: Any) -> None:
        predicted, true = self._pair(inputs)
        self._require(
            predicted.ndim >= 2 and predicted.shape == true.shape,
            "predictions and labels must have one shape [N, C, ...]",
            f"{predicted.shape} and {true.shape}",
        )
        self._require(np.isin(true, (0, 1)).all(), "labels must be zeros and ones", "other numbers")
        if not self.skip_channel and true.shape[1] > 1:
            predicted, true = predicted[:, 1:], true[:, 1:]
        a, b = (x.reshape(*x.shape[:2], -1).astype(np.float64) for x in (predicted, true))
        tp, tn = ((a + b == total).sum(2).astype(np.float64) for total in (2, 0))
        positives = b.sum(2)
        counts = tp, b.shape[2] - positives - tn, tn, positives - tp
        self._updated = True
        images = predicted.ndim > 2 and not (predicted.ndim == 3 and predicted.shape[-1] == 1)
        if self.calculation_method and images:
            scores = _FORMULAS[self.metric_name](*counts)
            value, usable = reduced(scores, self.decrease)
            usable = int(np.asarray(usable).item())
            self._sum += float(np.asarray(value).item()) * usable
            self._scored += usable
        else:
            self._counts += [c.sum() for c in counts]

    def eval(self) -> Any:
        self._some(self._updated)
        if self._scored:
            return self._sum / self._scored
        return _FORMULAS[self.metric_name](*(self._counts[i : i + 1] for i in range(4)))


def reduced(scores: np.ndarray, decrease: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores ``[N, C]`` reduced, NaN left out, and of how many each is made."""
    usable = ~np.isnan(scores)
    values, counts = np.where(usable, scores, 0.0), usable.astype(np.float64)

    def mean(values: np.ndarray, counts: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        total = counts.sum(axis)
        return np.divide(values.sum(axis), total, out=np.zeros_like(total), where=total > 0), total

    if decrease == "mean":
        by_item, total = mean(values, counts, 1)
        return mean(by_item, (total > 0).astype(np.float64), 0)
    if decrease == "sum":
        return values.sum(), counts.sum()
    kind, _, over = decrease.partition("_")
    if kind == "none":
        return values, counts
    axis = 0 if over == "batch" else 1
    return mean(values, counts, axis) if kind == "mean" else (values.sum(axis), counts.sum(axis))
