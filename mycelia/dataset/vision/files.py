"""Image files: reading, decoding, encoding and writing them with Pillow."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from mycelia.dataset.block import as_array, describe
from mycelia.dataset.transforms.operation import Operation
from mycelia.dataset.vision.operation import is_pil, pillow
from mycelia.dataset.vision.utils import ImageReadMode


def opened(data: bytes, operation: str) -> Any:
    """The image of Pillow in the bytes of a file.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: bytes that are no image, or a truncated one.
    """
    package = pillow(operation)
    try:
        picture = package.Image.open(io.BytesIO(data))
        picture.load()
    except package.UnidentifiedImageError as error:
        raise ValueError(
            f"{operation}: the {len(data)} bytes, which begin with {data[:8].hex(' ')}, are no "
            "image that Pillow knows"
        ) from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(
            f"{operation}: the {len(data)} bytes are a truncated or damaged image: {error}"
        ) from error
    return picture


def decoded(data: np.ndarray, operation: str) -> np.ndarray:
    """Pixels [H, W, 3] of the bytes of a file."""
    return np.array(opened(data.tobytes(), operation).convert("RGB"))


class Decode(Operation):
    """An image [H, W, 3] of uint8 from the bytes of its file (JPEG, PNG, BMP...). Needs Pillow.

    Args:
        to_pil: whether the result is an image of Pillow, for the operations that follow in the same `map`.

    Raises:
        ImportError: Pillow is not installed.
        ValueError: bytes that are no image.
    """

    def __init__(self, to_pil: bool = False) -> None:
        if not isinstance(to_pil, bool):
            raise TypeError(f"Decode: to_pil must be a bool. Received: to_pil={to_pil!r}")
        self.to_pil = to_pil

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        data = np.frombuffer(x, np.uint8) if isinstance(x, bytes) else as_array(x)
        if data.ndim != 1 or data.dtype != np.uint8 and data.dtype.kind != "S":
            raise ValueError(f"Decode: must have the bytes of a file, uint8[n]. Received: {describe(data)}")
        picture = opened(data.tobytes(), "Decode").convert("RGB")
        return picture if self.to_pil else np.array(picture)


def _path(function: str, filename: Any) -> str:
    if not isinstance(filename, (str, os.PathLike)):
        raise TypeError(
            f"{function}: filename must be a path. Received: filename={filename!r} (of type "
            f"{type(filename).__name__})"
        )
    return os.fspath(filename)


def read_file(filename: str) -> np.ndarray:
    """The bytes of a file, as uint8.

    Raises:
        RuntimeError: no such file.
    """
    path = _path("read_file", filename)
    try:
        with open(path, "rb") as file:
            return np.frombuffer(file.read(), np.uint8).copy()
    except OSError as error:
        raise RuntimeError(f"read_file: cannot read {path}: {error}") from error


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """The pixels [H, W, C] of an image file.

    Args:
        filename: path of the file.
        mode: of `ImageReadMode`: as it is, in grey or in colour.

    Raises:
        RuntimeError: no such file, or no image.
    """
    if not isinstance(mode, ImageReadMode):
        raise TypeError(f"read_image: mode must be of ImageReadMode. Received: mode={mode!r}")
    try:
        picture = opened(read_file(filename).tobytes(), "read_image")
    except ValueError as error:
        raise RuntimeError(f"{error} (file {os.fspath(filename)})") from error
    kinds = {ImageReadMode.GRAYSCALE: "L", ImageReadMode.COLOR: "RGB"}
    if mode in kinds:
        picture = picture.convert(kinds[mode])
    elif picture.mode == "P":
        picture = picture.convert("RGB")
    pixels = np.array(picture)
    return pixels[..., np.newaxis] if pixels.ndim == 2 else pixels


def write_file(filename: str, data: Any) -> None:
    """Writes uint8 data into a file, as its bytes."""
    array = as_array(data)
    if array.ndim != 1 or array.dtype != np.uint8:
        raise RuntimeError(f"write_file: data must be uint8[n]. Received: {describe(array)}")
    try:
        with open(_path("write_file", filename), "wb") as file:
            file.write(array.tobytes())
    except OSError as error:
        raise RuntimeError(f"write_file: cannot write {filename}: {error}") from error


def _encoded(function: str, image: Any, **options: Any) -> np.ndarray:
    array = as_array(image)
    if (
        array.dtype != np.uint8
        or array.ndim not in (2, 3)
        or array.ndim == 3
        and array.shape[2] not in (1, 3)
    ):
        raise RuntimeError(
            f"{function}: image must be uint8 [H, W], [H, W, 1] or [H, W, 3]. Received: {describe(array)}"
        )
    buffer = io.BytesIO()
    pillow(function).Image.fromarray(array[..., 0] if array.shape[2:] == (1,) else array).save(
        buffer, **options
    )
    return np.frombuffer(buffer.getvalue(), np.uint8).copy()


def _limited(function: str, name: str, value: Any, low: int, high: int) -> int:
    if type(value) is not int:
        raise TypeError(f"{function}: {name} must be an integer. Received: {name}={value!r}")
    if not low <= value <= high:
        raise RuntimeError(f"{function}: {name} must be from {low} to {high}. Received: {name}={value}")
    return value


def encode_jpeg(image: Any, quality: int = 75) -> np.ndarray:
    """The bytes of a JPEG file of an image, at a quality from 1 to 100."""
    return _encoded(
        "encode_jpeg", image, format="JPEG", quality=_limited("encode_jpeg", "quality", quality, 1, 100)
    )


def encode_png(image: Any, compression_level: int = 6) -> np.ndarray:
    """The bytes of a PNG file of an image, at a compression level from 0 to 9."""
    level = _limited("encode_png", "compression_level", compression_level, 0, 9)
    return _encoded("encode_png", image, format="PNG", compress_level=level)


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Writes an image into a JPEG file."""
    write_file(filename, encode_jpeg(image, quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Writes an image into a PNG file."""
    write_file(filename, encode_png(image, compression_level))


def get_image_size(image: Any) -> list[int]:
    """[height, width] of an image."""
    if is_pil(image):
        return [image.height, image.width]
    return list(_image("get_image_size", image).shape[:2])


def get_image_num_channels(image: Any) -> int:
    """The number of channels of an image."""
    if is_pil(image):
        return len(image.getbands())
    array = _image("get_image_num_channels", image)
    return 1 if array.ndim == 2 else array.shape[2]


def _image(function: str, image: Any) -> np.ndarray:
    array = as_array(image)
    if array.ndim not in (2, 3):
        raise RuntimeError(f"{function}: image must be [H, W] or [H, W, C]. Received: {describe(array)}")
    return array
