"""Large batches in small steps: gradients are added up, and applied after so many steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.nn.cell import Cell
from mycelia.ops.inplace import write
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor
from mycelia.trace.branches import if_


def gradient_accumulation_op(accumulation_step: int, cumulative_grad: Parameter, grad: Tensor) -> Tensor:
    """Adds a gradient's share to what was added up."""
    write(cumulative_grad, cumulative_grad + grad.astype(cumulative_grad.dtype) * (1.0 / accumulation_step))  # type: ignore[attr-defined, operator]
    return cumulative_grad


def gradient_clear_op(cumulative_grad: Parameter) -> Tensor:
    """Begins to add up from zero again."""
    write(cumulative_grad, cumulative_grad * 0.0)  # type: ignore[operator]
    return cumulative_grad


class GradientAccumulation(Cell):
    """Called with the loss and gradients of each step; after ``max_accumulation_step`` of them the optimizer
    gets
    their mean.

    Args:
        max_accumulation_step: steps between updates.
        optimizer: what updates the parameters.

    Raises:
        ValueError: a number below 1.
        TypeError: no integer.

    Example:
        >>> accumulate = GradientAccumulation(4, optimizer)
        >>> loss, gradients = gradient(x, y)
        >>> loss = accumulate(loss, gradients)
    """

    def __init__(self, max_accumulation_step: int, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        if isinstance(max_accumulation_step, bool) or not isinstance(max_accumulation_step, int):
            raise TypeError(
                "GradientAccumulation: max_accumulation_step must be an int. Received: "
                f"{max_accumulation_step!r} (of type {type(max_accumulation_step).__name__})"
            )
        if max_accumulation_step < 1:
            raise ValueError(
                "GradientAccumulation: max_accumulation_step must be at least 1. Received: "
                f"max_accumulation_step={max_accumulation_step}"
            )
        self._max_accumulation_step, self.optimizer = max_accumulation_step, optimizer
        self._grad_accumulation = ParameterTuple(optimizer.parameters).clone(
            "grad_accumulation", init="zeros"
        )
        self._accumulation_step = Parameter(np.array(1, np.int32), name="accumulation_step")

    def construct(self, loss: Any, grads: Any) -> Any:
        for total, gradient in zip(self._grad_accumulation, grads):
            gradient_accumulation_op(self._max_accumulation_step, total, gradient)
        due = self._accumulation_step % self._max_accumulation_step == 0  # type: ignore[operator]
        write(self._accumulation_step, self._accumulation_step + 1)  # type: ignore[operator]
        if_(due, self._update, tuple, (), ())
        return loss

    def _update(self) -> tuple:
        self.optimizer(tuple(total.copy() for total in self._grad_accumulation))  # type: ignore[attr-defined]
        for total in self._grad_accumulation:
            gradient_clear_op(total)
        return ()
