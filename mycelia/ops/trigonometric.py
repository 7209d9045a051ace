"""Circular and hyperbolic functions and their inverses, element by element, of floats."""
from __future__ import annotations

import numpy as np

from mycelia.ir.dtypes import FLOATS, int32
from mycelia.ops.definition import operator
from mycelia.ops.exponential import Rsqrt, Sqrt
from mycelia.ops.inference import Elementwise, same_type
from mycelia.ops.reference import widened
from mycelia.ops.samples import binary, binary_errors, unary, unary_errors


@operator("Sin", pointwise=True)
class Sin:
    """The sine of x radians."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * Cos(x)
    def body(m, x): return m.sin(x)
    reference = widened(np.sin)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)


@operator("Cos", pointwise=True)
class Cos:
    """The cosine of x radians."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return -g * Sin(x)
    def body(m, x): return m.cos(x)
    reference = widened(np.cos)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)


@operator("Tan", pointwise=True)
class Tan:
    """The tangent of x radians."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (y * y + 1)
    def body(m, x): return m.tan(x)
    reference = widened(np.tan)
    samples = unary(FLOATS, -1.2, 1.2)
    errors = unary_errors(int32)


@operator("Asin", pointwise=True)
class Asin:
    """The inverse sine, in [-pi/2, pi/2]; NaN outside [-1, 1]."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * Rsqrt(1 - x * x)
    def body(m, x): return m.asin(x)
    reference = widened(np.arcsin)
    samples = unary(FLOATS, -0.9, 0.9)
    errors = unary_errors(int32)


@operator("ACos", pointwise=True)
class ACos:
    """The inverse cosine, in [0, pi]; NaN outside [-1, 1]."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return -g * Rsqrt(1 - x * x)
    def body(m, x): return m.acos(x)
    reference = widened(np.arccos)
    samples = unary(FLOATS, -0.9, 0.9)
    errors = unary_errors(int32)


@operator("Atan", pointwise=True)
class Atan:
    """The inverse tangent, in (-pi/2, pi/2)."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g / (x * x + 1)
    def body(m, x): return m.atan(x)
    reference = widened(np.arctan)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)


@operator("Atan2", pointwise=True)
class Atan2:
    """The angle of the point (y, x), in [-pi, pi]: ``Atan2(y, x)``."""

    infer = Elementwise(FLOATS, arity=2)

    def vjp(g, y, x, out):
        scaled = g / (x * x + y * y)
        return scaled * x, -scaled * y

    def body(m, y, x): return m.atan2(y, x)
    reference = widened(np.arctan2)
    samples = binary(FLOATS, 0.3, 2.0, low2=-2.0, high2=2.0)
    errors = binary_errors()


@operator("Sinh", pointwise=True)
class Sinh:
    """(exp(x) - exp(-x)) / 2."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * Cosh(x)
    def body(m, x): return m.sinh(x)
    reference = widened(np.sinh)
    samples = unary(FLOATS, -4.0, 4.0)
    errors = unary_errors(int32)


@operator("Cosh", pointwise=True)
class Cosh:
    """(exp(x) + exp(-x)) / 2."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * Sinh(x)
    def body(m, x): return m.cosh(x)
    reference = widened(np.cosh)
    samples = unary(FLOATS, -4.0, 4.0)
    errors = unary_errors(int32)


@operator("Tanh", pointwise=True)
class Tanh:
    """sinh(x) / cosh(x)."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (1 - y * y)
    def body(m, x): return m.tanh(x)
    reference = widened(np.tanh)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)


@operator("Asinh", pointwise=True)
class Asinh:
    """The inverse of sinh."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * Rsqrt(x * x + 1)
    def body(m, x): return m.asinh(x)
    reference = widened(np.arcsinh)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)


@operator("Acosh", pointwise=True)
class Acosh:
    """The inverse of cosh, at least 0; NaN below 1."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g / (Sqrt(x - 1) * Sqrt(x + 1))
    def body(m, x): return m.acosh(x)
    reference = widened(np.arccosh)
    samples = unary(FLOATS, 1.2, 9.0)
    errors = unary_errors(int32)


@operator("Atanh", pointwise=True)
class Atanh:
    """The inverse of tanh; NaN outside [-1, 1]."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g / (1 - x * x)
    def body(m, x): return m.atanh(x)
    reference = widened(np.arctanh)
    samples = unary(FLOATS, -0.9, 0.9)
    errors = unary_errors(int32)
