"""Gradient descent, with momentum, with averages, and by signs alone; rules in `mycelia.nn.optim.rules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.experimental.optim.optimizer import Optimizer, check_range
from mycelia.nn.optim import rules
from mycelia.nn.optim.optimizer import in_dtype_of
from mycelia.ops.comparison import Equal
from mycelia.ops.constants import like
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

Group = dict[str, Any]


class SGD(Optimizer):
    """w = w - lr * g; with momentum v = momentum * v + (1 - dampening) * g takes the place of g, where the
    first
    v is g itself.

    Args:
        params, lr, weight_decay: see `Optimizer`.
        momentum: share of the sum that is kept, at least 0.
        dampening: share of a gradient that is left out of the sum.
        nesterov: w = w - lr * (g + momentum * v); needs momentum, and no dampening.
        maximize: climb instead.
    """

    states = {"accum": "zeros", "stat": "ones"}
    counter = None

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_range(self.cls_name, "momentum", momentum, 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"{self.cls_name}: nesterov needs momentum > 0 and dampening = 0. Received: "
                f"momentum={momentum}, "
                f"dampening={dampening}"
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": float(momentum),
                "dampening": float(dampening),
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "grad_centralization": False,
            },
        )

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        if not group["momentum"]:
            return (w - rate * g,)
        accum, stat = state
        # stat is 1 until the first step, which takes the whole gradient, and 0 after it
        share = 1.0 - group["dampening"] * (1.0 - stat) if group["dampening"] else None
        step, v = rules.heavy_ball(g, accum, group["momentum"], group["nesterov"], share)
        return w - rate * step, v, stat * 0.0


class ASGD(Optimizer):
    """Averaged gradient descent; see `mycelia.nn.ASGD`.

    Args:
        params, lr, weight_decay: see `Optimizer`.
        lambd: decay of the parameters and of the rate.
        alpha: power of the rate's decay.
        t0: step from which averages are kept.
        maximize: climb instead.
    """

    states = {"ax": "zeros", "eta_": 0.0, "mu_": 1.0}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "maximize": maximize,
            },
        )

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        average, eta, mu = state
        step = in_dtype_of(common, w)
        eta = Select(Equal(step, like(1, step)), rate if isinstance(rate, Tensor) else like(rate, step), eta)
        new_w, average = rules.averaged_sgd(w, g, average, eta, mu, group["lambd"])
        return (
            new_w,
            average,
            *rules.averaged_sgd_rates(rate, step, group["lambd"], group["alpha"], group["t0"]),
        )


class Rprop(Optimizer):
    """Steps by the sign of the gradient, of sizes that learn.

    Args:
        params: see `Optimizer`.
        lr: size of the first steps.
        etas: factors when the sign turned and when it stayed.
        step_sizes: smallest and largest step.
        maximize: climb instead.
    """

    states = {"prev": "zeros", "step_size": "zeros"}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        check_range(self.cls_name, "etas[0]", etas[0], 0.0, 1.0, above=True)
        check_range(self.cls_name, "etas[1]", etas[1], 1.0, above=True)
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def prepare(self, group: Group, step: Any) -> Tensor:
        return Equal(step, like(1, step))

    def update(self, group: Group, common: Any, rate: Any, w: Any, g: Tensor, *state: Any) -> Sequence[Any]:
        prev, size = state
        size = size + rate * common.astype(w.dtype)  # sizes are 0 before the first step
        return rules.rprop(w, g, prev, size, *group["etas"], *group["step_sizes"])
