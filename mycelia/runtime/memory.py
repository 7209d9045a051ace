"""The CPU's memory pool: size classes up to 1 MB, a buddy allocator of 2 MB blocks and more above.

Memory comes from the system in large regions and is kept and reused, since fresh pages cost more than most
kernels. Small blocks are carved from slabs and go back to the list of their class: `bins` for the smallest,
which `mycelia.tensor.storage` uses without a call. Two areas keep long-lived and short-lived blocks apart.
``MS_MEMORY_POOL_SIZE`` (bytes, or ``"512MB"``, ``"32GB"``) bounds the whole.

A block may be freed anywhere, also by the garbage collector while this thread is inside the pool: it goes to
a list in one atomic step. Large blocks stay on such lists, ready for the next request of their size, until
one of another size finds no room; then they are merged.
"""

from __future__ import annotations

import gc
import os
import re
from dataclasses import dataclass

from mycelia.runtime import pages
from mycelia.runtime.buddy import Buddy
from mycelia.runtime.fork import ForkLock
from mycelia.tensor.device import BINNED

ALIGNMENT = 64
SLAB_BITS = 21
SLAB = 1 << SLAB_BITS  # bytes from which the small classes carve, and unit of the large blocks
SMALL = 1 << 20  # largest small block
CARVE = 64 << 10
REGION = 64 << 20  # what a growing pool asks of the system
KEEP = 256 << 20  # free bytes that are kept beyond what was lately in use
WINDOW = 64  # allocations, not counting those that an idle block of their size serves


class OutOfMemory(MemoryError):
    """The pool's limit or the system's memory is exhausted."""


@dataclass(frozen=True)
class MemoryStatistics:
    """Figures of a pool, in bytes.

    Attributes:
        allocated: in blocks that are in use (small ones count with their class size).
        reserved: taken from the system.
        peak_allocated: the highest ``allocated``, sampled when the pool grows and at each large allocation.
        peak_reserved: the highest ``reserved``.
        internal_fragmentation: share of the large blocks in use that nobody asked for. A block that went from
            hand to hand without being merged counts with what was asked first.
        external_fragmentation: share of the free large memory outside the largest free block.
    """

    allocated: int
    reserved: int
    peak_allocated: int
    peak_reserved: int
    internal_fragmentation: float
    external_fragmentation: float
    limit: int | None


def parse_size(text: str) -> int:
    """Bytes from ``"1073741824"``, ``"512MB"``, ``"32 GB"``.

    Raises:
        ValueError: neither a number nor a number with a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if not match or float(match[1]) <= 0:
        raise ValueError(
            f"MS_MEMORY_POOL_SIZE must be a number of bytes, or one with a unit such as 512MB or 32GB. "
            f"Received: {text!r}"
        )
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def _class_sizes() -> list[int]:
    """Multiples of 64 up to 1 KB, then four steps an octave."""
    sizes = list(range(64, 1025, 64))
    while sizes[-1] < SMALL:
        octave = 1 << (sizes[-1].bit_length() - 1)
        sizes += [octave + octave * i // 4 for i in range(1, 5)]
    return sizes


class _Area:
    """Size classes and large blocks of one kind of use."""

    def __init__(self, pool: MemoryPool) -> None:
        self.pool = pool
        self.buddy = Buddy(SLAB)
        self.asked: dict[int, int] = {}  # address of a large block in use -> bytes that were asked for
        self.idle: list[list[int]] = [[] for _ in range(48)]  # by order: freed large blocks, not yet merged
        # A bin for each multiple of 64 up to `BINNED`; beyond, a list for each class.
        self.bins: list[list[int]] = [[] for _ in range(BINNED // 64 + 1)]
        self.classes = [s for s in _class_sizes() if s > BINNED]
        self.lists: dict[int, list[int]] = {s: [] for s in self.classes}
        self.carved = 0  # bytes in blocks of the small classes, free or not
        self.slab = self.slab_left = 0

    def class_of(self, nbytes: int) -> tuple[int, list[int]]:
        if nbytes <= BINNED:
            index = (nbytes + 63) >> 6
            return 64 * (index or 1), self.bins[index]  # bin 0 serves empty tensors
        shift = (nbytes - 1).bit_length() - 3
        size = ((nbytes - 1 >> shift) + 1) << shift
        return size, self.lists[size]

    def home(self, nbytes: int) -> list[int]:
        """The list that free blocks of that size are on."""
        return (
            self.class_of(nbytes)[1] if nbytes <= SMALL else self.idle[(nbytes - 1 >> SLAB_BITS).bit_length()]
        )

    def allocate_small(self, nbytes: int) -> int:
        size, free = self.class_of(nbytes)
        while True:
            try:
                return free.pop()
            except IndexError:  # never was any, or another thread took it
                self.carve(size, free)

    def carve(self, size: int, free: list[int]) -> None:
        """Adds blocks of a class, as many as fill 64 KB, so that a class that is seldom used touches few
        pages."""
        if self.slab_left < size:
            self.slab, self.slab_left = self.pool.slab(size), SLAB
        count = min(max(CARVE // size, 1), self.slab_left // size)
        start, nbytes = self.slab, count * size
        self.slab, self.slab_left = start + nbytes, self.slab_left - nbytes
        self.carved += nbytes
        free.extend(range(start + nbytes - size, start - 1, -size))

    def small_in_use(self) -> int:
        total = self.carved
        for index, addresses in enumerate(self.bins):
            total -= 64 * max(index, 1) * len(addresses)
        for size, addresses in self.lists.items():
            total -= size * len(addresses)
        return total


class MemoryPool:
    """See the module.

    Args:
        limit: most bytes to take from the system; None: as many as it gives.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self._lock = ForkLock(hold=True)
        self.temporary, self.persistent = _Area(self), _Area(self)
        self._slabs = 0
        self._peak_allocated = self._peak_reserved = 0
        self._peaks, self._window = (0, 0), 0

    # -- allocation ----------------------------------------------------------------------------------------
    def allocate(self, nbytes: int, persistent: bool = False) -> int:
        """Address of at least ``nbytes`` bytes, aligned to 64.

        Raises:
            OutOfMemory: beyond the limit, or the system has no more.
        """
        area = self.persistent if persistent else self.temporary
        try:
            return area.home(nbytes).pop()
        except IndexError:
            return self._allocate_or_collect(area, nbytes)

    def _allocate_or_collect(self, area: _Area, nbytes: int) -> int:
        try:
            return self._allocate(area, nbytes)
        except OutOfMemory:
            gc.collect()  # tensors in reference cycles
            self.release_unused(0)
            return self._allocate(area, nbytes)

    def _allocate(self, area: _Area, nbytes: int) -> int:
        with self._lock:
            if nbytes <= SMALL:
                address = area.allocate_small(nbytes)
            else:
                found = area.buddy.allocate(nbytes)
                if found is None:
                    self._settle()
                    found = area.buddy.allocate(nbytes)
                if found is None:
                    self._grow(area.buddy, nbytes)
                    found = area.buddy.allocate(nbytes)
                    assert found is not None
                address = found
                area.asked[address] = nbytes
            self._note_use()
            return address

    def free(self, address: int, nbytes: int, persistent: bool = False) -> None:
        """Gives a block back. Safe from a finaliser at any moment."""
        area = self.persistent if persistent else self.temporary
        area.home(nbytes).append(address)
        if nbytes > REGION and self._lock.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._lock.release()

    def release_unused(self, keep: int = KEEP) -> None:
        """Returns wholly free regions to the system until at most ``keep`` free bytes are left in such
        regions."""
        with self._lock:
            self._settle()
            self._release(keep)

    # -- inside the lock -----------------------------------------------------------------------------------
    def _settle(self) -> None:
        """Merges idle blocks, and returns regions to the system when much is free."""
        for area in (self.temporary, self.persistent):
            for addresses in area.idle:
                while addresses:
                    try:
                        address = addresses.pop()
                    except IndexError:  # another thread took it
                        break
                    area.buddy.free(address)
                    del area.asked[address]
        spare = KEEP + max(self._peaks)
        if self._free_large() > spare:
            self._release(spare)

    def _note_use(self) -> None:
        """Keeps the peaks: of all time, and of the last two windows of large allocations, which tell how much
        will be needed again."""
        large = self._allocated_large()
        self._window += 1
        if self._window > WINDOW:
            self._window, self._peaks = 0, (self._peaks[1], 0)
        self._peaks = (self._peaks[0], max(self._peaks[1], large))
        if large + self.temporary.carved + self.persistent.carved > self._peak_allocated:
            self._peak_allocated = max(self._peak_allocated, self._allocated())

    def _free_large(self) -> int:
        return self.temporary.buddy.free_bytes + self.persistent.buddy.free_bytes

    def _release(self, keep: int) -> None:
        for area in (self.temporary, self.persistent):
            while self._free_large() > keep:
                region = area.buddy.remove_free_region()
                if region is None:
                    break
                pages.unmap_pages(*region)

    def _grow(self, buddy: Buddy, nbytes: int) -> None:
        needed = buddy.block_bytes(nbytes)
        size = max(needed, REGION)
        if self.limit is not None and self._reserved() + size > self.limit:
            size = needed
        self._admit(nbytes, size)
        address = self._map(nbytes, size)
        pages.advise(address, size, pages.HUGE_PAGES)
        buddy.add_region(address, size)
        self._peak_reserved = max(self._peak_reserved, self._reserved())

    def slab(self, nbytes: int) -> int:
        self._admit(nbytes, SLAB)
        self._slabs += SLAB
        address = self._map(nbytes, SLAB)
        self._peak_reserved = max(self._peak_reserved, self._reserved())
        return address

    def _admit(self, nbytes: int, size: int) -> None:
        if self.limit is not None and self._reserved() + size > self.limit:
            self._release(0)
            if self._reserved() + size > self.limit:
                raise OutOfMemory(
                    self._report(nbytes, f"the limit is {_megabytes(self.limit)}; raise MS_MEMORY_POOL_SIZE")
                )

    def _map(self, nbytes: int, size: int) -> int:
        try:
            return pages.map_pages(size, align=SLAB)
        except MemoryError as error:
            raise OutOfMemory(self._report(nbytes, str(error))) from None

    def _report(self, nbytes: int, reason: str) -> str:
        return (
            f"out of memory on CPU: asked for {_megabytes(nbytes)}, {reason}. In use: "
            f"{_megabytes(self._allocated())}, "
            f"reserved: {_megabytes(self._reserved())}, peak: {_megabytes(self._peak_allocated)}"
        )

    # -- figures -------------------------------------------------------------------------------------------
    def _allocated(self) -> int:
        return self._allocated_large() + self.temporary.small_in_use() + self.persistent.small_in_use()

    def _allocated_large(self) -> int:
        one, two = self.temporary.buddy, self.persistent.buddy
        return one.region_bytes - one.free_bytes + two.region_bytes - two.free_bytes

    def _reserved(self) -> int:
        return self._slabs + self.temporary.buddy.region_bytes + self.persistent.buddy.region_bytes

    def statistics(self) -> MemoryStatistics:
        with self._lock:
            self._settle()
            areas = (self.temporary, self.persistent)
            free = self._free_large()
            used = self._allocated_large()
            asked = sum(sum(a.asked.values()) for a in areas)
            largest = max(a.buddy.largest_free for a in areas)
            allocated = self._allocated()
            self._peak_allocated = max(self._peak_allocated, allocated)
            return MemoryStatistics(
                allocated,
                self._reserved(),
                self._peak_allocated,
                self._peak_reserved,
                1 - asked / used if used else 0.0,
                1 - largest / free if free else 0.0,
                self.limit,
            )

    def reset_peak(self) -> None:
        with self._lock:
            self._peak_allocated, self._peak_reserved = self._allocated(), self._reserved()

    def map(self) -> list[tuple[str, int, int, bool]]:
        """(area, address, bytes, in use) of the large blocks."""
        with self._lock:
            self._settle()
            return [
                (name, *block)
                for name, area in (("temporary", self.temporary), ("persistent", self.persistent))
                for block in area.buddy.blocks()
            ]


def _megabytes(nbytes: int) -> str:
    return f"{nbytes} bytes" if nbytes < 1 << 20 else f"{nbytes / (1 << 20):.1f} MB"


def limit_from_environment() -> int | None:
    """``MS_MEMORY_POOL_SIZE`` in bytes, or None."""
    text = os.environ.get("MS_MEMORY_POOL_SIZE", "").strip()
    return parse_size(text) if text else None
