"""Running sums, products, extrema and logarithms of sums of exponentials along one axis of
``[outer, axis, inner]``.

Floats are combined in float64 and each result is rounded once. An axis too long for one chunk is cut into
parts: a first kernel combines each part, then every part starts from the totals of those before it.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Module, Operand, Value, constant, vector
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

LANES = 16  # columns at least whose sums run side by side: a cache line of float32


@dataclass(frozen=True)
class Scan:
    """What a running sum is compiled for.

    Attributes:
        exclusive: an element's result leaves the element itself out.
        reverse: results run from the end of the axis.
        last: inner is 1.
        kind: ``"sum"``, ``"prod"``, ``"logsumexp"``, ``"max"`` or ``"min"``; the last two also give the
            place of the extremum, the latest of equal ones, and have one part.
    """

    dtype: DType
    exclusive: bool
    reverse: bool
    last: bool
    kind: str = "sum"

    @property
    def total(self) -> DType:
        """The type in which is combined."""
        return dtypes.float64 if self.dtype.is_float else self.dtype

    @property
    def places(self) -> bool:
        """Whether the places of the results are wanted."""
        return self.kind in ("max", "min")

    @property
    def nothing(self) -> float:
        """What combines with anything to that."""
        if self.kind in ("sum", "prod"):
            return int(self.kind == "prod")
        if self.dtype.is_float:
            return float("inf" if self.kind == "min" else "-inf")
        if self.dtype.kind == "b":
            return self.kind == "min"
        info = np.iinfo(self.dtype.numpy)
        return int(info.max if self.kind == "min" else info.min)

    def combine(self, m: VectorScalars, so_far: Scalar, x: Scalar) -> Scalar:
        if self.kind == "sum":
            return so_far + x
        if self.kind == "prod":
            return so_far * x
        if self.kind == "max":
            return m.maximum(so_far, x)
        if self.kind == "min":
            return m.minimum(so_far, x)
        high, low = m.maximum(so_far, x), m.minimum(so_far, x)
        apart = high + m.log1p(m.exp(low - high))
        return m.select(m.eq(high, low), high + math.log(2), apart)  # also of two infinities

    def takes_place(self, m: VectorScalars, so_far: Scalar, x: Scalar) -> Value:
        """Whether an element becomes the extremum."""
        beats = m.ge(x, so_far) if self.kind == "max" else m.le(x, so_far)
        return (m.logical_or(beats, m.isnan(x)) if self.total.is_float else beats).value

    @property
    def key(self) -> str:
        kind = [self.kind] if self.kind != "sum" else []
        flags = [name for name in ("exclusive", "reverse", "last") if getattr(self, name)]
        return "_".join([self.dtype.name, *kind, *flags])


def scan_text(symbol: str, scan: Scan, target: Target, totals_only: bool) -> str:
    """The running results, or with ``totals_only`` the total of each part alone.

    A unit is one part of one outer position's columns ``[tile * width, (tile + 1) * width)``; parts count in
    the direction of the scan. Words: addresses of x, y, the parts' totals ``[outer, parts, inner]`` and the
    places (int64, of y's shape); units in all, per chunk; extent of the axis; inner; width; tiles; elements
    of a part along the axis; parts.
    """
    module = Module()
    f = module.kernel(symbol)
    x, y, totals, places = f.words("ptr", "ptr", "ptr", "ptr")
    units, each, extent, *inside, part, parts = f.words(*["i64"] * 8, first=4)
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

        def part_total(number: Operand, column: Operand, outer: Operand = outer) -> Value:
            place = f.add(f.mul(f.add(f.mul(outer, parts), number), inner), column)
            return f.at(memory_type(total, 1), totals, place)

        def run(
            m: VectorScalars,
            column: Operand,
            at: Operand = at,
            outer: Operand = outer,
            begin: Operand = begin,
            end: Operand = end,
        ) -> None:
            """The part's results of adjacent columns."""
            running = m.const(scan.nothing, total).value
            if not totals_only:
                with f.loop(0, at, carried=[running]) as before:
                    so_far = m.wrap(before.carried[0], total)
                    known = m.load(total, part_total(before.index, column))
                    before.next([scan.combine(m, so_far, known).value])
                running = before.results[0]
            carried = [running, constant(0, vector(m.lanes, "i64"))] if scan.places else [running]
            with f.loop(begin, end, carried=carried) as loop:
                row = f.sub(f.sub(extent, 1), loop.index) if scan.reverse else loop.index
                place = f.add(f.mul(f.add(f.mul(outer, extent), row), inner), column)
                so_far = m.wrap(loop.carried[0], total)
                value = m.cast(m.load(dtype, f.at(memory_type(dtype, 1), x, place)), total)
                following = [scan.combine(m, so_far, value).value]
                if scan.places:
                    here = f.splat(f.value(row), m.lanes)
                    following.append(f.select(scan.takes_place(m, so_far, value), here, loop.carried[1]))
                    f.store(following[1], f.at("i64", places, place))
                if not totals_only:
                    result = so_far if scan.exclusive else m.wrap(following[0], total)
                    m.store(m.cast(result, dtype), f.at(memory_type(dtype, 1), y, place))
                loop.next(following)
            if totals_only:
                m.store(m.wrap(loop.results[0], total), part_total(at, column))

        def along_row() -> None:
            """The total of a part of one column: lanes take turns."""
            whole = f.add(begin, f.mul(f.div(f.sub(end, begin), many.lanes), many.lanes))
            running = many.const(scan.nothing, total).value
            start = f.mul(outer, extent)

            def element(m: VectorScalars, place: Operand, so_far: Value) -> Value:
                row = f.sub(f.sub(extent, m.lanes), place) if scan.reverse else place
                value = m.load(dtype, f.at(memory_type(dtype, 1), x, f.add(start, row)))
                return scan.combine(m, m.wrap(so_far, total), m.cast(value, total)).value

            with f.loop(begin, whole, many.lanes, [running]) as loop:
                loop.next([element(many, loop.index, loop.carried[0])])
            result = one.const(scan.nothing, total).value
            for lane in range(many.lanes):
                single = one.wrap(f.extract(loop.results[0], lane), total)
                result = scan.combine(one, one.wrap(result, total), single).value
            with f.loop(whole, end, 1, [result]) as loop:
                loop.next([element(one, loop.index, loop.carried[0])])
            one.store(one.wrap(loop.results[0], total), part_total(at, 0))

        if scan.last and totals_only:
            along_row()
        else:
            whole: Operand = left
            if not scan.last:
                whole = f.add(left, f.mul(f.div(f.sub(right, left), many.lanes), many.lanes))
                with f.loop(left, whole, many.lanes) as along:
                    run(many, along.index)
            with f.loop(whole, right) as along:
                run(one, along.index)
    f.ret(0)
    return str(module)
