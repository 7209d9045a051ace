"""Gradient descent that averages (ASGD), and descent by signs alone (Rprop)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import Optimizer, check_at_least, store
from mycelia.ops.arithmetic import Maximum
from mycelia.ops.comparison import Equal
from mycelia.ops.constants import like
from mycelia.ops.movement import Reshape
from mycelia.ops.selection import Select
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class ASGD(Optimizer):
    """w = w * (1 - lambd * eta) - eta * g, with eta = lr / (1 + lambd * lr * step) ** alpha; ``ax``
    averages w
    from step t0 on.

    Args:
        params, learning_rate, weight_decay: see `Optimizer`.
        lambd: decay of the parameters and of the rate.
        alpha: power of the rate's decay.
        t0: step from which averages are kept.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.lambd, self.alpha, self.t0 = (
            check_at_least("ASGD", name, value, low=-np.inf)
            for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0))
        )
        self.mu = self._scalars("mu_", 1.0)
        self.eta = self._scalars("eta_", 0.0)
        self.ax = self.moments_like("ax_")

    def _scalars(self, prefix: str, value: float) -> ParameterTuple:
        return ParameterTuple(Parameter(self.precision(value), name=prefix + p.name) for p in self.parameters)

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        step = Reshape(self.global_step, shape=()).astype(self.learning_dtype) + 1.0
        for w, g, rate, mu, eta, ax in self.members(gradients, self.mu, self.eta, self.ax):
            now = Select(Equal(step, like(1, step)), rate.astype(step.dtype), eta)
            new = rules.averaged_sgd(w, g, ax, now.astype(w.dtype), mu.astype(w.dtype), self.lambd)
            store([w, ax], new)
            store(
                [eta, mu],
                rules.averaged_sgd_rates(rate.astype(step.dtype), step, self.lambd, self.alpha, self.t0),
            )
        return self.done()


class Rprop(Optimizer):
    """Steps by the sign of the gradient, of sizes that learn; see `mycelia.nn.optim.rules.rprop`.

    Args:
        params, weight_decay: see `Optimizer`.
        learning_rate: size of the first steps.
        etas: factors when the sign turned and when it stayed.
        step_sizes: smallest and largest step.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(value, tuple) or len(value) != 2:
                raise (ValueError if isinstance(value, tuple) else TypeError)(
                    f"Rprop: {name} must be a tuple of two numbers. Received: {name}={value!r} (of type "
                    f"{type(value).__name__})"
                )
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop: etas must be below and above 1. Received: etas={etas}")
        if step_sizes[0] > step_sizes[1]:
            raise ValueError(f"Rprop: step_sizes must be in order. Received: step_sizes={step_sizes}")
        self.etas, self.step_sizes = etas, step_sizes
        self.prev = self.moments_like("prev")
        self.step_size = self.moments_like("step_size")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        step = Reshape(self.global_step, shape=())
        first = Maximum(1 - step, like(0, step))
        for w, g, rate, prev, size in self.members(gradients, self.prev, self.step_size):
            size_now = size + rate * first.astype(w.dtype)  # sizes are 0 before the first step
            new = rules.rprop(w, g, prev, size_now, *self.etas, *self.step_sizes)
            store([w, prev, size], new)
        return self.done()
