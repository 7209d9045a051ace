"""Rounding to integers, element by element; integers pass unchanged. The derivative is zero wherever it
exists."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mycelia.ir.dtypes import bool_
from mycelia.ops.definition import operator
from mycelia.ops.inference import NUMBERS, no_gradient, same_type
from mycelia.ops.reference import is_float, widened
from mycelia.ops.samples import unary, unary_errors


def _of_floats(function: Callable) -> Callable:
    return widened(lambda x: function(x) if is_float(x.dtype) else x.copy())


@operator("Floor", pointwise=True)
class Floor:
    """The largest integer that is not above x."""

    infer = same_type(NUMBERS)
    vjp = no_gradient
    def body(m, x): return m.floor(x)
    reference = _of_floats(np.floor)
    samples = unary(NUMBERS, -4.0, 4.0, gradient=False)
    errors = unary_errors(bool_)


@operator("Ceil", pointwise=True)
class Ceil:
    """The smallest integer that is not below x."""

    infer = same_type(NUMBERS)
    vjp = no_gradient
    def body(m, x): return m.ceil(x)
    reference = _of_floats(np.ceil)
    samples = unary(NUMBERS, -4.0, 4.0, gradient=False)
    errors = unary_errors(bool_)


@operator("Rint", pointwise=True)
class Rint:
    """The nearest integer, halves to the even one."""

    infer = same_type(NUMBERS)
    vjp = no_gradient
    def body(m, x): return m.round(x)
    reference = _of_floats(np.rint)
    samples = unary(NUMBERS, -4.0, 4.0, gradient=False)
    errors = unary_errors(bool_)


@operator("Trunc", pointwise=True)
class Trunc:
    """The integer part of x."""

    infer = same_type(NUMBERS)
    vjp = no_gradient
    def body(m, x): return m.trunc(x)
    reference = _of_floats(np.trunc)
    samples = unary(NUMBERS, -4.0, 4.0, gradient=False)
    errors = unary_errors(bool_)
