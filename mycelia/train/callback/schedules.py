"""Learning rates set from outside the optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.base import Callback, RunContext


class LearningRateScheduler(Callback):
    """Asks a function for the learning rate after each step.

    Args:
        learning_rate_function: ``(rate, number of the step) -> rate``.

    Raises:
        TypeError: not callable.
        ValueError: the optimizer's rate changes by itself.

    Example:
        >>> halve = LearningRateScheduler(lambda rate, step: rate * 0.5 if step % 1000 == 0 else rate)
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        if not callable(learning_rate_function):
            raise TypeError(
                "LearningRateScheduler: learning_rate_function must be callable. Received: "
                f"{learning_rate_function!r} (of type {type(learning_rate_function).__name__})"
            )
        self.learning_rate_function = learning_rate_function

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        for rate in constant_rates("LearningRateScheduler", run):
            old = float(rate.asnumpy())
            new = self.learning_rate_function(old, run.cur_step_num)
            if isinstance(new, bool) or not isinstance(new, (int, float, np.floating)):
                raise TypeError(
                    "LearningRateScheduler: learning_rate_function must return a number. Received: "
                    f"{new!r} (of type {type(new).__name__})"
                )
            if new != old:
                rate.set_data(Tensor(np.asarray(new, rate.dtype.numpy)))


def constant_rates(callback: str, run: Any) -> list[Parameter]:
    """The run's learning-rate parameters.

    Raises:
        ValueError: there is no optimizer, or its rate is a schedule or list that changes by itself.
    """
    optimizer = run.get("optimizer") or getattr(run.get("train_network"), "optimizer", None)
    if optimizer is None:
        raise ValueError(f"{callback}: the run has no optimizer whose learning rate could be set")
    rates = optimizer.learning_rate
    found = [rates] if isinstance(rates, Parameter) else list(rates) if isinstance(rates, Iterable) else []
    if not found or not all(isinstance(rate, Parameter) and rate.size == 1 for rate in found):
        raise ValueError(
            f"{callback}: the optimizer must have a constant learning rate; this one's changes by itself. "
            f"Received: {type(rates).__name__}"
        )
    return list({id(rate): rate for rate in found}.values())
