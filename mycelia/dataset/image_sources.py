"""Image collections in the files in which their makers publish them."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from mycelia.dataset.block import Block
from mycelia.dataset.idx import read_idx
from mycelia.dataset.sources import MappableDataset

_USAGES = ("train", "test", "all")


class _LabelledImages(MappableDataset):
    """Images [H, W, C] of uint8 and their labels, in parts that were stored one after another."""

    _classes = 10

    def __init__(self, dataset_dir: str, usage: str | None, num_samples: int | None, shuffle: bool | None,
                 sampler: Any, num_shards: int | None, shard_id: int | None) -> None:
        name = type(self).__name__
        if not isinstance(dataset_dir, (str, os.PathLike)):
            raise TypeError(f"{name}: dataset_dir must be a path. Received: dataset_dir={dataset_dir!r} "
                            f"(of type {type(dataset_dir).__name__})")
        self.dataset_dir = os.fspath(dataset_dir)
        if not os.path.isdir(self.dataset_dir):
            raise ValueError(f"{name}: the folder {self.dataset_dir} does not exist or is not a directory")
        if usage is not None and usage not in _USAGES:
            raise ValueError(f"{name}: usage must be one of {', '.join(_USAGES)}. Received: usage={usage!r}")
        self.usage = usage or "all"
        self._parts: list[tuple[np.ndarray, np.ndarray]] | None = None
        super().__init__(sampler, shuffle, num_samples, num_shards, shard_id)

    def _load(self) -> list[tuple[np.ndarray, np.ndarray]]:
        raise NotImplementedError

    @property
    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Images and labels of each file, read at first use."""
        if self._parts is None:
            self._parts = self._load()
        return self._parts

    def get_col_names(self) -> list[str]:
        return ["image", "label"]

    def num_classes(self) -> int:
        return self._classes

    def _length(self) -> int:
        return sum(len(labels) for _, labels in self.parts)

    def _rows(self, indices: np.ndarray) -> Block:
        if len(self.parts) == 1:
            images, labels = self.parts[0]
            return Block({"image": images[indices], "label": labels[indices]}, len(indices))
        first = self.parts[0][0]
        image = np.empty_like(first, shape=(len(indices), *first.shape[1:]))  # in the same memory order
        label = np.empty(len(indices), self.parts[0][1].dtype)
        start = 0
        for images, labels in self.parts:
            here = np.flatnonzero((indices >= start) & (indices < start + len(labels)))
            image[here], label[here] = images[indices[here] - start], labels[indices[here] - start]
            start += len(labels)
        return Block({"image": image, "label": label}, len(indices))


class MnistDataset(_LabelledImages):
    """MNIST's images [28, 28, 1] (uint8) and labels (uint32), columns ``image`` and ``label``.

    Args:
        dataset_dir: the folder with ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and the same for
            ``t10k``; each may also be there packed, as ``...-ubyte.gz``.
        usage: ``"train"``, ``"test"``, or ``"all"`` (default) for what the folder holds.
        num_samples, shuffle, sampler, num_shards, shard_id: which images in which order; shuffled by default.
        num_parallel_workers, cache: accepted; images are read from mapped memory.

    Raises:
        ValueError: a folder that does not exist, or a file that is not what its name says or is truncated.
        RuntimeError: no such files in the folder.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, num_samples, shuffle, sampler, num_shards, shard_id)

    def _load(self) -> list[tuple[np.ndarray, np.ndarray]]:
        stems = {"train": ["train"], "test": ["t10k"], "all": ["t10k", "train"]}[self.usage]
        parts = []
        for stem in stems:
            images, labels = self._find(f"{stem}-images-idx3-ubyte"), self._find(f"{stem}-labels-idx1-ubyte")
            if images is None and labels is None:
                continue
            if images is None or labels is None:
                raise RuntimeError(f"{type(self).__name__}: {self.dataset_dir} holds {images or labels} but "
                                   f"not the {'labels' if images else 'images'} that go with it")
            pixels, classes = read_idx(images, 3), read_idx(labels, 1)
            if len(pixels) != len(classes):
                raise ValueError(f"{type(self).__name__}: images and labels must be as many. Received: "
                                 f"{len(pixels)} images in {images} and {len(classes)} labels in {labels}")
            parts.append((pixels[..., np.newaxis], classes.astype(np.uint32)))
        if not parts:
            raise RuntimeError(f"{type(self).__name__}: no file "
                               f"{' or '.join(f'{s}-images-idx3-ubyte' for s in stems)} in "
                               f"{self.dataset_dir} (usage={self.usage!r}). It holds: "
                               f"{', '.join(sorted(os.listdir(self.dataset_dir))[:8]) or 'nothing'}")
        return parts

    def _find(self, name: str) -> str | None:
        paths = (os.path.join(self.dataset_dir, name + ending) for ending in ("", ".gz"))
        return next((path for path in paths if os.path.exists(path)), None)


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST: files, columns and arguments as `MnistDataset`'s; the classes are ten kinds of clothing.

    Example:
        >>> from mycelia.dataset.shipped import fashion_mnist_folder
        >>> FashionMnistDataset(fashion_mnist_folder(), usage="test").get_dataset_size()
        1000
    """


class Cifar10Dataset(_LabelledImages):
    """CIFAR-10's images [32, 32, 3] (uint8) and labels (uint32), columns ``image`` and ``label``.

    Args:
        dataset_dir: the folder with ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin`` (the
            binary version).
        usage: ``"train"``, ``"test"``, or ``"all"`` (default) for what the folder holds.
        num_samples, shuffle, sampler, num_shards, shard_id: which images in which order; shuffled by default.
        num_parallel_workers, cache: accepted; images are read from mapped memory.

    Raises:
        ValueError: a folder that does not exist, or a file whose size is no multiple of an image's 3,073
            bytes.
        RuntimeError: no such files in the folder.
    """

    _record = 1 + 32 * 32 * 3  # a label, then the planes of red, green and blue

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, num_samples, shuffle, sampler, num_shards, shard_id)

    def _load(self) -> list[tuple[np.ndarray, np.ndarray]]:
        train = [f"data_batch_{i}.bin" for i in range(1, 6)]
        names = {"train": train, "test": ["test_batch.bin"], "all": [*train, "test_batch.bin"]}[self.usage]
        parts = [self._read(path) for path in (os.path.join(self.dataset_dir, name) for name in names)
                 if os.path.exists(path)]
        if not parts:
            raise RuntimeError(f"Cifar10Dataset: no file {' or '.join(names)} in {self.dataset_dir} "
                               f"(usage={self.usage!r}). It holds: "
                               f"{', '.join(sorted(os.listdir(self.dataset_dir))[:8]) or 'nothing'}")
        return parts

    def _read(self, path: str) -> tuple[np.ndarray, np.ndarray]:
        size = os.path.getsize(path)
        if size == 0 or size % self._record:
            raise ValueError(f"{path} is truncated or no CIFAR-10 binary file: its size must be a multiple "
                             f"of {self._record} bytes (a label and 32x32x3 pixels), 30730000 for the "
                             f"published files. Received: {size} bytes")
        records = np.asarray(np.memmap(path, np.uint8, "r")).reshape(-1, self._record)
        labels = records[:, 0].astype(np.uint32)
        if labels.max() > 9:
            raise ValueError(f"{path} is no CIFAR-10 binary file: labels must be from 0 to 9. Received: "
                             f"{labels.max()} in image {int(labels.argmax())}")
        return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels
