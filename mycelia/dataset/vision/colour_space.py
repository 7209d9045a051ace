"""Conversions between colour spaces, to the bit as OpenCV computes them."""
from __future__ import annotations

from functools import lru_cache

import numpy as np

from mycelia.dataset.block import describe
from mycelia.dataset.vision.utils import ConvertMode

_SHIFT = 15  # weights of the grey image are integers over 2**15
_GREY = (9798, 19235, 3735)  # 0.299, 0.587, 0.114


def grey(x: np.ndarray) -> np.ndarray:
    """Luma of an image [..., 3] in red, green, blue: ``0.299 R + 0.587 G + 0.114 B`` (ITU-R BT.601)."""
    if x.dtype == np.uint8:
        wide = x.astype(np.int32)
        total = wide[..., 0] * _GREY[0] + wide[..., 1] * _GREY[1] + wide[..., 2] * _GREY[2]
        return (total + (1 << _SHIFT - 1) >> _SHIFT).astype(np.uint8)
    return (x[..., 0] * 0.299 + x[..., 1] * 0.587 + x[..., 2] * 0.114).astype(x.dtype)


@lru_cache(maxsize=1)
def _divisions() -> tuple[np.ndarray, np.ndarray]:
    """255/i and 256/(6 i) over 2**12."""
    steps = np.maximum(np.arange(256), 1)
    saturation, hue = np.rint((255 << 12) / steps), np.rint((256 << 12) / (6.0 * steps))
    saturation[0] = hue[0] = 0
    return saturation.astype(np.int64), hue.astype(np.int64)


def hsv_bytes(x: np.ndarray) -> np.ndarray:
    """Hue, saturation and value of bytes, all from 0 to 255."""
    saturation_of, hue_of = _divisions()
    red, green, blue = np.moveaxis(x.astype(np.int64), -1, 0)
    value = np.maximum(np.maximum(red, green), blue)
    span = value - np.minimum(np.minimum(red, green), blue)
    saturation = span * saturation_of[value] + (1 << 11) >> 12
    hue = np.where(value == red, green - blue,
                   np.where(value == green, blue - red + 2 * span, red - green + 4 * span))
    hue = hue * hue_of[span] + (1 << 11) >> 12
    hue = np.where(hue < 0, hue + 256, hue)
    return np.stack([hue, saturation, value], -1).astype(np.uint8)


def rgb_bytes(hsv: np.ndarray) -> np.ndarray:
    """Red, green and blue of `hsv_bytes`."""
    wide = hsv.astype(np.float32)
    hue, saturation, value = wide[..., 0] * np.float32(6 / 255), wide[..., 1] / 255, wide[..., 2] / 255
    sector = np.floor(hue)
    part = hue - sector
    which = sector.astype(np.int64) % 6
    p, q = value * (1 - saturation), value * (1 - saturation * part)
    t = value * (1 - saturation * (1 - part))
    red = np.choose(which, [value, q, p, p, t, value])
    green = np.choose(which, [t, value, value, q, p, p])
    blue = np.choose(which, [p, p, t, value, value, q])
    return np.clip(np.rint(np.stack([red, green, blue], -1) * 255), 0, 255).astype(np.uint8)


def converted(x: np.ndarray, mode: ConvertMode) -> np.ndarray:
    """An image in another order or number of channels.

    Raises:
        RuntimeError: the image has not the channels that the mode begins with.
    """
    source, target = mode.name.removeprefix("COLOR_").split("2")
    wanted = {"GRAY": 1}.get(source, 4 if source.endswith("A") else 3)
    channels = 1 if x.ndim == 2 else x.shape[-1] if x.ndim == 3 else 0
    if channels != wanted:
        raise RuntimeError(f"ConvertColor: {mode.name} must have an image of {wanted} channels. Received: "
                           f"{describe(x)}")
    if source == "GRAY":
        flat = x if x.ndim == 2 else x[..., 0]
        parts = [flat] * 3
    else:
        parts = [x[..., i] for i in range(3)]
        if source.startswith("BGR"):
            parts.reverse()
    if target == "GRAY":
        return grey(np.stack(parts, -1))
    if target.startswith("BGR"):
        parts.reverse()
    if target.endswith("A"):
        opaque = np.full_like(parts[0], np.iinfo(x.dtype).max if x.dtype.kind in "iu" else 1)
        parts.append(x[..., 3] if source.endswith("A") else opaque)
    return np.stack(parts, -1)
