"""What a network says of itself while it runs: `ScalarSummary` and its like, in both modes.

The values wait here until a `SummaryRecord` takes them. Each tag keeps only its latest value, so that a
network that summarises without a record to write to holds on to little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from mycelia.ops.control import PyCall
from mycelia.ops.primitive import primitive
from mycelia.ops.promotion import as_tensor
from mycelia.tensor.tensor import Tensor

_waiting: dict[tuple[str, str], np.ndarray] = {}


def take() -> dict[tuple[str, str], np.ndarray]:
    """The values since the last call, by plugin and tag."""
    taken = dict(_waiting)
    _waiting.clear()
    return taken


@cache
def _keeper(plugin: str, tag: str) -> Callable[[np.ndarray], tuple]:
    """One function for each tag, so that calls of one tag share their compiled code."""
    def keep(value: np.ndarray) -> tuple:
        _waiting[plugin, tag] = np.array(value)
        return ()

    return keep


def _summarise(
    kind: str, plugin: str, name: Any, value: Any, fits: Callable[[Tensor], bool], form: str
) -> Tensor:
    if not isinstance(name, str) or not name:
        raise TypeError(f"{kind}: name must be a str that is not empty. Received: name={name!r}")
    tensor = as_tensor(kind, value)
    if not fits(tensor):
        raise ValueError(
            f"{kind}: {name!r} must be {form}. Received: shape {tensor.shape}; reduce or reshape it"
        )
    PyCall(tensor, function=_keeper(plugin, name), types=())
    return tensor


@primitive
def ScalarSummary(name: Any, value: Any) -> Tensor:
    """Hands a number to the next `SummaryRecord.record` under a name; gives it back."""
    return _summarise("ScalarSummary", "scalar", name, value, lambda x: x.size == 1, "one element")


@primitive
def ImageSummary(name: Any, value: Any) -> Tensor:
    """Hands images ``[n, 1 or 3, height, width]`` to the next `SummaryRecord.record`; gives them back."""
    def fits(x: Tensor) -> bool:
        return x.ndim == 4 and x.shape[1] in (1, 3)

    return _summarise("ImageSummary", "image", name, value, fits, "[n, 1 or 3, height, width]")


@primitive
def TensorSummary(name: Any, value: Any) -> Tensor:
    """Hands a tensor to the next `SummaryRecord.record`; gives it back."""
    return _summarise("TensorSummary", "tensor", name, value, lambda x: x.ndim > 0, "a tensor with axes")


@primitive
def HistogramSummary(name: Any, value: Any) -> Tensor:
    """Hands the distribution of a tensor to the next `SummaryRecord.record`; gives the tensor back."""
    def fits(x: Tensor) -> bool:
        return x.ndim > 0

    return _summarise("HistogramSummary", "histogram", name, value, fits, "a tensor with axes")
