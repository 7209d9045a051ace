"""Ctrl-C during a plan: within half a second, as a clean KeyboardInterrupt, and the process goes on."""

from __future__ import annotations

import signal
import time

import pytest

PROGRAM = """
    import signal, sys, time
    import numpy as np
    from native_kernels import slow, pointers, adder
    from mycelia.runtime import threads

    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    threads.set_num_threads(int(sys.argv[1]))
    out = np.zeros(10_000)
    plan = slow(10_000, int(sys.argv[2]), instructions=100)   # minutes
    slow(1, 10).launch(pointers(out))
    print("ready", flush=True)
    try:
        plan.launch(pointers(out))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    x = np.ones(64, np.float32)
    z = np.zeros(64, np.float32)
    adder(8).launch(pointers(x, x, z))
    print("goes on" if (z == 2).all() else "broken", flush=True)
"""


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("steps", [20_000, 10_000_000])
def test_ctrl_c_stops_a_plan(script, count, steps):
    process = script(PROGRAM, str(count), str(steps))
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 0.5
        assert process.stdout.readline() == "goes on\n"
        assert process.wait(5) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()


def test_other_python_threads_run_meanwhile(script):
    process = script("""
        import threading, time
        import numpy as np
        from native_kernels import slow, pointers

        out = np.zeros(200)
        plan = slow(200, 3_000_000)   # over half a second
        plan.launch(pointers(out))
        beats = []
        def beat():
            while True:
                beats.append(time.monotonic()); time.sleep(0.01)
        threading.Thread(target=beat, daemon=True).start()
        start = time.monotonic()
        plan.launch(pointers(out))
        end = time.monotonic()
        print(len([b for b in beats if start <= b <= end]) > 10 * (end - start))
    """)
    out, error = process.communicate(timeout=60)
    assert (out, error) == ("True\n", "")
