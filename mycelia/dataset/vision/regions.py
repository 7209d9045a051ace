"""Operations that erase, mix and filter images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array, describe
from mycelia.dataset.transforms.operation import Operation
from mycelia.dataset.vision.operation import (
    ImageByImage,
    ImageOperation,
    flag,
    image,
    integer,
    interval,
    number,
    saturated,
)
from mycelia.dataset.vision.utils import ImageBatchFormat


class CutOut(ImageByImage):
    """Square holes of zeros at random places.

    Args:
        length: pixels of a side.
        num_patches: how many.
        is_hwc: whether channels are the last axis; else the first.
    """

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True) -> None:
        self.length = integer("CutOut", "length", length, 1)
        self.num_patches = integer("CutOut", "num_patches", num_patches, 1)
        self.is_hwc = flag("CutOut", "is_hwc", is_hwc)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.ndim != 3:
            raise RuntimeError(f"CutOut: must have an image of three axes. Received: {describe(x)}")
        result = x.copy()
        plane = result if self.is_hwc else result.transpose(1, 2, 0)
        height, width = plane.shape[:2]
        if self.length > min(height, width):
            raise RuntimeError(
                f"CutOut: length must not exceed the image, {height} x {width}. Received: "
                f"length={self.length}"
            )
        for _ in range(self.num_patches):
            top, left = (
                int(rng.integers(height - self.length + 1)),
                int(rng.integers(width - self.length + 1)),
            )
            plane[top : top + self.length, left : left + self.length] = 0
        return result


class Erase(ImageOperation):
    """A rectangle filled with a value.

    Args:
        top, left, height, width: the rectangle.
        value: a number from 0 to 255, or one for each of three channels.
        inplace: whether the image given is changed.
    """

    def __init__(
        self,
        top: int,
        left: int,
        height: int,
        width: int,
        value: float | Sequence[float] = 0.0,
        inplace: bool = False,
    ) -> None:
        self.top, self.left = integer("Erase", "top", top, 0), integer("Erase", "left", left, 0)
        self.height, self.width = integer("Erase", "height", height, 1), integer("Erase", "width", width, 1)
        values = [value] if isinstance(value, (int, float)) else list(value)
        self.value = [number("Erase", "value", part, 0, 255) for part in values]
        if len(self.value) not in (1, 3):
            raise TypeError(f"Erase: value must be a number or three of them. Received: value={value!r}")
        self.inplace = flag("Erase", "inplace", inplace)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        result = image("Erase", x)
        result = result if self.inplace and result.flags.writeable else result.copy()
        if self.top + self.height > x.shape[0] or self.left + self.width > x.shape[1]:
            raise RuntimeError(
                f"Erase: the rectangle, {self.height} x {self.width} from ({self.top}, "
                f"{self.left}) on, "
                f"goes beyond the image, {x.shape[0]} x {x.shape[1]}"
            )
        result[self.top : self.top + self.height, self.left : self.left + self.width] = np.array(
            self.value
        ).astype(x.dtype)
        return result.reshape(x.shape)


class RandomErasing(ImageByImage):
    """A random rectangle of an image [C, H, W] filled, with probability `prob`.

    Args:
        prob: the probability.
        scale: (min, max) of the rectangle's share of the area.
        ratio: (min, max) of its height over its width.
        value: a number, one for each of three channels, or ``"random"`` for noise.
        inplace: accepted; the image given stays as it is.
        max_attempts: how often a rectangle is drawn until one fits.
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ) -> None:
        self.prob = number("RandomErasing", "prob", prob, 0, 1)
        self.scale, self.ratio = (
            interval("RandomErasing", "scale", scale, 0),
            interval("RandomErasing", "ratio", ratio, 0),
        )
        if isinstance(value, str) and value != "random":
            raise ValueError(
                f'RandomErasing: value must be a number, three of them, or "random". Received: {value!r}'
            )
        self.value, self.max_attempts = value, integer("RandomErasing", "max_attempts", max_attempts, 1)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.ndim != 3:
            raise RuntimeError(f"RandomErasing: must have an image [C, H, W]. Received: {describe(x)}")
        if rng.random() >= self.prob:
            return x
        height, width = x.shape[1:]
        for _ in range(self.max_attempts):
            area = rng.uniform(*self.scale) * height * width
            logarithms = np.log(np.maximum(self.ratio, 1e-12))
            ratio = np.exp(rng.uniform(logarithms[0], logarithms[1]))
            tall, wide = int(round(np.sqrt(area * ratio))), int(round(np.sqrt(area / ratio)))
            if 0 < tall < height and 0 < wide < width:
                break
        else:
            return x
        top, left = int(rng.integers(height - tall + 1)), int(rng.integers(width - wide + 1))
        result = x.copy()
        fill = (
            rng.standard_normal((len(x), tall, wide))
            if isinstance(self.value, str)
            else np.asarray(self.value).reshape(-1, 1, 1)
        )
        result[:, top : top + tall, left : left + wide] = fill.astype(x.dtype)
        return result


# -- filters ---------------------------------------------------------------------------------------------
class GaussianBlur(ImageOperation):
    """An image smoothed by a Gaussian; beyond its border stands its mirror image.

    Args:
        kernel_size: odd pixels of the kernel, or (along x, along y).
        sigma: standard deviation, or (along x, along y); default: ``0.15 kernel_size + 0.35``.
    """

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
    ) -> None:
        pair = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        if not isinstance(pair, (list, tuple)):
            raise TypeError(
                f"GaussianBlur: kernel_size must be an integer or two. Received: kernel_size={kernel_size!r}"
            )
        self.kernel_size = tuple(integer("GaussianBlur", "kernel_size", extent, 1) for extent in pair)
        if len(self.kernel_size) != 2 or not all(extent % 2 for extent in self.kernel_size):
            raise ValueError(f"GaussianBlur: kernel_size must be odd. Received: kernel_size={kernel_size!r}")
        values = (sigma, sigma) if sigma is None or isinstance(sigma, (int, float)) else sigma
        self.sigma = tuple(
            0.15 * extent + 0.35 if value is None or value == 0 else number("GaussianBlur", "sigma", value, 0)
            for value, extent in zip(values, self.kernel_size)
        )

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        wide = x.astype(np.float32)
        for axis, extent, sigma in (
            (2, self.kernel_size[0], self.sigma[0]),
            (1, self.kernel_size[1], self.sigma[1]),
        ):
            reach = extent // 2
            kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
            kernel /= kernel.sum()
            padding = [(0, 0)] * wide.ndim
            padding[axis] = (reach, reach)
            bordered = np.pad(wide, padding, mode="reflect")
            total = np.zeros_like(wide)
            for i, weight in enumerate(kernel.astype(np.float32)):
                total += weight * np.take(bordered, np.arange(i, i + wide.shape[axis]), axis)
            wide = total
        return saturated(wide, x.dtype)


class LinearTransformation(Operation):
    """``(x - mean) @ matrix`` of the flattened image, as for whitening.

    Args:
        transformation_matrix: [D, D] with D the number of values of an image.
        mean_vector: [D].
    """

    def __init__(self, transformation_matrix: np.ndarray, mean_vector: np.ndarray) -> None:
        for name, value in (("transformation_matrix", transformation_matrix), ("mean_vector", mean_vector)):
            if not isinstance(value, np.ndarray):
                raise TypeError(
                    f"LinearTransformation: {name} must be an array. Received: {type(value).__name__}"
                )
        if (
            transformation_matrix.ndim != 2
            or transformation_matrix.shape[0] != transformation_matrix.shape[1]
            or mean_vector.shape != transformation_matrix.shape[:1]
        ):
            raise ValueError(
                "LinearTransformation: transformation_matrix must be square and mean_vector as "
                "long. "
                f"Received: {transformation_matrix.shape} and {mean_vector.shape}"
            )
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        flat = x.reshape(len(x), -1)
        if flat.shape[1] != len(self.mean_vector):
            raise ValueError(
                f"LinearTransformation: must have an image of {len(self.mean_vector)} values. "
                f"Received: "
                f"{describe(x[0])}"
            )
        result = (flat - self.mean_vector) @ self.transformation_matrix
        return result.reshape(x.shape).astype(x.dtype if x.dtype.kind == "f" else np.float32)


class NormalizePad(Operation):
    """`Normalize`, and a fourth channel of zeros.

    Args:
        mean, std: a number for each of three channels.
        dtype: ``"float32"`` or ``"float16"``.
        is_hwc: whether channels are the last axis; else the first.
    """

    def __init__(
        self, mean: Sequence[float], std: Sequence[float], dtype: str = "float32", is_hwc: bool = True
    ) -> None:
        from mycelia.dataset.vision.transforms import Normalize

        if dtype not in ("float32", "float16"):
            raise ValueError(f'NormalizePad: dtype must be "float32" or "float16". Received: dtype={dtype!r}')
        self.dtype, self.is_hwc = dtype, flag("NormalizePad", "is_hwc", is_hwc)
        self._normalize = Normalize(mean, std, is_hwc)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        normal = self._normalize.stack(x, rng)
        padding = [(0, 0)] * x.ndim
        padding[-1 if self.is_hwc else 1] = (0, 1)
        return np.pad(normal, padding).astype(self.dtype)


# -- batches ---------------------------------------------------------------------------------------------
class _Batch(Operation):
    """An operation on a batch of images and one of labels; labels are one-hot."""

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        if len(columns) != 2:
            raise RuntimeError(
                f"{type(self).__name__}: takes images and labels. Received: {len(columns)} columns"
            )
        pairs = [self.mixed(np.asarray(x), np.asarray(y), rng) for x, y in zip(*columns)]
        return [np.stack(part) for part in zip(*pairs)]

    def __call__(self, *columns: Any) -> Any:  # type: ignore[override]
        from mycelia.dataset.randomness import eager_generator

        if len(columns) != 2:
            raise RuntimeError(
                f"{type(self).__name__}: takes images and labels. Received: {len(columns)} columns"
            )
        return self.mixed(as_array(columns[0]), as_array(columns[1]), eager_generator())

    def mixed(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _check(self, x: np.ndarray, y: np.ndarray) -> None:
        name = type(self).__name__
        if x.ndim != 4:
            raise RuntimeError(
                f"{name}: images must be a batch [N, H, W, C] or [N, C, H, W]; put it after "
                f"batch. "
                f"Received: {describe(x)}"
            )
        if y.ndim not in (2, 3) or len(y) != len(x):
            raise RuntimeError(
                f"{name}: labels must be one-hot [N, classes]; put OneHot before. Received: {describe(y)}"
            )


class MixUpBatch(_Batch):
    """Each image of a batch blended with another of it, and their labels as well: mixup (H. Zhang et al.,
    2018).

    Args:
        alpha: parameter of the Beta distribution from which the share is drawn.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = _positive("MixUpBatch", alpha)

    def mixed(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        self._check(x, y)
        share, other = rng.beta(self.alpha, self.alpha), rng.permutation(len(x))
        blend = np.float32(share) * x + np.float32(1 - share) * x[other]
        return saturated(blend, x.dtype), (share * y + (1 - share) * y[other]).astype(np.float32)


class CutMixBatch(_Batch):
    """A rectangle of each image of a batch taken from another, and a share of its label: CutMix (S. Yun et
    al., 2019).

    Args:
        image_batch_format: of `ImageBatchFormat`.
        alpha: parameter of the Beta distribution from which the share is drawn.
        prob: with which probability an image is changed.
    """

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0) -> None:
        if not isinstance(image_batch_format, ImageBatchFormat):
            raise TypeError(
                "CutMixBatch: image_batch_format must be of ImageBatchFormat. Received: "
                f"{image_batch_format!r}"
            )
        self.image_batch_format, self.alpha = image_batch_format, _positive("CutMixBatch", alpha)
        self.prob = number("CutMixBatch", "prob", prob, 0, 1)

    def mixed(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        self._check(x, y)
        images, labels, other = x.copy(), y.astype(np.float32), rng.permutation(len(x))
        last = self.image_batch_format == ImageBatchFormat.NHWC
        target, source = (images, x) if last else (images.transpose(0, 2, 3, 1), x.transpose(0, 2, 3, 1))
        height, width = target.shape[1:3]
        for i, j in enumerate(other):
            share = rng.beta(self.alpha, self.alpha)
            if rng.random() >= self.prob:
                continue
            tall, wide = (int(extent * np.sqrt(1 - share)) for extent in (height, width))
            y0, x0 = int(rng.integers(height)), int(rng.integers(width))
            top, bottom = max(y0 - tall // 2, 0), min(y0 + tall // 2, height)
            left, right = max(x0 - wide // 2, 0), min(x0 + wide // 2, width)
            target[i, top:bottom, left:right] = source[j, top:bottom, left:right]
            kept = 1 - (bottom - top) * (right - left) / (height * width)
            labels[i] = kept * y[i] + (1 - kept) * y[j]
        return images, labels


class MixUp(_Batch):
    """`MixUpBatch` with one share for the batch, or with the batch before.

    Args:
        batch_size: images in a batch.
        alpha: parameter of the Beta distribution from which the share is drawn.
        is_single: whether a batch is mixed with itself; else with the one before.
    """

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True) -> None:
        self.batch_size, self.alpha = integer("MixUp", "batch_size", batch_size, 1), _positive("MixUp", alpha)
        self.is_single = flag("MixUp", "is_single", is_single)
        self._before: tuple[np.ndarray, np.ndarray] | None = None

    def mixed(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        self._check(x, y)
        other = rng.permutation(len(x))
        mate = (x[other], y[other]) if self.is_single else self._before or (x, y)
        self._before = (x, y)
        share = rng.beta(self.alpha, self.alpha)
        count = min(len(x), len(mate[0]))
        images, labels = x.astype(np.float32), y.astype(np.float32)
        images[:count] = share * x[:count] + (1 - share) * mate[0][:count]
        labels[:count] = share * y[:count] + (1 - share) * mate[1][:count]
        return images, labels


def _positive(operation: str, alpha: Any) -> float:
    value = number(operation, "alpha", alpha)
    if value <= 0:
        raise ValueError(f"{operation}: alpha must be positive. Received: alpha={alpha}")
    return value
