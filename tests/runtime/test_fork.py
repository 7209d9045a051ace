"""A child of a fork computes and compiles, whatever other threads were doing at the fork."""

from __future__ import annotations

PROLOGUE = """
    import os, sys, threading, time
    import numpy as np
    from native_kernels import adder, pointers, slow
    from mycelia.kernels.api import Code
    from mycelia.runtime import cache, compile, threads

    compile.set_object_cache(cache.ObjectCache(None))

    def fresh(i):
        text = f"define i32 @fresh(ptr %a, i64 %c) {{\\n store i64 {i}, ptr %a\\n ret i32 0\\n}}"
        return Code("fresh", f"test: fresh {i}", lambda: text)

    def child_works(i):
        x, z = np.ones(4096, np.float32), np.zeros(4096, np.float32)
        adder(512).launch(pointers(x, x, z))
        compile.compile_all([fresh(i), fresh(i + 1), fresh(i + 2), fresh(i + 3)])
        return (z == 2).all() and threads.pool_field("started") == threads.get_num_threads() - 1

    def fork_and_check(i):
        start = time.monotonic()
        pid = os.fork()
        if not pid:
            os._exit(0 if child_works(i) else 3)
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() - start > 10:
                os.kill(pid, 9)
                sys.exit("the child hangs")
            time.sleep(0.01)
        if status:
            sys.exit(f"the child failed: {status}")

    threads.set_num_threads(2)
    child_works(0)
"""


def check(script, source):
    # Python 3.12 and later warn of every fork beside threads
    process = script(PROLOGUE + source, env={"PYTHONWARNINGS": "ignore::DeprecationWarning"})
    out, error = process.communicate(timeout=100)
    assert (process.returncode, out.strip(), error) == (0, "done", "")


def test_fork_while_nothing_runs(script):
    check(
        script,
        """
    for i in range(3):
        fork_and_check(100 * i)
    print("done")
    """,
    )


def test_fork_while_another_thread_runs_a_plan(script):
    check(
        script,
        """
    out = np.zeros(2000)
    plan = slow(2000, 1_000_000)    # two seconds
    result = []
    def run():
        plan.launch(pointers(out)); result.append(float(out[-1]))
    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    for i in range(3):
        fork_and_check(100 * i)
    thread.join()
    assert result == [1_500_001.0], result
    assert child_works(1000)
    print("done")
    """,
    )


def test_fork_while_another_thread_compiles(script):
    check(
        script,
        """
    stop = []
    counter = [10_000]
    def keep_compiling():
        while not stop:
            counter[0] += 4
            compile.compile_all([fresh(counter[0] + k) for k in range(4)])
    thread = threading.Thread(target=keep_compiling)
    thread.start()
    for i in range(6):
        time.sleep(0.037)
        fork_and_check(100 * i)
    stop.append(1)
    thread.join()
    print("done")
    """,
    )


def test_fork_in_a_host_call(script):
    check(
        script,
        """
    from mycelia.runtime.executable import Executable, Instruction
    from native_kernels import ADD, address
    x, z = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    pids = []
    plan = Executable([Instruction(lambda: pids.append(os.fork()), 0), Instruction(address(ADD), 0, 512)],
                      np.zeros(3, np.int64), [(0, 0, 0), (1, 1, 0), (2, 2, 0)], slots=3)
    plan.launch(pointers(x, x, z))
    ok = (z == 2).all()
    if not pids[0]:
        os._exit(0 if ok and child_works(5) else 3)
    assert ok and os.waitpid(pids[0], 0)[1] == 0
    print("done")
    """,
    )


def test_locks_open_in_the_child(script):
    check(
        script,
        """
    from mycelia.runtime.fork import ForkLock
    lock = ForkLock()
    held, let_go = threading.Event(), threading.Event()
    def hold():
        with lock:
            held.set(); let_go.wait()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    pid = os.fork()
    if not pid:
        os._exit(0 if lock.acquire(blocking=False) else 4)
    assert os.waitpid(pid, 0)[1] == 0
    assert not lock.acquire(blocking=False)
    let_go.set()
    thread.join()
    print("done")
    """,
    )
