"""Arithmetic, element by element. Inputs have one dtype and broadcast; integers wrap."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.dtypes import ALL, FLOATS, bool_
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.inference import NUMBERS, Elementwise, no_gradient, same_type
from mycelia.ops.reference import is_float, widened
from mycelia.ops.samples import binary, binary_errors, unary, unary_errors


@operator("Add", pointwise=True)
class Add:
    """x + y; of booleans: or."""

    infer = Elementwise(ALL, arity=2)
    def vjp(g, x, y, out): return g, g
    def body(m, x, y): return m.logical_or(x, y) if x.dtype is bool_ else x + y
    reference = widened(np.add)
    samples = binary(ALL)
    errors = binary_errors()


@operator("Sub", pointwise=True)
class Sub:
    """x - y."""

    infer = Elementwise(NUMBERS, arity=2)
    def vjp(g, x, y, out): return g, -g
    def body(m, x, y): return x - y
    reference = widened(np.subtract)
    samples = binary(NUMBERS)
    errors = binary_errors(bool_)


@operator("Mul", pointwise=True)
class Mul:
    """x * y; of booleans: and."""

    infer = Elementwise(ALL, arity=2)
    def vjp(g, x, y, out): return g * y, g * x
    def body(m, x, y): return m.logical_and(x, y) if x.dtype is bool_ else x * y
    reference = widened(np.multiply)
    samples = binary(ALL)
    errors = binary_errors()


@operator("Div", pointwise=True)
class Div:
    """x / y of floats."""

    infer = Elementwise(FLOATS, arity=2)

    def vjp(g, x, y, out):
        dx = g / y
        return dx, -dx * out

    def body(m, x, y): return x / y
    reference = widened(np.divide)
    samples = binary(FLOATS, low2=0.5, high2=3.0)
    errors = binary_errors(bool_)


@operator("FloorDiv", pointwise=True)
class FloorDiv:
    """The quotient rounded toward minus infinity; of integers 0 where y is 0."""

    infer = Elementwise(NUMBERS, arity=2)
    def vjp(g, x, y, out): return None, None
    def body(m, x, y): return m.floordiv(x, y)
    reference = widened(np.floor_divide)
    samples = binary(NUMBERS, -9.0, 9.0, away_from=(0.0,), gradient=False)
    errors = binary_errors(bool_)


@operator("FloorMod", pointwise=True)
class FloorMod:
    """The remainder of `FloorDiv`, with the sign of y; of integers 0 where y is 0."""

    infer = Elementwise(NUMBERS, arity=2)
    def vjp(g, x, y, out): return g, -g * FloorDiv(x, y)
    def body(m, x, y): return m.mod(x, y)
    reference = widened(np.remainder)
    samples = binary(NUMBERS, -9.0, 9.0, away_from=(0.0,), gradient=False)
    errors = binary_errors(bool_)


@operator("Neg", pointwise=True)
class Neg:
    """-x."""

    infer = same_type(NUMBERS)
    def vjp(g, x, y): return -g
    def body(m, x): return -x
    reference = widened(np.negative)
    samples = unary(NUMBERS)
    errors = unary_errors(bool_)


@operator("Abs", pointwise=True)
class Abs:
    """|x|; the derivative at 0 is 0."""

    infer = same_type(NUMBERS)
    def vjp(g, x, y): return g * Sign(x)
    def body(m, x): return m.abs(x)
    reference = widened(np.abs)
    samples = unary(NUMBERS, away_from=(0.0,))
    errors = unary_errors(bool_)


@operator("Sign", pointwise=True)
class Sign:
    """-1, 0 or 1; NaN stays."""

    infer = same_type(NUMBERS)
    vjp = no_gradient
    def body(m, x): return m.sign(x)
    reference = widened(np.sign)
    samples = unary(NUMBERS, away_from=(0.0,))
    errors = unary_errors(bool_)


@operator("Square", pointwise=True)
class Square:
    """x * x."""

    infer = same_type(NUMBERS)
    def vjp(g, x, y): return g * (2 * x)
    def body(m, x): return x * x
    reference = widened(np.square)
    samples = unary(NUMBERS)
    errors = unary_errors(bool_)


@operator("Reciprocal", pointwise=True)
class Reciprocal:
    """1 / x."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return -g * (y * y)
    def body(m, x): return 1 / x
    reference = widened(np.reciprocal)
    samples = unary(FLOATS, 0.5, 3.0)
    errors = unary_errors(bool_)


def _power(x: np.ndarray, y: np.ndarray) -> Any:
    if is_float(x.dtype):
        return np.power(x, y)
    positive = np.power(x, np.maximum(y, y.dtype.type(0)))
    odd = (y & y.dtype.type(1)).astype(bool)
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)).astype(x.dtype)
    return np.where(y < 0, inverse, positive)


@operator("Pow", pointwise=True)
class Pow:
    """x to the power of y; of integers a negative power gives the truncated quotient."""

    infer = Elementwise(NUMBERS, arity=2)

    def vjp(g, x, y, out):
        from mycelia.ops.comparison import Equal, Greater
        from mycelia.ops.exponential import Log
        from mycelia.ops.selection import Select
        zero, one = like(0, x), like(1, x)
        dx = g * Select(Equal(y, zero), zero, y * Pow(x, y - 1))
        positive = Greater(x, zero)
        return dx, g * Select(positive, out * Log(Select(positive, x, one)), zero)

    def body(m, x, y): return m.pow(x, y)
    reference = widened(_power)
    samples = binary(NUMBERS, 0.5, 3.0, low2=-2.0, high2=3.0)
    errors = binary_errors(bool_)


@operator("Maximum", pointwise=True)
class Maximum:
    """The larger of x and y; NaN if either is NaN. Where they are equal each gets half of the gradient."""

    infer = Elementwise(ALL, arity=2)

    def vjp(g, x, y, out):
        from mycelia.ops.comparison import Greater
        return _share(g, Greater(x, y), x, y)

    def body(m, x, y): return m.maximum(x, y)
    reference = widened(np.maximum)
    samples = binary(ALL)
    errors = binary_errors()


@operator("Minimum", pointwise=True)
class Minimum:
    """The smaller of x and y; NaN if either is NaN. Where they are equal each gets half of the gradient."""

    infer = Elementwise(ALL, arity=2)

    def vjp(g, x, y, out):
        from mycelia.ops.comparison import Less
        return _share(g, Less(x, y), x, y)

    def body(m, x, y): return m.minimum(x, y)
    reference = widened(np.minimum)
    samples = binary(ALL)
    errors = binary_errors()


def _share(g: Any, first: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Cotangents of x and y: all of g to x where ``first`` holds, half to each where x equals y, else all to
    y."""
    from mycelia.ops.comparison import Equal
    from mycelia.ops.selection import Select
    zero, half, tie = like(0, g), g * 0.5, Equal(x, y)
    return Select(tie, half, Select(first, g, zero)), Select(tie, half, Select(first, zero, g))
