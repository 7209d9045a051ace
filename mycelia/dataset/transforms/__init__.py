"""Operations on any data (`mindspore.dataset.transforms`)."""

from mycelia.dataset.transforms.arrays import Concatenate, Mask, PadEnd, Relational, Slice, Unique
from mycelia.dataset.transforms.operation import Operation, not_random
from mycelia.dataset.transforms.transforms import (
    Compose,
    Duplicate,
    Fill,
    OneHot,
    RandomApply,
    RandomChoice,
    RandomOrder,
    TypeCast,
)

PyTensorOperation = Operation  # MindSpore's name

__all__ = [
    "Compose",
    "Concatenate",
    "Duplicate",
    "Fill",
    "Mask",
    "OneHot",
    "Operation",
    "PadEnd",
    "PyTensorOperation",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "Relational",
    "Slice",
    "TypeCast",
    "Unique",
    "not_random",
]
