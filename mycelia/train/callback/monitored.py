"""Callbacks that watch one number: early stopping, and a learning rate that falls on a plateau."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.base import Callback, RunContext, loss_of
from mycelia.train.callback.schedules import constant_rates

MODES = ("auto", "min", "max")


class _Monitored(Callback):
    """Watches a metric, ``"loss"`` (of training) or ``"eval_loss"``, and whether it gets better."""

    def __init__(self, monitor: str, mode: str, min_delta: float, patience: int, verbose: bool) -> None:
        name = type(self).__name__
        if not isinstance(monitor, str):
            raise TypeError(
                f"{name}: monitor must be a str. Received: {monitor!r} (of type {type(monitor).__name__})"
            )
        if mode not in MODES:
            raise ValueError(
                f"{name}: mode must be one of {', '.join(map(repr, MODES))}. Received: mode={mode!r}"
            )
        if isinstance(patience, bool) or not isinstance(patience, int) or patience < 0:
            raise ValueError(
                f"{name}: patience must be an integer that is not negative. Received: patience={patience!r}"
            )
        if isinstance(min_delta, bool) or not isinstance(min_delta, (int, float)):
            raise TypeError(f"{name}: min_delta must be a number. Received: min_delta={min_delta!r}")
        if not isinstance(verbose, bool):
            raise TypeError(f"{name}: verbose must be a bool. Received: verbose={verbose!r}")
        self.monitor, self.mode, self.patience, self.verbose = monitor, mode, patience, verbose
        self.min_delta = abs(min_delta)
        self.rising = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.best = -math.inf if self.rising else math.inf
        self.wait = 0
        self._warned = False

    def better(self, value: float, than: float) -> bool:
        """Whether a value is better than another by more than ``min_delta``."""
        return value - self.min_delta > than if self.rising else value + self.min_delta < than

    def value(self, run: Any) -> float | None:
        """The monitored number of this epoch; None, with a warning, where there is none."""
        known: dict[str, Any] = dict(run.get("eval_results") or {})
        known["loss"] = known.get("loss", loss_of(run.get("net_outputs")))
        value = known.get(self.monitor)
        if value is None and not self._warned:
            self._warned = True
            warnings.warn(
                f"{type(self).__name__}: there is no {self.monitor!r} to monitor; there is "
                f"{', '.join(sorted(known))}. Metrics and 'eval_loss' come from Model.fit with a "
                f"valid_dataset",
                stacklevel=2,
            )
        return None if value is None else float(np.mean(value))


class EarlyStopping(_Monitored):
    """Ends the training when a number has not got better for some epochs.

    Args:
        monitor: a metric's name, ``"loss"`` or ``"eval_loss"``.
        min_delta: less than this does not count as better.
        patience: epochs without getting better.
        verbose: whether to say so.
        mode: ``"max"`` or ``"min"``: what is better; ``"auto"``: more of what has "acc" in its name, else
        less.
        baseline: only what is better than this counts.
        restore_best_weights: whether the parameters of the best epoch come back at the end.

    Raises:
        TypeError, ValueError: arguments of other types or out of range.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience, verbose)
        if baseline is not None and (isinstance(baseline, bool) or not isinstance(baseline, (int, float))):
            raise TypeError(
                f"EarlyStopping: baseline must be a number or None. Received: baseline={baseline!r}"
            )
        if not isinstance(restore_best_weights, bool):
            raise TypeError(
                f"EarlyStopping: restore_best_weights must be a bool. Received: {restore_best_weights!r}"
            )
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self.stopped_epoch = 0
        self._best_weights: list[tuple[Any, np.ndarray]] = []

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait = self.stopped_epoch = 0
        self.best = -math.inf if self.rising else math.inf
        self._best_weights = []

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        value = self.value(run)
        if value is None:
            return
        if self.restore_best_weights and not self._best_weights:
            self._keep_weights(run)
        self.wait += 1
        if self.better(value, self.best):
            self.best = value
            if self.restore_best_weights:
                self._keep_weights(run)
            if self.baseline is None or self.better(value, self.baseline):
                self.wait = 0
        if self.wait >= self.patience and self.wait:
            self.stopped_epoch = run.cur_epoch_num
            run_context.request_stop()
            if self.restore_best_weights:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.", flush=True)
                for parameter, array in self._best_weights:
                    parameter.set_data(Tensor(array))

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)

    def _keep_weights(self, run: Any) -> None:
        self._best_weights = [(p, np.array(p.asnumpy())) for p in run.train_network.get_parameters()]


class ReduceLROnPlateau(_Monitored):
    """Multiplies the learning rate by a factor when a number has not got better for some epochs.

    Args:
        monitor, min_delta, patience, verbose, mode: as in `EarlyStopping`.
        factor: between 0 and 1.
        cooldown: epochs after a reduction that do not count.
        min_lr: the rate does not fall below this.

    Raises:
        TypeError, ValueError: arguments of other types or out of range; a learning rate that changes by
        itself.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta, patience, verbose)
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor < 1:
            raise ValueError(
                f"ReduceLROnPlateau: factor must be between 0 and 1. Received: factor={factor!r}"
            )
        if isinstance(cooldown, bool) or not isinstance(cooldown, int) or cooldown < 0:
            raise ValueError(
                f"ReduceLROnPlateau: cooldown must be an integer that is not negative. Received: {cooldown!r}"
            )
        self.factor, self.cooldown, self.min_lr = factor, cooldown, min_lr
        self.cooldown_counter = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self.wait = self.cooldown_counter = 0
        self.best = -math.inf if self.rising else math.inf

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        value = self.value(run)
        if value is None:
            return
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.better(value, self.best):
            self.best, self.wait = value, 0
        elif not self.cooldown_counter:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(run)

    def _reduce(self, run: Any) -> None:
        for rate in constant_rates("ReduceLROnPlateau", run):
            old = float(rate.asnumpy())
            if old > np.float32(self.min_lr):
                new = max(old * self.factor, self.min_lr)
                rate.set_data(Tensor(np.asarray(new, rate.dtype.numpy)))
                if self.verbose:
                    shown = float(f"{new:.6g}")
                    print(
                        f"Epoch {run.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to "
                        f"{shown}.",
                        flush=True,
                    )
        self.cooldown_counter, self.wait = self.cooldown, 0
