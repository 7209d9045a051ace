"""Optimizers whose rates adapt to the gradients; the rules are in `mycelia.nn.optim.rules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.experimental.optim.optimizer import Optimizer, check_range
from mycelia.ir.dtypes import int32
from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import in_dtype_of
from mycelia.ops.arithmetic import Maximum
from mycelia.ops.comparison import Greater
from mycelia.ops.constants import like
from mycelia.ops.exponential import Sqrt
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

Group = dict[str, Any]


def _check_moments(owner: str, lr: Any, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    if not isinstance(lr, Tensor):
        check_range(owner, "lr", lr, 0.0)
    for i in (0, 1):
        check_range(owner, f"betas[{i}]", betas[i], 0.0, 1.0)
    check_range(owner, "eps", eps, 0.0)
    check_range(owner, "weight_decay", weight_decay, 0.0)


class _Moments(Optimizer):
    """Optimizers with moving means of gradients and of their squares."""

    states = {"exp_avg": "zeros", "exp_avg_sq": "zeros"}

    def corrections(self, group: Group, step: Tensor) -> tuple[Tensor, Tensor]:
        """1 - beta ** step for both rates."""
        beta1, beta2 = group["betas"]
        return 1.0 - rules.power_of(beta1, step), 1.0 - rules.power_of(beta2, step)


class Adam(_Moments):
    """Adam; eps is added to the uncorrected root, as `mycelia.nn.Adam` has it, and ``amsgrad`` changes
    nothing,
    as in MindSpore.

    Args:
        params, lr, weight_decay: see `Optimizer`.
        betas: decay rates of the moments, in [0, 1).
        eps: added to the denominator.
        maximize: climb instead.
    """

    states = {"exp_avg": "zeros", "exp_avg_sq": "zeros", "max_exp_avg_sq": "zeros"}
    counter = ("state_step", int32, (), 0)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        _check_moments(self.cls_name, lr, betas, eps, weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(betas),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def prepare(self, group: Group, step: Any) -> Tensor:
        first, second = self.corrections(group, step)
        return Sqrt(second) / first

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        (beta1, beta2), (m, v, _) = group["betas"], state
        m, v = rules.moments(g, m, v, beta1, beta2)
        return rules.adam_step(w, g, m, v, rate * in_dtype_of(common, w), beta1, group["eps"]), m, v


class CorrectedAdam(Adam):
    """Adam with eps added to the corrected root, and ``amsgrad``, the largest second moment so far."""

    def prepare(self, group: Group, step: Any) -> Any:
        first, second = self.corrections(group, step)
        return first, Sqrt(second)

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        first, root = (in_dtype_of(c, w) for c in common)
        m, v = rules.moments(g, *state[:2], *group["betas"])
        top = Maximum(state[2], v) if group["amsgrad"] else v
        base = w * (1.0 - rate * group["weight_decay"]) if self.decoupled and group["weight_decay"] else w
        new = rules.corrected_adam_step(base, m, top, rate / first, root, group["eps"])
        return (new, m, v, top) if group["amsgrad"] else (new, m, v)


class AdamW(CorrectedAdam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2017, algorithm 2); arguments as of `Adam`."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class Adamax(Optimizer):
    """Adam by the infinity norm; arguments as of `Adam`."""

    states = {"exp_avg": "zeros", "exp_inf": "zeros"}

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        _check_moments(self.cls_name, lr, betas, eps, weight_decay)
        super().__init__(
            params,
            {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "maximize": maximize},
        )

    def prepare(self, group: Group, step: Any) -> Tensor:
        return 1.0 - rules.power_of(group["betas"][0], step)

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        rate = rate / in_dtype_of(common, w)
        return rules.adamax(w, g, *state, rate, *group["betas"], group["eps"], inside=True)


class NAdam(_Moments):
    """Adam with Nesterov's momentum (Dozat 2016, algorithm 2), whose momentum grows with the steps.

    Args:
        params, lr, betas, eps, weight_decay: as of `Adam`.
        momentum_decay: how fast it grows.
    """

    states = {"exp_avg": "zeros", "exp_avg_sq": "zeros", "mu_product_": 1.0}

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        _check_moments(self.cls_name, lr, betas, eps, weight_decay)
        check_range(self.cls_name, "momentum_decay", momentum_decay, 0.0)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(betas),
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
            },
        )

    def prepare(self, group: Group, step: Any) -> Any:
        def momentum(at: Tensor) -> Tensor:
            return (1.0 - rules.power_of(0.96, at * group["momentum_decay"]) * 0.5) * group["betas"][0]

        return Sqrt(self.corrections(group, step)[1]), momentum(step), momentum(step + 1.0)

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        root, mu, mu_next = (in_dtype_of(c, w) for c in common)
        product = state[2] * mu
        m, v = rules.moments(g, *state[:2], *group["betas"])
        ahead = g * ((1.0 - mu) / (1.0 - product)) + m * (mu_next / (1.0 - product * mu_next))
        return rules.corrected_adam_step(w, ahead, v, rate, root, group["eps"]), m, v, product


class RAdam(_Moments):
    """Adam that waits until the second moment is sure (Liu et al. 2019, algorithm 2); arguments as of
    `Adam`."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        _check_moments(self.cls_name, lr, betas, eps, weight_decay)
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay})

    def prepare(self, group: Group, step: Any) -> Any:
        first, second = self.corrections(group, step)
        beta2 = group["betas"][1]
        longest = 2.0 / (1.0 - beta2) - 1.0
        length = longest - step * rules.power_of(beta2, step) * 2.0 / second
        sure = Greater(length, like(5.0, length))
        safe = Select(sure, length, like(6.0, length))
        rectified = Sqrt((safe - 4.0) * (safe - 2.0) * longest / (safe * ((longest - 4.0) * (longest - 2.0))))
        return first, Sqrt(second), sure, rectified

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        first, root, sure, rectified = common
        m, v = rules.moments(g, *state, *group["betas"])
        plain = m / in_dtype_of(first, w) * rate
        adapted = plain * in_dtype_of(root * rectified, w) / (Sqrt(v) + group["eps"])
        return w - Select(sure, adapted, plain), m, v


class Adagrad(Optimizer):
    """accum = accum + g²; w = w - lr / (1 + (step - 1) * lr_decay) * g / (sqrt(accum) + eps).

    Args:
        params, lr, weight_decay: see `Optimizer`.
        lr_decay: of the rate.
        initial_accumulator_value: first value of the sums.
        eps: added to the denominator.
        maximize: climb instead.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        for name, value in (("lr_decay", lr_decay), ("initial_accumulator_value", initial_accumulator_value)):
            check_range(self.cls_name, name, value, 0.0)
        check_range(self.cls_name, "eps", eps, 0.0, above=True)
        self.states = {"accum": initial_accumulator_value}
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "maximize": maximize,
            },
        )

    def prepare(self, group: Group, step: Any) -> Tensor | None:
        return (step - 1.0) * group["lr_decay"] + 1.0 if group["lr_decay"] else None

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        rate = rate if common is None else rate / in_dtype_of(common, w)
        return rules.adagrad(w, g, *state, rate, group["eps"])


class Adadelta(Optimizer):
    """Steps of the size of earlier steps over the size of earlier gradients.

    Args:
        params, lr, weight_decay: see `Optimizer`.
        rho: what stays of the moving means, in [0, 1].
        eps: added under the roots.
        maximize: climb instead.
    """

    states = {"accum": "zeros", "accum_update": "zeros"}
    counter = None

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Adadelta: rho must be in [0, 1]. Received: rho={rho}")
        check_range(self.cls_name, "eps", eps, 0.0, above=True)
        super().__init__(
            params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        return rules.adadelta(w, g, *state, rate, group["rho"], group["eps"])


class RMSprop(Optimizer):
    """Gradients over the root of their moving mean square, or of their variance with ``centered``.

    Args:
        params, lr, weight_decay: see `Optimizer`.
        alpha: what stays of the moving means.
        eps: added to the root.
        momentum: at least 0.
        centered: divide by the gradients' deviation.
        maximize: climb instead.
    """

    states = {"mean_grad": "zeros", "mean_square": "zeros", "moment": "zeros"}
    counter = None

    def __init__(
        self,
        params: Any,
        lr: Any = 0.01,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        for name, value in (("alpha", alpha), ("momentum", momentum)):
            check_range(self.cls_name, name, value, 0.0)
        check_range(self.cls_name, "eps", eps, 0.0, above=True)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "maximize": maximize,
            },
        )

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        mean, square, moment = state
        w, square, mean, moment = rules.rmsprop(
            w,
            g,
            square,
            mean if group["centered"] else None,
            moment if group["momentum"] else None,
            rate,
            group["alpha"],
            group["momentum"],
            group["eps"],
            under_root=False,
        )
        return w, mean, square, moment
