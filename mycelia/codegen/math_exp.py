"""exp and its kin, written in the scalar vocabulary, for float32 and float64.

``exp(x) = 2**n * exp(r)`` with ``n`` the integer nearest to ``x / ln 2`` and ``|r| <= ln 2 / 2``;
``exp(r)`` is a minimax polynomial.
Adding 1.5 * 2**(p-1) to a float leaves the integer nearest to it in the low bits, which serves as exponent
without a conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mycelia.ir import dtypes

if TYPE_CHECKING:
    from mycelia.codegen.scalar import Scalar, VectorScalars

# (exp(r) - 1 - r) / r**2 on |r| <= ln 2 / 2, highest power first
EXP32 = (0.0013926184, 0.00836317893, 0.0416665561, 0.166665763, 0.5)
EXP64 = (
    2.510038549551032e-08,
    2.7620088445409746e-07,
    2.7557268459997064e-06,
    2.4801521295954376e-05,
    0.00019841269863053618,
    0.0013888888917213717,
    0.008333333333330062,
    0.04166666666662413,
    0.16666666666666669,
    0.5,
)
# (2**r - 1) / r on |r| <= 1/2
EXP2_32 = (0.000154531634, 0.00133908633, 0.00961808302, 0.0555035695, 0.240226507, 0.693147182)
EXP2_64 = (
    2.5729324177362305e-11,
    4.4558179083360645e-10,
    7.0548973041554995e-09,
    1.0178057087733941e-07,
    1.3215486808705563e-06,
    1.5252733841556773e-05,
    0.00015403530393370734,
    0.001333355814640647,
    0.00961812910762848,
    0.055504108664821625,
    0.24022650695910072,
    0.6931471805599453,
)
LOG2E = 1.4426950408889634
LN2_32 = (0.6931471824645996, -1.9046542121259336e-09)
LN2_64 = (0.6931471805599453, 2.3190468138462996e-17)


def single(x: Scalar) -> bool:
    return x.dtype is not dtypes.float64


def horner(m: VectorScalars, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """The polynomial in x, highest power first."""
    total = m.const(coefficients[0], x.dtype)
    for c in coefficients[1:]:
        total = m.fma(total, x, c)
    return total


def clamp(m: VectorScalars, x: Scalar, lo: float, hi: float) -> Scalar:
    """x within [lo, hi]; NaN stays."""
    x = m.select(m.lt(x, lo), m.const(lo, x.dtype), x)
    return m.select(m.gt(x, hi), m.const(hi, x.dtype), x)


def magic(x: Scalar) -> float:
    """Adding it rounds to an integer, which stays in the low bits."""
    return 12582912.0 if single(x) else 6755399441055744.0


def nearest(m: VectorScalars, x: Scalar, factor: float) -> tuple[Scalar, Scalar]:
    """The integer nearest to ``x * factor``: as a float, and as an integer. Neither traps nor is undefined
    on NaN."""
    shifted = m.fma(x, factor, magic(x))
    return shifted - magic(x), m.bits(shifted) - m.bits(m.const(magic(x), x.dtype))


def power_of_two(m: VectorScalars, n: Scalar) -> Scalar:
    """2.0**n for an integer n that gives a normal number."""
    bias, mantissa = (127, 23) if n.dtype is dtypes.int32 else (1023, 52)
    return m.from_bits(m.shift_left(n + bias, m.const(mantissa, n.dtype)))


def scale(m: VectorScalars, x: Scalar, n: Scalar) -> Scalar:
    """x * 2**n for |n| up to twice the exponent range, through two factors, so that overflow and denormals
    come out right."""
    half = m.shift_right(n, m.const(1, n.dtype))
    return x * power_of_two(m, half) * power_of_two(m, n - half)


def reduced(m: VectorScalars, x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """n as float and as integer, and r with x = n ln 2 + r."""
    n, integer = nearest(m, x, LOG2E)
    hi, lo = LN2_32 if single(x) else LN2_64
    return n, integer, m.fma(n, -lo, m.fma(n, -hi, x))


def exp_minus_one(m: VectorScalars, r: Scalar) -> Scalar:
    """exp(r) - 1 for |r| <= ln 2 / 2."""
    return m.fma(r * r, horner(m, r, EXP32 if single(r) else EXP64), r)


def exp(m: VectorScalars, x: Scalar, doublings: int = 0) -> Scalar:
    """exp(x) * 2**doublings."""
    x = clamp(m, x, *((-104.0, 90.0) if single(x) else (-746.0, 711.0)))
    _, n, r = reduced(m, x)
    return scale(m, exp_minus_one(m, r) + 1.0, n + doublings if doublings else n)


def exp_nonpositive(m: VectorScalars, x: Scalar) -> Scalar:
    """exp(x) for x <= 0, with 0 for what would be a denormal; faster than `exp`."""
    lowest = -87.0 if single(x) else -708.0
    under = m.lt(x, lowest)
    _, n, r = reduced(m, m.select(under, m.const(lowest, x.dtype), x))
    result = m.from_bits(
        m.bits(exp_minus_one(m, r) + 1.0) + m.shift_left(n, m.const(23 if single(x) else 52, n.dtype))
    )
    return m.select(under, m.const(0.0, x.dtype), result)


def exp2(m: VectorScalars, x: Scalar) -> Scalar:
    x = clamp(m, x, *((-152.0, 130.0) if single(x) else (-1077.0, 1026.0)))
    n, integer = nearest(m, x, 1.0)
    r = x - n
    return scale(m, m.fma(horner(m, r, EXP2_32 if single(x) else EXP2_64), r, 1.0), integer)


def expm1(m: VectorScalars, x: Scalar) -> Scalar:
    """2**n * expm1(r) + (2**n - 1), in halves, so that 2**n does not overflow; for n = 0 it is expm1(r)."""
    bounded = clamp(m, x, *((-30.0, 89.0) if single(x) else (-60.0, 710.0)))
    n, integer, r = reduced(m, bounded)
    p = exp_minus_one(m, r)
    half = power_of_two(m, integer - 1)
    result = m.fma(p, half, half - 0.5) * 2.0
    return m.select(m.eq(n, 0.0), m.select(m.eq(x, 0.0), x, p), result)


def sigmoid(m: VectorScalars, x: Scalar) -> Scalar:
    """1 / (1 + e) with e = exp(-|x|), and e / (1 + e) for negative x, which reaches the denormals."""
    e = exp(m, m.neg(m.abs(x)))
    return m.select(m.lt(x, 0.0), e, m.const(1.0, x.dtype)) / (e + 1.0)
