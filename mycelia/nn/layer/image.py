"""Layers for images: resizing, shuffling of pixels, measures of likeness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.ir.dtypes import float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.function_cell import cell
from mycelia.ops.arithmetic import Maximum, Pow, Square
from mycelia.ops.constants import constant, like
from mycelia.ops.exponential import Log
from mycelia.ops.function import resizing
from mycelia.ops.function.convolving import conv2d
from mycelia.ops.function.pools import avg_pool2d
from mycelia.ops.movement import Pad
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor

PixelShuffle = cell("PixelShuffle", resizing.pixel_shuffle)
PixelUnshuffle = cell("PixelUnshuffle", resizing.pixel_unshuffle)
ChannelShuffle = cell("ChannelShuffle", resizing.channel_shuffle)


class ResizeBilinear(Cell):
    """``construct(x, size=None, scale_factor=None, align_corners=False)``: images ``[n, c, h, w]`` of another
    size, bilinear.

    Args:
        half_pixel_centers: whether pixels are taken at their centres.
    """

    def __init__(self, half_pixel_centers: bool = False) -> None:
        super().__init__()
        if not isinstance(half_pixel_centers, bool):
            raise TypeError(
                f"ResizeBilinear: half_pixel_centers must be a bool. Received: {half_pixel_centers!r} (of "
                f"type "
                f"{type(half_pixel_centers).__name__})"
            )
        self.half_pixel_centers = half_pixel_centers

    def construct(
        self, x: Tensor, size: Any = None, scale_factor: int | None = None, align_corners: bool = False
    ) -> Tensor:
        require_tensor("ResizeBilinear", x)
        if (size is None) == (scale_factor is None):
            raise ValueError(
                "ResizeBilinear: give either size or scale_factor. Received: "
                f"size={size}, scale_factor={scale_factor}"
            )
        if scale_factor is not None:
            positive_int("ResizeBilinear", scale_factor=scale_factor)
            size = (x.shape[2] * scale_factor, x.shape[3] * scale_factor)
        return resizing.resized_images(x, size, "bilinear", align_corners, self.half_pixel_centers)


class CentralCrop(Cell):
    """The middle ``central_fraction`` of the last two axes of ``[c, h, w]`` or ``[n, c, h, w]``."""

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        if not isinstance(central_fraction, float) or not 0 < central_fraction <= 1:
            raise ValueError(
                f"CentralCrop: central_fraction must be a float in (0, 1]. Received: {central_fraction!r}"
            )
        self.central_fraction = central_fraction

    def construct(self, image: Tensor) -> Tensor:
        if image.ndim not in (3, 4):
            raise ValueError(f"CentralCrop: the image must have 3 or 4 axes. Received: shape {image.shape}")
        for axis in (image.ndim - 2, image.ndim - 1):
            start = int((image.shape[axis] - image.shape[axis] * self.central_fraction) / 2)
            image = image.narrow(axis, start, image.shape[axis] - 2 * start)
        return image


class ImageGradients(Cell):
    """The differences of neighbours of images ``[n, c, h, w]``: (downwards, to the right); zeros in the last
    row and column."""

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        if images.ndim != 4:
            raise ValueError(f"ImageGradients: images must be [n, c, h, w]. Received: shape {images.shape}")
        keep = (0, 0)
        down = Pad(images[:, :, 1:] - images[:, :, :-1], paddings=(keep, keep, (0, 1), keep), value=0)
        right = Pad(images[..., 1:] - images[..., :-1], paddings=(keep, keep, keep, (0, 1)), value=0)
        return down, right


def _alike(owner: str, a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape or a.ndim != 4:
        raise ValueError(f"{owner}: needs two [n, c, h, w] of one shape. Received: {a.shape} and {b.shape}")


class PSNR(Cell):
    """The peak signal-to-noise ratio of pairs of images: 10 * log10(max_val² / mean((a - b)²))."""

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = max_val

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _alike("PSNR", img1, img2)
        error = Square(img1 - img2).mean((-3, -2, -1))
        return Log(self.max_val**2 / error) * (10.0 / math.log(10.0))


class SSIM(Cell):
    """The structural similarity of pairs of images ``[n, c, h, w]``. Wang et al., "Image quality
    assessment: from
    error visibility to structural similarity", 2004, equation 13.

    Args:
        max_val: largest value of a pixel.
        filter_size, filter_sigma: extent and deviation of the Gaussian window.
        k1, k2: constants for stability.
    """

    def __init__(
        self,
        max_val: float = 1.0,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__()
        positive_int(self.cls_name, filter_size=filter_size)
        if not 0 < k1 < 1 or not 0 < k2 < 1 or filter_sigma <= 0 or max_val <= 0:
            raise ValueError(
                f"{self.cls_name}: k1 and k2 must be in (0, 1), filter_sigma and max_val positive. Received: "
                f"k1={k1}, k2={k2}, filter_sigma={filter_sigma}, max_val={max_val}"
            )
        self.filter_size, self.c1, self.c2 = filter_size, (k1 * max_val) ** 2, (k2 * max_val) ** 2
        at = np.arange(filter_size) - (filter_size - 1) / 2
        row = np.exp(-0.5 * (at / filter_sigma) ** 2)
        self.window = (np.outer(row, row) / row.sum() ** 2).astype(np.float32)

    def parts(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Means over each image of the similarity and of its contrast part, ``[n, c]``."""
        if min(a.shape[-2:]) < self.filter_size:
            raise ValueError(
                f"{self.cls_name}: images must be at least filter_size={self.filter_size} on a side. "
                f"Received: "
                f"{a.shape}"
            )
        channels = a.shape[1]
        kernel = np.ascontiguousarray(np.broadcast_to(self.window, (channels, 1, *self.window.shape)))
        weight = constant(kernel).astype(a.dtype)

        def smooth(x: Tensor) -> Tensor:
            return conv2d(x, weight, None, 1, "valid", 0, 1, channels)

        mean_a, mean_b = smooth(a), smooth(b)
        cross, squares = mean_a * mean_b, Square(mean_a) + Square(mean_b)
        covariance = smooth(a * b) - cross
        variances = smooth(Square(a) + Square(b)) - squares
        contrast = (covariance * 2.0 + self.c2) / (variances + self.c2)
        luminance = (cross * 2.0 + self.c1) / (squares + self.c1)
        return (luminance * contrast).mean((-2, -1)), contrast.mean((-2, -1))

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _alike(self.cls_name, img1, img2)
        return self.parts(img1.astype(float32), img2.astype(float32))[0].mean(-1)


class MSSSIM(SSIM):
    """The structural similarity over several scales, each half of the one before. Wang, Simoncelli and Bovik
    2003, equation 7.

    Args:
        max_val, filter_size, filter_sigma, k1, k2: as of `SSIM`.
        power_factors: the weights of the scales.
    """

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        self.power_factors = tuple(float(p) for p in power_factors)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _alike(self.cls_name, img1, img2)
        a, b = img1.astype(float32), img2.astype(float32)
        result: Any = 1.0
        for i, power in enumerate(self.power_factors):
            if i:
                a, b = (avg_pool2d(x, 2, 2, 0) for x in (a, b))
            similarity, contrast = self.parts(a, b)
            part = similarity if i == len(self.power_factors) - 1 else contrast
            part = Maximum(part, like(0.0, part))
            result = Pow(part, like(power, part)) * result
        return result.mean(-1)
