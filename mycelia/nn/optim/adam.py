"""Adam and its variant with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import Optimizer, check_at_least, check_fraction, in_dtype_of, store
from mycelia.ops.arithmetic import Maximum
from mycelia.ops.exponential import Sqrt
from mycelia.ops.inplace import write
from mycelia.ops.movement import Reshape
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

    power_shape: tuple[int, ...] = ()

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
        self.beta1_power = Parameter(np.ones(self.power_shape, self.precision), name="beta1_power")
        self.beta2_power = Parameter(np.ones(self.power_shape, self.precision), name="beta2_power")
        self.moment1 = self.moments_like("moment1")
        self.moment2 = self.moments_like("moment2")
        if self.use_amsgrad:
            self.vhat = self.moments_like("vhat")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        power1, power2 = self.beta1_power * self.beta1, self.beta2_power * self.beta2
        store([self.beta1_power, self.beta2_power], [power1, power2])
        correction = Reshape(Sqrt(1.0 - power2) / (1.0 - power1), shape=())
        largest = self.vhat if self.use_amsgrad else (None,) * len(self.parameters)
        for w, g, rate, m, v, vhat in self.members(gradients, self.moment1, self.moment2, largest):
            new_m, new_v = rules.moments(g, m, v, self.beta1, self.beta2)
            top = new_v if vhat is None else Maximum(vhat, new_v)
            rate = rate * in_dtype_of(correction, w)
            new_w = rules.adam_step(w, g, new_m, top, rate, self.beta1, self.eps, self.use_nesterov)
            store([m, v, vhat, w], [new_m, new_v, top, new_w])
        return self.done()


class AdamOffload(Adam):
    """`Adam` under the name of the variant that elsewhere keeps its moments in the host's memory."""

    power_shape = (1,)

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
    ) -> None:
        super().__init__(
            params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale
        )


class LazyAdam(AdamOffload):
    """`Adam` under the name of the variant that skips rows without a sparse gradient; gradients here are
    dense,
    where both are the same."""


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
        decays = self.decays()
        for i, (w, g, rate, m, v) in enumerate(
            self.members(gradients, self.moments1, self.moments2, decay=False)
        ):
            new_m, new_v = rules.moments(g, m, v, self.beta1, self.beta2)
            store([m, v], [new_m, new_v])
            update = new_m / (Sqrt(new_v) + self.eps)
            write(w, w - rate * (update if decays[i] is None else update + w * decays[i]))
        return self.done()
