"""Greedy choice among items that exclude one another."""
from __future__ import annotations

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import TensorType
from mycelia.ops.batching import at_front
from mycelia.ops.definition import operator
from mycelia.ops.inference import no_gradient, require_dtypes, wrong_shape
from mycelia.ops.samples import ErrorCase, Sample, tensor, values


@operator("GreedyKeep")
class GreedyKeep:
    """Which items stay, if each in turn excludes later ones: ``x[..., i, j]`` says whether i and j exclude
    one another."""

    def infer(x: TensorType) -> TensorType:
        require_dtypes("GreedyKeep", (x,), (dtypes.bool_,))
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise wrong_shape("GreedyKeep", (x,), "the input must be a square for each item", "Reshape it")
        return x.with_shape(*x.shape[:-1])

    vjp = no_gradient
    def batch(axes, x): return GreedyKeep(at_front(x, axes[0])), 0

    def reference(x):
        keep = np.ones(x.shape[:-1], np.bool_)
        for i in range(x.shape[-1]):
            keep[..., i + 1:] &= ~(keep[..., i:i + 1] & x[..., i, i + 1:])
        return keep

    def samples():
        for shape in ((5, 5), (0, 0), (1, 1), (2, 4, 4)):
            yield Sample((values(shape, dtypes.bool_),))

    errors = [
        ErrorCase((tensor(dtypes.bool_, 2, 3),), ValueError, "a square"),
        ErrorCase((tensor(dtypes.float32, 2, 2),), TypeError, "bool"),
    ]
