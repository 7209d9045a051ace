"""Comparisons, element by element: inputs of one dtype, booleans out. Comparing with NaN is false, except
NotEqual."""
from __future__ import annotations

import numpy as np

from mycelia.ir.dtypes import ALL, bool_
from mycelia.ops.definition import operator
from mycelia.ops.inference import Elementwise, no_gradient
from mycelia.ops.reference import is_float, widened
from mycelia.ops.samples import binary, binary_errors, unary


@operator("Equal", pointwise=True)
class Equal:
    """x == y."""

    infer = Elementwise(ALL, bool_, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.eq(x, y)
    reference = widened(np.equal)
    samples = binary(ALL, gradient=False)
    errors = binary_errors()


@operator("NotEqual", pointwise=True)
class NotEqual:
    """x != y; true where either is NaN."""

    infer = Elementwise(ALL, bool_, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.ne(x, y)
    reference = widened(np.not_equal)
    samples = binary(ALL, gradient=False)
    errors = binary_errors()


@operator("Less", pointwise=True)
class Less:
    """x < y; false < true."""

    infer = Elementwise(ALL, bool_, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.lt(x, y)
    reference = widened(np.less)
    samples = binary(ALL, gradient=False)
    errors = binary_errors()


@operator("LessEqual", pointwise=True)
class LessEqual:
    """x <= y."""

    infer = Elementwise(ALL, bool_, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.le(x, y)
    reference = widened(np.less_equal)
    samples = binary(ALL, gradient=False)
    errors = binary_errors()


@operator("Greater", pointwise=True)
class Greater:
    """x > y."""

    infer = Elementwise(ALL, bool_, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.gt(x, y)
    reference = widened(np.greater)
    samples = binary(ALL, gradient=False)
    errors = binary_errors()


@operator("GreaterEqual", pointwise=True)
class GreaterEqual:
    """x >= y."""

    infer = Elementwise(ALL, bool_, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.ge(x, y)
    reference = widened(np.greater_equal)
    samples = binary(ALL, gradient=False)
    errors = binary_errors()


def _of_floats(function, otherwise):
    return widened(lambda x: function(x) if is_float(x.dtype) else np.full(x.shape, otherwise))


@operator("IsNan", pointwise=True)
class IsNan:
    """Whether x is not a number; integers never."""

    infer = Elementwise(ALL, bool_)
    vjp = no_gradient
    def body(m, x): return m.isnan(x)
    reference = _of_floats(np.isnan, False)
    samples = unary(ALL, gradient=False)


@operator("IsInf", pointwise=True)
class IsInf:
    """Whether x is plus or minus infinity."""

    infer = Elementwise(ALL, bool_)
    vjp = no_gradient
    def body(m, x): return m.isinf(x)
    reference = _of_floats(np.isinf, False)
    samples = unary(ALL, gradient=False)


@operator("IsFinite", pointwise=True)
class IsFinite:
    """Whether x is neither NaN nor infinite; integers always."""

    infer = Elementwise(ALL, bool_)
    vjp = no_gradient
    def body(m, x): return m.isfinite(x)
    reference = _of_floats(np.isfinite, True)
    samples = unary(ALL, gradient=False)


