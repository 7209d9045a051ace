"""What a script sets and asks of the runtime: MindSpore's ``mindspore.runtime``, but for streams and events.

Figures are those of the CPU's memory pool, in bytes. Settings that concern parts of an Ascend processor are
checked and refused on the CPU by name, where ignoring them would leave the caller with a wrong idea.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

_configured: dict[str, Any] = {}  # of settings that can be made once


# -- how work is carried out ---------------------------------------------------------------------------------
def dispatch_threads_num(threads_num: int) -> None:
    """Sets the number of threads that run compiled graphs; results have the same bits with any number.

    Raises:
        TypeError: not an int.
        ValueError: not positive.
    """
    _check_int("dispatch_threads_num", "threads_num", threads_num, 1)
    from mycelia.runtime.threads import set_num_threads

    set_num_threads(threads_num)


def launch_blocking() -> None:
    """Makes each operator finish before the next begins, as operators on the CPU do anyway."""


def synchronize() -> None:
    """Waits until all work queued on the default device is done, and raises what went wrong in it."""
    from mycelia.tensor.device import default_device

    default_device().synchronize()


def set_cpu_affinity(
    enable_affinity: bool,
    affinity_cpu_list: Sequence[str] | None = None,
    module_to_cpu_dict: dict[str, Any] | None = None,
    bind_file: str | None = None,
) -> None:
    """Keeps this process, and the threads that it starts, on some processors.

    Args:
        enable_affinity: False lifts an earlier choice.
        affinity_cpu_list: ranges such as ``["0-3", "6"]``; None: the processors that the process may use now.
        module_to_cpu_dict, bind_file: MindSpore's finer divisions; refused.

    Raises:
        TypeError: ``enable_affinity`` is no bool.
        ValueError: a range that is none, or processors that this machine does not offer.
    """
    _check_bool("set_cpu_affinity", "enable_affinity", enable_affinity)
    if module_to_cpu_dict is not None or bind_file is not None:
        raise ValueError(
            "set_cpu_affinity: module_to_cpu_dict and bind_file divide the processors among MindSpore's own "
            "threads, which do not exist here; give affinity_cpu_list alone"
        )
    offered = _configured.setdefault("offered_cpus", os.sched_getaffinity(0))
    wanted = set(offered)
    if enable_affinity and affinity_cpu_list is not None:
        wanted = {cpu for text in affinity_cpu_list for cpu in _cpu_range(text)}
        if not wanted or not wanted <= offered:
            raise ValueError(
                f"set_cpu_affinity: affinity_cpu_list must name processors out of {sorted(offered)}. "
                f"Received: {list(affinity_cpu_list)}"
            )
    os.sched_setaffinity(0, wanted)


def _cpu_range(text: Any) -> range:
    found = re.fullmatch(r"\s*(\d+)(?:\s*-\s*(\d+))?\s*", text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"set_cpu_affinity: a range must read '0-3' or '5'. Received: {text!r}")
    first = int(found[1])
    return range(first, int(found[2] or first) + 1)


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """Checked as MindSpore checks it; plans here share each kernel's chunks out over all threads anyway."""
    _check_int("set_kernel_launch_group", "thread_num", thread_num, 1)
    _check_int("set_kernel_launch_group", "kernel_group_num", kernel_group_num, 1)


def set_kernel_launch_capture(
    enable_capture_graph: bool, op_capture_skip: Sequence[str] | None = None
) -> None:
    """Checked as MindSpore checks it; a graph is launched as one plan anyway."""
    _check_bool("set_kernel_launch_capture", "enable_capture_graph", enable_capture_graph)


# -- memory --------------------------------------------------------------------------------------------------
def _statistics() -> Any:
    from mycelia.runtime.cpu import cpu_memory

    return cpu_memory().statistics()


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """The memory pool's figures, by MindSpore's names and by the pool's own."""
    from dataclasses import asdict

    s = _statistics()
    return {
        "total_reserved_memory": s.reserved,
        "total_allocated_memory": s.allocated,
        "total_idle_memory": s.reserved - s.allocated,
        "total_eager_free_memory": 0,
        "max_reserved_memory": s.peak_reserved,
        "max_allocated_memory": s.peak_allocated,
        **asdict(s),
    }


def memory_allocated(device_target: str | None = None) -> int:
    """Bytes in use by tensors and plans."""
    return _statistics().allocated


def memory_reserved(device_target: str | None = None) -> int:
    """Bytes that the pool took from the system."""
    return _statistics().reserved


def max_memory_allocated(device_target: str | None = None) -> int:
    """The most bytes that were in use at once."""
    return _statistics().peak_allocated


def max_memory_reserved(device_target: str | None = None) -> int:
    """The most bytes that the pool held at once."""
    return _statistics().peak_reserved


def memory_summary(device_target: str | None = None) -> str:
    """The pool's figures as a table."""
    s = _statistics()
    rows = [
        ("Reserved memory", s.reserved),
        ("Allocated memory", s.allocated),
        ("Idle memory", s.reserved - s.allocated),
        ("Max reserved memory", s.peak_reserved),
        ("Max allocated memory", s.peak_allocated),
    ]
    line = "|" + "=" * 45 + "|"
    body = "\n".join(f"| {name:<20} | {_readable(value):>20} |" for name, value in rows)
    return f"{line}\n|{'Memory summary':^45}|\n{line}\n{body}\n{line}"


def _readable(nbytes: int) -> str:
    value, unit = float(nbytes), "B"
    for larger in ("KB", "MB", "GB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.2f} {unit}"


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """Lets the peaks begin anew from what is in use now."""
    from mycelia.runtime.cpu import cpu_memory

    cpu_memory().reset_peak()


reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def empty_cache() -> None:
    """Gives memory that nobody uses back to the system."""
    from mycelia.runtime.cpu import cpu_memory

    cpu_memory().release_unused(0)


def set_memory(
    init_size: str = "2GB",
    increase_size: str = "2GB",
    max_size: str = "1024GB",
    optimize_level: str = "O0",
    huge_page_reserve_size: str = "0GB",
) -> None:
    """Bounds the memory pool.

    Args:
        init_size, increase_size, huge_page_reserve_size: checked; the pool grows as it is needed, by 2 MB
        and more. max_size: the most that the pool may hold, e.g. ``"4GB"``.
        optimize_level: ``"O0"`` or ``"O1"``.

    Raises:
        TypeError: not strings.
        ValueError: a size that does not read like ``"2GB"``, or an unknown level.
        RuntimeError: called a second time.
    """
    sizes = {}
    for name, value in (
        ("init_size", init_size),
        ("increase_size", increase_size),
        ("max_size", max_size),
        ("huge_page_reserve_size", huge_page_reserve_size),
    ):
        if not isinstance(value, str):
            raise TypeError(f"set_memory: {name} must be a str. Received: {name}={value!r}")
        if not re.fullmatch(r"\d+(\.\d+)?GB", value):
            raise ValueError(f"set_memory: {name} must be a size such as '2GB'. Received: {name}={value!r}")
        sizes[name] = int(float(value[:-2]) * (1 << 30))
    if optimize_level not in ("O0", "O1"):
        raise ValueError(
            f"set_memory: optimize_level must be 'O0' or 'O1'. Received: optimize_level={optimize_level!r}"
        )
    if not sizes["max_size"]:
        raise ValueError(f"set_memory: max_size must be positive. Received: max_size={max_size!r}")
    if "memory" in _configured:
        raise RuntimeError("set_memory: can be called once in a process")
    _configured["memory"] = sizes
    from mycelia.runtime.cpu import cpu_memory

    cpu_memory().limit = sizes["max_size"]


# -- what only an Ascend processor has -----------------------------------------------------------------------
def _ascend_only(name: str, what: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError(
            f"mindspore.runtime.{name}: {what} exist on Ascend processors only, and the program runs on the "
            f"CPU; leave the call out, or make it under `if ms.get_context('device_target') == 'Ascend':`"
        )

    refuse.__name__ = name
    refuse.__doc__ = f"For Ascend processors ({what}); on the CPU an error says so."
    return refuse


_CORES = "limits on cube and vector cores"
get_device_limit = _ascend_only("get_device_limit", _CORES)
set_device_limit = _ascend_only("set_device_limit", _CORES)
get_stream_limit = _ascend_only("get_stream_limit", _CORES)
set_stream_limit = _ascend_only("set_stream_limit", _CORES)
reset_stream_limit = _ascend_only("reset_stream_limit", _CORES)
StreamLimitCtx = _ascend_only("StreamLimitCtx", _CORES)
memory_replay = _ascend_only("memory_replay", "recorded traces of the device's memory")
PluggableAllocator = _ascend_only("PluggableAllocator", "allocators from shared libraries")
MemPool = _ascend_only("MemPool", "memory pools over allocators from shared libraries")
use_mem_pool = _ascend_only("use_mem_pool", "memory pools over allocators from shared libraries")


def _check_int(function: str, name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"{function}: {name} must be an int. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    if value < least:
        raise ValueError(f"{function}: {name} must be positive. Received: {name}={value}")


def _check_bool(function: str, name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(
            f"{function}: {name} must be a bool. Received: {name}={value!r} (of type {type(value).__name__})"
        )


__all__ = [
    "MemPool",
    "PluggableAllocator",
    "StreamLimitCtx",
    "dispatch_threads_num",
    "empty_cache",
    "get_device_limit",
    "get_stream_limit",
    "launch_blocking",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_replay",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "reset_stream_limit",
    "set_cpu_affinity",
    "set_device_limit",
    "set_kernel_launch_capture",
    "set_kernel_launch_group",
    "set_memory",
    "set_stream_limit",
    "synchronize",
    "use_mem_pool",
]
