"""Adam and its variant with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.nn.optim.optimizer import Optimizer, check_at_least, check_fraction, in_dtype_of
from mycelia.ops.arithmetic import Maximum, Square
from mycelia.ops.exponential import Sqrt
from mycelia.ops.inplace import write
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Adam(Optimizer):
    """m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g²; w = w - lr * c * m / (sqrt(v) +
    eps), where c = sqrt(1 - beta2^t) / (1 - beta1^t) at step t.

    Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014, section 2. Note that eps is added to
    the root before it is corrected.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        beta1, beta2: decay rates of the moments, between 0 and 1.
        eps: added to the denominator.
        use_locking: accepted; one step runs at a time.
        use_nesterov: beta1 * m + (1 - beta1) * g in the place of m.
        use_amsgrad: the largest v so far in the place of v.
        use_lazy, use_offload: not supported; must be False.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        use_lazy: bool = False,
        use_offload: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if use_lazy or use_offload:
            raise ValueError("Adam: use_lazy and use_offload are not supported; leave them False")
        self.beta1, self.beta2 = (
            check_fraction("Adam", "beta1", beta1),
            check_fraction("Adam", "beta2", beta2),
        )
        self.eps = check_at_least("Adam", "eps", eps, exclusive=True)
        self.use_nesterov, self.use_amsgrad = bool(use_nesterov), bool(use_amsgrad)
        self.beta1_power = Parameter(self.precision(1), name="beta1_power")
        self.beta2_power = Parameter(self.precision(1), name="beta2_power")
        self.moment1 = self.moments_like("moment1")
        self.moment2 = self.moments_like("moment2")
        if self.use_amsgrad:
            self.vhat = self.moments_like("vhat")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        rates, b1, b2 = self.rates(), self.beta1, self.beta2
        power1, power2 = self.beta1_power * b1, self.beta2_power * b2
        write(self.beta1_power, power1)
        write(self.beta2_power, power2)
        correction = Sqrt(1.0 - power2) / (1.0 - power1)
        for i, (parameter, g) in enumerate(zip(self.parameters, self.gradients_of_step(gradients))):
            m = self.moment1[i] * b1 + g * (1.0 - b1)
            v = self.moment2[i] * b2 + Square(g) * (1.0 - b2)
            write(self.moment1[i], m)
            write(self.moment2[i], v)
            if self.use_amsgrad:
                v = Maximum(self.vhat[i], v)
                write(self.vhat[i], v)
            ahead = m * b1 + g * (1.0 - b1) if self.use_nesterov else m
            rate = rates[i] * in_dtype_of(correction, parameter)
            write(parameter, parameter - rate * ahead / (Sqrt(v) + self.eps))
        self.advance()
        return (True,) * len(self.parameters)


class AdamWeightDecay(Optimizer):
    """m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g²; w = w - lr * (m / (sqrt(v) + eps) +
    weight_decay * w).

    The decay of Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2017; unlike there the
    moments are not corrected for their start at zero, so the first steps are larger than Adam's.

    Args:
        params, learning_rate, weight_decay: see `Optimizer`.
        beta1, beta2: decay rates of the moments, between 0 and 1.
        eps: added to the denominator.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.beta1, self.beta2 = (
            check_fraction("AdamWeightDecay", "beta1", beta1),
            check_fraction("AdamWeightDecay", "beta2", beta2),
        )
        self.eps = check_at_least("AdamWeightDecay", "eps", eps, exclusive=True)
        self.moments1 = self.moments_like("adam_m")
        self.moments2 = self.moments_like("adam_v")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        rates, b1, b2 = self.rates(), self.beta1, self.beta2
        decay = self.get_weight_decay()
        decays = decay if self.is_group else (decay,) * len(self.parameters)
        for i, (parameter, g) in enumerate(
            zip(self.parameters, self.gradients_of_step(gradients, decay=False))
        ):
            m = self.moments1[i] * b1 + g * (1.0 - b1)
            v = self.moments2[i] * b2 + Square(g) * (1.0 - b2)
            write(self.moments1[i], m)
            write(self.moments2[i], v)
            update = m / (Sqrt(v) + self.eps)
            if self.exec_weight_decay and self.decay_flags[i]:
                d = decays[i]
                update = update + parameter * (in_dtype_of(d, parameter) if isinstance(d, Tensor) else d)
            write(parameter, parameter - rates[i] * update)
        self.advance()
        return (True,) * len(self.parameters)
