"""float16 and bfloat16 are storage types: read as float, computed in float, rounded to nearest even when
stored.

Rounding to bfloat16 is integer arithmetic, and float64 is brought to float by rounding to odd first,
because processors without the
matching instruction would call a library function that does not exist here.
"""

from __future__ import annotations

from mycelia.codegen.text import Function, Value, constant, lanes, vector


def from_float16(f: Function, bits: Value) -> Value:
    """``<n x i16>`` to ``<n x float>``."""
    n = lanes(bits.type)
    return f.cast("fpext", f.cast("bitcast", bits, vector(n, "half")), vector(n, "float"))


def to_float16(f: Function, x: Value) -> Value:
    """``<n x float>`` to ``<n x i16>``."""
    n = lanes(x.type)
    return f.cast("bitcast", f.cast("fptrunc", x, vector(n, "half")), vector(n, "i16"))


def from_bfloat16(f: Function, bits: Value) -> Value:
    wide = f.cast("zext", bits, vector(lanes(bits.type), "i32"))
    return f.cast(
        "bitcast", f.binary("shl", wide, constant(16, wide.type)), vector(lanes(bits.type), "float")
    )


def to_bfloat16(f: Function, x: Value) -> Value:
    """Rounds to nearest even: adds 0x7fff, plus one if the last kept bit is odd, and drops 16 bits; NaN
    stays a quiet NaN."""
    n = lanes(x.type)
    word = vector(n, "i32")
    bits = f.cast("bitcast", x, word)
    odd = f.binary("and", f.binary("lshr", bits, constant(16, word)), constant(1, word))
    rounded = f.binary("add", bits, f.binary("add", odd, constant(0x7FFF, word)))
    quiet = f.binary("or", bits, constant(0x400000, word))
    chosen = f.select(f.fcmp("uno", x, x), quiet, rounded)
    return f.cast("trunc", f.binary("lshr", chosen, constant(16, word)), vector(n, "i16"))


def round_to_odd(f: Function, x: Value) -> Value:
    """``double`` to ``float`` toward zero, with the last bit set when inexact, so that a second rounding is
    correct."""
    n = lanes(x.type)
    word, single = vector(n, "i32"), vector(n, "float")
    near = f.cast("fptrunc", x, single)
    back = f.cast("fpext", near, x.type)
    bits = f.cast("bitcast", near, word)
    beyond = f.fcmp("ogt", f.intrinsic("fabs", x.type, back), f.intrinsic("fabs", x.type, x))
    bits = f.binary("sub", bits, f.cast("zext", beyond, word))
    bits = f.binary("or", bits, f.cast("zext", f.fcmp("one", back, x), word))
    return f.cast("bitcast", bits, single)
