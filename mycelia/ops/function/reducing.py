"""Functions that reduce axes: sums, means, extrema, norms."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import bool_, int64
from mycelia.ops import arithmetic, comparison, cumulative, exponential, indexing, reduction, selection
from mycelia.ops.composite import composite
from mycelia.ops.constants import like, scalar
from mycelia.ops.function.shaping import reshape
from mycelia.ops.inference import normalise_axes, normalise_axis
from mycelia.ops.promotion import as_tensor, cast, floating, require_tensor, resolve_dtype
from mycelia.tensor.tensor import Tensor


def _total(x: Tensor, dtype: Any, name: str) -> Tensor:
    """The operand of a sum: int64 for integers and booleans, unless a dtype is asked for."""
    if dtype is not None:
        return cast(x, resolve_dtype(name, dtype))
    return x if x.dtype.kind in "fc" else cast(x, int64)


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over axes.

    Args:
        input: a tensor of any shape; integers and booleans add up in int64.
        dim: an axis or several; None means all.
        keepdim: keep the reduced axes with extent 1.
        dtype: converts the input first.

    Raises:
        TypeError: an axis that is no integer.
        ValueError: an axis out of range, or twice.

    Example:
        >>> sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
        Tensor(shape=[2], dtype=Float32, value= [4., 6.])
    """
    x = _total(as_tensor("sum", input), dtype, "sum")
    return reduction.ReduceSum(x, axes=normalise_axes("sum", dim, x.ndim), keepdims=bool(keepdim))


def mean(x: Any, axis: Any = None, keep_dims: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over axes; of integers it is computed in float32 and converted back, toward zero."""
    x = as_tensor("mean", x)
    if dtype is not None:
        x = cast(x, resolve_dtype("mean", dtype))
    axes = normalise_axes("mean", axis, x.ndim)
    if x.dtype.kind in "fc":
        return reduction.ReduceMean(x, axes=axes, keepdims=bool(keep_dims))
    if x.dtype is bool_:
        raise TypeError(
            "mean: the input must be a number type. Received: a bool tensor. Convert it with astype"
        )
    return cast(reduction.ReduceMean(cast(x, dtypes.float64), axes=axes, keepdims=bool(keep_dims)), x.dtype)


def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """The product over axes; of integers in int64."""
    x = _total(as_tensor("prod", input), dtype, "prod")
    return reduction.ReduceProd(x, axes=normalise_axes("prod", axis, x.ndim), keepdims=bool(keep_dims))


def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether all elements over the axes are true."""
    x = cast(as_tensor("all", input), bool_)
    return reduction.ReduceAll(x, axes=normalise_axes("all", axis, x.ndim), keepdims=bool(keep_dims))


def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether any element over the axes is true."""
    x = cast(as_tensor("any", input), bool_)
    return reduction.ReduceAny(x, axes=normalise_axes("any", axis, x.ndim), keepdims=bool(keep_dims))


def amax(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element over axes; ties share the gradient."""
    x = as_tensor("amax", input)
    return reduction.ReduceMax(x, axes=normalise_axes("amax", axis, x.ndim), keepdims=bool(keepdims))


def amin(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element over axes; ties share the gradient."""
    x = as_tensor("amin", input)
    return reduction.ReduceMin(x, axes=normalise_axes("amin", axis, x.ndim), keepdims=bool(keepdims))


def _index(op: Any, name: str, x: Tensor, axis: Any, keepdims: bool, dtype: dtypes.DType = int64) -> Tensor:
    if axis is None or x.ndim == 0:
        flat = op(reshape(x, (-1,)), axis=0, keepdims=False, dtype=dtype)
        return reshape(flat, (1,) * x.ndim) if keepdims else flat
    return op(x, axis=normalise_axis(name, axis, x.ndim), keepdims=bool(keepdims), dtype=dtype)


def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first largest element along an axis, or in the flattened tensor."""
    return _index(reduction.ArgMax, "argmax", as_tensor("argmax", input), dim, keepdim)


def argmin(input: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The index (int32, as MindSpore has it) of the first smallest element along an axis, or in the flattened
    tensor."""
    return _index(reduction.ArgMin, "argmin", as_tensor("argmin", input), axis, keepdims, dtypes.int32)


def _extremum(
    name: str, reduce: Any, arg: Any, x: Tensor, axis: Any, keepdims: bool
) -> tuple[Tensor, Tensor]:
    if axis is None:
        value = reduce(x, axes=tuple(range(x.ndim)), keepdims=bool(keepdims))
    else:
        value = reduce(x, axes=normalise_axes(name, axis, x.ndim), keepdims=bool(keepdims))
    return value, _index(arg, name, x, axis, keepdims)


def max(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> tuple[Tensor, Tensor]:
    """The largest element along an axis and its index (0 for the whole tensor, as MindSpore has it)."""
    x = _masked("max", as_tensor("max", input), initial, where)
    if axis is None:
        return amax(x, None, keepdims), scalar(0, int64)
    return _extremum("max", reduction.ReduceMax, reduction.ArgMax, x, axis, keepdims)


def min(
    input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> tuple[Tensor, Tensor]:
    """The smallest element along an axis and its index (0 for the whole tensor, as MindSpore has it)."""
    x = _masked("min", as_tensor("min", input), initial, where)
    if axis is None:
        return amin(x, None, keepdims), scalar(0, int64)
    return _extremum("min", reduction.ReduceMin, reduction.ArgMin, x, axis, keepdims)


def _masked(name: str, x: Tensor, initial: Any, where: Any) -> Tensor:
    """The elements where ``where`` holds, ``initial`` elsewhere."""
    if where is None or where is True:
        return x
    if initial is None:
        raise ValueError(f"{name}: initial must be given with where. Received: initial=None")
    return selection.Select(cast(as_tensor(name, where, "where"), bool_), x, like(initial, x))


@composite
def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance over axes: squared distances from the mean, summed and divided by the count minus
    ``ddof``."""
    x = floating("var", input)
    axes = normalise_axes("var", axis, x.ndim)
    centred = x - reduction.ReduceMean(x, axes=axes, keepdims=True)
    total = reduction.ReduceSum(arithmetic.Square(centred), axes=axes, keepdims=bool(keepdims))
    count = math.prod(x.shape[a] for a in axes) - int(ddof)
    return total / float(count) if count > 0 else total * float("nan")


@composite
def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes: the root of `var`."""
    return exponential.Sqrt(var(input, axis, ddof, keepdims))


@composite
def logsumexp(input: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(input)))`` over axes, without overflow."""
    x = floating("logsumexp", input)
    axes = normalise_axes("logsumexp", dim, x.ndim)
    from mycelia.ops.control import StopGradient
    top = StopGradient(reduction.ReduceMax(x, axes=axes, keepdims=True))
    top = selection.Select(comparison.IsFinite(top), top, like(0, top))
    total = exponential.Log(reduction.ReduceSum(exponential.Exp(x - top), axes=axes, keepdims=True)) + top
    return total if keepdim else reshape(total, reduction.reduced_shape(x.shape, axes, False))


@composite
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of matrices or vectors, as `p_norm` or `matrix_norm` say.

    Args:
        A: the input.
        ord: the kind; None is the root of the sum of squares.
        dim: the axes. Two, or none of a matrix, with an ``ord`` ask for a norm of matrices.
        keepdim: whether axes stay, with extent 1.
        dtype: to compute in.

    Raises:
        ValueError: another kind of ``ord``.
    """
    x = as_tensor("norm", A)
    pair = (0, 1) if dim is None and x.ndim == 2 else dim
    # MindSpore's documentation promises the largest singular value for 2; what it computes is this.
    if ord not in (None, 2) and isinstance(pair, (tuple, list)) and len(pair) == 2:
        from mycelia.ops.function.decompositions import matrix_norm
        return matrix_norm(x, ord, pair, keepdim, dtype=dtype)
    return p_norm(x, ord, dim, keepdim, dtype=dtype)


def p_norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The p-norm over axes (the flattened tensor when ``dim`` is None); ``ord`` is 2 unless given, may be
    inf, -inf, 0, 1, ...

    Raises:
        ValueError: another kind of ``ord``.
    """
    x = floating("norm", A)
    if dtype is not None:
        x = cast(x, resolve_dtype("norm", dtype))
    axes = normalise_axes("norm", dim, x.ndim)
    how = {"axes": axes, "keepdims": bool(keepdim)}
    if ord is None or ord == 2 or ord == "fro":
        return exponential.Sqrt(reduction.ReduceSum(arithmetic.Square(x), **how))
    size = arithmetic.Abs(x)
    if ord == float("inf"):
        return reduction.ReduceMax(size, **how)
    if ord == -float("inf"):
        return reduction.ReduceMin(size, **how)
    if ord == 1:
        return reduction.ReduceSum(size, **how)
    if ord == 0:
        return reduction.ReduceSum(cast(comparison.NotEqual(x, like(0, x)), x.dtype), **how)
    if not isinstance(ord, (int, float)):
        raise ValueError(f"norm: ord must be a number or 'fro'. Received: ord={ord!r}")
    return reduction.ReduceSum(size ** float(ord), **how) ** (1.0 / ord)


def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = dtypes.int32) -> Tensor:
    """How many elements over the axes are not 0."""
    hit = cast(comparison.NotEqual(x, like(0, x)), resolve_dtype("count_nonzero", dtype))
    return reduction.ReduceSum(
        hit, axes=normalise_axes("count_nonzero", axis, x.ndim), keepdims=bool(keep_dims)
    )


def cumsum(x: Any, axis: int, dtype: Any = None) -> Tensor:
    """Running sums along an axis; of integers in their own dtype."""
    x = as_tensor("cumsum", x)
    x = cast(x, int64) if x.dtype is bool_ else x
    if dtype is not None:
        x = cast(x, resolve_dtype("cumsum", dtype))
    return cumulative.CumSum(x, axis=normalise_axis("cumsum", axis, x.ndim), exclusive=False, reverse=False)


def cumprod(input: Any, dim: int, dtype: Any = None) -> Tensor:
    """Running products along an axis."""
    x = as_tensor("cumprod", input)
    x = cast(x, int64) if x.dtype is bool_ else x
    if dtype is not None:
        x = cast(x, resolve_dtype("cumprod", dtype))
    return cumulative.CumProd(x, axis=normalise_axis("cumprod", dim, x.ndim, "dim"), exclusive=False,
                              reverse=False)


def cummax(input: Any, axis: int) -> tuple[Tensor, Tensor]:
    """The largest element so far along an axis, and its index (int64), the latest of equal ones."""
    x = require_tensor("cummax", input)
    return cumulative.CumMax(x, axis=normalise_axis("cummax", axis, x.ndim))


def cummin(input: Any, axis: int) -> tuple[Tensor, Tensor]:
    """The smallest element so far along an axis, and its index (int32, as MindSpore has it), the latest of
    equal ones."""
    x = require_tensor("cummin", input)
    values, places = cumulative.CumMin(x, axis=normalise_axis("cummin", axis, x.ndim))
    return values, cast(places, dtypes.int32)


def logcumsumexp(input: Any, axis: int) -> Tensor:
    """The logarithm of the running sums of ``exp(input)`` along an axis, without overflow."""
    x = floating("logcumsumexp", input)
    return cumulative.CumulativeLogsumexp(
        x, axis=normalise_axis("logcumsumexp", axis, x.ndim), exclusive=False, reverse=False
    )


def topk(
    input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) elements along an axis, in order, and their indices (int32)."""
    from mycelia.ops.function.shaping import swapaxes
    x = require_tensor("topk", input)
    axis = normalise_axis("topk", -1 if dim is None else dim, x.ndim, "dim")
    moved = x if axis == x.ndim - 1 else swapaxes(x, axis, -1)
    values, indices = indexing.TopK(moved, k=int(k), largest=bool(largest))
    return (values, indices) if moved is x else (swapaxes(values, axis, -1), swapaxes(indices, axis, -1))


def top_k(input_x: Any, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """`topk` along the last axis."""
    return topk(input_x, k)


def intopk(x1: Any, x2: Any, k: int) -> Tensor:
    """Whether each row's target is among its k largest elements.

    Args:
        x1: scores ``[n, classes]``.
        x2: class indices ``[n]``.
        k: how many.

    Raises:
        ValueError: other shapes.
    """
    x, target = require_tensor("intopk", x1, "x1"), require_tensor("intopk", x2, "x2")
    if x.ndim != 2 or target.shape != x.shape[:1]:
        raise ValueError(f"intopk: x1 must be [n, classes] and x2 [n]. Received: {x.type} and {target.type}")
    own = indexing.GatherD(x, reshape(target, (-1, 1)), axis=1)
    above = cast(comparison.Greater(x, own), int64)
    return comparison.Less(reduction.ReduceSum(above, axes=(1,), keepdims=False), scalar(int(k), int64))


def sort(input_x: Any, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements in order along an axis, and where they were (int32)."""
    x = require_tensor("sort", input_x)
    return indexing.Sort(x, axis=normalise_axis("sort", axis, x.ndim), descending=bool(descending))


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Tensor:
    """The indices (int32) that put the elements along an axis in order."""
    return sort(input, axis, descending)[1]


def median(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median along an axis, and its index; where there is a NaN, the first NaN and its index."""
    from mycelia.ops.function.shaping import narrow, squeeze
    values, indices = sort(input, axis)
    middle = (input.shape[axis] - 1) // 2
    found = (values, cast(indices, int64))
    if values.dtype.kind == "f":  # NaN sort last, the first of them first
        along = axis % values.ndim
        numbers = sum(cast(comparison.Equal(values, values), int64), along, True)
        at = selection.Select(numbers < values.shape[along], numbers, like(middle, numbers))
        pair = tuple(indexing.GatherD(t, at, axis=along) for t in found)
    else:
        pair = tuple(narrow(t, axis, middle, 1) for t in found)
    return pair if keepdims else tuple(squeeze(t, axis) for t in pair)  # type: ignore[return-value]


reduce_sum, reduce_mean, reduce_max, reduce_min = sum, mean, amax, amin
