"""Image collections in the files in which their makers publish them."""
from __future__ import annotations

import os
import warnings
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
                 sampler: Any, num_shards: int | None, shard_id: int | None,
                 num_parallel_workers: int | None) -> None:
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
        super().__init__(sampler, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)
        if usage is None and self._holds_both():
            warnings.warn(f"{name}: usage is not given, so that the test images in {self.dataset_dir} are "
                          'among the rows. To train, give usage="train"', stacklevel=3)

    def _holds_both(self) -> bool:
        """Whether the folder has training and test images."""
        return False

    def _labels(self, column: str) -> np.ndarray:
        return np.concatenate([labels for _, labels in self.parts])

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
        labelled = self.parts[0][1]
        label = np.empty((len(indices), *labelled.shape[1:]), labelled.dtype)
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
            ``t10k``, themselves or in folders ``train`` and ``test``; each may also be there packed, as
            ``...-ubyte.gz``.
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
        super().__init__(dataset_dir, usage, num_samples, shuffle, sampler, num_shards, shard_id,
                         num_parallel_workers)

    def _load(self) -> list[tuple[np.ndarray, np.ndarray]]:
        stems = {"train": ["train"], "test": ["t10k"], "all": ["t10k", "train"]}[self.usage]
        parts = []
        for stem in stems:
            images = self._find(stem, f"{stem}-images-idx3-ubyte")
            labels = self._find(stem, f"{stem}-labels-idx1-ubyte")
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

    def _find(self, stem: str, name: str) -> str | None:
        folders = (self.dataset_dir, os.path.join(self.dataset_dir, "train" if stem == "train" else "test"))
        paths = (os.path.join(folder, name + ending) for folder in folders for ending in ("", ".gz"))
        return next((path for path in paths if os.path.exists(path)), None)


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST: files, columns and arguments as `MnistDataset`'s; the classes are ten kinds of clothing.

    Example:
        >>> from mycelia.dataset.shipped import fashion_mnist_folder
        >>> FashionMnistDataset(fashion_mnist_folder(), usage="test").get_dataset_size()
        1000
    """


class _Cifar(_LabelledImages):
    """Images in CIFAR's binary files: labels of a byte each, then the planes of red, green and blue."""

    _files: dict[str, list[str]] = {}  # for each usage
    _unpacked = ""  # the folder that the published archive makes
    _label_names: list[str] = []
    _label_limits: list[int] = []

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        if isinstance(dataset_dir, (str, os.PathLike)):
            inner = os.path.join(os.fspath(dataset_dir), self._unpacked)
            dataset_dir = inner if os.path.isdir(inner) else dataset_dir
        super().__init__(dataset_dir, usage, num_samples, shuffle, sampler, num_shards, shard_id,
                         num_parallel_workers)

    def get_col_names(self) -> list[str]:
        return ["image", *self._label_names]

    def _holds_both(self) -> bool:
        return all(os.path.exists(os.path.join(self.dataset_dir, names[0])) for names in self._files.values())

    def _labels(self, column: str) -> np.ndarray:
        return np.concatenate([labels[:, -1] for _, labels in self.parts])

    def _load(self) -> list[tuple[np.ndarray, np.ndarray]]:
        names = self._files["train"] + self._files["test"] if self.usage == "all" else self._files[self.usage]
        parts = [self._read(path) for path in (os.path.join(self.dataset_dir, name) for name in names)
                 if os.path.exists(path)]
        if not parts:
            raise RuntimeError(f"{type(self).__name__}: no file {' or '.join(names)} in {self.dataset_dir} "
                               f"(usage={self.usage!r}). It holds: "
                               f"{', '.join(sorted(os.listdir(self.dataset_dir))[:8]) or 'nothing'}")
        return parts

    def _read(self, path: str) -> tuple[np.ndarray, np.ndarray]:
        kind = type(self).__name__.removesuffix("Dataset").upper().replace("CIFAR", "CIFAR-")
        size, extra = os.path.getsize(path), len(self._label_limits)
        record = extra + 32 * 32 * 3
        if size == 0 or size % record:
            raise ValueError(f"{path} is truncated or no {kind} binary file: its size must be a multiple "
                             f"of {record} bytes ({extra} for labels and 32x32x3 pixels). Received: {size} "
                             f"bytes, "
                             f"which end in image {size // record}")
        records = np.asarray(np.memmap(path, np.uint8, "r")).reshape(-1, record)
        labels = records[:, :extra].astype(np.uint32)
        for i, limit in enumerate(self._label_limits):
            if labels[:, i].max() > limit:
                raise ValueError(f"{path} is no {kind} binary file: labels must be from 0 to {limit}. "
                                 f"Received: "
                                 f"{labels[:, i].max()} in image {int(labels[:, i].argmax())}")
        return records[:, extra:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels

    def _rows(self, indices: np.ndarray) -> Block:
        block = super()._rows(indices)
        labels = block.columns["label"]
        assert isinstance(labels, np.ndarray)
        columns = {name: np.ascontiguousarray(labels[:, i]) for i, name in enumerate(self._label_names)}
        return Block({"image": block.columns["image"], **columns}, block.size)


class Cifar10Dataset(_Cifar):
    """CIFAR-10's images [32, 32, 3] (uint8) and labels (uint32), columns ``image`` and ``label``.

    Args:
        dataset_dir: the folder with ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin`` (the
            binary version), or the one above it.
        usage: ``"train"``, ``"test"``, or ``"all"`` (default, with a warning) for what the folder holds.
        num_samples, shuffle, sampler, num_shards, shard_id: which images in which order; shuffled by default.
        num_parallel_workers, cache: accepted; images are read from mapped memory.

    Raises:
        ValueError: a folder that does not exist, or a file whose size is no multiple of an image's 3,073
            bytes.
        RuntimeError: no such files in the folder.
    """

    _files = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
    _label_names, _label_limits = ["label"], [9]
    _unpacked = "cifar-10-batches-bin"


class Cifar100Dataset(_Cifar):
    """CIFAR-100's images [32, 32, 3] (uint8) and labels (uint32), columns ``image``, ``coarse_label``,
    ``fine_label``.

    Args:
        dataset_dir: the folder with ``train.bin`` and ``test.bin`` (the binary version).
        usage: ``"train"``, ``"test"``, or ``"all"`` (default, with a warning) for what the folder holds.
        num_samples, shuffle, sampler, num_shards, shard_id: which images in which order; shuffled by default.
        num_parallel_workers, cache: accepted; images are read from mapped memory.

    Raises:
        ValueError: a folder that does not exist, or a file whose size is no multiple of an image's 3,074
            bytes.
        RuntimeError: no such files in the folder.
    """

    _files = {"train": ["train.bin"], "test": ["test.bin"]}
    _label_names, _label_limits = ["coarse_label", "fine_label"], [19, 99]
    _classes = 100
    _unpacked = "cifar-100-binary"
