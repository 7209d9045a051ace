"""The native runtime: plan walker, thread pool, memory pool, linker, object cache, and the devices ``CPU`` and ``hostile``."""
from __future__ import annotations

from mycelia.tensor.device import Device, register_device


def _cpu() -> Device:
    from mycelia.runtime.cpu import CpuDevice

    return CpuDevice()


def _hostile() -> Device:
    from mycelia.runtime.hostile import HostileDevice

    return HostileDevice()


register_device("CPU", _cpu)
register_device("hostile", _hostile)
