"""Reading and adding by index along one axis of ``[outer, axis, inner]``.

An index counts from the end when it is negative; one out of range ends the kernel with status 1. Adding
goes in the order of the
indices within one part of the result, and chunks own disjoint parts.
"""
from __future__ import annotations

from mycelia.codegen.scalar import VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Function, Module, Operand, Value
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

LONG_ROW = 64  # bytes from which a row is worth a call of memcpy


def _index_at(
    f: Function, one: VectorScalars, dtype: DType, base: Value, place: Operand, extent: Operand
) -> Value:
    """The index stored at a place, counted from the start; leaves the kernel if it is out of range."""
    raw = one.load(dtype, f.at(memory_type(dtype, 1), base, place))
    index = one.cast(raw, dtypes.int64).value
    index = f.select(f.icmp("slt", index, 0), f.add(index, extent), index)
    inside, outside = f.fresh("inside"), f.fresh("outside")
    f.branch_if(f.icmp("ult", index, extent), inside, outside)
    f.start(outside)
    f.ret(1)
    f.start(inside)
    return index


def gather_text(symbol: str, itemsize: int, index: DType, long_rows: bool, target: Target) -> str:
    """Rows of ``inner`` elements, one per index.

    Words: addresses of x, indices, y; rows of y in all, per chunk; indices; extent of the axis; inner.
    """
    module = Module()
    f = module.kernel(symbol)
    x, indices, y = f.words("ptr", "ptr", "ptr")
    rows, each, count, extent, inner = f.words("i64", "i64", "i64", "i64", "i64", first=3)
    one, type = VectorScalars(f, 1), f"i{itemsize * 8}"
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), rows)) as loop:
        row = _index_at(f, one, index, indices, f.rem(loop.index, count), extent)
        row = f.add(f.mul(f.div(loop.index, count), extent), row)
        source, sink = f.at(type, x, f.mul(row, inner)), f.at(type, y, f.mul(loop.index, inner))
        if long_rows:
            module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
            nbytes = f.mul(inner, itemsize)
            f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {sink}, ptr {source}, i64 {nbytes}, i1 false)")
        else:
            with f.loop(0, inner) as along:
                f.store(f.load(type, f.at(type, source, along.index)), f.at(type, sink, along.index))
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


def gather_elements_text(symbol: str, itemsize: int, index: DType, target: Target) -> str:
    """Element by element: ``y[o, j, k] = x[o, indices[o, j, k], k]``.

    Words: addresses of x, indices, y; rows ``(o, j)`` in all, per chunk; indices along the axis; extent of
    the axis; inner.
    """
    module = Module()
    f = module.kernel(symbol)
    x, indices, y = f.words("ptr", "ptr", "ptr")
    rows, each, count, extent, inner = f.words("i64", "i64", "i64", "i64", "i64", first=3)
    one, type = VectorScalars(f, 1), f"i{itemsize * 8}"
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), rows)) as loop:
        start = f.mul(loop.index, inner)
        base = f.mul(f.div(loop.index, count), extent)
        with f.loop(0, inner) as along:
            place = f.add(start, along.index)
            row = _index_at(f, one, index, indices, place, extent)
            source = f.add(f.mul(f.add(base, row), inner), along.index)
            f.store(f.load(type, f.at(type, x, source)), f.at(type, y, place))
    f.ret(0)
    return str(module)


def scatter_elements_text(symbol: str, dtype: DType, total: DType, index: DType, target: Target) -> str:
    """``dx[o, indices[o, j, k], k] += dy[o, j, k]``; units and words as for `scatter_add_text`."""
    module = Module()
    f = module.kernel(symbol)
    indices, dy, dx = f.words("ptr", "ptr", "ptr")
    units, each, count, extent, inner, width, tiles = f.words(*["i64"] * 7, first=3)
    one = VectorScalars(f, 1)
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        outer, left = f.div(unit.index, tiles), f.mul(f.rem(unit.index, tiles), width)
        right = f.minimum(f.add(left, width), inner)
        with f.loop(0, count) as loop:
            start = f.mul(f.add(f.mul(outer, count), loop.index), inner)
            with f.loop(left, right) as along:
                place = f.add(start, along.index)
                row = _index_at(f, one, index, indices, place, extent)
                value = one.load(dtype, f.at(memory_type(dtype, 1), dy, place))
                sink = f.add(f.mul(f.add(f.mul(outer, extent), row), inner), along.index)
                address = f.at(memory_type(total, 1), dx, sink)
                one.store(one.load(total, address) + one.cast(value, total), address)
    f.ret(0)
    return str(module)
