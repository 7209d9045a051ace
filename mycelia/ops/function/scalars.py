"""More functions that work element by element: signs, remainders, angles, logarithms of sums."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import float64
from mycelia.ops import arithmetic, comparison, exponential, rounding, selection, trigonometric
from mycelia.ops.composite import composite
from mycelia.ops.constants import like
from mycelia.ops.function.elementwise import (
    cast,
    div,
    fmod,
    isinf,
    logical_and,
    mul,
    pow,
    where,
)
from mycelia.ops.integers import Gcd
from mycelia.ops.promotion import as_tensor, float_operands, floating, operands
from mycelia.tensor.tensor import Tensor

__all__ = [
    "approximate_equal", "cbrt", "copysign", "deg2rad", "fix", "float_power", "fmax", "fmin", "frac", "gcd",
    "heaviside", "is_floating_point", "is_nonzero", "isneginf", "isposinf", "lcm", "ldexp", "logaddexp2",
    "positive", "rad2deg", "sgn", "signbit", "sinc", "truncate_div", "truncate_mod", "xdivy",
]


def positive(input: Any) -> Tensor:
    """The input itself."""
    return as_tensor("positive", input)


def frac(x: Any) -> Tensor:
    """What is behind the point: ``x - trunc(x)``."""
    x = as_tensor("frac", x)
    return x - rounding.Trunc(x)


fix = rounding.Trunc


def float_power(input: Any, exponent: Any) -> Tensor:
    """``input`` to the power of ``exponent`` in float64."""
    x, y = operands("float_power", input, exponent)
    return pow(cast(x, float64), cast(y, float64))


@composite
def cbrt(x: Any) -> Tensor:
    """The cube root, also of negative numbers."""
    x = floating("cbrt", x)
    size = arithmetic.Abs(x)
    return arithmetic.Sign(x) * arithmetic.Pow(size, like(1.0 / 3.0, size))


def _sign_of_zero(x: Tensor) -> Tensor:
    """Below 0, or -0: where 1 / x is."""
    return comparison.Less(selection.Select(comparison.Equal(x, like(0, x)), arithmetic.Reciprocal(x), x),
                           like(0, x))


@composite
def signbit(x: Any) -> Tensor:
    """Whether the sign is a minus, -0 included."""
    x = as_tensor("signbit", x)
    return _sign_of_zero(x) if x.dtype.is_float else comparison.Less(x, like(0, x))


@composite
def copysign(x: Any, other: Any) -> Tensor:
    """The size of ``x`` with the sign of ``other``."""
    x, y = float_operands("copysign", x, other)
    size = arithmetic.Abs(x)
    return selection.Select(_sign_of_zero(y), -size, size)


@composite
def heaviside(input: Any, values: Any) -> Tensor:
    """0 below 0, 1 above, ``values`` at 0."""
    x, at_zero = operands("heaviside", input, values)
    zero, one = like(0, x), like(1, x)
    step = selection.Select(comparison.Greater(x, zero), one, zero)
    return selection.Select(comparison.Equal(x, zero), at_zero, step)


def isneginf(input: Any) -> Tensor:
    """Whether elements are minus infinity."""
    x = as_tensor("isneginf", input)
    return logical_and(isinf(x), comparison.Less(x, like(0, x)))


def isposinf(input: Any) -> Tensor:
    """Whether elements are plus infinity."""
    x = as_tensor("isposinf", input)
    return logical_and(isinf(x), comparison.Greater(x, like(0, x)))


def deg2rad(x: Any) -> Tensor:
    """Degrees as radians."""
    return floating("deg2rad", x) * (math.pi / 180.0)


def rad2deg(x: Any) -> Tensor:
    """Radians as degrees."""
    return floating("rad2deg", x) * (180.0 / math.pi)


@composite
def ldexp(x: Any, other: Any) -> Tensor:
    """``x * 2 ** other``."""
    x = floating("ldexp", x)
    return mul(x, pow(like(2, x), cast(as_tensor("ldexp", other, "other"), x.dtype)))


@composite
def logaddexp2(input: Any, other: Any) -> Tensor:
    """``log2(2 ** input + 2 ** other)`` without overflow."""
    x, y = float_operands("logaddexp2", input, other)
    gap = exponential.Exp(-arithmetic.Abs(x - y) * math.log(2.0))
    return arithmetic.Maximum(x, y) + exponential.Log1p(gap) * (1.0 / math.log(2.0))


@composite
def sinc(input: Any) -> Tensor:
    """``sin(pi x) / (pi x)``, and 1 at 0."""
    x = floating("sinc", input)
    at_zero = comparison.Equal(x, like(0, x))
    turned = selection.Select(at_zero, like(1, x), x) * math.pi
    return selection.Select(at_zero, like(1, x), trigonometric.Sin(turned) / turned)


def truncate_div(x: Any, y: Any) -> Tensor:
    """The quotient rounded toward 0, of integers; of floats the quotient."""
    a, b = operands("truncate_div", x, y)
    return div(a, b) if a.dtype.is_float else div(a, b, rounding_mode="trunc")


def truncate_mod(x: Any, y: Any) -> Tensor:
    """The remainder with the sign of ``x``."""
    return fmod(x, y)


@composite
def xdivy(x: Any, y: Any) -> Tensor:
    """``x / y``, and 0 where ``x`` is 0."""
    a, b = float_operands("xdivy", x, y)
    zero = comparison.Equal(a, like(0, a))
    return selection.Select(zero, like(0, a), a / selection.Select(zero, like(1, b), b))


@composite
def div_no_nan(x: Any, y: Any) -> Tensor:
    """``x / y``, and 0 where ``y`` is 0."""
    a, b = float_operands("div_no_nan", x, y)
    zero = comparison.Equal(b, like(0, b))
    return selection.Select(zero, like(0, a), a / selection.Select(zero, like(1, b), b))


@composite
def mul_no_nan(x: Any, y: Any) -> Tensor:
    """``x * y``, and 0 where ``y`` is 0."""
    a, b = operands("mul_no_nan", x, y)
    return selection.Select(comparison.Equal(b, like(0, b)), like(0, a), a * b)


def squared_difference(x: Any, y: Any) -> Tensor:
    """``(x - y) ** 2``."""
    a, b = operands("squared_difference", x, y)
    return arithmetic.Square(a - b)


def _integers(name: str, input: Any, other: Any) -> tuple[Tensor, Tensor]:
    x, y = operands(name, input, other)
    if not x.dtype.is_integer:
        raise TypeError(f"{name}: the operands must be integers. Received: {x.type} and {y.type}")
    return x, y


def gcd(input: Any, other: Any) -> Tensor:
    """The greatest common divisor.

    Raises:
        TypeError: operands that are no integers.
    """
    return Gcd(*_integers("gcd", input, other))


def lcm(input: Any, other: Any) -> Tensor:
    """The least common multiple.

    Raises:
        TypeError: operands that are no integers.
    """
    x, y = _integers("lcm", input, other)
    common = Gcd(x, y)
    safe = where(comparison.Equal(common, like(0, common)), like(1, common), common)
    return arithmetic.Abs(arithmetic.FloorDiv(x, safe) * y)


def _ignoring_nan(name: str, choose: Any) -> Any:
    def function(input: Any, other: Any) -> Tensor:
        x, y = operands(name, input, other)
        if not x.dtype.is_float:
            return choose(x, y)
        both = choose(x, y)
        return selection.Select(comparison.IsNan(x), y, selection.Select(comparison.IsNan(y), x, both))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{choose.name.lower()}` of what is not NaN."
    return composite(function)


fmax, fmin = _ignoring_nan("fmax", arithmetic.Maximum), _ignoring_nan("fmin", arithmetic.Minimum)


def sgn(input: Any) -> Tensor:
    """-1, 0 or 1."""
    return arithmetic.Sign(as_tensor("sgn", input))


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Tensor:
    """Whether elements differ by less than the tolerance."""
    a, b = operands("approximate_equal", x, y)
    gap = arithmetic.Abs(a - b)
    return comparison.Less(gap, like(tolerance, gap))


def is_floating_point(input: Any) -> bool:
    """Whether the elements are floats."""
    return as_tensor("is_floating_point", input).dtype.is_float


def is_nonzero(input: Any) -> bool:
    """Whether the one element is not 0.

    Raises:
        ValueError: more than one element.
    """
    x = as_tensor("is_nonzero", input)
    if x.size != 1:
        raise ValueError(f"is_nonzero: the input must have one element. Received: {x.type}")
    return bool(x != 0)
