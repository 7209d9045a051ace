"""Operations on the colours of images; each pixel's result depends on that pixel, or on statistics of the
image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.vision.colour_space import converted, grey, hsv_bytes, rgb_bytes
from mycelia.dataset.vision.operation import (
    ImageByImage,
    ImageOperation,
    image,
    integer,
    interval,
    number,
    pillow,
    saturated,
    uint8_image,
)
from mycelia.dataset.vision.utils import ConvertMode


# -- single adjustments ----------------------------------------------------------------------------------
class _Adjust(ImageOperation):
    """One of Pillow's enhancements by a factor: 1 leaves the image as it is."""

    _argument = ""
    _enhancement = ""

    def __init__(self, factor: float) -> None:
        setattr(self, self._argument, number(type(self).__name__, self._argument, factor, 0))

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.adjusted(image(type(self).__name__, x, (3,)), getattr(self, self._argument))

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        enhancement = getattr(pillow(type(self).__name__).ImageEnhance, self._enhancement)
        return enhancement(x).enhance(getattr(self, self._argument))

    @staticmethod
    def adjusted(x: np.ndarray, factor: float) -> np.ndarray:
        raise NotImplementedError


class AdjustBrightness(_Adjust):
    """All values times a factor.

    Args:
        brightness_factor: not negative; 0 gives black.
    """

    _argument, _enhancement = "brightness_factor", "Brightness"

    def __init__(self, brightness_factor: float) -> None:
        super().__init__(brightness_factor)

    @staticmethod
    def adjusted(x: np.ndarray, factor: float) -> np.ndarray:
        return saturated(x * factor, x.dtype)


class AdjustContrast(_Adjust):
    """Values moved away from the mean of the grey image by a factor.

    Args:
        contrast_factor: not negative; 0 gives a grey image.
    """

    _argument, _enhancement = "contrast_factor", "Contrast"

    def __init__(self, contrast_factor: float) -> None:
        super().__init__(contrast_factor)

    @staticmethod
    def adjusted(x: np.ndarray, factor: float) -> np.ndarray:
        mean = grey(x).mean(dtype=np.float64)
        if x.dtype.kind in "iu":
            mean = float(np.floor(mean + 0.5))
        return saturated(mean * (1 - factor) + x * factor, x.dtype)


class AdjustSaturation(_Adjust):
    """Colours moved away from the grey image by a factor.

    Args:
        saturation_factor: not negative; 0 gives the grey image.
    """

    _argument, _enhancement = "saturation_factor", "Color"

    def __init__(self, saturation_factor: float) -> None:
        super().__init__(saturation_factor)

    @staticmethod
    def adjusted(x: np.ndarray, factor: float) -> np.ndarray:
        return saturated(grey(x)[..., np.newaxis] * (1 - factor) + x * factor, x.dtype)


class AdjustSharpness(_Adjust):
    """The image moved away from its smoothed copy by a factor; the border keeps its values.

    Args:
        sharpness_factor: not negative; 0 smooths, 2 sharpens.
    """

    _argument, _enhancement = "sharpness_factor", "Sharpness"

    def __init__(self, sharpness_factor: float) -> None:
        super().__init__(sharpness_factor)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.adjusted(image("AdjustSharpness", x), self.sharpness_factor).reshape(x.shape)  # type: ignore

    @staticmethod
    def adjusted(x: np.ndarray, factor: float) -> np.ndarray:
        if min(x.shape[:2]) < 3:
            return x.copy()
        wide = x.astype(np.float32)
        rows, columns = x.shape[0] - 2, x.shape[1] - 2
        total = 4 * wide[1:-1, 1:-1]
        for dy in range(3):
            for dx in range(3):
                total = total + wide[dy : dy + rows, dx : dx + columns]
        smooth = wide.copy()
        smooth[1:-1, 1:-1] = saturated(total / 13, x.dtype)
        return saturated(smooth * (1 - factor) + wide * factor, x.dtype)


class AdjustHue(ImageOperation):
    """Hues turned by a part of the circle.

    Args:
        hue_factor: from -0.5 to 0.5.
    """

    def __init__(self, hue_factor: float) -> None:
        self.hue_factor = number("AdjustHue", "hue_factor", hue_factor, -0.5, 0.5)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.adjusted(uint8_image("AdjustHue", image("AdjustHue", x, (3,))), self.hue_factor)

    @staticmethod
    def adjusted(x: np.ndarray, factor: float) -> np.ndarray:
        hsv = hsv_bytes(x)
        hsv[..., 0] += np.uint8(int(factor * 255) % 256)
        return rgb_bytes(hsv)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        if x.mode in ("L", "1", "I", "F"):
            return x
        hue, saturation, value = x.convert("HSV").split()
        turned = np.asarray(hue) + np.uint8(int(self.hue_factor * 255) % 256)
        package = pillow("AdjustHue")
        return package.Image.merge("HSV", (package.Image.fromarray(turned, "L"), saturation, value)).convert(
            x.mode
        )


class AdjustGamma(ImageOperation):
    """``gain * x ** gamma``, on values from 0 to 1.

    Args:
        gamma: not negative.
        gain: a factor.
    """

    def __init__(self, gamma: float, gain: float = 1) -> None:
        self.gamma = number("AdjustGamma", "gamma", gamma, 0)
        self.gain = number("AdjustGamma", "gain", gain)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.dtype.kind == "f":
            return np.clip(np.power(x, x.dtype.type(self.gamma)) * x.dtype.type(self.gain), 0, 1)
        table = np.clip(np.power(np.arange(256) / 255, self.gamma) * self.gain * 255.999, 0, 255)
        return table.astype(np.uint8)[uint8_image("AdjustGamma", x)]


# -- tables ----------------------------------------------------------------------------------------------
class Invert(ImageOperation):
    """255 minus each value."""

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (255 - x).astype(x.dtype)


class Posterize(ImageOperation):
    """The upper bits of each value; the others become 0.

    Args:
        bits: how many bits stay, from 0 to 8.
    """

    def __init__(self, bits: int) -> None:
        self.bits = integer("Posterize", "bits", bits, 0, 8)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return uint8_image("Posterize", x) & np.uint8(256 - (1 << 8 - self.bits))


class Solarize(ImageOperation):
    """Inverts the values within bounds.

    Args:
        threshold: (min, max) of the values that are inverted, or min alone, up to 255.
    """

    def __init__(self, threshold: float | Sequence[float]) -> None:
        bounds = (threshold, 255) if isinstance(threshold, (int, float)) else threshold
        self.threshold = interval("Solarize", "threshold", bounds, 0, 255)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return solarized(uint8_image("Solarize", x), *self.threshold)


def solarized(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values from `low` to `high` inverted."""
    return np.where((x >= low) & (x <= high), 255 - x, x)


class Equalize(ImageOperation):
    """A uniform histogram in each channel."""

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return equalized(uint8_image("Equalize", x))

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        return pillow("Equalize").ImageOps.equalize(x)


def equalized(x: np.ndarray) -> np.ndarray:
    """x with a uniform histogram in each channel."""
    result = np.empty_like(x)
    planes, out = x.reshape(*x.shape[:2], -1), result.reshape(*x.shape[:2], -1)
    for channel in range(planes.shape[2]):
        counts = np.bincount(planes[..., channel].ravel(), minlength=256)
        first = int(np.flatnonzero(counts)[0])
        total = counts.sum() - counts[first]
        if not total:
            out[..., channel] = planes[..., channel]
            continue
        above = np.where(np.arange(256) > first, np.cumsum(counts) - counts[first], 0).astype(np.float32)
        table = np.clip(np.rint(above * (np.float32(255) / np.float32(total))), 0, 255).astype(np.uint8)
        out[..., channel] = table[planes[..., channel]]
    return result


class AutoContrast(ImageOperation):
    """Each channel stretched over all values.

    Args:
        cutoff: percent of the darkest and lightest pixels that are left out of the histogram.
        ignore: values that are left out of it.
    """

    def __init__(self, cutoff: float = 0.0, ignore: int | Sequence[int] | None = None) -> None:
        name = type(self).__name__
        self.cutoff = number(name, "cutoff", cutoff, 0, 50)
        listed = [] if ignore is None else [ignore] if isinstance(ignore, int) else list(ignore)
        self.ignore = [integer(name, "ignore", value, 0, 255) for value in listed]

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return stretched(uint8_image(type(self).__name__, x), self.cutoff, self.ignore)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        return pillow("AutoContrast").ImageOps.autocontrast(x, self.cutoff, self.ignore or None)


def stretched(x: np.ndarray, cutoff: float = 0.0, ignore: Sequence[int] = ()) -> np.ndarray:
    """x with each channel stretched over all values."""
    result = np.empty_like(x)
    planes, out = x.reshape(*x.shape[:2], -1), result.reshape(*x.shape[:2], -1)
    for channel in range(planes.shape[2]):
        counts = np.bincount(planes[..., channel].ravel(), minlength=256)
        counts[list(ignore)] = 0
        low, high = _ends(counts, cutoff)
        table = np.arange(256.0)
        if high > low:
            scale = np.float32(255 / (high - low))
            stretch = np.arange(256, dtype=np.float32) * scale - np.float32(low) * scale
            table = np.clip(np.trunc(stretch), 0, 255)
        out[..., channel] = table.astype(np.uint8)[planes[..., channel]]
    return result


def _ends(counts: np.ndarray, cutoff: float) -> tuple[int, int]:
    """The lowest and highest value after the share `cutoff` of the pixels went at each end."""
    counts, share = counts.copy(), int(counts.sum() * cutoff / 100)
    for order in (range(256), range(255, -1, -1)):
        left = share
        for value in order:
            taken = min(left, int(counts[value]))
            counts[value] -= taken
            left -= taken
            if not left:
                break
    held = np.flatnonzero(counts)
    return (int(held[0]), int(held[-1])) if len(held) else (0, 0)


# -- colour spaces ---------------------------------------------------------------------------------------
class Grayscale(ImageOperation):
    """The grey image, in one channel or three.

    Args:
        num_output_channels: 1 or 3.
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = integer("Grayscale", "num_output_channels", num_output_channels, 1, 3)
        if num_output_channels == 2:
            raise ValueError("Grayscale: num_output_channels must be 1 or 3. Received: num_output_channels=2")

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        flat = x if x.ndim == 2 else grey(image("Grayscale", x, (3,)))
        return flat if self.num_output_channels == 1 else np.repeat(flat[..., np.newaxis], 3, axis=2)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        flat = x.convert("L")
        return flat if self.num_output_channels == 1 else pillow("Grayscale").Image.merge("RGB", (flat,) * 3)


class ConvertColor(ImageOperation):
    """Another order or number of channels, or another colour space.

    Args:
        convert_mode: of `ConvertMode`.
    """

    def __init__(self, convert_mode: ConvertMode) -> None:
        if not isinstance(convert_mode, ConvertMode):
            raise TypeError(
                "ConvertColor: convert_mode must be of ConvertMode. Received: "
                f"convert_mode={convert_mode!r} (of type {type(convert_mode).__name__})"
            )
        self.convert_mode = convert_mode

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return converted(x, self.convert_mode)


class RgbToHsv(ImageOperation):
    """Hue, saturation and value (each 0 to 1) of images with values from 0 to 1, or of bytes as they are.

    Args:
        is_hwc: whether channels are the last axis; else the first.
    """

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = is_hwc

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        axis = -1 if self.is_hwc else x.ndim - 3
        _three(type(self).__name__, x, axis)
        red, green, blue = np.moveaxis(x.astype(np.float64), axis, 0)
        value, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
        span = value - low
        still = span == 0
        divisor = np.where(still, 1, span)
        saturation = span / np.where(still, 1, value)
        r, g, b = (value - red) / divisor, (value - green) / divisor, (value - blue) / divisor
        hue = np.where(red == value, b - g, np.where(green == value, 2 + r - b, 4 + g - r))
        hue = np.where(still, 0, hue / 6 % 1)
        return np.stack([hue, saturation, value], axis)


class HsvToRgb(ImageOperation):
    """Red, green and blue of images of hue, saturation and value, each from 0 to 1.

    Args:
        is_hwc: whether channels are the last axis; else the first.
    """

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = is_hwc

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        axis = -1 if self.is_hwc else x.ndim - 3
        _three(type(self).__name__, x, axis)
        hue, saturation, value = np.moveaxis(x.astype(np.float64), axis, 0)
        sector = np.floor(hue * 6)
        part = hue * 6 - sector
        p, q = value * (1 - saturation), value * (1 - saturation * part)
        t = value * (1 - saturation * (1 - part))
        which = sector.astype(np.int64) % 6
        red = np.choose(which, [value, q, p, p, t, value])
        green = np.choose(which, [t, value, value, q, p, p])
        blue = np.choose(which, [p, p, t, value, value, q])
        return np.stack([red, green, blue], axis)


def _three(operation: str, x: np.ndarray, axis: int) -> None:
    if x.ndim < 4 or x.shape[axis] != 3:
        raise TypeError(f"{operation}: must have images of three channels. Received: {list(x.shape[1:])}")


# -- random ----------------------------------------------------------------------------------------------
class RandomColorAdjust(ImageByImage):
    """Brightness, contrast, saturation and hue changed at random, in random order.

    Args:
        brightness, contrast, saturation: (min, max) of the factor, or one number d for from max(0, 1 - d)
            to 1 + d.
        hue: (min, max) of the turn, from -0.5 to 0.5, or one number d for from -d to d.
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = (1, 1),
        contrast: float | Sequence[float] = (1, 1),
        saturation: float | Sequence[float] = (1, 1),
        hue: float | Sequence[float] = (0, 0),
    ) -> None:
        self.brightness = self._range("brightness", brightness)
        self.contrast, self.saturation = (
            self._range("contrast", contrast),
            self._range("saturation", saturation),
        )
        if isinstance(hue, (int, float)):
            hue = (-number("RandomColorAdjust", "hue", hue, 0, 0.5), hue)
        self.hue = interval("RandomColorAdjust", "hue", hue, -0.5, 0.5)

    @staticmethod
    def _range(name: str, value: Any) -> tuple[float, float]:
        if isinstance(value, (int, float)):
            value = number("RandomColorAdjust", name, value, 0)
            value = (max(0, 1 - value), 1 + value)
        return interval("RandomColorAdjust", name, value, 0)

    def _chosen(self, rng: np.random.Generator) -> list[ImageOperation]:
        makers: list[tuple[Any, tuple[float, float], float]] = [
            (AdjustBrightness, self.brightness, 1),
            (AdjustContrast, self.contrast, 1),
            (AdjustSaturation, self.saturation, 1),
            (AdjustHue, self.hue, 0),
        ]
        drawn = [(maker, float(rng.uniform(*bounds)), still) for maker, bounds, still in makers]
        order = rng.permutation(len(drawn)).tolist()
        return [drawn[i][0](drawn[i][1]) for i in order if drawn[i][1] != drawn[i][2]]

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = image("RandomColorAdjust", x, (3,))
        for operation in self._chosen(rng):
            x = operation.pixels(x, rng)
        return x

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        for operation in self._chosen(rng):
            x = operation.picture(x, rng)
        return x


class _RandomDegree(ImageByImage):
    """An adjustment by a factor drawn from an interval."""

    _maker: Any

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees = interval(type(self).__name__, "degrees", degrees, 0)

    def _chosen(self, rng: np.random.Generator) -> ImageOperation:
        return self._maker(float(rng.uniform(*self.degrees)))

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self._chosen(rng).pixels(x, rng)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        return self._chosen(rng).picture(x, rng)


class RandomColor(_RandomDegree):
    """Saturation changed by a factor drawn from `degrees` = (min, max)."""

    _maker = AdjustSaturation


class RandomSharpness(_RandomDegree):
    """Sharpness changed by a factor drawn from `degrees` = (min, max)."""

    _maker = AdjustSharpness


class _Sometimes(ImageByImage):
    """Another operation, with probability `prob`."""

    prob: float
    _operation: ImageOperation

    def _set(self, operation: ImageOperation, prob: float) -> None:
        self.prob = number(type(self).__name__, "prob", prob, 0, 1)
        self._operation = operation

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self._operation.pixels(x, rng) if rng.random() < self.prob else x

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        return self._operation.picture(x, rng) if rng.random() < self.prob else x


class RandomAdjustSharpness(_Sometimes):
    """`AdjustSharpness` by `degree`, with probability `prob`."""

    def __init__(self, degree: float, prob: float = 0.5) -> None:
        self.degree = number("RandomAdjustSharpness", "degree", degree, 0)
        self._set(AdjustSharpness(degree), prob)


class RandomAutoContrast(_Sometimes):
    """`AutoContrast` with probability `prob`."""

    def __init__(
        self, cutoff: float = 0.0, ignore: int | Sequence[int] | None = None, prob: float = 0.5
    ) -> None:
        self._set(AutoContrast(cutoff, ignore), prob)


class RandomEqualize(_Sometimes):
    """`Equalize` with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self._set(Equalize(), prob)


class RandomInvert(_Sometimes):
    """`Invert` with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self._set(Invert(), prob)


class RandomGrayscale(_Sometimes):
    """The grey image, in as many channels, with probability `prob`."""

    def __init__(self, prob: float = 0.1) -> None:
        self._set(Grayscale(3), prob)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        return self._operation.picture(x, rng).convert(x.mode) if rng.random() < self.prob else x


class RandomPosterize(ImageByImage):
    """`Posterize` with a number of bits drawn from `bits` = (min, max), from 1 to 8."""

    def __init__(self, bits: int | Sequence[int] = (8, 8)) -> None:
        pair = (bits, bits) if isinstance(bits, int) else bits
        if not isinstance(pair, (list, tuple)):
            raise TypeError(
                f"RandomPosterize: bits must be an integer or (min, max). Received: bits={bits!r}"
            )
        for value in pair:
            integer("RandomPosterize", "bits", value, 1, 8)
        self.bits = tuple(int(value) for value in interval("RandomPosterize", "bits", pair))

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return Posterize(int(rng.integers(self.bits[0], self.bits[1] + 1))).pixels(x, rng)


class RandomSolarize(ImageByImage):
    """`Solarize` with bounds drawn from `threshold` = (min, max); where they are equal, from there up."""

    def __init__(self, threshold: Sequence[int] = (0, 255)) -> None:
        low, high = interval("RandomSolarize", "threshold", threshold, 0, 255)
        self.threshold = int(low), int(high)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        low, high = sorted(rng.integers(self.threshold[0], self.threshold[1] + 1, size=2).tolist())
        high = 255 if low == high else high
        return solarized(uint8_image("RandomSolarize", x), low, high)


# Principal components of ImageNet's colours: A. Krizhevsky et al., ImageNet Classification with Deep
# Convolutional Neural Networks, 2012; values from 0 to 255.
_EIGENVALUES = np.array([55.46, 4.794, 1.148])
_EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


class RandomLighting(ImageByImage):
    """Noise along the principal components of ImageNet's colours.

    Args:
        alpha: its standard deviation, not negative.
    """

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = number("RandomLighting", "alpha", alpha, 0)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shift = _EIGENVECTORS @ (rng.normal(0, self.alpha, 3) * _EIGENVALUES)
        return saturated(image("RandomLighting", x, (3,)) + shift, x.dtype)
