"""Loss scale managers: what `Model` and `build_train_network` ask for the scale and its update."""

from __future__ import annotations

from typing import Any


class LossScaleManager:
    """Base of managers of a loss scale."""

    def get_loss_scale(self) -> float:
        """The scale of the step to come."""
        raise NotImplementedError(f"{type(self).__name__}.get_loss_scale must be defined")

    def update_loss_scale(self, overflow: bool) -> None:
        """Learns whether the gradients of a step overflowed."""
        raise NotImplementedError(f"{type(self).__name__}.update_loss_scale must be defined")

    def get_update_cell(self) -> Any:
        """The Cell that updates the scale in a training step, or None."""
        raise NotImplementedError(f"{type(self).__name__}.get_update_cell must be defined")


class FixedLossScaleManager(LossScaleManager):
    """A scale that never changes.

    Args:
        loss_scale: the scale. Without ``drop_overflow_update`` the optimizer must be given the same number.
        drop_overflow_update: whether a step whose gradients overflow updates nothing.

    Raises:
        ValueError: a scale below 1.

    Example:
        >>> Model(net, loss, nn.Momentum(params, 0.1, 0.9), loss_scale_manager=FixedLossScaleManager(1024.0))
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        _at_least_one("FixedLossScaleManager", "loss_scale", loss_scale)
        if not isinstance(drop_overflow_update, bool):
            raise TypeError(
                "FixedLossScaleManager: drop_overflow_update must be a bool. Received: "
                f"drop_overflow_update={drop_overflow_update!r}"
            )
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether a step whose gradients overflow updates nothing."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """The scale stays."""

    def get_update_cell(self) -> Any:
        if not self._drop_overflow_update:
            return None
        from mycelia import nn

        return nn.FixedLossScaleUpdateCell(self._loss_scale)


class DynamicLossScaleManager(LossScaleManager):
    """A scale that falls when gradients overflow and rises again after enough steps without.

    Args:
        init_loss_scale: at the start.
        scale_factor: by which it rises and falls; greater than 1.
        scale_window: steps in a row without overflow before it rises.

    Raises:
        ValueError: a number out of range.
    """

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000
    ) -> None:
        _at_least_one("DynamicLossScaleManager", "init_loss_scale", init_loss_scale)
        for name, value, least in (("scale_factor", scale_factor, 2), ("scale_window", scale_window, 1)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(
                    f"DynamicLossScaleManager: {name} must be an integer of at least {least}. Received: "
                    f"{name}={value!r}"
                )
        self.loss_scale: float = init_loss_scale
        self.increase_ratio, self.decrease_ratio, self.scale_window = (
            scale_factor,
            1 / scale_factor,
            scale_window,
        )
        self.scale_factor = scale_factor
        self.cur_iter, self.last_overflow_iter = 1, 0

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def update_loss_scale(self, overflow: bool) -> None:
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.loss_scale *= self.increase_ratio
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """True: a step whose gradients overflow updates nothing."""
        return True

    def get_update_cell(self) -> Any:
        from mycelia import nn

        return nn.DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


def _at_least_one(owner: str, name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{owner}: {name} must be a number. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    if value < 1:
        raise ValueError(f"{owner}: {name} must be at least 1. Received: {name}={value!r}")
