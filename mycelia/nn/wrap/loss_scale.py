"""Training steps with a loss scale: gradients of small numbers stay within half precision's range.

Micikevicius et al., "Mixed Precision Training", 2018, section 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.engine.grad import value_and_grad
from mycelia.nn.cell import Cell
from mycelia.nn.wrap.cell_wrapper import TrainOneStepCell
from mycelia.ops.arithmetic import Maximum, Reciprocal
from mycelia.ops.constants import like
from mycelia.ops.function.finite import all_finite
from mycelia.ops.inplace import write
from mycelia.ops.selection import Select
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.trace.branches import if_


class DynamicLossScaleUpdateCell(Cell):
    """Divides the scale by a factor at an overflow, and multiplies it after enough steps without one.

    ``construct(loss_scale, overflow)`` writes ``loss_scale`` and returns ``overflow``.

    Args:
        loss_scale_value: at the start.
        scale_factor: by which the scale rises and falls.
        scale_window: steps in a row without overflow before it rises.

    Raises:
        ValueError: a number out of range.
    """

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__()
        for name, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"{self.cls_name}: {name} must be a positive integer. Received: {name}={value!r}"
                )
        self.loss_scale_value = _positive(self.cls_name, loss_scale_value)
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.cur_iter = Parameter(np.array(1, np.int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(np.array(0, np.int32), name="last_overflow_iterator_step")

    def get_loss_scale(self) -> float:
        """The scale at the start."""
        return self.loss_scale_value

    def construct(self, loss_scale: Tensor, overflow: Any) -> Any:
        overflow = _flag(overflow)
        lower = Maximum(loss_scale * (1.0 / self.scale_factor), like(1.0, loss_scale))
        last = Select(overflow, self.cur_iter, self.last_overflow_iter)
        rises = (self.cur_iter - last) % self.scale_window == 0
        steady = Select(rises, loss_scale * float(self.scale_factor), loss_scale.copy())
        write(loss_scale, Select(overflow, lower, steady))
        write(self.last_overflow_iter, last)
        write(self.cur_iter, self.cur_iter + 1)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """Leaves the scale as it is. ``construct(loss_scale, overflow)`` returns ``overflow``."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = _positive(self.cls_name, loss_scale_value)

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """A training step whose loss is multiplied by a scale before the gradients, which are divided by it.

    A step whose gradients are not finite updates nothing. Returns ``(loss, overflow, scale)``.

    Args:
        network: takes the inputs and returns the loss.
        optimizer: updates its parameters when called with their gradients.
        scale_sense: a Cell that updates the scale, such as `DynamicLossScaleUpdateCell`, or a tensor: a fixed
            scale.

    Raises:
        TypeError: scale_sense is neither.
        ValueError: a tensor of more than one element.

    Example:
        >>> update = DynamicLossScaleUpdateCell(2**16, scale_factor=2, scale_window=1000)
        >>> step = TrainOneStepWithLossScaleCell(network_with_loss, optimizer, update)
        >>> loss, overflow, scale = step(images, labels)
    """

    def __init__(self, network: Cell, optimizer: Cell, scale_sense: Cell | Tensor) -> None:
        super().__init__(network, optimizer)
        self.loss_scaling_manager: Cell | None = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            start = np.asarray(scale_sense.get_loss_scale(), np.float32)  # type: ignore[operator]
        elif isinstance(scale_sense, Tensor):
            start = scale_sense.asnumpy().astype(np.float32)
            if start.size != 1:
                raise ValueError(
                    f"{self.cls_name}: scale_sense must have one element. Received: {scale_sense.type}"
                )
        else:
            raise TypeError(
                f"{self.cls_name}: scale_sense must be a Cell or a Tensor. Received: {scale_sense!r} (of "
                f"type "
                f"{type(scale_sense).__name__})"
            )
        self.scale_sense = Parameter(start, name="scale_sense")

    def construct(self, *inputs: Any) -> tuple[Any, Any, Any]:
        scale = self.scale_sense.copy()

        def scaled(*arguments: Any) -> tuple[Any, Any]:
            loss = self.network(*arguments)
            return loss * scale.astype(loss.dtype), loss

        (_, loss), gradients = value_and_grad(scaled, None, self.weights, has_aux=True)(*inputs)
        factor = Reciprocal(scale)
        gradients = tuple(g * factor.astype(g.dtype) for g in gradients)
        overflow = self.process_loss_scale(self.get_overflow_status(None, gradients))
        if_(overflow, tuple, lambda: (self.optimizer(gradients), ())[1], (), ())
        return loss, overflow, scale

    def set_sense_scale(self, sens: Tensor) -> None:
        """Sets the scale.

        Raises:
            TypeError: not a Tensor.
        """
        if not isinstance(sens, Tensor):
            raise TypeError(
                f"set_sense_scale: sens must be a Tensor. Received: {sens!r} (of type {type(sens).__name__})"
            )
        self.scale_sense.set_data(Tensor(sens.asnumpy().astype(np.float32).reshape(self.scale_sense.shape)))

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Any, Any]:
        """For steps that call it before their gradients: ``(status, compute_input)``. Gradients are looked at
        themselves, so that nothing has to be cleared before."""
        return Tensor(False), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Whether any of the gradients is not finite: a boolean tensor."""
        return all_finite(compute_output).logical_not()  # type: ignore[attr-defined]

    def process_loss_scale(self, overflow: Any) -> Any:
        """Lets the scale's Cell learn of an overflow; returns whether there was one."""
        if self.loss_scaling_manager is None:
            return overflow
        return self.loss_scaling_manager(self.scale_sense, overflow)


def _flag(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(bool(value))


def _positive(owner: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise ValueError(
            f"{owner}: loss_scale_value must be a positive number. Received: loss_scale_value={value!r}"
        )
    return value
