"""What a script sets and asks of the runtime: MindSpore's ``mindspore.runtime``."""

from __future__ import annotations

from typing import Any


def dispatch_threads_num(threads_num: int) -> None:
    """Sets the number of threads that run compiled graphs; results have the same bits with any number.

    Raises:
        TypeError: not an int.
        ValueError: not positive.
    """
    _check_threads("dispatch_threads_num", "threads_num", threads_num)
    from mycelia.runtime.threads import set_num_threads

    set_num_threads(threads_num)


def _check_threads(function: str, name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"{function}: {name} must be an int. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    if value < 1:
        raise ValueError(f"{function}: {name} must be positive. Received: {name}={value}")


def launch_blocking() -> None:
    """Makes each operator finish before the next begins, as operators on the CPU do anyway."""


def synchronize() -> None:
    """Waits until all work queued on the default device is done, and raises what went wrong in it."""
    from mycelia.tensor.device import default_device

    default_device().synchronize()


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """Figures of the CPU's memory pool, in bytes."""
    from dataclasses import asdict

    from mycelia.runtime.cpu import cpu_memory

    return asdict(cpu_memory().statistics())


def memory_allocated(device_target: str | None = None) -> int:
    """Bytes in use by tensors and plans."""
    return memory_stats(device_target)["allocated"]


def memory_reserved(device_target: str | None = None) -> int:
    """Bytes that the pool took from the system."""
    return memory_stats(device_target)["reserved"]


def max_memory_allocated(device_target: str | None = None) -> int:
    """The most bytes that were in use at once."""
    return memory_stats(device_target)["peak_allocated"]


def max_memory_reserved(device_target: str | None = None) -> int:
    """The most bytes that the pool held at once."""
    return memory_stats(device_target)["peak_reserved"]


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """Lets the peaks begin anew from what is in use now."""
    from mycelia.runtime.cpu import cpu_memory

    cpu_memory().reset_peak()


def empty_cache() -> None:
    """Gives memory that nobody uses back to the system."""
    from mycelia.runtime.cpu import cpu_memory

    cpu_memory().release_unused(0)


__all__ = [
    "dispatch_threads_num",
    "empty_cache",
    "launch_blocking",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "synchronize",
]
