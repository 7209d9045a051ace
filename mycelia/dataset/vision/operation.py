"""ImageOperation: what the operations on images have in common, for arrays and for images of Pillow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import as_array, describe
from mycelia.dataset.transforms.operation import Operation


def is_pil(x: Any) -> bool:
    """Whether x is an image of Pillow; says so without importing it."""
    return hasattr(x, "getbands") and hasattr(x, "tobytes") and type(x).__module__.startswith("PIL.")


def pillow(operation: str) -> Any:
    """Pillow's package.

    Raises:
        ImportError: it is not installed; the message names the operation that needs it.
    """
    try:
        import PIL.Image
        import PIL.ImageEnhance
        import PIL.ImageFilter
        import PIL.ImageOps
    except ImportError as error:
        raise ImportError(f"{operation} needs Pillow: pip install pillow") from error
    return PIL


class ImageOperation(Operation):
    """An operation on images [H, W, C] or [H, W], or on Pillow's, which stay Pillow's.

    A subclass defines `stack` (many images of one shape) or `pixels` (one image); `picture` where Pillow
    has an
    operation of its own whose results differ.
    """

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        if is_pil(x):
            return self.picture(x, rng)
        return self.pixels(as_array(x), rng)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The result for one image."""
        return np.asarray(self.stack(x[np.newaxis], rng)[0])

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        """The result for an image of Pillow; by way of its pixels where nothing else is defined."""
        result = self.pixels(np.asarray(x), rng)
        return pillow(type(self).__name__).Image.fromarray(result)


class ImageByImage(ImageOperation):
    """An operation whose random numbers differ from image to image; defines `pixels`."""

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError


def image(operation: str, x: np.ndarray, channels: Sequence[int] = ()) -> np.ndarray:
    """The image [H, W, C] that x is.

    Raises:
        RuntimeError: another number of axes, or of channels.
    """
    if x.ndim == 2 and (not channels or 1 in channels):
        return x[..., np.newaxis]
    if x.ndim != 3 or channels and x.shape[2] not in channels:
        layout = " or ".join(f"[H, W, {count}]" for count in channels) or "[H, W, C] or [H, W]"
        raise RuntimeError(f"{operation}: must have an image {layout}. Received: {describe(x)}")
    return x


def uint8_image(operation: str, x: np.ndarray) -> np.ndarray:
    """x, checked to be of bytes.

    Raises:
        RuntimeError: another element type.
    """
    if x.dtype != np.uint8:
        raise RuntimeError(f"{operation}: must have an image of uint8. Received: {x.dtype}")
    return x


def saturated(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Values rounded and clipped as an integer type holds them; floats as they are."""
    if dtype.kind not in "iu":
        return values.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


# -- arguments -------------------------------------------------------------------------------------------
def number(
    operation: str, name: str, value: Any, low: float | None = None, high: float | None = None
) -> float:
    """The value, checked to be a number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(
            f"{operation}: {name} must be a number. Received: {name}={value!r} (of type "
            f"{type(value).__name__})"
        )
    if low is not None and value < low or high is not None and value > high or value != value:
        bounds = (
            f"at least {low}"
            if high is None
            else f"at most {high}"
            if low is None
            else f"from {low} to {high}"
        )
        raise ValueError(f"{operation}: {name} must be {bounds}. Received: {name}={value}")
    return float(value)


def integer(operation: str, name: str, value: Any, low: int, high: int | None = None) -> int:
    """The value, checked to be an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"{operation}: {name} must be an integer. Received: {name}={value!r} (of type "
            f"{type(value).__name__})"
        )
    if value < low or high is not None and value > high:
        raise ValueError(
            f"{operation}: {name} must be "
            f"{f'at least {low}' if high is None else f'from {low} to {high}'}. "
            f"Received: {name}={value}"
        )
    return int(value)


def flag(operation: str, name: str, value: Any) -> bool:
    """The value, checked to be a bool."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{operation}: {name} must be a bool. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    return value


def interval(
    operation: str, name: str, value: Any, low: float | None = None, high: float | None = None
) -> tuple[float, float]:
    """The value, checked to be (min, max) within bounds, in order."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{operation}: {name} must be (min, max). Received: {name}={value!r} (of type "
            f"{type(value).__name__})"
        )
    if len(value) != 2:
        raise ValueError(f"{operation}: {name} must have two numbers. Received: {name}={value!r}")
    first, last = (number(operation, name, part, low, high) for part in value)
    if first > last:
        raise ValueError(
            f"{operation}: {name} must be (min, max) with min <= max. Received: {name}={value!r}"
        )
    return first, last


def size(operation: str, value: Any, name: str = "size") -> tuple[int, int]:
    """(height, width) of a positive integer or a pair of them."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = (value, value)
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{operation}: {name} must be an integer or (height, width). Received: "
            f"{name}={value!r} "
            f"(of type {type(value).__name__})"
        )
    if len(value) != 2 or not all(type(extent) is int and extent > 0 for extent in value):
        raise ValueError(
            f"{operation}: {name} must be a positive integer or (height, width). Received: {name}={value!r}"
        )
    return value[0], value[1]
