"""Affine and perspective maps of images, to the bit as OpenCV computes affine ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.vision.utils import Inter


def rotation(centre: tuple[float, float], degrees: float) -> np.ndarray:
    """The matrix [2, 3] that turns counter-clockwise about a point (x, y)."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = centre
    return np.array(
        [[cosine, sine, (1 - cosine) * x - sine * y], [-sine, cosine, sine * x + (1 - cosine) * y]]
    )


def warped(
    x: np.ndarray, matrix: np.ndarray, width: int, height: int, interpolation: Inter, fill: Any
) -> np.ndarray:
    """An image [H, W, C] moved by a matrix [2, 3] from old to new (x, y); `fill` stands where nothing was.

    Coordinates are rounded to 1/1024 of a pixel, weights to 1/32: OpenCV's fixed-point arithmetic.
    """
    whole = np.vstack([matrix, [0, 0, 1]])
    inverse = np.linalg.inv(whole)[:2]
    columns, rows = np.arange(width), np.arange(height)
    nearest = interpolation == Inter.NEAREST
    delta = 512 if nearest else 16
    across = np.rint(inverse[:, :1] * columns * 1024).astype(np.int64)
    down = np.rint((inverse[:, 1:2] * rows + inverse[:, 2:]) * 1024).astype(np.int64) + delta
    sx, sy = (down[axis][:, np.newaxis] + across[axis][np.newaxis] for axis in (0, 1))
    filled = fill_value(fill, x)
    if nearest:
        return _picked(x, sx >> 10, sy >> 10, filled)
    return _blended(x, sx >> 5, sy >> 5, filled, interpolation)


def fill_value(fill: Any, x: np.ndarray) -> np.ndarray:
    """A colour for each channel of x."""
    values = np.asarray(fill if isinstance(fill, (tuple, list)) else (fill,) * x.shape[2], x.dtype)
    return values if len(values) == x.shape[2] else np.resize(values, x.shape[2])


def _picked(x: np.ndarray, sx: np.ndarray, sy: np.ndarray, fill: np.ndarray) -> np.ndarray:
    """Pixels at whole coordinates."""
    height, width = x.shape[:2]
    inside = (sx >= 0) & (sx < width) & (sy >= 0) & (sy < height)
    result = x[np.clip(sy, 0, height - 1), np.clip(sx, 0, width - 1)]
    return np.where(inside[..., np.newaxis], result, fill)


def _blended(
    x: np.ndarray, sx: np.ndarray, sy: np.ndarray, fill: np.ndarray, interpolation: Inter
) -> np.ndarray:
    """Pixels at coordinates in 1/32."""
    taps, kernel = (2, _linear) if interpolation not in (Inter.BICUBIC, Inter.PILCUBIC) else (4, _cubic)
    first_x, first_y = (sx >> 5) - (taps // 2 - 1), (sy >> 5) - (taps // 2 - 1)
    weights_x, weights_y = kernel((sx & 31) / 32), kernel((sy & 31) / 32)
    total = np.zeros((*sx.shape, x.shape[2]))
    for i in range(taps):
        for j in range(taps):
            weight = (weights_y[i] * weights_x[j])[..., np.newaxis]
            total += weight * _picked(x, first_x + j, first_y + i, fill)
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        return np.clip(np.floor(total + 0.5), limits.min, limits.max).astype(x.dtype)
    return total.astype(x.dtype)


def _linear(t: np.ndarray) -> list[np.ndarray]:
    return [1 - t, t]


def _cubic(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """Keys' kernel at distances 1 + t, t, 1 - t, 2 - t."""
    far = lambda d: ((d - 5) * d + 8) * d * a - 4 * a
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
    return [far(1 + t), near(t), near(1 - t), far(2 - t)]


def affine_matrix(
    degrees: float, translate: Sequence[float], scale: float, shear: Sequence[float], width: int, height: int
) -> np.ndarray:
    """The map about the image's middle: shear, then scale and turn (clockwise on the screen), then move."""
    angle, shear_x, shear_y = (math.radians(value) for value in (degrees, *shear))
    centre = ((width - 1) / 2, (height - 1) / 2)
    a = math.cos(angle - shear_y) / math.cos(shear_y)
    b = -math.cos(angle - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(angle)
    c = math.sin(angle - shear_y) / math.cos(shear_y)
    d = -math.sin(angle - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(angle)
    linear = scale * np.array([[a, b], [c, d]])
    offset = np.array(centre) + np.asarray(translate, np.float64) - linear @ np.array(centre)
    return np.column_stack([linear, offset])


def perspective_matrix(start: Sequence[Sequence[float]], end: Sequence[Sequence[float]]) -> np.ndarray:
    """The matrix [3, 3] that takes four points (x, y) to four others."""
    rows, values = [], []
    for (x, y), (u, v) in zip(start, end):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.append(np.linalg.solve(np.array(rows, np.float64), np.array(values, np.float64)), 1).reshape(
        3, 3
    )


def perspective(x: np.ndarray, matrix: np.ndarray, interpolation: Inter) -> np.ndarray:
    """An image seen through a perspective map from old to new; black where nothing was."""
    height, width = x.shape[:2]
    grid = np.stack(
        np.broadcast_arrays(np.arange(width)[np.newaxis], np.arange(height)[:, np.newaxis], 1), -1
    )
    source = grid @ np.linalg.inv(matrix).T
    scaled = source[..., :2] / np.where(source[..., 2:] == 0, np.inf, source[..., 2:])
    fill = fill_value(0, x)
    if interpolation == Inter.NEAREST:
        whole = np.rint(scaled).astype(np.int64)
        return _picked(x, whole[..., 0], whole[..., 1], fill)
    fine = np.rint(np.clip(scaled, -1e6, 1e6) * 32).astype(np.int64)
    return _blended(x, fine[..., 0], fine[..., 1], fill, interpolation)
