"""Data pipelines (`mindspore.dataset`)."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.dataset import config, samplers, text, transforms, vision
from mycelia.dataset.bucketing import BucketBatchByLengthDataset
from mycelia.dataset.dataset import Dataset
from mycelia.dataset.image_folder import ImageFolderDataset
from mycelia.dataset.image_sources import (
    Cifar10Dataset,
    Cifar100Dataset,
    FashionMnistDataset,
    MnistDataset,
)
from mycelia.dataset.iterators import DictIterator, TupleIterator
from mycelia.dataset.mindrecords import MindDataset
from mycelia.dataset.nodes import (
    BatchDataset,
    BatchInfo,
    ConcatDataset,
    FilterDataset,
    FlatMapDataset,
    MapDataset,
    ProjectDataset,
    RenameDataset,
    RepeatDataset,
    ShardDataset,
    ShuffleDataset,
    SkipDataset,
    TakeDataset,
    ZipDataset,
)
from mycelia.dataset.row_files import CSVDataset, Shuffle, TextFileDataset
from mycelia.dataset.samplers import (
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from mycelia.dataset.schema import Schema
from mycelia.dataset.sources import GeneratorDataset, MappableDataset, NumpySlicesDataset, PaddedDataset
from mycelia.dataset.synchronisation import SyncWaitDataset
from mycelia.dataset.tfrecord import TFRecordDataset


def zip(datasets: Sequence[Dataset]) -> ZipDataset:  # noqa: A001  MindSpore's name
    """Datasets side by side: rows of the columns of all; ends with the shortest.

    Raises:
        TypeError: not a tuple or list of datasets.
        ValueError: two datasets with a column of the same name.
    """
    if not isinstance(datasets, (tuple, list)) or not datasets:
        raise TypeError(f"zip: datasets must be a tuple of datasets. Received: {type(datasets).__name__}")
    return ZipDataset(datasets)


__all__ = [
    "BatchDataset",
    "BucketBatchByLengthDataset",
    "SyncWaitDataset",
    "BatchInfo",
    "CSVDataset",
    "Cifar100Dataset",
    "ImageFolderDataset",
    "IterSampler",
    "MindDataset",
    "PKSampler",
    "PaddedDataset",
    "Schema",
    "Shuffle",
    "TFRecordDataset",
    "TextFileDataset",
    "Cifar10Dataset",
    "ConcatDataset",
    "Dataset",
    "DictIterator",
    "DistributedSampler",
    "FashionMnistDataset",
    "FilterDataset",
    "FlatMapDataset",
    "GeneratorDataset",
    "MapDataset",
    "MappableDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "ProjectDataset",
    "RandomSampler",
    "RenameDataset",
    "RepeatDataset",
    "Sampler",
    "SequentialSampler",
    "ShardDataset",
    "ShuffleDataset",
    "SkipDataset",
    "SubsetRandomSampler",
    "SubsetSampler",
    "TakeDataset",
    "TupleIterator",
    "WeightedRandomSampler",
    "ZipDataset",
    "config",
    "samplers",
    "text",
    "transforms",
    "vision",
    "zip",
]
