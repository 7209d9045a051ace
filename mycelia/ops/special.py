"""Inverses of special functions."""
from __future__ import annotations

import math

import numpy as np

from mycelia.ir.dtypes import FLOATS, bool_
from mycelia.ops.arithmetic import Square
from mycelia.ops.definition import operator
from mycelia.ops.exponential import Exp
from mycelia.ops.inference import same_type
from mycelia.ops.reference import widened
from mycelia.ops.samples import unary, unary_errors

# Giles 2010, "Approximating the erfinv function": in w = -log(1 - x^2), from its middle and tails
_CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
           -0.00417768164, 0.246640727, 1.50140941)
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
         0.00943887047, 1.00167406, 2.83297682)
_erf = np.vectorize(math.erf, otypes=[np.float64])


def _reference(x: np.ndarray) -> np.ndarray:
    y = x.astype(np.float64)
    w = -np.log1p(-y * y)
    centre, tail = np.polyval(_CENTRE, w - 2.5), np.polyval(_TAIL, np.sqrt(np.maximum(w, 0)) - 3)
    z = np.where(w < 5, centre, tail) * y
    inside = np.abs(y) < 1
    for _ in range(3):
        error = _erf(np.where(inside, z, 0)) - y
        z = np.where(inside, z - error * np.exp(z * z) * math.sqrt(math.pi) / 2, z)
    z = np.where(inside, z, np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan))
    return z.astype(x.dtype)


@operator("Erfinv", pointwise=True)
class Erfinv:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond."""

    infer = same_type(FLOATS)
    def vjp(g, x, y): return g * Exp(Square(y)) * (math.sqrt(math.pi) / 2)

    def body(m, x):
        w = -m.log1p(-(x * x))
        near, far = w - 2.5, m.sqrt(m.maximum(w, 0.0)) - 3.0
        centre, tail = near * _CENTRE[0] + _CENTRE[1], far * _TAIL[0] + _TAIL[1]
        for a, b in zip(_CENTRE[2:], _TAIL[2:]):
            centre, tail = centre * near + a, tail * far + b
        z = m.select(m.lt(w, 5.0), centre, tail) * x
        for _ in range(1 if x.dtype.itemsize <= 4 else 3):
            z = z - (m.erf(z) - x) * m.exp(z * z) * (math.sqrt(math.pi) / 2)
        size = m.abs(x)
        beyond = m.select(m.eq(size, 1.0), x * math.inf, x * math.nan)
        return m.select(m.lt(size, 1.0), z, beyond)

    reference = widened(_reference)
    samples = unary(FLOATS, -0.99, 0.99)
    errors = unary_errors(bool_)
