"""Logarithms in the scalar vocabulary.

``x = 2**e * w`` with ``w`` in [sqrt(1/2), sqrt 2); with ``f = w - 1``, ``s = f / (2 + f)``, ``log w = 2
atanh s``, whose series in
``z = s * s`` converges fast. It is summed as ``f - (f*f/2 - s*(f*f/2 + z*L(z)))``, whose leading term is
exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mycelia.codegen.math_exp import LN2_32, LN2_64, LOG2E, horner, magic, single

if TYPE_CHECKING:
    from mycelia.codegen.scalar import Scalar, VectorScalars

# (2 atanh(s) / s - 2) / z with z = s * s, on w in [sqrt(1/2), sqrt 2]
LOG32 = (0.233304679, 0.285508215, 0.400001228, 0.666666687)
LOG64 = (
    0.14616449685043406,
    0.15331721600556042,
    0.18182889125261723,
    0.2222221113479508,
    0.28571428625975487,
    0.39999999999899505,
    0.666666666666667,
)
LOG10E = 0.4342944819032518
LOG10_2 = {
    True: (0.3010300099849701, -1.432098883924482e-08),
    False: (0.3010299956639812, -2.8037281277851704e-18),
}


def split_exponent(m: VectorScalars, x: Scalar) -> tuple[Scalar, Scalar]:
    """e (as a float) and w of ``x = 2**e * w`` for positive finite x, denormals included."""
    mantissa, tiny, lift, root = (
        (23, 1.1754944e-38, 8388608.0, 0.70710677)
        if single(x)
        else (52, 2.2250738585072014e-308, 4503599627370496.0, 0.7071067811865476)
    )
    small = m.lt(x, tiny)
    bits = m.bits(m.select(small, x * lift, x))
    start = m.bits(m.const(root, x.dtype))
    offset = bits - start
    exponent = m.shift_right(offset, m.const(mantissa, bits.dtype))
    w = m.from_bits(m.bitwise_and(offset, (1 << mantissa) - 1) + start)
    # |e| is small: it fits the low bits
    e = m.from_bits(exponent + m.bits(m.const(magic(x), x.dtype))) - magic(x)
    return m.select(small, e - float(mantissa), e), w


def log_mantissa(m: VectorScalars, f: Scalar) -> Scalar:
    """log(1 + f) for 1 + f in [sqrt(1/2), sqrt 2)."""
    s = f / (f + 2.0)
    z = s * s
    square = f * f * 0.5
    series = z * horner(m, z, LOG32 if single(f) else LOG64)
    return f - (square - s * (square + series))


def _special(m: VectorScalars, x: Scalar, result: Scalar) -> Scalar:
    """The values at 0, infinity, negative numbers and NaN."""
    infinity = m.const(float("inf"), x.dtype)
    result = m.select(m.lt(x, infinity), result, x)  # infinity and NaN pass
    result = m.select(m.lt(x, 0.0), m.const(float("nan"), x.dtype), result)
    return m.select(m.eq(x, 0.0), m.neg(infinity), result)


def log(m: VectorScalars, x: Scalar) -> Scalar:
    e, w = split_exponent(m, x)
    hi, lo = LN2_32 if single(x) else LN2_64
    return _special(m, x, m.fma(e, hi, m.fma(e, lo, log_mantissa(m, w - 1.0))))


def log2(m: VectorScalars, x: Scalar) -> Scalar:
    e, w = split_exponent(m, x)
    return _special(m, x, m.fma(log_mantissa(m, w - 1.0), LOG2E, e))


def log10(m: VectorScalars, x: Scalar) -> Scalar:
    e, w = split_exponent(m, x)
    hi, lo = LOG10_2[single(x)]
    return _special(m, x, m.fma(e, hi, m.fma(log_mantissa(m, w - 1.0), LOG10E, e * lo)))


def log1p(m: VectorScalars, x: Scalar) -> Scalar:
    """log(u) + c / u, where u = 1 + x is rounded and c is what the rounding lost."""
    u = x + 1.0
    lost = m.select(m.lt(m.abs(x), 1.0), x - (u - 1.0), m.const(1.0, x.dtype) - (u - x))
    corrected = log(m, u) + lost / u
    usual = m.logical_and(m.gt(x, -1.0), m.lt(x, float("inf")))
    return m.select(m.eq(x, 0.0), x, m.select(usual, corrected, log(m, u)))
