"""Tensors from nothing but attributes."""
from __future__ import annotations

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL, DType
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.definition import operator
from mycelia.ops.inference import no_gradient
from mycelia.ops.samples import ErrorCase, Sample


@operator("Full")
class Full:
    """A tensor of one number."""

    def infer(*, shape: tuple[Dim, ...], value: float, dtype: DType) -> TensorType:
        if any(isinstance(d, int) and d < 0 for d in shape):
            raise ValueError(
                f"Full: the extents of shape must not be negative. Received: shape={shape}. Give counts"
            )
        return TensorType(dtype, tuple(shape))

    vjp = no_gradient

    def reference(*, shape, value, dtype):
        return np.full(shape, np.array(value).astype(dtype.numpy), dtype.numpy)

    def samples():
        for dtype in ALL:
            for shape in ((), (0,), (3, 5)):
                yield Sample((), {"shape": shape, "value": 2, "dtype": dtype}, gradient=False)

    errors = [
        ErrorCase(
            (), ValueError, "must not be negative", {"shape": (-1,), "value": 0, "dtype": dtypes.float32}
        )
    ]


@operator("Iota")
class Iota:
    """0, 1, ... up to before ``size``."""

    def infer(*, size: Dim, dtype: DType) -> TensorType:
        if isinstance(size, int) and size < 0:
            raise ValueError(f"Iota: size must not be negative. Received: size={size}. Give a count")
        return TensorType(dtype, (size,))

    vjp = no_gradient
    def reference(*, size, dtype): return np.arange(size).astype(dtype.numpy)

    def samples():
        for dtype in ALL[1:]:
            for size in (0, 1, 17):
                yield Sample((), {"size": size, "dtype": dtype}, gradient=False)

    errors = [ErrorCase((), ValueError, "must not be negative", {"size": -1, "dtype": dtypes.float32})]
