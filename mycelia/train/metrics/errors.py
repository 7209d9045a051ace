"""Means over batches: losses, errors, likeness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric


class Loss(Metric):
    """The mean of the losses of all batches."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._batches = 0.0, 0

    def update(self, *inputs: Any) -> None:
        (loss,) = self._arrays(inputs, 1, "the loss")
        self._sum += float(np.mean(loss))
        self._batches += 1

    def eval(self) -> float:
        return self._sum / self._some(self._batches)


class _MeanError(Metric):
    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._rows = 0.0, 0

    def update(self, *inputs: Any) -> None:
        predicted, true = self._arrays(inputs, 2, "predictions and labels")
        if predicted.shape != true.shape:
            raise ValueError(
                f"{type(self).__name__}.update: predictions and labels must have one shape. "
                f"Received: {predicted.shape} and {true.shape}"
            )
        self._sum += float(self._error(predicted.astype(np.float64) - true))
        self._rows += len(true)

    @staticmethod
    def _error(difference: np.ndarray) -> np.floating:
        raise NotImplementedError

    def eval(self) -> float:
        return self._sum / self._some(self._rows)


class MAE(_MeanError):
    """The sum of absolute differences, per row."""

    @staticmethod
    def _error(difference: np.ndarray) -> np.floating:
        return np.abs(difference).sum()


class MSE(_MeanError):
    """The sum of squared differences, per row."""

    @staticmethod
    def _error(difference: np.ndarray) -> np.floating:
        return np.square(difference).sum()


class Perplexity(Metric):
    """exp of minus the mean logarithm of the probability that labels got.

    Args:
        ignore_label: labels of this class do not count.
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        if ignore_label is not None and type(ignore_label) is not int:
            raise TypeError(f"Perplexity: ignore_label must be an int or None. Received: {ignore_label!r}")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._sum, self._count = 0.0, 0

    def update(self, *inputs: Any) -> None:
        predicted, labels = self._pair(inputs)
        self._require(
            labels.size == predicted.size // predicted.shape[-1],
            "there must be one label for each row of probabilities",
            f"predictions {predicted.shape}, labels {labels.shape}",
        )
        rows = predicted.reshape(-1, predicted.shape[-1])
        labels = labels.reshape(-1).astype(np.int64)
        chosen = rows[np.arange(len(labels)), labels].astype(np.float64)
        if self.ignore_label is not None:
            chosen = chosen[labels != self.ignore_label]
        self._sum -= float(np.log(np.maximum(chosen, 1e-10)).sum())
        self._count += len(chosen)

    def eval(self) -> float:
        return math.exp(self._sum / self._some(self._count))


class CosineSimilarity(Metric):
    """The similarities of all pairs of rows of the latest batch.

    Args:
        similarity: ``"cosine"`` or ``"dot"``.
        reduction: ``"none"``, ``"sum"`` or ``"mean"`` along the last axis.
        zero_diagonal: whether a row's similarity to itself counts as 0.
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        for name, value, known in (
            ("similarity", similarity, ("dot", "cosine")),
            ("reduction", reduction, ("none", "sum", "mean")),
        ):
            if value not in known:
                raise ValueError(f"CosineSimilarity: {name} must be one of {known}. Received: {value!r}")
        self.similarity, self.reduction, self.zero_diagonal = similarity, reduction, bool(zero_diagonal)
        self.clear()

    def clear(self) -> None:
        self._matrix: np.ndarray | None = None

    def update(self, *inputs: Any) -> None:
        (rows,) = self._arrays(inputs, 1, "rows of features")
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._matrix = rows @ rows.T

    def eval(self) -> np.ndarray:
        self._some(self._matrix is not None)
        matrix = np.array(self._matrix)
        if self.zero_diagonal:
            np.fill_diagonal(matrix, 0)
        return matrix if self.reduction == "none" else getattr(matrix, self.reduction)(axis=-1)


class Dice(Metric):
    """The mean over items of 2 * sum(prediction * label) / (sum(prediction²) + sum(label²) + smooth) of each
    batch."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if isinstance(smooth, bool) or not isinstance(smooth, (int, float)) or smooth <= 0:
            raise ValueError(f"Dice: smooth must be a positive number. Received: smooth={smooth!r}")
        self.smooth = float(smooth)
        self.clear()

    def clear(self) -> None:
        self._sum, self._items = 0.0, 0

    def update(self, *inputs: Any) -> None:
        predicted, true = self._pair(inputs)
        self._require(
            predicted.shape == true.shape,
            "predictions and labels must have one shape",
            f"{predicted.shape} and {true.shape}",
        )
        a, b = predicted.ravel().astype(np.float64), true.ravel().astype(np.float64)
        self._sum += 2 * float(a @ b) / (float(a @ a + b @ b) + self.smooth)
        self._items += len(true)

    def eval(self) -> float:
        return self._sum / self._some(self._items)
