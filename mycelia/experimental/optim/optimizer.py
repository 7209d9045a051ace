"""What the optimizers with changeable groups share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mycelia.ir.dtypes import DType, float32, int32
from mycelia.nn.cell import Cell
from mycelia.nn.optim.optimizer import in_dtype_of, store
from mycelia.ops import dispatch
from mycelia.ops.inplace import write
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class ParameterGroup(dict):
    """The options of a group. A number for ``lr`` is written into the group's learning rate, so that the
    compiled
    step goes on; any other change makes the step compile again."""

    def __init__(self, optimizer: Optimizer, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.optimizer = optimizer

    def __setitem__(self, key: str, value: Any) -> None:
        held = self.get(key)
        if key == "lr" and isinstance(held, Parameter) and not isinstance(value, Parameter):
            number = value.asnumpy() if isinstance(value, Tensor) else value
            held.set_data(Tensor.from_numpy(np.asarray(number, np.float32).reshape(())))
            return
        super().__setitem__(key, value)
        owner = self.__dict__.get("optimizer")
        if owner is not None and key != "initial_lr":
            owner.revision += 1

    def update(self, *others: Any, **named: Any) -> None:
        for key, value in dict(*others, **named).items():
            self[key] = value


class Optimizer(Cell):
    """Base of optimizers whose options live in ``param_groups``, one dict for each group, and may be changed
    there between steps; ``param_groups[i]["lr"]`` is a Parameter.

    A subclass names its state in ``states`` and computes in ``update``, or defines ``construct(gradients)``.

    Args:
        params: Parameters, or dicts with ``params`` and any of the options.
        defaults: the options of groups that do not say otherwise; ``lr`` must be among them.

    Raises:
        ValueError: no parameters, or a parameter in two groups.
        TypeError: arguments of other types.
    """

    states: dict[str, Any] = {}
    """First values of the state that each parameter has, by name: "zeros", "ones" or a number."""
    counter: tuple[str, DType, tuple[int, ...], int] | None = ("step_t", int32, (), 0)
    """Name, dtype, shape and first value of the count of steps."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        if isinstance(params, Parameter) or not isinstance(params, Iterable):
            raise TypeError(
                f"{self.cls_name}: params must be a list of Parameters or of dicts. Received: {params!r:.80} "
                f"(of type {type(params).__name__})"
            )
        groups = list(params)
        if not groups:
            raise ValueError(f"{self.cls_name}: params must not be empty")
        self.defaults = dict(defaults)
        self.param_groups: list[ParameterGroup] = []
        self.revision = 0  # counts changes of the groups' options
        self.lrs: list[Parameter] = []
        self.group_start_id = [0]
        self.parameters = ParameterTuple(())
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        self._make_states()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group with options of its own, whose other options are the defaults."""
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(
                f"{self.cls_name}: a parameter group must be a dict with 'params'. Received: "
                f"{param_group!r:.80}"
            )
        group = {**self.defaults, **param_group}
        members = group["params"]
        if isinstance(members, set):
            raise TypeError(f"{self.cls_name}: params must have an order; give a list instead of a set")
        members = [members] if isinstance(members, Parameter) else list(members)
        for member in members:
            if not isinstance(member, Parameter):
                raise TypeError(
                    f"{self.cls_name}: params must be Parameters. Received: {member!r:.80} (of type "
                    f"{type(member).__name__})"
                )
        known = {id(p) for p in self.parameters}
        if any(id(p) in known for p in members):
            raise ValueError(f"{self.cls_name}: a parameter may be in one group only")
        rate = group["lr"]
        if isinstance(rate, bool) or not isinstance(rate, (int, float, Tensor)):
            raise TypeError(
                f"{self.cls_name}: lr must be a number or a 0-d Tensor. Received: lr={rate!r} (of type "
                f"{type(rate).__name__})"
            )
        value = np.float32(rate.asnumpy() if isinstance(rate, Tensor) else rate)
        if value < 0:
            raise ValueError(f"{self.cls_name}: lr must be at least 0. Received: lr={rate}")
        holder = Parameter(value, name=f"learning_rate_group_{len(self.param_groups)}")
        group.update(params=members, lr=holder)
        if "weight_decay" in group:
            group["weight_decay"] = float(group["weight_decay"])
            if group["weight_decay"] < 0:
                raise ValueError(
                    f"{self.cls_name}: weight_decay must be at least 0. Received: {group['weight_decay']}"
                )
        started = "_started" in self.__dict__
        self.lrs = [*self.lrs, holder]
        self.param_groups = [*self.param_groups, ParameterGroup(self, group)]
        self.group_start_id = [*self.group_start_id, self.group_start_id[-1] + len(members)]
        self.parameters = ParameterTuple((*self.parameters, *members))
        if started:
            for name, init in self.states.items():
                self._state[name] = (*self._state[name], *_fresh(name, init, members))

    def _make_states(self) -> None:
        self._state = {}
        for name, init in self.states.items():
            made = ParameterTuple(_fresh(name, init, list(self.parameters)))
            setattr(self, name, made)
            self._state[name] = tuple(made)
        if self.counter is not None:
            name, dtype, shape, first = self.counter
            setattr(self, name, Parameter(np.full(shape, first, dtype.numpy), name=name))
        self._started = True

    # -- one step ------------------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Updates the parameters; the whole step is one compiled plan in either mode."""
        if dispatch.is_tracing():
            return self.construct(*args, **kwargs)
        from mycelia.engine import jit

        return jit.call_cell(self, args, kwargs)

    def construct(self, gradients: Sequence[Tensor]) -> bool:
        if isinstance(gradients, Tensor):
            gradients = (gradients,)
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"{self.cls_name}: needs one gradient for each of its {len(self.parameters)} parameters. "
                f"Received: {len(gradients)} gradients"
            )
        step = self._count()
        for group, start in zip(self.param_groups, self.group_start_id):
            common = self.prepare(group, step)
            decay = group.get("weight_decay", 0.0)
            for i, w in enumerate(group["params"], start):
                g = in_dtype_of(gradients[i], w)
                if group.get("maximize"):
                    g = -g
                if decay and not self.decoupled:
                    g = g + w * decay
                rate = group["lr"]
                rate = in_dtype_of(rate, w) if isinstance(rate, Tensor) else rate
                state = [self._state[name][i] for name in self.states]
                store([w, *state], self.update(group, common, rate, w, g, *state))
        return True

    decoupled = False
    """Whether `update` applies the weight decay itself."""

    def _count(self) -> Tensor | None:
        """The number of this step, from 1, as a float32 scalar."""
        if self.counter is None:
            return None
        held = getattr(self, self.counter[0])
        count = held + 1
        write(held, count)
        number = count.astype(float32).reshape(())
        return number if self.counter[3] == 0 else number - float(self.counter[3])

    def prepare(self, group: dict[str, Any], step: Tensor | None) -> Any:
        """What all parameters of a group share in this step."""
        return step

    def update(
        self, group: dict[str, Any], common: Any, rate: Any, w: Parameter, g: Tensor, *state: Parameter
    ) -> Sequence[Tensor | None]:
        """The next values of a parameter and of its states."""
        raise NotImplementedError(
            f"{self.cls_name}: an optimizer computes in update, or in construct(gradients)"
        )

    def __repr__(self) -> str:
        lines = [f"{self.cls_name} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            for key in sorted(k for k in group if k != "params"):
                value = group[key]
                lines.append(f"    {key}: {value.asnumpy() if isinstance(value, Tensor) else value}")
            lines.append("")
        return "\n".join(lines).rstrip() + "\n)"


def _fresh(name: str, init: Any, parameters: list[Parameter]) -> list[Parameter]:
    """New state of one kind; a name that ends in "_" makes scalars."""
    value = {"zeros": 0, "ones": 1}.get(init, init)
    scalar = name.endswith("_")
    return [
        Parameter(
            np.full(() if scalar else p.shape, value, p.dtype.numpy),
            name=f"{name}{'' if scalar else '.'}{p.name}",
        )
        for p in parameters
    ]


def check_range(
    owner: str, name: str, value: Any, low: float, high: float = float("inf"), above: bool = False
) -> None:
    """Raises ValueError unless ``low <= value < high``, or ``low < value`` with ``above``."""
    if not (low < value if above else low <= value) or not value < high:
        bound = f"greater than {low:g}" if above else f"at least {low:g}"
        raise ValueError(
            f"{owner}: {name} must be {bound}{f' and below {high:g}' if high != float('inf') else ''}. "
            f"Received: "
            f"{name}={value}"
        )
