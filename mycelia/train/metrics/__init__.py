"""Metrics: what an evaluation counts over all its batches."""

from __future__ import annotations

from typing import Any

from mycelia.train.metrics.classification import (
    F1,
    Accuracy,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from mycelia.train.metrics.confusion import ConfusionMatrix, ConfusionMatrixMetric
from mycelia.train.metrics.curves import ROC, auc
from mycelia.train.metrics.errors import MAE, MSE, CosineSimilarity, Dice, Loss, Perplexity
from mycelia.train.metrics.metric import Metric, rearrange_inputs
from mycelia.train.metrics.occlusion import OcclusionSensitivity
from mycelia.train.metrics.surfaces import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance
from mycelia.train.metrics.text import BleuScore

_METRICS: dict[str, Any] = {
    "accuracy": Accuracy,
    "acc": Accuracy,
    "precision": Precision,
    "recall": Recall,
    "F1": F1,
    "dice": Dice,
    "roc": ROC,
    "auc": auc,
    "bleu_score": BleuScore,
    "cosine_similarity": CosineSimilarity,
    "occlusion_sensitivity": OcclusionSensitivity,
    "topk": TopKCategoricalAccuracy,
    "hausdorff_distance": HausdorffDistance,
    "top_1_accuracy": Top1CategoricalAccuracy,
    "top_5_accuracy": Top5CategoricalAccuracy,
    "mae": MAE,
    "mse": MSE,
    "loss": Loss,
    "mean_surface_distance": MeanSurfaceDistance,
    "root_mean_square_distance": RootMeanSquareDistance,
    "perplexity": Perplexity,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric,
}

__all__ = [
    "F1",
    "MAE",
    "MSE",
    "ROC",
    "Accuracy",
    "BleuScore",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "CosineSimilarity",
    "Dice",
    "Fbeta",
    "HausdorffDistance",
    "Loss",
    "MeanSurfaceDistance",
    "Metric",
    "OcclusionSensitivity",
    "Perplexity",
    "Precision",
    "Recall",
    "RootMeanSquareDistance",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "auc",
    "get_metric_fn",
    "get_metrics",
    "names",
    "rearrange_inputs",
]


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
                raise TypeError(
                    "Model: metrics must go from names to Metrics. Received: "
                    f"{name!r}: {metric!r} (of type {type(metric).__name__})"
                )
        return dict(metrics)
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in sorted(metrics)}
    raise TypeError(
        "Model: metrics must be a set of names or a dict from name to Metric. Received: "
        f"metrics={metrics!r} (of type {type(metrics).__name__})"
    )
