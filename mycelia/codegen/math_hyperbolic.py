"""Hyperbolic functions and their inverses, from expm1, exp, log and log1p."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mycelia.codegen.math_exp import exp, exp_minus_one, expm1, power_of_two, reduced, single
from mycelia.codegen.math_log import log, log1p

if TYPE_CHECKING:
    from mycelia.codegen.scalar import Scalar, VectorScalars

LN2 = 0.6931471805599453


def tanh(m: VectorScalars, x: Scalar) -> Scalar:
    """t / (t + 2) with t = expm1(2 |x|), which keeps small x accurate; beyond the bound tanh rounds to 1."""
    y = m.abs(x)
    bound = 9.25 if single(x) else 19.5
    y = m.select(m.gt(y, bound), m.const(bound, x.dtype), y)
    _, n, r = reduced(m, y + y)
    two_n = power_of_two(m, n)
    t = m.fma(exp_minus_one(m, r), two_n, two_n - 1.0)
    return m.copysign(t / (t + 2.0), x)


def sinh(m: VectorScalars, x: Scalar) -> Scalar:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|); where that would overflow, exp(|x|) / 2."""
    y = m.abs(x)
    t = expm1(m, y)
    moderate = m.fma(t, 0.5, t / (t + 1.0) * 0.5)
    large = exp(m, y, doublings=-1)
    return m.copysign(m.select(m.gt(y, 40.0), large, moderate), x)


def cosh(m: VectorScalars, x: Scalar) -> Scalar:
    """e / 2 + 1 / (2 e) with e = exp(|x|), halved in the exponent."""
    half = exp(m, m.abs(x), doublings=-1)
    return half + m.const(0.25, x.dtype) / half


def asinh(m: VectorScalars, x: Scalar) -> Scalar:
    """log1p(y + y*y / (1 + sqrt(1 + y*y))) with y = |x|; for large y log(y) + ln 2."""
    y = m.abs(x)
    big = m.gt(y, 1e9)
    safe = m.select(big, m.const(1.0, x.dtype), y)
    square = safe * safe
    small = log1p(m, safe + square / (m.sqrt(square + 1.0) + 1.0))
    result = m.select(big, log(m, y) + LN2, small)
    return m.copysign(result, x)


def acosh(m: VectorScalars, x: Scalar) -> Scalar:
    """log1p(t + sqrt(2 t + t*t)) with t = x - 1; for large x log(x) + ln 2; NaN below 1."""
    big = m.gt(x, 1e9)
    t = m.select(big, m.const(1.0, x.dtype), x) - 1.0
    small = log1p(m, t + m.sqrt(m.fma(t, t, t + t)))
    return m.select(big, log(m, x) + LN2, small)


def atanh(m: VectorScalars, x: Scalar) -> Scalar:
    """log1p(2 y / (1 - y)) / 2 with y = |x|."""
    y = m.abs(x)
    return m.copysign(log1p(m, (y + y) / (m.const(1.0, x.dtype) - y)) * 0.5, x)
