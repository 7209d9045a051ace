"""Block: consecutive rows of a pipeline, column by column, so that operations work on many rows at once."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.tensor.device import device
from mycelia.tensor.storage import Storage

_SMALL = 1 << 16  # bytes below which NumPy's own memory is as good

# Rows of equal shape and type are one array with a leading axis; others stay a list of arrays.
Column = np.ndarray | list[np.ndarray]


def as_array(value: Any) -> np.ndarray:
    """The array of one element of a row: NumPy's own conversion; tensors and images give their data.

    Raises:
        TypeError: the value is not numbers or text.
    """
    if isinstance(value, np.ndarray):
        return value
    host = getattr(value, "asnumpy", None)
    try:
        array = host() if host is not None else np.asarray(value)
    except ValueError as error:  # nested sequences of unequal lengths
        raise TypeError(f"{type(value).__name__} is not an array of numbers or text: {error}") from error
    if array.dtype.kind == "O":
        raise TypeError(f"{type(value).__name__} is not an array of numbers or text. Received: "
                        f"{value!r:.120}")
    return array


def room(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """An array of unset elements in memory that columns before it have given back: new pages of the system
    cost more than most operations that fill them."""
    dtype = np.dtype(dtype)
    nbytes = dtype.itemsize * math.prod(shape)
    if nbytes < _SMALL:
        return np.empty(shape, dtype)
    return Storage(device("CPU"), nbytes).as_numpy(dtype, shape)


def room_like(x: np.ndarray, dtype: Any = None, shape: Sequence[int] | None = None) -> np.ndarray:
    """`room` whose axes lie in memory in the order of those of `x`."""
    order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
    extents = x.shape if shape is None else shape
    laid = room([extents[axis] for axis in order], x.dtype if dtype is None else dtype)
    return laid.transpose([order.index(axis) for axis in range(x.ndim)])


def column_of(rows: Sequence[np.ndarray]) -> Column:
    """The column whose elements these are; a copy where they have one shape and type."""
    first = rows[0]
    if all(row.shape == first.shape and row.dtype == first.dtype for row in rows):
        return np.stack(rows)
    if all(row.shape == first.shape and row.dtype.kind == first.dtype.kind == "U" for row in rows):
        return np.stack(rows)  # text: NumPy's types differ by the longest string only
    return list(rows)


def join(parts: Sequence[Column]) -> Column:
    """The parts of a column one after another."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if all(isinstance(part, np.ndarray) and isinstance(first, np.ndarray)
           and part.shape[1:] == first.shape[1:]
           and (part.dtype == first.dtype or part.dtype.kind == first.dtype.kind == "U") for part in parts):
        return np.concatenate(parts)
    return column_of([row for part in parts for row in part])


class Block:
    """Rows of a pipeline: named columns of one length."""

    __slots__ = ("columns", "size")

    def __init__(self, columns: dict[str, Column], size: int) -> None:
        self.columns, self.size = columns, size

    @staticmethod
    def of_rows(names: Sequence[str], rows: Sequence[Sequence[np.ndarray]]) -> Block:
        return Block({name: column_of([row[i] for row in rows]) for i, name in enumerate(names)}, len(rows))

    @staticmethod
    def concat(blocks: Sequence[Block]) -> Block:
        if len(blocks) == 1:
            return blocks[0]
        return Block({name: join([block.columns[name] for block in blocks]) for name in blocks[0].columns},
                     sum(block.size for block in blocks))

    def slice(self, start: int, stop: int) -> Block:
        if start == 0 and stop >= self.size:
            return self
        stop = min(stop, self.size)
        return Block({name: column[start:stop] for name, column in self.columns.items()}, stop - start)

    def take(self, indices: np.ndarray) -> Block:
        """The rows at these positions, in this order; a copy."""
        def pick(column: Column) -> Column:
            if isinstance(column, np.ndarray):
                return np.take(column, indices, axis=0)
            return column_of([column[i] for i in indices]) if len(indices) else []
        return Block({name: pick(column) for name, column in self.columns.items()}, len(indices))

    def rows(self) -> Iterator[tuple[np.ndarray, ...]]:
        # `np.asarray`: indexing a column of numbers yields NumPy scalars, and an element is always an array.
        columns = list(self.columns.values())
        for i in range(self.size):
            yield tuple(np.asarray(column[i]) for column in columns)


def describe(array: np.ndarray) -> str:
    """Element type and shape of one element, as messages name them."""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"
