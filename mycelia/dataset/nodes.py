"""The operations that choose and order rows and columns (`map` is in `mapping`, `batch` in `batching`)."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.batching import BatchDataset, BatchInfo
from mycelia.dataset.block import Block, Column, column_of, describe
from mycelia.dataset.dataset import (
    Dataset,
    DerivedStream,
    Stream,
    checked_integer,
    column_names,
    read_exactly,
)
from mycelia.dataset.mapping import MapDataset
from mycelia.dataset.randomness import Draws, Epochs
from mycelia.dataset.workers import user_line

__all__ = ["BatchDataset", "BatchInfo", "ConcatDataset", "FilterDataset", "FixedDataset", "FlatMapDataset",
           "MapDataset", "ProjectDataset", "RenameDataset", "RepeatDataset", "ShardDataset", "ShuffleDataset",
           "SkipDataset", "TakeDataset", "ZipDataset"]


# -- order -----------------------------------------------------------------------------------------------
class ShuffleDataset(Dataset):
    """Random order through a buffer; see `Dataset.shuffle`."""

    def __init__(self, child: Dataset, buffer_size: int | None) -> None:
        super().__init__(child)
        if buffer_size is not None:
            buffer_size = checked_integer("shuffle", "buffer_size", buffer_size, 2)
        self.buffer_size = buffer_size

    def open(self, draws: Draws) -> Stream:
        rng = draws.generator(self)
        inner = self.children[0].open(draws)
        if self.buffer_size is None:
            return _WholeShuffle(inner, rng)
        return _WindowShuffle(inner, rng, self.buffer_size)


class _WholeShuffle(DerivedStream):
    """All rows are read, then handed out by a permutation."""

    def __init__(self, inner: Stream, rng: np.random.Generator) -> None:
        super().__init__(inner)
        self.rng, self.rows, self.order, self.at = rng, None, np.arange(0), 0

    def read(self, count: int) -> Block | None:
        if self.rows is None:
            blocks = []
            while (block := self.inner.read(1024)) is not None:
                blocks.append(block)
            if not blocks:
                return None
            self.rows: Block | None = Block.concat(blocks)
            self.order = self.rng.permutation(self.rows.size)
        picked = self.order[self.at:self.at + count]
        self.at += len(picked)
        return self.rows.take(picked) if len(picked) else None


class _WindowShuffle(DerivedStream):
    """A buffer of rows: each row handed out is drawn from it and replaced by the next one of the input.

    The draws of a block are made on row numbers first; then the rows are gathered and the buffer refilled,
    each by one copy per column.
    """

    def __init__(self, inner: Stream, rng: np.random.Generator, size: int) -> None:
        super().__init__(inner)
        self.rng, self.size = rng, size
        self.buffer: Block | None = None
        # once the input has ended: buffered rows still to hand out, in order
        self.rest: np.ndarray | None = None

    def read(self, count: int) -> Block | None:
        if self.buffer is None:
            self.buffer = read_exactly(self.inner, self.size)
            if self.buffer is None:
                return None
        if self.rest is None:
            incoming = self.inner.read(min(count, self.size))
            if incoming is not None:
                return self._exchange(incoming)
            self.rest = self.rng.permutation(self.buffer.size)
        picked, self.rest = self.rest[:count], self.rest[count:]
        return self.buffer.take(picked) if len(picked) else None

    def _exchange(self, incoming: Block) -> Block:
        assert self.buffer is not None
        held = self.buffer.size
        # the row in a slot, where it is no longer the first; incoming ones count from `held`
        place: dict[int, int] = {}
        picked = []
        for i, slot in enumerate(self.rng.integers(0, held, size=incoming.size).tolist()):
            picked.append(place.get(slot, slot))
            place[slot] = held + i
        slots, fresh = np.array(list(place)), np.array(list(place.values())) - held
        chosen = np.array(picked)
        out = {name: _exchange(self.buffer.columns, name, incoming.columns[name], chosen, slots, fresh)
               for name in incoming.columns}
        return Block(out, incoming.size)


def _exchange(buffer: dict[str, Column], name: str, incoming: Column, picked: np.ndarray, slots: np.ndarray,
              fresh: np.ndarray) -> Column:
    """Takes the picked rows out of a buffered column and puts the fresh rows into its slots, in place."""
    column = buffer[name]
    if isinstance(column, np.ndarray) and isinstance(incoming, np.ndarray) \
            and column.shape[1:] == incoming.shape[1:] and column.dtype == incoming.dtype:
        held = len(column)
        out = np.take(column, np.minimum(picked, held - 1), axis=0)
        passed = np.flatnonzero(picked >= held)  # rows that are handed out in the block in which they came in
        out[passed] = incoming[picked[passed] - held]
        column[slots] = incoming[fresh]
        return out
    rows = list(column) + list(incoming)
    held = len(column)
    replaced = dict(zip(slots.tolist(), fresh.tolist()))
    buffer[name] = [rows[held + replaced[i]] if i in replaced else rows[i] for i in range(held)]
    return column_of([np.asarray(rows[i]) for i in picked])


class FixedDataset(Dataset):
    """The same pass in every epoch, whatever is random below; see `Dataset.split`."""

    def __init__(self, child: Dataset) -> None:
        super().__init__(child)
        self.entropy = int(Epochs([self]).next().generator(self).integers(2**63))

    def open(self, draws: Draws) -> Stream:
        child = self.children[0]
        return child.open(Draws(child.nodes(), self.entropy, 0))


class RepeatDataset(Dataset):
    """The data several times over; see `Dataset.repeat`."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__(child)
        self.count = checked_integer("repeat", "count", count, 1, also=-1)

    def get_repeat_count(self) -> int:
        return self.count * self.children[0].get_repeat_count()

    def _count(self) -> int | None:
        rows = self.children[0]._count()
        return None if rows is None else rows if self.count == -1 else rows * self.count

    def open(self, draws: Draws) -> Stream:
        times = itertools.count() if self.count == -1 else range(self.count)
        return _Chain(self.children[0].open(draws) for _ in times)


class ConcatDataset(Dataset):
    """Datasets one after another; see `Dataset.concat`."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        _check_datasets("concat", datasets)
        super().__init__(*datasets)
        first = datasets[0].get_col_names()
        for other in datasets[1:]:
            if other.get_col_names() != first:
                raise ValueError(f"concat: datasets must have the same columns. Received: {first} and "
                                 f"{other.get_col_names()}")

    def _count(self) -> int | None:
        counts = [child._count() for child in self.children]
        return None if None in counts else sum(count for count in counts if count is not None)

    def open(self, draws: Draws) -> Stream:
        return _Chain(child.open(draws) for child in self.children)


class FlatMapDataset(Dataset):
    """The rows of the datasets made of each row; see `Dataset.flat_map`."""

    pure = False

    def __init__(self, child: Dataset, function: Callable[..., Dataset]) -> None:
        if not callable(function):
            raise TypeError(f"flat_map: func must be a function. Received: func={function!r}")
        super().__init__(child)
        self.function, self.pure, self.read_ahead = function, False, 1
        self._names: list[str] | None = None

    def get_col_names(self) -> list[str]:
        if self._names is None:
            child = self.children[0]
            self._names = self._made(child._sample()).get_col_names()
        return self._names

    def _count(self) -> int | None:
        return None

    def _made(self, row: Sequence[np.ndarray]) -> Dataset:
        made = self.function(*row)
        if not isinstance(made, Dataset):
            raise TypeError(f"flat_map: func must return a dataset. Received: {made!r} (of type "
                            f"{type(made).__name__})")
        return made

    def open(self, draws: Draws) -> Stream:
        inner, rng = self.children[0].open(draws), draws.generator(self)

        def passes() -> Iterator[Stream]:
            while (block := inner.read(1)) is not None:
                made = self._made(next(block.rows()))
                yield made.open(Draws(made.nodes(), int(rng.integers(2**63)), 0))
        return _Chain(passes())


class _Chain(Stream):
    """Passes one after another; each is opened when the one before has ended."""

    def __init__(self, passes: Iterator[Stream]) -> None:
        self.passes = passes
        self.current: Stream | None = None

    def read(self, count: int) -> Block | None:
        empty = 0
        while empty < 1000:  # an endless repeat of nothing ends
            if self.current is None:
                self.current = next(self.passes, None)
                if self.current is None:
                    return None
            block = self.current.read(count)
            if block is not None:
                return block
            self.current = None
            empty += 1
        return None

    def close(self) -> None:
        if self.current is not None:
            self.current.close()


# -- choice ----------------------------------------------------------------------------------------------
class TakeDataset(Dataset):
    """The first rows; see `Dataset.take`."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__(child)
        self.count = checked_integer("take", "count", count, 1, also=-1)

    def _count(self) -> int | None:
        rows = self.children[0]._count()
        return rows if rows is None or self.count == -1 else min(rows, self.count)

    def open(self, draws: Draws) -> Stream:
        inner = self.children[0].open(draws)
        return inner if self.count == -1 else _Taken(inner, self.count)


class _Taken(DerivedStream):
    def __init__(self, inner: Stream, left: int) -> None:
        super().__init__(inner)
        self.left = left

    def read(self, count: int) -> Block | None:
        block = self.inner.read(min(count, self.left)) if self.left else None
        if block is not None:
            self.left -= block.size
        return block


class SkipDataset(Dataset):
    """All but the first rows; see `Dataset.skip`."""

    def __init__(self, child: Dataset, count: int) -> None:
        super().__init__(child)
        self.count = checked_integer("skip", "count", count, 0)

    def _count(self) -> int | None:
        rows = self.children[0]._count()
        return None if rows is None else max(rows - self.count, 0)

    def open(self, draws: Draws) -> Stream:
        return _Skipped(self.children[0].open(draws), self.count)


class _Skipped(DerivedStream):
    def __init__(self, inner: Stream, left: int) -> None:
        super().__init__(inner)
        self.left = left

    def read(self, count: int) -> Block | None:
        while self.left:
            block = self.inner.read(min(self.left, 1024))
            if block is None:
                return None
            self.left -= block.size
        return self.inner.read(count)


class ShardDataset(Dataset):
    """One row of every few; see `Dataset.shard`."""

    is_sharded = True

    def __init__(self, child: Dataset, num_shards: int, shard_id: int) -> None:
        super().__init__(child)
        self.num_shards = checked_integer("shard", "num_shards", num_shards, 1)
        self.shard_id = checked_integer("shard", "shard_id", shard_id, 0)
        if self.shard_id >= self.num_shards:
            raise ValueError(f"shard: shard_id must be below num_shards={num_shards}. Received: "
                             f"shard_id={shard_id}")

    def _count(self) -> int | None:
        rows = self.children[0]._count()
        return None if rows is None else rows // self.num_shards

    def open(self, draws: Draws) -> Stream:
        return _Shard(self.children[0].open(draws), self.num_shards, self.shard_id)


class _Shard(DerivedStream):
    def __init__(self, inner: Stream, shards: int, shard: int) -> None:
        super().__init__(inner)
        self.shards, self.shard = shards, shard

    def read(self, count: int) -> Block | None:
        rounds = []
        while len(rounds) < count:
            block = read_exactly(self.inner, self.shards)
            if block is None or block.size < self.shards:
                break
            rounds.append(block.slice(self.shard, self.shard + 1))
        return Block.concat(rounds) if rounds else None


class FilterDataset(Dataset):
    """The rows that a function accepts; see `Dataset.filter`."""

    def __init__(self, child: Dataset, predicate: Callable[..., Any], input_columns: Any) -> None:
        super().__init__(child)
        if not callable(predicate):
            raise TypeError(f"filter: predicate must be a function. Received: predicate={predicate!r}")
        names = child.get_col_names()
        self.predicate, self.pure = predicate, False
        self.inputs = column_names("filter", "input_columns",
                                   names if input_columns is None else input_columns, names)

    def _count(self) -> int | None:
        return None

    def open(self, draws: Draws) -> Stream:
        return _Filtered(self, self.children[0].open(draws))


class _Filtered(DerivedStream):
    def __init__(self, node: FilterDataset, inner: Stream) -> None:
        super().__init__(inner)
        self.node, self.row = node, 0

    def read(self, count: int) -> Block | None:
        inputs = self.node.inputs
        while (block := self.inner.read(count)) is not None:
            columns = [block.columns[name] for name in inputs]
            kept = np.flatnonzero([self._accepts(i, [np.asarray(column[i]) for column in columns])
                                   for i in range(block.size)])
            self.row += block.size
            if len(kept):
                return block if len(kept) == block.size else block.take(kept)
        return None

    def _accepts(self, i: int, row: list[np.ndarray]) -> bool:
        try:
            return bool(self.node.predicate(*row))
        except Exception as error:
            columns = ", ".join(f"{name!r}: {describe(x)}" for name, x in zip(self.node.inputs, row))
            raise RuntimeError(f"filter: the predicate failed on row {self.row + i}, column {columns}: "
                               f"{type(error).__name__}: {error}{user_line(error)}") from error


# -- columns ---------------------------------------------------------------------------------------------
class ProjectDataset(Dataset):
    """Some columns; see `Dataset.project`."""

    def __init__(self, child: Dataset, columns: Any) -> None:
        super().__init__(child)
        self.columns = column_names("project", "columns", columns, child.get_col_names())

    def get_col_names(self) -> list[str]:
        return list(self.columns)

    def open(self, draws: Draws) -> Stream:
        return _Columns(self.children[0].open(draws), {name: name for name in self.columns})


class RenameDataset(Dataset):
    """New names of columns; see `Dataset.rename`."""

    def __init__(self, child: Dataset, input_columns: Any, output_columns: Any) -> None:
        super().__init__(child)
        names = child.get_col_names()
        old = column_names("rename", "input_columns", input_columns, names)
        new = column_names("rename", "output_columns", output_columns)
        if len(old) != len(new):
            raise ValueError(f"rename: input_columns and output_columns must be as many. Received: {old} and "
                             f"{new}")
        renamed = dict(zip(old, new))
        self.sources = {renamed.get(name, name): name for name in names}
        if len(self.sources) < len(names):
            raise ValueError(f"rename: two columns would have one name. Received: {renamed} for {names}")

    def get_col_names(self) -> list[str]:
        return list(self.sources)

    def open(self, draws: Draws) -> Stream:
        return _Columns(self.children[0].open(draws), self.sources)


class _Columns(DerivedStream):
    """Columns by new name, in order, from the old ones."""

    def __init__(self, inner: Stream, sources: dict[str, str]) -> None:
        super().__init__(inner)
        self.sources = sources

    def read(self, count: int) -> Block | None:
        block = self.inner.read(count)
        if block is None:
            return None
        return Block({name: block.columns[source] for name, source in self.sources.items()}, block.size)


class ZipDataset(Dataset):
    """Datasets side by side; see `Dataset.zip`."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        _check_datasets("zip", datasets)
        super().__init__(*datasets)
        names = [name for child in datasets for name in child.get_col_names()]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"zip: column {name!r} is in more than one dataset; give it another name "
                                 "with rename")
        below = [node for child in datasets for node in child.nodes()]
        if len({id(node) for node in below}) < len(below):
            raise ValueError("zip: the datasets have a part in common, which each would shuffle in its own "
                             "way. Make the part twice, or take both columns from one dataset")

    def get_col_names(self) -> list[str]:
        return [name for child in self.children for name in child.get_col_names()]

    def _count(self) -> int | None:
        counts = [child._count() for child in self.children]
        return None if None in counts else min(count for count in counts if count is not None)

    def open(self, draws: Draws) -> Stream:
        return _Zipped([child.open(draws) for child in self.children])


class _Zipped(Stream):
    def __init__(self, inners: list[Stream]) -> None:
        self.inners = inners

    def read(self, count: int) -> Block | None:
        parts = [read_exactly(inner, count) for inner in self.inners]
        size = min(part.size if part is not None else 0 for part in parts)
        if not size:
            return None
        columns: dict[str, Column] = {}
        for part in parts:
            assert part is not None
            columns |= part.slice(0, size).columns
        return Block(columns, size)

    def close(self) -> None:
        for inner in self.inners:
            inner.close()


def _check_datasets(operation: str, datasets: Sequence[Any]) -> None:
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{operation}: datasets must be datasets. Received: {dataset!r} "
                            f"(of type {type(dataset).__name__})")
