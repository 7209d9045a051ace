"""Sources that read files of rows from beginning to end: lines of text, CSV, TFRecord."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from mycelia.dataset.block import Block, column_of
from mycelia.dataset.dataset import Dataset, Stream, checked_integer, column_names
from mycelia.dataset.randomness import Draws
from mycelia.dataset.workers import checked_workers


class Shuffle(str, Enum):
    """What is put in random order: all rows, the files only, or the rows within each file."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"


def found_files(source: str, patterns: Any) -> list[str]:
    """The files that a path, a pattern, or a list of them stand for, sorted.

    Raises:
        TypeError: not paths.
        ValueError: a pattern without files.
    """
    listed = [patterns] if isinstance(patterns, (str, os.PathLike)) else patterns
    if (
        not isinstance(listed, (list, tuple))
        or not listed
        or not all(isinstance(name, (str, os.PathLike)) for name in listed)
    ):
        raise TypeError(
            f"{source}: dataset_files must be a path, a pattern, or a list of them. Received: "
            f"dataset_files={patterns!r} (of type {type(patterns).__name__})"
        )
    files, unmatched = [], []
    for pattern in [os.fspath(name) for name in listed]:
        matches = (
            [pattern]
            if os.path.isfile(pattern)
            else [name for name in glob.glob(pattern) if os.path.isfile(name)]
        )
        files += matches
        if not matches:
            unmatched.append(pattern)
    if unmatched:
        raise ValueError(f"{source}: the following patterns did not match any files: {unmatched}")
    return sorted(set(files))


class RowFilesDataset(Dataset):
    """Rows of files one after another; a subclass defines `_sizes` and `_file_rows`."""

    def __init__(
        self,
        dataset_files: Any,
        shuffle: Any,
        num_samples: int | None,
        num_shards: int | None,
        shard_id: int | None,
        num_parallel_workers: int | None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        checked_workers(name, num_parallel_workers)
        self.files = found_files(name, dataset_files)
        if shuffle not in (True, False, None, *Shuffle):
            raise TypeError(f"{name}: shuffle must be a bool or of Shuffle. Received: shuffle={shuffle!r}")
        self.shuffled = Shuffle.GLOBAL if shuffle in (True, None) else Shuffle(shuffle) if shuffle else None
        self.num_samples = checked_integer(name, "num_samples", num_samples or 0, 0) or None
        if (num_shards is None) != (shard_id is None):
            given, lacking = ("num_shards", "shard_id") if shard_id is None else ("shard_id", "num_shards")
            raise RuntimeError(f"{name}: {given} is specified and currently requires {lacking} as well")
        self.num_shards = checked_integer(name, "num_shards", 1 if num_shards is None else num_shards, 1)
        self.shard_id = checked_integer(name, "shard_id", shard_id or 0, 0)
        if self.shard_id >= self.num_shards:
            raise ValueError(
                f"{name}: shard_id must be below num_shards={num_shards}. Received: shard_id={shard_id}"
            )
        self.sharded = num_shards is not None

    @property
    def is_sharded(self) -> bool:  # type: ignore[override]
        return self.sharded

    def is_shuffled(self) -> bool:
        """Whether rows come in another order in each epoch."""
        return self.shuffled is not None

    def _sizes(self) -> list[int]:
        """Rows of each file."""
        raise NotImplementedError

    def _file_rows(self, file: int, rows: np.ndarray) -> Block:
        """Rows of one file, by their numbers in it."""
        raise NotImplementedError

    def _count(self) -> int:
        return len(self._order(np.random.default_rng(0)))

    def _order(self, rng: np.random.Generator) -> np.ndarray:
        """Numbers of the rows of one epoch, counted over all files; shards get neighbouring ones, equally
        many."""
        sizes = self._sizes()
        starts = np.cumsum([0, *sizes])
        files = [np.arange(start, start + size) for start, size in zip(starts, sizes)]
        if self.shuffled == Shuffle.FILES:
            files = [files[i] for i in rng.permutation(len(files))]
        elif self.shuffled == Shuffle.INFILE:
            files = [rng.permutation(rows) for rows in files]
        order = np.concatenate(files)
        if self.shuffled == Shuffle.GLOBAL:
            order = rng.permutation(order)
        if self.num_shards > 1 and len(order):
            each = -(-len(order) // self.num_shards)
            order = order[np.arange(each * self.shard_id, each * (self.shard_id + 1)) % len(order)]
        return order[: self.num_samples]

    def open(self, draws: Draws) -> Stream:
        return _FileRows(self, self._order(draws.generator(self)))


class _FileRows(Stream):
    def __init__(self, node: RowFilesDataset, order: np.ndarray) -> None:
        self.node, self.order, self.at = node, order, 0
        self.starts = np.cumsum([0, *node._sizes()])

    def read(self, count: int) -> Block | None:
        rows = self.order[self.at : self.at + count]
        if not len(rows):
            return None
        self.at += len(rows)
        file = np.searchsorted(self.starts, rows, side="right") - 1
        cuts = np.flatnonzero(np.diff(file)) + 1  # runs of rows of one file
        parts = [
            self.node._file_rows(int(file[run[0]]), rows[run] - self.starts[file[run[0]]])
            for run in np.split(np.arange(len(rows)), cuts)
        ]
        return Block.concat(parts)


class TextFileDataset(RowFilesDataset):
    """Lines of text files in UTF-8, column ``text``; empty lines are left out.

    Args:
        dataset_files: a path, a pattern such as ``"corpus/*.txt"``, or a list of them.
        num_samples: at most so many lines.
        shuffle: what is put in random order, of `Shuffle`; True for all lines (default), False for nothing.
        num_shards, shard_id: of how many parts, equally long, this is which.
        num_parallel_workers, cache: accepted; lines are read from mapped memory.

    Raises:
        ValueError: a pattern without files.
        RuntimeError: a line that is not UTF-8; the message names file and line.

    Example:
        >>> data = TextFileDataset("corpus.txt", shuffle=False)
        >>> [str(row["text"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
        ['the first line', 'the second line']
    """

    def __init__(
        self,
        dataset_files: Any,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        super().__init__(dataset_files, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)
        self._lines: list[tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None

    def get_col_names(self) -> list[str]:
        return ["text"]

    @property
    def lines(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Bytes of each file, and where its lines begin and end."""
        if self._lines is None:
            self._lines = [_lines(path) for path in self.files]
        return self._lines

    def _sizes(self) -> list[int]:
        return [len(starts) for _, starts, _ in self.lines]

    def _file_rows(self, file: int, rows: np.ndarray) -> Block:
        data, starts, ends = self.lines[file]
        texts = []
        for row in rows.tolist():
            line = data[starts[row] : ends[row]].tobytes()
            try:
                texts.append(np.asarray(line.decode()))
            except UnicodeDecodeError as error:
                raise RuntimeError(
                    f"TextFileDataset: {self.files[file]}, non-empty line {row + 1}, is not UTF-8: {error}"
                ) from error
        return Block({"text": column_of(texts)}, len(rows))


def _lines(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not os.path.getsize(path):
        return np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64)
    data = np.asarray(np.memmap(path, np.uint8, "r"))
    ends = np.flatnonzero(data == ord("\n"))
    if data[-1] != ord("\n"):
        ends = np.append(ends, len(data))
    starts = np.append(0, ends[:-1] + 1)
    ends = np.where((ends > starts) & (data[np.maximum(ends, 1) - 1] == ord("\r")), ends - 1, ends)
    return data, starts[ends > starts], ends[ends > starts]


_CSV_TYPES = {int: np.int32, float: np.float32, str: np.str_}


class CSVDataset(RowFilesDataset):
    """Rows of CSV files.

    Args:
        dataset_files: a path, a pattern, or a list of them.
        field_delim: the character between fields.
        column_defaults: one value for each column, whose type (int, float or str) is the column's (int32,
            float32 or text) and which stands for an empty field. Default: all columns are text.
        column_names: names of the columns; default: the first line of each file holds them.
        num_samples, shuffle, num_shards, shard_id: as `TextFileDataset`'s.
        num_parallel_workers, cache: accepted.

    Raises:
        ValueError: a pattern without files, or no names.
        RuntimeError: a line with more or fewer fields than columns, or a field that is no number; the
            message names
            file and line.

    Example:
        >>> data = CSVDataset("table.csv", column_defaults=[0, 0.0], column_names=["a", "b"], shuffle=False)
        >>> data.get_col_names()
        ['a', 'b']
    """

    def __init__(
        self,
        dataset_files: Any,
        field_delim: str = ",",
        column_defaults: Sequence[Any] | None = None,
        column_names: Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        super().__init__(dataset_files, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)
        if not isinstance(field_delim, str) or len(field_delim) != 1 or field_delim in '"\r\n':
            raise ValueError(
                "CSVDataset: field_delim must be one character, not a quote nor the end of a "
                "line. "
                f"Received: field_delim={field_delim!r}"
            )
        if column_defaults is not None and (
            not isinstance(column_defaults, (list, tuple))
            or any(type(value) not in _CSV_TYPES for value in column_defaults)
        ):
            raise TypeError(
                "CSVDataset: column_defaults must be a list of int, float and str. Received: "
                f"column_defaults={column_defaults!r}"
            )
        self.field_delim, self.defaults = field_delim, column_defaults
        self.names = None if column_names is None else _named(column_names)
        self.has_header = column_names is None
        self._tables: list[list[tuple[int, list[str]]]] | None = None

    @property
    def tables(self) -> list[list[tuple[int, list[str]]]]:
        """The lines of each file: number and fields."""
        if self._tables is None:
            self._tables = [self._table(path) for path in self.files]
            if self.defaults is not None and len(self.defaults) != len(self.names or ()):
                raise ValueError(
                    "CSVDataset: column_defaults must be as many as columns. Received: "
                    f"{len(self.defaults)} for {self.names}"
                )
        return self._tables

    def _table(self, path: str) -> list[tuple[int, list[str]]]:
        table = []
        with open(path, encoding="utf-8", newline="") as text:
            reader = csv.reader(text, delimiter=self.field_delim, strict=True)
            try:
                if self.has_header:
                    first = next(reader, [])
                    if self.names is not None and first != self.names:
                        raise RuntimeError(
                            f"CSVDataset: files must have the same first line. Received: "
                            f"{self.names} in {self.files[0]} and {first} in {path}"
                        )
                    self.names = _named(first)
                for fields in reader:
                    if fields:
                        table.append((reader.line_num, fields))
            except (csv.Error, UnicodeDecodeError) as error:
                raise RuntimeError(
                    f"CSVDataset: {path}, line {reader.line_num}, is no CSV: {error}"
                ) from error
        return table

    def get_col_names(self) -> list[str]:
        if self.names is None:
            assert self.tables is not None  # reads the first line
        return list(self.names or ())

    def _sizes(self) -> list[int]:
        return [len(table) for table in self.tables]

    def _file_rows(self, file: int, rows: np.ndarray) -> Block:
        names = self.get_col_names()
        made = []
        for row in rows.tolist():
            line, fields = self.tables[file][row]
            if len(fields) != len(names):
                raise RuntimeError(
                    f"CSVDataset: {self.files[file]}, line {line}, must have {len(names)} "
                    f"fields "
                    f"({', '.join(names)}). Received: {len(fields)}"
                )
            made.append([self._value(file, line, i, field) for i, field in enumerate(fields)])
        return Block.of_rows(names, made)

    def _value(self, file: int, line: int, column: int, field: str) -> np.ndarray:
        if self.defaults is None:
            return np.asarray(field)
        default = self.defaults[column]
        try:
            value = type(default)(field) if field else default
            return np.asarray(value, _CSV_TYPES[type(default)])
        except (ValueError, OverflowError) as error:
            raise RuntimeError(
                f"CSVDataset: {self.files[file]}, line {line}: field {column + 1} must be "
                f"{type(default).__name__}. Received: {field!r}"
            ) from error


def _named(names: Any) -> list[str]:
    return column_names("CSVDataset", "column_names", names)
