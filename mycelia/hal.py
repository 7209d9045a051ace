"""MindSpore's ``mindspore.hal``: what devices there are. Memory and streams are those of
`mycelia.runtime`."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

from mycelia.runtime.settings import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    reset_peak_memory_stats,
    synchronize,
)
from mycelia.runtime.streams import (
    Event,
    Stream,
    StreamCtx,
    communication_stream,
    current_stream,
    default_stream,
    set_cur_stream,
)

_TARGETS = ("CPU", "GPU", "Ascend")


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a device: the processor's name, memory in bytes, logical processors, vector width."""

    name: str
    total_memory: int
    free_memory: int
    processors: int
    vector_bits: int


def is_available(device_target: str) -> bool:
    """Whether programs can run on a kind of device here."""
    return _target("is_available", device_target) == "CPU"


def is_initialized(device_target: str) -> bool:
    """Whether the device was used in this process, or can be used at once, as the CPU can."""
    return _target("is_initialized", device_target) == "CPU"


def device_count(device_target: str | None = None) -> int:
    """How many devices of a kind there are."""
    return int(device_target is None or _target("device_count", device_target) == "CPU")


def get_arch_list(device_target: str | None = None) -> list[str]:
    """The processor generations that kernels are made for."""
    return ["x86-64-v3", "x86-64-v4", "aarch64"]


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The processor's name.

    Raises:
        TypeError: ``device_id`` is no int.
        ValueError: there is no such device.
    """
    _check_id("get_device_name", device_id, device_target)
    return _processor_name()


def get_device_capability(device_id: int, device_target: str | None = None) -> tuple[int, int]:
    """Vector width in bits, and how many such registers there are."""
    _check_id("get_device_capability", device_id, device_target)
    from mycelia.codegen.target import Target

    target = Target.host()
    return target.vector_bytes * 8, target.registers


def get_device_properties(device_id: int, device_target: str | None = None) -> DeviceProperties:
    """What is known of a device."""
    width, _ = get_device_capability(device_id, device_target)
    page = os.sysconf("SC_PAGE_SIZE")
    return DeviceProperties(
        _processor_name(),
        page * os.sysconf("SC_PHYS_PAGES"),
        page * os.sysconf("SC_AVPHYS_PAGES"),
        os.cpu_count() or 1,
        width,
    )


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            found = next(line for line in lines if line.startswith("model name"))
        return found.partition(":")[2].strip()
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _target(function: str, device_target: Any) -> str:
    if not isinstance(device_target, str):
        raise TypeError(f"{function}: device_target must be a str. Received: {device_target!r}")
    known = {name.lower(): name for name in _TARGETS} | {"npu": "Ascend"}
    found = known.get(device_target.lower())
    if found is None:
        raise ValueError(
            f"{function}: device_target must be one of {', '.join(_TARGETS)}. Received: {device_target!r}"
        )
    return found


def _check_id(function: str, device_id: Any, device_target: str | None) -> None:
    if isinstance(device_id, bool) or not isinstance(device_id, int):
        raise TypeError(f"{function}: device_id must be an int. Received: device_id={device_id!r}")
    count = device_count(device_target)
    if not 0 <= device_id < count:
        kind = "CPU" if device_target is None else device_target
        raise ValueError(
            f"{function}: there are {count} {kind} devices here. Received: device_id={device_id}"
        )


__all__ = [
    "DeviceProperties",
    "Event",
    "Stream",
    "StreamCtx",
    "communication_stream",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "is_initialized",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_cur_stream",
    "synchronize",
]
