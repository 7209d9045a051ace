"""Running sums along one axis of ``[outer, axis, inner]``.

Floats are added up in float64 and each sum is rounded once. An axis too long for one chunk is cut into parts:
a first kernel adds up each part, then every part starts from the sums of those before it.
"""
from __future__ import annotations

from dataclasses import dataclass

from mycelia.codegen.scalar import VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Module, Operand
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

LANES = 16  # columns at least whose sums run side by side: a cache line of float32


@dataclass(frozen=True)
class Scan:
    """What a running sum is compiled for.

    Attributes:
        exclusive: an element's sum leaves the element itself out.
        reverse: sums run from the end of the axis.
        last: inner is 1.
    """

    dtype: DType
    exclusive: bool
    reverse: bool
    last: bool

    @property
    def total(self) -> DType:
        """The type in which is added up."""
        return dtypes.float64 if self.dtype.is_float else self.dtype

    @property
    def key(self) -> str:
        flags = ("exclusive", self.exclusive), ("reverse", self.reverse), ("last", self.last)
        return "_".join([self.dtype.name, *(name for name, present in flags if present)])


def scan_text(symbol: str, scan: Scan, target: Target, totals_only: bool) -> str:
    """The sums, or with ``totals_only`` the whole sum of each part alone.

    A unit is one part of one outer position's columns ``[tile * width, (tile + 1) * width)``; parts count in
    the direction of the sums. Words: addresses of x, y and the parts' sums ``[outer, parts, inner]``; units
    in all, per chunk; extent of the axis; inner; width; tiles; elements of a part along the axis; parts.
    """
    module = Module()
    f = module.kernel(symbol)
    x, y, totals = f.words("ptr", "ptr", "ptr")
    units, each, extent, *inside, part, parts = f.words(*["i64"] * 8, first=3)
    inner, width, tiles = (1, 1, 1) if scan.last else inside
    dtype, total = scan.dtype, scan.total
    one = VectorScalars(f, 1)
    many = VectorScalars(f, max(LANES, target.lanes(dtype.itemsize)))
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        left = f.mul(f.rem(unit.index, tiles), width)
        right: Operand = 1 if scan.last else f.minimum(f.add(left, width), inner)
        number = f.div(unit.index, tiles)
        at, outer = f.rem(number, parts), f.div(number, parts)
        begin = f.mul(at, part)
        end = f.minimum(f.add(begin, part), extent)

        def run(
            m: VectorScalars,
            column: Operand,
            at: Operand = at,
            outer: Operand = outer,
            begin: Operand = begin,
            end: Operand = end,
        ) -> None:
            """The part's sums of adjacent columns."""

            def part_total(number: Operand):
                place = f.add(f.mul(f.add(f.mul(outer, parts), number), inner), column)
                return f.at(memory_type(total, 1), totals, place)

            nothing = m.const(0, total)
            running = nothing.value
            if not totals_only:
                with f.loop(0, at, carried=[running]) as before:
                    so_far = m.wrap(before.carried[0], total)
                    before.next([(so_far + m.load(total, part_total(before.index))).value])
                running = before.results[0]
            with f.loop(begin, end, carried=[running]) as loop:
                row = f.sub(f.sub(extent, 1), loop.index) if scan.reverse else loop.index
                place = f.add(f.mul(f.add(f.mul(outer, extent), row), inner), column)
                so_far = m.wrap(loop.carried[0], total)
                value = m.load(dtype, f.at(memory_type(dtype, 1), x, place))
                following = so_far + m.cast(value, total)
                if not totals_only:
                    result = so_far if scan.exclusive else following
                    m.store(m.cast(result, dtype), f.at(memory_type(dtype, 1), y, place))
                loop.next([following.value])
            if totals_only:
                m.store(m.wrap(loop.results[0], total), part_total(at))

        whole: Operand = left
        if not scan.last:
            whole = f.add(left, f.mul(f.div(f.sub(right, left), many.lanes), many.lanes))
            with f.loop(left, whole, many.lanes) as along:
                run(many, along.index)
        with f.loop(whole, right) as along:
            run(one, along.index)
    f.ret(0)
    return str(module)
