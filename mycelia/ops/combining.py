"""Combining elements with those at given places: what `GatherDGrad` does for sums, for other ways."""
from __future__ import annotations

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL, bool_
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front
from mycelia.ops.comparison import Equal
from mycelia.ops.constants import like
from mycelia.ops.creation import Full
from mycelia.ops.definition import operator
from mycelia.ops.indexing import GatherD, GatherDGrad, along_axis
from mycelia.ops.inference import require_dtypes, wrong_dtype, wrong_shape
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values
from mycelia.ops.selection import Cast, Select

_WAYS = {
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}
WAYS = ("update", *_WAYS)


@operator("ScatterElements")
class ScatterElements:
    """``base`` with the element at each index along an axis combined with that of ``value``, in order.

    Attribute ``reduce``: ``"update"`` (the last one wins), ``"mul"``, ``"div"`` (of integers toward zero),
    ``"max"`` or ``"min"``. Sums are ``base + GatherDGrad(indices, value)``.
    """

    def infer(
        base: TensorType, indices: TensorType, value: TensorType, *, axis: int, reduce: str
    ) -> TensorType:
        types = (base, indices, value)
        if not indices.dtype.is_integer:
            raise wrong_dtype("ScatterElements", types, "the indices must be integers", "Convert them")
        require_dtypes("ScatterElements", (base, value), ALL)
        if reduce not in WAYS:
            raise ValueError(f"ScatterElements: reduce must be one of {WAYS}. Received: reduce={reduce!r}")
        if base.dtype is bool_ and reduce in ("mul", "div"):
            raise wrong_dtype("ScatterElements", types, "booleans can't be multiplied", "Convert them")
        if (
            indices.shape != value.shape
            or base.ndim != indices.ndim
            or not 0 <= axis < base.ndim
            or [d for i, d in enumerate(base.shape) if i != axis]
            != [d for i, d in enumerate(indices.shape) if i != axis]
        ):
            raise wrong_shape(
                "ScatterElements",
                types,
                f"indices and value must have one shape, and that of the base but for axis {axis}",
                "Slice or broadcast one of them",
            )
        return base

    def vjp(g, base, indices, value, y, *, axis, reduce):
        along = {"axis": axis}
        if reduce == "update":
            zeros = Full(shape=value.shape, value=0.0, dtype=g.dtype)
            return ScatterElements(g, indices, zeros, reduce="update", **along), None, GatherD(
                g, indices, **along
            )
        if reduce in ("mul", "div"):
            inner = ScatterElements(g, indices, value, reduce=reduce, **along)
            share = GatherD(g * y, indices, **along) / value
            return inner, None, share if reduce == "mul" else -share
        won = Cast(Equal(value, GatherD(y, indices, **along)), dtype=g.dtype)
        kept = Cast(Equal(base, y), dtype=g.dtype)
        count = kept + GatherDGrad(indices, won, shape=base.shape, **along)
        share = g / Select(Equal(count, like(0, g)), like(1, g), count)
        return share * kept, None, GatherD(share, indices, **along) * won

    def batch(axes, base, indices, value, *, axis, reduce):
        return ScatterElements(*all_at_front(axes, (base, indices, value)), axis=axis + 1, reduce=reduce), 0

    def _scatter(base, indices, value, *, axis, reduce):
        result = base.copy()
        where = along_axis(indices, axis, base.shape[axis], "ScatterElements")
        if reduce == "update":
            result[where] = value
        elif reduce == "div" and base.dtype.kind in "iu":
            for place, by in zip(np.ndindex(indices.shape), value.ravel()):
                at = tuple(np.broadcast_to(w, indices.shape)[place] for w in where)
                quotient = abs(int(result[at])) // abs(int(by)) if by else 0
                result[at] = quotient if (result[at] < 0) == (by < 0) else -quotient
        else:
            _WAYS[reduce].at(result, where, value)
        return result

    reference = widened(_scatter)

    def samples():
        indices = np.array([[3, 0], [1, 2], [-1, 2]])
        for reduce in WAYS:
            for dtype in ALL:
                if dtype is bool_ and reduce in ("mul", "div"):
                    continue
                low = 1.0 if reduce in ("mul", "div") else -9.0
                yield Sample(
                    (values((3, 4), dtype, 1.0, 9.0, "b"), indices, values((3, 2), dtype, low, 9.0, "v")),
                    {"axis": 1, "reduce": reduce},
                    tolerance=2.0,
                )
            repeated = np.array([[[1], [1], [0]], [[0], [0], [0]]], np.int32)
            yield Sample(
                (values((2, 2, 1), key="b"), repeated, values((2, 3, 1), low=1.0, high=3.0, key="v")),
                {"axis": 1, "reduce": reduce},
                gradient=reduce != "update",
                tolerance=2.0,
            )
            yield Sample((values((3, 0)), np.zeros((2, 0), np.int64), values((2, 0))),
                         {"axis": 0, "reduce": reduce})
        yield Sample(
            (strided(values((4, 6))), strided(np.array([[1, 0, 5]] * 4)), strided(values((4, 3), key="v"))),
            {"axis": 1, "reduce": "update"},
        )

    errors = [
        ErrorCase((tensor(dtypes.float32, 3), tensor(dtypes.int32, 2), tensor(dtypes.float32, 3)),
                  ValueError, "one shape", {"axis": 0, "reduce": "update"}),
        ErrorCase((tensor(dtypes.float32, 3), tensor(dtypes.float32, 2), tensor(dtypes.float32, 2)),
                  TypeError, "must be integers", {"axis": 0, "reduce": "max"}),
        ErrorCase((tensor(dtypes.float32, 3), tensor(dtypes.int32, 2), tensor(dtypes.float32, 2)),
                  ValueError, "reduce must be one of", {"axis": 0, "reduce": "sum"}),
    ]
