"""Whether gradients are finite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.ops.comparison import IsFinite
from mycelia.ops.composite import composite
from mycelia.ops.logic import LogicalAnd
from mycelia.ops.reduction import ReduceAll
from mycelia.tensor.tensor import Tensor


def all_finite(inputs: Any) -> Tensor:
    """Whether no element of any tensor is NaN or infinite.

    Args:
        inputs: a tensor, or tensors nested in lists and tuples.

    Returns:
        A boolean tensor of shape ().

    Raises:
        TypeError: no tensor among the inputs.

    Example:
        >>> all_finite([Tensor([1.0]), Tensor([float("inf")])])
        Tensor(shape=[], dtype=Bool, value= False)
    """
    tensors = list(_leaves(inputs))
    floats = [x for x in tensors if x.dtype.is_float]
    if not tensors:
        raise TypeError(f"all_finite: must get tensors. Received: {inputs!r:.80}")
    return _all_finite(tuple(floats)) if floats else Tensor(np.array(True))


def _leaves(inputs: Any) -> Iterator[Tensor]:
    if isinstance(inputs, Tensor):
        yield inputs
    elif isinstance(inputs, (list, tuple)):
        for item in inputs:
            yield from _leaves(item)


@composite
def _all_finite(tensors: tuple[Tensor, ...]) -> Tensor:
    flags = [ReduceAll(IsFinite(x), axes=tuple(range(x.ndim)), keepdims=False) for x in tensors]
    result = flags[0]
    for flag in flags[1:]:
        result = LogicalAnd(result, flag)
    return result
