"""Momentum: stochastic gradient descent with a moving sum of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import Optimizer, check_at_least, in_dtype_of, store
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Momentum(Optimizer):
    """v = momentum * v + g; w = w - lr * v, or with Nesterov's variant w = w - lr * (g + momentum * v).

    Sutskever et al., "On the importance of initialization and momentum in deep learning", ICML 2013.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        momentum: share of the sum that is kept, at least 0.
        use_nesterov: Nesterov's variant.

    Example:
        >>> optimizer = Momentum(net.trainable_params(), learning_rate=0.1, momentum=0.9)
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        value = (
            momentum
            if isinstance(momentum, Tensor)
            else self.precision(check_at_least(self.cls_name, "momentum", momentum))
        )
        self.momentum = Parameter(value, name="momentum")
        self.params = self.parameters
        self.use_nesterov = bool(use_nesterov)
        self.moments = self.moments_like("moments")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        for w, g, rate, moment in self.members(gradients, self.moments):
            step, v = rules.heavy_ball(g, moment, in_dtype_of(self.momentum, w), self.use_nesterov)
            store([moment, w], [v, w - rate * step])
        return self.done()
