"""The thread pool: how many threads, the same bits with any number, and what happens when a worker is
late."""

from __future__ import annotations

import os

import numpy as np
import pytest
from native_kernels import pointers, slow

from mycelia.runtime import threads


def test_the_environment_chooses_the_number(monkeypatch):
    for name in ("MYCELIA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert threads.default_num_threads() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads.default_num_threads() == 3
    monkeypatch.setenv("MYCELIA_NUM_THREADS", "5")
    assert threads.default_num_threads() == 5
    monkeypatch.setenv("MYCELIA_NUM_THREADS", "many")
    with pytest.raises(
        ValueError,
        match="MYCELIA_NUM_THREADS must be a positive integer. Received: MYCELIA_NUM_THREADS='many'",
    ):
        threads.default_num_threads()


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "2"])
def test_a_number_of_threads_is_a_positive_integer(n):
    with pytest.raises(ValueError, match="must be a positive integer"):
        threads.set_num_threads(n)


def test_workers_start_with_the_first_plan_that_has_work_to_share():
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(1)
        assert threads.pool_field("started") == 0
        threads.set_num_threads(3)
        out = np.zeros(64)
        slow(1, 1000).launch(pointers(out))
        assert threads.pool_field("started") == 0
        slow(64, 1000).launch(pointers(out))
        assert threads.pool_field("started") == 2
        threads.set_num_threads(2)
        slow(64, 1000).launch(pointers(out))
        assert threads.pool_field("started") == 1
    finally:
        threads.set_num_threads(before)


def test_workers_take_part(two_threads):
    out = np.zeros(400)
    executable = slow(400, 100_000)
    before = threads.pool_field("helped")
    for _ in range(20):
        executable.launch(pointers(out))
    assert threads.pool_field("helped") > before
    np.testing.assert_array_equal(out, 150_001.0)


def test_many_jobs_in_a_row_lose_no_chunk(two_threads):
    out = np.zeros(7)
    executable = slow(7, 10, instructions=50)
    for _ in range(400):
        out[:] = 0
        executable.launch(pointers(out))
        assert (out == 16).all()


def test_the_pool_block_covers_its_fields():
    from mycelia.runtime.native import pool

    offsets = sorted(pool.FIELDS.values())
    assert len(set(offsets)) == len(offsets)
    assert offsets[-1] + 8 <= pool.BYTES
    assert pool.FIELDS["ticket"] // 64 != pool.FIELDS["done"] // 64 != pool.FIELDS["function"] // 64


def test_the_number_may_change_while_plans_run(two_threads):
    import threading

    out, stop, failures = np.zeros(64), [], []
    executable = slow(64, 20_000, instructions=4)

    def work() -> None:
        while not stop:
            out[:] = 0
            executable.launch(pointers(out))
            if not (out == 30_001).all():
                failures.append(out.copy())

    thread = threading.Thread(target=work)
    thread.start()
    for i in range(200):
        threads.set_num_threads(1 + i % 4)
    stop.append(1)
    thread.join()
    assert not failures


@pytest.mark.parametrize("kind", ["plan", "host"])
def test_a_process_may_end_while_its_threads_run_plans(script, kind):
    process = script(
        """
        import sys, threading, time
        import numpy as np
        from mycelia.runtime import threads
        from mycelia.runtime.executable import Executable, Instruction
        from native_kernels import pointers, slow

        threads.set_num_threads(2)
        out = np.zeros(10_000)
        if sys.argv[1] == "plan":
            plan, slots = slow(10_000, 100_000), pointers(out)
        else:
            plan, slots = Executable([Instruction(lambda: time.sleep(0.05), 0)] * 100, [0], [], slots=0), []
        for _ in range(2):
            threading.Thread(target=plan.launch, args=(slots,), daemon=True).start()
        time.sleep(0.3)
        print("leaving")
    """,
        kind,
    )
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (0, "leaving\n", "")
