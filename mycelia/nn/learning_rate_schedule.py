"""Learning rates as functions of the step, computed inside the training graph."""

from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import float32
from mycelia.nn.cell import Cell
from mycelia.ops.arithmetic import Minimum
from mycelia.ops.constants import like
from mycelia.ops.exponential import Exp
from mycelia.ops.rounding import Ceil, Floor
from mycelia.ops.trigonometric import Cos
from mycelia.tensor.tensor import Tensor


class LearningRateSchedule(Cell):
    """Base of schedules: ``construct(global_step)`` gives the step's learning rate as a float32 scalar."""

    def construct(self, global_step: Tensor) -> Tensor:
        raise NotImplementedError(
            f"{type(self).__name__}: a LearningRateSchedule computes the rate in construct(self, global_step)"
        )


def _positive(owner: str, **numbers: float) -> None:
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise ValueError(f"{owner}: {name} must be a positive number. Received: {name}={value!r}")


def _positive_int(owner: str, **numbers: int) -> None:
    for name, value in numbers.items():
        if type(value) is not int or value <= 0:
            raise ValueError(f"{owner}: {name} must be a positive int. Received: {name}={value!r}")


def _float(step: Any) -> Tensor:
    return step.astype(float32)


class _Decay(LearningRateSchedule):
    """What the three decays over ``p = step / decay_steps`` share."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        _positive(self.cls_name, learning_rate=learning_rate, decay_rate=decay_rate)
        _positive_int(self.cls_name, decay_steps=decay_steps)
        self.learning_rate, self.decay_rate, self.decay_steps = (
            float(learning_rate),
            float(decay_rate),
            decay_steps,
        )
        self.is_stair = bool(is_stair)

    def _progress(self, global_step: Tensor) -> Tensor:
        p = _float(global_step) / float(self.decay_steps)
        return Floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """lr * decay_rate ** p, with p = step / decay_steps, rounded down with ``is_stair``.

    Example:
        >>> ExponentialDecayLR(0.1, 0.9, 4)(Tensor(4, int32))
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return Exp(self._progress(global_step) * math.log(self.decay_rate)) * self.learning_rate


class NaturalExpDecayLR(_Decay):
    """lr * exp(-decay_rate * p), where p is the step itself; with ``is_stair`` the step rounded down to a
    multiple of decay_steps."""

    def construct(self, global_step: Tensor) -> Tensor:
        p = self._progress(global_step) * float(self.decay_steps) if self.is_stair else _float(global_step)
        return Exp(p * -self.decay_rate) * self.learning_rate


class InverseDecayLR(_Decay):
    """lr / (1 + decay_rate * p), with p = step / decay_steps, rounded down with ``is_stair``."""

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate / (self._progress(global_step) * self.decay_rate + 1.0)


class CosineDecayLR(LearningRateSchedule):
    """min_lr + (max_lr - min_lr) / 2 * (1 + cos(pi * step / decay_steps)), min_lr from decay_steps on.

    Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2016.
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        if not isinstance(min_lr, float) or min_lr < 0:
            raise ValueError(
                f"CosineDecayLR: min_lr must be a float of at least 0. Received: min_lr={min_lr!r}"
            )
        _positive("CosineDecayLR", max_lr=max_lr)
        _positive_int("CosineDecayLR", decay_steps=decay_steps)
        if min_lr >= max_lr:
            raise ValueError(
                f"CosineDecayLR: max_lr must be greater than min_lr. Received: min_lr={min_lr}, "
                f"max_lr={max_lr}"
            )
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def construct(self, global_step: Tensor) -> Tensor:
        step = _float(global_step)
        p = Minimum(step, like(self.decay_steps, step)) / float(self.decay_steps)
        return (Cos(p * math.pi) + 1.0) * (0.5 * (self.max_lr - self.min_lr)) + self.min_lr


class PolynomialDecayLR(LearningRateSchedule):
    """(lr - end) * (1 - step / decay_steps) ** power + end; the end from decay_steps on, or with
    ``update_decay_steps`` the nearest multiple of decay_steps above the step in its place."""

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        _positive("PolynomialDecayLR", learning_rate=learning_rate, power=power)
        if not isinstance(end_learning_rate, float) or end_learning_rate < 0:
            raise ValueError(
                "PolynomialDecayLR: end_learning_rate must be a float of at least 0. Received: "
                f"{end_learning_rate!r}"
            )
        _positive_int("PolynomialDecayLR", decay_steps=decay_steps)
        self.start, self.end, self.power = float(learning_rate), end_learning_rate, float(power)
        self.decay_steps, self.update_decay_steps = decay_steps, bool(update_decay_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        from mycelia.ops.arithmetic import Maximum, Pow

        step, span = _float(global_step), float(self.decay_steps)
        if self.update_decay_steps:
            limit = Maximum(Ceil(step / span), like(1, step)) * span
        else:
            limit = like(span, step)
        left = 1.0 - Minimum(step, limit) / limit
        return Pow(left, like(self.power, left)) * (self.start - self.end) + self.end


class WarmUpLR(LearningRateSchedule):
    """lr * min(step, warmup_steps) / warmup_steps."""

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        if not isinstance(learning_rate, float) or learning_rate < 0:
            raise ValueError(
                f"WarmUpLR: learning_rate must be a float of at least 0. Received: {learning_rate!r}"
            )
        _positive_int("WarmUpLR", warmup_steps=warmup_steps)
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps

    def construct(self, global_step: Tensor) -> Tensor:
        step = _float(global_step)
        return Minimum(step, like(self.warmup_steps, step)) * (self.learning_rate / self.warmup_steps)
