"""Sources: arrays, generators, samplers, and the files of image collections, whole and damaged."""

from __future__ import annotations

import gzip
import re
import struct

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia.dataset.idx import read_idx
from mycelia.dataset.shipped import fashion_mnist_folder


def rows(data, column=0):
    return [row[column].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def stable_name(value):
    """A test's name that is the same in every process."""
    return re.sub(r"<function .*? at 0x\w+>|<.*? object at 0x\w+>", type(value).__name__, repr(value))


# -- arrays ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "data, names, types",
    [
        ([1, 2], ["column_0"], [np.int64]),
        ([[1, 2], [3, 4]], ["column_0"], [np.int64]),
        (([1, 2], [1.5, 2.5]), ["column_0", "column_1"], [np.int64, np.float64]),
        ({"a": np.zeros((2, 3), np.float32), "b": [True, False]}, ["a", "b"], [np.float32, np.bool_]),
        (ms.Tensor(np.zeros((2, 3), np.float16)), ["column_0"], [np.float16]),
    ],
    ids=["list", "nested", "tuple", "dict", "tensor"],
)
def test_columns_of_arrays(data, names, types):
    source = ds.NumpySlicesDataset(data)
    assert (source.get_col_names(), source.output_types()) == (names, types)
    assert source.get_dataset_size() == 2


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((([1, 2], [3]),), "columns must have one length. Received: column_0: 2, column_1: 1"),
        (([1, 2], ["a", "b"]), r"a name for each column. Received: 2 column_names \(a, b\) for 1 columns"),
        (([],), "must not be empty"),
        ((3,), "must not be empty"),
    ],
)
def test_arrays_that_make_no_rows(arguments, message):
    with pytest.raises(ValueError, match=message):
        ds.NumpySlicesDataset(*arguments)


# -- samplers ----------------------------------------------------------------------------------------------
class Backwards(ds.Sampler):
    def __iter__(self):
        yield from range(self.dataset_size - 1, -1, -1)


@pytest.mark.parametrize(
    "settings, wanted",
    [
        ({"shuffle": False, "num_samples": 3}, [0, 1, 2]),
        ({"sampler": ds.SequentialSampler(3, 4)}, [3, 4, 5, 6]),
        ({"sampler": ds.SequentialSampler(9)}, [9, 10]),
        ({"sampler": ds.SubsetSampler([3, 1, 7], 2)}, [3, 1]),
        ({"sampler": [4, 2]}, [4, 2]),
        ({"sampler": [4, 2, 0], "num_samples": 2}, [4, 2]),
        ({"sampler": Backwards(3)}, [10, 9, 8]),
        ({"sampler": Backwards(), "num_samples": 2}, [10, 9]),
        ({"shuffle": False, "num_shards": 3, "shard_id": 0}, [0, 3, 6, 9]),
        ({"shuffle": False, "num_shards": 3, "shard_id": 2}, [2, 5, 8, 0]),
        ({"shuffle": False, "num_shards": 3, "shard_id": 1, "num_samples": 2}, [1, 4]),
        ({"sampler": ds.DistributedSampler(3, 1, shuffle=False, offset=2)}, [2, 5, 8]),
    ],
    ids=stable_name,
)
def test_samplers_choose_rows(settings, wanted):
    data = ds.NumpySlicesDataset(np.arange(11), "x", **settings)
    assert rows(data) == wanted and len(data) == len(wanted)


def test_random_samplers():
    def sampled(sampler, count=50):
        return rows(ds.NumpySlicesDataset(np.arange(count), "x", sampler=sampler))

    assert sorted(sampled(ds.RandomSampler())) == list(range(50)) != sampled(ds.RandomSampler())
    assert len(set(sampled(ds.RandomSampler(num_samples=20)))) == 20
    assert len(set(sampled(ds.RandomSampler(replacement=True)))) < 50
    assert sorted(sampled(ds.SubsetRandomSampler([9, 7, 5]))) == [5, 7, 9]
    weighted = sampled(ds.WeightedRandomSampler([0, 1, 3], 1000), 3)
    assert len(weighted) == 1000 and 0 not in weighted and 200 < weighted.count(1) < 300
    shards = [sampled(ds.DistributedSampler(5, i, num_samples=4)) for i in range(5)]
    assert all(len(shard) == 4 for shard in shards)
    outer = ds.SequentialSampler(num_samples=3)
    outer.add_child(ds.SubsetSampler([8, 6, 4, 2]))
    assert sampled(outer) == [8, 6, 4]


@pytest.mark.parametrize(
    "settings, error, message",
    [
        (
            {"sampler": ds.SequentialSampler(), "shuffle": True},
            RuntimeError,
            "sampler and shuffle cannot be specified at the same",
        ),
        ({"num_shards": 2}, RuntimeError, "num_shards is specified and currently requires shard_id as well"),
        ({"shard_id": 0}, RuntimeError, "shard_id is specified and currently requires num_shards"),
        (
            {"num_shards": 2, "shard_id": 2},
            ValueError,
            "shard_id must be from 0 to num_shards - 1 = 1. Received: shard_id=2",
        ),
        ({"shuffle": 1}, TypeError, "shuffle must be a bool. Received: shuffle=1"),
        (
            {"sampler": 3},
            TypeError,
            "sampler must be a sampler or an iterable of indices. Received: sampler=3",
        ),
        ({"sampler": [0, 4]}, ValueError, "indices must be from 0 to 3, the rows of the source. Received: 4"),
        ({"sampler": ds.SequentialSampler(4)}, ValueError, "start_index must be below the number of rows, 4"),
        ({"num_samples": -1}, ValueError, "num_samples must not be negative"),
    ],
)
def test_samplers_that_cannot_be(settings, error, message):
    with pytest.raises(error, match=message):
        len(ds.NumpySlicesDataset(np.arange(4), "x", **settings))


# -- generators --------------------------------------------------------------------------------------------
class Squares:
    def __getitem__(self, index):
        return index, index * index

    def __len__(self):
        return 5


def test_generators():
    def generate():
        for i in range(5):
            yield i, float(i), np.ones(i + 1, np.int32)

    data = ds.GeneratorDataset(generate, ["i", "f", "v"])
    assert data.output_types() == [np.int64, np.float64, np.int32] and len(data) == 5
    assert rows(data) == rows(data) == [0, 1, 2, 3, 4]
    assert rows(ds.GeneratorDataset(generate, ["i", "f", "v"], num_samples=2)) == [0, 1]
    assert rows(ds.GeneratorDataset([np.zeros(2), np.ones(2)], "x", shuffle=False)) == [[0, 0], [1, 1]]
    assert rows(ds.GeneratorDataset(lambda: iter([([1, 2],), ([3, 4],)]), "x")) == [[1, 2], [3, 4]]
    assert rows(ds.GeneratorDataset(Squares(), ["i", "s"], shuffle=False), 1) == [0, 1, 4, 9, 16]
    assert sorted(rows(ds.GeneratorDataset(Squares(), ["i", "s"]))) == [0, 1, 2, 3, 4]
    assert rows(ds.GeneratorDataset(Squares(), ["i", "s"], sampler=[3, 1])) == [3, 1]
    shard = ds.GeneratorDataset(Squares(), ["i", "s"], shuffle=False, num_shards=2, shard_id=1)
    assert rows(shard) == [1, 3, 0]
    batched = ds.GeneratorDataset(Squares(), ["i", "s"], batch_sampler=[[0, 1], [4, 2, 3]])
    assert rows(batched, 1) == [[0, 1], [16, 4, 9]] and len(batched) == 2
    collated = ds.GeneratorDataset(
        Squares(), ["n"], batch_sampler=[[0, 1], [4]], collate_fn=lambda items: (len(items),)
    )
    assert rows(collated) == [2, 1]


def test_an_unbatched_generator_is_not_read_ahead():
    made = []

    def generate():
        for i in range(10):
            made.append(i)
            yield (i,)

    iterator = ds.GeneratorDataset(generate, "x").map(lambda x: x).create_tuple_iterator(output_numpy=True)
    next(iterator), next(iterator)
    assert made == [0, 1]


def explode():
    yield (1,)
    raise KeyError("inside")


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (
            (lambda: iter([(1, 2)]), ["a"]),
            RuntimeError,
            r"as many arrays as there are column_names, 1 \(a\). Received: 2",
        ),
        (
            (lambda: iter([(1,)]), ["a", "b"]),
            RuntimeError,
            r"as there are column_names, 2 \(a, b\). Received: 1",
        ),
        (
            (lambda: iter([(object(),)]), ["a"]),
            TypeError,
            "column 'a': object is not an array of numbers or text",
        ),
        (
            (lambda: iter([([[1], [1, 2]],)]), ["a"]),
            TypeError,
            "column 'a': list is not an array of numbers or text",
        ),
        (
            (lambda: iter([(1,)]), ["a"], [ms.float32]),
            RuntimeError,
            "column 'a' must be of type float32.*Received: int64",
        ),
        ((lambda: 3, ["a"]), TypeError, "source function must return an iterator. Received: 3"),
        ((3, ["a"]), TypeError, "source must be a function that returns an iterator"),
        (
            (explode, ["a"]),
            RuntimeError,
            r"the source failed at row 1: KeyError: 'inside' \(at .*test_sources.py:\d+, in explode\)",
        ),
        ((lambda: iter([]), None), ValueError, "column_names must be given"),
    ],
)
def test_generators_that_fail(arguments, error, message):
    with pytest.raises(error, match=message):
        rows(ds.GeneratorDataset(*arguments))
    with pytest.raises(RuntimeError, match="shuffle needs a source with __getitem__"):
        ds.GeneratorDataset(explode, ["a"], shuffle=True)


# -- files of images ---------------------------------------------------------------------------------------
def write_idx(path, array, pack=False):
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    data = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if pack else data)
    return path


@pytest.fixture
def folder(tmp_path):
    for part, count, ending in (("train", 30, ""), ("t10k", 10, ".gz")):
        images = np.arange(count * 784).reshape(count, 28, 28) % 251 + (part == "t10k")
        write_idx(tmp_path / f"{part}-images-idx3-ubyte{ending}", images, bool(ending))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte{ending}", np.arange(count) % 10, bool(ending))
    return tmp_path


@pytest.mark.parametrize("kind", [ds.MnistDataset, ds.FashionMnistDataset])
def test_mnist_files_packed_or_not(folder, kind):
    train = kind(str(folder), usage="train", shuffle=False)
    assert (train.get_col_names(), train.output_shapes()) == (["image", "label"], [[28, 28, 1], []])
    assert train.output_types() == [np.uint8, np.uint32] and train.num_classes() == 10
    batch = next(train.skip(3).batch(2).create_dict_iterator(output_numpy=True))
    assert batch["label"].tolist() == [3, 4]
    assert np.array_equal(batch["image"][0].ravel(), np.arange(3 * 784, 4 * 784) % 251)
    assert [len(kind(str(folder), usage)) for usage in ("train", "test", "all", None)] == [30, 10, 40, 40]
    both = sorted(rows(kind(str(folder)), 1))
    assert both == sorted([*np.arange(30) % 10, *np.arange(10)])
    assert rows(kind(str(folder), sampler=[0, 10, 39]), 1) == [0, 0, 9]


def test_the_shipped_images():
    for usage, count in (("train", 5500), ("test", 1000)):
        data = ds.FashionMnistDataset(fashion_mnist_folder(), usage, shuffle=False)
        images, labels = next(data.batch(count).create_tuple_iterator(output_numpy=True))
        assert images.shape == (count, 28, 28, 1)
        assert np.bincount(labels, minlength=10).min() > count / 15
        assert 60 < images.mean() < 85


def test_damaged_idx_files(tmp_path):
    array = np.arange(50 * 4, dtype=np.uint8).reshape(50, 2, 2)
    whole = write_idx(tmp_path / "a", array).read_bytes()
    assert np.array_equal(read_idx(str(tmp_path / "a"), 3), array)
    for size in (0, 3, 4, 10, 16, 17, 215):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(
            ValueError, match=f"cut is (truncated|not an IDX file).*Received: .*({size} bytes|{size}|00|$)"
        ):
            read_idx(str(tmp_path / "cut"), 3)
    (tmp_path / "cut").write_bytes(whole[:215])
    with pytest.raises(ValueError, match=r"cut is trunc.*\(50, 2, 2\), .* takes 216 bytes. Received: 215 b"):
        read_idx(str(tmp_path / "cut"))
    (tmp_path / "long").write_bytes(whole + b"x")
    with pytest.raises(ValueError, match="long is damaged: .*216 bytes. Received: 217 bytes"):
        read_idx(str(tmp_path / "long"))
    with pytest.raises(
        ValueError, match="a is not an IDX file of 1 axes: must begin with 00 00 08 01. Received: 00 00 08 03"
    ):
        read_idx(str(tmp_path / "a"), 1)
    packed = gzip.compress(whole)
    for bad in (packed[:-9], packed[:40], packed[:30] + b"\xff" + packed[31:], b"not packed"):
        (tmp_path / "b.gz").write_bytes(bad)
        with pytest.raises(ValueError, match="b.gz is truncated or damaged"):
            read_idx(str(tmp_path / "b.gz"))


def test_mnist_folders_that_do_not_fit(folder, tmp_path):
    with pytest.raises(ValueError, match="the folder .*none does not exist"):
        ds.MnistDataset(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="usage must be one of train, test, all. Received: usage='valid'"):
        ds.MnistDataset(str(folder), "valid")
    with pytest.raises(TypeError, match="dataset_dir must be a path"):
        ds.MnistDataset(3)
    write_idx(folder / "train-labels-idx1-ubyte", np.arange(29))
    with pytest.raises(ValueError, match="must be as many. Received: 30 images in .* and 29 labels"):
        len(ds.MnistDataset(str(folder), "train"))
    (folder / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(RuntimeError, match="holds .*train-images-idx3-ubyte but not the labels"):
        len(ds.MnistDataset(str(folder), "train"))
    (folder / "train-images-idx3-ubyte").unlink()
    with pytest.raises(RuntimeError, match="no file train-images-idx3-ubyte in .* It holds: t10k-images"):
        len(ds.MnistDataset(str(folder), "train"))


def test_cifar10_files(tmp_path):
    records = np.random.default_rng(0).integers(0, 256, (12, 3073), dtype=np.uint8)
    records[:, 0] = np.arange(12) % 10
    for number in (1, 2):
        records[6 * (number - 1) : 6 * number].tofile(tmp_path / f"data_batch_{number}.bin")
    records[:4].tofile(tmp_path / "test_batch.bin")
    train = ds.Cifar10Dataset(str(tmp_path), "train", shuffle=False)
    assert [len(ds.Cifar10Dataset(str(tmp_path), usage)) for usage in ("train", "test", "all")] == [12, 4, 16]
    images, labels = next(train.batch(12).create_tuple_iterator(output_numpy=True))
    assert labels.dtype == np.uint32 and labels.tolist() == [*range(10), 0, 1]
    assert np.array_equal(images, records[:, 1:].reshape(12, 3, 32, 32).transpose(0, 2, 3, 1))
    assert rows(ds.Cifar10Dataset(str(tmp_path), "all", sampler=[11, 12, 5]), 1) == [1, 0, 5]
    (tmp_path / "test_batch.bin").write_bytes(records[:4].tobytes()[:-1])
    with pytest.raises(
        ValueError, match="test_batch.bin is truncated .* multiple of 3073 bytes.*Received: 12291 bytes"
    ):
        len(ds.Cifar10Dataset(str(tmp_path), "test"))
    (tmp_path / "test_batch.bin").write_bytes(bytes([77]) * 3073)
    with pytest.raises(ValueError, match="labels must be from 0 to 9. Received: 77 in image 0"):
        len(ds.Cifar10Dataset(str(tmp_path), "test"))
    (tmp_path / "test_batch.bin").unlink()
    with pytest.raises(RuntimeError, match="no file test_batch.bin"):
        len(ds.Cifar10Dataset(str(tmp_path), "test"))
