"""Layers."""

from mycelia.nn.layer.activation import (
    ELU,
    GELU,
    HSigmoid,
    HSwish,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    SeLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softsign,
    Tanh,
    get_activation,
)
from mycelia.nn.layer.basic import Dense, Dropout, Flatten, Identity
from mycelia.nn.layer.container import CellList, SequentialCell
from mycelia.nn.layer.conv import Conv1d, Conv2d
from mycelia.nn.layer.embedding import Embedding
from mycelia.nn.layer.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, GroupNorm, LayerNorm
from mycelia.nn.layer.pooling import AdaptiveAvgPool2d, AdaptiveMaxPool2d, AvgPool2d, MaxPool2d

__all__ = [
    "ELU",
    "GELU",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CellList",
    "Conv1d",
    "Conv2d",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HSigmoid",
    "HSwish",
    "Identity",
    "LayerNorm",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "MaxPool2d",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SeLU",
    "SequentialCell",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softsign",
    "Tanh",
    "get_activation",
]
