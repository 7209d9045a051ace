"""What metrics share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


class Metric:
    """Base of metrics: `clear`, then `update` for each batch, then `eval`.

    Example:
        >>> class Mean(Metric):
        ...     def clear(self): self.values = []
        ...     def update(self, *inputs): self.values.append(self._convert_data(inputs[0]).mean())
        ...     def eval(self): return sum(self.values) / len(self.values)
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        return self._indexes

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Chooses which of the inputs, in which order, `pick` hands to the metric."""
        if not isinstance(indexes, list) or not all(isinstance(index, int) for index in indexes):
            raise ValueError(
                f"set_indexes: indexes must be a list of integers. Received: indexes={indexes!r}"
            )
        self._indexes = indexes
        return self

    def pick(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._indexes is None:
            return inputs
        if max(self._indexes) >= len(inputs):
            raise ValueError(
                f"{type(self).__name__}.update: indexes {self._indexes} must be below the "
                f"number of inputs. Received: {len(inputs)} inputs"
            )
        return tuple(inputs[index] for index in self._indexes)

    @staticmethod
    def _convert_data(data: Any) -> np.ndarray:
        """The array of a Tensor, list or array."""
        return np.asarray(data.asnumpy() if hasattr(data, "asnumpy") else data)

    def _arrays(self, inputs: tuple[Any, ...], count: int, what: str) -> list[np.ndarray]:
        inputs = self.pick(inputs)
        if len(inputs) != count:
            raise ValueError(
                f"{type(self).__name__}.update: must have {count} inputs ({what}). Received: {len(inputs)}"
            )
        return [self._convert_data(data) for data in inputs]

    def clear(self) -> None:
        """Forgets what was counted."""
        raise NotImplementedError(f"{type(self).__name__} must define clear")

    def update(self, *inputs: Any) -> None:
        """Counts a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define update")

    def eval(self) -> Any:
        """The result over all batches since `clear`."""
        raise NotImplementedError(f"{type(self).__name__} must define eval")

    def _some(self, count: int) -> int:
        if not count:
            raise RuntimeError(f"{type(self).__name__}.eval: nothing was counted; call update first")
        return count

    def _pair(self, inputs: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        predicted, true = self._arrays(inputs, 2, "predictions and labels")
        return predicted, true

    def _require(self, holds: Any, what: str, received: Any) -> None:
        if not holds:
            raise ValueError(f"{type(self).__name__}.update: {what}. Received: {received}")


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates ``update`` so that it gets the inputs that `Metric.set_indexes` chose, in that order."""

    @functools.wraps(func)
    def rearranged(self: Metric, *inputs: Any) -> Any:
        return func(self, *self.pick(inputs))

    return rearranged
