"""Operations on any data (`mindspore.dataset.transforms`)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array
from mycelia.dataset.transforms.operation import Operation, flatten
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType


class TypeCast(Operation):
    """Converts the element type.

    Args:
        data_type: a type such as `mindspore.int32`, or NumPy's.

    Example:
        >>> TypeCast(np.int32)(np.array([1.7, 2.2]))
        array([1, 2], dtype=int32)
    """

    def __init__(self, data_type: Any) -> None:
        self.data_type = data_type if isinstance(data_type, DType) else dtypes.from_numpy_dtype(data_type)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return x.astype(self.data_type.numpy)


class OneHot(Operation):
    """A vector of `num_classes` with 1 at the label's place.

    Args:
        num_classes: length of the vector.
        smoothing_rate: share of the 1 that is spread over all classes (label smoothing).

    Raises:
        ValueError: num_classes is not positive, smoothing_rate not within [0, 1]; a label out of range.

    Example:
        >>> OneHot(3)(np.array(2))
        array([0, 0, 1])
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        if isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes <= 0:
            raise ValueError("OneHot: num_classes must be a positive integer. Received: "
                             f"num_classes={num_classes!r}")
        if not 0 <= smoothing_rate <= 1:
            raise ValueError("OneHot: smoothing_rate must be from 0 to 1. Received: "
                             f"smoothing_rate={smoothing_rate!r}")
        self.num_classes, self.smoothing_rate = num_classes, smoothing_rate

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.dtype.kind not in "iu":
            raise TypeError(f"OneHot: labels must be integers. Received: {x.dtype}")
        if x.ndim == 2 and x.shape[1] == 1:
            x = x[:, 0]
        outside = x[(x < 0) | (x >= self.num_classes)]
        if outside.size:
            raise ValueError(f"OneHot: labels must be from 0 to {self.num_classes - 1}. Received: "
                             f"{outside.flat[0]}")
        kind = np.dtype(np.float64) if self.smoothing_rate else x.dtype
        off = self.smoothing_rate / self.num_classes
        result = np.full((*x.shape, self.num_classes), off, kind)
        np.put_along_axis(result, x[..., np.newaxis].astype(np.int64),
                          kind.type(1 - self.smoothing_rate + off), axis=-1)
        return result


class Fill(Operation):
    """Replaces every number by `fill_value`, in the data's own type."""

    def __init__(self, fill_value: Any) -> None:
        self.fill_value = fill_value

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.full_like(x, self.fill_value)


class Duplicate(Operation):
    """Gives its one input column twice."""

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        if len(columns) != 1:
            raise TypeError(f"Duplicate takes one column. Received: {len(columns)} columns")
        column = columns[0]
        return [column, column.copy()]

    def __call__(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        array = as_array(x)
        return array, array.copy()


class _Composite(Operation):
    """An operation made of others."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        name = type(self).__name__
        if not isinstance(transforms, (list, tuple)) or not transforms:
            raise TypeError(f"{name}: transforms must be a list of operations. Received: "
                            f"transforms={transforms!r}")
        for transform in transforms:
            if not callable(transform):
                raise TypeError(f"{name}: transforms must be operations or functions. Received: "
                                f"{transform!r} (of type {type(transform).__name__})")
        self.transforms = list(transforms)
        self.pure = all(isinstance(part, Operation) and part.pure for part in flatten(self.transforms))

    @staticmethod
    def _run(transform: Callable[..., Any], x: Any, rng: np.random.Generator) -> Any:
        return transform.sample(x, rng) if isinstance(transform, Operation) else transform(x)


class Compose(_Composite):
    """Several operations, one after another.

    Example:
        >>> Compose([TypeCast(np.float32), lambda x: x / 2])(np.array([1, 2]))
        array([0.5, 1. ], dtype=float32)
    """

    @property
    def parts(self) -> list[Callable[..., Any]]:
        return self.transforms

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        for transform in self.transforms:
            x = self._run(transform, x, rng)
        return x

    def __call__(self, *columns: Any) -> Any:
        result: Any = columns
        for transform in self.transforms:
            result = transform(*result) if isinstance(result, tuple) else transform(result)
        return result


class RandomApply(_Composite):
    """All of the operations, one after another, with probability `prob`; else none."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], prob: float = 0.5) -> None:
        super().__init__(transforms)
        if not 0 <= prob <= 1:
            raise ValueError(f"RandomApply: prob must be from 0 to 1. Received: prob={prob!r}")
        self.prob = prob

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        if rng.random() < self.prob:
            for transform in self.transforms:
                x = self._run(transform, x, rng)
        return x


class RandomChoice(_Composite):
    """One of the operations, drawn at random."""

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        return self._run(self.transforms[int(rng.integers(len(self.transforms)))], x, rng)


class RandomOrder(_Composite):
    """All of the operations, in random order."""

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        for i in rng.permutation(len(self.transforms)):
            x = self._run(self.transforms[int(i)], x, rng)
        return x
