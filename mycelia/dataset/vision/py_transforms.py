"""The operations of `vision` by their module in MindSpore 1.x, with what was different there."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.dataset import vision
from mycelia.dataset.vision import *  # type: ignore  # noqa: F403
from mycelia.dataset.vision import __all__  # noqa: F401


class Decode(vision.Decode):
    """`vision.Decode` to an image of Pillow."""

    def __init__(self) -> None:
        super().__init__(to_pil=True)


class Normalize(vision.Normalize):
    """`vision.Normalize` of images [C, H, W], as `ToTensor` gives them."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__(mean, std, is_hwc=False)
