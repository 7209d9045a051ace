"""Differences, integrals, histograms, and statistics in pairs or without NaN."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.dtypes import bool_, float32, float64, int64
from mycelia.ops import comparison, selection
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.function.elementwise import cast, logical_and, logical_not
from mycelia.ops.function.linear import matmul
from mycelia.ops.function.reducing import amax, amin, max, mean, min, std, sum, var
from mycelia.ops.function.shaping import (
    broadcast_to,
    cat,
    expand_dims,
    narrow,
    reshape,
    squeeze,
    swapaxes,
)
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import as_tensor, floating, require_tensor, resolve_dtype
from mycelia.tensor.tensor import Tensor

__all__ = [
    "aminmax", "bincount", "cov", "diff", "histc", "nanmean", "nansum", "std_mean", "trapz", "var_mean",
]


def std_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over axes."""
    return std(input, axis, ddof, keepdims), mean(input, axis, keepdims)


def var_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The variance and the mean over axes."""
    return var(input, axis, ddof, keepdims), mean(input, axis, keepdims)


def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest element along an axis (of all, where it is None)."""
    if axis is None:
        return amin(input, None, keepdims), amax(input, None, keepdims)
    return min(input, axis, keepdims)[0], max(input, axis, keepdims)[0]


def _without_nan(x: Tensor) -> Tensor:
    return selection.Select(comparison.IsNan(x), like(0, x), x) if x.dtype.is_float else x


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over axes, NaN counting as 0."""
    return sum(_without_nan(as_tensor("nansum", input)), axis, keepdims, dtype=dtype)


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over axes of what is not NaN."""
    x = floating("nanmean", input)
    counted = sum(cast(logical_not(comparison.IsNan(x)), x.dtype), axis, keepdims)
    y = sum(_without_nan(x), axis, keepdims) / counted
    return y if dtype is None else cast(y, resolve_dtype("nanmean", dtype))


@composite
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Each element less the one before it along an axis, n times; ``prepend`` and ``append`` are put before
    and after first.

    Raises:
        ValueError: a 0-d tensor, an axis out of range.
    """
    x = as_tensor("diff", x)
    if x.ndim == 0:
        raise ValueError("diff: the input must have at least one axis. Received: a 0-d tensor")
    at = normalise_axis("diff", axis, x.ndim)
    shape = tuple(1 if i == at else d for i, d in enumerate(x.shape))
    ends = [as_tensor("diff", e) if e is not None else None for e in (prepend, append)]
    ends = [broadcast_to(e, shape) if e is not None and e.ndim == 0 else e for e in ends]
    parts = [part for part in (ends[0], x, ends[1]) if part is not None]
    x = cat(parts, at) if len(parts) > 1 else x
    for _ in range(n):
        count = x.shape[at]
        if isinstance(count, int) and count < 2:
            return narrow(x, at, 0, 0)
        first, second = narrow(x, at, 0, count - 1), narrow(x, at, 1, count - 1)
        x = comparison.NotEqual(second, first) if x.dtype is bool_ else second - first
    return x


@composite
def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral along an axis by trapezia, between points ``x`` or at distance ``dx``."""
    y = floating("trapz", y)
    at = normalise_axis("trapz", dim, y.ndim)
    steps: Any = dx
    if x is not None:
        points = floating("trapz", x)
        steps = diff(points, 1, at if points.ndim == y.ndim else -1)
        if points.ndim != y.ndim:
            steps = reshape(steps, tuple(-1 if i == at else 1 for i in range(y.ndim)))
    count = y.shape[at]
    first, second = narrow(y, at, 0, count - 1), narrow(y, at, 1, count - 1)
    return sum((first + second) * 0.5 * steps, at)


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each whole number from 0 on occurs in a vector, or the sum of its weights.

    Raises:
        TypeError: no integers.
        ValueError: not a vector, negative numbers, weights of another shape.
    """
    x = require_tensor("bincount", input)
    if not x.dtype.is_integer:
        raise TypeError(f"bincount: the input must be integers. Received: {x.type}")
    if x.ndim != 1 or weights is not None and weights.shape != x.shape or minlength < 0:
        raise ValueError(
            "bincount: the input must be a vector, weights of its shape, minlength not negative. Received: "
            f"{x.type}, minlength={minlength}"
        )
    if x.size and int(amin(x)) < 0:
        raise ValueError("bincount: the input must not be negative. Received: a negative number")
    size = int(amax(x)) + 1 if x.size else 0
    size = size if size > minlength else minlength
    hits = comparison.Equal(expand_dims(cast(x, int64), -1), constant(np.arange(size)))
    if weights is None:
        return sum(cast(hits, int64), 0)
    return sum(cast(hits, weights.dtype) * expand_dims(weights, -1), 0)


def histc(input: Any, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements fall into each of ``bins`` equal parts of [min, max] (of the elements' range where
    both are equal); the last part holds ``max`` too.

    Raises:
        ValueError: bins that are not positive, or min above max.
    """
    x = reshape(as_tensor("histc", input), (-1,))
    if bins < 1 or min > max:
        raise ValueError(
            f"histc: bins must be positive and min at most max. Received: bins={bins}, min={min}, max={max}"
        )
    low, high = (float(amin(x)), float(amax(x))) if min == max and x.size else (float(min), float(max))
    if low == high:
        low, high = low - 1, high + 1
    kind = x.dtype
    wide = cast(x, float64 if kind is float64 else float32)
    place = cast((wide - low) * (bins / (high - low)), int64)
    place = selection.Select(comparison.Equal(wide, like(high, wide)), like(bins - 1, place), place)
    above = comparison.GreaterEqual(wide, like(low, wide))
    inside = logical_and(above, comparison.LessEqual(wide, like(high, wide)))
    hits = comparison.Equal(expand_dims(place, -1), constant(np.arange(bins)))
    return cast(sum(cast(logical_and(hits, expand_dims(inside, -1)), int64), 0), kind)


@composite
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance of variables, one a row, whose observations are columns.

    Args:
        input: ``[variables, observations]`` or ``[observations]``.
        correction: taken off the number of observations.
        fweights: how often each observation counts (integers).
        aweights: how important each observation is.
    """
    x = floating("cov", input)
    x = reshape(x, (1, -1)) if x.ndim < 2 else x
    w: Any = None if fweights is None else cast(fweights, x.dtype)
    if aweights is not None:
        a = cast(aweights, x.dtype)
        w = a if w is None else w * a
    total: Any = float(x.shape[1]) if w is None else sum(w)
    divisor = total - correction
    if aweights is not None and correction:
        divisor = total - sum(w * cast(aweights, x.dtype)) / total * correction
    centred = x - sum(x if w is None else x * w, 1, True) / total
    found = matmul(centred, swapaxes(centred if w is None else centred * w, 0, 1)) / divisor
    return squeeze(found)
