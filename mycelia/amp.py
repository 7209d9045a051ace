"""Mixed precision (`mindspore.amp`): lists of what computes in half precision, and loss scalers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mycelia.ops.arithmetic import Maximum, Reciprocal
from mycelia.ops.comparison import IsFinite
from mycelia.ops.constants import like
from mycelia.ops.function.finite import all_finite
from mycelia.ops.inplace import write
from mycelia.ops.selection import Select
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.amp import (
    auto_mixed_precision,
    build_train_network,
    custom_mixed_precision,
    get_black_list,
    get_white_list,
)
from mycelia.train.loss_scale_manager import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)


class LossScaler(ABC):
    """Multiplies losses and divides gradients by one factor, in a training loop of one's own."""

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """Losses (a tensor, or a tuple of them) times the scale."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """Gradients divided by the scale."""

    @abstractmethod
    def adjust(self, grads_finite: Any) -> Any:
        """Learns whether the gradients of a step were finite."""


class StaticLossScaler(LossScaler):
    """A scale that never changes.

    Args:
        scale_value: the scale, at least 1.

    Raises:
        ValueError: a scale below 1.

    Example:
        >>> scaler = StaticLossScaler(128.0)
        >>> scaler.unscale(scaler.scale(Tensor([2.0])))
        Tensor(shape=[1], dtype=Float32, value= [2.])
    """

    def __init__(self, scale_value: float) -> None:
        self.scale_value = Parameter(
            np.float32(_at_least_one(self, "scale_value", scale_value)), name="scale_value"
        )

    def scale(self, inputs: Any) -> Any:
        return _each(inputs, lambda x: x * self.scale_value.value().astype(x.dtype))  # type: ignore[attr-defined]

    def unscale(self, inputs: Any) -> Any:
        factor = Reciprocal(self.scale_value)
        return _each(inputs, lambda x: x * factor.astype(x.dtype))

    def adjust(self, grads_finite: Any) -> Any:
        """The scale stays; returns False."""
        return False


class DynamicLossScaler(LossScaler):
    """A scale that falls when gradients overflow and rises again after enough steps without.

    Args:
        scale_value: at the start, at least 1.
        scale_factor: by which it rises and falls.
        scale_window: steps in a row with finite gradients before it rises.

    Raises:
        ValueError: numbers out of range.

    Example:
        >>> scaler = DynamicLossScaler(2**16, scale_factor=2, scale_window=50)
        >>> def forward(x, y): return scaler.scale(loss_fn(net(x), y))
        >>> gradient = value_and_grad(forward, None, optimizer.parameters)
        >>> loss, gradients = gradient(x, y)
        >>> finite = all_finite(gradients)
        >>> if finite:
        ...     optimizer(scaler.unscale(gradients))
        >>> scaler.adjust(finite)
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        self.scale_factor = _at_least_one(self, "scale_factor", scale_factor)
        self.scale_window = _at_least_one(self, "scale_window", scale_window)
        self.scale_value = Parameter(
            np.float32(_at_least_one(self, "scale_value", scale_value)), name="scale_value"
        )
        self.counter = Parameter(np.array(0, np.int32), name="counter")

    scale = StaticLossScaler.scale
    unscale = StaticLossScaler.unscale

    def adjust(self, grads_finite: Any) -> bool:
        """Lowers or raises the scale by whether the gradients of the step were finite (a boolean, or a
        boolean tensor); returns True."""
        finite = grads_finite if isinstance(grads_finite, Tensor) else Tensor(bool(grads_finite))
        scale, counter = self.scale_value.value(), self.counter.value()
        higher = scale * float(self.scale_factor)  # type: ignore[operator]
        higher = Select(IsFinite(higher), higher, scale)
        lower = Maximum(scale * (1.0 / self.scale_factor), like(1.0, scale))  # type: ignore[operator]
        due = counter == self.scale_window - 1
        following = (counter + 1) % self.scale_window  # type: ignore[operator]
        write(self.scale_value, Select(finite, Select(due, higher, scale), lower))
        write(self.counter, Select(finite, following, like(0, counter)))
        return True


def _each(inputs: Any, function: Any) -> Any:
    if isinstance(inputs, (tuple, list)):
        return type(inputs)(_each(item, function) for item in inputs)
    if not isinstance(inputs, Tensor):
        raise TypeError(
            f"a loss scaler takes tensors, or tuples of them. Received: {inputs!r:.80} (of type "
            f"{type(inputs).__name__})"
        )
    return function(inputs)


def _at_least_one(owner: Any, name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{type(owner).__name__}: {name} must be a number. Received: {name}={value!r} (of type "
            f"{type(value).__name__})"
        )
    if value < 1:
        raise ValueError(f"{type(owner).__name__}: {name} must be at least 1. Received: {name}={value!r}")
    return value


__all__ = [
    "DynamicLossScaleManager",
    "DynamicLossScaler",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaler",
    "StaticLossScaler",
    "all_finite",
    "auto_mixed_precision",
    "build_train_network",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
]
