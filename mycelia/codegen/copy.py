"""Moving elements without looking at them: strided copies, blocked transposes, fills. Only the element's
size matters."""

from __future__ import annotations

from mycelia.codegen.fused import CONTIGUOUS, REPEATED, STRIDED, load_lanes
from mycelia.codegen.scalar import VectorScalars
from mycelia.codegen.strided import offsets_at, rows
from mycelia.codegen.target import Target
from mycelia.codegen.text import Function, Module, Operand, Value, vector
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

RAW = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}
SIDE = 8  # a transpose works in blocks of 8 by 8


def copy_text(symbol: str, itemsize: int, rank: int, walk: str, target: Target) -> str:
    """Copies between two strided arrays, walking the destination's dimensions in order.

    Words: addresses of source and destination; elements in all, per chunk; with several dimensions their
    sizes; then for source and
    destination strides in bytes in the outer dimensions and, where it is not 0 or dense, in the innermost.

    Args:
        walk: two letters, how source and destination walk the innermost dimension.
    """
    module = Module()
    f = module.kernel(symbol)
    source, sink = f.words("ptr", "ptr")
    total, each = f.words("i64", "i64", first=2)
    outer = rank - 1
    at = 4
    sizes = f.words(*["i64"] * rank, first=at) if outer else []
    at += len(sizes)
    strides, steps = [], []
    for pattern in walk:
        strides.append(f.words(*["i64"] * outer, first=at))
        at += outer
        steps.append(f.words("i64", first=at)[0] if pattern == STRIDED else 0)
        at += pattern == STRIDED
    begin = f.mul(f.params[1], each)
    end = f.minimum(f.add(begin, each), total)
    dtype = RAW[itemsize]
    # scattered elements are gathered one by one: more lanes would only make the code longer
    lanes = target.lanes(itemsize) if walk[0] != STRIDED else min(8, target.lanes(itemsize))
    m, one = VectorScalars(f, lanes), VectorScalars(f, 1)
    with rows(f, begin, end, sizes[-1] if outer else total, sizes[:-1], strides) as row:
        read, write = f.byte(source, row.offsets[0]), f.byte(sink, row.offsets[1])
        _copy_row(f, m, one, dtype, walk, read, write, steps, row.lo, row.hi)
    f.ret(0)
    return str(module)


def _copy_row(
    f: Function,
    m: VectorScalars,
    one: VectorScalars,
    dtype: DType,
    walk: str,
    read: Value,
    write: Value,
    steps: list[Operand],
    lo: Value,
    hi: Value,
) -> None:
    type = f"i{dtype.bits}"
    repeated = one.load(dtype, read) if walk[0] == REPEATED else None

    def move(m: VectorScalars, j: Operand) -> None:
        if repeated is not None:
            x = m.wrap(f.splat(repeated.value, m.lanes), dtype)
        else:
            x = load_lanes(m, dtype, walk[0], read, j, steps[0])
        address = f.at(type, write, j) if walk[1] == CONTIGUOUS else f.byte(write, f.mul(j, steps[1]))
        m.store(x, address)

    at: Operand = lo
    if walk[1] == CONTIGUOUS:
        for count in (4, 1) if walk[0] != STRIDED else (1,):
            step = m.lanes * count
            whole = f.add(at, f.mul(f.div(f.sub(hi, at), step), step))
            with f.loop(at, whole, step) as loop:
                for k in range(count):
                    move(m, f.add(loop.index, k * m.lanes))
            at = whole
    with f.loop(at, hi) as loop:
        move(one, loop.index)


def _transposed(f: Function, block: list[Value]) -> list[Value]:
    """Eight vectors of eight, transposed by three rounds of pairwise shuffles."""
    for distance, low, high in (
        (1, (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)),
        (2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
        (4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
    ):
        fresh = list(block)
        for i in range(SIDE):
            if not i & distance:
                a, b = block[i], block[i + distance]
                fresh[i], fresh[i + distance] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        block = fresh
    # rounds 1 and 2 leave column pairs in bit-reversed places: 0, 2, 1, 3
    return [block[i] for i in (0, 2, 1, 3, 4, 6, 5, 7)]


def transpose_text(symbol: str, itemsize: int, outer: int, target: Target) -> str:
    """Copies ``[outer..., rows, columns]`` whose columns are far apart in the source but whose rows are
    adjacent there.

    A chunk takes units: a unit is a strip of ``strip`` columns by ``segment`` rows of one outer position.
    Words: addresses of source and destination; units in all, per chunk; rows, columns; segment; strips,
    segments; bytes between columns in
    the source, between rows in the destination; outer sizes; outer strides in bytes of source and of
    destination.
    """
    module = Module()
    f = module.kernel(symbol)
    source, sink = f.words("ptr", "ptr")
    units, each, n_rows, n_columns, segment, strips, segments, column_step, row_step = f.words(
        *["i64"] * 9, first=2
    )
    sizes = f.words(*["i64"] * outer, first=11)
    strides = [f.words(*["i64"] * outer, first=11 + outer * (1 + k)) for k in (0, 1)]
    strip = strip_of(itemsize)
    type = f"i{itemsize * 8}"
    wide = vector(SIDE, type)
    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        part, rest = f.rem(unit.index, segments), f.div(unit.index, segments)
        column = f.mul(f.rem(rest, strips), strip)
        _, offsets = offsets_at(f, f.div(rest, strips), sizes, strides)
        row = f.mul(part, segment)
        row_end = f.minimum(f.add(row, segment), n_rows)
        column_end = f.minimum(f.add(column, strip), n_columns)
        read, write = f.byte(source, offsets[0]), f.byte(sink, offsets[1])

        def place(r: Operand, c: Operand, read: Value = read, write: Value = write) -> tuple[Value, Value]:
            return (
                f.at(type, f.byte(read, f.mul(c, column_step)), r),
                f.at(type, f.byte(write, f.mul(r, row_step)), c),
            )

        whole_columns = f.add(column, f.mul(f.div(f.sub(column_end, column), SIDE), SIDE))
        whole_rows = f.add(row, f.mul(f.div(f.sub(row_end, row), SIDE), SIDE))
        with f.loop(row, whole_rows, SIDE) as down, f.loop(column, whole_columns, SIDE) as along:
            block = [f.load(wide, place(down.index, f.add(along.index, k))[0], itemsize) for k in range(SIDE)]
            for k, value in enumerate(_transposed(f, block)):
                f.store(value, place(f.add(down.index, k), along.index)[1], itemsize)
        for r0, r1, c0, c1 in (
            (whole_rows, row_end, column, whole_columns),
            (row, row_end, whole_columns, column_end),
        ):
            with f.loop(r0, r1) as down, f.loop(c0, c1) as along:
                a, b = place(down.index, along.index)
                f.store(f.load(type, a), b)
    f.ret(0)
    return str(module)


def strip_of(itemsize: int) -> int:
    """Columns of a strip: whole cache lines of the destination."""
    return max(SIDE, 64 // itemsize)


def fill_text(symbol: str, itemsize: int, target: Target) -> str:
    """Writes one element everywhere. Words: address; elements in all, per chunk; the element in the low
    bits of a word."""
    module = Module()
    f = module.kernel(symbol)
    (sink,) = f.words("ptr")
    total, each, bits = f.words("i64", "i64", "i64", first=1)
    lanes = target.lanes(itemsize)
    type = f"i{itemsize * 8}"
    one = f.cast("trunc", bits, type) if itemsize < 8 else bits
    many = f.splat(one, lanes)
    begin = f.mul(f.params[1], each)
    end = f.minimum(f.add(begin, each), total)
    whole = f.add(begin, f.mul(f.div(f.sub(end, begin), lanes), lanes))
    with f.loop(begin, whole, lanes) as loop:
        f.store(many, f.at(type, sink, loop.index))
    with f.loop(whole, end) as loop:
        f.store(one, f.at(type, sink, loop.index))
    f.ret(0)
    return str(module)


def iota_text(symbol: str, dtype: DType, target: Target) -> str:
    """0, 1, 2... Words: address; elements in all, per chunk."""
    module = Module()
    f = module.kernel(symbol)
    (sink,) = f.words("ptr")
    total, each = f.words("i64", "i64", first=1)
    one = VectorScalars(f, 1)
    memory = f"i{dtype.bits}"
    begin = f.mul(f.params[1], each)
    with f.loop(begin, f.minimum(f.add(begin, each), total)) as loop:
        one.store(one.cast(one.wrap(loop.index, dtypes.int64), dtype), f.at(memory, sink, loop.index))
    f.ret(0)
    return str(module)
