"""A layer applied to every step of a sequence."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.ops.function.shaping import moveaxis, reshape, stack, unstack
from mycelia.tensor.tensor import Tensor


class TimeDistributed(Cell):
    """A layer applied to each index along an axis.

    Args:
        layer: a Cell, or another callable.
        time_axis: the axis of the steps.
        reshape_with_axis: an axis that the steps are merged with, so that the layer is called once; None
            calls
            it for each step.
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not callable(layer):
            raise TypeError(
                f"TimeDistributed: layer must be a Cell or a function. Received: {layer!r} (of type "
                f"{type(layer).__name__})"
            )
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        time = self.time_axis % inputs.ndim
        if self.reshape_with_axis is None:
            return stack([self.layer(step) for step in unstack(inputs, time)], time)
        other = self.reshape_with_axis % inputs.ndim
        if other == time:
            raise ValueError(
                f"TimeDistributed: reshape_with_axis must not be time_axis. Received: {time} for both"
            )
        merged = moveaxis(inputs, time, 0)
        other = other + 1 if other < time else other
        merged = moveaxis(merged, other, 1)
        steps, batch = merged.shape[:2]
        y = self.layer(reshape(merged, (steps * batch, *merged.shape[2:])))
        y = reshape(y, (steps, batch, *y.shape[1:]))
        y = moveaxis(y, 1, min(other, y.ndim - 1))
        return moveaxis(y, 0, min(time, y.ndim - 1))
