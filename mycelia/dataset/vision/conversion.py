"""Conversions between arrays and images of Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.dataset.block import as_array, describe
from mycelia.dataset.transforms.operation import Operation
from mycelia.dataset.transforms.transforms import TypeCast
from mycelia.dataset.vision.operation import is_pil, pillow


class ToPIL(Operation):
    """An image of Pillow from an array [H, W] or [H, W, C], for the operations that follow in the same
    `map`."""

    to_pil = True

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        if is_pil(x):
            return x
        array = as_array(x)
        if array.ndim not in (2, 3):
            raise TypeError(f"ToPIL: must have an image [H, W] or [H, W, C]. Received: {describe(array)}")
        if array.shape[2:] == (1,):
            array = array[..., 0]
        return pillow("ToPIL").Image.fromarray(array)


class ToNumpy(Operation):
    """An array [H, W] or [H, W, C] from an image of Pillow."""

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        return np.array(x)


class ToType(TypeCast):
    """Converts the element type, as `transforms.TypeCast`."""
