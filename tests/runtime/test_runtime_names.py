"""The public names of ``runtime`` and ``hal``."""
import os

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, hal, runtime

RUNTIME = """Event MemPool PluggableAllocator Stream StreamCtx StreamLimitCtx communication_stream
current_stream default_stream dispatch_threads_num empty_cache get_device_limit get_stream_limit
launch_blocking max_memory_allocated max_memory_reserved memory_allocated memory_replay memory_reserved
memory_stats memory_summary reset_max_memory_allocated reset_max_memory_reserved reset_peak_memory_stats
reset_stream_limit set_cpu_affinity set_cur_stream set_device_limit set_kernel_launch_capture
set_kernel_launch_group set_memory set_stream_limit synchronize use_mem_pool"""


def test_every_name_is_there():
    for name in RUNTIME.split():
        assert callable(getattr(runtime, name)), name
    for name in hal.__all__:
        assert getattr(hal, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        runtime.nothing  # noqa: B018


def test_memory_figures():
    before = runtime.memory_allocated()
    kept = Tensor(np.ones(1 << 20, np.float32)) + 1
    assert runtime.memory_allocated() >= before + (4 << 20)
    assert runtime.max_memory_allocated() >= runtime.memory_allocated()
    stats = runtime.memory_stats()
    assert stats["total_reserved_memory"] == runtime.memory_reserved()
    assert stats["total_idle_memory"] >= 0
    assert "Allocated memory" in runtime.memory_summary()
    del kept
    runtime.reset_peak_memory_stats()
    assert runtime.max_memory_allocated() <= stats["max_allocated_memory"]


def test_streams_and_events():
    first, second = runtime.Stream(), runtime.Stream()
    assert first != second and first == first
    assert runtime.current_stream() == runtime.default_stream()
    with runtime.StreamCtx(first):
        assert runtime.current_stream() == first
        y = Tensor([1.0]) + 1
    assert runtime.current_stream() == runtime.default_stream()
    np.testing.assert_allclose(y.asnumpy(), [2])
    begin, end = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    begin.record()
    end.record(second)
    assert end.query() and begin.elapsed_time(end) >= 0
    second.wait_event(begin)
    second.wait_stream(first)
    runtime.synchronize()
    with pytest.raises(RuntimeError, match="enable_timing"):
        runtime.Event().elapsed_time(end)
    with pytest.raises(TypeError, match="must be a Stream"):
        runtime.StreamCtx(3)
    with pytest.raises(TypeError, match="must be a Stream"):
        runtime.set_cur_stream("default")


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: runtime.dispatch_threads_num("a"), TypeError, "must be an int"),
        (lambda: runtime.dispatch_threads_num(0), ValueError, "positive"),
        (lambda: runtime.set_memory("2"), ValueError, "2GB"),
        (lambda: runtime.set_memory(2), TypeError, "must be a str"),
        (lambda: runtime.set_memory(optimize_level="O7"), ValueError, "optimize_level"),
        (lambda: runtime.set_cpu_affinity(1), TypeError, "must be a bool"),
        (lambda: runtime.set_cpu_affinity(True, ["a-b"]), ValueError, "0-3"),
        (lambda: runtime.set_cpu_affinity(True, ["99999"]), ValueError, "out of"),
        (lambda: runtime.set_kernel_launch_group(0), ValueError, "positive"),
        (lambda: runtime.get_device_limit(0), RuntimeError, "Ascend processors only"),
        (lambda: hal.device_count("TPU"), ValueError, "one of CPU, GPU, Ascend"),
        (lambda: hal.get_device_name("CPU"), TypeError, "device_id must be an int"),
        (lambda: hal.get_device_name(3), ValueError, "1 CPU devices"),
        (lambda: hal.get_device_name(0, "GPU"), ValueError, "0 GPU devices"),
    ],
)
def test_errors(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_affinity_is_set_and_lifted():
    before = os.sched_getaffinity(0)
    one = min(before)
    try:
        runtime.set_cpu_affinity(True, [str(one)])
        assert os.sched_getaffinity(0) == {one}
        runtime.set_cpu_affinity(False)
        assert os.sched_getaffinity(0) == before
    finally:
        os.sched_setaffinity(0, before)


def test_devices():
    assert hal.is_available("CPU") and not hal.is_available("Ascend")
    assert (hal.device_count(), hal.device_count("GPU")) == (1, 0)
    properties = hal.get_device_properties(0)
    assert properties.name == hal.get_device_name(0)
    assert properties.total_memory >= properties.free_memory > 0
    assert hal.get_device_capability(0)[0] in (128, 256, 512)
    assert ms.get_current_device()[0] in ("CPU", "hostile")


def test_the_compile_cache_moves(tmp_path):
    from mycelia.runtime import compile

    before = ms.get_context("enable_compile_cache"), ms.get_context("compile_cache_path")
    try:
        ms.set_context(enable_compile_cache=True, compile_cache_path=str(tmp_path / "cache"))
        assert compile.object_cache().folder == tmp_path / "cache"
        ms.set_context(enable_compile_cache=False)
        assert compile.object_cache().folder is None
    finally:
        ms.set_context(enable_compile_cache=True, compile_cache_path=before[1])
        compile.set_object_cache(None)
