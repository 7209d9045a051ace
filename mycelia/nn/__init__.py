"""Networks: cells, layers, losses, optimizers, learning rates.

Metrics (``nn.Accuracy``...) are those of `mycelia.train.metrics`, looked up when they are first named.
"""

from __future__ import annotations

import importlib
from typing import Any

from mycelia.nn import layer, learning_rate_schedule, loss, optim, wrap
from mycelia.nn.cell import Cell
from mycelia.nn.dynamic_lr import (
    cosine_decay_lr,
    exponential_decay_lr,
    inverse_decay_lr,
    natural_exp_decay_lr,
    piecewise_constant_lr,
    polynomial_decay_lr,
    warmup_lr,
)
from mycelia.nn.grad import Jvp, Vjp
from mycelia.nn.layer import *  # noqa: F403
from mycelia.nn.learning_rate_schedule import (
    CosineDecayLR,
    ExponentialDecayLR,
    InverseDecayLR,
    NaturalExpDecayLR,
    PolynomialDecayLR,
    WarmUpLR,
)
from mycelia.nn.loss import *  # noqa: F403
from mycelia.nn.optim import *  # noqa: F403
from mycelia.nn.utils import no_init_parameters
from mycelia.nn.wrap import *  # noqa: F403

_METRICS = frozenset(
    [
        "Accuracy",
        "BleuScore",
        "ConfusionMatrix",
        "ConfusionMatrixMetric",
        "CosineSimilarity",
        "Dice",
        "F1",
        "Fbeta",
        "HausdorffDistance",
        "Loss",
        "MAE",
        "MSE",
        "MeanSurfaceDistance",
        "Metric",
        "OcclusionSensitivity",
        "Perplexity",
        "Precision",
        "ROC",
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
)

__all__ = [
    "Cell",
    "CosineDecayLR",
    "ExponentialDecayLR",
    "InverseDecayLR",
    "Jvp",
    "NaturalExpDecayLR",
    "PolynomialDecayLR",
    "Vjp",
    "WarmUpLR",
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "learning_rate_schedule",
    "natural_exp_decay_lr",
    "no_init_parameters",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
    *layer.__all__,
    *loss.__all__,
    *optim.__all__,
    *wrap.__all__,
]


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return importlib.import_module("mycelia.nn.metrics")
    if name in _METRICS:
        from mycelia.train import metrics

        return getattr(metrics, name)
    import difflib

    from mycelia.ops.equivalents import equivalent

    near = difflib.get_close_matches(name, [*__all__, *_METRICS], 3)
    raise AttributeError(
        f"module 'mycelia.nn' has no attribute {name!r}"
        + (equivalent("nn", name) or (f"; did you mean {', '.join(near)}?" if near else ""))
    )
