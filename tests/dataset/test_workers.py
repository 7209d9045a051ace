"""Workers: threads and processes give the rows that one thread gives; errors and deaths are told."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.common import seed
from mycelia.dataset import vision, workers

WAYS = [(1, False), (2, False), (2, True)]


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch):
    """Two CPUs whatever the machine has, and the settings as they were."""
    monkeypatch.setattr(workers, "cpus", lambda: 2)
    monkeypatch.setattr(workers, "_noted", set())
    before = dict(ds.config._settings)
    yield
    ds.config._settings.update(before)


class Noisy:
    """A source whose rows hold random numbers of every generator."""

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return np.array([index, np.random.randint(1000), random.randrange(1000)])


def noise(x):
    return x + np.random.randint(1000)


def flipped(x):
    return vision.RandomHorizontalFlip(0.5)(x.reshape(1, 3, 1)).reshape(3)


def epochs(source, mapped, function):
    seed.set_seed(5)
    data = ds.GeneratorDataset(
        Noisy(), ["x"], num_parallel_workers=source[0], python_multiprocessing=source[1]
    ).map(function, "x", num_parallel_workers=mapped[0], python_multiprocessing=mapped[1])
    data = data.batch(4)
    rows = [b[0] for _ in range(2) for b in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    return np.concatenate(rows)


@pytest.mark.parametrize("function", [noise, flipped])
def test_any_number_of_workers_gives_the_same_rows(function):
    wanted = epochs(WAYS[0], WAYS[0], function)
    assert (wanted[:20] != wanted[20:]).any(), "a second epoch differs"
    for source, mapped in [(WAYS[1], WAYS[0]), (WAYS[2], WAYS[1]), (WAYS[0], WAYS[2]), (WAYS[1], WAYS[2])]:
        np.testing.assert_array_equal(epochs(source, mapped, function), wanted)


def test_the_programs_own_random_numbers_go_on():
    draws = set()
    for way in WAYS:
        epochs(way, way, noise)
        draws.add((np.random.randint(10**9), random.randrange(10**9)))
    assert len(draws) == 1


def test_processes_are_others_and_threads_are_not():
    data = ds.NumpySlicesDataset(np.arange(8), "x", shuffle=False)
    where = lambda x: np.array([os.getpid(), threading.get_ident() % 10**9])
    for count, processes in WAYS:
        mapped = data.map(where, "x", num_parallel_workers=count, python_multiprocessing=processes).batch(8)
        pids = next(mapped.create_tuple_iterator(output_numpy=True))[0][:, 0]
        assert len(set(pids.tolist())) == (2 if processes else 1)
        assert (os.getpid() in pids.tolist()) != processes


def failing(x):
    if x == 7:
        raise KeyError("seven")
    return x


@pytest.mark.parametrize("count, processes", WAYS)
def test_an_error_names_row_and_line(count, processes):
    data = ds.NumpySlicesDataset(np.arange(20), "x", shuffle=False)
    data = data.map(failing, "x", num_parallel_workers=count, python_multiprocessing=processes).batch(5)
    rows = []
    message = (
        r"map: function failing failed on row 7, column 'x': int64\[\]: KeyError: 'seven' "
        r"\(at .*test_workers.py:\d+, in failing\)"
    )
    with pytest.raises(RuntimeError, match=message) as caught:
        rows += [row for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert isinstance(caught.value.__cause__, KeyError)


class Failing(Noisy):
    def __getitem__(self, index):
        if index == 13:
            raise ValueError("thirteen")
        return (np.array(index),)


@pytest.mark.parametrize("count, processes", WAYS)
def test_an_error_of_a_source_names_index_and_line(count, processes):
    data = ds.GeneratorDataset(
        Failing(), "x", num_parallel_workers=count, python_multiprocessing=processes, shuffle=False
    )
    message = r"failed at index 13: ValueError: thirteen \(at .*test_workers.py:\d+, in __getitem__\)"
    with pytest.raises(RuntimeError, match=message):
        list(data.batch(4).create_tuple_iterator(num_epochs=1, output_numpy=True))


def killed(x):
    if x == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def leaving(x):
    if x == 7:
        os._exit(3)
    return x


@pytest.mark.parametrize("function, how", [(killed, "was killed by SIGKILL"), (leaving, "exit status 3")])
def test_a_dying_worker_is_an_error(function, how):
    data = ds.NumpySlicesDataset(np.arange(20), "x", shuffle=False)
    data = data.map(function, "x", num_parallel_workers=2, python_multiprocessing=True).batch(10)
    start = time.perf_counter()
    with pytest.raises(
        RuntimeError, match=rf"map: worker process \d+ .*{how} while it worked on rows 5 to 9"
    ):
        list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert time.perf_counter() - start < 20


def test_processes_end_with_their_iterator():
    data = ds.NumpySlicesDataset(np.arange(20), "x", shuffle=False)
    data = data.map(lambda x: np.array(os.getpid()), "x", num_parallel_workers=2, python_multiprocessing=True)
    iterator = data.batch(4).create_tuple_iterator(output_numpy=True)
    pids = set(next(iterator)[0].tolist())
    iterator.stop()
    end = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_what_cannot_be_sent_is_an_error():
    data = ds.NumpySlicesDataset(np.arange(4), "x", shuffle=False)
    data = data.map(lambda x: threading.Lock(), "x", num_parallel_workers=2, python_multiprocessing=True)
    with pytest.raises(RuntimeError, match="Lock|lock"):
        list(data.batch(4).create_tuple_iterator(num_epochs=1, output_numpy=True))


SPAWNED = """
import sys
sys.path.insert(0, {root!r})
import numpy as np
import mycelia.dataset as ds
from mycelia.dataset import workers
workers.cpus = lambda: 2

def double(x):
    return x * 2

if __name__ == "__main__":
    ds.config.set_multiprocessing_start_method("spawn")
    data = ds.NumpySlicesDataset(np.arange(6), "x", shuffle=False)
    data = data.map(double, "x", num_parallel_workers=2, python_multiprocessing=True).batch(6)
    print(next(data.create_tuple_iterator(output_numpy=True))[0].tolist())
    try:
        other = ds.NumpySlicesDataset(np.arange(6), "x", shuffle=False)
        other = other.map(lambda x: x, "x", num_parallel_workers=2, python_multiprocessing=True)
        next(other.batch(6).create_tuple_iterator())
    except RuntimeError as error:
        print(error)
"""


def test_spawned_processes(tmp_path):
    import subprocess

    script = tmp_path / "spawned.py"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    script.write_text(SPAWNED.format(root=root))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.stdout.startswith("[0, 2, 4, 6, 8, 10]\n"), done.stderr
    assert "with the start method 'spawn' the functions must be picklable" in done.stdout, done.stderr


# -- the number of workers -----------------------------------------------------------------------------------
def test_more_workers_than_cpus_is_noted_once():
    with pytest.warns(UserWarning, match="num_parallel_workers=64 is more than this process' 2 CPUs"):
        ds.GeneratorDataset(Noisy(), "x", num_parallel_workers=64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = ds.GeneratorDataset(Noisy(), "x", num_parallel_workers=64)
    assert data.workers == 2


@pytest.mark.parametrize(
    "count, error", [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError)]
)
def test_wrong_numbers_of_workers(count, error):
    data = ds.NumpySlicesDataset(np.arange(3), "x")
    for use in (
        lambda: data.map(failing, "x", num_parallel_workers=count),
        lambda: ds.GeneratorDataset(Noisy(), "x", num_parallel_workers=count),
        lambda: ds.NumpySlicesDataset(np.arange(3), "x", num_parallel_workers=count),
    ):
        with pytest.raises(error, match="num_parallel_workers"):
            use()


# -- rows that fail ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "mode, wanted",
    [("SKIP", [0, 1, 2, 3, 4, 5, 6, 8, 9]), ("REPLACE", [0, 1, 2, 3, 4, 5, 6, 6, 8, 9])],
)
def test_rows_that_fail_can_be_left_out(mode, wanted):
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode[mode])
    data = ds.NumpySlicesDataset(np.arange(10), "x", shuffle=False).map(failing, "x")
    assert [int(x[0]) for x in data.create_tuple_iterator(num_epochs=1, output_numpy=True)] == wanted
