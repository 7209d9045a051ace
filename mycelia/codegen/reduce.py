"""Reductions of a pointwise program: over inner dimensions (rows), over outer ones (columns), and what
joins partial results.

Floats are summed in float64, after a small tree in their own precision, so that the error does not grow
with the length.
Every element's place in the order of additions follows from the shape alone. When one result needs more
than one chunk, chunks write
partial results ``[splits][results]`` to scratch memory, which `combine_text` joins in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia.codegen.fused import REPEATED, STRIDED, load_lanes
from mycelia.codegen.program import Program, lanes_for
from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.strided import offsets_at, rows
from mycelia.codegen.target import Target
from mycelia.codegen.text import BYTES, Function, Module, Operand, Value, element
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

TILE = 1024  # columns whose accumulators a chunk keeps in its frame


@dataclass(frozen=True)
class Reduction:
    """How values are joined: ``kind`` is sum, mean, prod, max, min, all or any."""

    kind: str
    dtype: DType

    @property
    def accumulator(self) -> DType:
        wide = self.dtype.is_float and self.kind in ("sum", "mean", "prod")
        return dtypes.float64 if wide else self.dtype

    def identity(self, m: VectorScalars, dtype: DType | None = None) -> Scalar:
        dtype = dtype or self.accumulator
        if self.kind in ("max", "min"):
            low = self.kind == "max"
            if dtype.is_float:
                return m.const(float("-inf" if low else "inf"), dtype)
            if dtype.kind == "b":
                return m.const(not low, dtype)
            lowest = -(1 << (dtype.bits - 1)) if dtype.kind == "i" else 0
            highest = (1 << (dtype.bits - (dtype.kind == "i"))) - 1
            return m.const(lowest if low else highest, dtype)
        return m.const({"sum": 0, "mean": 0, "prod": 1, "all": 1, "any": 0}[self.kind], dtype)

    def combine(self, m: VectorScalars, a: Scalar, b: Scalar) -> Scalar:
        function = {
            "sum": m.add,
            "mean": m.add,
            "prod": m.mul,
            "max": m.maximum,
            "min": m.minimum,
            "all": m.logical_and,
            "any": m.logical_or,
        }[self.kind]
        return function(a, b)

    def joined(self, m: VectorScalars, values: Sequence[Scalar]) -> Scalar:
        """Several values as one accumulator value, by a tree."""
        values = [
            m.wrap(v.value, dtypes.float32) if v.dtype in (dtypes.float16, dtypes.bfloat16) else v
            for v in values
        ]
        if self.kind == "prod":  # a product of float32 may leave their range on the way
            values = [m.cast(v, self.accumulator) for v in values]
        while len(values) > 1:
            values = [
                self.combine(m, *values[i : i + 2]) if i + 1 < len(values) else values[i]
                for i in range(0, len(values), 2)
            ]
        value = values[0]
        return (
            m.wrap(value.value, self.accumulator)
            if self.accumulator in (dtypes.float16, dtypes.bfloat16)
            else m.cast(value, self.accumulator)
        )

    def finish(self, m: VectorScalars, total: Scalar, count: Value) -> Scalar:
        """The result from the accumulator; ``count`` is the number of elements (i64)."""
        if self.kind == "mean":
            number = VectorScalars(m.f, 1).cast(Scalar(m, count, dtypes.int64), self.accumulator)
            total = m.div(total, m.wrap(m.f.splat(number.value, m.lanes), self.accumulator))
        return m.rounded(total, self.dtype)


def across_lanes(reduction: Reduction, m: VectorScalars, x: Scalar) -> Scalar:
    """The lanes of an accumulator joined into one scalar, halves by halves."""
    f, value, lanes = m.f, x.value, m.lanes
    while lanes > 1:
        lanes //= 2
        half = VectorScalars(f, lanes, m.flags)
        if lanes == 1:
            parts = [f.extract(value, i) for i in (0, 1)]
        else:
            parts = [f.shuffle(value, value, range(i, i + lanes)) for i in (0, lanes)]
        value = reduction.combine(half, *(half.wrap(p, x.dtype) for p in parts)).value
    return VectorScalars(f, 1).wrap(value, x.dtype)


@dataclass(frozen=True)
class Layout:
    """What of a reduction is fixed in the code: how each input walks the innermost dimension, and the
    numbers of kept and reduced
    dimensions outside it."""

    walk: str
    kept: int
    reduced: int

    @property
    def key(self) -> str:
        return f"{self.walk}{self.kept}k{self.reduced}r"


def _group(length: int) -> int:
    """Vectors (rows) that are joined by a tree before they meet the accumulator."""
    return 4 if length <= 16 else 2 if length <= 40 else 1


class _Arguments:
    """The words that row and column kernels share, read at entry."""

    def __init__(self, f: Function, program: Program, layout: Layout, fixed: int) -> None:
        n_in, n_out = len(program.inputs), len(program.outputs)
        pointers = f.words(*["ptr"] * (n_in + n_out))
        self.sources, self.targets = pointers[:n_in], pointers[n_in:]
        at = n_in + n_out
        self.fixed = f.words(*["i64"] * fixed, first=at)
        at += fixed
        self.kept_sizes = f.words(*["i64"] * layout.kept, first=at)
        at += layout.kept
        self.reduced_sizes = f.words(*["i64"] * layout.reduced, first=at)
        at += layout.reduced
        self.kept_strides, self.reduced_strides, self.steps = [], [], []
        for pattern in layout.walk:
            self.kept_strides.append(f.words(*["i64"] * layout.kept, first=at))
            self.reduced_strides.append(f.words(*["i64"] * layout.reduced, first=at + layout.kept))
            at += layout.kept + layout.reduced
            self.steps.append(f.words("i64", first=at)[0] if pattern == STRIDED else 0)
            at += pattern == STRIDED


def row_text(
    symbol: str,
    program: Program,
    reductions: Sequence[Reduction],
    layout: Layout,
    target: Target,
    partial: bool,
) -> str:
    """The innermost dimension is reduced: vectors run along it.

    Words: addresses of inputs and results; kept positions in all and per chunk; reduced positions in all
    and per split; splits; elements
    per result; innermost extent; kept sizes; reduced sizes; per input: kept strides, reduced strides,
    innermost stride if needed (bytes).
    """
    module = Module()
    f = module.kernel(symbol)
    arguments = _Arguments(f, program, layout, 7)
    kept, kept_each, reduced, reduced_each, splits, count, inner = arguments.fixed
    lanes = lanes_for(program, target, narrowest=4)
    m, scalars = VectorScalars(f, lanes), VectorScalars(f, 1)
    group = _group(program.length(lanes))
    split = f.rem(f.params[1], splits)
    first = f.mul(f.div(f.params[1], splits), kept_each)
    begin = f.mul(split, reduced_each)
    end = f.minimum(f.add(begin, reduced_each), reduced)
    with f.loop(first, f.minimum(f.add(first, kept_each), kept)) as loop:
        _, offsets = offsets_at(f, loop.index, arguments.kept_sizes, arguments.kept_strides)
        bases = [f.byte(p, o) for p, o in zip(arguments.sources, offsets)]
        start = [r.identity(m).value for r in reductions]
        with rows(f, begin, end, inner, arguments.reduced_sizes, arguments.reduced_strides, start) as row:
            reads = [f.byte(p, o) for p, o in zip(bases, row.offsets)]
            row.following = _reduce_row(
                f,
                m,
                program,
                reductions,
                layout.walk,
                group,
                reads,
                arguments.steps,
                row.lo,
                row.hi,
                row.carried,
            )
        for reduction, value, pointer in zip(reductions, row.carried, arguments.targets):
            dtype = reduction.dtype
            total = across_lanes(reduction, m, m.wrap(value, reduction.accumulator))
            if partial:
                place, result = f.add(f.mul(split, kept), loop.index), total
                dtype = reduction.accumulator
            else:
                place, result = loop.index, reduction.finish(scalars, total, count)
            scalars.store(result, f.at(memory_type(dtype, 1), pointer, place))
    f.ret(0)
    return str(module)


def _reduce_row(
    f: Function,
    m: VectorScalars,
    program: Program,
    reductions: Sequence[Reduction],
    walk: str,
    group: int,
    reads: list[Value],
    steps: list[Operand],
    lo: Value,
    hi: Value,
    totals: Sequence[Value],
) -> list[Value]:
    """Elements [lo, hi) of a row into the accumulators."""
    repeated = {
        i: m.splat(program.inputs[i], reads[i]) for i, pattern in enumerate(walk) if pattern == REPEATED
    }

    def block(index: Operand, count: int, totals: Sequence[Value], mask: Value | None = None) -> list[Value]:
        places = [f.add(index, k * m.lanes) for k in range(count)]
        results = [
            program.emit(
                m,
                [
                    repeated[i]
                    if i in repeated
                    else load_lanes(m, d, walk[i], reads[i], place, steps[i], mask)
                    for i, d in enumerate(program.inputs)
                ],
            )
            for place in places
        ]
        updated = []
        for k, (reduction, total) in enumerate(zip(reductions, totals)):
            values = [r[k] for r in results]
            if mask is not None:
                values = [
                    m.select(Scalar(m, mask, dtypes.bool_), v, reduction.identity(m, v.dtype)) for v in values
                ]
            joined = reduction.joined(m, values)
            updated.append(reduction.combine(m, m.wrap(total, reduction.accumulator), joined).value)
        return updated

    at: Operand = lo
    for count in dict.fromkeys((group, 1)):
        step = m.lanes * count
        whole = f.add(at, f.mul(f.div(f.sub(hi, at), step), step))
        with f.loop(at, whole, step, carried=totals) as loop:
            loop.next(block(loop.index, count, loop.carried))
        totals, at = loop.results, whole
    if m.lanes == 1:
        return list(totals)
    return f.choose(
        f.icmp("slt", at, hi),
        lambda: block(at, 1, totals, f.mask(f.sub(hi, at), m.lanes)),
        lambda: list(totals),
    )


def column_text(
    symbol: str,
    program: Program,
    reductions: Sequence[Reduction],
    layout: Layout,
    target: Target,
    partial: bool,
) -> str:
    """The innermost dimension is kept: vectors run along it, and a tile of accumulators stays in the frame
    while rows go by.

    Words: as for rows, but: kept outer positions in all and per chunk; reduced positions in all and per
    split; splits; elements per
    result; innermost extent; columns per tile; tiles.
    """
    module = Module()
    f = module.kernel(symbol)
    lanes = lanes_for(program, target, narrowest=4)
    m = VectorScalars(f, lanes)
    accumulators = [f.stack(memory_type(r.accumulator, 1), TILE) for r in reductions]
    arguments = _Arguments(f, program, layout, 9)
    kept, kept_each, reduced, reduced_each, splits, count, inner, tile, tiles = arguments.fixed
    group = _group(program.length(lanes))
    split, rest = f.rem(f.params[1], splits), f.div(f.params[1], splits)
    first = f.mul(f.div(rest, tiles), kept_each)
    left = f.mul(f.rem(rest, tiles), tile)
    columns = f.minimum(tile, f.sub(inner, left))
    begin = f.mul(split, reduced_each)
    end = f.minimum(f.add(begin, reduced_each), reduced)
    walk, steps = layout.walk, arguments.steps

    def each_vector(write: Callable[[Operand, Value | None], None], masked: bool) -> None:
        """Runs along the tile; the last vector may be partial, which only matters for what lies outside the
        frame."""
        whole = f.mul(f.div(columns, lanes), lanes)
        with f.loop(0, whole, lanes) as loop:
            write(loop.index, None)
        with f.when(f.icmp("slt", whole, columns)):
            write(whole, f.mask(f.sub(columns, whole), lanes) if masked else None)

    def reset(j: Operand, _mask: Any) -> None:
        for r, frame in zip(reductions, accumulators):
            m.store(r.identity(m), f.at(memory_type(r.accumulator, 1), frame, j))

    with f.loop(first, f.minimum(f.add(first, kept_each), kept)) as outer:
        _, offsets = offsets_at(f, outer.index, arguments.kept_sizes, arguments.kept_strides)
        bases = [f.byte(p, o) for p, o in zip(arguments.sources, offsets)]
        each_vector(reset, masked=False)
        at: Operand = begin
        for number in dict.fromkeys((group, 1)):
            whole = f.add(at, f.mul(f.div(f.sub(end, at), number), number))
            with f.loop(at, whole, number) as loop:
                reads = []
                for k in range(number):
                    _, moved = offsets_at(
                        f, f.add(loop.index, k), arguments.reduced_sizes, arguments.reduced_strides
                    )
                    reads.append([f.byte(p, o) for p, o in zip(bases, moved)])
                repeated = [
                    {i: m.splat(program.inputs[i], pointers[i]) for i, p in enumerate(walk) if p == REPEATED}
                    for pointers in reads
                ]

                def accumulate(
                    j: Operand, mask: Value | None, reads: Any = reads, repeated: Any = repeated
                ) -> None:
                    place = f.add(left, j)
                    results = [
                        program.emit(
                            m,
                            [
                                known[i]
                                if i in known
                                else load_lanes(m, d, walk[i], pointers[i], place, steps[i], mask)
                                for i, d in enumerate(program.inputs)
                            ],
                        )
                        for pointers, known in zip(reads, repeated)
                    ]
                    for k, (r, frame) in enumerate(zip(reductions, accumulators)):
                        address = f.at(memory_type(r.accumulator, 1), frame, j)
                        m.store(
                            r.combine(
                                m, m.load(r.accumulator, address), r.joined(m, [x[k] for x in results])
                            ),
                            address,
                        )

                each_vector(accumulate, masked=True)
            at = whole

        def finish(j: Operand, mask: Value | None) -> None:
            for r, frame, pointer in zip(reductions, accumulators, arguments.targets):
                dtype = r.dtype
                total = m.load(r.accumulator, f.at(memory_type(r.accumulator, 1), frame, j))
                place = f.add(f.mul(outer.index, inner), left, j)
                if partial:
                    place, result, dtype = (
                        f.add(place, f.mul(f.mul(split, kept), inner)),
                        total,
                        r.accumulator,
                    )
                else:
                    result = r.finish(m, total, count)
                m.store(result, f.at(memory_type(dtype, 1), pointer, place), mask)

        each_vector(finish, masked=True)
    f.ret(0)
    return str(module)


def combine_text(symbol: str, reduction: Reduction, target: Target) -> str:
    """Joins partial results ``[splits][results]`` in the order of the splits.

    Words: address of the partial results, of the results; splits; results; results per chunk; elements per
    result.
    """
    module = Module()
    f = module.kernel(symbol)
    source, sink = f.words("ptr", "ptr")
    splits, results, each, count = f.words("i64", "i64", "i64", "i64", first=2)
    accumulator = reduction.accumulator
    lanes = target.lanes(max(accumulator.itemsize, 4))
    m = VectorScalars(f, lanes)
    begin = f.mul(f.params[1], each)
    end = f.minimum(f.add(begin, each), results)

    def join(m: VectorScalars, j: Operand, mask: Value | None) -> None:
        with f.loop(0, splits, carried=[reduction.identity(m).value]) as loop:
            place = f.add(f.mul(loop.index, results), j)
            value = m.load(accumulator, f.at(memory_type(accumulator, 1), source, place), mask)
            loop.next([reduction.combine(m, m.wrap(loop.carried[0], accumulator), value).value])
        result = reduction.finish(m, m.wrap(loop.results[0], accumulator), count)
        m.store(result, f.at(memory_type(reduction.dtype, 1), sink, j), mask)

    whole = f.add(begin, f.mul(f.div(f.sub(end, begin), lanes), lanes))
    with f.loop(begin, whole, lanes) as loop:
        join(m, loop.index, None)
    with f.when(f.icmp("slt", whole, end)):
        join(m, whole, f.mask(f.sub(end, whole), lanes))
    f.ret(0)
    return str(module)


def accumulator_bytes(reduction: Reduction) -> int:
    return BYTES[element(memory_type(reduction.accumulator, 1))]
