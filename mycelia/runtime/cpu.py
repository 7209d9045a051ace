"""The CPU as a device: memory from the pool, plans on the calling thread and the thread pool, nothing deferred."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.runtime.memory import MemoryPool, limit_from_environment
from mycelia.tensor.device import Device, Stream


@lru_cache(1)
def cpu_memory() -> MemoryPool:
    """The pool that CPU tensors and arenas come from."""
    return MemoryPool(limit_from_environment())


class CpuDevice(Device):
    """This machine's processor."""

    name = kernels = "CPU"
    host_addressable = True
    recycles = True

    def __init__(self) -> None:
        pool = cpu_memory()
        self.bins = pool.temporary.bins
        self.allocate = pool.allocate  # type: ignore[method-assign]
        self.free = pool.free  # type: ignore[method-assign]

    def allocate(self, nbytes: int) -> int:
        return cpu_memory().allocate(nbytes)

    def free(self, address: int, nbytes: int) -> None:
        cpu_memory().free(address, nbytes)

    def copy_in(self, address: int, data: np.ndarray) -> None:
        ctypes.memmove(address, data.__array_interface__["data"][0], data.nbytes)

    def copy_out(self, address: int, out: np.ndarray) -> None:
        ctypes.memmove(out.__array_interface__["data"][0], address, out.nbytes)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

    def load(self, plan: Any) -> Any:
        from mycelia.runtime.load import load

        return load(plan)

    def launch(self, executable: Any, addresses: Sequence[int], stream: Stream | None = None) -> None:
        executable.launch(addresses)
