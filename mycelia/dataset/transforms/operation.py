"""Operation: what `map` applies to a column, a whole block of rows at a time where that is possible."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array, column_of
from mycelia.dataset.randomness import eager_generator


class BlockRowError(Exception):
    """An error at one row of a block."""

    def __init__(self, row: int, error: Exception) -> None:
        super().__init__(row, error)
        self.row, self.error = row, error


class Operation:
    """An operation on one element of a row.

    A subclass defines `stack` (on an array with a leading axis of rows, all of one shape: the fast way) or
    `sample` (on one element). Both get the generator from which random operations draw. Called directly, an
    operation works on one
    element: an array, a list, or an image of Pillow.
    """

    pure = True  # False if it calls functions of the user's

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray | list[np.ndarray]:
        column = self._samples(x, rng)
        return column if isinstance(column, np.ndarray) else list(column)

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        return self.stack(as_array(x)[np.newaxis], rng)[0]

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        """Applies it to the columns that the operation before has left: most take exactly one."""
        if len(columns) != 1:
            raise TypeError(f"{type(self).__name__} takes one column. Received: {len(columns)} columns")
        column = columns[0]
        if isinstance(column, np.ndarray):
            return [self.stack(column, rng)]
        return [self._samples(column, rng)]

    def _samples(self, column: Column, rng: np.random.Generator) -> Column:
        rows = []
        for i, row in enumerate(column):
            try:
                rows.append(as_array(self.sample(np.asarray(row), rng)))
            except Exception as error:
                raise BlockRowError(i, error) from error
        return column_of(rows) if rows else column

    def __call__(self, x: Any) -> Any:
        return self.sample(x, eager_generator())

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name,
                             value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({settings})"


def flatten(operations: Any) -> list[Callable[..., Any]]:
    """The operations one after another, with the parts of each `Compose` in its place."""
    listed = list(operations) if isinstance(operations, (list, tuple)) else [operations]
    flat: list[Callable[..., Any]] = []
    for operation in listed:
        parts = getattr(operation, "parts", None)
        flat += flatten(parts) if isinstance(operation, Operation) and parts is not None else [operation]
    return flat


def not_random(function: Callable[..., Any]) -> Callable[..., Any]:
    """Says that a function of the user's gives the same for the same: a decorator that leaves it as it is."""
    function.random = False  # type: ignore[attr-defined]
    return function
