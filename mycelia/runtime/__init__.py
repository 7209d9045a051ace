"""The native runtime: plan walker, thread pool, memory pool, linker, object cache, and the devices ``CPU``
and ``hostile``."""

from __future__ import annotations

from typing import Any

from mycelia.tensor.device import Device, register_device


def _cpu() -> Device:
    from mycelia.runtime.cpu import CpuDevice

    return CpuDevice()


def _hostile() -> Device:
    from mycelia.runtime.hostile import HostileDevice

    return HostileDevice()


register_device("CPU", _cpu)
register_device("hostile", _hostile)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for part in ("settings", "streams"):
        module = import_module(f"mycelia.runtime.{part}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module 'mycelia.runtime' has no attribute {name!r}")
