"""The `bucket_batch_by_length` node: rows of similar length batched together."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.batching import padded, stacked
from mycelia.dataset.block import Block, column_of, describe
from mycelia.dataset.dataset import Dataset, DerivedStream, Stream, column_names
from mycelia.dataset.randomness import Draws
from mycelia.dataset.workers import user_line


class BucketBatchByLengthDataset(Dataset):
    """Batches of rows of similar length; see `Dataset.bucket_batch_by_length`."""

    def __init__(
        self,
        child: Dataset,
        names: Any,
        boundaries: Sequence[int],
        sizes: Sequence[int],
        length: Callable[..., Any] | None,
        pad_info: dict[str, Any] | None,
        pad_to_boundary: bool,
        drop_remainder: bool,
    ) -> None:
        super().__init__(child)
        operation = "bucket_batch_by_length"
        self.names = column_names(operation, "column_names", names, child.get_col_names())
        if (
            not isinstance(boundaries, (list, tuple))
            or not boundaries
            or not all(type(bound) is int and bound > 0 for bound in boundaries)
            or any(low >= high for low, high in zip(boundaries, boundaries[1:]))
        ):
            raise ValueError(
                f"{operation}: bucket_boundaries must be positive integers, strictly increasing. Received: "
                f"bucket_boundaries={boundaries!r}"
            )
        if (
            not isinstance(sizes, (list, tuple))
            or len(sizes) != len(boundaries) + 1
            or not all(type(size) is int and size > 0 for size in sizes)
        ):
            raise ValueError(
                f"{operation}: bucket_batch_sizes must be positive integers, one more than "
                f"bucket_boundaries. Received: {sizes!r} for {len(boundaries)} boundaries"
            )
        if length is None and len(self.names) != 1:
            raise ValueError(
                f"{operation}: without element_length_function, column_names must be one column. Received: "
                f"{self.names}"
            )
        if length is not None and not callable(length):
            raise TypeError(f"{operation}: element_length_function must be a function. Received: {length!r}")
        for name, value in (("pad_to_bucket_boundary", pad_to_boundary), ("drop_remainder", drop_remainder)):
            if not isinstance(value, bool):
                raise TypeError(f"{operation}: {name} must be a bool. Received: {name}={value!r}")
        if pad_info:
            column_names(operation, "pad_info", list(pad_info), child.get_col_names())
        self.boundaries, self.sizes, self.length = list(boundaries), list(sizes), length
        self.pad_info, self.pad_to_boundary = pad_info or {}, pad_to_boundary
        self.drop_remainder = drop_remainder
        self.pure, self.read_ahead = self.pure and length is None, 1

    def get_batch_size(self) -> int:
        return -1

    def _count(self) -> int | None:
        return None

    def open(self, draws: Draws) -> Stream:
        return _Buckets(self, self.children[0].open(draws))


class _Buckets(DerivedStream):
    def __init__(self, node: BucketBatchByLengthDataset, inner: Stream) -> None:
        super().__init__(inner)
        self.node, self.row, self.ended = node, 0, False
        self.buckets: list[list[tuple[np.ndarray, ...]]] = [[] for _ in node.sizes]

    def read(self, count: int) -> Block | None:
        while not self.ended:
            block = self.inner.read(1)
            if block is None:
                self.ended = True
                break
            row = next(block.rows())
            which = bisect.bisect_right(self.node.boundaries, self._length(dict(zip(block.columns, row))))
            self.row += 1
            self.buckets[which].append(row)
            if len(self.buckets[which]) == self.node.sizes[which]:
                return self._batch(which)
        for which, rows in enumerate(self.buckets):
            if rows and not self.node.drop_remainder:
                return self._batch(which)
        return None

    def _length(self, row: dict[str, np.ndarray]) -> int:
        columns = [row[name] for name in self.node.names]
        if self.node.length is None:
            return columns[0].shape[0] if columns[0].ndim else 1
        try:
            return int(self.node.length(*columns))
        except Exception as error:
            got = ", ".join(f"{name!r}: {describe(row[name])}" for name in self.node.names)
            raise RuntimeError(
                f"bucket_batch_by_length: element_length_function failed on row {self.row}, column {got}: "
                f"{type(error).__name__}: {error}{user_line(error)}"
            ) from error

    def _batch(self, which: int) -> Block:
        node, rows = self.node, self.buckets[which]
        self.buckets[which] = []
        pad_info = dict(node.pad_info)
        if node.pad_to_boundary:
            if which == len(node.boundaries):
                raise RuntimeError(
                    "bucket_batch_by_length: with pad_to_bucket_boundary no row may be as long as the last "
                    f"boundary, {node.boundaries[-1]}"
                )
            extent = node.boundaries[which] - 1
            pad_info = {
                name: (None if shape is None else [extent if axis is None else axis for axis in shape], value)
                for name, (shape, value) in pad_info.items()
            }
        columns = {}
        for i, name in enumerate(node.get_col_names()):
            column = padded("bucket_batch_by_length", name, column_of([row[i] for row in rows]), pad_info)
            columns[name] = stacked("bucket_batch_by_length", name, column, 0)[np.newaxis]
        return Block(columns, 1)
