"""Optimizers that measure each parameter as a whole: Lamb and LARS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import Optimizer, check_at_least, check_fraction, in_dtype_of, store
from mycelia.ops.movement import Reshape
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Lamb(Optimizer):
    """Adam's direction with decoupled decay, as long as the parameter; see `mycelia.nn.optim.rules.lamb`.

    Args:
        params, learning_rate, weight_decay: see `Optimizer`.
        beta1, beta2: decay rates of the moments, between 0 and 1.
        eps: added to the denominator.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.beta1, self.beta2 = (
            check_fraction("Lamb", "beta1", beta1),
            check_fraction("Lamb", "beta2", beta2),
        )
        self.eps = check_at_least("Lamb", "eps", eps, exclusive=True)
        self.moments1 = self.moments_like("lamb_m")
        self.moments2 = self.moments_like("lamb_v")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        step = Reshape(self.global_step, shape=()).astype(self.learning_dtype) + 1.0
        corrections = [1.0 - rules.power_of(beta, step) for beta in (self.beta1, self.beta2)]
        decays = self.decays()
        for i, (w, g, rate, m, v) in enumerate(
            self.members(gradients, self.moments1, self.moments2, decay=False)
        ):
            new_m, new_v = rules.moments(g, m, v, self.beta1, self.beta2)
            c1, c2 = (in_dtype_of(c, w) for c in corrections)
            store([m, v, w], [new_m, new_v, rules.lamb(w, new_m, new_v, rate, c1, c2, self.eps, decays[i])])
        return self.done()


def _no_norm_or_bias(parameter: Parameter) -> bool:
    return "LayerNorm" not in parameter.name and "bias" not in parameter.name


class LARS(Optimizer):
    """Scales each gradient to a share of its parameter's length, then hands it to another optimizer; see
    `mycelia.nn.optim.rules.lars`. Weight decay of that optimizer is applied here.

    Args:
        optimizer: updates the parameters.
        epsilon: added to the denominator.
        coefficient: the share.
        use_clip: keep scale times learning rate at most 1.
        lars_filter: says of a parameter whether it is scaled; by default all but those of layer norms and
            biases.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-05,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _no_norm_or_bias,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"LARS: optimizer must be an Optimizer. Received: {optimizer!r:.80} (of type "
                f"{type(optimizer).__name__})"
            )
        super().__init__(0.0, optimizer.parameters)
        self.opt = optimizer
        self.epsilon = check_at_least("LARS", "epsilon", epsilon)
        self.coefficient = check_at_least("LARS", "coefficient", coefficient)
        self.use_clip = bool(use_clip)
        self.lars_flag = tuple(bool(lars_filter(p)) for p in self.parameters)
        self.learning_rate, self.global_step = optimizer.learning_rate, optimizer.global_step
        for name in ("dynamic_lr", "is_group", "is_group_lr", "weight_decay", "decay_flags", "loss_scale"):
            setattr(self, name, getattr(optimizer, name))
        self.exec_weight_decay = optimizer.exec_weight_decay
        optimizer.exec_weight_decay, optimizer.loss_scale = False, 1.0

    def construct(self, gradients: Sequence[Tensor]) -> Any:
        rates, decays = self.rates(), self.decays()
        scaled = []
        for i, (w, g) in enumerate(zip(self.parameters, self.gradients_of_step(gradients, decay=False))):
            if self.lars_flag[i]:
                decay = 0.0 if decays[i] is None else decays[i] * (1.0 / self.loss_scale)
                limit = rates[i] if self.use_clip else None
                g = rules.lars(w, g, decay, self.coefficient, self.epsilon, limit)
            scaled.append(g)
        return self.opt(tuple(scaled))
