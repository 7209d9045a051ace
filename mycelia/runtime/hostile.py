"""The test device ``hostile``: the CPU's kernels behind everything that a real accelerator makes hard.

- Its addresses lie in a reserved range without access: a host that reads one faults at once. The memory
  behind an address is another mapping, known to this module only.
- Launches, copies and frees are queued and carried out in order at a `synchronize`, a `copy_out`, or when the
  queue is long; what goes wrong in them is raised there.
- Memory is poisoned with 0xDB when it is handed out and when it is freed, and an address is not used again.
- Every address that is launched with or copied must lie in a live allocation, with as many bytes behind it as
  the executable declares; a guard at both ends of each allocation shows writes beyond it.

``MYCELIA_TEST_DEVICE=hostile`` makes it the default device of a test run.
"""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.runtime import pages
from mycelia.runtime.cpu import cpu_memory
from mycelia.runtime.fork import ForkLock
from mycelia.tensor.device import BINNED, Device, Event, Stream

POISON = 0xDB
GUARD = 64  # bytes before and after each allocation
_GUARD_BYTES = bytes([0xFD]) * GUARD
RANGE = 1 << 42  # bytes of addresses: never used up
LONGEST_QUEUE = 64


class DeviceFault(RuntimeError):
    """Work on the device touched memory that it must not touch."""


class _Allocation:
    __slots__ = ("address", "nbytes", "backing", "block")

    def __init__(self, address: int, nbytes: int) -> None:
        self.address, self.nbytes = address, nbytes
        self.block = cpu_memory().allocate(nbytes + 2 * GUARD)
        self.backing = self.block + GUARD
        ctypes.memset(self.backing, POISON, nbytes)
        ctypes.memmove(self.block, _GUARD_BYTES, GUARD)
        ctypes.memmove(self.backing + nbytes, _GUARD_BYTES, GUARD)

    def check_guards(self) -> None:
        for place, where in (
            (self.block, "before the start of"),
            (self.backing + self.nbytes, "behind the end of"),
        ):
            if ctypes.string_at(place, GUARD) != _GUARD_BYTES:
                ctypes.memmove(place, _GUARD_BYTES, GUARD)
                raise DeviceFault(
                    f"a kernel wrote {where} an allocation of {self.nbytes} bytes at {self.address:#x}"
                )

    def release(self) -> None:
        ctypes.memset(self.backing, POISON, self.nbytes)
        cpu_memory().free(self.block, self.nbytes + 2 * GUARD)


class HostileEvent(Event):
    """Happens when the queue has been carried out up to where it was recorded."""

    def __init__(self, device: HostileDevice) -> None:
        super().__init__(device)
        self._ticket = 0

    def record(self, stream: Stream | None = None) -> None:
        self._recorded = True
        self._ticket = self.device.queued  # type: ignore[attr-defined]

    def query(self) -> bool:
        return self.device.carried_out >= self._ticket  # type: ignore[attr-defined]


class _Grave:
    """A home that gives nothing back: no address is used twice."""

    def __init__(self, dropped: list[int]) -> None:
        self.append = dropped.append

    def pop(self) -> int:
        raise IndexError


class HostileDevice(Device):
    """See the module."""

    name = "hostile"
    kernels = "CPU"
    host_addressable = False

    def __init__(self) -> None:
        self._base = self._next = pages.map_pages(RANGE, pages.INACCESSIBLE)
        self._live: dict[int, _Allocation] = {}
        self._starts: list[int] = []  # sorted addresses of live allocations
        self._queue: list[Callable[[], object]] = []
        self._dropped: list[int] = []  # freed by finalisers, maybe in the midst of our own work
        self.bins = (_Grave(self._dropped),) * (BINNED // 64 + 1)
        self._lock = ForkLock(reentrant=True)
        self.queued = self.carried_out = 0

    # -- memory --------------------------------------------------------------------------------------------
    def allocate(self, nbytes: int) -> int:
        with self._lock:
            self._bury()
            address = self._next
            self._next += (nbytes + 2 * 64) & -64
            self._live[address] = _Allocation(address, nbytes)
            self._starts.append(address)  # addresses only grow
            return address

    def free(self, address: int, nbytes: int) -> None:
        self._dropped.append(address)

    def _bury(self) -> None:
        """Ends the life of freed allocations; their memory goes once the work queued before is done."""
        while self._dropped:
            address = self._dropped.pop()
            allocation = self._live.pop(address, None)
            if allocation is None:
                raise DeviceFault(f"address {address:#x} was freed twice, or never allocated")
            del self._starts[bisect.bisect_left(self._starts, address)]
            self._enqueue(lambda a=allocation: _bury_one(a))

    def translate(self, address: int, nbytes: int, what: str) -> int:
        """The memory behind a device address.

        Raises:
            DeviceFault: the bytes do not lie in one live allocation.
        """
        with self._lock:
            self._bury()
            index = bisect.bisect_right(self._starts, address) - 1
            if index >= 0:
                allocation = self._live[self._starts[index]]
                offset = address - allocation.address
                if offset + nbytes <= allocation.nbytes or (nbytes == 0 and offset == 0):
                    return allocation.backing + offset
            raise DeviceFault(
                f"{what}: {nbytes} bytes at {address:#x} do not lie in a live allocation"
                + (
                    f"; the nearest below has {allocation.nbytes} bytes at {allocation.address:#x}"
                    if index >= 0
                    else ""
                )
            )

    # -- work ----------------------------------------------------------------------------------------------
    def _enqueue(self, work: Callable[[], object]) -> None:
        self._queue.append(work)
        self.queued += 1

    def _submit(self, work: Callable[[], object]) -> None:
        self._enqueue(work)
        if len(self._queue) > LONGEST_QUEUE:
            self.synchronize()

    def synchronize(self) -> None:
        with self._lock:
            self._bury()
            while self._queue:
                work = self._queue.pop(0)
                self.carried_out += 1
                work()
            for allocation in self._live.values():
                allocation.check_guards()

    def copy_in(self, address: int, data: np.ndarray) -> None:
        with self._lock:
            target = self.translate(address, data.nbytes, "copy to the device")
            snapshot = data.tobytes()
            self._submit(lambda: ctypes.memmove(target, snapshot, len(snapshot)))

    def copy_out(self, address: int, out: np.ndarray) -> None:
        with self._lock:
            source = self.translate(address, out.nbytes, "copy from the device")
            self.synchronize()
            ctypes.memmove(out.__array_interface__["data"][0], source, out.nbytes)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        with self._lock:
            to, of = (
                self.translate(target, nbytes, "copy target"),
                self.translate(source, nbytes, "copy source"),
            )
            self._submit(lambda: ctypes.memmove(to, of, nbytes))

    def load(self, plan: Any) -> Any:
        from mycelia.runtime.load import load

        return load(plan)

    def launch(self, executable: Any, addresses: Sequence[int], stream: Stream | None = None) -> None:
        with self._lock:
            sizes = executable.slot_bytes or [0] * len(addresses)
            places = [
                self.translate(a, n, f"slot {i} of {executable.name}")
                for i, (a, n) in enumerate(zip(addresses, sizes))
            ]
            if len(places) != executable.slots:
                raise TypeError(
                    f"{executable.name} takes {executable.slots} slot addresses. Received: {len(addresses)}"
                )
            self._submit(lambda: executable.launch(places))

    def event(self) -> Event:
        return HostileEvent(self)

    @property
    def live_bytes(self) -> int:
        """Bytes of live allocations."""
        with self._lock:
            self._bury()
            return sum(a.nbytes for a in self._live.values())


def _bury_one(allocation: _Allocation) -> None:
    try:
        allocation.check_guards()
    finally:
        allocation.release()
