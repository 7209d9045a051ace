"""The CPU as a device: memory from the pool, plans on the calling thread and the thread pool, nothing
deferred."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.runtime.memory import REGION, MemoryPool, limit_from_environment
from mycelia.tensor.device import Device, Home, Stream


@lru_cache(1)
def cpu_memory() -> MemoryPool:
    """The pool that CPU tensors and arenas come from."""
    return MemoryPool(limit_from_environment())


class _Huge:
    """The home of a block so large that the pool wants to hear when it is free."""

    def __init__(self, pool: MemoryPool, nbytes: int) -> None:
        self.pool, self.nbytes = pool, nbytes

    def pop(self) -> int:
        return self.pool.temporary.home(self.nbytes).pop()

    def append(self, address: int) -> None:
        self.pool.free(address, self.nbytes)


class CpuDevice(Device):
    """This machine's processor."""

    name = kernels = "CPU"
    host_addressable = True

    def __init__(self) -> None:
        self.pool = cpu_memory()
        self.bins = self.pool.temporary.bins

    def home(self, nbytes: int) -> Home:
        return self.pool.temporary.home(nbytes) if nbytes <= REGION else _Huge(self.pool, nbytes)

    def allocate(self, nbytes: int) -> int:
        return self.pool.allocate(nbytes)

    def free(self, address: int, nbytes: int) -> None:
        self.pool.free(address, nbytes)

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
