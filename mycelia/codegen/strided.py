"""Iteration spaces: how shapes and strides collapse to few dimensions, and loops over their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mycelia.codegen.text import Function, Operand, Value


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a dense array."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def broadcast_strides(shape: Sequence[int], space: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a dense array of ``shape`` seen in a larger space: 0 where it is repeated."""
    missing = len(space) - len(shape)
    return (0,) * missing + tuple(
        0 if extent == 1 else stride for extent, stride in zip(shape, row_major(shape))
    )


@dataclass(frozen=True)
class Space:
    """A collapsed iteration space.

    Attributes:
        sizes: extents, outermost first; never empty.
        strides: for each operand its strides in elements, one per dimension.
        tags: for each dimension its tag (dimensions with different tags are never merged).
    """

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    tags: tuple[int, ...]

    @property
    def total(self) -> int:
        product = 1
        for extent in self.sizes:
            product *= extent
        return product


def collapse(
    shape: Sequence[int], strides: Sequence[Sequence[int]], tags: Sequence[int] | None = None
) -> Space:
    """Drops dimensions of extent 1 and merges neighbours that every operand walks as one.

    Example:
        >>> collapse((2, 3, 4), [(12, 4, 1), (0, 0, 1)]).sizes
        (6, 4)
    """
    tags = tags or (0,) * len(shape)
    kept: list[tuple[int, list[int], int]] = []
    for d, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = [s[d] for s in strides]
        if (
            kept
            and kept[-1][2] == tags[d]
            and all(outer == inner * extent for outer, inner in zip(kept[-1][1], steps))
        ):
            kept[-1] = (kept[-1][0] * extent, steps, tags[d])
        else:
            kept.append((extent, steps, tags[d]))
    if not kept:
        kept.append((1, [0] * len(strides), tags[-1] if tags else 0))
    return Space(
        tuple(k[0] for k in kept),
        tuple(tuple(k[1][i] for k in kept) for i in range(len(strides))),
        tuple(k[2] for k in kept),
    )


def offsets_at(
    f: Function, position: Operand, sizes: Sequence[Operand], strides: Sequence[Sequence[Operand]]
) -> tuple[list[Operand], list[Operand]]:
    """The index of a row-major position, and each operand's offset there."""
    index: list[Operand] = []
    rest = position
    for extent in reversed(sizes[1:]):
        index.insert(0, f.rem(rest, extent))
        rest = f.div(rest, extent)
    if sizes:
        index.insert(0, rest)
    return index, [f.add(*(f.mul(i, s) for i, s in zip(index, steps))) for steps in strides]


@dataclass
class Row:
    """A piece of an innermost row: elements [lo, hi) of it, where each operand's row begins (in bytes), its
    number, and carried values."""

    lo: Value
    hi: Value
    offsets: list[Operand]
    number: Operand
    carried: list[Value]
    following: list[Value]


@contextmanager
def rows(
    f: Function,
    begin: Operand,
    end: Operand,
    inner: Operand,
    sizes: Sequence[Operand],
    strides: Sequence[Sequence[Operand]],
    carried: Sequence[Value] = (),
) -> Iterator[Row]:
    """Walks positions [begin, end) of a space row by row; end > begin.

    Args:
        inner: extent of the innermost dimension.
        sizes: extents of the dimensions outside it; without any there is one row.
        strides: for each operand its strides in bytes in those dimensions.
        carried: values that go from row to row; the body sets ``row.following``, and finds the results in
            ``row.carried`` afterwards.
    """
    if not sizes:
        row = Row(f.value(begin), f.value(end), [0] * len(strides), 0, list(carried), list(carried))
        yield row
        row.carried = row.following
        return
    first = f.div(begin, inner)
    last = f.div(f.sub(end, 1), inner)
    odometer = len(sizes) > 1
    start: list[Value] = []
    turns: list[list[Operand]] = []
    if odometer:  # offsets go along; a wrap of dimension d steps back over it and once along d - 1
        index, offsets = offsets_at(f, first, sizes, strides)
        start = [f.value(x) for x in (*index, *offsets)]
        turns = [
            [f.sub(steps[d - 1], f.mul(sizes[d], steps[d])) for d in range(1, len(sizes))]
            for steps in strides
        ]
    with f.loop(first, f.add(last, 1), carried=[*start, *carried]) as loop:
        number = loop.index
        if odometer:
            index = list(loop.carried[: len(sizes)])
            offsets = list(loop.carried[len(sizes) : len(start)])
        else:
            offsets = [f.mul(number, steps[0]) for steps in strides]
        origin = f.mul(number, inner)
        lo = f.value(f.maximum(f.sub(begin, origin), 0))
        hi = f.value(f.minimum(f.sub(end, origin), inner))
        row = Row(lo, hi, offsets, number, loop.carried[len(start) :], loop.carried[len(start) :])
        yield row
        ahead: list[Value] = []
        if odometer:
            moved = [f.add(o, steps[-1]) for o, steps in zip(offsets, strides)]
            step: Value | int = 1
            fresh: list[Value] = []
            for d in range(len(sizes) - 1, 0, -1):
                i = f.add(index[d], step)
                wrap = f.icmp("eq", i, sizes[d])
                fresh.insert(0, f.select(wrap, 0, i))
                moved = [f.add(o, f.select(wrap, t[d - 1], 0)) for o, t in zip(moved, turns)]
                step = f.cast("zext", wrap, "i64")
            fresh.insert(0, f.value(f.add(index[0], step)))
            ahead = [*fresh, *(f.value(o) for o in moved)]
        loop.next([*ahead, *row.following])
    row.carried = loop.results[len(start) :]
