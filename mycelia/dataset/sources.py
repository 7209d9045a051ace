"""Sources of rows that the program holds itself: arrays and generators."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Block, as_array, describe
from mycelia.dataset.dataset import Dataset, Stream, column_names
from mycelia.dataset.randomness import Draws
from mycelia.dataset.samplers import BaseSampler, sampler_for
from mycelia.dataset.workers import RowError, Serial, checked_workers, user_line, workers_for
from mycelia.ir.dtypes import DType


class MappableDataset(Dataset):
    """A source whose rows can be read in any order, so that a sampler may choose among them.

    A subclass defines `get_col_names`, `_length` and `_rows`.
    """

    def __init__(self, sampler: Any, shuffle: bool | None, num_samples: int | None, num_shards: int | None,
                 shard_id: int | None, num_parallel_workers: int | None = None) -> None:
        super().__init__()
        checked_workers(type(self).__name__, num_parallel_workers)
        self.sampler: BaseSampler = sampler_for(type(self).__name__, sampler, shuffle, num_samples,
                                                num_shards, shard_id)

    def _length(self) -> int:
        """Rows of the source before sampling."""
        raise NotImplementedError

    def _rows(self, indices: np.ndarray) -> Block:
        """The rows at these indices, in memory of their own."""
        raise NotImplementedError

    @property
    def is_sharded(self) -> bool:  # type: ignore[override]
        return self.sampler.sharded

    def is_shuffled(self) -> bool:
        return self.sampler.shuffled

    def use_sampler(self, new_sampler: Any) -> None:
        """Replaces the sampler."""
        self.sampler = sampler_for(type(self).__name__, new_sampler, None, None, None, None)
        self._size = None

    def add_sampler(self, new_sampler: BaseSampler) -> None:
        """Makes a sampler choose among the rows that the present one yields, or the other way round where it
        holds a child."""
        new_sampler.add_child(self.sampler)
        self.sampler = new_sampler
        self._size = None

    def _count(self) -> int | None:
        return len(self._order(np.random.default_rng(0)))

    def open(self, draws: Draws) -> Stream:
        return _Sampled(self, self._order(draws.generator(self)))

    def _order(self, rng: np.random.Generator) -> np.ndarray:
        """Indices of the rows of one epoch."""
        self.sampler.prepare(self)
        return self.sampler.order(self._length(), rng)


class _Sampled(Stream):
    def __init__(self, node: MappableDataset, order: np.ndarray) -> None:
        self.node, self.order, self.at = node, order, 0

    def read(self, count: int) -> Block | None:
        indices = self.order[self.at:self.at + count]
        self.at += len(indices)
        return self.node._rows(indices) if len(indices) else None


class NumpySlicesDataset(MappableDataset):
    """Rows from arrays: row i is element i of each.

    Args:
        data: one array or list (one column), a tuple of them (several), a dict from column name to array, or
            a pandas DataFrame.
        column_names: names of the columns; default: the dict's keys, or column_0, column_1, ...
        shuffle, sampler, num_samples, num_shards, shard_id: which rows in which order; shuffled by default.

    Raises:
        ValueError: columns of unequal length, or another number of names than columns.

    Example:
        >>> data = NumpySlicesDataset(([1, 2], [3.0, 4.0]), ["a", "b"], shuffle=False)
        >>> [(int(a), float(b)) for a, b in data.create_tuple_iterator(output_numpy=True)]
        [(1, 3.0), (2, 4.0)]
    """

    def __init__(self, data: Any, column_names: Sequence[str] | str | None = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = 1,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None) -> None:
        super().__init__(sampler, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)
        if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a DataFrame
            data = {str(name): data[name].to_numpy() for name in data.columns}
        if isinstance(data, dict):
            names, columns = list(data), list(data.values())
        else:
            columns = list(data) if isinstance(data, tuple) else [data]
            names = [f"column_{i}" for i in range(len(columns))]
        if column_names is not None:
            names = _names("NumpySlicesDataset", column_names)
        if len(names) != len(columns):
            raise ValueError(f"NumpySlicesDataset: must have a name for each column. Received: {len(names)} "
                             f"column_names ({', '.join(names)}) for {len(columns)} columns")
        self._columns = {name: as_array(column) for name, column in zip(names, columns)}
        lengths = {name: len(array) if array.ndim else 0 for name, array in self._columns.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError("NumpySlicesDataset: columns must have one length. Received: "
                             + ", ".join(f"{name}: {length}" for name, length in lengths.items()))
        if not next(iter(lengths.values())):
            raise ValueError("NumpySlicesDataset: data must not be empty")

    def get_col_names(self) -> list[str]:
        return list(self._columns)

    def _length(self) -> int:
        return len(next(iter(self._columns.values())))

    def _rows(self, indices: np.ndarray) -> Block:
        return Block({name: np.take(column, indices, axis=0) for name, column in self._columns.items()},
                     len(indices))


class PaddedDataset(MappableDataset):
    """Rows that the program lists, to lengthen another dataset with `concat`.

    Args:
        padded_samples: the rows, dictionaries from column name to array.
    """

    def __init__(self, padded_samples: Sequence[dict[str, Any]]) -> None:
        super().__init__(None, False, None, None, None)
        if not isinstance(padded_samples, (list, tuple)) or not padded_samples \
                or not all(isinstance(row, dict) and row.keys() == padded_samples[0].keys()
                           for row in padded_samples):
            raise TypeError("PaddedDataset: padded_samples must be a list of dictionaries with the same "
                            "columns. "
                            f"Received: {padded_samples!r:.80}")
        self.padded_samples = padded_samples

    def get_col_names(self) -> list[str]:
        return list(self.padded_samples[0])

    def _length(self) -> int:
        return len(self.padded_samples)

    def _rows(self, indices: np.ndarray) -> Block:
        names = self.get_col_names()
        return Block.of_rows(names, [[as_array(self.padded_samples[i][name]) for name in names]
                                     for i in indices.tolist()])


class _RandomAccess(MappableDataset):
    """Rows of an object with `__getitem__` and `__len__`."""

    read_ahead = 1

    def __init__(self, owner: GeneratorDataset, *sampling: Any) -> None:
        super().__init__(*sampling)
        self.owner, self.pure = owner, owner.in_processes

    def get_col_names(self) -> list[str]:
        return self.owner.get_col_names()

    def _length(self) -> int:
        return len(self.owner.source)

    def open(self, draws: Draws) -> Stream:
        rng = draws.generator(self)
        return _Fetched(self.owner, self._order(rng), int(rng.integers(2**63)))


class _Item:
    """One row of a source by its index; worker processes get a copy of it."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __call__(self, index: int | list[int]) -> Any:
        return self.source[index] if isinstance(index, int) else [self.source[i] for i in index]


class _Fetched(Stream):
    """Rows at given indices of a source of the user's, read by its workers, a few more at a time than asked
    for."""

    def __init__(self, owner: GeneratorDataset, order: np.ndarray, base: int) -> None:
        self.owner, self.order, self.at = owner, order.tolist(), 0
        self.runner = workers_for(_Item(owner.source), base, owner.workers, owner.processes,
                                  "GeneratorDataset")
        self.least = 1 if type(self.runner) is Serial else 2 * (owner.workers or 1)
        self.ready: Block | None = None

    def read(self, count: int) -> Block | None:
        if self.ready is None:
            indices = self.order[self.at:self.at + max(count, self.least)]
            if not indices:
                self.runner.close()
                return None
            self.ready = Block.of_rows(self.owner.columns, self._rows(indices))
            self.at += len(indices)
        block = self.ready
        self.ready = block.slice(count, block.size) if count < block.size else None
        return block.slice(0, count)

    def _rows(self, indices: list[int]) -> list[list[np.ndarray]]:
        try:
            items = self.runner.map(indices, self.at)
        except RowError as error:
            index = indices[error.row]
            raise RuntimeError(f"GeneratorDataset: the source failed at index {index}: "
                               f"{error}") from error.error
        rows = []
        for index, item in zip(indices, items):
            try:
                rows.append(self.owner.row(item))
            except (RuntimeError, TypeError) as error:
                raise type(error)(f"{error} (at index {index})") from error.__cause__
        return rows

    def close(self) -> None:
        self.runner.close()


class GeneratorDataset(Dataset):
    """Rows from Python: a function that returns an iterator, an iterable, or an object with `__getitem__` and
    `__len__`.

    Args:
        source: yields each row as a tuple of arrays or numbers; where there is one column, the array alone
            will do.
        column_names: names of the columns.
        column_types: expected types; a row of other types is an error.
        schema: not supported; give `column_names`.
        shuffle, sampler, num_shards, shard_id: for an object with `__getitem__` only, which is shuffled by
            default.
        num_samples: at most so many rows.
        num_parallel_workers: workers that read rows of an object with `__getitem__`; an iterator has one.
        python_multiprocessing: whether several workers are processes (forked, unless
            `config.set_multiprocessing_start_method` says otherwise); else threads.
        max_rowsize: accepted.
        batch_sampler: yields lists of indices; each becomes one row, stacked.
        collate_fn: a function of the rows of one list of `batch_sampler` that returns the columns, instead of
            stacking.

    Raises:
        TypeError: a source that is none of these.
        RuntimeError: a row that does not fit `column_names` or `column_types`; an error in the source.

    Example:
        >>> data = GeneratorDataset(lambda: ((i, i * i) for i in range(3)), ["x", "y"])
        >>> [(int(x), int(y)) for x, y in data.create_tuple_iterator(output_numpy=True)]
        [(0, 0), (1, 1), (2, 4)]
    """

    def __init__(self, source: Any, column_names: Sequence[str] | str | None = None, column_types: Any = None,
                 schema: Any = None, num_samples: int | None = None, num_parallel_workers: int | None = 1,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, python_multiprocessing: bool = True, max_rowsize: Any = None,
                 batch_sampler: Any = None, collate_fn: Callable[[list[Any]], Any] | None = None) -> None:
        super().__init__()
        self.workers = checked_workers("GeneratorDataset", num_parallel_workers)
        self.processes = python_multiprocessing
        if not isinstance(python_multiprocessing, bool):
            raise TypeError("GeneratorDataset: python_multiprocessing must be a bool. Received: "
                            f"python_multiprocessing={python_multiprocessing!r}")
        self.in_processes = python_multiprocessing and (self.workers or 1) > 1
        self.pure, self.read_ahead = False, 1
        if schema is not None or column_names is None:
            raise ValueError("GeneratorDataset: column_names must be given (a schema is not supported)")
        self.source = source
        self.columns = _names("GeneratorDataset", column_names)
        self.types = None if column_types is None else [
            kind.numpy if isinstance(kind, DType) else np.dtype(kind) for kind in column_types]
        if self.types is not None and len(self.types) != len(self.columns):
            raise ValueError("GeneratorDataset: column_types must be as many as column_names. Received: "
                             f"{len(self.types)} types for {len(self.columns)} names")
        self.num_samples, self.batch_sampler, self.collate_fn = num_samples, batch_sampler, collate_fn
        self.inner: _RandomAccess | None = None
        random_access = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if batch_sampler is not None:
            if not random_access:
                raise RuntimeError("GeneratorDataset: batch_sampler needs a source with __getitem__ and "
                                   "__len__")
            for name, value in (("sampler", sampler), ("shuffle", shuffle), ("num_shards", num_shards),
                                ("num_samples", num_samples)):
                if value is not None:
                    raise RuntimeError(f"GeneratorDataset: batch_sampler and {name} cannot be specified at "
                                       "the same time")
        elif collate_fn is not None:
            raise RuntimeError("GeneratorDataset: collate_fn needs a batch_sampler")
        elif random_access:
            self.inner = _RandomAccess(self, sampler, shuffle, num_samples, num_shards, shard_id)
            self.children, self.pure = (self.inner,), self.inner.pure
        else:
            if not callable(source) and not hasattr(source, "__iter__"):
                raise TypeError("GeneratorDataset: source must be a function that returns an iterator, an "
                                "iterable, or an object with __getitem__ and __len__. Received: "
                                f"source={source!r} (of type {type(source).__name__})")
            for name, value in (("sampler", sampler), ("num_shards", num_shards),
                                ("shuffle", shuffle or None)):
                if value is not None:
                    raise RuntimeError(f"GeneratorDataset: {name} needs a source with __getitem__ and "
                                       "__len__, to read its rows in another order. Received: "
                                       f"{name}={value!r}")

    def get_col_names(self) -> list[str]:
        return list(self.columns)

    def _count(self) -> int | None:
        if self.inner is not None:
            return self.inner._count()
        return len(self.batch_sampler) if hasattr(self.batch_sampler, "__len__") else None

    def open(self, draws: Draws) -> Stream:
        if self.inner is not None:
            return self.inner.open(draws)
        return _Generated(self, self._batches() if self.batch_sampler is not None else self._items())

    def _items(self) -> Iterator[Any]:
        items: Any = self.source() if callable(self.source) else self.source
        if not hasattr(items, "__iter__"):
            raise TypeError("GeneratorDataset: the source function must return an iterator. Received: "
                            f"{items!r} (of type {type(items).__name__})")
        return iter(items)

    def _batches(self) -> Iterator[Any]:
        for indices in self.batch_sampler:
            items = [self._item(int(i)) for i in indices]
            if self.collate_fn is not None:
                yield self.collate_fn(items)
            else:
                yield tuple(np.stack(column) for column in zip(*map(self.row, items)))

    def _item(self, index: int) -> Any:
        try:
            return self.source[index]
        except Exception as error:
            raise RuntimeError(f"GeneratorDataset: the source failed at index {index}: "
                               f"{type(error).__name__}: "
                               f"{error}{user_line(error)}") from error

    def row(self, item: Any) -> list[np.ndarray]:
        """The arrays of a row, checked against the names and types of the columns."""
        # A list is a row, unless there is one column: then it is the column's value.
        listed = isinstance(item, list) and (len(self.columns) > 1 or len(item) == 1)
        elements = list(item) if listed or isinstance(item, tuple) else [item]
        if len(elements) != len(self.columns):
            raise RuntimeError("GeneratorDataset: the source must return as many arrays as there are "
                               f"column_names, {len(self.columns)} ({', '.join(self.columns)}). Received: "
                               f"{len(elements)}")
        arrays = []
        for i, (name, element) in enumerate(zip(self.columns, elements)):
            try:
                array = as_array(element)
            except TypeError as error:
                raise TypeError(f"GeneratorDataset: column {name!r}: {error}") from error
            if self.types is not None and array.dtype != self.types[i]:
                raise RuntimeError(f"GeneratorDataset: column {name!r} must be of type {self.types[i]}, as "
                                   f"column_types says. Received: {describe(array)}")
            arrays.append(array)
        return arrays


class _Generated(Stream):
    def __init__(self, node: GeneratorDataset, items: Iterator[Any]) -> None:
        self.node, self.items, self.left, self.number = node, items, node.num_samples, 0

    def read(self, count: int) -> Block | None:
        if self.left is not None:
            count = min(count, self.left)
            self.left -= count
        rows = []
        for _ in range(count):
            try:
                item = next(self.items, self)
            except Exception as error:
                raise RuntimeError(f"GeneratorDataset: the source failed at row {self.number}: "
                                   f"{type(error).__name__}: {error}{user_line(error)}") from error
            if item is self:
                break
            rows.append(self.node.row(item))
            self.number += 1
        return Block.of_rows(self.node.columns, rows) if rows else None

    def close(self) -> None:
        close = getattr(self.items, "close", None)
        if close is not None:
            close()


def _names(source: str, names: Any) -> list[str]:
    return column_names(source, "column_names", names)
