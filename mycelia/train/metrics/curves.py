"""Receiver operating characteristics and the area under curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric

Curve = tuple[np.ndarray, np.ndarray, np.ndarray]


class ROC(Metric):
    """False-positive rates, true-positive rates and thresholds of the latest batch; with several classes,
    lists
    with one of each for each class.

    Args:
        class_num: number of classes of scores ``[N, C]``; None for scores ``[N]``.
        pos_label: the label that is positive, for scores ``[N]``; 1 if None.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None and type(value) is not int:
                raise TypeError(f"ROC: {name} must be an int or None. Received: {name}={value!r}")
        self.class_num, self.pos_label = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        self._curves: list[tuple[np.ndarray, np.ndarray]] = []
        self._single = True

    def update(self, *inputs: Any) -> None:
        scores, labels = self._pair(inputs)
        self._single = scores.ndim == labels.ndim
        if self._single:
            self._require(
                self.class_num in (None, 1),
                "predictions must have an axis of classes with class_num",
                scores.shape,
            )
            positive = 1 if self.pos_label is None else self.pos_label
            self._curves = [(scores.ravel(), labels.ravel() == positive)]
            return
        self._require(
            scores.ndim == labels.ndim + 1 and scores.shape[1] == self.class_num and self.pos_label is None,
            f"predictions must be [N, {self.class_num}, ...] (class_num), labels [N, ...], pos_label None",
            f"predictions {scores.shape}, labels {labels.shape}, pos_label={self.pos_label}",
        )
        columns = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
        flat = labels.ravel()
        self._curves = [(columns[:, c], flat == c) for c in range(scores.shape[1])]

    def eval(self) -> Any:
        self._some(len(self._curves))
        curves = [_curve(*c) for c in self._curves]
        return curves[0] if self._single else tuple(map(list, zip(*curves)))


def _curve(scores: np.ndarray, positive: np.ndarray) -> Curve:
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    ends = np.r_[np.nonzero(np.diff(scores))[0], len(scores) - 1]  # the last of each score
    hits = np.cumsum(positive)[ends].astype(np.float64)
    alarms = 1.0 + ends - hits
    if alarms[-1] <= 0 or hits[-1] <= 0:
        raise ValueError(
            "ROC.eval: the labels must hold positives and negatives. Received: "
            f"{int(hits[-1])} positives, {int(alarms[-1])} negatives"
        )
    thresholds = np.r_[scores[ends][0] + 1, scores[ends]]
    return np.r_[0, alarms] / alarms[-1], np.r_[0, hits] / hits[-1], thresholds


def auc(x: Any, y: Any, reorder: bool = False) -> Any:
    """The area under a curve by the trapezoidal rule.

    Args:
        x, y: coordinates, as `ROC` gives false-positive and true-positive rates, or lists of them.
        reorder: whether to sort by x first.

    Raises:
        ValueError: fewer than two points, different numbers of them, or x neither rising nor falling.
    """
    if isinstance(x, list) and x and isinstance(x[0], np.ndarray):
        return [auc(a, b, reorder) for a, b in zip(x, y)]
    x, y = np.asarray(x), np.asarray(y)
    if x.size != y.size or x.size < 2:
        raise ValueError(
            f"auc: x and y need the same number of at least two points. Received: {x.shape} and {y.shape}"
        )
    x, y = x.ravel(), y.ravel()
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueError("auc: x must rise or fall. Received: neither; set reorder=True")
    return (
        abs(float((steps * (y[1:] + y[:-1]) / 2).sum()))
        if (steps <= 0).all() and steps.any()
        else float((steps * (y[1:] + y[:-1]) / 2).sum())
    )
