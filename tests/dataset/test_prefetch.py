"""The background thread: order, errors, abandoned iterators, forks."""

from __future__ import annotations

import gc
import os
import threading
import time

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import prefetch
from mycelia.dataset.transforms import Operation, TypeCast


class Failing(Operation):
    def stack(self, x, rng):
        if 5 in x:
            raise ArithmeticError("five")
        return x


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch):
    monkeypatch.setattr(prefetch, "cpus", lambda: 2)


def workers():
    return [thread for thread in threading.enumerate() if thread.name == "mycelia-dataset"]


def none_left():
    deadline = time.monotonic() + 10
    while workers() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not workers()


def numbers(count=20):
    return ds.NumpySlicesDataset(np.arange(count), "x", shuffle=False).map(TypeCast(np.int32))


def test_batches_come_in_order_through_the_thread():
    iterator = numbers().batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True)
    rows = [next(iterator)]
    assert len(workers()) == 1
    rows += list(iterator)
    assert [row[0].tolist() for row in rows] == [[i, i + 1] for i in range(0, 20, 2)]
    assert none_left()


def test_functions_of_the_user_run_in_the_users_thread():
    seen = set()
    data = numbers().map(lambda x: (seen.add(threading.current_thread()), x)[1]).batch(2)
    assert len(list(data)) == 10
    assert seen == {threading.main_thread()}


def test_an_error_comes_where_its_batch_would_and_ends_the_thread():
    iterator = numbers().map(Failing()).batch(2).create_tuple_iterator(output_numpy=True)
    assert [next(iterator)[0].tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(
        RuntimeError, match=r"map: Failing failed on row 5, column 'x': int32\[\]: ArithmeticError: five"
    ):
        next(iterator)
    assert none_left()


def test_abandoned_iterators_end_their_threads():
    iterators = [numbers(10000).batch(2).create_tuple_iterator() for _ in range(3)]
    for iterator in iterators:
        next(iterator)
    assert len(workers()) == 3
    iterators[0].stop()
    del iterator, iterators
    gc.collect()
    assert none_left()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_the_child_is_told_and_may_start_anew():
    iterator = numbers().batch(2).create_tuple_iterator(output_numpy=True)
    next(iterator)
    child = os.fork()
    if not child:
        code = 1
        try:
            next(iterator)
        except RuntimeError as error:
            fresh = list(numbers().batch(2).create_tuple_iterator(num_epochs=1, output_numpy=True))
            code = 0 if "over a fork" in str(error) and len(fresh) == 10 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(iterator)) == 9, "the parent is undisturbed"
