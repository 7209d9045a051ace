"""The operations of a pipeline: which rows come out, in which order, and what their errors say."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia.dataset import transforms, vision


def numbers(count=6, name="x", **settings):
    return ds.NumpySlicesDataset(np.arange(count), name, **{"shuffle": False} | settings)


def values(data, column=0):
    return [row[column].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def stable_name(value):
    """A test's name that is the same in every process."""
    return re.sub(r"<function .*? at 0x\w+>|<.*? object at 0x\w+>", type(value).__name__, repr(value))


# -- rows --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "build, wanted",
    [
        (lambda d: d, [0, 1, 2, 3, 4, 5]),
        (lambda d: d.batch(4), [[0, 1, 2, 3], [4, 5]]),
        (lambda d: d.batch(4, drop_remainder=True), [[0, 1, 2, 3]]),
        (lambda d: d.batch(10, drop_remainder=True), []),
        (lambda d: d.batch(2).batch(2), [[[0, 1], [2, 3]], [[4, 5]]]),
        (lambda d: d.batch(lambda info: info.get_batch_num() + 1), [[0], [1, 2], [3, 4, 5]]),
        (lambda d: d.repeat(2), [0, 1, 2, 3, 4, 5] * 2),
        (lambda d: d.repeat(2).batch(4), [[0, 1, 2, 3], [4, 5, 0, 1], [2, 3, 4, 5]]),
        (lambda d: d.batch(4).repeat(2), [[0, 1, 2, 3], [4, 5]] * 2),
        (lambda d: d.take(2), [0, 1]),
        (lambda d: d.take(-1), [0, 1, 2, 3, 4, 5]),
        (lambda d: d.take(99), [0, 1, 2, 3, 4, 5]),
        (lambda d: d.skip(2), [2, 3, 4, 5]),
        (lambda d: d.skip(6), []),
        (lambda d: d.skip(1).take(2).repeat(2), [1, 2, 1, 2]),
        (lambda d: d.filter(lambda x: x % 2 == 0), [0, 2, 4]),
        (lambda d: d.filter(lambda x: x > 9), []),
        (lambda d: d.filter(lambda x: x > 2).batch(2), [[3, 4], [5]]),
        (lambda d: d + numbers(2), [0, 1, 2, 3, 4, 5, 0, 1]),
        (lambda d: d.concat([numbers(1), numbers(2)]), [0, 1, 2, 3, 4, 5, 0, 0, 1]),
        (lambda d: d.map(lambda x: x * 2), [0, 2, 4, 6, 8, 10]),
        (
            lambda d: d.map([lambda x: x * 2, transforms.TypeCast(np.float32), lambda x: x + 0.5]),
            [0.5, 2.5, 4.5, 6.5, 8.5, 10.5],
        ),
        (lambda d: d.shard(2, 1), [1, 3, 5]),
        (lambda d: d.batch(2).shard(3, 2), [[4, 5]]),
        (lambda d: d.shard(4, 0), [0]),
        (
            lambda d: d.flat_map(lambda x: numbers(int(x)) if x else numbers(1)),
            [0, 0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4],
        ),
        (lambda d: d.apply(lambda inner: inner.take(1)), [0]),
        (lambda d: d.zip(numbers(4, "y")), [0, 1, 2, 3]),
    ],
    ids=stable_name,
)
def test_rows_and_their_number(build, wanted):
    data = build(numbers())
    assert values(data) == wanted
    assert values(data) == wanted, "a second epoch"
    assert data.get_dataset_size() == len(data) == len(wanted)


def test_an_endless_repetition_has_the_size_of_one():
    assert values(numbers(3).repeat().take(5)) == [0, 1, 2, 0, 1]
    assert numbers(3).repeat().get_dataset_size() == 3


def test_columns():
    data = ds.NumpySlicesDataset({"a": [1, 2], "b": [3, 4], "c": [5, 6]}, shuffle=False)
    assert data.project(["c", "a"]).get_col_names() == ["c", "a"]
    assert values(data.project("c")) == [5, 6]
    renamed = data.rename(["a", "b"], ["b", "a"])
    assert renamed.get_col_names() == ["b", "a", "c"] and values(renamed, 1) == [3, 4]
    assert data.map(lambda a: a, "a", "z").get_col_names() == ["z", "b", "c"]
    two = data.map(lambda b: (b, b + 1), "b", ["p", "q"])
    assert two.get_col_names() == ["p", "q", "a", "c"] and values(two, 1) == [4, 5]
    one = data.map(lambda a, b: a + b, ["a", "b"], "sum")
    assert one.get_col_names() == ["sum", "c"] and values(one) == [4, 6]
    assert ds.zip((numbers(2, "x"), data)).get_col_names() == ["x", "a", "b", "c"]
    assert values(data.map(transforms.Duplicate(), "a", ["a", "d"]), 1) == [1, 2]
    assert [set(row) for row in data.create_dict_iterator(num_epochs=1)] == [{"a", "b", "c"}] * 2
    assert [[int(x) for x in row] for row in data.create_tuple_iterator(["b", "a"], output_numpy=True)] == [
        [3, 1],
        [4, 2],
    ]


def test_description():
    data = ds.NumpySlicesDataset((np.zeros((5, 3), np.float32), [1, 2, 3, 4, 5])).batch(2).repeat(3)
    assert data.output_shapes() == [[2, 3], [2]]
    assert data.output_types() == [np.float32, np.int64]
    assert (data.get_batch_size(), data.get_repeat_count(), data.get_dataset_size()) == (2, 3, 9)
    assert data.get_col_names() == ["column_0", "column_1"]


def test_per_batch_map_and_padding():
    data = numbers().batch(3, per_batch_map=lambda x, info: ([row + 10 * info.get_batch_num() for row in x],))
    assert values(data) == [[0, 1, 2], [13, 14, 15]]
    data = numbers().batch(
        3, per_batch_map=lambda x, info: (x, [row * 2 for row in x]), output_columns=["x", "y"]
    )
    assert values(data, 1) == [[0, 2, 4], [6, 8, 10]]
    ragged = ds.GeneratorDataset(lambda: ((np.arange(i + 1),) for i in range(3)), ["x"])
    assert values(ragged.padded_batch(2)) == [[[0, 0], [0, 1]], [[0, 1, 2]]]
    assert values(ragged.padded_batch(3, pad_info={"x": ([4], -1)})) == [
        [[0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 2, -1]]
    ]


def test_padded_batch_cuts_longer_rows_and_says_so(monkeypatch):
    from mycelia.dataset import workers

    monkeypatch.setattr(workers, "_noted", set())
    ragged = ds.GeneratorDataset(lambda: ((np.arange(i + 1),) for i in range(3)), ["x"])
    with pytest.warns(UserWarning, match=r"column 'x' has a row longer than pad_info's shape \[2\]"):
        got = values(ragged.padded_batch(3, pad_info={"x": ([2], -1)}))
    assert got == [[[0, -1], [0, 1], [0, 1]]]


def test_splitting():
    parts = numbers(10).split([7, 3], randomize=False)
    assert [values(part) for part in parts] == [[0, 1, 2, 3, 4, 5, 6], [7, 8, 9]]
    parts = numbers(10).split([0.8, 0.2])
    first = [values(part) for part in parts]
    assert sorted(first[0] + first[1]) == list(range(10)) and len(first[0]) == 8
    assert [values(part) for part in parts] == first, "the parts stay the same in each epoch"
    train, test = ds.NumpySlicesDataset(np.arange(10), "x").split([7, 3])  # of a source that shuffles
    assert {*values(train), *values(train)}.isdisjoint({*values(test), *values(test), *values(test)})
    with pytest.raises(ValueError, match="add up to the dataset's 10 rows"):
        numbers(10).split([7, 4])


def test_batches_are_tensors_and_keep_their_values():
    batches = list(numbers(6).batch(2).create_tuple_iterator(num_epochs=1))
    assert all(isinstance(x, ms.Tensor) and x.dtype is ms.int64 for (x,) in batches)
    assert [x.asnumpy().tolist() for (x,) in batches] == [[0, 1], [2, 3], [4, 5]]
    rows = list(numbers(3).create_dict_iterator(num_epochs=1))
    assert [row["x"].shape for row in rows] == [(), (), ()]
    assert [int(row["x"].asnumpy()) for row in rows] == [0, 1, 2]
    (text,) = next(iter(ds.NumpySlicesDataset(["a", "bcd"], shuffle=False).batch(2)))
    assert text.tolist() == ["a", "bcd"]


def test_writing_into_a_batch_changes_neither_source_nor_next_epoch():
    source = np.zeros((4, 2), np.float32)
    for data in (ds.NumpySlicesDataset(source, "x").batch(4), ds.NumpySlicesDataset(source, "x")):
        for _ in range(2):
            for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
                assert x.max() == 0
                x += 1
    assert source.max() == 0
    for (x,) in ds.GeneratorDataset(lambda: ((source[i],) for i in range(4)), "x").batch(1):
        x.asnumpy()[...] = 1
    assert source.max() == 0


def test_epochs_of_one_iterator():
    iterator = numbers(3).create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [len(list(iterator)) for _ in range(3)] == [3, 3, 0]
    iterator = numbers(3).create_tuple_iterator(output_numpy=True)
    assert [len(list(iterator)) for _ in range(3)] == [3, 3, 3]
    iterator.stop()
    assert list(iterator) == []


def test_a_buffer_moves_rows_forward_by_its_size_at_most():
    data = numbers(1000).shuffle(50)
    for _ in range(2):
        order = values(data)
        assert sorted(order) == list(range(1000)) and order != sorted(order)
        assert all(row <= place + 50 for place, row in enumerate(order))
    assert sorted(values(numbers(1000).shuffle())) == list(range(1000))
    assert sorted(values(numbers(10).shuffle(99))) == list(range(10))
    ragged = ds.GeneratorDataset(lambda: ((np.arange(i % 3 + 1) + i,) for i in range(30)), ["x"]).shuffle(4)
    assert sorted(row[0] for row in values(ragged)) == list(range(30))


def stacked(rows, size, drop):
    batches = [rows[i : i + size] for i in range(0, len(rows), size)]
    return batches[:-1] if drop and batches and len(batches[-1]) < size else batches


@pytest.mark.parametrize("seed", range(60))
def test_random_chains_do_what_the_same_chain_does_to_a_list(seed):
    rng = np.random.default_rng(seed)
    rows = list(range(int(rng.integers(1, 200))))
    data = numbers(len(rows))
    history, batched = [f"{len(rows)} rows"], False
    for _ in range(rng.integers(1, 7)):
        n = int(rng.integers(1, 40))
        step = rng.choice(["take", "skip", "repeat", "map", "filter", "concat", "shard", "batch"])
        if step == "take":
            data, rows = data.take(n), rows[:n]
        elif step == "skip":
            data, rows = data.skip(n), rows[n:]
        elif step == "repeat":
            n = n % 3 + 1
            data, rows = data.repeat(n), rows * n
        elif step == "shard":
            n = n % 4 + 1
            data, rows = data.shard(n, n - 1), rows[n - 1 :: n]
        elif step == "concat":
            data, rows = data + data.take(n), rows + rows[:n]
        elif step == "batch" and not batched:
            drop, batched = bool(n % 2), True
            data, rows = data.batch(n, drop), stacked(rows, n, drop)
        elif step == "map" and not batched:
            data, rows = data.map(lambda x, n=n: x + n), [row + n for row in rows]
        elif step == "filter" and not batched:
            data, rows = data.filter(lambda x, n=n: x % (n + 1) > 0), [row for row in rows if row % (n + 1)]
        history.append(f"{step} {n}")
    assert values(data) == rows, history
    assert data.get_dataset_size() == len(rows), history


# -- errors ------------------------------------------------------------------------------------------------
def fails(x):
    raise ZeroDivisionError("no luck")


@pytest.mark.parametrize(
    "build, error, message",
    [
        (
            lambda d: d.map(fails, "x"),
            RuntimeError,
            r"map: function fails failed on row 0, column 'x': int64\[\]: ZeroDivisionError: no luck",
        ),
        (
            lambda d: d.map(vision.HWC2CHW(), "x"),
            RuntimeError,
            r"map: HWC2CHW failed on row 0, column 'x': int64\[\]: ValueError: "
            r"HWC2CHW: must have an image \[H, W, C\] or \[H, W\]. Received: int64\[\]",
        ),
        (lambda d: d.map(lambda x: x, "y"), ValueError, "map: column 'y' does not exist. The columns are: x"),
        (
            lambda d: d.map(lambda x: (x, x), "x"),
            RuntimeError,
            r"returned 2 columns for 1 output_columns \(x\)",
        ),
        (lambda d: d.map(lambda x: object(), "x"), RuntimeError, "object is not an array of numbers or text"),
        (
            lambda d: d.map(3),
            TypeError,
            "operations must be operations of vision or transforms, or functions. Received: 3",
        ),
        (lambda d: d.map([]), ValueError, "operations must not be empty"),
        (lambda d: d.map(lambda x: x, "x", bogus=1), TypeError, "unexpected keyword argument 'bogus'"),
        (lambda d: d.batch(0), ValueError, "batch_size must be at least 1. Received: batch_size=0"),
        (
            lambda d: d.batch(2.0),
            TypeError,
            r"batch_size must be an integer. Received: batch_size=2.0 \(of type float\)",
        ),
        (
            lambda d: d.map(lambda x: np.zeros(int(x))).batch(3),
            RuntimeError,
            r"batch: .* column 'x' differ: float64\[0\] in row 0 and float64\[1\] in row 1. .* padded_batch",
        ),
        (
            lambda d: d.filter(fails),
            RuntimeError,
            r"filter: the predicate failed on row 0, column 'x': int64\[\]: Zero",
        ),
        (lambda d: d.filter(lambda x: True, "y"), ValueError, "filter: column 'y' does not exist"),
        (lambda d: d.project("y"), ValueError, "project: column 'y' does not exist"),
        (lambda d: d.project(["x", "x"]), ValueError, "must not name a column twice"),
        (lambda d: d.rename("y", "z"), ValueError, "rename: column 'y' does not exist"),
        (lambda d: d.shuffle(1), ValueError, "buffer_size must be at least 2"),
        (lambda d: d.repeat(0), ValueError, "count must be at least 1, or -1"),
        (lambda d: d.take(0), ValueError, "count must be at least 1, or -1"),
        (lambda d: d.skip(-1), ValueError, "count must be at least 0"),
        (lambda d: d.shard(2, 2), ValueError, "shard_id must be below num_shards=2"),
        (lambda d: d.zip(numbers()), ValueError, "column 'x' is in more than one dataset"),
        (lambda d: d.zip(d.rename("x", "y")), ValueError, "have a part in common"),
        (lambda d: d.zip(3), TypeError, "datasets must be a dataset or a list of them. Received: 3"),
        (lambda d: ds.zip([d, 3]), TypeError, r"datasets must be datasets. Received: 3 \(of type int\)"),
        (
            lambda d: d + numbers(2, "y"),
            ValueError,
            r"must have the same columns. Received: \['x'\] and \['y'\]",
        ),
        (lambda d: d.apply(lambda inner: 3), TypeError, "apply_func must return a dataset. Received: int"),
        (
            lambda d: d.create_tuple_iterator(num_epochs=0),
            ValueError,
            "num_epochs must be a positive integer, or -1",
        ),
        (lambda d: d.create_tuple_iterator("y"), ValueError, "column 'y' does not exist"),
    ],
)
def test_errors_name_operation_column_and_shapes(build, error, message):
    with pytest.raises(error, match=message):
        values(build(numbers()))


def test_the_users_error_is_the_cause():
    with pytest.raises(RuntimeError) as caught:
        values(numbers().map(fails).batch(2))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
