"""Operations drawn from collections of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.transforms.operation import Operation
from mycelia.dataset.vision.colour import (
    AdjustBrightness,
    AdjustContrast,
    AdjustSaturation,
    AdjustSharpness,
    AutoContrast,
    Equalize,
    Invert,
    Posterize,
    Solarize,
)
from mycelia.dataset.vision.geometry import colour, inter, moved, rotated
from mycelia.dataset.vision.operation import ImageByImage, image, integer, number
from mycelia.dataset.vision.utils import AutoAugmentPolicy, Inter


class RandomSelectSubpolicy(Operation):
    """One of several lists of (operation, probability), drawn at random; each operation is then applied or
    not.

    Args:
        policy: the lists.
    """

    def __init__(self, policy: Sequence[Sequence[tuple[Callable[..., Any], float]]]) -> None:
        if not isinstance(policy, list) or not policy:
            raise TypeError(
                f"RandomSelectSubpolicy: policy must be a list of lists. Received: {policy!r:.80}"
            )
        for part in policy:
            if not isinstance(part, list) or not part:
                raise TypeError(
                    "RandomSelectSubpolicy: policy must be lists of (operation, probability). "
                    "Received: "
                    f"{part!r:.80}"
                )
            for pair in part:
                if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[0]):
                    raise TypeError(
                        "RandomSelectSubpolicy: policy must be lists of (operation, "
                        "probability). Received: "
                        f"{pair!r:.80}"
                    )
                number("RandomSelectSubpolicy", "probability", pair[1], 0, 1)
        self.policy = policy
        self.pure = all(isinstance(pair[0], Operation) and pair[0].pure for part in policy for pair in part)

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        for operation, prob in self.policy[int(rng.integers(len(self.policy)))]:
            if rng.random() < prob:
                x = operation.sample(x, rng) if isinstance(operation, Operation) else operation(x)
        return x


class UniformAugment(Operation):
    """A random choice of operations, each applied with probability 1/2.

    Args:
        transforms: the operations.
        num_ops: how many are drawn.
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]], num_ops: int = 2) -> None:
        if not isinstance(transforms, (list, tuple)) or not all(callable(part) for part in transforms):
            raise TypeError(
                f"UniformAugment: transforms must be a list of operations. Received: {transforms!r:.80}"
            )
        self.num_ops = integer("UniformAugment", "num_ops", num_ops, 1)
        if num_ops > len(transforms):
            raise ValueError(
                f"UniformAugment: num_ops must not exceed the number of transforms, "
                f"{len(transforms)}. "
                f"Received: num_ops={num_ops}"
            )
        self.transforms = list(transforms)
        self.pure = all(isinstance(part, Operation) and part.pure for part in transforms)

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        for i in rng.choice(len(self.transforms), self.num_ops, replace=False):
            operation = self.transforms[int(i)]
            if rng.random() < 0.5:
                x = operation.sample(x, rng) if isinstance(operation, Operation) else operation(x)
        return x


# -- automatic augmentation ------------------------------------------------------------------------------
class _Augmenting(ImageByImage):
    """Operations by name and magnitude, as the automatic augmentations use them."""

    def __init__(self, interpolation: Inter, fill_value: Any) -> None:
        name = type(self).__name__
        self.interpolation, self.fill_value = inter(name, interpolation), colour(name, fill_value)

    def _apply(self, x: np.ndarray, name: str, magnitude: float) -> np.ndarray:
        rng = np.random.default_rng(0)  # none of them draws
        factors = {
            "Brightness": AdjustBrightness,
            "Color": AdjustSaturation,
            "Contrast": AdjustContrast,
            "Sharpness": AdjustSharpness,
        }
        if name in factors:
            return factors[name](max(1 + magnitude, 0)).pixels(x, rng)
        if name in ("ShearX", "ShearY"):
            angle = float(np.degrees(magnitude))
            return self._moved(x, shear=(angle, 0) if name == "ShearX" else (0, angle))
        if name in ("TranslateX", "TranslateY"):
            return self._moved(x, move=(int(magnitude), 0) if name == "TranslateX" else (0, int(magnitude)))
        if name == "Rotate":
            return rotated(x, magnitude, self.interpolation, False, None, self.fill_value)
        simple: dict[str, Callable[[], ImageByImage | Any]] = {
            "Posterize": lambda: Posterize(int(magnitude)),
            "Solarize": lambda: Solarize((max(magnitude, 0), 255)),
            "AutoContrast": AutoContrast,
            "Equalize": Equalize,
            "Invert": Invert,
        }
        return simple[name]().pixels(x, rng) if name != "Identity" else x

    def _moved(
        self, x: np.ndarray, move: tuple[int, int] = (0, 0), shear: tuple[float, float] = (0, 0)
    ) -> np.ndarray:
        return moved(x, 0.0, move, 1.0, shear, self.interpolation, self.fill_value)


def _magnitudes(bins: int, height: int, width: int) -> dict[str, tuple[np.ndarray, bool]]:
    """For each operation its magnitudes, from weakest to strongest, and whether their sign is drawn."""
    line = lambda high: np.linspace(0.0, high, bins)
    levels = {name: (line(0.9), True) for name in ("Brightness", "Color", "Contrast", "Sharpness")}
    return levels | {
        "ShearX": (line(0.3), True),
        "ShearY": (line(0.3), True),
        "TranslateX": (line(150 / 331 * width), True),
        "TranslateY": (line(150 / 331 * height), True),
        "Rotate": (line(30.0), True),
        "Posterize": (8 - np.round(np.arange(bins) / ((bins - 1) / 4)), False),
        "Solarize": (np.linspace(256.0, 0.0, bins), False),
        "AutoContrast": (line(0), False),
        "Equalize": (line(0), False),
        "Invert": (line(0), False),
        "Identity": (line(0), False),
    }


# The policies that E. Cubuk et al. found: AutoAugment, 2019, https://arxiv.org/abs/1805.09501, tables 7 to 9:
# two operations with their probability and magnitude each.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize .4 8 Rotate .6 9|Solarize .6 5 AutoContrast .6 0|Equalize .8 0 Equalize .6 0
        Posterize .6 7 Posterize .6 6|Equalize .4 0 Solarize .2 4|Equalize .4 0 Rotate .8 8
        Solarize .6 3 Equalize .6 0|Posterize .8 5 Equalize 1 0|Rotate .2 3 Solarize .6 8
        Equalize .6 0 Posterize .4 6|Rotate .8 8 Color .4 0|Rotate .4 9 Equalize .6 0
        Equalize 0 0 Equalize .8 0|Invert .6 0 Equalize 1 0|Color .6 4 Contrast 1 8
        Rotate .8 8 Color 1 2|Color .8 8 Solarize .8 7|Sharpness .4 7 Invert .6 0
        ShearX .6 5 Equalize 1 0|Color .4 0 Equalize .6 0|Equalize .4 0 Solarize .2 4
        Solarize .6 5 AutoContrast .6 0|Invert .6 0 Equalize 1 0|Color .6 4 Contrast 1 8
        Equalize .8 0 Equalize .6 0""",
    AutoAugmentPolicy.CIFAR10: """
        Invert .1 0 Contrast .2 6|Rotate .7 2 TranslateX .3 9|Sharpness .8 1 Sharpness .9 3
        ShearY .5 8 TranslateY .7 9|AutoContrast .5 0 Equalize .9 0|ShearY .2 7 Posterize .3 7
        Color .4 3 Brightness .6 7|Sharpness .3 9 Brightness .7 9|Equalize .6 0 Equalize .5 0
        Contrast .6 7 Sharpness .6 5|Color .7 7 TranslateX .5 8|Equalize .3 0 AutoContrast .4 0
        TranslateY .4 3 Sharpness .2 6|Brightness .9 6 Color .2 8|Solarize .5 2 Invert 0 0
        Equalize .2 0 AutoContrast .6 0|Equalize .2 0 Equalize .6 0|Color .9 9 Equalize .6 0
        AutoContrast .8 0 Solarize .2 8|Brightness .1 3 Color .7 0|Solarize .4 5 AutoContrast .9 0
        TranslateY .9 9 TranslateY .7 9|AutoContrast .9 0 Solarize .8 3|Equalize .8 0 Invert .1 0
        TranslateY .7 9 AutoContrast .9 0""",
    AutoAugmentPolicy.SVHN: """
        ShearX .9 4 Invert .2 0|ShearY .9 8 Invert .7 0|Equalize .6 0 Solarize .6 6
        Invert .9 0 Equalize .6 0|Equalize .6 0 Rotate .9 3|ShearX .9 4 AutoContrast .8 0
        ShearY .9 8 Invert .4 0|ShearY .9 5 Solarize .2 6|Invert .9 0 AutoContrast .8 0
        Equalize .6 0 Rotate .9 3|ShearX .9 4 Solarize .3 3|ShearY .8 8 Invert .7 0
        Equalize .9 0 TranslateY .6 6|Invert .9 0 Equalize .6 0|Contrast .3 3 Rotate .8 4
        Invert .8 0 TranslateY 0 2|ShearY .7 6 Solarize .4 8|Invert .6 0 Rotate .8 4
        ShearY .3 7 TranslateX .9 3|ShearX .1 6 Invert .6 0|Solarize .7 2 TranslateY .6 7
        ShearY .8 4 Invert .8 0|ShearX .7 9 TranslateY .8 3|ShearY .8 5 AutoContrast .7 0
        ShearX .7 2 Invert .1 0""",
}


class AutoAugment(_Augmenting):
    """One of 25 pairs of operations that were found to help on a collection.

    Args:
        policy: of `AutoAugmentPolicy`.
        interpolation, fill_value: of the operations that move pixels.
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        super().__init__(interpolation, fill_value)
        if not isinstance(policy, AutoAugmentPolicy):
            raise TypeError(f"AutoAugment: policy must be of AutoAugmentPolicy. Received: policy={policy!r}")
        self.policy = policy

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = image("AutoAugment", x, (3,))
        pairs = _POLICIES[self.policy].replace("\n", "|").split("|")
        pairs = [pair.split() for pair in pairs if pair.strip()]
        pair = pairs[int(rng.integers(len(pairs)))]
        levels = _magnitudes(10, *x.shape[:2])
        for name, prob, level in (pair[:3], pair[3:]):
            if rng.random() < float(prob):
                magnitudes, signed = levels[name]
                magnitude = float(magnitudes[int(level)])
                x = self._apply(x, name, -magnitude if signed and rng.random() < 0.5 else magnitude)
        return x


class RandAugment(_Augmenting):
    """Operations drawn at random, all of one magnitude: E. Cubuk et al., RandAugment, 2020.

    Args:
        num_ops: how many.
        magnitude: their strength, below `num_magnitude_bins`.
        num_magnitude_bins: levels of strength.
        interpolation, fill_value: of the operations that move pixels.
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        super().__init__(interpolation, fill_value)
        self.num_ops = integer("RandAugment", "num_ops", num_ops, 0)
        self.num_magnitude_bins = integer("RandAugment", "num_magnitude_bins", num_magnitude_bins, 2)
        self.magnitude = integer("RandAugment", "magnitude", magnitude, 0, num_magnitude_bins - 1)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = image("RandAugment", x, (3,))
        levels = _magnitudes(self.num_magnitude_bins, *x.shape[:2])
        del levels["Invert"]
        names = list(levels)
        for _ in range(self.num_ops):
            name = names[int(rng.integers(len(names)))]
            magnitudes, signed = levels[name]
            magnitude = float(magnitudes[self.magnitude])
            x = self._apply(x, name, -magnitude if signed and rng.random() < 0.5 else magnitude)
        return x


class TrivialAugmentWide(_Augmenting):
    """One operation of one magnitude, both drawn at random: S. Müller and F. Hutter, TrivialAugment, 2021.

    Args:
        num_magnitude_bins: levels of strength.
        interpolation, fill_value: of the operations that move pixels.
    """

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST, fill_value: Any = 0
    ) -> None:
        super().__init__(interpolation, fill_value)
        self.num_magnitude_bins = integer("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2)

    def pixels(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = image("TrivialAugmentWide", x, (3,))
        bins = self.num_magnitude_bins
        line = lambda high: (np.linspace(0.0, high, bins), True)
        levels = _magnitudes(bins, *x.shape[:2]) | {
            "Brightness": line(0.99),
            "Color": line(0.99),
            "Contrast": line(0.99),
            "Sharpness": line(0.99),
            "ShearX": line(0.99),
            "ShearY": line(0.99),
            "TranslateX": line(32.0),
            "TranslateY": line(32.0),
            "Rotate": line(135.0),
            "Posterize": (8 - np.round(np.arange(bins) / ((bins - 1) / 6)), False),
        }
        del levels["Invert"]
        names = list(levels)
        name = names[int(rng.integers(len(names)))]
        magnitudes, signed = levels[name]
        magnitude = float(magnitudes[int(rng.integers(bins))])
        return self._apply(x, name, -magnitude if signed and rng.random() < 0.5 else magnitude)
