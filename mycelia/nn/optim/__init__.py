"""Optimizers."""

from mycelia.nn.optim.adam import Adam, AdamWeightDecay
from mycelia.nn.optim.momentum import Momentum
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.nn.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamWeightDecay", "Momentum", "Optimizer"]
