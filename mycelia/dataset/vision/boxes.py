"""Operations on images together with bounding boxes.

They take the columns image and boxes: [N, 4 or more] of (x, y, width, height, ...) in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array, column_of, describe
from mycelia.dataset.randomness import eager_generator
from mycelia.dataset.transforms.operation import BlockRowError, Operation
from mycelia.dataset.vision.geometry import RandomResizedCrop, resized
from mycelia.dataset.vision.operation import ImageOperation, number
from mycelia.dataset.vision.transforms import RandomCrop, Resize
from mycelia.dataset.vision.utils import Border, Inter


class _WithBoxes(Operation):
    """Defines `together`, over an image and its boxes."""

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        if len(columns) != 2:
            raise RuntimeError(
                f"{type(self).__name__}: takes images and boxes. Received: {len(columns)} columns"
            )
        rows = []
        for i, (picture, boxes) in enumerate(zip(*columns)):
            try:
                rows.append(self._checked(np.asarray(picture), np.asarray(boxes), rng))
            except Exception as error:
                raise BlockRowError(i, error) from error
        return [column_of(list(part)) for part in zip(*rows)]

    def __call__(self, *columns: Any) -> Any:  # type: ignore[override]
        if len(columns) != 2:
            raise RuntimeError(
                f"{type(self).__name__}: takes an image and its boxes. Received: {len(columns)} columns"
            )
        return self._checked(as_array(columns[0]), as_array(columns[1]), eager_generator())

    def _checked(
        self, picture: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        if boxes.ndim != 2 or boxes.shape[1] < 4:
            raise RuntimeError(
                f"{type(self).__name__}: boxes must be [N, 4] of (x, y, width, height). "
                f"Received: "
                f"{describe(boxes)}"
            )
        height, width = picture.shape[:2]
        x, y, wide, tall = boxes[:, :4].T
        if ((x < 0) | (y < 0) | (x + wide > width) | (y + tall > height)).any():
            raise RuntimeError(
                f"{type(self).__name__}: boxes must lie within the image, {height} x {width}. "
                f"Received: "
                f"{boxes[:, :4].tolist()}"
            )
        return self.together(picture, boxes.copy(), rng)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError


def _cut(boxes: np.ndarray, left: int, top: int, width: int, height: int) -> np.ndarray:
    """The boxes within a part of the image, in its coordinates; an empty one where none is left."""
    first = np.maximum(boxes[:, :2], (left, top))
    last = np.minimum(boxes[:, :2] + boxes[:, 2:4], (left + width, top + height))
    inside = (last > first).all(1)
    if not inside.any():
        return np.zeros((1, boxes.shape[1]), boxes.dtype)
    kept = boxes[inside]
    kept[:, :2], kept[:, 2:4] = first[inside] - (left, top), (last - first)[inside]
    return kept


def _scaled(boxes: np.ndarray, across: float, down: float) -> np.ndarray:
    boxes[:, :4] = (boxes[:, :4] * (across, down, across, down)).astype(boxes.dtype)
    return boxes


class RandomHorizontalFlipWithBBox(_WithBoxes):
    """Left and right of image and boxes exchanged, with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = number("RandomHorizontalFlipWithBBox", "prob", prob, 0, 1)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        if rng.random() >= self.prob:
            return x, boxes
        boxes[:, 0] = x.shape[1] - boxes[:, 0] - boxes[:, 2]
        return x[:, ::-1].copy(), boxes


class RandomVerticalFlipWithBBox(_WithBoxes):
    """Top and bottom of image and boxes exchanged, with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = number("RandomVerticalFlipWithBBox", "prob", prob, 0, 1)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        if rng.random() >= self.prob:
            return x, boxes
        boxes[:, 1] = x.shape[0] - boxes[:, 1] - boxes[:, 3]
        return x[::-1].copy(), boxes


class ResizeWithBBox(_WithBoxes):
    """`Resize` of image and boxes."""

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.BILINEAR) -> None:
        self._resize = Resize(size, interpolation)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        result = self._resize.pixels(x, rng)
        return result, _scaled(boxes, result.shape[1] / x.shape[1], result.shape[0] / x.shape[0])


class RandomResizeWithBBox(_WithBoxes):
    """`ResizeWithBBox` with an interpolation drawn at random."""

    def __init__(self, size: int | Sequence[int]) -> None:
        self._resizes = [
            ResizeWithBBox(size, kind) for kind in (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)
        ]

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._resizes[int(rng.integers(len(self._resizes)))].together(x, boxes, rng)


class RandomCropWithBBox(_WithBoxes):
    """`RandomCrop` of image and boxes; boxes are cut off at the part's border."""

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill_value: int | tuple[int, ...] = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self._crop = RandomCrop(size, padding, pad_if_needed, fill_value, padding_mode)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        bordered, (left, top) = self._crop.bordered(x[np.newaxis])
        height, width = self._crop.size
        row = int(rng.integers(bordered.shape[1] - height + 1))
        column = int(rng.integers(bordered.shape[2] - width + 1))
        boxes[:, :2] += np.array((left, top)).astype(boxes.dtype)
        part = bordered[0, row : row + height, column : column + width].copy()
        return part, _cut(boxes, column, row, width, height)


class RandomResizedCropWithBBox(_WithBoxes):
    """`RandomResizedCrop` of image and boxes."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        self._crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        top, left, tall, wide = self._crop.box(x.shape[0], x.shape[1], rng)
        height, width = self._crop.size
        part = resized(x[top : top + tall, left : left + wide], height, width, self._crop.interpolation)
        return part, _scaled(_cut(boxes, left, top, wide, tall), width / wide, height / tall)


class BoundingBoxAugment(_WithBoxes):
    """Another operation, on the pixels within a random share of the boxes.

    Args:
        transform: an operation on an image.
        ratio: the share, from 0 to 1.
    """

    def __init__(self, transform: ImageOperation, ratio: float = 0.3) -> None:
        if not isinstance(transform, Operation):
            raise TypeError(f"BoundingBoxAugment: transform must be an operation. Received: {transform!r}")
        self.transform, self.ratio = transform, number("BoundingBoxAugment", "ratio", ratio, 0, 1)

    def together(
        self, x: np.ndarray, boxes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        result = x.copy()
        for i in rng.permutation(len(boxes))[: max(int(len(boxes) * self.ratio), 1)]:
            left, top, wide, tall = (int(value) for value in boxes[i, :4])
            part = np.asarray(self.transform.sample(x[top : top + tall, left : left + wide], rng))
            result[top : top + tall, left : left + wide] = resized(part, tall, wide, Inter.BILINEAR)
        return result, boxes
