"""Optimizers whose rates adapt to the gradients: AdaMax, Adagrad, Adadelta, RMSProp, FTRL and kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import (
    Optimizer,
    check_at_least,
    check_fraction,
    in_dtype_of,
    store,
)
from mycelia.ops.inplace import write
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class AdaMax(Optimizer):
    """Adam by the infinity norm; see `mycelia.nn.optim.rules.adamax`.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        beta1, beta2: decay rates of the moments, between 0 and 1.
        eps: added to the denominator.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-08,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1, self.beta2 = (
            check_fraction("AdaMax", "beta1", beta1),
            check_fraction("AdaMax", "beta2", beta2),
        )
        self.eps = check_at_least("AdaMax", "eps", eps, exclusive=True)
        self.beta1_power = Parameter(np.ones(1, self.precision), name="beta1_power")
        self.moment1 = self.moments_like("moment1")
        self.moment2 = self.moments_like("moment2")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        power = self.beta1_power * self.beta1
        write(self.beta1_power, power)
        correction = 1.0 / (1.0 - power.reshape(()))
        for w, g, rate, *state in self.members(gradients, self.moment1, self.moment2):
            rate = rate * in_dtype_of(correction, w)
            store([w, *state], rules.adamax(w, g, *state, rate, self.beta1, self.beta2, self.eps))
        return self.done()


class Adagrad(Optimizer):
    """accum = accum + g²; w = w - lr * g / sqrt(accum).

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        accum: first value of the sums.
        update_slots: whether the sums grow.
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.accum = self.moments_like("accum", check_at_least("Adagrad", "accum", accum))
        self.update_slots = bool(update_slots)

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        for w, g, rate, accum in self.members(gradients, self.accum):
            store([w, accum], rules.adagrad(w, g, accum, rate, update=self.update_slots))
        return self.done()


class ProximalAdagrad(Optimizer):
    """Adagrad with l1 and l2 regularisation by proximal steps.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        accum: first value of the sums.
        l1, l2: strengths of the regularisations.
        use_locking: accepted; one step runs at a time.
    """

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.accum = self.moments_like("accum", check_at_least("ProximalAdagrad", "accum", accum))
        self.l1, self.l2 = (check_at_least("ProximalAdagrad", n, x) for n, x in (("l1", l1), ("l2", l2)))

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        for w, g, rate, accum in self.members(gradients, self.accum):
            store([w, accum], rules.proximal_adagrad(w, g, accum, rate, self.l1, self.l2))
        return self.done()


class Adadelta(Optimizer):
    """Steps of the size of earlier steps over the size of earlier gradients.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        rho: what stays of the moving means at each step, in [0, 1].
        epsilon: added under the roots.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = check_at_least("Adadelta", "rho", rho)
        if self.rho > 1:
            raise ValueError(f"Adadelta: rho must be in [0, 1]. Received: rho={rho}")
        self.epsilon = check_at_least("Adadelta", "epsilon", epsilon)
        self.accum = self.moments_like("accum")
        self.accum_update = self.moments_like("accum_update")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        for w, g, rate, *state in self.members(gradients, self.accum, self.accum_update):
            store([w, *state], rules.adadelta(w, g, *state, rate, self.rho, self.epsilon))
        return self.done()


class FTRL(Optimizer):
    """Follow the regularised leader; sparse weights for l1 > 0.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`; learning_rate must be a number.
        initial_accum: first value of the sums of squares.
        lr_power: at most 0; how the rate falls with the sums.
        l1, l2: strengths of the regularisations.
        use_locking: accepted; one step runs at a time.
    """

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: float = 0.001,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ValueError(
                "FTRL: learning_rate must be one number for all steps and parameters. Received: a schedule "
                "or groups"
            )
        if lr_power > 0:
            raise ValueError(f"FTRL: lr_power must be at most 0. Received: lr_power={lr_power}")
        self.lr_power = float(lr_power)
        self.l1, self.l2 = (check_at_least("FTRL", n, x) for n, x in (("l1", l1), ("l2", l2)))
        self.moments = self.moments_like("moments", check_at_least("FTRL", "initial_accum", initial_accum))
        self.linear = self.moments_like("linear")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        for w, g, rate, *state in self.members(gradients, self.moments, self.linear):
            store([w, *state], rules.ftrl(w, g, *state, rate, self.lr_power, self.l1, self.l2))
        return self.done()


class RMSProp(Optimizer):
    """s = decay * s + (1 - decay) * g²; m = momentum * m + lr * g / sqrt(s + epsilon); w = w - m. With
    ``centered`` the variance of the gradients takes the place of s.

    Args:
        params, learning_rate, weight_decay, loss_scale: see `Optimizer`.
        decay: what stays of the moving means, at least 0.
        momentum: at least 0.
        epsilon: added under the root.
        use_locking: accepted; one step runs at a time.
        centered: divide by the gradients' deviation.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay = check_at_least("RMSProp", "decay", decay)
        self.momentum = check_at_least("RMSProp", "momentum", momentum)
        self.epsilon = check_at_least("RMSProp", "epsilon", epsilon, exclusive=True)
        self.centered = bool(centered)
        self.ms = self.moments_like("mean_square", "ones")
        self.moment = self.moments_like("moment")
        if self.centered:
            self.mg = self.moments_like("mean_grad")

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        means = self.mg if self.centered else (None,) * len(self.parameters)
        for w, g, rate, *state in self.members(gradients, self.ms, means, self.moment):
            new = rules.rmsprop(w, g, *state, rate, self.decay, self.momentum, self.epsilon, under_root=True)
            store([w, *state], new)
        return self.done()


class AdaFactor(Optimizer):
    """Adam with the second moment of matrices kept as a row and a column. Shazeer and Stern, "Adafactor:
    Adaptive Learning Rates with Sublinear Memory Cost", 2018.

    Args:
        params, weight_decay, loss_scale: see `Optimizer`; weight_decay is a number and counts for all.
        learning_rate: None with ``relative_step``, whose rate is min(0.01, 1 / sqrt(step)).
        eps: added to squared gradients, and the least size of a parameter.
        clip_threshold: longest root mean square of an update.
        decay_rate: the second moment's decay is 1 - step ** -decay_rate.
        beta1: decay of the first moment; None or 0 for none.
        scale_parameter: rates are relative to the parameter's root mean square.
        warmup_init: a relative step starts at 1e-6 * step.
        compression: not supported, must be False.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float | None = 0.9,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        if (learning_rate is None) != bool(relative_step):
            raise ValueError(
                "AdaFactor: give a learning_rate, or None and relative_step=True. Received: "
                f"learning_rate={learning_rate!r}, relative_step={relative_step}"
            )
        if warmup_init and not relative_step:
            raise ValueError("AdaFactor: warmup_init needs relative_step=True")
        if compression:
            raise ValueError("AdaFactor: compression is not supported; leave it False")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        self.eps = tuple(check_at_least("AdaFactor", "eps", e) for e in eps)
        self.clip_threshold = check_at_least("AdaFactor", "clip_threshold", clip_threshold)
        self.decay_rate = check_at_least("AdaFactor", "decay_rate", decay_rate)
        self.beta1 = check_at_least("AdaFactor", "beta1", beta1 or 0.0)
        self.scale_parameter = bool(scale_parameter) and not self.dynamic_lr
        self.relative_step, self.warmup_init = bool(relative_step), bool(warmup_init)
        self.exp_avg = self.moments_like("exp_avg") if self.beta1 else None
        factored = [p.ndim > 1 for p in self.parameters]
        self.exp_avg_sq_row = self._sums(
            "row_", [p.shape[:-1] if f else (1,) for p, f in self._with(factored)]
        )
        self.exp_avg_sq_col = self._sums(
            "col_", [p.shape[:-2] + p.shape[-1:] if f else (1,) for p, f in self._with(factored)]
        )
        self.exp_avg_sq = self._sums("", [(1,) if f else p.shape for p, f in self._with(factored)])
        self.step = Parameter(np.zeros(1, np.float32), name="afactor_step")

    def _with(self, flags: list[bool]) -> Any:
        return zip(self.parameters, flags)

    def _sums(self, kind: str, shapes: list[tuple[int, ...]]) -> ParameterTuple:
        return ParameterTuple(
            Parameter(np.zeros(shape, p.dtype.numpy), name=f"exp_avg_sq_{kind}{p.name}")
            for p, shape in zip(self.parameters, shapes)
        )

    def construct(self, gradients: Sequence[Tensor]) -> tuple[bool, ...]:
        from mycelia.ops.arithmetic import Maximum, Minimum, Square
        from mycelia.ops.constants import like
        from mycelia.ops.exponential import Rsqrt, Sqrt

        count = self.step + 1.0
        write(self.step, count)
        step = count.reshape(())
        kept = 1.0 - 1.0 / rules.power_of_tensor(step, self.decay_rate)
        firsts = self.exp_avg or (None,) * len(self.parameters)
        states = (firsts, self.exp_avg_sq_row, self.exp_avg_sq_col, self.exp_avg_sq)
        for w, g, rate, first, row, column, whole in self.members(gradients, *states, decay=False):
            b2 = in_dtype_of(kept, w)
            if self.relative_step:
                least = step * 1e-6 if self.warmup_init else like(0.01, step)
                rate = in_dtype_of(Minimum(least, Rsqrt(step)), w)
            if self.scale_parameter:
                rate = rate * Maximum(like(self.eps[1], w), Sqrt(Square(w).mean()))
            square = Square(g) + self.eps[0]
            if w.ndim > 1:
                new_row = row * b2 + square.mean(-1) * (1.0 - b2)
                new_column = column * b2 + square.mean(-2) * (1.0 - b2)
                store([row, column], [new_row, new_column])
                update = rules.adafactor_direction(g, new_row, new_column)
            else:
                v = whole * b2 + square * (1.0 - b2)
                write(whole, v)
                update = g * Rsqrt(v)
            length = Sqrt(Square(update).mean()) * (1.0 / self.clip_threshold)
            update = update / Maximum(length, like(1, length)) * rate
            if first is not None:
                update = first * self.beta1 + update * (1.0 - self.beta1)
                write(first, update)
            decayed = w - w * rate * self.decay_of(w) if self.exec_weight_decay else w
            write(w, decayed - update)
        return self.done()

    def decay_of(self, w: Parameter) -> Any:
        decay = self.get_weight_decay()
        return next(d for p, d in zip(self.parameters, decay) if p is w) if self.is_group else decay
