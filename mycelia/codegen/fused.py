"""Pointwise clusters: one pass over the iteration space, everything in between in registers.

Words of the kernel: addresses of the inputs, of the outputs; elements in all, elements per chunk; if there
are several collapsed
dimensions their sizes; then, for each input, its strides in bytes in the outer dimensions and, where its
innermost
stride is neither 0 nor that of a dense row, that stride.
"""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.codegen.program import Program, lanes_for
from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.strided import Space, rows
from mycelia.codegen.target import Target
from mycelia.codegen.text import BYTES, Function, Module, Operand, Value, element
from mycelia.ir.dtypes import DType

CONTIGUOUS, REPEATED, STRIDED = "c", "r", "s"


def patterns(space: Space) -> str:
    """How each operand walks the innermost dimension, one letter each."""
    return "".join(CONTIGUOUS if s[-1] == 1 else REPEATED if s[-1] == 0 else STRIDED for s in space.strides)


def load_lanes(
    m: VectorScalars,
    dtype: DType,
    pattern: str,
    address: Value,
    index: Operand,
    stride: Operand,
    mask: Value | None = None,
) -> Scalar:
    """The elements from ``index`` on of a row: adjacent ones at once, others lane by lane."""
    f = m.f
    if pattern == CONTIGUOUS:
        return m.load(dtype, f.at(element(memory_type(dtype, 1)), address, index), mask)
    type, one = memory_type(dtype, m.lanes), memory_type(dtype, 1)
    if m.lanes == 1:
        return m.from_memory(dtype, f.load(one, f.byte(address, f.mul(index, stride))))
    raw = Value("zeroinitializer" if mask is not None else "poison", type)
    for lane in range(m.lanes):

        def read(lane: int = lane, raw: Value = raw) -> list[Value]:
            return [f.insert(raw, f.load(one, f.byte(address, f.mul(f.add(index, lane), stride))), lane)]

        raw = read()[0] if mask is None else f.choose(f.extract(mask, lane), read, lambda raw=raw: [raw])[0]
    return m.from_memory(dtype, raw)


def maskable(target: Target, dtypes: Sequence[DType]) -> bool:
    """Whether partial vectors of these dtypes are read and written by single instructions."""
    return target.vector_bytes == 64 or target.vector_bytes == 32 and all(d.itemsize >= 4 for d in dtypes)


def unrolling(length: int) -> int:
    """Vectors per turn of the main loop, by the length of the program."""
    return 4 if length <= 8 else 2 if length <= 24 else 1


def text(
    symbol: str, program: Program, space_rank: int, walk: str, target: Target, streaming: bool = False
) -> str:
    """The kernel's IR.

    Args:
        walk: a letter per input, see `patterns`.
        streaming: write around the caches; for dense outputs, much larger than them, of one collapsed
            dimension.
    """
    module = Module()
    f = module.kernel(symbol)
    n_in, n_out = len(program.inputs), len(program.outputs)
    pointers = f.words(*["ptr"] * (n_in + n_out))
    sources, targets = pointers[:n_in], pointers[n_in:]
    total, per_chunk = f.words("i64", "i64", first=n_in + n_out)
    outer = space_rank - 1
    at = n_in + n_out + 2
    sizes = f.words(*["i64"] * space_rank, first=at) if outer else []
    at += len(sizes)
    strides, steps = [], []
    for pattern in walk:
        strides.append(f.words(*["i64"] * outer, first=at))
        at += outer
        steps.append(f.words("i64", first=at)[0] if pattern == STRIDED else 0)
        at += pattern == STRIDED
    begin = f.mul(f.params[1], per_chunk)
    end = f.minimum(f.add(begin, per_chunk), total)
    inner = sizes[-1] if outer else total
    lanes = lanes_for(program, target)
    length = program.length(lanes)
    unroll = unrolling(length)
    if streaming and length <= 160:
        unroll = 4  # whole lines at once for the buffers that combine writes
    with rows(f, begin, end, inner, sizes[:-1], strides) as row:
        origin = f.mul(row.number, inner) if outer else 0
        reads = [f.byte(p, o) for p, o in zip(sources, row.offsets)]
        writes = [f.at(memory_type(d, 1), p, origin) for d, p in zip(program.outputs, targets)]
        segment = (f, program, walk, target, lanes, unroll, reads, steps, writes, row.lo, row.hi)
        if streaming:  # such stores fault where an output is not aligned, as memory shared with NumPy may be
            aligned = _aligned(f, targets, target.vector_bytes)
            with f.when(aligned):
                _segment(*segment, streaming=True)
            with f.when(f.binary("xor", aligned, f.value(1, "i1"))):
                _segment(*segment, streaming=False)
        else:
            _segment(*segment, streaming=False)
    if streaming:
        f.line("fence seq_cst")
        module.globals["!0"] = "!0 = !{i32 1}"
    f.ret(0)
    return str(module)


def _aligned(f: Function, pointers: list[Value], alignment: int) -> Value:
    """Whether all addresses are multiples of a power of two."""
    merged = f.cast("ptrtoint", pointers[0], "i64")
    for pointer in pointers[1:]:
        merged = f.binary("or", merged, f.cast("ptrtoint", pointer, "i64"))
    return f.icmp("eq", f.binary("and", merged, f.value(alignment - 1)), 0)


def _segment(
    f: Function,
    program: Program,
    walk: str,
    target: Target,
    lanes: int,
    unroll: int,
    reads: list[Value],
    steps: list[Operand],
    writes: list[Value],
    lo: Value,
    hi: Value,
    streaming: bool,
) -> None:
    """Computes elements [lo, hi) of one row."""
    vectors, scalars = VectorScalars(f, lanes), VectorScalars(f, 1)
    repeated = {
        i: scalars.load(program.inputs[i], reads[i]) for i, pattern in enumerate(walk) if pattern == REPEATED
    }
    splats = {i: vectors.wrap(f.splat(x.value, lanes), x.dtype) for i, x in repeated.items()}

    def block(m: VectorScalars, index: Operand, count: int = 1, mask: Value | None = None) -> None:
        """All loads, then the code, then all stores, so that an output may lie where an input did."""
        starts = [f.add(index, k * m.lanes) for k in range(count)]
        fixed = splats if m is vectors else repeated
        loaded = [
            [
                fixed[i] if i in fixed else load_lanes(m, d, walk[i], reads[i], start, steps[i], mask)
                for i, d in enumerate(program.inputs)
            ]
            for start in starts
        ]
        results = [program.emit(m, xs) for xs in loaded]
        for start, values in zip(starts, results):
            for value, dtype, pointer in zip(values, program.outputs, writes):
                address = f.at(memory_type(dtype, 1), pointer, start)
                if streaming and m is vectors and mask is None:
                    raw = m.to_memory(value)
                    align = BYTES[element(raw.type)] * lanes
                    f.line(f"store {raw.typed}, ptr {address}, align {align}, !nontemporal !0")
                else:
                    m.store(value, address, mask)

    at: Operand = lo
    for count in dict.fromkeys((unroll, 1)):
        step = lanes * count
        whole = f.add(at, f.mul(f.div(f.sub(hi, at), step), step))
        with f.loop(at, whole, step) as loop:
            block(vectors, loop.index, count)
        at = whole
    if lanes == 1:
        return
    if maskable(target, [*program.inputs, *program.outputs]):
        with f.when(f.icmp("slt", at, hi)):
            block(vectors, at, mask=f.mask(f.sub(hi, at), lanes))
    else:
        with f.loop(at, hi) as loop:
            block(scalars, loop.index)


def streamable(program: Program, target: Target) -> bool:
    """Whether every output is written in whole vector registers, which stores around the caches need."""
    lanes = lanes_for(program, target)
    return all(d.itemsize * lanes == target.vector_bytes for d in program.outputs)
