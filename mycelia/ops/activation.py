"""Activations that are operators of their own; the others are composites of them (see
`mycelia.ops.function`)."""
from __future__ import annotations

import numpy as np

from mycelia.ir.dtypes import FLOATS, bool_, int32
from mycelia.ops.comparison import Greater
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.inference import NUMBERS, same_type
from mycelia.ops.reference import widened
from mycelia.ops.samples import unary, unary_errors
from mycelia.ops.selection import Select


@operator("ReLU", pointwise=True)
class ReLU:
    """max(x, 0); NaN stays; the derivative at 0 is 0."""

    infer = same_type(NUMBERS)

    def vjp(g, x, y):
        zero = like(0, y)
        return Select(Greater(y, zero), g, zero)

    def body(m, x): return m.maximum(x, 0)
    reference = widened(lambda x: np.maximum(x, x.dtype.type(0)))
    samples = unary(NUMBERS, away_from=(0.0,))
    errors = unary_errors(bool_)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))  # never overflows
    return (np.where(x < 0, small, 1) / (1 + small)).astype(x.dtype)


@operator("Sigmoid", pointwise=True)
class Sigmoid:
    """1 / (1 + exp(-x))."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * (y * (1 - y))
    def body(m, x): return m.sigmoid(x)
    reference = widened(_sigmoid)
    samples = unary(FLOATS, -9.0, 9.0)
    errors = unary_errors(int32)
