"""Roots, exponentials, logarithms and the error function, element by element, of floats."""
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mycelia.ir.dtypes import FLOATS, int32
from mycelia.ops.definition import operator
from mycelia.ops.inference import same_type
from mycelia.ops.reference import widened
from mycelia.ops.samples import unary, unary_errors

_TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of Python floats over an array: NumPy itself has no error function."""
    def over(x: np.ndarray) -> np.ndarray:
        flat = np.fromiter((function(v) for v in x.ravel().tolist()), np.float64, x.size)
        return flat.reshape(x.shape).astype(x.dtype)
    return over


@operator("Sqrt", pointwise=True)
class Sqrt:
    """The square root; NaN below 0."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * 0.5 / y
    def body(m, x): return m.sqrt(x)
    reference = widened(np.sqrt)
    samples = unary(FLOATS, 0.1, 9.0)
    errors = unary_errors(int32)


@operator("Rsqrt", pointwise=True)
class Rsqrt:
    """1 / sqrt(x)."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (-0.5 * (y * y * y))
    def body(m, x): return m.rsqrt(x)
    reference = widened(lambda x: (1 / np.sqrt(x)).astype(x.dtype))
    samples = unary(FLOATS, 0.1, 9.0)
    errors = unary_errors(int32)


@operator("Exp", pointwise=True)
class Exp:
    """e to the power of x."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * y
    def body(m, x): return m.exp(x)
    reference = widened(np.exp)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)


@operator("Expm1", pointwise=True)
class Expm1:
    """exp(x) - 1, accurate near 0."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (y + 1)
    def body(m, x): return m.expm1(x)
    reference = widened(np.expm1)
    samples = unary(FLOATS, -3.0, 3.0)
    errors = unary_errors(int32)


@operator("Log", pointwise=True)
class Log:
    """The natural logarithm; -inf at 0, NaN below."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g / x
    def body(m, x): return m.log(x)
    reference = widened(np.log)
    samples = unary(FLOATS, 0.1, 9.0)
    errors = unary_errors(int32)


@operator("Log1p", pointwise=True)
class Log1p:
    """log(1 + x), accurate near 0."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g / (x + 1)
    def body(m, x): return m.log1p(x)
    reference = widened(np.log1p)
    samples = unary(FLOATS, -0.9, 9.0)
    errors = unary_errors(int32)


@operator("Erf", pointwise=True)
class Erf:
    """The error function (Abramowitz and Stegun 7.1.1)."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (_TWO_OVER_ROOT_PI * Exp(-(x * x)))
    def body(m, x): return m.erf(x)
    reference = widened(_each(math.erf))
    samples = unary(FLOATS, -4.0, 4.0)
    errors = unary_errors(int32)


@operator("Erfc", pointwise=True)
class Erfc:
    """1 - erf(x), accurate for large x."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (-_TWO_OVER_ROOT_PI * Exp(-(x * x)))
    def body(m, x): return m.erfc(x)
    reference = widened(_each(math.erfc))
    samples = unary(FLOATS, -3.0, 5.0)
    errors = unary_errors(int32)
