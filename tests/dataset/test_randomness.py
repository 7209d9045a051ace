"""Shuffling and augmentation: the same after the same seed, new in each epoch, whatever thread they run
in."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.common import seed
from mycelia.dataset import prefetch, randomness, vision
from mycelia.dataset.transforms import RandomApply, RandomChoice, RandomOrder


def pipeline():
    images = np.arange(40 * 4 * 4, dtype=np.float32).reshape(40, 4, 4, 1)
    data = ds.NumpySlicesDataset((images, np.arange(40)), ["image", "label"]).shuffle(7)
    operations = [
        vision.RandomCrop(3),
        vision.RandomHorizontalFlip(),
        RandomApply([vision.RandomVerticalFlip(1.0)]),
    ]
    return data.map(operations, "image").repeat(2).batch(6)


def epoch(data):
    rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    return [array.tobytes() for row in rows for array in row]


@pytest.fixture(autouse=True)
def no_seed_left():
    before = seed._seed, randomness._seed
    yield
    seed._seed, randomness._seed = before
    randomness._generation += 1


def test_set_seed_makes_epochs_reproducible_and_different():
    seed.set_seed(7)
    data = pipeline()
    first = [epoch(data) for _ in range(3)]
    assert len({tuple(e) for e in first}) == 3
    seed.set_seed(7)
    assert [epoch(data) for _ in range(3)] == first, "the same pipeline after the same seed"
    assert [epoch(data) for _ in range(3)] != first
    seed.set_seed(7)
    assert [epoch(pipeline()), epoch(pipeline())] == [first[0]] * 2, "an equal pipeline"
    seed.set_seed(8)
    assert epoch(data) != first[0]


def test_repetitions_within_an_epoch_differ():
    seed.set_seed(7)
    labels = [
        int(x)
        for (x,) in ds.NumpySlicesDataset(np.arange(20), "x")
        .repeat(2)
        .create_tuple_iterator(num_epochs=1, output_numpy=True)
    ]
    assert sorted(labels[:20]) == sorted(labels[20:]) == list(range(20)) and labels[:20] != labels[20:]


def test_one_iterator_or_several_give_the_same_epochs():
    seed.set_seed(3)
    data = pipeline()
    apart = [epoch(data), epoch(data)]
    seed.set_seed(3)
    iterator = pipeline().create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [[array.tobytes() for row in iterator for array in row] for _ in range(2)] == apart


def test_an_epoch_left_early_does_not_change_the_next():
    seed.set_seed(3)
    data = pipeline()
    whole = [epoch(data), epoch(data)]
    for rows in (1, 5, 9):
        seed.set_seed(3)
        data = pipeline()
        iterator = data.create_tuple_iterator(num_epochs=1)
        for _ in range(rows):
            next(iterator)
        iterator.stop()
        assert epoch(data) == whole[1]


def test_the_background_thread_changes_nothing(monkeypatch):
    results = []
    for cpus in ({0}, {0, 1}):
        monkeypatch.setattr(prefetch, "cpus", lambda cpus=cpus: len(cpus))
        seed.set_seed(11)
        data = pipeline()
        results.append([epoch(data), epoch(data)])
    assert results[0] == results[1]


def test_without_a_seed_runs_differ_but_shards_agree():
    randomness._seed = None
    assert epoch(pipeline()) != epoch(pipeline())
    shards = [ds.NumpySlicesDataset(np.arange(20), "x", num_shards=2, shard_id=i) for i in range(2)]
    rows = [
        [int(x) for (x,) in shard.create_tuple_iterator(num_epochs=1, output_numpy=True)] for shard in shards
    ]
    assert sorted(rows[0] + rows[1]) == list(range(20)) and rows[0] != list(range(0, 20, 2))


def test_looking_at_shapes_and_sizes_draws_nothing():
    seed.set_seed(5)
    data = pipeline()
    first = epoch(data)
    seed.set_seed(5)
    data = pipeline()
    data.output_shapes(), data.get_dataset_size(), data.filter(lambda image, label: True).get_dataset_size()
    assert epoch(data) == first
    data.reset()
    assert epoch(data) == first


def test_set_seed_seeds_numpy_python_and_eager_operations():
    def draw():
        image = np.arange(100).reshape(10, 10, 1)
        return random.random(), np.random.rand(), vision.RandomCrop(2)(image).tobytes()

    seed.set_seed(9)
    assert seed.get_seed() == 9 and ds.config.get_seed() == 9
    first = draw()
    assert draw() != first
    seed.set_seed(9)
    assert draw() == first
    ds.config.set_seed(10)
    assert (seed.get_seed(), ds.config.get_seed()) == (9, 10)


def test_hooks_hear_of_each_seed():
    heard = []
    seed.on_seed(heard.append)
    try:
        seed.set_seed(1)
        seed.set_seed(2)
        assert heard[-2:] == [1, 2]
    finally:
        seed._callbacks.remove(heard.append)


@pytest.mark.parametrize(
    "value, error", [(1.0, TypeError), (True, TypeError), (-1, ValueError), (2**32, ValueError)]
)
def test_what_is_no_seed(value, error):
    with pytest.raises(error, match="seed must be"):
        seed.set_seed(value)


def test_random_composites_draw_from_all_their_parts():
    seed.set_seed(1)
    rows = ds.NumpySlicesDataset(np.zeros(300), "x", shuffle=False)
    choice = rows.map(RandomChoice([lambda x: x + 1, lambda x: x + 2]))
    found = [float(x) for (x,) in choice.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert set(found) == {1, 2} and 100 < found.count(1) < 200
    order = rows.map(RandomOrder([lambda x: x + 1, lambda x: x * 3]))
    assert {float(x) for (x,) in order.create_tuple_iterator(num_epochs=1, output_numpy=True)} == {1, 3}
    apply = rows.map(RandomApply([lambda x: x + 1], prob=0.9))
    found = [float(x) for (x,) in apply.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert 250 < found.count(1) < 295


def test_a_seed_that_was_set_before_the_import():
    code = "import mycelia as ms\nms.set_seed(3)\nimport mycelia.dataset as ds\nprint(ds.config.get_seed())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "3", done.stderr
