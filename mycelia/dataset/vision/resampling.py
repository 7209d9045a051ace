"""Resampling of images by separable filters: each axis is a small matrix of weights."""
from __future__ import annotations

from functools import lru_cache

import numpy as np

from mycelia.dataset.vision.utils import Inter

_PILLOW = (Inter.PILCUBIC, Inter.ANTIALIAS)


def resize(images: np.ndarray, height: int, width: int, interpolation: Inter) -> np.ndarray:
    """Images [N, H, W, C] in another size, of the same type; integers are rounded and clipped to their range.

    Pixel centres are at half-integers (``align_corners=False``). `BILINEAR` and `BICUBIC` (a = -0.75)
    interpolate between neighbours, `AREA` averages over the source pixels that a target pixel covers when
    both axes shrink, `PILCUBIC` and `ANTIALIAS` widen a cubic (a = -0.5) and a Lanczos-3 filter by the factor
    of reduction, as Pillow does.
    """
    old_height, old_width = images.shape[1:3]
    if (old_height, old_width) == (height, width):
        return images.copy()
    if interpolation == Inter.NEAREST:
        rows = np.minimum((np.arange(height) * (old_height / height)).astype(np.int64), old_height - 1)
        columns = np.minimum((np.arange(width) * (old_width / width)).astype(np.int64), old_width - 1)
        return images[:, rows[:, np.newaxis], columns]
    kind = np.float64 if images.dtype == np.float64 else np.float32
    enlarging = interpolation == Inter.AREA and (height > old_height or width > old_width)
    # Pillow's filters run along rows first and round in between; the others' order makes no difference.
    wide = images.astype(kind)
    if width != old_width:
        weights = _enlarging_area(old_width, width) if enlarging else _weights(old_width, width,
                                                                               interpolation)
        wide = _along(weights.astype(kind), wide.swapaxes(1, 2)).swapaxes(1, 2)
        if interpolation in _PILLOW:
            wide = _in_range(wide, images.dtype)
    if height != old_height:
        weights = _enlarging_area(old_height, height) if enlarging else _weights(old_height, height,
                                                                                 interpolation)
        wide = _along(weights.astype(kind), wide)
    return _in_range(wide, images.dtype).astype(images.dtype, copy=False)


def _along(weights: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Axis 1 of images [N, A, B, C] resampled. One product for each image, so that its last bits do not
    depend on how many there are."""
    count, old, *rest = images.shape
    out = np.empty((count, len(weights), *rest), images.dtype)
    for image, target in zip(images, out):
        np.dot(weights, image.reshape(old, -1), out=target.reshape(len(weights), -1))
    return out


def _in_range(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values as an element type can hold them: rounded and clipped if it is an integer type."""
    if dtype.kind not in "iu":
        return values
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max)


@lru_cache(maxsize=64)
def _enlarging_area(old: int, new: int) -> np.ndarray:
    """`AREA` where the image grows: a pixel is one source pixel, or a blend of two where it straddles their
    border."""
    scale = old / new
    source = np.floor(np.arange(new) * scale).astype(np.int64)
    share = (np.arange(new) + 1) - (source + 1) / scale
    share = np.where(share <= 0, 0.0, share - np.floor(share))
    weights = np.zeros((new, old))
    np.add.at(weights, (np.arange(new), np.minimum(source, old - 1)), 1 - share)
    np.add.at(weights, (np.arange(new), np.minimum(source + 1, old - 1)), share)
    return weights


@lru_cache(maxsize=64)
def _weights(old: int, new: int, interpolation: Inter) -> np.ndarray:
    """The matrix [new, old] that resamples an axis; rows add up to 1."""
    scale = old / new
    if interpolation == Inter.AREA:
        low, high = np.arange(new) * scale, (np.arange(new) + 1) * scale
        source = np.arange(old)
        overlap = np.minimum(high[:, None], source + 1) - np.maximum(low[:, None], source)
        weights = np.maximum(overlap, 0)
        return weights / weights.sum(1, keepdims=True)
    centres = (np.arange(new) + 0.5) * scale - 0.5
    if interpolation in _PILLOW:  # wide filters, cut off at the border
        stretch = max(scale, 1.0)
        distance = (np.arange(old) - centres[:, None]) / stretch
        weights = _cubic(distance, -0.5) if interpolation == Inter.PILCUBIC else _lanczos(distance)
        return weights / weights.sum(1, keepdims=True)
    taps, filter_ = (2, _triangle) if interpolation == Inter.BILINEAR else (4, lambda t: _cubic(t, -0.75))
    first = np.floor(centres).astype(np.int64) - (taps // 2 - 1)
    weights = np.zeros((new, old))
    for tap in range(taps):  # beyond the border stands the border's pixel
        source = first + tap
        np.add.at(weights, (np.arange(new), np.clip(source, 0, old - 1)), filter_(source - centres))
    return weights


def _triangle(t: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(t), 0)


def _cubic(t: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel: R. Keys, Cubic convolution interpolation for digital image processing, 1981."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((t - 5) * t + 8) * t * a - 4 * a
    return np.where(t < 1, near, np.where(t < 2, far, 0.0))


def _lanczos(t: np.ndarray) -> np.ndarray:
    return np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0.0)
