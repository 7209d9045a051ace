"""Sums, means, extrema and statistics along axes."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.dtypes import bool_, float32, int32
from mycelia.numpy.arrays import asarray
from mycelia.ops import comparison, selection
from mycelia.ops.constants import constant, like
from mycelia.ops.function import elementwise, finding, linear, reducing, shaping
from mycelia.ops.inference import normalise_axes
from mycelia.ops.promotion import cast, resolve_dtype
from mycelia.tensor.tensor import Tensor


def _typed(name: str, y: Tensor, dtype: Any) -> Tensor:
    return y if dtype is None else cast(y, resolve_dtype(name, dtype))


def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The sum over axes; of integers in int64."""
    y = reducing.sum(asarray(a), axis, keepdims, dtype=dtype)
    return y if initial is None else y + initial


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The mean over axes."""
    return _typed("mean", reducing.mean(asarray(a), axis, keepdims), dtype)


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance over axes."""
    return reducing.var(asarray(x), axis, ddof, keepdims)


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes."""
    return reducing.std(asarray(x), axis, ddof, keepdims)


def _extremum(name: str, reduce: Any, other: Any) -> Any:
    def function(
        a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Tensor:
        x = asarray(a)
        if where is not True:
            if initial is None:
                raise ValueError(f"{name}: initial must be given with where. Received: initial=None")
            x = elementwise.where(asarray(where), x, like(initial, x))
        y = reduce(x, axis, keepdims)
        return y if initial is None else other(y, like(initial, y))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = reduce.__doc__
    return function


max = _extremum("max", reducing.amax, elementwise.maximum)
min = _extremum("min", reducing.amin, elementwise.minimum)
amax, amin = max, min


def argmax(a: Any, axis: int | None = None) -> Tensor:
    """The index of the first largest element."""
    return reducing.argmax(asarray(a), axis)


def argmin(a: Any, axis: int | None = None) -> Tensor:
    """The index of the first smallest element."""
    return reducing.argmin(asarray(a), axis)


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest."""
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The weighted mean over axes; with ``returned`` also the sum of the weights."""
    x = asarray(x)
    if weights is None:
        y = reducing.mean(x, axis)
        total = cast(constant(x.size / float(y.size)), y.dtype)
    else:
        w = asarray(weights, float32)
        if w.shape != x.shape and w.ndim == 1 and isinstance(axis, int):
            w = shaping.reshape(w, tuple(-1 if i == axis % x.ndim else 1 for i in range(x.ndim)))
        w = shaping.broadcast_to(w, x.shape)
        total = reducing.sum(w, axis)
        y = reducing.sum(x * w, axis) / total
    return (y, shaping.broadcast_to(total, y.shape)) if returned else y


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0 (int32)."""
    return reducing.count_nonzero(asarray(x), () if axis is None else axis, keepdims, int32)


def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element over the axes is true."""
    return reducing.any(asarray(a), axis, keepdims)


def _running(name: str, function: Any) -> Any:
    def run(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
        x = asarray(a)
        if dtype is not None:
            x = cast(x, resolve_dtype(name, dtype))
        elif x.dtype is bool_ or x.dtype.is_integer and x.dtype.itemsize < 4:
            x = cast(x, int32)
        return function(shaping.reshape(x, (-1,)), 0) if axis is None else function(x, axis)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"{function.__doc__} Of the flattened tensor without an axis."
    return run


cumsum, cumprod = _running("cumsum", reducing.cumsum), _running("cumprod", reducing.cumprod)


# -- without NaN ---------------------------------------------------------------------------------------------
def _without_nan(x: Tensor, value: Any) -> Tensor:
    return selection.Select(comparison.IsNan(x), like(value, x), x) if x.dtype.is_float else x


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over axes, NaN counting as 0."""
    return sum(_without_nan(asarray(a), 0), axis, dtype, keepdims)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Running sums, NaN counting as 0."""
    return cumsum(_without_nan(asarray(a), 0), axis, dtype)


def _nan_extremum(name: str, reduce: Any, neutral: float) -> Any:
    def function(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
        return _typed(name, reduce(_without_nan(asarray(a), neutral), axis, keepdims), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{reduce.__doc__} NaN does not count."
    return function


nanmax = _nan_extremum("nanmax", reducing.amax, -np.inf)
nanmin = _nan_extremum("nanmin", reducing.amin, np.inf)


def _counts(x: Tensor, axis: Any) -> Tensor:
    return reducing.sum(cast(elementwise.logical_not(comparison.IsNan(x)), x.dtype), axis, True)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over axes of what is not NaN."""
    x = asarray(a)
    x = x if x.dtype.is_float else cast(x, float32)
    y = reducing.sum(_without_nan(x, 0), axis, True) / _counts(x, axis)
    return _typed("nanmean", y if keepdims else _squeezed(y, axis), dtype)


def _squeezed(y: Tensor, axis: Any) -> Tensor:
    return shaping.squeeze(y, normalise_axes("nanmean", axis, y.ndim)) if y.ndim else y


def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance over axes of what is not NaN."""
    x = asarray(a)
    x = x if x.dtype.is_float else cast(x, float32)
    centred = x - nanmean(x, axis, keepdims=True)
    y = reducing.sum(_without_nan(elementwise.square(centred), 0), axis, True) / (_counts(x, axis) - ddof)
    return _typed("nanvar", y if keepdims else _squeezed(y, axis), dtype)


def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes of what is not NaN."""
    return elementwise.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


# -- statistics ----------------------------------------------------------------------------------------------
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
        fweights: Any = None, aweights: Any = None, dtype: Any = None) -> Tensor:
    """The covariance of variables, one a row (or a column without ``rowvar``)."""
    x = _rows(m, rowvar)
    if y is not None:
        x = shaping.cat((x, _rows(y, rowvar)), 0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w: Any = None
    if fweights is not None:
        w = asarray(fweights, float32)
    if aweights is not None:
        a = asarray(aweights, float32)
        w = a if w is None else w * a
    total = float(x.shape[1]) if w is None else reducing.sum(w)
    if w is None:
        divisor: Any = total - ddof
    elif aweights is None or ddof == 0:
        divisor = total - ddof
    else:
        divisor = total - reducing.sum(w * asarray(aweights, float32)) / total * ddof
    weighted = x if w is None else x * w
    centred = x - reducing.sum(weighted, 1, True) / total
    right = centred if w is None else centred * w
    found = linear.matmul(centred, shaping.swapaxes(right, 0, 1)) / divisor
    return _typed("cov", shaping.squeeze(found), dtype)


def _rows(x: Any, rowvar: bool) -> Tensor:
    x = asarray(x)
    x = x if x.dtype.is_float else cast(x, float32)
    x = x if x.ndim == 2 else shaping.reshape(x, (1, -1))
    return x if rowvar or x.shape[0] == 1 else shaping.swapaxes(x, 0, 1)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """The correlations of variables."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return c / c
    from mycelia.ops.function.arranging import diagonal
    spread = elementwise.sqrt(diagonal(c))
    scaled = c / shaping.reshape(spread, (-1, 1)) / shaping.reshape(spread, (1, -1))
    return _typed("corrcoef", elementwise.clamp(scaled, -1.0, 1.0), dtype)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm over axes."""
    x = asarray(x)
    return reducing.norm(x if x.dtype.is_float else cast(x, float32), ord, axis, keepdims)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral by trapezia."""
    return finding.trapz(asarray(y), None if x is None else asarray(x), dx=dx, dim=axis)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """The values at x of the line through points (xp, fp), xp rising."""
    x, xp, fp = (asarray(v, float32) for v in (x, xp, fp))
    last = xp.shape[0] - 1
    if last == 0:
        y = shaping.broadcast_to(fp, x.shape)
    else:
        after = comparison.GreaterEqual(shaping.expand_dims(x, -1), xp)
        place = elementwise.clamp(reducing.sum(cast(after, int32), -1, dtype=int32) - 1, 0, last - 1)
        x0, x1, y0, y1 = (shaping.gather(t, place + k, 0) for t in (xp, fp) for k in (0, 1))
        y = y0 + (elementwise.clamp(x, xp[0], xp[-1]) - x0) * (y1 - y0) / (x1 - x0)
    low = fp[0] if left is None else like(left, y)
    high = fp[-1] if right is None else like(right, y)
    return elementwise.where(x < xp[0], low, elementwise.where(x > xp[-1], high, y))


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin of each element, bins rising or falling."""
    x, bins = asarray(x), asarray(bins)
    rising = float(bins[0]) <= float(bins[-1])
    column = shaping.expand_dims(x, -1)
    compare = (elementwise.greater if right else elementwise.greater_equal) if rising else (
        elementwise.less_equal if right else elementwise.less
    )
    return reducing.sum(cast(compare(column, bins), int32), -1, dtype=int32)


# -- histograms ----------------------------------------------------------------------------------------------
def _bounds(x: Tensor, range: Any) -> tuple[float, float]:
    low, high = (float(x.min()), float(x.max())) if range is None else range
    return (low - 0.5, high + 0.5) if low == high else (float(low), float(high))


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of a histogram's bins."""
    if not isinstance(bins, int):
        return asarray(bins)
    low, high = _bounds(asarray(a, float32), range)
    return constant(np.linspace(low, high, bins + 1).astype(np.float32))


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None,
                density: bool = False) -> tuple[Tensor, list[Tensor]]:
    """How many points ``[n, d]`` (or weights) fall into each cell of a grid; the last edge belongs to the
    last bin."""
    if isinstance(sample, (list, tuple)):
        columns = [shaping.reshape(asarray(c, float32), (-1,)) for c in sample]
    else:
        s = asarray(sample, float32)
        columns = [s[:, i] for i in np.arange(s.shape[1]).tolist()]
    each = bins if isinstance(bins, (list, tuple)) else (bins,) * len(columns)
    ranges = (None,) * len(columns) if range is None else range
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, each, ranges)]
    count = columns[0].shape[0]
    w = asarray([1.0], float32) if weights is None else asarray(weights, float32)
    cells = shaping.broadcast_to(w, (count,))
    for column, edge in zip(columns, edges):
        inside = shaping.expand_dims(column, -1)
        hit = elementwise.logical_and(inside >= edge[:-1], inside < edge[1:])
        last = elementwise.logical_and(inside >= edge[-2:-1], inside == edge[-1:])
        bins_here = edge.shape[0] - 1
        at_end = constant(np.arange(bins_here) == bins_here - 1)
        hit = cast(elementwise.logical_or(hit, elementwise.logical_and(last, at_end)), float32)
        lead = cells.ndim - 1
        line = shaping.reshape(hit, (count, *(1,) * lead, bins_here))
        cells = shaping.expand_dims(cells, -1) * line
    found = reducing.sum(cells, 0)
    if density:
        volume: Any = 1.0
        for i, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            volume = volume * shaping.reshape(widths, tuple(-1 if k == i else 1 for k, _ in enumerate(edges)))
        found = found / volume / reducing.sum(found)
    return found, edges


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None,
              density: bool = False) -> tuple[Tensor, Tensor]:
    """How many elements (or weights) fall into each bin, and the bins' edges."""
    flat = shaping.reshape(asarray(a, float32), (-1,))
    w = None if weights is None else shaping.reshape(asarray(weights, float32), (-1,))
    found, edges = histogramdd([flat], [bins], None if range is None else [range], w, density)
    return found, edges[0]


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None,
                density: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """`histogramdd` of two vectors."""
    found, edges = histogramdd([x, y], bins, range, weights, density)
    return found, edges[0], edges[1]


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """How often each whole number occurs (or the sum of its weights)."""
    x = asarray(x)
    size = length if length is not None else int(np.maximum(int(x.max()) + 1 if x.size else 0, minlength))
    hits = cast(elementwise.equal(shaping.expand_dims(x, -1), constant(np.arange(size))), float32)
    return reducing.sum(hits if weights is None else hits * shaping.expand_dims(asarray(weights), -1), 0)


__all__ = [
    "amax", "amin", "argmax", "argmin", "average", "bincount", "corrcoef", "count_nonzero", "cov", "cumprod",
    "cumsum", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "interp", "max",
    "mean", "min", "nancumsum", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "norm", "ptp",
    "sometrue", "std", "sum", "trapz", "var",
]
