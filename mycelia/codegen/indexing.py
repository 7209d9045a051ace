"""Reading, writing and adding by index along one axis of ``[outer, axis, inner]``.

An index counts from the end when it is negative; one out of range ends the kernel with status 1. Writing
and adding go in the order of the indices within one part of the result, and chunks own disjoint parts.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Function, Module, Operand, Value, vector
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

UNROLLED = 4  # pieces of a long row that are in flight together


@dataclass(frozen=True)
class RowCopy:
    """How a row of some bytes is copied whatever its elements: in pieces, the last of which may overlap the
    one before.

    Attributes:
        width: bytes of a piece, a power of two; 0 if rows are empty.
        pieces: 1, 2, or more, which is then written 3.
    """

    width: int
    pieces: int

    @staticmethod
    def of(nbytes: int, target: Target) -> RowCopy:
        if nbytes == 0:
            return RowCopy(0, 0)
        width = min(1 << nbytes.bit_length() - 1, target.vector_bytes)
        return RowCopy(width, min(-(-nbytes // width), 3))

    @property
    def key(self) -> str:
        return f"{self.width}x{self.pieces}"

    def write(self, f: Function, source: Value, sink: Value, nbytes: Operand) -> None:
        type = f"i{8 * self.width}" if self.width <= 8 else vector(self.width, "i8")

        def move(*offsets: Operand) -> None:
            read = [f.load(type, f.byte(source, at), 1) for at in offsets]
            for piece, at in zip(read, offsets):
                f.store(piece, f.byte(sink, at), 1)

        if self.pieces == 0:
            return
        last = f.sub(nbytes, self.width)
        if self.pieces <= 2:
            move(*(0, last)[: self.pieces])
            return
        step = UNROLLED * self.width
        whole = f.mul(f.div(nbytes, step), step)
        with f.loop(0, whole, step) as along:
            move(*(f.add(along.index, k * self.width) for k in range(UNROLLED)))
        with f.loop(whole, last, self.width) as along:
            move(along.index)
        move(last)


def _index_at(
    f: Function, one: VectorScalars, dtype: DType, base: Value, place: Operand, extent: Operand
) -> Value:
    """The index stored at a place, counted from the start; leaves the kernel if it is out of range."""
    raw = one.load(dtype, f.at(memory_type(dtype, 1), base, place))
    index = one.cast(raw, dtypes.int64).value
    if dtype.kind == "i":
        index = f.select(f.icmp("slt", index, 0), f.add(index, extent), index)
    inside, outside = f.fresh("inside"), f.fresh("outside")
    f.branch_if(f.icmp("ult", index, extent), inside, outside)
    f.start(outside)
    f.ret(1)
    f.start(inside)
    return index


@contextmanager
def _picked_rows(
    f: Function, rows: Operand, each: Operand, count: Operand, extent: Operand
) -> Iterator[tuple[Value, Value, Value]]:
    """The chunk's rows ``(o, j)`` of ``[outer, count]``: their number, j, and ``o * extent``, without a
    division for each."""
    first = f.mul(f.params[1], each)
    place, start = f.value(f.rem(first, count)), f.value(f.mul(f.div(first, count), extent))
    with f.loop(first, f.minimum(f.add(first, each), rows), carried=[place, start]) as loop:
        place, start = loop.carried
        yield loop.index, place, start
        following = f.add(place, 1)
        wraps = f.icmp("eq", following, count)
        loop.next([f.select(wraps, 0, following), f.value(f.add(start, f.select(wraps, extent, 0)))])


def gather_text(symbol: str, row: RowCopy, index: DType) -> str:
    """Rows of some bytes, one per index.

    Words: addresses of x, indices, y; rows of y in all, per chunk; indices; extent of the axis; bytes of a
    row.
    """
    module = Module()
    f = module.kernel(symbol)
    x, indices, y = f.words("ptr", "ptr", "ptr")
    rows, each, count, extent, nbytes = f.words("i64", "i64", "i64", "i64", "i64", first=3)
    one = VectorScalars(f, 1)
    with _picked_rows(f, rows, each, count, extent) as (number, place, start):
        at = _index_at(f, one, index, indices, place, extent)
        source = f.byte(x, f.mul(f.add(start, at), nbytes))
        row.write(f, source, f.byte(y, f.mul(number, nbytes)), nbytes)
    f.ret(0)
    return str(module)


def scatter_update_text(symbol: str, row: RowCopy, index: DType) -> str:
    """Rows of ``value`` written where the indices say, the last one where they repeat.

    A unit is the rows ``[part * height, (part + 1) * height)`` of one outer position of the result. Words:
    addresses of indices, value, result; units in all, per chunk; indices; extent of the axis; bytes of a row;
    height; parts.
    """
    module = Module()
    f = module.kernel(symbol)
    indices, value, result = f.words("ptr", "ptr", "ptr")
    units, each, count, extent, nbytes, height, parts = f.words(*["i64"] * 7, first=3)
    one = VectorScalars(f, 1)
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        outer, low = f.div(unit.index, parts), f.mul(f.rem(unit.index, parts), height)
        with f.loop(0, count) as loop:
            at = _index_at(f, one, index, indices, loop.index, extent)
            with f.when(f.icmp("ult", f.sub(at, low), height)):
                source = f.byte(value, f.mul(f.add(f.mul(outer, count), loop.index), nbytes))
                sink = f.byte(result, f.mul(f.add(f.mul(outer, extent), at), nbytes))
                row.write(f, source, sink, nbytes)
    f.ret(0)
    return str(module)


def scatter_add_text(symbol: str, dtype: DType, total: DType, index: DType, target: Target) -> str:
    """Adds rows of dy to the rows of dx that the indices name; dx begins as zeros.

    A unit is one outer position's columns ``[tile * width, (tile + 1) * width)``. Words: addresses of
    indices, dy, dx; units in all,
    per chunk; indices; extent of the axis; inner; width; tiles.
    """
    module = Module()
    f = module.kernel(symbol)
    indices, dy, dx = f.words("ptr", "ptr", "ptr")
    units, each, count, extent, inner, width, tiles = f.words(*["i64"] * 7, first=3)
    one = VectorScalars(f, 1)
    m = VectorScalars(f, target.lanes(max(total.itemsize, 4)))
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        outer, left = f.div(unit.index, tiles), f.mul(f.rem(unit.index, tiles), width)
        right = f.minimum(f.add(left, width), inner)
        with f.loop(0, count) as loop:
            row = _index_at(f, one, index, indices, loop.index, extent)
            source = f.mul(f.add(f.mul(outer, count), loop.index), inner)
            sink = f.mul(f.add(f.mul(outer, extent), row), inner)

            def add(
                m: VectorScalars,
                column: Operand,
                mask: Value | None = None,
                source: Operand = source,
                sink: Operand = sink,
            ) -> None:
                value = m.load(dtype, f.at(memory_type(dtype, 1), dy, f.add(source, column)), mask)
                address = f.at(memory_type(total, 1), dx, f.add(sink, column))
                m.store(m.load(total, address, mask) + m.cast(value, total), address, mask)

            whole = f.add(left, f.mul(f.div(f.sub(right, left), m.lanes), m.lanes))
            with f.loop(left, whole, m.lanes) as along:
                add(m, along.index)
            with f.loop(whole, right) as along:
                add(one, along.index)
    f.ret(0)
    return str(module)


def gather_elements_text(symbol: str, itemsize: int, index: DType, last: bool) -> str:
    """Element by element: ``y[o, j, k] = x[o, indices[o, j, k], k]``.

    Words: addresses of x, indices, y; rows ``(o, j)`` in all, per chunk; indices along the axis; extent of
    the axis; inner.

    Args:
        last: inner is 1.
    """
    module = Module()
    f = module.kernel(symbol)
    x, indices, y = f.words("ptr", "ptr", "ptr")
    rows, each, count, extent, inner = f.words("i64", "i64", "i64", "i64", "i64", first=3)
    columns: Operand = 1 if last else inner
    one, type = VectorScalars(f, 1), f"i{itemsize * 8}"
    with _picked_rows(f, rows, each, count, extent) as (number, _, base):
        start = f.mul(number, columns)
        with f.loop(0, columns) as along:
            place = f.add(start, along.index)
            row = _index_at(f, one, index, indices, place, extent)
            source = f.add(f.mul(f.add(base, row), columns), along.index)
            f.store(f.load(type, f.at(type, x, source)), f.at(type, y, place))
    f.ret(0)
    return str(module)


_COMBINE: dict[str, Callable[[VectorScalars, Scalar, Scalar], Scalar]] = {
    "add": lambda m, held, x: held + x,
    "update": lambda m, held, x: x,
    "mul": lambda m, held, x: held * x,
    "div": lambda m, held, x: m.div(held, x),
    "max": lambda m, held, x: m.maximum(held, x),
    "min": lambda m, held, x: m.minimum(held, x),
}


def scatter_elements_text(
    symbol: str, dtype: DType, total: DType, index: DType, last: bool, shared: bool, reduce: str = "add"
) -> str:
    """``dx[o, indices[o, j, k], k] += dy[o, j, k]``; units and words as for `scatter_add_text`.

    Args:
        last: inner is 1.
        shared: all outer positions have the same indices, ``[j]``; inner is 1.
        reduce: how elements combine, a key of ``_COMBINE``.
    """
    module = Module()
    f = module.kernel(symbol)
    indices, dy, dx = f.words("ptr", "ptr", "ptr")
    units, each, count, extent, *inside = f.words(*["i64"] * 7, first=3)
    inner, width, tiles = (1, 1, 1) if last else inside
    one = VectorScalars(f, 1)
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        outer, left = f.div(unit.index, tiles), f.mul(f.rem(unit.index, tiles), width)
        right: Operand = 1 if last else f.minimum(f.add(left, width), inner)
        with f.loop(0, count) as loop:
            start = f.mul(f.add(f.mul(outer, count), loop.index), inner)
            with f.loop(left, right) as along:
                place = f.add(start, along.index)
                row = _index_at(f, one, index, indices, loop.index if shared else place, extent)
                value = one.load(dtype, f.at(memory_type(dtype, 1), dy, place))
                sink = f.add(f.mul(f.add(f.mul(outer, extent), row), inner), along.index)
                address = f.at(memory_type(total, 1), dx, sink)
                combined = _COMBINE[reduce](one, one.load(total, address), one.cast(value, total))
                one.store(combined, address)
    f.ret(0)
    return str(module)
