"""Schedulers: each `step` sets the learning rates of an optimizer of `mycelia.experimental.optim`.

A scheduler says in ``rate(lr, base, epoch)`` what an epoch's rate is, given the rate before it and the rate
the
optimizer started with; where it depends on the epoch alone, ``at(base, epoch)`` says so directly.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.experimental.optim.optimizer import Optimizer
from mycelia.tensor.tensor import Tensor


def _require_optimizer(owner: str, optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{owner}: optimizer must be one of mycelia.experimental.optim or mycelia.mint.optim. Received: "
            f"{optimizer!r:.80} (of type {type(optimizer).__name__})"
        )


def _number(x: Any) -> float:
    return float(x.asnumpy()) if isinstance(x, Tensor) else float(x)


class _Rates:
    """Access to the learning rates of an optimizer's groups."""

    def __init__(self, optimizer: Optimizer) -> None:
        _require_optimizer(type(self).__name__, optimizer)
        self.optimizer = optimizer

    def rates(self) -> list[float]:
        return [_number(group["lr"]) for group in self.optimizer.param_groups]

    def set_rates(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = float(rate)

    def get_last_lr(self) -> list[Tensor]:
        """The groups' learning rates, one 0-d tensor each."""
        return [Tensor.from_numpy(np.asarray(rate, np.float32)) for rate in self.rates()]


class LRScheduler(_Rates):
    """Base of schedulers. A subclass defines ``get_lr()``, the rates of epoch ``last_epoch`` for all
    groups, or
    ``rate(lr, base, epoch)`` for one.

    Args:
        optimizer: of `mycelia.experimental.optim`.
        last_epoch: the epoch that training stopped at, -1 for a start.

    Raises:
        TypeError: another optimizer.
        KeyError: resumed without ``initial_lr`` in a group.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        super().__init__(optimizer)
        if type(last_epoch) is not int or last_epoch < -1:
            raise (ValueError if type(last_epoch) is int else TypeError)(
                f"{type(self).__name__}: last_epoch must be an int of at least -1. Received: {last_epoch!r}"
            )
        for i, (group, lr) in enumerate(zip(optimizer.param_groups, self.rates())):
            if last_epoch == -1:
                group.setdefault("initial_lr", lr)
            elif "initial_lr" not in group:
                raise KeyError(f"{type(self).__name__}: param_groups[{i}] has no 'initial_lr' to resume from")
        self.base_lrs = [_number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rate(self, lr: float, base: float, epoch: int) -> float:
        raise NotImplementedError(f"{type(self).__name__}: a scheduler computes in get_lr() or rate()")

    at: Callable[[float, int], float] | None = None

    def get_lr(self) -> list[Any]:
        return [self.rate(lr, base, self.last_epoch) for lr, base in zip(self.rates(), self.base_lrs)]

    def step(self, epoch: int | None = None) -> bool:
        """Goes to the next epoch, or to the one given, and sets its rates."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else int(epoch)
        if epoch is not None and self.at is not None:
            self.set_rates([self.at(base, self.last_epoch) for base in self.base_lrs])
        else:
            self.set_rates([_number(lr) for lr in self.get_lr()])
        return True


class StepLR(LRScheduler):
    """The rate times gamma after each ``step_size`` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if type(step_size) is not int or step_size < 1:
            raise (ValueError if type(step_size) is int else TypeError)(
                f"StepLR: step_size must be a positive int. Received: step_size={step_size!r}"
            )
        self.step_size, self.gamma = step_size, float(gamma)
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        return lr if epoch == 0 or epoch % self.step_size else lr * self.gamma

    def at(self, base: float, epoch: int) -> float:
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """The rate times gamma at each of the ``milestones``; twice where one stands twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not isinstance(milestones, list) or any(type(m) is not int for m in milestones):
            raise TypeError(f"MultiStepLR: milestones must be a list of ints. Received: {milestones!r}")
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        return lr * self.gamma ** self.milestones[epoch]

    def at(self, base: float, epoch: int) -> float:
        return base * self.gamma ** sum(n for m, n in self.milestones.items() if m <= epoch)


def _require_total(owner: str, total_iters: Any) -> int:
    if type(total_iters) is not int:
        raise TypeError(f"{owner}: total_iters must be an int. Received: total_iters={total_iters!r}")
    return total_iters


class ConstantLR(LRScheduler):
    """The rate times ``factor`` until epoch ``total_iters``."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be in [0, 1]. Received: factor={factor}")
        self.factor, self.total_iters = factor, _require_total("ConstantLR", total_iters)
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        if epoch == 0:
            return lr * self.factor
        return lr / self.factor if epoch == self.total_iters else lr

    def at(self, base: float, epoch: int) -> float:
        return base if epoch >= self.total_iters else base * self.factor


class LinearLR(LRScheduler):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` within ``total_iters``
    epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(
                "LinearLR: start_factor must be in (0, 1] and end_factor in [0, 1]. Received: "
                f"start_factor={start_factor}, end_factor={end_factor}"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = _require_total("LinearLR", total_iters)
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        if epoch == 0:
            return lr * self.start_factor
        if epoch > self.total_iters:
            return lr
        rise = self.end_factor - self.start_factor
        return lr * (1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise))

    def at(self, base: float, epoch: int) -> float:
        share = min(self.total_iters, epoch) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * share)


class ExponentialLR(LRScheduler):
    """The rate times gamma after each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        if not isinstance(gamma, float):
            raise TypeError(f"ExponentialLR: gamma must be a float. Received: gamma={gamma!r}")
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        return lr if epoch == 0 else lr * self.gamma

    def at(self, base: float, epoch: int) -> float:
        return base * self.gamma**epoch


class PolynomialLR(LRScheduler):
    """base * (1 - epoch / total_iters) ** power."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(power, float):
            raise TypeError(f"PolynomialLR: power must be a float. Received: power={power!r}")
        if power < 0:
            raise ValueError(f"PolynomialLR: power must be at least 0. Received: power={power}")
        self.total_iters, self.power = _require_total("PolynomialLR", total_iters), power
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        if epoch == 0 or epoch > self.total_iters:
            return lr
        left, before = 1.0 - epoch / self.total_iters, 1.0 - (epoch - 1) / self.total_iters
        return lr * (left / before) ** self.power

    def at(self, base: float, epoch: int) -> float:
        return base * (1.0 - min(self.total_iters, epoch) / self.total_iters) ** self.power


class _ByFunction(LRScheduler):
    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        _require_optimizer(type(self).__name__, optimizer)
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(
                f"{type(self).__name__}: needs one lr_lambda for each of {groups} groups. Received: "
                f"{len(self.lr_lambdas)}"
            )
        super().__init__(optimizer, last_epoch)


class LambdaLR(_ByFunction):
    """base * lr_lambda(epoch); a function for all groups or one for each."""

    def get_lr(self) -> list[float]:
        return [base * _number(f(self.last_epoch)) for f, base in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(_ByFunction):
    """The rate times lr_lambda(epoch), from epoch 1 on."""

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self.rates()
        return [lr * _number(f(self.last_epoch)) for f, lr in zip(self.lr_lambdas, self.rates())]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the first rate to ``eta_min`` within ``T_max`` epochs, and back (Loshchilov and
    Hutter
    2016)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if type(T_max) is not int or not isinstance(eta_min, (int, float)):
            raise TypeError(
                f"CosineAnnealingLR: T_max must be an int and eta_min a number. Received: T_max={T_max!r}, "
                f"eta_min={eta_min!r}"
            )
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: float, base: float, epoch: int) -> float:
        if epoch == 0:
            return lr
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return lr + (base - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (epoch, epoch - 1))
        return now / before * (lr - self.eta_min) + self.eta_min

    def at(self, base: float, epoch: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the first rate to ``eta_min``, again and again; the first takes ``T_0`` epochs, each
    later one ``T_mult`` times as long (Loshchilov and Hutter 2016, equation 5)."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if type(value) is not int or value < 1:
                raise ValueError(
                    f"CosineAnnealingWarmRestarts: {name} must be a positive int. Received: {name}={value!r}"
                )
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, 0.0
        super().__init__(optimizer, last_epoch)

    def step(self, epoch: float | None = None) -> bool:  # type: ignore[override]
        epoch = self.last_epoch + 1 if epoch is None else _number(epoch)
        if epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts.step: epoch must be at least 0. Received: {epoch}")
        start, length = 0.0, self.T_0
        while epoch >= start + length:
            start, length = start + length, length * self.T_mult
        self.T_cur, self.T_i, self.last_epoch = epoch - start, length, math.floor(epoch)
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        self.set_rates([self.eta_min + (base - self.eta_min) * height for base in self.base_lrs])
        return True


_CYCLES: dict[str, tuple[Callable[[float, float], float], str]] = {
    "triangular": (lambda gamma, x: 1.0, "cycle"),
    "triangular2": (lambda gamma, x: 2.0 ** (1.0 - x), "cycle"),
    "exp_range": (lambda gamma, x: gamma**x, "iterations"),
}


class CyclicLR(LRScheduler):
    """Up and down between ``base_lr`` and ``max_lr`` (Smith 2015).

    Args:
        optimizer: of `mycelia.experimental.optim`.
        base_lr, max_lr: a number for all groups or one for each.
        step_size_up, step_size_down: steps up and down.
        mode: ``"triangular"``, ``"triangular2"`` (half as high in each cycle) or ``"exp_range"`` (times gamma
            for each step).
        gamma: of exp_range.
        scale_fn: a function in the place of the mode's, of the cycle or of the step as ``scale_mode``,
            ``"cycle"`` or ``"iterations"``, says.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
    ) -> None:
        if scale_fn is None and mode not in _CYCLES:
            raise ValueError(f"CyclicLR: mode must be one of {', '.join(_CYCLES)}. Received: mode={mode!r}")
        super(LRScheduler, self).__init__(optimizer)
        lows, self.max_lrs = self._each("base_lr", base_lr), self._each("max_lr", max_lr)
        self.total_step_size = float(
            step_size_up + (step_size_up if step_size_down is None else step_size_down)
        )
        self.step_up_ratio = step_size_up / self.total_step_size
        self.mode, self.gamma = mode, gamma
        if scale_fn is None:
            shape, scale_mode = _CYCLES[mode]
            self.scale_fn = lambda x: shape(gamma, x)
        else:
            self.scale_fn = scale_fn
        self.scale_mode = scale_mode
        self.lows = lows
        if last_epoch == -1:
            self.set_rates(lows)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def _each(self, name: str, value: Any) -> list[float]:
        groups = len(self.optimizer.param_groups)
        values = [_number(v) for v in (value if isinstance(value, (list, tuple)) else [value] * groups)]
        if len(values) != groups:
            raise ValueError(
                f"CyclicLR: needs one {name} for each of {groups} groups. Received: {len(values)}"
            )
        return values

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_step_size)
        x = 1.0 + self.last_epoch / self.total_step_size - cycle
        up = self.step_up_ratio
        height = x / up if x <= up else (x - 1) / (up - 1)
        scale = _number(self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch))
        return [low + (high - low) * height * scale for low, high in zip(self.lows, self.max_lrs)]


class SequentialLR(_Rates):
    """One scheduler after another, changing at the ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        super().__init__(optimizer)
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ValueError("SequentialLR: all schedulers must belong to the optimizer given")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: needs one milestone fewer than schedulers. Received: {len(schedulers)} "
                f"schedulers, {len(milestones)} milestones"
            )
        self.schedulers, self.milestones, self.last_epoch = schedulers, milestones, last_epoch + 1
        self.set_rates([_number(group["initial_lr"]) for group in optimizer.param_groups])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        schedulers[0].step()

    def step(self) -> None:
        self.last_epoch += 1
        index = bisect_right(self.milestones, self.last_epoch)
        if index and self.milestones[index - 1] == self.last_epoch:
            self.schedulers[index].step(0)
        else:
            self.schedulers[index].step()


class ReduceLROnPlateau(_Rates):
    """The rate times ``factor`` when a metric has not improved for more than ``patience`` steps.

    Args:
        optimizer: of `mycelia.experimental.optim`.
        mode: ``"min"`` or ``"max"``: what an improvement is.
        factor: below 1.
        patience: steps without improvement that are let pass.
        threshold: least improvement that counts.
        threshold_mode: ``"rel"``, a share of the best value, or ``"abs"``.
        cooldown: steps after a reduction that do not count.
        min_lr: a number for all groups or one for each.
        eps: least reduction that is carried out.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(optimizer)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1. Received: factor={factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                "ReduceLROnPlateau: mode must be 'min' or 'max', threshold_mode 'rel' or 'abs'. Received: "
                f"mode={mode!r}, threshold_mode={threshold_mode!r}"
            )
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(
                f"ReduceLROnPlateau: needs one min_lr for each of {groups} groups. Received: "
                f"{len(self.min_lrs)}"
            )
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.wait = self.last_epoch = 0

    def step(self, metrics: Any) -> bool:
        """Looks at the metric of one more epoch."""
        current = _number(metrics)
        self.last_epoch += 1
        if self._improves(current):
            self.best, self.wait = current, 0
        else:
            self.wait += 1
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.wait > self.patience:
            lower = [max(lr * self.factor, _number(low)) for lr, low in zip(self.rates(), self.min_lrs)]
            self.set_rates([b if a > b + self.eps else a for a, b in zip(self.rates(), lower)])
            self.cooldown_counter, self.wait = self.cooldown, 0
        return True

    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _improves(self, current: float) -> bool:
        sign = 1.0 if self.mode == "min" else -1.0
        if self.threshold_mode == "abs":
            return sign * current < sign * self.best - self.threshold
        return sign * current < sign * self.best * (1.0 - sign * self.threshold)


__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
