"""Operators on whole numbers."""
from __future__ import annotations

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front
from mycelia.ops.definition import operator
from mycelia.ops.inference import broadcast_shapes, no_gradient, require_dtypes
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values


@operator("Gcd")
class Gcd:
    """The greatest common divisor, never negative."""

    def infer(x: TensorType, y: TensorType) -> TensorType:
        dtype = require_dtypes("Gcd", (x, y), dtypes.INTEGERS)
        return TensorType(dtype, broadcast_shapes("Gcd", (x, y)))

    vjp = no_gradient

    def batch(axes, x, y):
        x, y = all_at_front(axes, (x, y))
        rank = max(x.ndim, y.ndim)
        from mycelia.ops.batching import reshape
        x, y = (reshape(t, t.shape[0], *(1,) * (rank - t.ndim), *t.shape[1:]) for t in (x, y))
        return Gcd(x, y), 0

    def reference(x, y):
        return np.asarray(np.gcd(x, y), x.dtype)

    def samples():
        for dtype in dtypes.INTEGERS:
            yield Sample((values((3, 4), dtype, -30, 30, "a"), values((4,), dtype, -30, 30, "b")))
        yield Sample((values((), dtypes.int64, 1, 90, "a"), values((0, 2), dtypes.int64, 1, 90)))
        yield Sample((strided(values((3, 4), dtypes.int32, -9, 9)), values((3, 4), dtypes.int32, -9, 9, "b")))

    errors = [
        ErrorCase((tensor(dtypes.float32, 2), tensor(dtypes.float32, 2)), TypeError, "int32"),
        ErrorCase((tensor(dtypes.int32, 2), tensor(dtypes.int32, 3)), ValueError, "broadcast"),
    ]
