"""Optimizers."""

from mycelia.nn.optim.adam import Adam, AdamOffload, AdamWeightDecay, LazyAdam
from mycelia.nn.optim.adaptive import FTRL, Adadelta, AdaFactor, Adagrad, AdaMax, ProximalAdagrad, RMSProp
from mycelia.nn.optim.descent import ASGD, Rprop
from mycelia.nn.optim.layerwise import LARS, Lamb
from mycelia.nn.optim.momentum import Momentum
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.optim.sgd import SGD

__all__ = [
    "ASGD",
    "FTRL",
    "LARS",
    "SGD",
    "AdaFactor",
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamOffload",
    "AdamWeightDecay",
    "Lamb",
    "LazyAdam",
    "Momentum",
    "Optimizer",
    "ProximalAdagrad",
    "RMSProp",
    "Rprop",
]
