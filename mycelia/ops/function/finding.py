"""Functions that look elements up, count them and tell them apart: search, histograms, unique elements, order
statistics."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import bool_, int32, int64
from mycelia.ops import indexing, searching
from mycelia.ops.comparison import IsNan
from mycelia.ops.constants import constant, like, scalar
from mycelia.ops.function.creating import zeros
from mycelia.ops.function.reducing import all as _all
from mycelia.ops.function.reducing import amax, amin, mean, sort, topk, var
from mycelia.ops.function.reducing import sum as _sum
from mycelia.ops.function.shaping import cat, narrow, reshape, squeeze, swapaxes
from mycelia.ops.inference import normalise_axis
from mycelia.ops.logic import LogicalNot
from mycelia.ops.promotion import as_tensor, cast, floating, operands, require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = [
    "aminmax", "bincount", "bucketize", "cov", "diff", "histc", "isin", "kthvalue", "msort", "nanmean",
    "nanmedian", "nanquantile", "nansum", "quantile", "searchsorted", "std_mean", "trapz", "unique",
    "unique_consecutive", "unique_with_pad", "var_mean",
]


# -- searching -----------------------------------------------------------------------------------------------
def searchsorted(
    sorted_sequence: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Tensor:
    """Where each value would have to be put into a sorted last axis to keep it sorted: before equal elements,
    or after them with ``right`` (``side="right"``).

    Raises:
        ValueError: leading axes that differ, or ``side`` against ``right``.
    """
    name = "searchsorted"
    x = as_tensor(name, sorted_sequence, "sorted_sequence")
    v = as_tensor(name, values, "values")
    if side not in (None, "left", "right"):
        raise ValueError(f"{name}: side must be 'left' or 'right'. Received: side={side!r}")
    if side == "left" and right:
        raise ValueError(f"{name}: side='left' must not be given with right=True")
    if sorter is not None:
        x = indexing.GatherD(x, as_tensor(name, sorter, "sorter"), axis=x.ndim - 1)
    x, v = operands(name, x, v)
    if x.ndim != 1 and x.shape[:-1] != v.shape[:-1]:
        raise ValueError(
            f"{name}: the leading axes must be equal, or sorted_sequence a vector. Received: shapes "
            f"{x.shape} and {v.shape}"
        )
    found = searching.SearchSorted(x, v, right=bool(right or side == "right"))
    return cast(found, int32) if out_int32 else found


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """The number (int32) of the bucket between sorted boundaries in which each element lies; a boundary
    itself belongs to the bucket below it, or with ``right`` above."""
    x = as_tensor("bucketize", input)
    edges = as_tensor("bucketize", list(boundaries) if isinstance(boundaries, tuple) else boundaries,
                      "boundaries")
    return searchsorted(edges, x, right=right, out_int32=True)


# -- counting ------------------------------------------------------------------------------------------------
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs in a vector, or the sums of the weights of each; float32.

    Raises:
        ValueError: an input that is no vector of non-negative integers.
    """
    x = require_tensor("bincount", input)
    if not x.dtype.is_integer:
        raise TypeError(f"bincount: the input must hold integers. Received: {x.type}")
    if x.ndim != 1:
        raise ValueError(f"bincount: the input must be a vector. Received: shape {x.shape}")
    if minlength < 0:
        raise ValueError(f"bincount: minlength must not be negative. Received: minlength={minlength}")
    array = x.asnumpy()
    if array.size and array.min() < 0:
        raise ValueError(f"bincount: the input must not be negative. Received: {array.min()}")
    size = max(int(array.max()) + 1 if array.size else 0, minlength)
    each = constant(np.ones(array.shape, np.float32)) if weights is None else as_tensor("bincount", weights)
    if each.shape != x.shape:
        raise ValueError(
            f"bincount: weights must have the input's shape. Received: {each.shape} and {x.shape}"
        )
    each = each if weights is None or each.dtype.is_float else cast(each, dtypes.float32)
    return indexing.GatherGrad(x, each, axis=0, shape=(size,))


def histc(input: Any, bins: int = 100, min: Any = 0.0, max: Any = 0.0) -> Tensor:
    """How many elements lie in each of ``bins`` equal parts of [min, max] (the elements' own range if both
    are 0); elements outside count nowhere. Of the input's dtype."""
    x = require_tensor("histc", input)
    if bins < 1:
        raise ValueError(f"histc: bins must be positive. Received: bins={bins}")
    if max < min:
        raise ValueError(f"histc: max must not be below min. Received: min={min}, max={max}")
    wide = cast(reshape(x, (-1,)), dtypes.float64)
    low, high = scalar(float(min), dtypes.float64), scalar(float(max), dtypes.float64)
    if min == max == 0 and x.size:
        low, high = amin(wide), amax(wide)
    flat = low == high
    low, high = Select(flat, low - 1, low), Select(flat, high + 1, high)
    place = (wide - low) * float(bins) / (high - low)
    inside = (wide >= low) & (wide <= high)
    index = cast(Select(inside, place, like(0, place)), int64)
    index = Select(index >= bins, like(bins - 1, index), index)
    counts = indexing.GatherGrad(index, cast(inside, dtypes.float64), axis=0, shape=(int(bins),))
    return cast(counts, x.dtype)


# -- telling apart -------------------------------------------------------------------------------------------
def unique(input: Any) -> tuple[Tensor, Tensor]:
    """The elements without repetition in the order in which they first occur (as MindSpore has it), and for
    each input element (of the input's shape) its place among them."""
    x = require_tensor("unique", input)
    return searching.found(searching.Unique, x, sorted=False)[:2]


def unique_sorted(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None
) -> Any:
    """The elements without repetition in ascending order; with their places in the input and counts if
    wanted. Along ``dim``: whole slices."""
    x = require_tensor("unique", input)
    if dim is not None:
        values, inverse, counts = searching.found(
            searching.UniqueSlices, x, axis=normalise_axis("unique", dim, x.ndim, "dim")
        )
    else:
        values, inverse, counts = searching.found(searching.Unique, x, sorted=True)
    return _asked(values, inverse, counts, return_inverse, return_counts)


def _asked(values: Tensor, inverse: Tensor, counts: Tensor, with_inverse: bool, with_counts: bool) -> Any:
    extra = (*([inverse] if with_inverse else []), *([counts] if with_counts else []))
    return (values, *extra) if extra else values


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements without those that equal the one before; with each element's place among them and their
    counts if wanted. Along ``dim``: whole slices."""
    x = require_tensor("unique_consecutive", input)
    axis = -1 if dim is None else normalise_axis("unique_consecutive", dim, x.ndim, "dim")
    values, inverse, counts = searching.found(searching.UniqueConsecutive, x, axis=axis)
    return _asked(values, inverse, counts, return_inverse, return_counts)


def unique_with_pad(x: Any, pad_num: Any) -> tuple[Tensor, Tensor]:
    """`unique`, its elements padded with ``pad_num`` to the input's size."""
    x = require_tensor("unique_with_pad", x)
    values, inverse = unique(x)
    number = cast(as_tensor("unique_with_pad", pad_num, "pad_num"), x.dtype)
    from mycelia.ops.function.shaping import broadcast_to
    rest = broadcast_to(reshape(number, (1,)), (x.size - values.shape[0],))
    return cat((values, rest)), inverse


def isin(elements: Any, test_elements: Any) -> Tensor:
    """Whether each element is among others."""
    from mycelia.ops.function.reducing import any as _any
    x, others = operands("isin", elements, test_elements)
    return _any(reshape(x, (*x.shape, 1)) == reshape(others, (-1,)), -1)


# -- order statistics ----------------------------------------------------------------------------------------
def aminmax(input: Any, *, axis: int | None = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest elements along an axis."""
    return amin(input, axis, keepdims), amax(input, axis, keepdims)


def msort(input: Any) -> Tensor:
    """The elements in order along the first axis."""
    return sort(input, 0)[0]


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along an axis (counted from 1), and its index (int64)."""
    x = require_tensor("kthvalue", input)
    axis = normalise_axis("kthvalue", dim, x.ndim, "dim")
    if not 1 <= k <= x.shape[axis]:
        raise ValueError(f"kthvalue: k must be in [1, {x.shape[axis]}]. Received: k={k}")
    values, indices = (narrow(t, axis, k - 1, 1) for t in topk(x, k, axis, largest=False))
    pair = (values, cast(indices, int64))
    return pair if keepdim else tuple(squeeze(t, axis) for t in pair)  # type: ignore[return-value]


def quantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The elements below which a share ``q`` of the others lie, between neighbours by linear interpolation;
    NaN if one is among them."""
    return _quantile("quantile", input, q, axis, keepdims, False)


def nanquantile(input: Any, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """`quantile` of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, axis, keepdims, True)


def _quantile(name: str, input: Any, q: Any, axis: int | None, keepdims: bool, skip: bool) -> Tensor:
    x = floating(name, input)
    share = cast(as_tensor(name, q, "q"), x.dtype)
    if share._storage is not None and not ((share.asnumpy() >= 0) & (share.asnumpy() <= 1)).all():
        raise ValueError(f"{name}: q must be in [0, 1]. Received: q={q}")
    if share.ndim > 1:
        raise ValueError(f"{name}: q must be a number or a vector. Received: shape {share.shape}")
    rank = x.ndim
    at = 0 if axis is None else normalise_axis(name, axis, rank)
    rows = reshape(x, (1, -1)) if axis is None else reshape(swapaxes(x, at, -1), (-1, x.shape[at]))
    rest = () if axis is None else swapaxes(x, at, -1).shape[:-1]
    ordered = sort(rows, -1)[0]
    n = ordered.shape[1]
    missing = _sum(cast(IsNan(rows), int64), 1, True)
    last = cast((n - missing) if skip else missing * 0 + n, x.dtype) - 1.0
    shares = reshape(share, (1, -1))
    place = shares * last
    low = cast(place, int64)
    low = Select(low < 0, like(0, low), low)
    high = Select(low + 1 > n - 1, like(n - 1, low), low + 1)
    high = Select(cast(high, x.dtype) > last, low, high)
    a, b = (indexing.GatherD(ordered, index, axis=1) for index in (low, high))
    result = a + (b - a) * (place - cast(low, x.dtype))
    if not skip:
        result = Select(missing > 0, like(float("nan"), result), result)
    result = swapaxes(result, 0, 1)  # [shares, rows]
    if axis is None:
        shape: tuple = (1,) * rank if keepdims else ()
    elif keepdims:
        shape = tuple(1 if i == at else d for i, d in enumerate(x.shape))
    else:
        shape = tuple(d for i, d in enumerate(x.shape) if i != at)
    if axis is not None:  # the rows are in the order of the swapped axes
        apart = reshape(result, (-1, *rest, 1))
        apart = swapaxes(apart, at + 1, apart.ndim - 1)
        result = reshape(apart, (apart.shape[0], math.prod(shape)))
    return reshape(result, (*share.shape, *shape))


# -- without NaN ---------------------------------------------------------------------------------------------
def _numbers(x: Tensor) -> tuple[Tensor, Tensor]:
    """The elements with 0 for NaN, and which are numbers."""
    present = LogicalNot(IsNan(x)) if x.dtype.is_float else constant(np.ones((), np.bool_))
    return Select(present, x, like(0, x)) if x.dtype.is_float else x, present


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of the elements that are not NaN."""
    return _sum(_numbers(require_tensor("nansum", input))[0], axis, keepdims, dtype=dtype)


def nanmean(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN."""
    x = floating("nanmean", input)
    clean, present = _numbers(x)
    total = _sum(clean, axis, keepdims, dtype=dtype)
    return total / _sum(cast(present, total.dtype), axis, keepdims)


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median along an axis of the elements that are not NaN, and its index; NaN where all are."""
    x = require_tensor("nanmedian", input)
    at = normalise_axis("nanmedian", axis, x.ndim)
    values, indices = sort(x, at)
    count = _sum(cast(_numbers(x)[1], int64), at, True)
    middle = Select(count > 0, (count - 1) // 2, like(0, count))
    pair = tuple(indexing.GatherD(t, middle, axis=at) for t in (values, cast(indices, int64)))
    return pair if keepdims else tuple(squeeze(t, at) for t in pair)  # type: ignore[return-value]


# -- statistics ----------------------------------------------------------------------------------------------
def var_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The variance and the mean over axes."""
    return var(input, axis, ddof, keepdims), mean(input, axis, keepdims)


def std_mean(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over axes."""
    variance, centre = var_mean(input, axis, ddof, keepdims)
    return variance ** 0.5, centre


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of variables, one row each; ``fweights`` repeat observations, ``aweights`` weigh
    them."""
    x = floating("cov", input)
    if x.ndim > 2:
        raise ValueError(f"cov: the input must have at most two axes. Received: shape {x.shape}")
    rows = reshape(x, (1, -1)) if x.ndim < 2 else x
    weight: Any = None
    for given in (fweights, aweights):
        if given is not None:
            one = cast(as_tensor("cov", given), x.dtype)
            weight = one if weight is None else weight * one
    total = float(rows.shape[1]) if weight is None else _sum(weight)
    centre = (mean(rows, 1, True) if weight is None else _sum(rows * weight, 1, True) / total)
    apart = rows - centre
    if weight is None:
        scale: Any = total - correction
    elif aweights is None:
        scale = total - float(correction)
    else:
        scale = total - _sum(weight * cast(as_tensor("cov", aweights), x.dtype)) / total * float(correction)
    from mycelia.ops.function.linear import matmul
    other = apart if weight is None else apart * weight
    result = matmul(other, swapaxes(apart, 0, 1)) / scale
    return reshape(result, ()) if x.ndim < 2 else result


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The differences of neighbours along an axis, taken ``n`` times."""
    x = require_tensor("diff", x)
    at = normalise_axis("diff", axis, x.ndim)
    if n < 0:
        raise ValueError(f"diff: n must not be negative. Received: n={n}")
    parts = [p for p in (prepend, x, append) if p is not None]
    x = cat(parts, at) if len(parts) > 1 else x
    for _ in range(n):
        count = x.shape[at] - 1
        if count < 0:
            break
        a, b = narrow(x, at, 1, count), narrow(x, at, 0, count)
        x = a != b if x.dtype is bool_ else a - b
    return x


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The area below points along an axis by the trapezoidal rule."""
    y = floating("trapz", y)
    at = normalise_axis("trapz", dim, y.ndim, "dim")
    count = y.shape[at] - 1
    if count < 1:
        return zeros(tuple(d for i, d in enumerate(y.shape) if i != at), y.dtype)
    sides = narrow(y, at, 1, count) + narrow(y, at, 0, count)
    if x is None:
        return _sum(sides, at) * (dx / 2)
    places = floating("trapz", x)
    if places.ndim == 1:
        places = reshape(places, tuple(-1 if i == at else 1 for i in range(y.ndim)))
    step = diff(places, axis=at if places.ndim == y.ndim else -1)
    return _sum(sides * step, at) / 2.0


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08,
             equal_nan: bool = False) -> bool:
    """Whether all elements of two tensors are close."""
    from mycelia.ops.function.elementwise import isclose
    return bool(_all(isclose(input, other, rtol, atol, equal_nan)))
