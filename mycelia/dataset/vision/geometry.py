"""Operations on the geometry of images: parts, turns, sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.vision.files import Decode
from mycelia.dataset.vision.operation import (
    ImageByImage,
    ImageOperation,
    flag,
    image,
    integer,
    interval,
    is_pil,
    number,
    pillow,
    size,
)
from mycelia.dataset.vision.resampling import resize
from mycelia.dataset.vision.utils import Border, Inter, SliceMode
from mycelia.dataset.vision.warping import affine_matrix, perspective, perspective_matrix, rotation, warped


def inter(operation: str, value: Any, name: str = "interpolation") -> Inter:
    """The value, checked to be of `Inter`."""
    if not isinstance(value, Inter):
        raise TypeError(
            f"{operation}: {name} must be of Inter. Received: {name}={value!r} (of type "
            f"{type(value).__name__})"
        )
    return value


def colour(operation: str, value: Any) -> Any:
    """The value, checked to be a number from 0 to 255 or three of them."""
    values = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(part, int) and not isinstance(part, bool) for part in values):
        raise TypeError(
            f"{operation}: fill_value must be an integer or a tuple of three. Received: fill_value={value!r}"
        )
    if len(values) not in (1, 3) or not all(0 <= part <= 255 for part in values):
        raise ValueError(
            f"{operation}: fill_value must be an integer from 0 to 255, or a tuple of three. "
            f"Received: fill_value={value!r}"
        )
    return value


def resized(x: np.ndarray, height: int, width: int, interpolation: Inter) -> np.ndarray:
    """One image in another size."""
    if x.ndim == 2:
        return resize(x[np.newaxis, ..., np.newaxis], height, width, interpolation)[0, ..., 0]
    return resize(x[np.newaxis], height, width, interpolation)[0]


def resized_picture(x: Any, height: int, width: int, interpolation: Inter) -> Any:
    """An image of Pillow in another size."""
    codes = {
        Inter.NEAREST: 0,
        Inter.ANTIALIAS: 1,
        Inter.BILINEAR: 2,
        Inter.BICUBIC: 3,
        Inter.PILCUBIC: 3,
        Inter.AREA: 4,
    }
    return x.resize((width, height), codes[interpolation])


# -- flips and parts -------------------------------------------------------------------------------------
class HorizontalFlip(ImageOperation):
    """Left and right exchanged."""

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        image("HorizontalFlip", x[0])
        return np.flip(x, 2).copy()


class VerticalFlip(ImageOperation):
    """Top and bottom exchanged."""

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        image("VerticalFlip", x[0])
        return np.flip(x, 1).copy()


class Crop(ImageOperation):
    """A part of an image.

    Args:
        coordinates: (top, left) of its first pixel.
        size: (height, width) of it, or one number for both.

    Raises:
        RuntimeError: the part goes beyond the image.
    """

    def __init__(self, coordinates: Sequence[int], size: int | Sequence[int]) -> None:  # noqa: A002  MindSpore's
        if not isinstance(coordinates, (list, tuple)) or len(coordinates) != 2:
            raise TypeError(f"Crop: coordinates must be (top, left). Received: coordinates={coordinates!r}")
        self.coordinates = tuple(integer("Crop", "coordinates", value, 0) for value in coordinates)
        self.size = _size("Crop", size)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        (top, left), (height, width) = self.coordinates, self.size
        if top + height > x.shape[1] or left + width > x.shape[2]:
            raise RuntimeError(
                f"Crop: the part, {height} x {width} from {self.coordinates} on, goes beyond "
                f"the image, "
                f"{x.shape[1]} x {x.shape[2]}"
            )
        return x[:, top : top + height, left : left + width]


class ResizedCrop(ImageOperation):
    """A part of an image in another size.

    Args:
        top, left, height, width: the part.
        size: (height, width) of the result, or one number for both.
        interpolation: of `Inter`.
    """

    def __init__(
        self,
        top: int,
        left: int,
        height: int,
        width: int,
        size: int | Sequence[int],  # noqa: A002
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        self.top, self.left = integer("ResizedCrop", "top", top, 0), integer("ResizedCrop", "left", left, 0)
        self.height = integer("ResizedCrop", "height", height, 1)
        self.width = integer("ResizedCrop", "width", width, 1)
        self.size, self.interpolation = _size("ResizedCrop", size), inter("ResizedCrop", interpolation)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        image("ResizedCrop", x)
        if self.top + self.height > x.shape[0] or self.left + self.width > x.shape[1]:
            raise RuntimeError(
                f"ResizedCrop: the part, {self.height} x {self.width} from ({self.top}, "
                f"{self.left}) on, "
                f"goes beyond the image, {x.shape[0]} x {x.shape[1]}"
            )
        part = x[self.top : self.top + self.height, self.left : self.left + self.width]
        return resized(part, *self.size, self.interpolation)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        part = x.crop((self.left, self.top, self.left + self.width, self.top + self.height))
        return resized_picture(part, *self.size, self.interpolation)


class PadToSize(ImageOperation):
    """A border that makes images as large as `size`.

    Args:
        size: (height, width), or one number for both; at least the image's.
        offset: (top, left) of the border; default: the image goes into the middle.
        fill_value, padding_mode: as in `Pad`.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        offset: int | Sequence[int] | None = None,  # noqa: A002
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size = _size("PadToSize", size)
        pair = (offset, offset) if isinstance(offset, int) else offset or None
        self.offset = (
            None if pair is None else tuple(integer("PadToSize", "offset", value, 0) for value in pair)
        )
        if self.offset is not None and len(self.offset) != 2:
            raise ValueError(f"PadToSize: offset must be (top, left). Received: offset={offset!r}")
        self.fill_value, self.padding_mode = colour("PadToSize", fill_value), padding_mode
        if not isinstance(padding_mode, Border):
            raise TypeError(
                f"PadToSize: padding_mode must be of Border. Received: padding_mode={padding_mode!r}"
            )

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        from mycelia.dataset.vision.transforms import padded

        lack_y, lack_x = self.size[0] - x.shape[1], self.size[1] - x.shape[2]
        top, left = self.offset or (lack_y // 2, lack_x // 2)
        if min(top, left, lack_y - top, lack_x - left) < 0:
            raise RuntimeError(
                f"PadToSize: size must be at least the image's with the offset. Received: "
                f"size={self.size}, "
                f"offset={self.offset} for an image {x.shape[1]} x {x.shape[2]}"
            )
        return padded(x, (left, top, lack_x - left, lack_y - top), self.fill_value, self.padding_mode)


class _Crops(ImageOperation):
    def __init__(self, size: int | Sequence[int]) -> None:  # noqa: A002
        self.size = _size(type(self).__name__, size)

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        pixels = np.asarray(x)
        parts = tuple(self.pieces(pixels))
        return tuple(pillow("FiveCrop").Image.fromarray(part) for part in parts) if is_pil(x) else parts

    def pieces(self, x: np.ndarray) -> list[np.ndarray]:
        """The four corners and the middle."""
        (height, width), (tall, wide) = self.size, x.shape[:2]
        if height > tall or width > wide:
            raise ValueError(
                f"{type(self).__name__}: size must not exceed the image, {tall} x {wide}. "
                f"Received: "
                f"size={self.size}"
            )
        top, left = round((tall - height) / 2), round((wide - width) / 2)
        return [
            x[:height, :width],
            x[:height, wide - width :],
            x[tall - height :, :width],
            x[tall - height :, wide - width :],
            x[top : top + height, left : left + width],
        ]

    def on_columns(self, columns: list[Any], rng: np.random.Generator) -> list[Any]:
        column = columns[0]
        rows = [self.pieces(np.asarray(row)) for row in column]
        return [np.stack(part) for part in zip(*rows)]


class FiveCrop(_Crops):
    """The four corners and the middle of an image, as five results.

    Args:
        size: (height, width) of each, or one number for both.
    """


class TenCrop(_Crops):
    """`FiveCrop` of an image and of its mirror image.

    Args:
        size: (height, width) of each, or one number for both.
        use_vertical_flip: whether top and bottom are exchanged in the mirror image, instead of left and
            right.
    """

    def __init__(self, size: int | Sequence[int], use_vertical_flip: bool = False) -> None:  # noqa: A002
        super().__init__(size)
        self.use_vertical_flip = flag("TenCrop", "use_vertical_flip", use_vertical_flip)

    def pieces(self, x: np.ndarray) -> list[np.ndarray]:
        return super().pieces(x) + super().pieces(np.flip(x, 0 if self.use_vertical_flip else 1))


class SlicePatches(ImageOperation):
    """An image cut into a grid, as one result for each patch.

    Args:
        num_height, num_width: rows and columns of the grid.
        slice_mode: whether the image is padded (`SliceMode.PAD`) or cut off to be divisible.
        fill_value: what padding holds.
    """

    def __init__(
        self,
        num_height: int = 1,
        num_width: int = 1,
        slice_mode: SliceMode = SliceMode.PAD,
        fill_value: int = 0,
    ) -> None:
        self.num_height = integer("SlicePatches", "num_height", num_height, 1)
        self.num_width = integer("SlicePatches", "num_width", num_width, 1)
        if not isinstance(slice_mode, SliceMode):
            raise TypeError(f"SlicePatches: slice_mode must be of SliceMode. Received: {slice_mode!r}")
        self.slice_mode, self.fill_value = (
            slice_mode,
            integer("SlicePatches", "fill_value", fill_value, 0, 255),
        )

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        return tuple(self.pieces(image("SlicePatches", np.asarray(x))))

    def pieces(self, x: np.ndarray) -> list[np.ndarray]:
        """The patches, row by row."""
        rows, columns = self.num_height, self.num_width
        if self.slice_mode == SliceMode.PAD:
            lack = [(0, -x.shape[0] % rows), (0, -x.shape[1] % columns), (0, 0)]
            x = np.pad(x, lack, constant_values=self.fill_value)
        height, width = x.shape[0] // rows, x.shape[1] // columns
        return [
            x[i * height : (i + 1) * height, j * width : (j + 1) * width]
            for i in range(rows)
            for j in range(columns)
        ]

    def on_columns(self, columns: list[Any], rng: np.random.Generator) -> list[Any]:
        rows = [self.pieces(image("SlicePatches", np.asarray(row))) for row in columns[0]]
        return [np.stack(part) for part in zip(*rows)]


# -- turns -----------------------------------------------------------------------------------------------
class Rotate(ImageOperation):
    """An image turned counter-clockwise.

    Args:
        degrees: the angle.
        resample: of `Inter`.
        expand: whether the result grows to hold the whole image.
        center: (x, y) of the point that stays; default: the middle.
        fill_value: what stands where nothing was.
    """

    def __init__(
        self,
        degrees: float,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill_value: Any = 0,
    ) -> None:
        self.degrees, self.resample = (
            number("Rotate", "degrees", degrees),
            inter("Rotate", resample, "resample"),
        )
        self.expand, self.center = flag("Rotate", "expand", expand), _centre("Rotate", center)
        self.fill_value = colour("Rotate", fill_value)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rotated(x, self.degrees, self.resample, self.expand, self.center, self.fill_value)


def _centre(operation: str, centre: Any) -> tuple[float, float] | None:
    if centre is None:
        return None
    if not isinstance(centre, (list, tuple)) or len(centre) != 2:
        raise TypeError(f"{operation}: center must be (x, y). Received: center={centre!r}")
    return number(operation, "center", centre[0]), number(operation, "center", centre[1])


def rotated(
    x: np.ndarray,
    degrees: float,
    interpolation: Inter,
    expand: bool,
    centre: tuple[float, float] | None,
    fill: Any,
) -> np.ndarray:
    """An image turned counter-clockwise about a point."""
    pixels = image("Rotate", x)
    height, width = pixels.shape[:2]
    middle = centre or ((width - 1) / 2, (height - 1) / 2)
    matrix = rotation(middle, degrees)
    if expand:
        cosine, sine = abs(math.cos(math.radians(degrees))), abs(math.sin(math.radians(degrees)))
        wide, tall = height * sine + width * cosine, height * cosine + width * sine
        matrix[:, 2] += ((wide - width) / 2, (tall - height) / 2)
        height, width = int(np.rint(tall)), int(np.rint(wide))
    return warped(pixels, matrix, width, height, interpolation, fill).reshape(height, width, *x.shape[2:])


class RandomRotation(ImageByImage):
    """An image turned by a random angle.

    Args:
        degrees: (min, max) of the angle, or one number d for from -d to d.
        resample, expand, center, fill_value: as in `Rotate`.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = _degrees("RandomRotation", degrees)
        self.resample, self.expand = (
            inter("RandomRotation", resample, "resample"),
            flag("RandomRotation", "expand", expand),
        )
        self.center, self.fill_value = _centre("RandomRotation", center), colour("RandomRotation", fill_value)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rotated(
            x, float(rng.uniform(*self.degrees)), self.resample, self.expand, self.center, self.fill_value
        )


def _degrees(operation: str, value: Any) -> tuple[float, float]:
    if isinstance(value, (int, float)):
        value = (-number(operation, "degrees", value, 0), value)
    return interval(operation, "degrees", value)


class Affine(ImageOperation):
    """An image turned, moved, scaled and sheared about its middle.

    Args:
        degrees: the angle, clockwise.
        translate: shares of the width and height to move by, from -1 to 1.
        scale: a positive factor.
        shear: angle along x, or (along x, along y), in degrees.
        resample: of `Inter`.
        fill_value: what stands where nothing was.
    """

    def __init__(
        self,
        degrees: float,
        translate: Sequence[float],
        scale: float,
        shear: float | Sequence[float],
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = number("Affine", "degrees", degrees)
        if not isinstance(translate, (list, tuple)) or len(translate) != 2:
            raise TypeError(f"Affine: translate must be two numbers. Received: translate={translate!r}")
        self.translate = tuple(number("Affine", "translate", part, -1, 1) for part in translate)
        self.scale = number("Affine", "scale", scale)
        if self.scale <= 0:
            raise ValueError(f"Affine: scale must be positive. Received: scale={scale}")
        pair = (shear, 0.0) if isinstance(shear, (int, float)) else shear
        self.shear = tuple(number("Affine", "shear", part) for part in pair)
        if len(self.shear) != 2:
            raise ValueError(f"Affine: shear must be one number or two. Received: shear={shear!r}")
        self.resample, self.fill_value = inter("Affine", resample, "resample"), colour("Affine", fill_value)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        height, width = x.shape[:2]
        move = (self.translate[0] * width, self.translate[1] * height)
        return moved(x, self.degrees, move, self.scale, self.shear, self.resample, self.fill_value)


def moved(
    x: np.ndarray,
    degrees: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: Inter,
    fill: Any,
) -> np.ndarray:
    """An image under an affine map about its middle."""
    pixels = image("Affine", x)
    height, width = pixels.shape[:2]
    matrix = affine_matrix(degrees, translate, scale, shear, width, height)
    return warped(pixels, matrix, width, height, interpolation, fill).reshape(x.shape)


Pairs = tuple[tuple[float, float], tuple[float, float]]
_STILL: Pairs = ((0.0, 0.0), (0.0, 0.0))


class RandomAffine(ImageByImage):
    """An image under a random affine map.

    Args:
        degrees: (min, max) of the angle, or one number d for from -d to d.
        translate: (min, max) along x, or (min, max, min, max) along x and y, as shares of width and height.
        scale: (min, max) of the factor.
        shear: (min, max) along x, or (min, max, min, max) along x and y, or one number d for from -d to d,
            in degrees.
        resample: of `Inter`.
        fill_value: what stands where nothing was.
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        self.degrees = _degrees("RandomAffine", degrees)
        self.translate: Pairs = _STILL if translate is None else _pairs("translate", translate, -1, 1)
        self.scale = (1.0, 1.0) if scale is None else interval("RandomAffine", "scale", scale, 0)
        if isinstance(shear, (int, float)):
            shear = (-number("RandomAffine", "shear", shear, 0), shear)
        self.shear: Pairs = _STILL if shear is None else _pairs("shear", shear)
        self.resample = inter("RandomAffine", resample, "resample")
        self.fill_value = colour("RandomAffine", fill_value)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        height, width = x.shape[:2]
        degrees, scale = float(rng.uniform(*self.degrees)), float(rng.uniform(*self.scale))
        move = (
            float(rng.uniform(*self.translate[0])) * width,
            float(rng.uniform(*self.translate[1])) * height,
        )
        shear = (float(rng.uniform(*self.shear[0])), float(rng.uniform(*self.shear[1])))
        return moved(x, degrees, move, scale, shear, self.resample, self.fill_value)


def _pairs(name: str, value: Any, low: float | None = None, high: float | None = None) -> Pairs:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"RandomAffine: {name} must be two or four numbers. Received: {name}={value!r}")
    if len(value) not in (2, 4):
        raise ValueError(f"RandomAffine: {name} must be two or four numbers. Received: {name}={value!r}")
    second = interval("RandomAffine", name, value[2:], low, high) if len(value) == 4 else (0.0, 0.0)
    return interval("RandomAffine", name, value[:2], low, high), second


class Perspective(ImageOperation):
    """An image seen in perspective.

    Args:
        start_points: four corners (x, y): top left, top right, bottom right, bottom left.
        end_points: where they go.
        interpolation: of `Inter`.
    """

    def __init__(
        self,
        start_points: Sequence[Sequence[float]],
        end_points: Sequence[Sequence[float]],
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        for name, points in (("start_points", start_points), ("end_points", end_points)):
            if (
                not isinstance(points, (list, tuple))
                or len(points) != 4
                or not all(isinstance(point, (list, tuple)) and len(point) == 2 for point in points)
            ):
                raise TypeError(
                    f"Perspective: {name} must be four points (x, y). Received: {name}={points!r}"
                )
        self.start_points, self.end_points = start_points, end_points
        self.interpolation = inter("Perspective", interpolation)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        matrix = perspective_matrix(self.start_points, self.end_points)
        return perspective(image("Perspective", x), matrix, self.interpolation).reshape(x.shape)


class RandomPerspective(ImageByImage):
    """An image in a random perspective, with probability `prob`.

    Args:
        distortion_scale: how far corners may move, from 0 to 1.
        prob: the probability.
        interpolation: of `Inter`.
    """

    def __init__(
        self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC
    ) -> None:
        self.distortion_scale = number("RandomPerspective", "distortion_scale", distortion_scale, 0, 1)
        self.prob = number("RandomPerspective", "prob", prob, 0, 1)
        self.interpolation = inter("RandomPerspective", interpolation)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if rng.random() >= self.prob:
            return x
        height, width = x.shape[:2]
        far_x, far_y = int(self.distortion_scale * (width // 2)), int(self.distortion_scale * (height // 2))
        dx, dy = rng.integers(0, far_x + 1, 4), rng.integers(0, far_y + 1, 4)
        right, bottom = width - 1, height - 1
        start = [(0, 0), (right, 0), (right, bottom), (0, bottom)]
        end = [
            (dx[0], dy[0]),
            (right - dx[1], dy[1]),
            (right - dx[2], bottom - dy[2]),
            (dx[3], bottom - dy[3]),
        ]
        return Perspective(start, [(int(a), int(b)) for a, b in end], self.interpolation).pixels(x, rng)


# -- sizes -----------------------------------------------------------------------------------------------
class RandomResize(ImageByImage):
    """`Resize` with an interpolation drawn at random.

    Args:
        size: (height, width), or one number for the shorter side.
    """

    def __init__(self, size: int | Sequence[int]) -> None:  # noqa: A002
        _size("RandomResize", size)
        self.size = size

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        from mycelia.dataset.vision.transforms import Resize

        kinds = (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)
        return Resize(self.size, kinds[int(rng.integers(len(kinds)))]).sample(x, rng)


class RandomResizedCrop(ImageByImage):
    """A random part of an image in a fixed size: the usual augmentation for ImageNet.

    Args:
        size: (height, width) of the result, or one number for both.
        scale: (min, max) of the part's share of the area.
        ratio: (min, max) of its width over its height.
        interpolation: of `Inter`.
        max_attempts: how often a part is drawn until one fits; then the middle is taken.
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),  # noqa: A002
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        name = type(self).__name__
        self.size, self.scale = _size(name, size), interval(name, "scale", scale, 0)
        self.ratio, self.interpolation = interval(name, "ratio", ratio, 0), inter(name, interpolation)
        if self.ratio[0] <= 0 or self.scale[1] <= 0:
            raise ValueError(
                f"{name}: ratio, and the larger scale, must be positive. Received: "
                f"ratio={ratio}, "
                f"scale={scale}"
            )
        self.max_attempts = integer(name, "max_attempts", max_attempts, 1)

    def box(self, height: int, width: int, rng: np.random.Generator) -> tuple[int, int, int, int]:
        """Top, left, height and width of a random part."""
        logarithms = math.log(self.ratio[0]), math.log(self.ratio[1])
        for _ in range(self.max_attempts):
            area = height * width * rng.uniform(*self.scale)
            ratio = math.exp(rng.uniform(*logarithms))
            wide, tall = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < wide <= width and 0 < tall <= height:
                return int(rng.integers(height - tall + 1)), int(rng.integers(width - wide + 1)), tall, wide
        wide, tall = width, height
        if width / height < self.ratio[0]:
            tall = round(width / self.ratio[0])
        elif width / height > self.ratio[1]:
            wide = round(height * self.ratio[1])
        return (height - tall) // 2, (width - wide) // 2, tall, wide

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        image(type(self).__name__, x)
        top, left, tall, wide = self.box(x.shape[0], x.shape[1], rng)
        return resized(x[top : top + tall, left : left + wide], *self.size, self.interpolation)

    def picture(self, x: Any, rng: np.random.Generator) -> Any:
        top, left, tall, wide = self.box(x.height, x.width, rng)
        return resized_picture(x.crop((left, top, left + wide, top + tall)), *self.size, self.interpolation)


class RandomCropDecodeResize(RandomResizedCrop):
    """`Decode`, then `RandomResizedCrop`; of a JPEG file only as fine as the result needs, where Pillow
    can."""

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        return self.pixels(Decode().sample(x, rng), rng)


def _size(operation: str, value: Any) -> tuple[int, int]:
    return size(operation, value)
