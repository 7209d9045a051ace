"""SGD: stochastic gradient descent, with momentum, dampening and Nesterov's variant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import Optimizer, check_at_least, in_dtype_of, store
from mycelia.ops.inplace import write
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class SGD(Optimizer):
    """w = w - lr * g; with momentum v = momentum * v + (1 - dampening) * g takes the place of g, where the
    first v is g itself.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`; weight_decay must be a number here.
        momentum: share of the sum that is kept, at least 0.
        dampening: share of a gradient that is left out of the sum.
        nesterov: w = w - lr * (g + momentum * v); needs momentum, and no dampening.

    Raises:
        ValueError: nesterov without momentum or with dampening.
        TypeError: weight_decay is a schedule.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if any(callable(d) for d in (self.weight_decay if self.is_group else (self.weight_decay,))):
            raise TypeError("SGD: weight_decay must be a number; Momentum takes a schedule")
        check_at_least("SGD", "momentum", momentum)
        self.dampening = check_at_least("SGD", "dampening", dampening)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"SGD: nesterov needs momentum > 0 and dampening = 0. Received: momentum={momentum}, "
                f"dampening={dampening}"
            )
        self.nesterov = bool(nesterov)
        self.uses_momentum = momentum > 0
        self.momentum = Parameter(self.precision(momentum), name="momentum")
        self.accum = self.moments_like("accum")
        self.stat = self.moments_like("stat", "ones")  # ones until the first step

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        for w, g, rate, accum, stat in self.members(gradients, self.accum, self.stat):
            if self.uses_momentum:
                # stat is 1 until the first step, which takes the whole gradient, and 0 after it
                share = 1.0 - self.dampening * (1.0 - stat) if self.dampening else None
                momentum = in_dtype_of(self.momentum, w)
                g, v = rules.heavy_ball(g, accum, momentum, self.nesterov, share)
                store([accum, stat], [v, stat * 0.0])
            write(w, w - rate * g)
        return self.done()
