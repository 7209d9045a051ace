"""A child of a fork compiles although another thread of the parent was just compiling."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops


def wait(pid, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_locks_of_a_compiled_function_held_by_another_thread():
    function = ms.jit(lambda x: ops.tanh(x) * x)
    x = Tensor(np.array([0.5, 1.0], np.float32))
    function(x)
    graph = next(s for family in function.specialisations.values() for s in family).compiled
    held, done = threading.Event(), threading.Event()

    def hold():
        with function._lock, graph._lock:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    pid = os.fork()
    if pid == 0:
        longer = Tensor(np.array([0.5, 1.0, 1.5], np.float32))
        right = np.allclose(function(longer).asnumpy(), np.tanh(longer.asnumpy()) * longer.asnumpy(), 1e-5)
        os._exit(0 if right else 1)
    code = wait(pid, 10)
    done.set()
    thread.join()
    assert code == 0
    assert function(x).shape == (2,)
