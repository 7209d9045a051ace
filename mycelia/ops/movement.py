"""Operators that move elements and compute nothing: any dtype."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.batching import all_at_front, at_front
from mycelia.ops.definition import operator
from mycelia.ops.inference import require_dtypes, wrong_shape
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values


def _moves(cases: Sequence[tuple[tuple[int, ...], dict[str, Any]]]) -> Iterator[Sample]:
    for shape, attrs in cases:
        yield Sample((values(shape),), attrs)
    for dtype in ALL:
        shape, attrs = cases[-1]
        yield Sample((values(shape, dtype),), attrs)
        yield Sample((strided(values(shape, dtype)),), attrs)


def _size(shape: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for d in shape:
        total = total * d
    return total


def _known(shape: Sequence[Dim]) -> bool:
    return all(isinstance(d, int) for d in shape)


@operator("Reshape")
class Reshape:
    """The same elements in row-major order under another shape; a view where memory allows."""

    def infer(x: TensorType, *, shape: tuple[Dim, ...]) -> TensorType:
        if any(isinstance(d, int) and d < 0 for d in shape) or \
                _known(shape) and _known(x.shape) and _size(shape) != _size(x.shape):
            raise wrong_shape(
                "Reshape",
                (x,),
                f"the new shape {shape} must hold as many elements as the input, {_size(x.shape)}",
                "Give extents whose product is that; one may be -1 in x.reshape",
            )
        return TensorType(x.dtype, tuple(shape))

    def vjp(g, x, y, *, shape): return Reshape(g, shape=x.shape)

    def batch(axes, x, *, shape):
        x = at_front(x, axes[0])
        return Reshape(x, shape=(x.shape[0], *shape)), 0

    def reference(x, *, shape): return x.reshape(shape)

    def samples():
        return _moves(
            [
                ((), {"shape": (1, 1)}),
                ((0, 3), {"shape": (3, 0)}),
                ((6,), {"shape": (2, 3)}),
                ((1,), {"shape": ()}),
                ((2, 3, 4), {"shape": (4, 6)}),
            ]
        )

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2, 3),), ValueError, r"\(4,\) must hold as many.*6", {"shape": (4,)}
        )
    ]


@operator("Transpose")
class Transpose:
    """The axes in another order: axis i of the output is axis ``perm[i]`` of the input; a view."""

    def infer(x: TensorType, *, perm: tuple[int, ...]) -> TensorType:
        if sorted(perm) != list(range(x.ndim)):
            raise wrong_shape("Transpose", (x,), f"perm must name each of the {x.ndim} axes once, not {perm}",
                              "For two axes use swapaxes")
        return TensorType(x.dtype, tuple(x.shape[p] for p in perm))

    def vjp(g, x, y, *, perm): return Transpose(g, perm=tuple(perm.index(i) for i in range(len(perm))))

    def batch(axes, x, *, perm):
        return Transpose(at_front(x, axes[0]), perm=(0, *(p + 1 for p in perm))), 0

    def reference(x, *, perm): return np.transpose(x, perm)
    def samples(): return _moves([((), {"perm": ()}), ((0, 3), {"perm": (1, 0)}), ((5,), {"perm": (0,)}),
                                  ((3, 4), {"perm": (1, 0)}), ((2, 3, 4, 5), {"perm": (0, 3, 1, 2)}),
                                  ((2, 3, 17), {"perm": (2, 0, 1)})])

    errors = [
        ErrorCase((tensor(dtypes.float32, 2, 3),), ValueError, r"each of the 2 axes once", {"perm": (0, 0)})
    ]


@operator("BroadcastTo")
class BroadcastTo:
    """The input repeated along new leading axes and along axes of extent 1; a view."""

    def infer(x: TensorType, *, shape: tuple[Dim, ...]) -> TensorType:
        lead = len(shape) - x.ndim
        if lead < 0 or any(d != shape[lead + i] and d != 1 for i, d in enumerate(x.shape)):
            raise wrong_shape(
                "BroadcastTo",
                (x,),
                f"the input must broadcast to {tuple(shape)}: counted from the last axis, "
                f"extents must be equal or 1 in the input",
                "Reshape it first, e.g. with expand_dims",
            )
        return TensorType(x.dtype, tuple(shape))

    def vjp(g, x, y, *, shape): return sum_to(g, x.shape)

    def batch(axes, x, *, shape):
        x = at_front(x, axes[0])
        size, missing = x.shape[0], len(shape) - (x.ndim - 1)
        if missing:
            x = Reshape(x, shape=(size, *(1,) * missing, *x.shape[1:]))
        return BroadcastTo(x, shape=(size, *shape)), 0

    def reference(x, *, shape): return np.broadcast_to(x, shape).copy()

    def samples():
        return _moves(
            [
                ((), {"shape": (2, 3)}),
                ((0, 1), {"shape": (0, 4)}),
                ((1,), {"shape": (0,)}),
                ((3,), {"shape": (3,)}),
                ((3, 1), {"shape": (2, 3, 5)}),
            ]
        )

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2, 3),), ValueError, r"must broadcast to \(3, 3\)", {"shape": (3, 3)}
        )
    ]


def sum_to(g: Any, shape: Sequence[Dim]) -> Any:
    """Undoes broadcasting: sums the axes along which a tensor of ``shape`` was repeated."""
    from mycelia.ops.reduction import ReduceSum
    shape, lead = tuple(shape), g.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, d in enumerate(shape) if d == 1 and g.shape[lead + i] != 1))
    if axes:
        g = ReduceSum(g, axes=axes, keepdims=False)
    return g if g.shape == shape else Reshape(g, shape=shape)


def _concat_samples() -> Iterator[Sample]:
    for dtype in ALL:
        yield Sample(
            (values((2, 3), dtype, key="a"), values((2, 1), dtype, key="b"), values((2, 4), dtype, key="c")),
            {"axis": 1},
        )
    for a, b, axis in (((3,), (4,), 0), ((0, 3), (2, 3), 0), ((2, 0), (2, 0), 1), ((2, 3, 4), (2, 5, 4), 1)):
        yield Sample((values(a, key="a"), values(b, key="b")), {"axis": axis})
    yield Sample((values((2, 3)),), {"axis": 0})
    yield Sample((strided(values((2, 3), key="a")), strided(values((4, 3), key="b"))), {"axis": 0})


@operator("Concat")
class Concat:
    """The inputs one after the other along an axis; they agree on all other axes."""

    def infer(*xs: TensorType, axis: int) -> TensorType:
        if not xs:
            raise ValueError(
                "Concat: at least one input must be given. Received: none. Pass a non-empty list"
            )
        require_dtypes("Concat", xs, ALL)
        first = xs[0]
        if not 0 <= axis < first.ndim:
            raise wrong_shape("Concat", xs, f"axis must be within {first.ndim} dimensions, not {axis}",
                              "Use stack to join along a new axis")
        total: Dim = 0
        for x in xs:
            if x.ndim != first.ndim or any(
                x.shape[i] != first.shape[i] for i in range(first.ndim) if i != axis
            ):
                raise wrong_shape("Concat", xs, f"the inputs must have equal shapes but for axis {axis}",
                                  "Reshape, pad or slice them first")
            total = total + x.shape[axis]
        return TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1:]))

    def vjp(g, *rest, axis):
        parts, at = [], 0
        for x in rest[:-1]:
            begin = tuple(at if i == axis else 0 for i in range(g.ndim))
            at = at + x.shape[axis]
            end = tuple(at if i == axis else d for i, d in enumerate(g.shape))
            parts.append(StridedSlice(g, begin=begin, end=end, strides=(1,) * g.ndim))
        return tuple(parts)

    def batch(axes, *xs, axis): return Concat(*all_at_front(axes, xs), axis=axis + 1), 0
    def reference(*xs, axis): return np.concatenate(xs, axis)
    samples = _concat_samples
    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2, 3), tensor(dtypes.float32, 3, 3)),
            ValueError,
            "equal shapes but",
            {"axis": 1},
        ),
        ErrorCase((tensor(dtypes.float32, 2), tensor(dtypes.int8, 2)), TypeError, "one dtype", {"axis": 0}),
        ErrorCase((tensor(dtypes.float32),), ValueError, "Use stack", {"axis": 0}),
    ]


def slice_extent(begin: Dim, end: Dim, stride: int) -> Dim:
    """How many elements ``begin:end:stride`` takes; end is exclusive, -1 before the first for negative
    strides."""
    count = (end - begin + (stride - 1)) // stride if stride > 0 else (begin - end + (-stride - 1)) // -stride
    return max(count, 0) if isinstance(count, int) else count


def _slice_type(name: str, x: TensorType, begin: tuple, end: tuple, strides: tuple) -> tuple[Dim, ...]:
    if not len(begin) == len(end) == len(strides) == x.ndim:
        raise wrong_shape(
            name,
            (x,),
            f"begin, end and strides must have {x.ndim} items, not {begin}, {end}, {strides}",
            "Slice the leading axes with x[...]",
        )
    shape = []
    for d, b, e, s in zip(x.shape, begin, end, strides):
        if s == 0:
            raise wrong_shape(name, (x,), f"strides must not be 0, but are {strides}", "Use 1")
        extent = slice_extent(b, e, s)
        if all(isinstance(v, int) for v in (d, b, e)) and extent:
            last = b + (extent - 1) * s
            if min(b, last) < 0 or max(b, last) >= d:
                raise wrong_shape(
                    name,
                    (x,),
                    f"the slice {b}:{e}:{s} must lie within the axis of extent {d}",
                    "Clamp it first",
                )
        shape.append(extent)
    return tuple(shape)


def slices(begin: Sequence[int], end: Sequence[int], strides: Sequence[int]) -> tuple[slice, ...]:
    """The same slice in Python's terms, where an end of -1 would count from the end."""
    return tuple(slice(b, None if s < 0 and e < 0 else e, s) for b, e, s in zip(begin, end, strides))


_SLICE_CASES = [
    ((5,), (1,), (4,), (1,)), ((5,), (4,), (-1,), (-1,)), ((7,), (0,), (7,), (3,)), ((7,), (6,), (0,), (-2,)),
    ((4, 6), (1, 2), (3, 2), (1, 1)), ((0, 3), (0, 0), (0, 2), (1, 1)), ((), (), (), ()),
    ((3, 4, 5), (0, 3, 1), (3, -1, 5), (2, -1, 2)),
]


def _slice_samples() -> Iterator[Sample]:
    return _moves([(shape, {"begin": b, "end": e, "strides": s}) for shape, b, e, s in _SLICE_CASES])


@operator("StridedSlice")
class StridedSlice:
    """Every ``strides``-th element from ``begin`` to before ``end`` on each axis; a view. ``begin`` is not
    negative, ``end`` is -1 where a negative stride runs through to the first element."""

    def infer(x: TensorType, *, begin: tuple, end: tuple, strides: tuple) -> TensorType:
        return TensorType(x.dtype, _slice_type("StridedSlice", x, begin, end, strides))

    def vjp(g, x, y, *, begin, end, strides):
        from mycelia.ops.creation import Full
        base = Full(shape=x.shape, value=0.0, dtype=g.dtype)
        return SliceScatter(base, g, begin=begin, end=end, strides=strides)

    def batch(axes, x, *, begin, end, strides):
        x = at_front(x, axes[0])
        return StridedSlice(x, begin=(0, *begin), end=(x.shape[0], *end), strides=(1, *strides)), 0

    def reference(x, *, begin, end, strides): return x[slices(begin, end, strides)]
    samples = _slice_samples
    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 3),),
            ValueError,
            "strides must not be 0",
            {"begin": (0,), "end": (3,), "strides": (0,)},
        ),
        ErrorCase(
            (tensor(dtypes.float32, 3),),
            ValueError,
            "extent 3",
            {"begin": (0,), "end": (4,), "strides": (1,)},
        ),
        ErrorCase(
            (tensor(dtypes.float32, 3, 3),),
            ValueError,
            "2 items",
            {"begin": (0,), "end": (3,), "strides": (1,)},
        ),
    ]


def _scatter_samples() -> Iterator[Sample]:
    for shape, b, e, s in _SLICE_CASES:
        attrs = {"begin": b, "end": e, "strides": s}
        inner = values(shape)[slices(b, e, s)].shape
        yield Sample((values(shape, key="base"), values(inner, key="value")), attrs)
    for dtype in ALL:
        yield Sample((values((4, 5), dtype, key="base"), values((2, 5), dtype, key="value")),
                     {"begin": (1, 0), "end": (3, 5), "strides": (1, 1)})
    yield Sample((strided(values((4, 5), key="base")), strided(values((2, 5), key="value"))),
                 {"begin": (0, 0), "end": (4, 5), "strides": (2, 1)})


@operator("SliceScatter")
class SliceScatter:
    """``base`` with the slice replaced by ``value``, whose shape is the slice's."""

    def infer(base: TensorType, value: TensorType, *, begin: tuple, end: tuple, strides: tuple) -> TensorType:
        require_dtypes("SliceScatter", (base, value), ALL)
        shape = _slice_type("SliceScatter", base, begin, end, strides)
        if value.shape != shape:
            raise wrong_shape(
                "SliceScatter",
                (base, value),
                f"the value must have the shape of the slice, {shape}",
                "Broadcast it first",
            )
        return base

    def vjp(g, base, value, y, **where):
        from mycelia.ops.creation import Full
        zeros = Full(shape=value.shape, value=0.0, dtype=g.dtype)
        return SliceScatter(g, zeros, **where), StridedSlice(g, **where)

    def batch(axes, base, value, *, begin, end, strides):
        base, value = all_at_front(axes, (base, value))
        return SliceScatter(
            base, value, begin=(0, *begin), end=(base.shape[0], *end), strides=(1, *strides)
        ), 0

    def reference(base, value, *, begin, end, strides):
        result = base.copy()
        result[slices(begin, end, strides)] = value
        return result

    samples = _scatter_samples
    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 3), tensor(dtypes.float32, 3)),
            ValueError,
            r"shape of the slice, \(2,\)",
            {"begin": (0,), "end": (2,), "strides": (1,)},
        )
    ]


@operator("Pad")
class Pad:
    """The input with ``paddings[i] = (before, after)`` elements of ``value`` added on axis i."""

    def infer(x: TensorType, *, paddings: tuple[tuple[int, int], ...], value: float) -> TensorType:
        if len(paddings) != x.ndim or any(n < 0 for pair in paddings for n in pair if isinstance(n, int)):
            raise wrong_shape(
                "Pad",
                (x,),
                f"paddings must be {x.ndim} pairs of counts that are not negative, not {paddings}",
                "Slice to remove elements",
            )
        return TensorType(x.dtype, tuple(lo + d + hi for d, (lo, hi) in zip(x.shape, paddings)))

    def vjp(g, x, y, *, paddings, value):
        begin = tuple(lo for lo, _ in paddings)
        return StridedSlice(
            g, begin=begin, end=tuple(b + d for b, d in zip(begin, x.shape)), strides=(1,) * g.ndim
        )

    def batch(axes, x, *, paddings, value):
        return Pad(at_front(x, axes[0]), paddings=((0, 0), *paddings), value=value), 0

    def reference(x, *, paddings, value):
        shape = tuple(lo + d + hi for d, (lo, hi) in zip(x.shape, paddings))
        result = np.full(shape, np.array(value).astype(x.dtype), x.dtype)
        result[tuple(slice(lo, lo + d) for d, (lo, _) in zip(x.shape, paddings))] = x
        return result

    def samples():
        return _moves(
            [
                ((), {"paddings": (), "value": 0.0}),
                ((0, 2), {"paddings": ((1, 1), (0, 0)), "value": 2.0}),
                ((3,), {"paddings": ((0, 2),), "value": 1.0}),
                ((2, 3), {"paddings": ((1, 0), (2, 1)), "value": 1.0}),
            ]
        )

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 3),), ValueError, "not negative", {"paddings": ((-1, 0),), "value": 0.0}
        ),
        ErrorCase((tensor(dtypes.float32, 3),), ValueError, "1 pairs", {"paddings": (), "value": 0.0}),
    ]


