"""A buddy allocator over regions of addresses: blocks of a power of two, split on demand, merged when both
halves are free."""

from __future__ import annotations

import bisect
from collections.abc import Iterator


class Buddy:
    """Bookkeeping only: touches no memory.

    Args:
        unit: bytes of the smallest block, a power of two.

    Attributes:
        region_bytes, free_bytes: in all regions, and of these not in use.

    Example:
        >>> buddy = Buddy(unit=4)
        >>> buddy.add_region(0, 16)
        >>> buddy.allocate(3), buddy.allocate(8)
        (0, 8)
    """

    def __init__(self, unit: int) -> None:
        self.unit = unit
        self._free: list[set[int]] = []  # by order: addresses of free blocks of unit << order bytes
        self._blocks: dict[int, int] = {}  # address -> order of the blocks in use
        self._regions: dict[int, int] = {}  # address -> order of the whole region
        self._starts: list[int] = []  # sorted addresses of the regions
        self.free_bytes = self.region_bytes = 0

    def order(self, nbytes: int) -> int:
        """Of the smallest block that holds so many bytes."""
        return max(0, (-(-nbytes // self.unit) - 1).bit_length())

    def block_bytes(self, nbytes: int) -> int:
        return self.unit << self.order(nbytes)

    def add_region(self, address: int, nbytes: int) -> None:
        """Adds free addresses; ``nbytes`` must be the unit times a power of two."""
        order = self.order(nbytes)
        if nbytes != self.unit << order:
            raise ValueError(
                f"add_region: nbytes must be {self.unit} times a power of two. Received: {nbytes}"
            )
        self._regions[address] = order
        while len(self._free) <= order:
            self._free.append(set())
        self._free[order].add(address)
        bisect.insort(self._starts, address)
        self.free_bytes += nbytes
        self.region_bytes += nbytes

    def remove_free_region(self) -> tuple[int, int] | None:
        """Takes out a region that is wholly free and returns (address, nbytes); None when there is none."""
        for address, order in self._regions.items():
            if address in self._free[order]:
                self._free[order].remove(address)
                del self._regions[address]
                self._starts.remove(address)
                self.free_bytes -= self.unit << order
                self.region_bytes -= self.unit << order
                return address, self.unit << order
        return None

    def allocate(self, nbytes: int) -> int | None:
        """Address of a block of at least so many bytes, the lowest of the tightest fit; None when no block is
        left."""
        wanted = self.order(nbytes)
        for order in range(wanted, len(self._free)):
            if self._free[order]:
                address = min(self._free[order])
                self._free[order].remove(address)
                while order > wanted:
                    order -= 1
                    self._free[order].add(address + (self.unit << order))
                self._blocks[address] = wanted
                self.free_bytes -= self.unit << wanted
                return address
        return None

    def free(self, address: int) -> int:
        """Gives a block back, merging it with its buddies, and returns its bytes.

        Raises:
            KeyError: no block in use starts there.
        """
        order = self._blocks.pop(address)
        nbytes = self.unit << order
        self.free_bytes += nbytes
        region = self._starts[bisect.bisect_right(self._starts, address) - 1]
        while order < self._regions[region]:
            buddy = region + ((address - region) ^ (self.unit << order))
            if buddy not in self._free[order]:
                break
            self._free[order].remove(buddy)
            address, order = min(address, buddy), order + 1
        self._free[order].add(address)
        return nbytes

    @property
    def largest_free(self) -> int:
        return max((self.unit << order for order, blocks in enumerate(self._free) if blocks), default=0)

    def blocks(self) -> Iterator[tuple[int, int, bool]]:
        """(address, bytes, in use) of all blocks by address."""
        used = [(address, self.unit << order, True) for address, order in self._blocks.items()]
        free = [
            (address, self.unit << order, False)
            for order, blocks in enumerate(self._free)
            for address in blocks
        ]
        yield from sorted(used + free)
