"""Choices of image operations (`mindspore.dataset.vision.utils`)."""
from __future__ import annotations

from enum import Enum, IntEnum


class Inter(IntEnum):
    """How `Resize` computes pixels between those that there are."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(str, Enum):
    """What stands in the border that padding adds."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
