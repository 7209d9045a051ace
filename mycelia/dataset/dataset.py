"""Dataset: one node of a data pipeline, and the methods that put another node on top of it."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelia.dataset.block import Block
from mycelia.dataset.randomness import Draws, Epochs

if TYPE_CHECKING:
    from mycelia.dataset.iterators import DictIterator, TupleIterator

Names = str | Sequence[str]
# rows that an iterator without batches asks for at once, where reading ahead has no side effect
READ_AHEAD = 64


class Stream:
    """One pass over a node's rows, pulled by whoever consumes them.

    The consumer says how many rows it wants, so that a batch is read, mapped and stacked as one block.
    """

    def read(self, count: int) -> Block | None:
        """The next rows: at least one, at most `count`; None at the end."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases what the pass holds; called when it is left before its end."""


class DerivedStream(Stream):
    """A pass over one inner pass."""

    def __init__(self, inner: Stream) -> None:
        self.inner = inner

    def close(self) -> None:
        self.inner.close()


def read_exactly(stream: Stream, count: int) -> Block | None:
    """The next `count` rows, or fewer at the end of the stream; None when there are none."""
    blocks, missing = [], count
    while missing:
        block = stream.read(missing)
        if block is None:
            break
        blocks.append(block)
        missing -= block.size
    return Block.concat(blocks) if blocks else None


class Dataset:
    """A data pipeline: a source of rows, or an operation over other pipelines.

    A pipeline is lazy (nothing is read before an iterator asks) and can be iterated any number of times; each
    epoch shuffles and augments anew, and the sequence of epochs follows from `mindspore.set_seed`. Each
    method returns a new pipeline and leaves this one as it is.

    Example:
        >>> data = NumpySlicesDataset({"x": [1, 2, 3, 4]}, shuffle=False)
        >>> [batch["x"].tolist() for batch in data.batch(2).create_dict_iterator(output_numpy=True)]
        [[1, 2], [3, 4]]
    """

    children: tuple[Dataset, ...] = ()
    read_ahead = READ_AHEAD
    pure = True  # no function of the user's runs in it, so that it may run ahead in another thread
    is_sharded = False

    def __init__(self, *children: Dataset) -> None:
        self.children = children
        if children:
            self.read_ahead = min(child.read_ahead for child in children)
            self.pure = all(child.pure for child in children)
        self._epochs: Epochs | None = None
        self._first_row: tuple[np.ndarray, ...] | None = None
        self._size: int | None = None

    # -- what each kind of node defines ------------------------------------------------------------------
    def open(self, draws: Draws) -> Stream:
        """Starts one pass over the rows."""
        raise NotImplementedError

    def get_col_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self.children[0].get_col_names()

    def _count(self) -> int | None:
        """Rows of one epoch where they can be told without reading; None where not."""
        return self.children[0]._count()

    def get_batch_size(self) -> int:
        """Rows in a batch; 1 where the rows are not batched."""
        return self.children[0].get_batch_size() if self.children else 1

    def get_repeat_count(self) -> int:
        """How many times `repeat` goes over the data; 1 without one."""
        return self.children[0].get_repeat_count() if self.children else 1

    def num_classes(self) -> int | None:
        """Classes of the source's labels, where it knows them."""
        return self.children[0].num_classes() if self.children else None

    def get_class_indexing(self) -> dict[str, int]:
        """The label of each class' name, where the source knows it; else empty."""
        return self.children[0].get_class_indexing() if self.children else {}

    # -- operations --------------------------------------------------------------------------------------
    def map(self, operations: Any, input_columns: Names | None = None, output_columns: Names | None = None,
            num_parallel_workers: int | None = None, **kwargs: Any) -> Dataset:
        """Applies operations to columns of each row, one after another.

        Args:
            operations: an operation of `vision` or `transforms`, a Python function of one array per input
                column, or a list of them. A function returns an array, or a tuple with one array for each
                output column.
            input_columns: columns handed to the first operation; default: the first ones, as many as it
                takes.
            output_columns: names of the results; default: the input's.
            num_parallel_workers: workers of Python functions; operations work on whole blocks of rows
                instead.
                Default: the program's own thread, unless `config.set_num_parallel_workers` said otherwise.
            python_multiprocessing: whether the workers are processes; else threads.
            max_rowsize, cache, callbacks, offload: accepted.

        Raises:
            ValueError: a column that does not exist, or one too many.
            RuntimeError: an operation failed; the message names it, the row with its columns' shapes, and the
                line of a Python function. A worker process died.
        """
        from mycelia.dataset.nodes import MapDataset
        _known("map", kwargs, {"python_multiprocessing", "max_rowsize", "cache", "callbacks", "offload"})
        return MapDataset(self, operations, input_columns, output_columns, num_parallel_workers,
                          kwargs.get("python_multiprocessing", False))

    def batch(self, batch_size: int | Callable[[Any], int], drop_remainder: bool = False,
              num_parallel_workers: int | None = None, **kwargs: Any) -> Dataset:
        """Stacks consecutive rows: an element of shape S becomes one of shape (batch_size, *S).

        Args:
            batch_size: rows in a batch, or a function of a `BatchInfo` that returns it.
            drop_remainder: whether a last batch with fewer rows is left out.
            per_batch_map, input_columns, output_columns: a function over each batch: it gets a list of arrays
                for each input column and a `BatchInfo`, and returns a tuple of lists of arrays.

        Raises:
            ValueError: batch_size is not positive.
            RuntimeError: rows of different shapes; the message names the column and the shapes.
        """
        from mycelia.dataset.nodes import BatchDataset
        _known("batch", kwargs, {"per_batch_map", "input_columns", "output_columns", "python_multiprocessing",
                                 "max_rowsize"})
        return BatchDataset(self, batch_size, drop_remainder, kwargs.get("per_batch_map"),
                            kwargs.get("input_columns"), kwargs.get("output_columns"))

    def padded_batch(self, batch_size: int, drop_remainder: bool = False,
                     num_parallel_workers: int | None = None,
                     pad_info: dict[str, tuple[Sequence[int | None] | None, Any]] | None = None) -> Dataset:
        """Batches after padding each row at the end of its axes.

        Args:
            pad_info: for each column to pad, ``(shape, value)``; an axis (or the shape) that is None takes
                the longest of the batch. Default: every column, to the longest, with zeros.
        """
        from mycelia.dataset.nodes import BatchDataset
        return BatchDataset(self, batch_size, drop_remainder, pad_info=pad_info or {})

    def bucket_batch_by_length(self, column_names: Names, bucket_boundaries: Sequence[int],
                               bucket_batch_sizes: Sequence[int],
                               element_length_function: Callable[..., int] | None = None,
                               pad_info: dict[str, tuple[Sequence[int | None] | None, Any]] | None = None,
                               pad_to_bucket_boundary: bool = False, drop_remainder: bool = False) -> Dataset:
        """Batches of rows of similar length, padded as by `padded_batch`.

        Args:
            column_names: the columns handed to `element_length_function`; without one, the column whose first
                extent is the length.
            bucket_boundaries: upper bounds (exclusive) of the buckets' lengths; one more bucket holds
                longer rows.
            bucket_batch_sizes: rows in a batch of each bucket.
            element_length_function: returns the length of a row.
            pad_info: as in `padded_batch`.
            pad_to_bucket_boundary: whether axes without an extent in `pad_info` become the bucket's upper
                bound
                minus one, instead of the longest of the batch.
            drop_remainder: whether last batches with fewer rows are left out.

        Raises:
            ValueError: boundaries that do not increase, or not one size more than boundaries.
        """
        from mycelia.dataset.bucketing import BucketBatchByLengthDataset
        return BucketBatchByLengthDataset(self, column_names, bucket_boundaries, bucket_batch_sizes,
                                          element_length_function, pad_info, pad_to_bucket_boundary,
                                          drop_remainder)

    def sync_wait(self, condition_name: str, num_batch: int = 1,
                  callback: Callable[[Any], Any] | None = None) -> Dataset:
        """Rows (batches, after `batch`) that wait: after `num_batch` of them, `sync_update` lets as many
        pass.

        Args:
            condition_name: the name by which `sync_update` knows this place.
            num_batch: rows that pass at first, in each epoch.
            callback: called with `sync_update`'s data.
        """
        from mycelia.dataset.synchronisation import SyncWaitDataset
        return SyncWaitDataset(self, condition_name, num_batch, callback)

    def sync_update(self, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
        """Lets rows pass at the `sync_wait` of this name, after its callback got `data`.

        Raises:
            ValueError: no `sync_wait` has this name.
        """
        waits = self._waits()
        if condition_name not in waits:
            raise ValueError(f"sync_update: no sync_wait is named {condition_name!r}. There are: "
                             f"{', '.join(waits) or 'none'}")
        waits[condition_name].give_permits(num_batch, data)

    def disable_sync(self) -> None:
        """Lets all rows pass at every `sync_wait`."""
        for wait in self._waits().values():
            wait.disable()

    def is_sync(self) -> bool:
        """Whether there is a `sync_wait`."""
        return bool(self._waits())

    def _waits(self) -> dict[str, Any]:
        from mycelia.dataset.synchronisation import SyncWaitDataset
        return {node.condition_name: node for node in self.nodes() if isinstance(node, SyncWaitDataset)}

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Writes one epoch into MindRecord files, which `MindDataset` reads.

        Args:
            file_name: path of the file; must not exist.
            num_files: files that the rows are dealt out to.
            file_type: only ``"mindrecord"``.
        """
        from mycelia.dataset.mindrecords import save
        save(self, file_name, num_files, file_type)

    def shuffle(self, buffer_size: int | None = None) -> Dataset:
        """Puts rows in random order, anew in each epoch.

        Args:
            buffer_size: rows held to draw the next one from: at 1,000, a row moves forward by at most 1,000
                places. Default: all rows.

        Raises:
            ValueError: buffer_size is below 2.
        """
        from mycelia.dataset.nodes import ShuffleDataset
        return ShuffleDataset(self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """Goes over the data `count` times in one epoch; None or -1 for without end. Each time shuffles
        anew."""
        from mycelia.dataset.nodes import RepeatDataset
        return RepeatDataset(self, -1 if count is None else count)

    def take(self, count: int = -1) -> Dataset:
        """The first `count` rows (batches, after `batch`); -1 for all."""
        from mycelia.dataset.nodes import TakeDataset
        return TakeDataset(self, count)

    def skip(self, count: int) -> Dataset:
        """All but the first `count` rows."""
        from mycelia.dataset.nodes import SkipDataset
        return SkipDataset(self, count)

    def filter(self, predicate: Callable[..., Any], input_columns: Names | None = None,
               num_parallel_workers: int | None = None) -> Dataset:
        """The rows for which a function of the given columns (default: all) is true."""
        from mycelia.dataset.nodes import FilterDataset
        return FilterDataset(self, predicate, input_columns)

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """The rows of the datasets that a function makes of each row, one after another."""
        from mycelia.dataset.nodes import FlatMapDataset
        return FlatMapDataset(self, func)

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Rows of this and other datasets side by side; ends with the shortest."""
        from mycelia.dataset.nodes import ZipDataset
        return ZipDataset(self._and("zip", datasets))

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Rows of this and other datasets of the same columns, one after another."""
        from mycelia.dataset.nodes import ConcatDataset
        return ConcatDataset(self._and("concat", datasets))

    def _and(self, operation: str, datasets: Any) -> tuple[Dataset, ...]:
        others = (datasets,) if isinstance(datasets, Dataset) else datasets
        if not isinstance(others, (list, tuple)):
            raise TypeError(f"{operation}: datasets must be a dataset or a list of them. Received: "
                            f"{datasets!r} (of type {type(datasets).__name__})")
        return (self, *others)

    def __add__(self, other: Dataset) -> Dataset:
        return self.concat(other)

    def project(self, columns: Names) -> Dataset:
        """The given columns only, in the given order."""
        from mycelia.dataset.nodes import ProjectDataset
        return ProjectDataset(self, columns)

    def rename(self, input_columns: Names, output_columns: Names) -> Dataset:
        """Gives columns new names."""
        from mycelia.dataset.nodes import RenameDataset
        return RenameDataset(self, input_columns, output_columns)

    def shard(self, num_shards: int, shard_id: int) -> Dataset:
        """Every `num_shards`-th row (batch, after `batch`), from `shard_id` on; an incomplete last round is
        left out."""
        from mycelia.dataset.nodes import ShardDataset
        return ShardDataset(self, num_shards, shard_id)

    def split(self, sizes: Sequence[int] | Sequence[float], randomize: bool = True) -> list[Dataset]:
        """Cuts the dataset into parts without common rows.

        Args:
            sizes: rows of each part, or shares of the whole that add up to 1.
            randomize: whether rows are put in random order first. The order, and all that is random before
                it, is drawn once: the same for all parts and epochs. Augment the parts, not the whole.

        Raises:
            ValueError: sizes that do not add up to the number of rows, or to 1.
        """
        from mycelia.dataset.nodes import FixedDataset
        counts = _parts(sizes, self.get_dataset_size())
        whole = FixedDataset(self.shuffle() if randomize else self)
        starts = [sum(counts[:i]) for i in range(len(counts))]
        return [(whole.skip(start) if start else whole).take(count) for start, count in zip(starts, counts)]

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """What a function makes of this dataset."""
        result = apply_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"apply: apply_func must return a dataset. Received: {type(result).__name__}")
        return result

    # -- iteration ---------------------------------------------------------------------------------------
    def create_tuple_iterator(self, columns: Names | None = None, num_epochs: int = -1,
                              output_numpy: bool = False, do_copy: bool = False) -> TupleIterator:
        """An iterator over rows as lists of tensors.

        Args:
            columns: the columns wanted, in order; default: all.
            num_epochs: how many times it can be iterated; -1 for without end.
            output_numpy: whether elements are NumPy arrays instead of tensors.
            do_copy: accepted; every element has memory of its own.
        """
        from mycelia.dataset.iterators import TupleIterator
        return TupleIterator(self if columns is None else self.project(columns), num_epochs, output_numpy)

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False,
                             do_copy: bool = False) -> DictIterator:
        """An iterator over rows as dictionaries from column name to tensor (see `create_tuple_iterator`)."""
        from mycelia.dataset.iterators import DictIterator
        return DictIterator(self, num_epochs, output_numpy)

    def __iter__(self) -> Iterator[list[Any]]:
        return iter(self.create_tuple_iterator(num_epochs=1))

    def nodes(self) -> list[Dataset]:
        """This node and all below it, each once, top first."""
        found: dict[int, Dataset] = {id(self): self}
        for child in self.children:
            for node in child.nodes():
                found.setdefault(id(node), node)
        return list(found.values())

    def draws(self) -> Draws:
        """The random numbers of this pipeline's next epoch; epochs go on from one iterator to the next."""
        if self._epochs is None or not self._epochs.is_current:
            self._epochs = Epochs(self.nodes())
        return self._epochs.next()

    def reset(self) -> None:
        """Starts the epochs anew: the next one is shuffled as the first was."""
        self._epochs = None

    # -- description -------------------------------------------------------------------------------------
    def get_dataset_size(self) -> int:
        """Rows (batches, after `batch`) of one epoch; where it depends on the data (`filter`), by reading
        them once."""
        if self._size is None:
            size = self._count()
            if size is None:
                stream, size = self.open(Epochs(self.nodes()).next()), 0
                while (block := stream.read(READ_AHEAD)) is not None:
                    size += block.size
            self._size = size
        return self._size

    def __len__(self) -> int:
        return self.get_dataset_size()

    def output_shapes(self, estimate: bool = False) -> list[list[int]]:
        """Shape of each column, from the first row."""
        return [list(element.shape) for element in self._sample()]

    def output_types(self) -> list[np.dtype]:
        """NumPy type of each column, from the first row."""
        return [element.dtype for element in self._sample()]

    def _sample(self) -> tuple[np.ndarray, ...]:
        if self._first_row is None:
            stream = self.open(Epochs(self.nodes()).next())
            block = stream.read(1)
            stream.close()
            if block is None:
                raise RuntimeError(f"{type(self).__name__} has no rows, so its shapes and types are not "
                                   "known")
            self._first_row = next(block.rows())
        return self._first_row

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(self.get_col_names())}>"


def checked_integer(operation: str, name: str, value: Any, low: int, also: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{operation}: {name} must be an integer. Received: {name}={value!r} "
                        f"(of type {type(value).__name__})")
    if value < low and value != also:
        raise ValueError(f"{operation}: {name} must be at least "
                         f"{low}{'' if also is None else f', or {also}'}. Received: {name}={value}")
    return int(value)


def column_names(operation: str, argument: str, names: Any,
                 available: Sequence[str] | None = None) -> list[str]:
    """The names in an argument that takes one or several, checked against the columns that there are.

    Raises:
        TypeError: not names.
        ValueError: a name twice, none at all, or one that does not exist.
    """
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, (list, tuple)) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{operation}: {argument} must be a name or a list of names. Received: "
                        f"{argument}={names!r} (of type {type(names).__name__})")
    if not listed:
        raise ValueError(f"{operation}: {argument} must not be empty")
    if len(set(listed)) != len(listed):
        raise ValueError(f"{operation}: {argument} must not name a column twice. Received: "
                         f"{argument}={listed}")
    for name in listed:
        if available is not None and name not in available:
            raise ValueError(f"{operation}: column {name!r} does not exist. The columns are: "
                             f"{', '.join(available)}")
    return listed


def _parts(sizes: Sequence[int | float], rows: int) -> list[int]:
    """Rows of each part that `split` makes."""
    counts = [round(rows * size) if isinstance(size, float) else size for size in sizes]
    if all(isinstance(size, float) for size in sizes):
        if abs(sum(sizes) - 1) > 1e-6:
            raise ValueError(f"split: shares must add up to 1. Received: sizes={list(sizes)}")
        counts[0] += rows - sum(counts)
    if sum(counts) != rows or min(counts) <= 0:
        raise ValueError(f"split: sizes must be positive and add up to the dataset's {rows} rows. "
                         f"Received: sizes={list(sizes)}")
    return counts


def _known(method: str, kwargs: dict[str, Any], names: set[str]) -> None:
    for name in kwargs:
        if name not in names:
            raise TypeError(f"{method}: got an unexpected keyword argument {name!r}; known are: "
                            f"{', '.join(sorted(names))}")
