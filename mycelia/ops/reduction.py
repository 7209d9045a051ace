"""Reductions over a sorted tuple of non-negative axes. Sums and means of half precision accumulate in
float32."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL, DType, bool_
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.arithmetic import Mul
from mycelia.ops.batching import at_front
from mycelia.ops.comparison import Equal
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.inference import HOLOMORPHIC, NUMBERS, names, no_gradient, wrong_dtype, wrong_shape
from mycelia.ops.movement import BroadcastTo, Concat, Pad, Reshape, StridedSlice, Transpose
from mycelia.ops.reference import accumulated, widened
from mycelia.ops.samples import ErrorCase, Sample, distinct, strided, tensor, values
from mycelia.ops.selection import Cast, Select
from mycelia.tensor.tensor import Tensor


def reduced_shape(shape: Sequence[Dim], axes: Sequence[int], keepdims: bool) -> tuple[Dim, ...]:
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


class Reduction:
    """The type rule of a reduction; ``identity`` says whether the reduction of nothing has a value."""

    operator = "?"

    def __init__(self, takes: Sequence[DType], identity: bool = True) -> None:
        self.takes, self.identity = tuple(takes), identity

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(self, x: TensorType, *, axes: tuple[int, ...], keepdims: bool) -> TensorType:
        if x.dtype not in self.takes and not (x.dtype.kind == "c" and self.operator in HOLOMORPHIC):
            raise wrong_dtype(
                self.operator, (x,), f"the dtype must be {names(self.takes)}", "Convert with astype"
            )
        if any(not 0 <= a < x.ndim for a in axes) or tuple(sorted(set(axes))) != tuple(axes):
            raise wrong_shape(
                self.operator,
                (x,),
                f"axes must be sorted, distinct and within {x.ndim} dimensions, not {axes}",
                "Normalise them first",
            )
        shape = reduced_shape(x.shape, axes, keepdims)
        if not self.identity and any(x.shape[a] == 0 for a in axes) and not any(d == 0 for d in shape):
            raise wrong_shape(
                self.operator,
                (x,),
                f"axes {axes} must not be empty, for the reduction has no value then",
                "Test the size first",
            )
        return TensorType(x.dtype, shape)


def expanded(g: Tensor, x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """A reduced tensor with the reduced axes back as extents of 1, so that it broadcasts against ``x``."""
    return g if keepdims or not axes else Reshape(g, shape=reduced_shape(x.shape, axes, True))


def _batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes_in, x, *, axes, keepdims):
        return op()(at_front(x, axes_in[0]), axes=tuple(a + 1 for a in axes), keepdims=keepdims), 0
    return batch


CASES = (((), ()), ((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((2, 3, 17), (0, 2)), ((2, 3, 4), (0, 1, 2)),
         ((2, 3), ()), ((33, 65), (1,)), ((65, 33), (0,)))


def _samples(takes: Sequence[DType], empty: bool = True, low: float = -2.0, high: float = 2.0,
             ties: bool = True) -> Callable[[], Iterator[Sample]]:
    def make(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        return values(shape, dtype, low, high) if ties or dtype.kind != "f" else distinct(shape, dtype)

    def samples() -> Iterator[Sample]:
        for dtype in takes:
            full = dtype in (dtypes.float32, dtypes.float64)
            for shape, axes in CASES if full else (CASES[3], CASES[4]):
                for keepdims in (False, True) if full else (False,):
                    yield Sample((make(shape, dtype),), {"axes": axes, "keepdims": keepdims}, tolerance=4.0)
            yield Sample((strided(make((4, 6), dtype)),), {"axes": (0,), "keepdims": False}, tolerance=4.0)
            if empty and full:
                yield Sample((make((0, 3), dtype),), {"axes": (0,), "keepdims": False}, gradient=False)
            yield Sample((make((0, 3), dtype),), {"axes": (1,), "keepdims": True})
    return samples


def _errors(takes: Sequence[DType], identity: bool = True) -> list[ErrorCase]:
    cases = [ErrorCase((tensor(takes[0], 2, 3),), ValueError, r"axes must be sorted.*\(2,\)",
                       {"axes": (2,), "keepdims": False})]
    if len(takes) < len(ALL):
        refused = next(d for d in ALL if d not in takes)
        cases.append(
            ErrorCase((tensor(refused, 2),), TypeError, "dtype must be", {"axes": (0,), "keepdims": False})
        )
    if not identity:
        cases.append(
            ErrorCase(
                (tensor(takes[0], 0, 3),), ValueError, "must not be empty", {"axes": (0,), "keepdims": False}
            )
        )
    return cases


@operator("ReduceSum")
class ReduceSum:
    """The sum; of nothing 0."""

    infer = Reduction(NUMBERS)

    def vjp(g, x, y, *, axes, keepdims):
        return BroadcastTo(expanded(g, x, axes, keepdims), shape=x.shape)

    batch = _batch(lambda: ReduceSum)
    reference = lambda x, *, axes, keepdims: accumulated(np.sum, x, axis=axes, keepdims=keepdims)
    samples = _samples(NUMBERS)
    errors = _errors(NUMBERS)


def _mean(x: np.ndarray, *, axes: tuple[int, ...], keepdims: bool) -> np.ndarray:
    with np.errstate(all="ignore"):
        count = int(np.prod([x.shape[a] for a in axes], dtype=int))
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        total = np.sum(x.astype(wide), axis=axes, keepdims=keepdims)
        return np.asarray(total / np.float64(count)).astype(x.dtype)


@operator("ReduceMean")
class ReduceMean:
    """The mean of floats; of nothing NaN."""

    infer = Reduction(dtypes.FLOATS)

    def vjp(g, x, y, *, axes, keepdims):
        count: Dim = 1
        for a in axes:
            count = count * x.shape[a]
        scaled = g * (1.0 / count) if isinstance(count, int) and count else g / count
        return BroadcastTo(expanded(scaled, x, axes, keepdims), shape=x.shape)

    batch = _batch(lambda: ReduceMean)
    reference = _mean
    samples = _samples(dtypes.FLOATS)
    errors = _errors(dtypes.FLOATS)


def products_of_others(x: Tensor) -> Tensor:
    """For each element along the last axis the product of all others, without dividing, so that zeros are no
    special case."""
    n = x.shape[-1]
    if n == 1:
        return BroadcastTo(like(1, x), shape=x.shape)
    lead = tuple((0, 0) for _ in range(x.ndim - 1))
    if n % 2:
        x = Pad(x, paddings=(*lead, (0, 1)), value=1.0)
    half = (n + 1) // 2
    first, second = _halves(x, half)
    others = products_of_others(Mul(first, second))
    return _halves(Concat(Mul(others, second), Mul(others, first), axis=x.ndim - 1), n)[0]


def _halves(x: Tensor, at: int) -> tuple[Tensor, Tensor]:
    zeros, ones = (0,) * x.ndim, (1,) * x.ndim
    first = StridedSlice(x, begin=zeros, end=(*x.shape[:-1], at), strides=ones)
    return first, StridedSlice(x, begin=(*zeros[:-1], at), end=x.shape, strides=ones)


@operator("ReduceProd")
class ReduceProd:
    """The product; of nothing 1."""

    infer = Reduction(NUMBERS)

    def vjp(g, x, y, *, axes, keepdims):
        if not axes or any(d == 0 for d in x.shape):
            return BroadcastTo(expanded(g, x, axes, keepdims), shape=x.shape)
        kept = [i for i in range(x.ndim) if i not in axes]
        order = (*kept, *axes)
        rows = Transpose(x, perm=order)
        count = 1
        for a in axes:
            count = count * x.shape[a]
        others = products_of_others(Reshape(rows, shape=(*(x.shape[i] for i in kept), count)))
        back = Transpose(Reshape(others, shape=rows.shape), perm=tuple(order.index(i) for i in range(x.ndim)))
        return expanded(g, x, axes, keepdims) * back

    batch = _batch(lambda: ReduceProd)
    reference = lambda x, *, axes, keepdims: accumulated(np.prod, x, axis=axes, keepdims=keepdims)
    samples = _samples(NUMBERS, low=-1.5, high=1.5)
    errors = _errors(NUMBERS)


def _share(g: Tensor, x: Tensor, y: Tensor, *, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Each of the elements that attain the extremum gets an equal share of the cotangent."""
    hit = Equal(x, expanded(y, x, axes, keepdims))
    count = ReduceSum(Cast(hit, dtype=g.dtype), axes=axes, keepdims=True)
    return Select(hit, expanded(g, x, axes, keepdims) / count, like(0, g))


@operator("ReduceMax")
class ReduceMax:
    """The largest element; NaN if there is one. Ties share the gradient equally."""

    infer = Reduction(ALL, identity=False)
    vjp = _share
    batch = _batch(lambda: ReduceMax)
    reference = widened(lambda x, *, axes, keepdims: np.max(x, axis=axes, keepdims=keepdims))
    samples = _samples(ALL, empty=False, ties=False)
    errors = _errors(ALL, identity=False)


@operator("ReduceMin")
class ReduceMin:
    """The smallest element; NaN if there is one. Ties share the gradient equally."""

    infer = Reduction(ALL, identity=False)
    vjp = _share
    batch = _batch(lambda: ReduceMin)
    reference = widened(lambda x, *, axes, keepdims: np.min(x, axis=axes, keepdims=keepdims))
    samples = _samples(ALL, empty=False, ties=False)
    errors = _errors(ALL, identity=False)


@operator("ReduceAll")
class ReduceAll:
    """Whether all elements are true; of nothing true."""

    infer = Reduction((bool_,))
    vjp = no_gradient
    batch = _batch(lambda: ReduceAll)
    reference = lambda x, *, axes, keepdims: np.asarray(np.all(x, axis=axes, keepdims=keepdims))
    samples = _samples((bool_,))
    errors = _errors((bool_,))


@operator("ReduceAny")
class ReduceAny:
    """Whether any element is true; of nothing false."""

    infer = Reduction((bool_,))
    vjp = no_gradient
    batch = _batch(lambda: ReduceAny)
    reference = lambda x, *, axes, keepdims: np.asarray(np.any(x, axis=axes, keepdims=keepdims))
    samples = _samples((bool_,))
    errors = _errors((bool_,))


class ArgReduction:
    """The type rule of an index of an extremum."""

    operator = "?"

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(self, x: TensorType, *, axis: int, keepdims: bool, dtype: DType) -> TensorType:
        if not dtype.is_integer:
            raise wrong_dtype(
                self.operator,
                (x,),
                f"the index must be an integer type, not {dtype.name}",
                "Use int64 or int32",
            )
        if not 0 <= axis < x.ndim:
            raise wrong_shape(self.operator, (x,), f"axis must be within {x.ndim} dimensions, not {axis}",
                              "Normalise it first; flatten a 0-d tensor")
        if x.shape[axis] == 0:
            raise wrong_shape(self.operator, (x,), f"axis {axis} must not be empty", "Test the size first")
        return TensorType(dtype, reduced_shape(x.shape, (axis,), keepdims))


def _arg_batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes, x, *, axis, keepdims, dtype):
        return op()(at_front(x, axes[0]), axis=axis + 1, keepdims=keepdims, dtype=dtype), 0
    return batch


def _arg_samples() -> Iterator[Sample]:
    for dtype in ALL:
        for shape, axis in (((5,), 0), ((3, 4), 1), ((2, 3, 17), 1), ((0, 3), 1)):
            for keepdims, index in ((False, dtypes.int64), (True, dtypes.int32)):
                yield Sample(
                    (values(shape, dtype),),
                    {"axis": axis, "keepdims": keepdims, "dtype": index},
                    gradient=False,
                )
    yield Sample(
        (strided(values((4, 6))),), {"axis": 0, "keepdims": False, "dtype": dtypes.int64}, gradient=False
    )
    yield Sample((np.array([[1, 3, 3], [np.nan, 2, np.nan]], np.float32),),
                 {"axis": 1, "keepdims": False, "dtype": dtypes.int64}, gradient=False)


_ARG_ERRORS = [ErrorCase((tensor(dtypes.float32, 2),), ValueError, "axis must be within",
                         {"axis": 1, "keepdims": False, "dtype": dtypes.int64}),
               ErrorCase((tensor(dtypes.float32, 0),), ValueError, "must not be empty",
                         {"axis": 0, "keepdims": False, "dtype": dtypes.int64}),
               ErrorCase((tensor(dtypes.float32, 2),), TypeError, "integer type",
                         {"axis": 0, "keepdims": False, "dtype": dtypes.float32})]


def _arg(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: np.ndarray, *, axis: int, keepdims: bool, dtype: DType) -> np.ndarray:
        if x.dtype == dtypes.bfloat16.numpy:
            x = x.astype(np.float32)
        return np.asarray(function(x, axis=axis, keepdims=keepdims)).astype(dtype.numpy)
    return reference


@operator("ArgMax")
class ArgMax:
    """The index of the first largest element along an axis; the first NaN counts as largest."""

    infer = ArgReduction()
    vjp = no_gradient
    batch = _arg_batch(lambda: ArgMax)
    reference = _arg(np.argmax)
    samples = _arg_samples
    errors = _ARG_ERRORS


@operator("ArgMin")
class ArgMin:
    """The index of the first smallest element along an axis; the first NaN counts as smallest."""

    infer = ArgReduction()
    vjp = no_gradient
    batch = _arg_batch(lambda: ArgMin)
    reference = _arg(np.argmin)
    samples = _arg_samples
    errors = _ARG_ERRORS
