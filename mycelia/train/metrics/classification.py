"""Counts of right and wrong predictions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric

_EPS = sys.float_info.min


class Accuracy(Metric):
    """The share of right predictions.

    Args:
        eval_type: ``"classification"``: scores [N, C] against classes [N] or one-hot [N, C]; the largest
            score counts (for [N, C, ...], at each place). ``"multilabel"``: zeros and ones [N, C], all of
            which must agree.

    Example:
        >>> metric = Accuracy()
        >>> metric.update(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
        >>> float(metric.eval())
        0.5
    """

    def __init__(self, eval_type: str | None = "classification") -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise ValueError(
                "Accuracy: eval_type must be 'classification' or 'multilabel'. Received: "
                f"eval_type={eval_type!r}"
            )
        self.eval_type = eval_type
        self.clear()

    def clear(self) -> None:
        self._right = self._total = 0

    def update(self, *inputs: Any) -> None:
        scores, labels = self._arrays(inputs, 2, "predictions and labels")
        if scores.ndim < 2:
            raise ValueError(
                f"Accuracy.update: predictions must have shape [N, C, ...]. Received: {scores.shape}"
            )
        if self.eval_type == "multilabel":
            if scores.shape != labels.shape:
                raise ValueError(
                    "Accuracy.update: predictions and labels must have one shape. Received: "
                    f"{scores.shape} and {labels.shape}"
                )
            right = np.moveaxis(scores == labels, 1, -1).all(axis=-1)
        else:
            if labels.ndim == scores.ndim and labels.shape == scores.shape:
                labels = labels.argmax(axis=1)
            predicted = scores.argmax(axis=1)
            if predicted.shape != labels.shape:
                raise ValueError(
                    "Accuracy.update: labels must have the shape of the predictions without the "
                    f"axis of classes, or be one-hot. Received: predictions {scores.shape}, "
                    f"labels {labels.shape}"
                )
            right = predicted == labels
        self._right += int(right.sum())
        self._total += right.size

    def eval(self) -> float:
        return self._right / self._some(self._total)


class TopKCategoricalAccuracy(Metric):
    """The share of labels that are among the `k` largest scores."""

    def __init__(self, k: int) -> None:
        super().__init__()
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"TopKCategoricalAccuracy: k must be a positive integer. Received: k={k!r}")
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._right = self._total = 0

    def update(self, *inputs: Any) -> None:
        scores, labels = self._arrays(inputs, 2, "predictions and labels")
        if labels.shape == scores.shape:
            labels = labels.argmax(axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        self._right += int((best == labels.reshape(-1, 1)).any(axis=1).sum())
        self._total += len(scores)

    def eval(self) -> float:
        return self._right / self._some(self._total)


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """`TopKCategoricalAccuracy` with k = 1."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """`TopKCategoricalAccuracy` with k = 5."""

    def __init__(self) -> None:
        super().__init__(5)


class _Counts(Metric):
    """What precision, recall and their means count: for each class how often it was predicted, how often it
    was
    true, and how often both; with several labels, for each item."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise ValueError(
                f"{type(self).__name__}: eval_type must be 'classification' or 'multilabel'. Received: "
                f"eval_type={eval_type!r}"
            )
        self.eval_type = eval_type
        self.clear()

    def clear(self) -> None:
        self._classes = 0
        self._hits, self._predicted, self._true = (np.zeros(0) for _ in range(3))

    def update(self, *inputs: Any) -> None:
        scores, labels = self._pair(inputs)
        self._require(scores.ndim >= 2, "predictions must be [N, C, ...]", scores.shape)
        classes = scores.shape[1]
        self._require(
            self._classes in (0, classes), f"predictions must have {self._classes} classes as before", classes
        )
        if self.eval_type == "classification":
            if labels.shape == scores.shape:
                labels = labels.argmax(axis=1)
            self._require(
                labels.shape == (scores.shape[0], *scores.shape[2:]),
                "labels must have the shape of the predictions without the axis of classes, or be one-hot",
                f"predictions {scores.shape}, labels {labels.shape}",
            )
            self._require(
                labels.max(initial=0) < classes, f"labels must be below {classes}", labels.max(initial=0)
            )
            each = np.eye(classes)
            a, b = each[scores.argmax(axis=1).reshape(-1)], each[labels.reshape(-1).astype(np.int64)]
        else:
            self._require(
                labels.shape == scores.shape, "labels must have the shape of the predictions", labels.shape
            )
            self._require(
                np.isin(scores, (0, 1)).all() and np.isin(labels, (0, 1)).all(),
                "predictions and labels must be zeros and ones with eval_type='multilabel'",
                "other numbers",
            )
            a, b = (x.swapaxes(1, 0).reshape(classes, -1).astype(np.float64) for x in (scores, labels))
        counts = (a * b).sum(0), a.sum(0), b.sum(0)
        held = (self._hits, self._predicted, self._true)
        if self.eval_type == "multilabel":
            self._hits, self._predicted, self._true = (np.concatenate(p) for p in zip(held, counts))
        elif not self._classes:
            self._hits, self._predicted, self._true = counts
        else:
            self._hits, self._predicted, self._true = (x + y for x, y in zip(held, counts))
        self._classes = classes

    def _share(self, of: np.ndarray, average: bool) -> Any:
        self._some(self._classes)
        shares = self._hits / (of + _EPS)
        return shares.mean() if average else shares


class Precision(_Counts):
    """The share of predictions of each class that are right; with ``eval_type="multilabel"`` of each item's.
    ``eval(average=False)``."""

    def eval(self, average: bool = False) -> Any:
        return self._share(self._predicted, average)


class Recall(_Counts):
    """The share of each class's items that were predicted; with ``eval_type="multilabel"`` of each item's
    labels. ``eval(average=False)``."""

    def eval(self, average: bool = False) -> Any:
        return self._share(self._true, average)


class Fbeta(_Counts):
    """The weighted harmonic mean of precision and recall: (1 + beta²) * hits / (beta² * true + predicted),
    for
    each class. ``eval(average=False)``."""

    def __init__(self, beta: float) -> None:
        if not beta > 0:
            raise ValueError(f"Fbeta: beta must be positive. Received: beta={beta}")
        super().__init__()
        self.beta = beta

    def eval(self, average: bool = False) -> Any:
        self._some(self._classes)
        square = self.beta**2
        scores = (1 + square) * self._hits / (square * self._true + self._predicted + _EPS)
        return scores.mean() if average else scores


class F1(Fbeta):
    """`Fbeta` with beta = 1."""

    def __init__(self) -> None:
        super().__init__(1.0)
