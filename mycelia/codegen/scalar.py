"""The scalar vocabulary in which operators write their bodies, over LLVM vectors: every scalar is one lane
of each.

A body such as ``def body(m, x): return m.tanh(x)`` is called once while the kernel's text is written; ``m``
is a
`VectorScalars`, ``x`` a `Scalar`. Booleans are ``i1`` in registers and bytes in memory; float16 and
bfloat16 are ``float``
in registers and rounded by `VectorScalars.rounded` where an operator ends.
"""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from mycelia.codegen import half, math_exp, math_hyperbolic, math_log, math_special, math_trig
from mycelia.codegen.text import Function, Value, constant, suffix, vector
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

_MEMORY = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_WORD = {4: dtypes.int32, 8: dtypes.int64}
_ORDERED = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def register_type(dtype: DType, lanes: int) -> str:
    """The LLVM type of a value in registers."""
    if dtype.kind == "b":
        return vector(lanes, "i1")
    if dtype.kind == "f":
        return vector(lanes, "double" if dtype.itemsize == 8 else "float")
    return vector(lanes, f"i{dtype.bits}")


def memory_type(dtype: DType, lanes: int) -> str:
    """The LLVM type of a value in memory."""
    if dtype in (dtypes.float32, dtypes.float64):
        return register_type(dtype, lanes)
    return vector(lanes, _MEMORY[dtype.itemsize])


class Scalar:
    """An opaque scalar of a body; ``number`` is set instead of ``value`` for a constant that has not met a
    dtype yet."""

    __slots__ = ("m", "value", "dtype", "number")

    def __init__(
        self, m: VectorScalars, value: Value | None, dtype: DType | None, number: Any = None
    ) -> None:
        self.m, self.value, self.dtype, self.number = m, value, dtype, number

    def __add__(self, other: Operand) -> Scalar:
        return self.m.add(self, other)

    def __radd__(self, other: Operand) -> Scalar:
        return self.m.add(other, self)

    def __sub__(self, other: Operand) -> Scalar:
        return self.m.sub(self, other)

    def __rsub__(self, other: Operand) -> Scalar:
        return self.m.sub(other, self)

    def __mul__(self, other: Operand) -> Scalar:
        return self.m.mul(self, other)

    def __rmul__(self, other: Operand) -> Scalar:
        return self.m.mul(other, self)

    def __truediv__(self, other: Operand) -> Scalar:
        return self.m.div(self, other)

    def __rtruediv__(self, other: Operand) -> Scalar:
        return self.m.div(other, self)

    def __floordiv__(self, other: Operand) -> Scalar:
        return self.m.floordiv(self, other)

    def __rfloordiv__(self, other: Operand) -> Scalar:
        return self.m.floordiv(other, self)

    def __mod__(self, other: Operand) -> Scalar:
        return self.m.mod(self, other)

    def __rmod__(self, other: Operand) -> Scalar:
        return self.m.mod(other, self)

    def __neg__(self) -> Scalar:
        return self.m.neg(self)

    def __and__(self, other: Operand) -> Scalar:
        return self.m.bitwise_and(self, other)

    def __or__(self, other: Operand) -> Scalar:
        return self.m.bitwise_or(self, other)

    def __xor__(self, other: Operand) -> Scalar:
        return self.m.bitwise_xor(self, other)

    def __invert__(self) -> Scalar:
        return self.m.bitwise_not(self)

    def __lshift__(self, other: Operand) -> Scalar:
        return self.m.shift_left(self, other)

    def __rshift__(self, other: Operand) -> Scalar:
        return self.m.shift_right(self, other)

    def __lt__(self, other: Operand) -> Scalar:
        return self.m.lt(self, other)

    def __le__(self, other: Operand) -> Scalar:
        return self.m.le(self, other)

    def __gt__(self, other: Operand) -> Scalar:
        return self.m.gt(self, other)

    def __ge__(self, other: Operand) -> Scalar:
        return self.m.ge(self, other)

    def __bool__(self) -> bool:
        raise TypeError(
            "a scalar of an operator's body has no truth value while code is written; use m.select"
        )

    def __repr__(self) -> str:
        return f"<scalar {self.dtype.name if self.dtype else self.number}>"


Operand = Union[Scalar, int, float, bool]


class VectorScalars:
    """Writes scalar code into a function, ``lanes`` scalars at a time.

    Args:
        f: the function under construction.
        lanes: scalars per value; 1 writes plain scalar code.
        flags: fast-math flags of float arithmetic; the math functions themselves are written without any.
    """

    def __init__(self, f: Function, lanes: int, flags: str = "contract") -> None:
        self.f, self.lanes, self.flags = f, lanes, flags
        self._strict: VectorScalars = self if not flags else VectorScalars(f, lanes, "")

    # -- values --------------------------------------------------------------------------------------------
    def wrap(self, value: Value, dtype: DType) -> Scalar:
        return Scalar(self, value, dtype)

    def own(self, x: Operand, dtype: DType | None = None) -> Scalar:
        """The operand as a scalar of this writer with a dtype; a bare constant takes ``dtype``."""
        if not isinstance(x, Scalar):
            x = Scalar(self, None, None, x)
        if x.value is None:
            if dtype is None:
                dtype = dtypes.float32 if isinstance(x.number, float) else dtypes.int64
            type = register_type(dtype, self.lanes)
            number = x.number
            if dtype.is_integer:
                number = int(
                    np.array(int(number) % (1 << dtype.bits), f"u{dtype.itemsize}").astype(dtype.numpy)
                )
            return Scalar(self, constant(number, type), dtype)
        return x if x.m is self else Scalar(self, x.value, x.dtype)

    def _pair(self, a: Operand, b: Operand) -> tuple[Scalar, Scalar]:
        known = [x.dtype for x in (a, b) if isinstance(x, Scalar) and x.dtype is not None]
        if not known:
            guess = dtypes.float32 if any(isinstance(_number(x), float) for x in (a, b)) else dtypes.int64
            known = [guess]
        if len(known) == 2 and known[0] is not known[1]:
            raise TypeError(
                f"a body combined {known[0].name} and {known[1].name}; cast explicitly with m.cast"
            )
        return self.own(a, known[0]), self.own(b, known[0])

    def const(self, number: int | float | bool, dtype: DType | None = None) -> Scalar:
        """A constant; without a dtype it takes that of what it meets."""
        scalar = Scalar(self, None, None, number)
        return scalar if dtype is None else self.own(scalar, dtype)

    def _same(self, x: Scalar, value: Value) -> Scalar:
        return Scalar(self, value, x.dtype)

    def _bool(self, value: Value) -> Scalar:
        return Scalar(self, value, dtypes.bool_)

    def load(
        self, dtype: DType, address: Value, mask: Value | None = None, otherwise: Value | None = None
    ) -> Scalar:
        """Reads ``lanes`` adjacent elements; lanes that ``mask`` leaves out are not touched and read as
        zero (or ``otherwise``)."""
        f, type = self.f, memory_type(dtype, self.lanes)
        raw = f.load(type, address) if mask is None else f.masked_load(type, address, mask, otherwise)
        return self.from_memory(dtype, raw)

    def from_memory(self, dtype: DType, raw: Value) -> Scalar:
        if dtype.kind == "b":
            raw = self.f.icmp("ne", raw, constant(0, raw.type))
        elif dtype is dtypes.float16:
            raw = half.from_float16(self.f, raw)
        elif dtype is dtypes.bfloat16:
            raw = half.from_bfloat16(self.f, raw)
        return Scalar(self, raw, dtype)

    def to_memory(self, x: Scalar) -> Value:
        if x.dtype.kind == "b":
            return self.f.cast("zext", x.value, vector(self.lanes, "i8"))
        if x.dtype is dtypes.float16:
            return half.to_float16(self.f, x.value)
        if x.dtype is dtypes.bfloat16:
            return half.to_bfloat16(self.f, x.value)
        return x.value

    def store(self, x: Scalar, address: Value, mask: Value | None = None) -> None:
        raw = self.to_memory(x)
        if mask is None:
            self.f.store(raw, address)
        else:
            self.f.masked_store(raw, address, mask)

    def splat(self, dtype: DType, address: Value) -> Scalar:
        """Reads one element into every lane."""
        one = VectorScalars(self.f, 1).load(dtype, address)
        return Scalar(self, self.f.splat(one.value, self.lanes), dtype)

    def rounded(self, x: Operand, dtype: DType) -> Scalar:
        """The result of an operator's body as its output dtype, with the precision that memory would keep."""
        x = self.own(x, dtype)
        if x.dtype is not dtype:
            return self.cast(x, dtype)
        if dtype in (dtypes.float16, dtypes.bfloat16):
            return self.from_memory(dtype, self.to_memory(x))
        return x

    # -- arithmetic ----------------------------------------------------------------------------------------
    def _binary(self, real: str, integer: str, a: Operand, b: Operand) -> Scalar:
        a, b = self._pair(a, b)
        if a.dtype.kind == "f":
            return self._same(a, self.f.binary(f"{real} {self.flags}".strip(), a.value, b.value))
        return self._same(a, self.f.binary(integer, a.value, b.value))

    def add(self, a: Operand, b: Operand) -> Scalar:
        """a + b; of booleans: or."""
        return self._binary("fadd", "or" if self._kind(a, b) == "b" else "add", a, b)

    def sub(self, a: Operand, b: Operand) -> Scalar:
        return self._binary("fsub", "xor" if self._kind(a, b) == "b" else "sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Scalar:
        """a * b; of booleans: and."""
        return self._binary("fmul", "and" if self._kind(a, b) == "b" else "mul", a, b)

    def _kind(self, *xs: Operand) -> str:
        for x in xs:
            if isinstance(x, Scalar) and x.dtype is not None:
                return x.dtype.kind
        return "f"

    def div(self, a: Operand, b: Operand) -> Scalar:
        """a / b; of integers: rounded toward zero, and 0 where b is 0."""
        a, b = self._pair(a, b)
        if a.dtype.kind == "f":
            return self._same(a, self.f.binary(f"fdiv {self.flags}".strip(), a.value, b.value))
        return self._quotient(a, b)

    def _quotient(self, a: Scalar, b: Scalar) -> Scalar:
        """Integer a / b toward zero without traps: a / 0 = 0, and INT_MIN / -1 wraps. Up to 32 bits it goes
        through float64."""
        f, type, dtype = self.f, a.value.type, a.dtype
        zero = self.eq(b, 0)
        special = zero
        if dtype.kind == "i":
            minus = self.eq(b, -1)
            special = self.logical_or(zero, minus)
        divisor = self.select(special, self.const(1, dtype), b)
        if dtype.itemsize <= 4:
            wide = vector(self.lanes, "double")
            up, down = ("sitofp", "fptosi") if dtype.kind == "i" else ("uitofp", "fptoui")
            if dtype.itemsize < 4:  # exact in int32, which converts in one instruction
                word = vector(self.lanes, "i32")
                extend = "sext" if dtype.kind == "i" else "zext"
                x, y = (f.cast("sitofp", f.cast(extend, v, word), wide) for v in (a.value, divisor.value))
                q = f.cast("trunc", f.cast("fptosi", f.binary("fdiv", x, y), word), type)
            else:
                x, y = (f.cast(up, v, wide) for v in (a.value, divisor.value))
                q = f.cast(down, f.binary("fdiv", x, y), type)
        else:
            q = f.binary("sdiv" if dtype.kind == "i" else "udiv", a.value, divisor.value)
        result = self.select(zero, self.const(0, dtype), self._same(a, q))
        return self.select(minus, self.neg(a), result) if dtype.kind == "i" else result

    def floordiv(self, a: Operand, b: Operand) -> Scalar:
        """The quotient rounded toward minus infinity; integers: 0 where b is 0."""
        a, b = self._pair(a, b)
        if a.dtype.kind == "f":
            return self._math(math_special.floordiv, a, b)
        q = self._quotient(a, b)
        if a.dtype.kind != "i":
            return q
        rest = self.sub(a, self.mul(q, b))
        uneven = self.logical_and(self.ne(rest, 0), self.lt(self.bitwise_xor(a, b), 0))
        uneven = self.logical_and(uneven, self.ne(b, 0))
        return self.select(uneven, self.sub(q, 1), q)

    def mod(self, a: Operand, b: Operand) -> Scalar:
        """The remainder with the sign of b; integers: 0 where b is 0."""
        a, b = self._pair(a, b)
        if a.dtype.kind == "f":
            return self._math(math_special.mod, a, b)
        rest = self.sub(a, self.mul(self.floordiv(a, b), b))
        return self.select(self.eq(b, 0), self.const(0, a.dtype), rest)

    def neg(self, x: Operand) -> Scalar:
        x = self.own(x)
        if x.dtype.kind == "f":
            return self._same(x, self.f.op(x.value.type, f"fneg {x.value.typed}"))
        return self.sub(self.const(0, x.dtype), x)

    def abs(self, x: Operand) -> Scalar:
        x = self.own(x)
        if x.dtype.kind == "f":
            return self._same(x, self.f.intrinsic("fabs", x.value.type, x.value))
        return self.select(self.lt(x, 0), self.neg(x), x) if x.dtype.kind == "i" else x

    def sqrt(self, x: Operand) -> Scalar:
        x = self.own(x)
        return self._same(x, self.f.intrinsic("sqrt", x.value.type, x.value))

    def rsqrt(self, x: Operand) -> Scalar:
        x = self.own(x)
        return self.div(self.const(1.0, x.dtype), self.sqrt(x))

    def fma(self, a: Operand, b: Operand, c: Operand) -> Scalar:
        """a * b + c, rounded once."""
        known = next(x.dtype for x in (a, b, c) if isinstance(x, Scalar) and x.dtype is not None)
        a, b, c = (self.own(x, known) for x in (a, b, c))
        if known.kind != "f":
            return self.add(self.mul(a, b), c)
        return self._same(a, self.f.fma(a.value, b.value, c.value))

    def _round(self, x: Operand, intrinsic: str) -> Scalar:
        x = self.own(x)
        return self._same(x, self.f.intrinsic(intrinsic, x.value.type, x.value)) if x.dtype.kind == "f" else x

    def floor(self, x: Operand) -> Scalar:
        return self._round(x, "floor")

    def ceil(self, x: Operand) -> Scalar:
        return self._round(x, "ceil")

    def trunc(self, x: Operand) -> Scalar:
        return self._round(x, "trunc")

    def round(self, x: Operand) -> Scalar:
        """To the nearest integer, halves to even."""
        return self._round(x, "roundeven")

    def sign(self, x: Operand) -> Scalar:
        """-1, 0 or 1; NaN and signed zeros pass."""
        x = self.own(x)
        if x.dtype.kind in "bu":
            return self.select(self.ne(x, 0), self.const(1, x.dtype), x)
        return self.select(
            self.gt(x, 0), self.const(1, x.dtype), self.select(self.lt(x, 0), self.const(-1, x.dtype), x)
        )

    def copysign(self, x: Operand, y: Operand) -> Scalar:
        x, y = self._pair(x, y)
        return self._same(x, self.f.intrinsic("copysign", x.value.type, x.value, y.value))

    def _extremum(self, a: Operand, b: Operand, order: str) -> Scalar:
        a, b = self._pair(a, b)
        if a.dtype.kind == "b":
            return self.logical_or(a, b) if order == "gt" else self.logical_and(a, b)
        chosen = self.select(self._compare(order, a, b), a, b)
        return self.select(self.isnan(a), a, chosen) if a.dtype.kind == "f" else chosen

    def maximum(self, a: Operand, b: Operand) -> Scalar:
        """The larger; NaN if either is NaN."""
        return self._extremum(a, b, "gt")

    def minimum(self, a: Operand, b: Operand) -> Scalar:
        return self._extremum(a, b, "lt")

    # -- comparison and logic ------------------------------------------------------------------------------
    def _compare(self, order: str, a: Operand, b: Operand) -> Scalar:
        a, b = self._pair(a, b)
        if a.dtype.kind == "f":
            return self._bool(self.f.fcmp(_ORDERED[order], a.value, b.value))
        sign = "" if order in ("eq", "ne") else "s" if a.dtype.kind == "i" else "u"
        return self._bool(self.f.icmp(sign + order, a.value, b.value))

    def eq(self, a: Operand, b: Operand) -> Scalar:
        return self._compare("eq", a, b)

    def ne(self, a: Operand, b: Operand) -> Scalar:
        return self._compare("ne", a, b)

    def lt(self, a: Operand, b: Operand) -> Scalar:
        return self._compare("lt", a, b)

    def le(self, a: Operand, b: Operand) -> Scalar:
        return self._compare("le", a, b)

    def gt(self, a: Operand, b: Operand) -> Scalar:
        return self._compare("gt", a, b)

    def ge(self, a: Operand, b: Operand) -> Scalar:
        return self._compare("ge", a, b)

    def _logical(self, instruction: str, a: Operand, b: Operand) -> Scalar:
        a, b = self.cast(self.own(a), dtypes.bool_), self.cast(self.own(b), dtypes.bool_)
        return self._bool(self.f.binary(instruction, a.value, b.value))

    def logical_and(self, a: Operand, b: Operand) -> Scalar:
        return self._logical("and", a, b)

    def logical_or(self, a: Operand, b: Operand) -> Scalar:
        return self._logical("or", a, b)

    def logical_xor(self, a: Operand, b: Operand) -> Scalar:
        return self._logical("xor", a, b)

    def logical_not(self, x: Operand) -> Scalar:
        return self._logical("xor", x, True)

    def _bitwise(self, instruction: str, a: Operand, b: Operand) -> Scalar:
        a, b = self._pair(a, b)
        return self._same(a, self.f.binary(instruction, a.value, b.value))

    def bitwise_and(self, a: Operand, b: Operand) -> Scalar:
        return self._bitwise("and", a, b)

    def bitwise_or(self, a: Operand, b: Operand) -> Scalar:
        return self._bitwise("or", a, b)

    def bitwise_xor(self, a: Operand, b: Operand) -> Scalar:
        return self._bitwise("xor", a, b)

    def bitwise_not(self, x: Operand) -> Scalar:
        x = self.own(x)
        return self.bitwise_xor(x, self.const(True if x.dtype.kind == "b" else -1, x.dtype))

    def shift_left(self, a: Operand, b: Operand) -> Scalar:
        """a << b; 0 where b is not in [0, bits)."""
        return self._shift("shl", a, b)

    def shift_right(self, a: Operand, b: Operand) -> Scalar:
        """a >> b; 0 (-1 for negative a) where b is not in [0, bits)."""
        return self._shift("ashr" if self._kind(a, b) == "i" else "lshr", a, b)

    def _shift(self, instruction: str, a: Operand, b: Operand) -> Scalar:
        a, b = self._pair(a, b)
        type, last = a.value.type, constant(a.dtype.bits - 1, a.value.type)
        inside = self.f.icmp("ule", b.value, last)
        shifted = self.f.binary(instruction, a.value, self.f.select(inside, b.value, last))
        return self._same(
            a, shifted if instruction == "ashr" else self.f.select(inside, shifted, constant(0, type))
        )

    def select(self, condition: Operand, a: Operand, b: Operand) -> Scalar:
        a, b = self._pair(a, b)
        condition = self.cast(self.own(condition), dtypes.bool_)
        return self._same(a, self.f.select(condition.value, a.value, b.value))

    def isnan(self, x: Operand) -> Scalar:
        x = self.own(x)
        return (
            self._bool(self.f.fcmp("uno", x.value, x.value))
            if x.dtype.kind == "f"
            else self.const(False, dtypes.bool_)
        )

    def isinf(self, x: Operand) -> Scalar:
        x = self.own(x)
        return self.eq(self.abs(x), float("inf")) if x.dtype.kind == "f" else self.const(False, dtypes.bool_)

    def isfinite(self, x: Operand) -> Scalar:
        x = self.own(x)
        return self.lt(self.abs(x), float("inf")) if x.dtype.kind == "f" else self.const(True, dtypes.bool_)

    # -- types ---------------------------------------------------------------------------------------------
    def cast(self, x: Operand, dtype: DType) -> Scalar:
        """Converts; floats to integers toward zero: NaN gives 0, and what is out of range of 32 (for 64-bit
        types: 64) bits
        saturates there before it wraps to a narrower type."""
        if isinstance(x, Scalar) and x.value is None or not isinstance(x, Scalar):
            return self.own(x, dtype)
        x = self.own(x)
        if x.dtype is dtype:
            return x
        f, value, type = self.f, x.value, register_type(dtype, self.lanes)
        if dtype.kind == "b":
            return self.ne(x, 0)
        if x.dtype.kind == "b":
            return self.select(x, self.const(1, dtype), self.const(0, dtype))
        if dtype.is_integer:
            return Scalar(self, self._to_integer(x, dtype), dtype)
        if x.dtype.is_integer:
            if dtype in (dtypes.float16, dtypes.bfloat16) and x.dtype.itemsize >= 4:
                return self.cast(self.cast(x, dtypes.float64), dtype)
            value = f.cast("sitofp" if x.dtype.kind == "i" else "uitofp", value, type)
        elif x.dtype is dtypes.float64:
            narrow = dtype in (dtypes.float16, dtypes.bfloat16)
            value = half.round_to_odd(f, value) if narrow else f.cast("fptrunc", value, type)
        elif dtype is dtypes.float64:
            return Scalar(self, f.cast("fpext", value, type), dtype)
        elif dtype is dtypes.float32:
            return Scalar(self, value, dtype)
        return self.rounded(Scalar(self, value, dtype), dtype)

    def _to_integer(self, x: Scalar, dtype: DType) -> Value:
        f, type = self.f, register_type(dtype, self.lanes)
        if x.dtype.is_integer:
            if dtype.bits == x.dtype.bits:
                return x.value
            return f.cast(
                "trunc" if dtype.bits < x.dtype.bits else "sext" if x.dtype.kind == "i" else "zext",
                x.value,
                type,
            )
        kind = "fptoui" if dtype is dtypes.uint64 else "fptosi"
        bits = 64 if dtype.itemsize == 8 or dtype is dtypes.uint32 else 32
        wide = vector(self.lanes, f"i{bits}")
        whole = f.call(f"llvm.{kind}.sat.{suffix(wide)}.{suffix(x.value.type)}", wide, x.value)
        return f.cast("trunc", whole, type)

    def bits(self, x: Scalar) -> Scalar:
        """The bits of a float32 or float64 as a signed integer of that width."""
        dtype = _WORD[8 if x.dtype is dtypes.float64 else 4]
        return Scalar(self, self.f.cast("bitcast", x.value, register_type(dtype, self.lanes)), dtype)

    def from_bits(self, x: Scalar) -> Scalar:
        dtype = dtypes.float64 if x.dtype.itemsize == 8 else dtypes.float32
        return Scalar(self, self.f.cast("bitcast", x.value, register_type(dtype, self.lanes)), dtype)

    def any(self, condition: Scalar) -> Value:
        """``i1``: whether the condition holds in any lane."""
        if self.lanes == 1:
            return condition.value
        return self.f.call(f"llvm.vector.reduce.or.v{self.lanes}i1", "i1", condition.value)

    # -- mathematics ---------------------------------------------------------------------------------------
    def _math(self, function: Any, *xs: Operand) -> Scalar:
        """Runs a math function without fast-math flags; float16 and bfloat16 are float32 to it."""
        known = next((x.dtype for x in xs if isinstance(x, Scalar) and x.dtype is not None), dtypes.float32)
        if known.kind != "f":
            raise TypeError(f"{function.__name__} is defined for floats; received {known.name}")
        strict, kind = self._strict, dtypes.float64 if known is dtypes.float64 else dtypes.float32
        inside = [Scalar(strict, self.own(x, known).value, kind) for x in xs]
        return Scalar(self, function(strict, *inside).value, known)

    def exp(self, x: Operand) -> Scalar:
        return self._math(math_exp.exp, x)

    def exp_nonpositive(self, x: Operand) -> Scalar:
        return self._math(math_exp.exp_nonpositive, x)

    def exp2(self, x: Operand) -> Scalar:
        return self._math(math_exp.exp2, x)

    def expm1(self, x: Operand) -> Scalar:
        return self._math(math_exp.expm1, x)

    def sigmoid(self, x: Operand) -> Scalar:
        return self._math(math_exp.sigmoid, x)

    def log(self, x: Operand) -> Scalar:
        return self._math(math_log.log, x)

    def log2(self, x: Operand) -> Scalar:
        return self._math(math_log.log2, x)

    def log10(self, x: Operand) -> Scalar:
        return self._math(math_log.log10, x)

    def log1p(self, x: Operand) -> Scalar:
        return self._math(math_log.log1p, x)

    def sin(self, x: Operand) -> Scalar:
        return self._math(math_trig.sin, x)

    def cos(self, x: Operand) -> Scalar:
        return self._math(math_trig.cos, x)

    def tan(self, x: Operand) -> Scalar:
        return self._math(math_trig.tan, x)

    def asin(self, x: Operand) -> Scalar:
        return self._math(math_trig.asin, x)

    def acos(self, x: Operand) -> Scalar:
        return self._math(math_trig.acos, x)

    def atan(self, x: Operand) -> Scalar:
        return self._math(math_trig.atan, x)

    def atan2(self, y: Operand, x: Operand) -> Scalar:
        return self._math(math_trig.atan2, y, x)

    def sinh(self, x: Operand) -> Scalar:
        return self._math(math_hyperbolic.sinh, x)

    def cosh(self, x: Operand) -> Scalar:
        return self._math(math_hyperbolic.cosh, x)

    def tanh(self, x: Operand) -> Scalar:
        return self._math(math_hyperbolic.tanh, x)

    def asinh(self, x: Operand) -> Scalar:
        return self._math(math_hyperbolic.asinh, x)

    def acosh(self, x: Operand) -> Scalar:
        return self._math(math_hyperbolic.acosh, x)

    def atanh(self, x: Operand) -> Scalar:
        return self._math(math_hyperbolic.atanh, x)

    def turns(self, v: Scalar) -> tuple[Scalar, Scalar]:
        """cos and sin of ``2 pi v`` for v in [0, 1]."""
        pair = math_trig.turns(self._strict, Scalar(self._strict, v.value, v.dtype))
        return Scalar(self, pair[0].value, v.dtype), Scalar(self, pair[1].value, v.dtype)

    def erf(self, x: Operand) -> Scalar:
        return self._math(math_special.erf, x)

    def erfc(self, x: Operand) -> Scalar:
        return self._math(math_special.erfc, x)

    def pow(self, a: Operand, b: Operand) -> Scalar:
        """a to the power of b, with C's special values; integers wrap, and a negative exponent gives the
        truncated quotient."""
        a, b = self._pair(a, b)
        return (
            self._math(math_special.pow, a, b)
            if a.dtype.kind == "f"
            else math_special.integer_power(self, a, b)
        )


def _number(x: Operand) -> Any:
    return x.number if isinstance(x, Scalar) else x
