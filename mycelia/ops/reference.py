"""What the operators' NumPy references share: half precision computed in float32, results always arrays."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


def _is_half(dtype: np.dtype) -> bool:
    return dtype.name in ("float16", "bfloat16")


def is_half(array: np.ndarray) -> bool:
    return _is_half(array.dtype)


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that computes float16 and bfloat16 in float32 and rounds once, with NumPy's warnings off.

    Booleans and integers among the results keep their own dtype.
    """
    @functools.wraps(function)
    def reference(*arrays: np.ndarray, **attrs: Any) -> Any:
        half = next((a.dtype for a in arrays if is_half(a)), None)
        if half is not None:
            arrays = tuple(a.astype(np.float32) if is_half(a) else a for a in arrays)
        with np.errstate(all="ignore"):
            result = function(*arrays, **attrs)
        if isinstance(result, tuple):
            return tuple(_narrow(r, half) for r in result)
        return _narrow(result, half)
    return reference


def _narrow(result: Any, half: np.dtype | None) -> np.ndarray:
    array = np.asarray(result)
    return array.astype(half) if half is not None and array.dtype == np.float32 else array


def is_float(dtype: np.dtype) -> bool:
    return dtype.kind == "f" or _is_half(dtype)


def accumulated(function: Callable[..., Any], x: np.ndarray, **how: Any) -> np.ndarray:
    """A NumPy reduction of floats carried out in float64 and rounded once to the input's dtype."""
    if is_float(x.dtype):
        return np.asarray(function(x.astype(np.float64), **how)).astype(x.dtype)
    return np.asarray(function(x, dtype=x.dtype, **how))
