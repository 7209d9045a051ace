"""Iterators: what a program loops over."""
from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np

from mycelia.dataset.block import Block
from mycelia.dataset.dataset import Dataset, Stream
from mycelia.dataset.prefetch import prefetched

Row = TypeVar("Row")


class _Iterator(Generic[Row]):
    """One pass after another over a pipeline.

    `StopIteration` ends an epoch; iterating again starts the next one, which is shuffled anew, up to
    `num_epochs`.
    """

    def __init__(self, dataset: Dataset, num_epochs: int, output_numpy: bool) -> None:
        if type(num_epochs) is not int or num_epochs < 1 and num_epochs != -1:
            raise ValueError(f"num_epochs must be a positive integer, or -1 for without end. "
                             f"Received: num_epochs={num_epochs!r}")
        self._dataset, self._left, self._output_numpy = dataset, num_epochs, output_numpy
        self._names = dataset.get_col_names()
        self._stream: Stream | None = None
        self._block: Block | None = None
        self._row = 0

    def __iter__(self) -> _Iterator[Row]:
        return self

    def __next__(self) -> Row:
        block = self._block
        if block is None or self._row == block.size:
            block = self._next_block()
        row = self._make_row([np.asarray(block.columns[name][self._row]) for name in self._names])
        self._row += 1
        return row

    def _next_block(self) -> Block:
        if self._stream is None:
            if self._left == 0:
                raise StopIteration
            self._left -= self._left > 0
            self._stream = prefetched(self._dataset)
        self._block, self._row = None, 0
        try:
            block = self._stream.read(self._dataset.read_ahead)
        except BaseException:
            self._end()
            raise
        if block is None:
            self._end()
            raise StopIteration
        self._block = block
        return block

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def stop(self) -> None:
        """Leaves the current epoch; the iterator cannot be used any more."""
        self._end()
        self._block, self._left = None, 0

    release = stop

    def __del__(self) -> None:
        if getattr(self, "_stream", None) is not None:
            self._end()

    def _make_row(self, arrays: list[np.ndarray]) -> Row:
        raise NotImplementedError

    def _element(self, array: np.ndarray) -> Any:
        """The element as the program gets it: dense memory of its own."""
        if self._block is not None and self._block.size > 1 or not array.flags.writeable:
            array = array.copy()
        array = np.asarray(array, order="C")
        if self._output_numpy:
            return array
        if array.dtype.kind in "US":  # text has no tensor type
            return array
        from mycelia.tensor.tensor import Tensor
        return Tensor.from_numpy(array)


class TupleIterator(_Iterator["list[Any]"]):
    """Rows as lists of tensors; columns of text come as NumPy arrays."""

    def _make_row(self, arrays: list[np.ndarray]) -> list[Any]:
        return [self._element(array) for array in arrays]


class DictIterator(_Iterator["dict[str, Any]"]):
    """Rows as dictionaries from column name to tensor; columns of text come as NumPy arrays."""

    def _make_row(self, arrays: list[np.ndarray]) -> dict[str, Any]:
        return {name: self._element(array) for name, array in zip(self._names, arrays)}
