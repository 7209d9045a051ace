"""Samplers: which rows of a source an epoch visits, and in which order."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np


class BaseSampler:
    """What a source asks for the order of an epoch.

    Attributes:
        num_samples: at most so many rows; None for all.
        shuffled: whether the order differs from epoch to epoch.
        sharded: whether it visits one part of several.
    """

    shuffled = False
    sharded = False

    def __init__(self, num_samples: int | None = None) -> None:
        if num_samples is not None:
            if isinstance(num_samples, bool) or not isinstance(num_samples, (int, np.integer)):
                raise TypeError(f"{type(self).__name__}: num_samples must be an integer. "
                                f"Received: num_samples={num_samples!r} (of type "
                                f"{type(num_samples).__name__})")
            if num_samples < 0:
                raise ValueError(f"{type(self).__name__}: num_samples must not be negative. "
                                 f"Received: num_samples={num_samples}")
        self.num_samples = int(num_samples) or None if num_samples is not None else None  # 0 means all, too
        self._child: BaseSampler | None = None

    def add_child(self, sampler: BaseSampler) -> None:
        """Makes this sampler choose among the rows that another one yields."""
        if self._child is not None:
            raise RuntimeError(f"{type(self).__name__}: cannot add a second child sampler")
        self._child = sampler

    def get_child(self) -> BaseSampler | None:
        return self._child

    def get_num_samples(self) -> int | None:
        return self.num_samples

    def order(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """Indices of the rows of one epoch over a source of `length` rows."""
        if self._child is not None:
            inner = self._child.order(length, rng)
            return inner[self.limited(len(inner), rng)]
        return self.limited(length, rng)

    def limited(self, length: int, rng: np.random.Generator) -> np.ndarray:
        indices = self.choose(length, rng)
        return indices if self.num_samples is None else indices[:self.num_samples]

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """All indices that this sampler would visit of `length` rows, before the limit to `num_samples`."""
        raise NotImplementedError

    def prepare(self, source: Any) -> None:
        """Takes from a source what the sampler must know of its rows; called before each epoch."""
        if self._child is not None:
            self._child.prepare(source)


class SequentialSampler(BaseSampler):
    """Rows in order, from `start_index` on."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index = start_index or 0
        if self.start_index < 0:
            raise ValueError("SequentialSampler: start_index must not be negative. Received: "
                             f"start_index={start_index}")

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        if self.start_index and self.start_index >= length:
            raise ValueError(f"SequentialSampler: start_index must be below the number of rows, {length}. "
                             f"Received: start_index={self.start_index}")
        return np.arange(self.start_index, length)


class RandomSampler(BaseSampler):
    """Rows in random order, or drawn with replacement."""

    shuffled = True

    def __init__(self, replacement: bool = False, num_samples: int | None = None,
                 shuffle: Any = None) -> None:
        super().__init__(num_samples)
        if not isinstance(replacement, bool):
            raise TypeError("RandomSampler: replacement must be a bool. Received: "
                            f"replacement={replacement!r}")
        self.replacement = replacement

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        if self.replacement:
            return rng.integers(0, max(length, 1), size=self.num_samples or length)
        return rng.permutation(length)


class SubsetSampler(BaseSampler):
    """The rows at the given indices, in the given order."""

    def __init__(self, indices: Iterable[int] | int, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        values = [indices] if isinstance(indices, int) else list(indices)
        array = np.asarray(values)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"{type(self).__name__}: indices must be integers. Received: "
                            f"indices={indices!r:.80}")
        self.indices = array.astype(np.int64).reshape(-1)

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        outside = self.indices[(self.indices < 0) | (self.indices >= length)]
        if outside.size:
            raise ValueError(f"{type(self).__name__}: indices must be from 0 to {length - 1}, the rows of "
                             f"the source. Received: {outside[0]}")
        return self.indices


class SubsetRandomSampler(SubsetSampler):
    """The rows at the given indices, in random order."""

    shuffled = True

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        return rng.permutation(super().choose(length, rng))


class WeightedRandomSampler(BaseSampler):
    """Rows drawn with probabilities in proportion to `weights`."""

    shuffled = True

    def __init__(self, weights: Sequence[float], num_samples: int | None = None,
                 replacement: bool = True) -> None:
        super().__init__(num_samples)
        self.weights = np.asarray(weights, np.float64)
        self.replacement = replacement
        if self.weights.ndim != 1 or not self.weights.any() or (self.weights < 0).any():
            raise ValueError("WeightedRandomSampler: weights must be a non-empty list of numbers that are "
                             f"not negative nor all zero. Received: weights={weights!r:.80}")

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        if len(self.weights) > length:
            raise ValueError(f"WeightedRandomSampler: has {len(self.weights)} weights for a source of "
                             f"{length} rows")
        return rng.choice(len(self.weights), size=self.num_samples or length, replace=self.replacement,
                          p=self.weights / self.weights.sum())


class DistributedSampler(BaseSampler):
    """Every `num_shards`-th row.

    Args:
        num_shards: the number of parts.
        shard_id: which of them, from 0.
        shuffle: whether all rows are put in random order (the same on each shard) before they are dealt out.
        num_samples: at most so many rows of this shard.
        offset: the shard that gets the first row. At -1 it is shard 0, and the first rows are repeated so
            that all shards get as many; otherwise the numbers may differ by one.
    """

    sharded = True

    def __init__(self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None,
                 offset: int = -1) -> None:
        super().__init__(num_samples)
        if num_shards < 1:
            raise ValueError("DistributedSampler: num_shards must be positive. Received: "
                             f"num_shards={num_shards}")
        if not 0 <= shard_id < num_shards:
            raise ValueError("DistributedSampler: shard_id must be from 0 to num_shards - 1 = "
                             f"{num_shards - 1}. Received: shard_id={shard_id}")
        if offset >= num_shards:
            raise ValueError(f"DistributedSampler: offset must be below num_shards={num_shards}. Received: "
                             f"offset={offset}")
        self.num_shards, self.shard_id, self.offset = num_shards, shard_id, offset
        self.shuffled = shuffle

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        indices = rng.permutation(length) if self.shuffled else np.arange(length)
        first = (self.shard_id - max(self.offset, 0)) % self.num_shards
        if self.offset != -1 or not length:
            return indices[first::self.num_shards]
        positions = first + self.num_shards * np.arange(-(-length // self.num_shards))
        return indices[positions % length]


class PKSampler(BaseSampler):
    """Of each class as many rows, drawn with replacement.

    Args:
        num_val: rows of each class.
        num_class: not supported, as in MindSpore.
        shuffle: whether the classes come in random order; else sorted.
        class_column: the column with the classes, for `MindDataset`; other sources know theirs.
        num_samples: at most so many rows.

    Raises:
        RuntimeError: num_val is not positive, or a source without classes.
        NotImplementedError: num_class is given.
    """

    def __init__(self, num_val: int, num_class: int | None = None, shuffle: bool = False,
                 class_column: str = "label", num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if isinstance(num_val, bool) or not isinstance(num_val, int):
            raise TypeError(f"PKSampler: num_val must be an integer. Received: num_val={num_val!r}")
        if num_val < 1:
            raise RuntimeError(f"PKSampler: num_val must be positive. Received: num_val={num_val}")
        if num_class is not None:
            raise NotImplementedError("PKSampler: num_class is not supported; all classes are sampled. "
                                      "Received: "
                                      f"num_class={num_class!r}")
        if not isinstance(shuffle, bool):
            raise TypeError(f"PKSampler: shuffle must be a bool. Received: shuffle={shuffle!r}")
        if not isinstance(class_column, str):
            raise TypeError(f"PKSampler: class_column must be a text. Received: "
                            f"class_column={class_column!r}")
        self.num_val, self.shuffled, self.class_column = num_val, shuffle, class_column
        self._labels: np.ndarray | None = None

    def prepare(self, source: Any) -> None:
        super().prepare(source)
        labels = getattr(source, "_labels", None)
        if labels is None:
            raise RuntimeError(f"PKSampler: {type(source).__name__} does not know the classes of its rows")
        self._labels = np.asarray(labels(self.class_column))

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        assert self._labels is not None
        classes = np.unique(self._labels)
        if self.shuffled:
            classes = rng.permutation(classes)
        picked = [rng.choice(np.flatnonzero(self._labels == label), self.num_val) for label in classes]
        return np.concatenate(picked) if picked else np.arange(0)


class Sampler(BaseSampler):
    """Base of samplers written by the user: yields indices from `__iter__`.

    Example:
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         yield from range(self.dataset_size - 1, -1, -1)
    """

    shuffled = True  # not known: an epoch may differ from the last

    def __init__(self, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.dataset_size = 0

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__}: a sampler must define __iter__ that yields "
                                  "indices")

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        self.dataset_size = length
        return SubsetSampler(iter(self)).choose(length, rng)


class IterSampler(SubsetSampler):
    """Indices of any iterable, read anew in each epoch."""

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__((), num_samples)
        self.sampler = sampler

    def choose(self, length: int, rng: np.random.Generator) -> np.ndarray:
        return SubsetSampler(self.sampler).choose(length, rng)


def sampler_for(source: str, sampler: Any, shuffle: bool | None, num_samples: int | None,
                num_shards: int | None, shard_id: int | None) -> BaseSampler:
    """The sampler that the arguments of a source dataset ask for.

    Raises:
        RuntimeError: arguments that exclude one another, or `num_shards` without `shard_id`.
        TypeError: a sampler that is neither a sampler nor an iterable of indices.
    """
    if sampler is not None:
        for name, value in (("shuffle", shuffle), ("num_shards", num_shards), ("shard_id", shard_id)):
            if value is not None:
                raise RuntimeError(f"{source}: sampler and {name} cannot be specified at the same time. "
                                   f"Received: {name}={value!r}")
        if isinstance(sampler, BaseSampler):
            if num_samples is not None:
                if sampler.num_samples is not None:
                    raise ValueError(f"{source}: num_samples cannot be given together with a sampler that "
                                     f"has its own, {sampler.num_samples}. Received: "
                                     f"num_samples={num_samples}")
                outer = SequentialSampler(num_samples=num_samples)
                outer.add_child(sampler)
                outer.shuffled, outer.sharded = sampler.shuffled, sampler.sharded
                return outer
            return sampler
        if not isinstance(sampler, Iterable):
            raise TypeError(f"{source}: sampler must be a sampler or an iterable of indices. Received: "
                            f"sampler={sampler!r} (of type {type(sampler).__name__})")
        return IterSampler(sampler, num_samples)
    if shuffle is not None and not isinstance(shuffle, bool):
        raise TypeError(f"{source}: shuffle must be a bool. Received: shuffle={shuffle!r} "
                        f"(of type {type(shuffle).__name__})")
    if (num_shards is None) != (shard_id is None):
        given, lacking = ("num_shards", "shard_id") if shard_id is None else ("shard_id", "num_shards")
        raise RuntimeError(f"{source}: {given} is specified and currently requires {lacking} as well")
    shuffle = True if shuffle is None else shuffle
    if num_shards is not None and shard_id is not None:
        return DistributedSampler(num_shards, shard_id, shuffle, num_samples)
    return RandomSampler(num_samples=num_samples) if shuffle else SequentialSampler(num_samples=num_samples)
