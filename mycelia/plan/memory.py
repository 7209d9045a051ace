"""From lifetimes to offsets: a pure function. Two buffers that live at the same time never overlap."""
from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True)
class Lifetime:
    """A buffer of ``nbytes`` that is in use from instruction ``start`` to instruction ``end``, both
    included.
    """

    nbytes: int
    start: int
    end: int


@dataclass(frozen=True)
class Layout:
    """Offsets in the order of the lifetimes, and the bytes of the arena that holds them all."""

    offsets: tuple[int, ...]
    nbytes: int


def aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def assign_offsets(lifetimes: Sequence[Lifetime]) -> Layout:
    """Places the largest buffers first, each into the smallest gap that fits between those that live at the
    same time.

    Example:
        >>> assign_offsets([Lifetime(100, 0, 1), Lifetime(50, 1, 2), Lifetime(100, 2, 3)])
        Layout(offsets=(0, 128, 0), nbytes=192)
    """
    order = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].nbytes, lifetimes[i].start))
    offsets = [0] * len(lifetimes)
    placed: list[tuple[int, int, int, int]] = []  # (offset, end of bytes, start, end), by offset
    total = 0
    for index in order:
        buffer = lifetimes[index]
        size, start, end = aligned(buffer.nbytes), buffer.start, buffer.end
        if not size:
            continue
        best, best_gap, free = -1, 0, 0
        for offset, limit, first, last in placed:
            if first > end or last < start:
                continue
            gap = offset - free
            if gap >= size and (best < 0 or gap < best_gap):
                best, best_gap = free, gap
            if limit > free:
                free = limit
        if best < 0:
            best = free
        offsets[index] = best
        insort(placed, (best, best + size, start, end))
        if best + size > total:
            total = best + size
    return Layout(tuple(offsets), total)


def peak(lifetimes: Sequence[Lifetime]) -> int:
    """The most bytes alive at one instruction: no layout can be smaller."""
    changes: dict[int, int] = {}
    for buffer in lifetimes:
        changes[buffer.start] = changes.get(buffer.start, 0) + aligned(buffer.nbytes)
        changes[buffer.end + 1] = changes.get(buffer.end + 1, 0) - aligned(buffer.nbytes)
    most = alive = 0
    for at in sorted(changes):
        alive += changes[at]
        most = max(most, alive)
    return most
