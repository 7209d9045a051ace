"""Philox-4x32-10 in vectors: each lane encrypts one counter. `mycelia.ops.philox` defines what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Function, Module, Value, constant, lanes, vector
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ops.philox import MULTIPLIERS, PRECISION, ROUNDS, WEYL

BLOCKS = 8  # counters per vector; a block gives four words of 32 bits


def _keys(f: Function, seed: Value, type: str) -> list[tuple[Value, Value]]:
    """The two keys of each round, in all lanes, as 64-bit numbers."""
    low = f.cast("trunc", seed, "i32")
    high = f.cast("trunc", f.binary("lshr", seed, constant(32, "i64")), "i32")
    rounds = []
    for r in range(ROUNDS):
        pair = [
            f.binary("add", k, constant(r * w % 2**32 - (r * w % 2**32 >> 31 << 32), "i32"))
            for k, w in zip((low, high), WEYL)
        ]
        rounds.append(tuple(f.splat(f.cast("zext", k, "i64"), lanes(type)) for k in pair))
    return rounds


def _words(f: Function, counter: Value, keys: Sequence[tuple[Value, Value]]) -> list[Value]:
    """Four words per counter, in the low halves of 64-bit lanes."""
    type = counter.type
    mask, half = constant(0xFFFFFFFF, type), constant(32, type)
    first, second = (constant(k, type) for k in MULTIPLIERS)
    c = [
        f.binary("and", counter, mask),
        f.binary("lshr", counter, half),
        constant(0, type),
        constant(0, type),
    ]
    for low, high in keys:
        a, b = f.binary("mul", c[0], first), f.binary("mul", c[2], second)
        c = [
            f.binary("xor", f.binary("xor", f.binary("lshr", b, half), c[1]), low),
            f.binary("and", b, mask),
            f.binary("xor", f.binary("xor", f.binary("lshr", a, half), c[3]), high),
            f.binary("and", a, mask),
        ]
    return c


def _zip(f: Function, a: Value, b: Value) -> Value:
    """a0 b0 a1 b1..."""
    n = lanes(a.type)
    return f.shuffle(a, b, [i // 2 + (i % 2) * n for i in range(2 * n)])


def _draws(m: VectorScalars, words: Sequence[Value], wide: bool) -> list[Scalar]:
    """The words as unsigned scalars of 32 bits, or joined in pairs to 64."""
    f = m.f
    if wide:
        half = constant(32, words[0].type)
        return [
            m.wrap(f.binary("or", low, f.binary("shl", high, half)), dtypes.uint64)
            for low, high in zip(words[::2], words[1::2])
        ]
    narrow = vector(m.lanes, "i32")
    return [m.wrap(f.cast("trunc", w, narrow), dtypes.uint32) for w in words]


def _leading(m: VectorScalars, draw: Scalar, kept: int) -> Scalar:
    """The first ``kept`` bits of a draw as a float."""
    wide = draw.dtype is dtypes.uint64
    real, signed = (dtypes.float64, dtypes.int64) if wide else (dtypes.float32, dtypes.int32)
    bits = m.shift_right(draw, m.const(draw.dtype.bits - kept, draw.dtype))
    return m.cast(m.wrap(bits.value, signed), real)


def _bits(m: VectorScalars, draws: Sequence[Scalar], dtype: DType) -> list[Scalar]:
    return [
        # narrower types: the low bits
        m.ne(m.bitwise_and(d, 1), 0) if dtype.kind == "b" else m.cast(d, dtype)
        for d in draws
    ]


def _uniform(m: VectorScalars, draws: Sequence[Scalar], dtype: DType) -> list[Scalar]:
    kept = PRECISION[dtype.name]
    return [m.cast(_leading(m, d, kept) * 2.0**-kept, dtype) for d in draws]


def _normal(m: VectorScalars, draws: Sequence[Scalar], dtype: DType) -> list[Scalar]:
    kept = 53 if draws[0].dtype is dtypes.uint64 else 24
    results = []
    for first, second in zip(draws[::2], draws[1::2]):
        u = (_leading(m, first, kept - 1) + 0.5) * 2.0 ** (1 - kept)
        v = _leading(m, second, kept) * 2.0**-kept
        radius = m.sqrt(m.log(u) * -2.0)
        results += [m.cast(radius * part, dtype) for part in m.turns(v)]
    return results


DISTRIBUTIONS: dict[str, Callable[[VectorScalars, Sequence[Scalar], DType], list[Scalar]]] = {
    "bits": _bits,
    "uniform": _uniform,
    "normal": _normal,
}


def random_text(symbol: str, distribution: str, dtype: DType, target: Target) -> str:
    """Words: addresses of the state, the new state, the values; blocks in all; groups (of `BLOCKS`) per
    chunk; elements."""
    module = Module()
    f = module.kernel(symbol)
    state, after, values = f.words("ptr", "ptr", "ptr")
    blocks, each, size = f.words("i64", "i64", "i64", first=3)
    m, type = VectorScalars(f, BLOCKS), vector(BLOCKS, "i64")
    per_block = 2 if dtype.itemsize == 8 else 4
    memory = memory_type(dtype, 1)
    frame = f.stack(memory, per_block * BLOCKS)
    seed, offset = f.load("i64", state), f.load("i64", f.at("i64", state, 1))
    with f.when(f.icmp("eq", f.params[1], 0)):
        f.store(seed, after)
        f.store(f.binary("add", offset, blocks), f.at("i64", after, 1))
    keys = _keys(f, seed, type)
    steps = Value("<" + ", ".join(f"i64 {i}" for i in range(BLOCKS)) + ">", type)
    first = f.mul(f.params[1], each)
    groups = f.div(f.add(blocks, BLOCKS - 1), BLOCKS)
    with f.loop(first, f.minimum(f.add(first, each), groups)) as loop:
        base = f.splat(f.binary("add", offset, f.value(f.mul(loop.index, BLOCKS))), BLOCKS)
        draws = _draws(m, _words(f, f.binary("add", base, steps), keys), dtype.itemsize == 8)
        raw = [m.to_memory(x) for x in DISTRIBUTIONS[distribution](m, draws, dtype)]
        together = (
            _zip(f, *raw) if per_block == 2 else _zip(f, _zip(f, raw[0], raw[2]), _zip(f, raw[1], raw[3]))
        )
        begin = f.mul(loop.index, per_block * BLOCKS)
        left = f.sub(size, begin)

        def whole(together: Value = together, begin: Value = begin) -> list[Value]:
            f.store(together, f.at(memory, values, begin))
            return []

        def part(together: Value = together, begin: Value = begin, left: Value = left) -> list[Value]:
            f.store(together, frame)
            with f.loop(0, left) as copy:
                f.store(
                    f.load(memory, f.at(memory, frame, copy.index)),
                    f.at(memory, values, f.add(begin, copy.index)),
                )
            return []

        f.choose(f.icmp("sge", left, per_block * BLOCKS), whole, part)
    f.ret(0)
    return str(module)
