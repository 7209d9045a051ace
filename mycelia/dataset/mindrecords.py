"""MindDataset: rows of MindRecord files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Block, as_array
from mycelia.dataset.dataset import READ_AHEAD, Dataset, checked_integer, column_names
from mycelia.dataset.row_files import Shuffle
from mycelia.dataset.sources import MappableDataset
from mycelia.mindrecord.reader import Record
from mycelia.mindrecord.writer import FileWriter


class MindDataset(MappableDataset):
    """Rows of MindRecord files, of MindSpore or of `mindrecord.FileWriter`.

    Args:
        dataset_files: a file, with which all that were written together with it are read; or a list of files.
        columns_list: the columns wanted, in order; default: all, sorted by name.
        shuffle, sampler, num_samples, num_shards, shard_id: which rows in which order; shuffled by default.
            Of
            `Shuffle`, only GLOBAL; FILES and INFILE shuffle all rows too.
        padded_sample, num_padded: a row that follows the others so many times, to make shards equal.
        num_parallel_workers, cache: accepted; rows are read from mapped memory.

    Raises:
        ValueError: a file that does not exist, or a column that does not.
        RuntimeError: a file that is truncated, damaged or of another kind; the message names file and row.

    Example:
        >>> data = MindDataset("train.mindrecord", columns_list=["image", "label"])
    """

    def __init__(
        self,
        dataset_files: str | Sequence[str],
        columns_list: Sequence[str] | str | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Any = None,
        padded_sample: dict[str, Any] | None = None,
        num_padded: int | None = None,
        num_samples: int | None = None,
        cache: Any = None,
    ) -> None:
        ordered = (
            None if shuffle is None else shuffle is not False if isinstance(shuffle, Shuffle) else shuffle
        )
        super().__init__(sampler, ordered, num_samples, num_shards, shard_id, num_parallel_workers)
        listed = [dataset_files] if isinstance(dataset_files, (str, os.PathLike)) else dataset_files
        if not isinstance(listed, (list, tuple)) or not listed:
            raise TypeError(
                "MindDataset: dataset_files must be a path or a list of paths. Received: "
                f"dataset_files={dataset_files!r}"
            )
        self.record = Record([os.fspath(path) for path in listed], "MindDataset")
        fields = list(self.record.fields)
        self.names = (
            fields
            if columns_list is None
            else column_names("MindDataset", "columns_list", columns_list, fields)
        )
        if (padded_sample is None) != (num_padded is None):
            raise RuntimeError(
                "MindDataset: padded_sample and num_padded are given together. Received: "
                f"padded_sample={padded_sample!r:.60}, num_padded={num_padded!r}"
            )
        self.padding = checked_integer("MindDataset", "num_padded", num_padded or 0, 0)
        if padded_sample is not None:
            for name in self.names:
                if name not in padded_sample:
                    raise ValueError(
                        f"MindDataset: padded_sample lacks column {name!r}; it has: "
                        f"{', '.join(padded_sample)}"
                    )
        self.padded_sample = padded_sample or {}

    def get_col_names(self) -> list[str]:
        return list(self.names)

    def _length(self) -> int:
        return len(self.record) + self.padding

    def _rows(self, indices: np.ndarray) -> Block:
        return Block.of_rows(self.names, [self._row(index) for index in indices.tolist()])

    def _row(self, index: int) -> list[np.ndarray]:
        if index < len(self.record):
            values = self.record.row(index)
            return [self.record.array(name, values[name]) for name in self.names]
        return [self.record.array(name, self.padded_sample[name]) for name in self.names]

    def _labels(self, column: str) -> np.ndarray:
        column_names("PKSampler", "class_column", column, list(self.record.fields))
        return np.array([as_array(self.record.row(i)[column]).item() for i in range(len(self.record))])


_SAVED_AS = {
    "bool": "int32",
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "int32": "int32",
    "uint32": "int64",
    "int64": "int64",
    "uint64": "int64",
    "float16": "float32",
    "float32": "float32",
    "float64": "float64",
}


def save(dataset: Dataset, file_name: str, num_files: int, file_type: str) -> None:
    """Writes one epoch of a dataset into MindRecord files; see `Dataset.save`."""
    if file_type != "mindrecord":
        raise ValueError(f'save: file_type must be "mindrecord". Received: file_type={file_type!r}')
    writer = FileWriter(file_name, num_files)
    first = dataset._sample()
    schema = {name: _saved_field(name, array) for name, array in zip(dataset.get_col_names(), first)}
    writer.add_schema(schema, "dataset")
    stream = dataset.open(dataset.draws())
    while (block := stream.read(READ_AHEAD)) is not None:
        names = list(block.columns)
        writer.write_raw_data(
            [{name: _saved(schema[name], x) for name, x in zip(names, row)} for row in block.rows()]
        )
    writer.commit()


def _saved_field(name: str, array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind == "S":
        return {"type": "bytes"}
    if array.dtype.kind == "U":
        if array.ndim:
            raise ValueError(f"save: column {name!r} is an array of text, which MindRecord cannot hold")
        return {"type": "string"}
    if array.dtype.name not in _SAVED_AS:
        raise ValueError(f"save: column {name!r} is {array.dtype}, which MindRecord cannot hold")
    kind = _SAVED_AS[array.dtype.name]
    return {"type": kind, "shape": [-1, *array.shape[1:]]} if array.ndim else {"type": kind}


def _saved(field: dict[str, Any], array: np.ndarray) -> Any:
    if field["type"] == "bytes":
        return array.tobytes()
    return array if "shape" in field else array.item()
