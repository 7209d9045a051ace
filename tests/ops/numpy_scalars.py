"""The scalar vocabulary over NumPy arrays: runs an operator's body without a code generator."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ops.reference import is_half


class NumpyScalar:
    """A scalar of a body, for all elements at once; half precision is kept in float32."""

    def __init__(self, m: NumpyScalars, value: Any, dtype: DType | None) -> None:
        self.m, self.value, self.dtype = m, value, dtype

    def __add__(self, other): return self.m.add(self, other)
    def __radd__(self, other): return self.m.add(other, self)
    def __sub__(self, other): return self.m.sub(self, other)
    def __rsub__(self, other): return self.m.sub(other, self)
    def __mul__(self, other): return self.m.mul(self, other)
    def __rmul__(self, other): return self.m.mul(other, self)
    def __truediv__(self, other): return self.m.div(self, other)
    def __rtruediv__(self, other): return self.m.div(other, self)
    def __neg__(self): return self.m.neg(self)

    def __bool__(self) -> bool:
        raise TypeError("a scalar has no truth value")


class NumpyScalars:
    """``m`` of a body."""

    def scalar(self, array: np.ndarray) -> NumpyScalar:
        return NumpyScalar(
            self, array.astype(np.float32) if is_half(array) else array, dtypes.from_numpy_dtype(array.dtype)
        )

    def result(self, x: NumpyScalar, dtype: np.dtype) -> np.ndarray:
        return np.asarray(x.value).astype(dtype)

    def const(self, value: Any) -> NumpyScalar:
        return NumpyScalar(self, value, None)

    def _apply(self, function: Any, *xs: Any, gives: DType | None = None) -> NumpyScalar:
        xs = tuple(x if isinstance(x, NumpyScalar) else self.const(x) for x in xs)
        dtype = next(x.dtype for x in xs if x.dtype is not None)
        kind = np.float32 if dtype.name in ("float16", "bfloat16") else dtype.numpy
        assert all(x.dtype in (None, dtype) for x in xs), "a body combined two dtypes"
        values = [np.asarray(x.value).astype(kind) for x in xs]
        result = np.asarray(function(*values))
        return NumpyScalar(self, result if gives else result.astype(kind), gives or dtype)

    def select(self, c, a, b):
        return self._apply(lambda x, y: np.where(c.value, x, y), a, b)

    def cast(self, x, dtype):
        from mycelia.ops.selection import Cast
        kept = x.value if x.dtype.name not in ("float16", "bfloat16") else x.value.astype(x.dtype.numpy)
        return self.scalar(Cast.reference(kept, dtype=dtype))

    def pow(self, a, b):
        from mycelia.ops.arithmetic import Pow
        return self._apply(Pow.reference, a, b)

    def isnan(self, x): return self._test(np.isnan, x, False)
    def isinf(self, x): return self._test(np.isinf, x, False)
    def isfinite(self, x): return self._test(np.isfinite, x, True)

    def _test(self, function, x, otherwise):
        if not x.dtype.is_float:
            return NumpyScalar(self, np.full(np.shape(x.value), otherwise), dtypes.bool_)
        return self._apply(function, x, gives=dtypes.bool_)


_SAME = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "sign": np.sign,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]),
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.bitwise_not,
    "shift_left": lambda x, y: (
        np.where((y >= 0) & (y < x.dtype.itemsize * 8), x << (y & 63), 0).astype(x.dtype)
    ),
    "shift_right": lambda x, y: (
        x >> np.where((y >= 0) & (y < x.dtype.itemsize * 8), y, x.dtype.itemsize * 8).astype(x.dtype)
    ),
}
_TO_BOOL = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
}
for _name, _function in _SAME.items():
    setattr(NumpyScalars, _name, lambda self, *xs, f=_function: self._apply(f, *xs))
for _name, _function in _TO_BOOL.items():
    setattr(NumpyScalars, _name, lambda self, *xs, f=_function: self._apply(f, *xs, gives=dtypes.bool_))
