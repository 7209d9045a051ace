"""Settings of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mycelia as ms
from mycelia.common import context


@pytest.fixture(autouse=True)
def pynative():
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE, save_graphs=False)


def test_mode():
    assert ms.get_context("mode") == ms.PYNATIVE_MODE == context.mode == 1
    ms.set_context(mode=ms.GRAPH_MODE)
    assert ms.get_context("mode") == ms.GRAPH_MODE == context.mode == 0


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"save_graphs": True}, 2),
        ({"save_graphs": 1}, 1),
        ({"memory_optimize_level": "O2"}, "O2"),
        ({"max_device_memory": "3GB"}, 3.0),
        ({"enable_graph_kernel": True}, True),
        ({"jit_config": {"jit_level": "O2"}}, {"jit_level": "O2"}),
        ({"enable_cpu_fallback": True}, True),
        ({"enable_auto_tune": True, "auto_tune_mode": "GA"}, True),
        ({"enable_debug": True}, True),
        ({"deterministic": "ON"}, "ON"),
    ],
)
def test_values_are_kept(settings, kept):
    ms.set_context(**settings)
    assert ms.get_context(next(iter(settings))) == kept


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"save_graph": True}, ValueError, "did you mean 'save_graphs'"),
        ({"mode": 3}, ValueError, "mode must be"),
        ({"mode": "GRAPH"}, TypeError, "mode must be int"),
        ({"save_graphs": 5}, ValueError, "from 0 to 3"),
        ({"device_id": -1}, ValueError, "from 0 to 4095"),
        ({"deterministic": "x"}, ValueError, "must be one of"),
        ({"max_device_memory": "3"}, ValueError, "a size such as"),
        ({"device_target": "TPU"}, ValueError, "must be 'CPU'"),
        ({"device_target": "Ascend"}, ValueError, "runs on 'CPU' only"),
        ({"device_target": "npu"}, ValueError, "runs on 'CPU' only"),
        ({"device_target": "GPU"}, ValueError, "--device CPU"),
    ],
)
def test_refusals(settings, error, match):
    with pytest.raises(error, match=match):
        ms.set_context(**settings)


def test_a_refused_call_changes_nothing():
    with pytest.raises(ValueError, match="foo"):
        ms.set_context(mode=ms.GRAPH_MODE, foo=1)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE


def test_unknown_question():
    with pytest.raises(ValueError, match="get_context: unknown key"):
        ms.get_context("foo")


def test_devices_by_function():
    ms.set_device("CPU", 0)
    assert ms.get_context("device_target") == "CPU"
    with pytest.raises(TypeError, match="device_target must be str"):
        ms.set_device(3)


def test_fixed_keys_win_and_say_so_once():
    program = (
        "import mycelia as ms\nfrom mycelia.common import context\ncontext.fix('mode', 0, '--mode GRAPH')\n"
        "for _ in range(2): ms.set_context(mode=ms.PYNATIVE_MODE)\nprint(ms.get_context('mode'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
    assert done.stderr.count("wins over the script's set_context(mode=PYNATIVE)") == 1


def test_threads_are_set_by_each_name():
    from mycelia.runtime.threads import get_num_threads

    before = get_num_threads()
    try:
        ms.runtime.dispatch_threads_num(2)
        assert get_num_threads() == 2
        ms.device_context.cpu.op_tuning.threads_num(1)
        assert get_num_threads() == 1
        ms.runtime.launch_blocking()
        ms.set_context(runtime_num_threads=2)
        assert get_num_threads() == 2
    finally:
        ms.runtime.dispatch_threads_num(before)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)]
)
def test_thread_numbers_are_checked(value, error):
    for function in (ms.runtime.dispatch_threads_num, ms.device_context.cpu.op_tuning.threads_num):
        with pytest.raises(error):
            function(value)


def test_memory_is_reported():
    assert ms.runtime.memory_reserved() >= 0
    assert set(ms.runtime.memory_stats()) >= {"allocated", "reserved", "peak_allocated", "peak_reserved"}
