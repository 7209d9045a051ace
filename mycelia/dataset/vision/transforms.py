"""Operations on images (`mindspore.dataset.vision`), on whole stacks [N, H, W, C] in NumPy."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import describe, room, room_like
from mycelia.dataset.transforms.operation import Operation
from mycelia.dataset.vision.operation import ImageOperation
from mycelia.dataset.vision.resampling import resize
from mycelia.dataset.vision.utils import Border, Inter
from mycelia.ir.dtypes import DType


class Rescale(Operation):
    """``x * rescale + shift``, as float32.

    Example:
        >>> Rescale(1 / 255, 0.0)(np.array([[[0], [255]]], np.uint8)).ravel()
        array([0., 1.], dtype=float32)
    """

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale = _number("Rescale", "rescale", rescale)
        self.shift = _number("Rescale", "shift", shift)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        scaled = np.multiply(x, np.float32(self.rescale), out=room_like(x, np.float32), dtype=np.float32)
        if self.shift:
            scaled += np.float32(self.shift)
        return scaled


class Normalize(Operation):
    """``(x - mean) / std`` for each channel, as float32.

    Args:
        mean, std: a number for each channel, in the image's own range (0 to 255 before `Rescale`).
        is_hwc: whether channels are the last axis; else the first.

    Raises:
        ValueError: mean and std of unequal length, std not positive, or another number of channels.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        self.mean = np.asarray([_number("Normalize", "mean", m)
                                for m in _sequence("Normalize", "mean", mean)], np.float32)
        self.std = np.asarray([_number("Normalize", "std", s) for s in _sequence("Normalize", "std", std)],
                              np.float32)
        if len(self.mean) != len(self.std):
            raise ValueError(f"Normalize: mean and std must be as many. Received: mean={list(mean)}, "
                             f"std={list(std)}")
        if (self.std <= 0).any():
            raise ValueError(f"Normalize: std must be positive. Received: std={list(std)}")
        self.is_hwc = is_hwc

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        flat = x.ndim == 3  # images without an axis for channels
        axis = x.ndim - 1 if self.is_hwc else 1
        channels = 1 if flat else x.shape[axis]
        if x.ndim not in (3, 4) or len(self.mean) not in (1, channels):
            layout = "[H, W, C]" if self.is_hwc else "[C, H, W]"
            raise ValueError(f"Normalize: must have a mean and std for each channel of an image {layout} or "
                             f"[H, W]. Received: {len(self.mean)} of them for an image {describe(x[0])}")
        mean, std = self.mean, self.std
        if not flat and not self.is_hwc:
            mean, std = mean.reshape(-1, 1, 1), std.reshape(-1, 1, 1)
        elif not flat and x.flags.c_contiguous:  # whole lines at a time, not the few channels of one pixel
            mean, std = (np.tile(np.broadcast_to(a, channels), x.shape[2]) for a in (mean, std))
            return self._of(x.reshape(-1, len(mean)), mean, std).reshape(x.shape)
        return self._of(x, mean, std)

    @staticmethod
    def _of(x: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
        result = np.subtract(x, mean, out=room_like(x, np.float32), dtype=np.float32)
        result /= std
        return result


class HWC2CHW(Operation):
    """Moves channels from the last axis to the first; an image [H, W] stays as it is."""

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.ndim == 3:
            return x
        _image("HWC2CHW", x)
        x = x.transpose(0, 3, 1, 2)
        if x.flags.c_contiguous:
            return x
        result = room(x.shape, x.dtype)
        result[...] = x
        return result


class ToTensor(Operation):
    """From an image [H, W, C] or [H, W] of 0 to 255 to [C, H, W] of 0 to 1.

    Args:
        output_type: element type of the result.
    """

    def __init__(self, output_type: Any = np.float32) -> None:
        self.output_type = output_type.numpy if isinstance(output_type, DType) else np.dtype(output_type)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.ndim == 3:
            x = x[..., np.newaxis]
        _image("ToTensor", x)
        scaled = room((len(x), x.shape[3], *x.shape[1:3]), np.float32)
        np.multiply(x.transpose(0, 3, 1, 2), np.float32(1 / 255), out=scaled, casting="unsafe")
        return scaled.astype(self.output_type, copy=False)


class Resize(ImageOperation):
    """Another size.

    Args:
        size: (height, width), or one number for the shorter side, which keeps the proportions.
        interpolation: how pixels in between are computed; see `Inter`.

    Example:
        >>> Resize((8, 4))(np.zeros((16, 16, 3), np.uint8)).shape
        (8, 4, 3)
    """

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.BILINEAR) -> None:
        if not isinstance(interpolation, Inter):
            raise TypeError("Resize: interpolation must be of Inter. Received: "
                            f"interpolation={interpolation!r} (of type {type(interpolation).__name__})")
        pair = _size("Resize", size)
        self.size = size if isinstance(size, int) else pair
        self.interpolation = interpolation

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        images = x[..., np.newaxis] if x.ndim == 3 else x
        _image("Resize", images)
        resized = resize(images, *self._target(*images.shape[1:3]), self.interpolation)
        return resized[..., 0] if x.ndim == 3 else resized

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        from mycelia.dataset.vision.geometry import resized_picture
        return resized_picture(x, *self._target(x.height, x.width), self.interpolation)

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return self.size
        if height < width:
            return self.size, self.size * width // height
        return self.size * height // width, self.size


class Pad(ImageOperation):
    """Adds a border.

    Args:
        padding: pixels on all sides, (left and right, top and bottom), or (left, top, right, bottom).
        fill_value: what a constant border holds: a number, or one for each of three channels.
        padding_mode: see `Border`.
    """

    def __init__(self, padding: int | Sequence[int], fill_value: int | tuple[int, ...] = 0,
                 padding_mode: Border = Border.CONSTANT) -> None:
        self.padding = _padding("Pad", padding)
        self.fill_value, self.padding_mode = _fill("Pad", fill_value), _border("Pad", padding_mode)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return padded(x, self.padding, self.fill_value, self.padding_mode)


class CenterCrop(ImageOperation):
    """The middle of an image; a smaller image gets a border of zeros first.

    Args:
        size: (height, width), or one number for both.
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = _size("CenterCrop", size)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        height, width = self.size
        lack_y, lack_x = max(height - x.shape[1], 0), max(width - x.shape[2], 0)
        if lack_y or lack_x:
            x = padded(x, (lack_x - lack_x // 2, lack_y - lack_y // 2, lack_x // 2, lack_y // 2), 0,
                     Border.CONSTANT)
        top, left = (x.shape[1] - height) // 2, (x.shape[2] - width) // 2
        return x[:, top:top + height, left:left + width]


class RandomCrop(ImageOperation):
    """A part of an image at a random place.

    Args:
        size: (height, width) of the part, or one number for both.
        padding: a border added first, as in `Pad`.
        pad_if_needed: whether an image smaller than the part gets a border that makes it fit.
        fill_value, padding_mode: as in `Pad`.

    Raises:
        ValueError: an image smaller than the part without `pad_if_needed`.
    """

    def __init__(self, size: int | Sequence[int], padding: int | Sequence[int] | None = None,
                 pad_if_needed: bool = False, fill_value: int | tuple[int, ...] = 0,
                 padding_mode: Border = Border.CONSTANT) -> None:
        self.size = _size("RandomCrop", size)
        self.padding = None if padding is None else _padding("RandomCrop", padding)
        self.pad_if_needed = pad_if_needed
        self.fill_value, self.padding_mode = _fill("RandomCrop", fill_value), _border("RandomCrop",
                                                                                      padding_mode)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        height, width = self.size
        x, _ = self.bordered(x)
        tops = rng.integers(0, x.shape[1] - height + 1, size=len(x))
        lefts = rng.integers(0, x.shape[2] - width + 1, size=len(x))
        result = room_like(x, shape=(len(x), height, width, *x.shape[3:]))
        for i, (top, left) in enumerate(zip(tops.tolist(), lefts.tolist())):
            result[i] = x[i, top:top + height, left:left + width]
        return result

    def bordered(self, x: np.ndarray) -> tuple[np.ndarray, tuple[int, int]]:
        """Images with the border from which parts are taken, and (left, top) of the first pixel in it."""
        (height, width), (left, top) = self.size, (0, 0)
        if self.padding is not None:
            x = padded(x, self.padding, self.fill_value, self.padding_mode)
            left, top = self.padding[:2]
        lack_y, lack_x = max(height - x.shape[1], 0), max(width - x.shape[2], 0)
        if (lack_y or lack_x) and self.pad_if_needed:
            x = padded(x, (lack_x, lack_y, lack_x, lack_y), self.fill_value, self.padding_mode)
            left, top = left + lack_x, top + lack_y
        elif lack_y or lack_x:
            raise ValueError("RandomCrop: size must not exceed the "
                             f"image{' with its padding' if self.padding else ''}, {x.shape[1]} x "
                             f"{x.shape[2]}, unless pad_if_needed. Received: size={self.size}")
        return x, (left, top)


class _RandomFlip(ImageOperation):
    _axis: int

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = _number(type(self).__name__, "prob", prob)
        if not 0 <= self.prob <= 1:
            raise ValueError(f"{type(self).__name__}: prob must be from 0 to 1. Received: prob={prob!r}")

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.ndim not in (3, 4):
            raise ValueError(f"{type(self).__name__}: must have an image [H, W, C] or [H, W]. Received: "
                             f"{describe(x[0])}")
        chosen = np.flatnonzero(rng.random(len(x)) < self.prob)
        result = room_like(x)
        result[...] = x
        if x.flags.c_contiguous:  # pixels are moved whole
            result[chosen] = x[chosen].take(np.arange(x.shape[self._axis])[::-1], self._axis)
        else:
            result[chosen] = np.flip(x, self._axis)[chosen]
        return result


class RandomHorizontalFlip(_RandomFlip):
    """Left and right exchanged, with probability `prob`."""

    _axis = 2


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom exchanged, with probability `prob`."""

    _axis = 1


# -- arguments and borders -------------------------------------------------------------------------------
def _number(operation: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{operation}: {name} must be a number. Received: {name}={value!r} (of type "
                        f"{type(value).__name__})")
    return float(value)


def _sequence(operation: str, name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(f"{operation}: {name} must be a list or tuple of numbers. Received: {name}={value!r} "
                        f"(of type {type(value).__name__})")
    return list(value)


def _size(operation: str, size: Any) -> tuple[int, int]:
    pair = (size, size) if isinstance(size, int) else tuple(size) if isinstance(size, (list, tuple)) else ()
    if len(pair) != 2 or not all(isinstance(extent, int) and extent > 0 for extent in pair):
        raise ValueError(f"{operation}: size must be a positive integer or (height, width). Received: "
                         f"size={size!r}")
    return pair[0], pair[1]


def _padding(operation: str, padding: Any) -> tuple[int, int, int, int]:
    """(left, top, right, bottom)."""
    sides: tuple[Any, ...] = ()
    if isinstance(padding, int):
        sides = (padding,) * 4
    elif isinstance(padding, (list, tuple)):
        sides = tuple(padding) * (2 if len(padding) == 2 else 1)
    if len(sides) != 4 or not all(isinstance(side, int) and side >= 0 for side in sides):
        raise ValueError(f"{operation}: padding must be an integer, (left and right, top and bottom), or "
                         f"(left, top, right, bottom), none of them negative. Received: padding={padding!r}")
    return sides[0], sides[1], sides[2], sides[3]


def _fill(operation: str, fill_value: Any) -> Any:
    values = fill_value if isinstance(fill_value, tuple) else (fill_value,)
    if len(values) not in (1, 3) or not all(isinstance(value, int) and 0 <= value <= 255 for value in values):
        raise ValueError(f"{operation}: fill_value must be an integer from 0 to 255, or a tuple of three. "
                         f"Received: fill_value={fill_value!r}")
    return fill_value


def _border(operation: str, padding_mode: Any) -> Border:
    if not isinstance(padding_mode, Border):
        raise TypeError(f"{operation}: padding_mode must be of Border. Received: "
                        f"padding_mode={padding_mode!r} (of type {type(padding_mode).__name__})")
    return padding_mode


def _image(operation: str, x: np.ndarray) -> None:
    if x.ndim != 4:
        raise ValueError(f"{operation}: must have an image [H, W, C] or [H, W]. Received: {describe(x[0])}")


def padded(x: np.ndarray, padding: tuple[int, int, int, int], fill_value: Any, mode: Border) -> np.ndarray:
    left, top, right, bottom = padding
    widths = [(0, 0), (top, bottom), (left, right)] + [(0, 0)] * (x.ndim - 3)
    if mode != Border.CONSTANT:
        return np.pad(x, widths, mode=mode.value)
    bordered = (len(x), x.shape[1] + top + bottom, x.shape[2] + left + right, *x.shape[3:])
    result = room_like(x, shape=bordered)
    result[...] = fill_value
    result[:, top:top + x.shape[1], left:left + x.shape[2]] = x
    return result
