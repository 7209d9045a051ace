"""ImageFolderDataset: image files in one folder for each class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Block, column_of
from mycelia.dataset.sources import MappableDataset


class ImageFolderDataset(MappableDataset):
    """Image files in one folder for each class: columns ``image`` (the file's bytes, or pixels) and
    ``label`` (int32).

    Args:
        dataset_dir: the folder with the classes' folders.
        extensions: endings of file names that are read, such as ``[".jpg"]``; default: every file.
        class_indexing: the label of each folder's name; folders without one are left out. Default: the
            folders
            in sorted order, from 0.
        decode: whether images come decoded, as [H, W, 3] of uint8 (needs Pillow), or as the bytes of the
            file.
        num_samples, shuffle, sampler, num_shards, shard_id: which images in which order; shuffled by default.
        decrypt: a function from path and file bytes to an image's bytes is not supported.
        num_parallel_workers, cache: accepted.

    Raises:
        ValueError: a folder that does not exist.
        RuntimeError: no images, a class of `class_indexing` without a folder, or a file that is no image.

    Example:
        >>> data = ImageFolderDataset("pictures", decode=True)
        >>> data.get_class_indexing()
        {'cat': 0, 'dog': 1}
    """

    def __init__(
        self,
        dataset_dir: str,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        extensions: Sequence[str] | None = None,
        class_indexing: dict[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
        decrypt: Any = None,
    ) -> None:
        super().__init__(sampler, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)
        if not isinstance(dataset_dir, (str, os.PathLike)):
            raise TypeError(
                "ImageFolderDataset: dataset_dir must be a path. Received: "
                f"dataset_dir={dataset_dir!r} (of type {type(dataset_dir).__name__})"
            )
        self.dataset_dir = os.fspath(dataset_dir)
        if not os.path.isdir(self.dataset_dir):
            raise ValueError(
                f"ImageFolderDataset: the folder {self.dataset_dir} does not exist or is not a directory"
            )
        if decrypt is not None:
            raise ValueError("ImageFolderDataset: decrypt is not supported; decrypt in map, before Decode")
        if not isinstance(decode, bool):
            raise TypeError(f"ImageFolderDataset: decode must be a bool. Received: decode={decode!r}")
        if extensions is not None and (
            isinstance(extensions, str) or not all(isinstance(ending, str) for ending in extensions)
        ):
            raise TypeError(
                "ImageFolderDataset: extensions must be a list of endings. Received: "
                f"extensions={extensions!r}"
            )
        if class_indexing is not None and (
            not isinstance(class_indexing, dict)
            or not all(isinstance(name, str) and type(label) is int for name, label in class_indexing.items())
        ):
            raise TypeError(
                "ImageFolderDataset: class_indexing must be a dict from folder to integer. "
                "Received: "
                f"class_indexing={class_indexing!r:.80}"
            )
        self.decode, self.extensions = decode, None if extensions is None else tuple(extensions)
        self.class_indexing = class_indexing
        self._files: tuple[list[str], np.ndarray] | None = None

    def _found(self) -> tuple[list[str], np.ndarray]:
        """Paths and labels of all images, in order."""
        if self._files is None:
            paths, labels = [], []
            for name in self.get_class_indexing():
                folder = os.path.join(self.dataset_dir, name)
                if not os.path.isdir(folder):
                    raise RuntimeError(
                        f"ImageFolderDataset: class_indexing names {name!r}, but there is no folder {folder}"
                    )
            for name, label in sorted(self.get_class_indexing().items()):
                folder = os.path.join(self.dataset_dir, name)
                for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                    if entry.is_file() and (self.extensions is None or entry.name.endswith(self.extensions)):
                        paths.append(entry.path)
                        labels.append(label)
            if not paths:
                endings = "" if self.extensions is None else f" that end in {' or '.join(self.extensions)}"
                raise RuntimeError(
                    f"ImageFolderDataset: no files{endings} in the folders of "
                    f"{self.dataset_dir}: "
                    f"{', '.join(self.get_class_indexing()) or 'there are none'}"
                )
            self._files = paths, np.array(labels, np.int32)
        return self._files

    def get_class_indexing(self) -> dict[str, int]:
        """The label of each class' folder."""
        if self.class_indexing is None:
            with os.scandir(self.dataset_dir) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir())
            self.class_indexing = {name: i for i, name in enumerate(names)}
        return self.class_indexing

    def get_col_names(self) -> list[str]:
        return ["image", "label"]

    def num_classes(self) -> int:
        return len(self.get_class_indexing())

    def _length(self) -> int:
        return len(self._found()[0])

    def _labels(self, column: str) -> np.ndarray:
        return self._found()[1]

    def _rows(self, indices: np.ndarray) -> Block:
        paths, labels = self._found()
        images = [self._image(paths[i]) for i in indices.tolist()]
        return Block({"image": column_of(images), "label": labels[indices]}, len(indices))

    def _image(self, path: str) -> np.ndarray:
        try:
            with open(path, "rb") as file:
                data = np.frombuffer(file.read(), np.uint8)
        except OSError as error:
            raise RuntimeError(f"ImageFolderDataset: cannot read {path}: {error}") from error
        if not self.decode:
            return data
        from mycelia.dataset.vision.files import decoded

        try:
            return decoded(data, "ImageFolderDataset")
        except ValueError as error:
            raise RuntimeError(f"{error} (file {path})") from error
