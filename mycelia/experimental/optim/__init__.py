"""Optimizers whose groups hold all their options (``optimizer.param_groups``), and their rate schedulers."""

from mycelia.experimental.optim import lr_scheduler
from mycelia.experimental.optim.adaptive import (
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
)
from mycelia.experimental.optim.descent import ASGD, SGD, Rprop
from mycelia.experimental.optim.optimizer import Optimizer

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
