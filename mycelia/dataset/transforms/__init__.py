"""Operations on any data (`mindspore.dataset.transforms`)."""
from mycelia.dataset.transforms.operation import Operation
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

__all__ = ["Compose", "Duplicate", "Fill", "OneHot", "Operation", "RandomApply", "RandomChoice",
           "RandomOrder",
           "TypeCast"]
