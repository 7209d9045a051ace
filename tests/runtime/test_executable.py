"""Launching plans: relocation, statuses, host calls, hooks, timing, re-entrance."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from native_kernels import ADD, FAIL, ROUND, adder, address, pointers, slow

from mycelia.runtime.executable import Executable, Instruction, PlanError

X = np.arange(4096, dtype=np.float32)
Y = np.ones(4096, np.float32)
MANY = 512


@pytest.mark.parametrize("release_gil", [False, True])
@pytest.mark.parametrize("chunks", [1, 2, MANY])
def test_launch_runs_every_chunk(chunks, release_gil, two_threads):
    z = np.zeros(4096, np.float32)
    adder(chunks, release_gil=release_gil).launch(pointers(X, Y, z))
    n = 8 * chunks
    np.testing.assert_array_equal(z[:n], X[:n] + 1)
    assert not z[n:].any()


def test_relocation_adds_the_offset():
    z = np.zeros(16, np.float32)
    executable = Executable(
        [Instruction(address(ADD), 1)], np.array([99, 0, 0, 0]), [(1, 0, 8), (2, 1, 0), (3, 2, 32)], slots=3
    )
    executable.launch(pointers(X, Y, z))
    np.testing.assert_array_equal(z[8:], X[2:10] + 1)


def test_the_arena_is_one_more_slot():
    z = np.zeros(8, np.float32)
    words = np.zeros(6, np.int64)
    executable = Executable(
        [Instruction(address(ADD), 0), Instruction(address(ADD), 3)],
        words,
        [(0, 0, 0), (1, 1, 0), (2, 3, 64), (3, 3, 64), (4, 1, 0), (5, 2, 0)],
        slots=3,
        arena_bytes=128,
    )
    executable.launch(pointers(X, Y, z))
    np.testing.assert_array_equal(z, X[:8] + 2)


@pytest.mark.parametrize("chunks", [1, 64])
def test_a_status_stops_the_plan_and_names_the_node(chunks, two_threads):
    calls = []
    executable = Executable(
        [Instruction(address(FAIL), 0, chunks, node=42), Instruction(lambda: calls.append(1), 0)],
        np.array([chunks - 1, -7]),
        [],
        slots=0,
    )
    for _ in range(3):
        with pytest.raises(PlanError, match="node 42.*status -7") as caught:
            executable.launch([])
        assert (caught.value.status, caught.value.node) == (-7, 42)
    assert not calls


def test_explain_makes_the_error_of_the_user():
    executable = Executable(
        [Instruction(address(FAIL), 0, 1, node=3)],
        np.array([0, 5]),
        [],
        slots=0,
        explain=lambda error, slots: IndexError(f"{error.node} {error.status}"),
    )
    with pytest.raises(IndexError, match="3 5"):
        executable.launch([])


def test_chunks_after_a_failure_are_not_started(two_threads):
    out = np.zeros(1000)
    executable = slow(1000, 20_000)
    failing = Executable(
        [Instruction(address(FAIL), 0, 4, node=1), executable.instructions[0]],
        np.array([0, 9, 0, 20_000]),
        [(2, 0, 0)],
        slots=1,
    )
    with pytest.raises(PlanError):
        failing.launch(pointers(out))
    assert not out.any()


def test_host_calls_see_their_words_and_their_exceptions_arrive():
    seen = []

    def boom() -> None:
        raise KeyError("boom")

    executable = Executable(
        [Instruction(lambda *words: seen.append(words), 0, count=2), Instruction(boom, 0)],
        np.array([0, 12]),
        [(0, 0, 4)],
        slots=1,
    )
    for _ in range(2):
        with pytest.raises(KeyError, match="boom"):
            executable.launch([100])
    assert seen == [(104, 12)] * 2


@pytest.mark.parametrize("release_gil", [False, True])
def test_a_host_call_may_launch_a_plan_that_uses_the_pool(release_gil, two_threads):
    z, w = np.zeros(4096, np.float32), np.zeros(4096, np.float32)
    inner = adder(MANY)
    outer = Executable(
        [Instruction(lambda: inner.launch(pointers(X, Y, z)), 0), Instruction(address(ADD), 0, MANY)],
        np.zeros(3, np.int64),
        [(0, 0, 0), (1, 1, 0), (2, 2, 0)],
        slots=3,
        release_gil=release_gil,
    )
    outer.launch(pointers(z, Y, w))
    np.testing.assert_array_equal(w, X + 2)


def test_no_reference_is_lost_or_leaked():
    executable = Executable([Instruction(lambda a: None, 0, count=1)], np.array([7]), [], slots=0)
    executable.launch([])
    before = sys.getrefcount(None)
    for _ in range(10_000):
        executable.launch([])
    assert abs(sys.getrefcount(None) - before) < 1000
    gone = weakref.ref(executable)
    native = executable.native
    del executable
    gc.collect()
    assert gone() is None
    native()  # what the native function needs, it keeps itself
    with pytest.raises(TypeError):
        native(1)


def test_slots_are_checked():
    executable = adder(1)
    with pytest.raises(TypeError, match="takes 3 slot addresses. Received: 2"):
        executable.launch([1, 2])
    with pytest.raises(TypeError):
        executable.launch(["a", 1, 2])
    with pytest.raises(OverflowError):
        executable.launch([1 << 70, 1, 2])
    with pytest.raises(ValueError, match="relocation lies outside"):
        Executable([], np.zeros(1), [(1, 0, 0)], slots=1)
    with pytest.raises(ValueError, match="relocation lies outside"):
        Executable([], np.zeros(1), [(0, 1, 0)], slots=1)
    with pytest.raises(ValueError, match="has no function"):
        Executable([Instruction(0, 0)], np.zeros(1), [], slots=0)


def test_an_empty_plan_and_instructions_without_chunks_do_nothing():
    Executable([], [], [], slots=0).launch([])
    z = np.zeros(8, np.float32)
    adder(0).launch(pointers(X, Y, z))
    assert not z.any()


def test_threads_may_launch_one_executable(two_threads):
    executable = adder(MANY)
    failures = []

    def work(shift: int) -> None:
        x, z = X + shift, np.zeros(4096, np.float32)
        for _ in range(300):
            z[:] = 0
            executable.launch(pointers(x, Y, z))
            if not np.array_equal(z, x + 1):
                failures.append(shift)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failures


def test_timing_and_hook():
    executable = slow(1, 200_000, instructions=3)
    with pytest.raises(RuntimeError, match="profile"):
        executable.times()
    executable.profile()
    out = np.zeros(1)
    executable.launch(pointers(out))
    times = executable.times()
    assert (np.diff(times.ravel()) >= 0).all()
    assert (times[:, 1] - times[:, 0] > 50_000).all()
    seen = []
    executable.set_hook(lambda index, node: seen.append((index, node)))
    executable.launch(pointers(out))
    assert seen == [(0, 0), (1, 1), (2, 2)]

    def stop(index: int, node: int) -> None:
        if index == 1:
            raise StopIteration(index)

    executable.set_hook(stop)
    with pytest.raises(StopIteration):
        executable.launch(pointers(out))
    executable.set_hook(None)
    executable.launch(pointers(out))


@pytest.mark.parametrize("chunks", [1, 256])
def test_kernels_round_to_nearest_whatever_the_caller_does(chunks, two_threads):
    import ctypes

    libm = ctypes.CDLL("libm.so.6")
    values = np.zeros(2 + chunks)
    values[:2] = 1, 3
    third = np.float64(1) / np.float64(3)
    executable = Executable([Instruction(address(ROUND), 0, chunks)], np.zeros(1), [(0, 0, 0)], slots=1)
    upward = 0x800 if __import__("platform").machine() == "x86_64" else 0x400000
    libm.fesetround(upward)
    try:
        executable.launch(pointers(values))
        assert libm.fegetround() == upward
    finally:
        libm.fesetround(0)
    assert (values[2:] == third).all()
