"""The `batch` node: consecutive rows stacked, padded where asked."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.dataset.block import Block, Column, as_array, column_of, describe
from mycelia.dataset.dataset import (
    Dataset,
    DerivedStream,
    Stream,
    checked_integer,
    column_names,
    read_exactly,
)
from mycelia.dataset.randomness import Draws
from mycelia.dataset.workers import note_once, user_line


class BatchInfo:
    """Where a batch stands: what functions given to `batch` can ask."""

    def __init__(self, epoch: int, batch: int) -> None:
        self._epoch, self._batch = epoch, batch

    def get_epoch_num(self) -> int:
        """Epochs before this one."""
        return self._epoch

    def get_batch_num(self) -> int:
        """Batches before this one in its epoch."""
        return self._batch


class BatchDataset(Dataset):
    """Stacks consecutive rows; see `Dataset.batch` and `Dataset.padded_batch`."""

    def __init__(self, child: Dataset, batch_size: int | Callable[[BatchInfo], int],
                 drop_remainder: bool = False, per_batch_map: Callable[..., Any] | None = None,
                 input_columns: Any = None, output_columns: Any = None,
                 pad_info: dict[str, Any] | None = None) -> None:
        super().__init__(child)
        if not callable(batch_size):
            batch_size = checked_integer("batch", "batch_size", batch_size, 1)
        self.batch_size = batch_size
        if not isinstance(drop_remainder, bool):
            raise TypeError("batch: drop_remainder must be a bool. Received: "
                            f"drop_remainder={drop_remainder!r}")
        self.drop_remainder, self.per_batch_map, self.pad_info = drop_remainder, per_batch_map, pad_info
        names = child.get_col_names()
        if pad_info:
            column_names("padded_batch", "pad_info", list(pad_info), names)
        if per_batch_map is None:
            self._mapped = None
        else:
            self.pure = False
            inputs = column_names("batch", "input_columns", input_columns or names, names)
            outputs = column_names("batch", "output_columns", output_columns or inputs)
            self._mapped = (inputs, outputs)
            names = outputs + [name for name in names if name not in inputs] if output_columns else names
        self._names = names
        self.pure = self.pure and not callable(batch_size)
        self.read_ahead = 1
        self.epoch = 0

    def get_col_names(self) -> list[str]:
        return list(self._names)

    def get_batch_size(self) -> int:
        return -1 if callable(self.batch_size) else self.batch_size

    def _count(self) -> int | None:
        rows = self.children[0]._count()
        if rows is None or callable(self.batch_size):
            return None
        return rows // self.batch_size if self.drop_remainder else -(-rows // self.batch_size)

    def open(self, draws: Draws) -> Stream:
        self.epoch += 1
        return _Batches(self, self.children[0].open(draws), self.epoch - 1)


class _Batches(DerivedStream):
    def __init__(self, node: BatchDataset, inner: Stream, epoch: int) -> None:
        super().__init__(inner)
        self.node, self.epoch, self.number, self.row = node, epoch, 0, 0

    def read(self, count: int) -> Block | None:
        node, info = self.node, BatchInfo(self.epoch, self.number)
        size = node.batch_size
        if callable(size):
            size = checked_integer("batch", "batch_size (what the function returned)", size(info), 1)
        block = read_exactly(self.inner, size)
        if block is None or block.size < size and node.drop_remainder:
            return None
        self.number += 1
        columns = block.columns
        if node.per_batch_map is not None:
            columns = self._mapped(columns, info)
        if node.pad_info is not None:
            columns = {name: padded("padded_batch", name, column, node.pad_info)
                       for name, column in columns.items()}
        ready: dict[str, Column] = {}
        for name in node._names:
            ready[name] = stacked("batch", name, columns[name], self.row)[np.newaxis]
        self.row += block.size
        return Block(ready, 1)

    def _mapped(self, columns: dict[str, Column], info: BatchInfo) -> dict[str, Column]:
        assert self.node.per_batch_map is not None and self.node._mapped is not None
        inputs, outputs = self.node._mapped
        try:
            results = self.node.per_batch_map(*[list(columns[name]) for name in inputs], info)
        except Exception as error:
            raise RuntimeError(f"batch: per_batch_map failed at batch {info.get_batch_num()} (rows "
                               f"{self.row} on): "
                               f"{type(error).__name__}: {error}{user_line(error)}") from error
        if not isinstance(results, tuple) or len(results) != len(outputs):
            got = f"a tuple of {len(results)}" if isinstance(results, tuple) else type(results).__name__
            raise RuntimeError(f"batch: per_batch_map must return a tuple of {len(outputs)} columns "
                               f"({', '.join(outputs)}). Received: {got}")
        mapped = {name: column_of([as_array(row) for row in rows]) for name, rows in zip(outputs, results)}
        rest = {name: column for name, column in columns.items() if name not in inputs}
        return mapped | rest


def stacked(operation: str, name: str, column: Column, first: int) -> np.ndarray:
    """A column as one array.

    Raises:
        RuntimeError: rows of different shapes or types; `first` is the first one's number.
    """
    if isinstance(column, np.ndarray):
        return column
    one = column[0]
    at, other = next((i, row) for i, row in enumerate(column)
                     if row.shape != one.shape or row.dtype != one.dtype)
    raise RuntimeError(
        f"{operation}: rows of a batch must have one shape and type, but those of column {name!r} differ: "
        f"{describe(one)} in row {first} and {describe(other)} in row {first + at}. "
        "Bring them to one shape with map (vision.Resize, Pad, RandomCrop), or use padded_batch")


def padded(operation: str, name: str, column: Column, pad_info: dict[str, Any]) -> Column:
    """The rows of a column after padding each axis at its end to a common extent."""
    if pad_info and name not in pad_info:
        return column
    shape, value = pad_info.get(name, (None, 0))
    rows = list(column)
    ranks = {row.ndim for row in rows}
    if len(ranks) > 1 or (shape is not None and len(shape) not in ranks):
        raise RuntimeError(f"{operation}: rows of column {name!r} must have one number of axes"
                           f"{f', that of pad_info, {len(shape)}' if shape is not None else ''}. "
                           f"Received: {', '.join(sorted({describe(row) for row in rows}))}")
    longest = [max(extents) for extents in zip(*(row.shape for row in rows))]
    wanted_shape = [None] * len(longest) if shape is None else shape
    target = [extent if wanted is None else wanted for wanted, extent in zip(wanted_shape, longest)]
    if any(wanted < extent for wanted, extent in zip(target, longest)):
        note_once(
            f"{operation} {name}",
            f"{operation}: column {name!r} has a row longer than pad_info's shape {list(wanted_shape)}, as "
            f"far as to {longest}, and is cut off there, as in MindSpore. None in pad_info keeps all of it",
        )
    result = np.full((len(rows), *target), 0 if value is None else value, rows[0].dtype)
    for i, row in enumerate(rows):
        kept = tuple(slice(min(extent, to)) for extent, to in zip(row.shape, target))
        result[(i, *kept)] = row[kept]
    return result
