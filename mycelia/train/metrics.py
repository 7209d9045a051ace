"""Metrics: what an evaluation counts over all its batches."""
from __future__ import annotations

from typing import Any

import numpy as np


class Metric:
    """Base of metrics: `clear`, then `update` for each batch, then `eval`.

    Example:
        >>> class Mean(Metric):
        ...     def clear(self): self.values = []
        ...     def update(self, *inputs): self.values.append(self._convert_data(inputs[0]).mean())
        ...     def eval(self): return sum(self.values) / len(self.values)
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        return self._indexes

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Chooses which of the inputs, in which order, `pick` hands to the metric."""
        if not isinstance(indexes, list) or not all(isinstance(index, int) for index in indexes):
            raise ValueError("set_indexes: indexes must be a list of integers. Received: "
                             f"indexes={indexes!r}")
        self._indexes = indexes
        return self

    def pick(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._indexes is None:
            return inputs
        if max(self._indexes) >= len(inputs):
            raise ValueError(f"{type(self).__name__}.update: indexes {self._indexes} must be below the "
                             f"number of inputs. Received: {len(inputs)} inputs")
        return tuple(inputs[index] for index in self._indexes)

    @staticmethod
    def _convert_data(data: Any) -> np.ndarray:
        """The array of a Tensor, list or array."""
        return np.asarray(data.asnumpy() if hasattr(data, "asnumpy") else data)

    def _arrays(self, inputs: tuple[Any, ...], count: int, what: str) -> list[np.ndarray]:
        inputs = self.pick(inputs)
        if len(inputs) != count:
            raise ValueError(f"{type(self).__name__}.update: must have {count} inputs ({what}). Received: "
                             f"{len(inputs)}")
        return [self._convert_data(data) for data in inputs]

    def clear(self) -> None:
        """Forgets what was counted."""
        raise NotImplementedError(f"{type(self).__name__} must define clear")

    def update(self, *inputs: Any) -> None:
        """Counts a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define update")

    def eval(self) -> Any:
        """The result over all batches since `clear`."""
        raise NotImplementedError(f"{type(self).__name__} must define eval")

    def _some(self, count: int) -> int:
        if not count:
            raise RuntimeError(f"{type(self).__name__}.eval: nothing was counted; call update first")
        return count


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
            raise ValueError("Accuracy: eval_type must be 'classification' or 'multilabel'. Received: "
                             f"eval_type={eval_type!r}")
        self.eval_type = eval_type
        self.clear()

    def clear(self) -> None:
        self._right = self._total = 0

    def update(self, *inputs: Any) -> None:
        scores, labels = self._arrays(inputs, 2, "predictions and labels")
        if scores.ndim < 2:
            raise ValueError("Accuracy.update: predictions must have shape [N, C, ...]. Received: "
                             f"{scores.shape}")
        if self.eval_type == "multilabel":
            if scores.shape != labels.shape:
                raise ValueError("Accuracy.update: predictions and labels must have one shape. Received: "
                                 f"{scores.shape} and {labels.shape}")
            right = np.moveaxis(scores == labels, 1, -1).all(axis=-1)
        else:
            if labels.ndim == scores.ndim and labels.shape == scores.shape:
                labels = labels.argmax(axis=1)
            predicted = scores.argmax(axis=1)
            if predicted.shape != labels.shape:
                raise ValueError("Accuracy.update: labels must have the shape of the predictions without the "
                                 f"axis of classes, or be one-hot. Received: predictions {scores.shape}, "
                                 f"labels {labels.shape}")
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
        best = np.argsort(-scores, axis=1, kind="stable")[:, :self.k]
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
            raise ValueError(f"{type(self).__name__}.update: predictions and labels must have one shape. "
                             f"Received: {predicted.shape} and {true.shape}")
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


_METRICS: dict[str, type[Metric]] = {
    "accuracy": Accuracy, "acc": Accuracy, "loss": Loss, "mae": MAE, "mse": MSE,
                                     "topk": TopKCategoricalAccuracy,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy,
}


def names() -> list[str]:
    """The names that `get_metric_fn` knows."""
    return sorted(_METRICS)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Metric:
    """The metric of a name.

    Raises:
        KeyError: no metric of that name.
    """
    if name not in _METRICS:
        raise KeyError(f"get_metric_fn: there is no metric {name!r}; known are {', '.join(names())}")
    return _METRICS[name](*args, **kwargs)


def get_metrics(metrics: dict[str, Metric] | set[str] | None) -> dict[str, Metric]:
    """Metrics by name from what `Model` takes: a set of names, or a dict from name to Metric.

    Raises:
        TypeError: anything else.
    """
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError("Model: metrics must go from names to Metrics. Received: "
                                f"{name!r}: {metric!r} (of type {type(metric).__name__})")
        return dict(metrics)
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in sorted(metrics)}
    raise TypeError("Model: metrics must be a set of names or a dict from name to Metric. Received: "
                    f"metrics={metrics!r} (of type {type(metrics).__name__})")


__all__ = ["MAE", "MSE", "Accuracy", "Loss", "Metric", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
           "TopKCategoricalAccuracy", "get_metric_fn", "names"]
