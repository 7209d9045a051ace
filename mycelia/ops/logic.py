"""Logic over booleans and bits over integers, element by element."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.ir.dtypes import INTEGERS, bool_, float32
from mycelia.ops.definition import operator
from mycelia.ops.inference import INTEGERS_AND_BOOL, Elementwise, no_gradient, same_type
from mycelia.ops.samples import binary, binary_errors, unary, unary_errors


@operator("LogicalAnd", pointwise=True)
class LogicalAnd:
    """x and y."""

    infer = Elementwise((bool_,), arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.logical_and(x, y)
    reference = np.logical_and
    samples = binary((bool_,), gradient=False)
    errors = binary_errors(float32)[1:]


@operator("LogicalOr", pointwise=True)
class LogicalOr:
    """x or y."""

    infer = Elementwise((bool_,), arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.logical_or(x, y)
    reference = np.logical_or
    samples = binary((bool_,), gradient=False)
    errors = binary_errors(float32)[1:]


@operator("LogicalXor", pointwise=True)
class LogicalXor:
    """Either x or y, not both."""

    infer = Elementwise((bool_,), arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.logical_xor(x, y)
    reference = np.logical_xor
    samples = binary((bool_,), gradient=False)
    errors = binary_errors(float32)[1:]


@operator("LogicalNot", pointwise=True)
class LogicalNot:
    """not x."""

    infer = same_type((bool_,))
    vjp = no_gradient
    def body(m, x): return m.logical_not(x)
    reference = np.logical_not
    samples = unary((bool_,), gradient=False)
    errors = unary_errors(float32)


@operator("BitwiseAnd", pointwise=True)
class BitwiseAnd:
    """The bits that both have."""

    infer = Elementwise(INTEGERS_AND_BOOL, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.bitwise_and(x, y)
    reference = np.bitwise_and
    samples = binary(INTEGERS_AND_BOOL, -100.0, 100.0, gradient=False)
    errors = binary_errors(float32)


@operator("BitwiseOr", pointwise=True)
class BitwiseOr:
    """The bits that either has."""

    infer = Elementwise(INTEGERS_AND_BOOL, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.bitwise_or(x, y)
    reference = np.bitwise_or
    samples = binary(INTEGERS_AND_BOOL, -100.0, 100.0, gradient=False)
    errors = binary_errors(float32)


@operator("BitwiseXor", pointwise=True)
class BitwiseXor:
    """The bits that only one has."""

    infer = Elementwise(INTEGERS_AND_BOOL, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.bitwise_xor(x, y)
    reference = np.bitwise_xor
    samples = binary(INTEGERS_AND_BOOL, -100.0, 100.0, gradient=False)
    errors = binary_errors(float32)


@operator("BitwiseNot", pointwise=True)
class BitwiseNot:
    """All bits turned over; of booleans: not."""

    infer = same_type(INTEGERS_AND_BOOL)
    vjp = no_gradient
    def body(m, x): return m.bitwise_not(x)
    reference = np.bitwise_not
    samples = unary(INTEGERS_AND_BOOL, -100.0, 100.0, gradient=False)
    errors = unary_errors(float32)


def _shifted(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        bits = x.dtype.itemsize * 8
        outside = (y < 0) | (y >= bits)
        beyond = np.where(x < 0, -1, 0) if ufunc is np.right_shift and x.dtype.kind == "i" else 0
        moved = ufunc(x, np.where(outside, 0, y).astype(y.dtype))
        return np.where(outside, np.asarray(beyond, x.dtype), moved)
    return reference


@operator("LeftShift", pointwise=True)
class LeftShift:
    """The bits moved up by so many places; 0 where that is not in [0, bits)."""

    infer = Elementwise(INTEGERS, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.shift_left(x, y)
    reference = _shifted(np.left_shift)
    samples = binary(INTEGERS, -100.0, 100.0, low2=-2, high2=9, gradient=False)
    errors = binary_errors(float32)


@operator("RightShift", pointwise=True)
class RightShift:
    """The bits moved down by so many places, the sign staying; 0 (-1 of a negative number) where that is not
    in [0, bits)."""

    infer = Elementwise(INTEGERS, arity=2)
    vjp = no_gradient
    def body(m, x, y): return m.shift_right(x, y)
    reference = _shifted(np.right_shift)
    samples = binary(INTEGERS, -100.0, 100.0, low2=-2, high2=9, gradient=False)
    errors = binary_errors(float32)
