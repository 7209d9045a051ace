"""Optimizer: what all optimizers share. Parameter groups, learning rates, weight decay, loss scale."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.autodiff.state import is_unused
from mycelia.ir.dtypes import DType, float32, float64
from mycelia.nn.cell import Cell
from mycelia.nn.layer.container import CellList
from mycelia.nn.learning_rate_schedule import LearningRateSchedule
from mycelia.ops import dispatch
from mycelia.ops.inplace import write
from mycelia.ops.movement import Reshape
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor

_GROUP_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


class TabledLearningRate(LearningRateSchedule):
    """The learning rate of step i is entry i of a list; after its end the last entry stays."""

    def __init__(self, rates: Any, name: str, precision: type = np.float32) -> None:
        super().__init__()
        self.learning_rate = Parameter(np.asarray(rates, precision), name=name)

    def construct(self, global_step: Tensor) -> Tensor:
        from mycelia.ops.arithmetic import Minimum
        from mycelia.ops.constants import like
        from mycelia.ops.indexing import Gather

        step = Minimum(Reshape(global_step, shape=()), like(self.learning_rate.shape[0] - 1, global_step))
        return Gather(self.learning_rate, step, axis=0)


class Optimizer(Cell):
    """Base of optimizers. A subclass updates the parameters in ``construct(gradients)``.

    Args:
        learning_rate: a number, a list or 1-D tensor (one entry per step), or a `LearningRateSchedule`.
        parameters: Parameters, or groups: dicts with ``params`` and any of ``lr``, ``weight_decay``,
            ``grad_centralization``; one dict may hold ``order_params`` alone, all parameters in the order of
            the gradients.
        weight_decay: a number or a schedule; without groups it spares parameters with "beta" or "gamma" in
            their name.
        loss_scale: gradients are divided by it.

    Raises:
        ValueError: no parameters, two of one name, or a number out of range.
        TypeError: arguments of other types.
        KeyError: a group with an unknown key.
    """

    def __init__(
        self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0
    ) -> None:
        super().__init__(auto_prefix=False)
        given = self._listed(parameters)
        if isinstance(loss_scale, bool) or not isinstance(loss_scale, (int, float)) or loss_scale <= 0:
            raise ValueError(
                f"{self.cls_name}: loss_scale must be a positive number. Received: loss_scale={loss_scale!r}"
            )
        self.loss_scale = float(loss_scale)
        self.global_step = Parameter(np.zeros(1, np.int32), name="global_step")
        self.is_group = isinstance(given[0], dict)
        # rates and the like are float32, but no coarser than the parameters
        members = [p for group in given for p in group.get("params", ())] if self.is_group else given
        self.precision = np.float64 if any(p.dtype is float64 for p in members) else np.float32
        self.is_group_lr = False
        self.dynamic_lr = False
        default_rate = self._rate(learning_rate)
        default_decay = self._decay(weight_decay)
        if self.is_group:
            self._adopt_groups(given, default_rate, default_decay)
        else:
            self.learning_rate = self._rate_holder(default_rate, "learning_rate")
            self.parameters = ParameterTuple(given)
            self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in given)
            self.weight_decay = default_decay
            self.exec_weight_decay = isinstance(default_decay, Cell) or default_decay > 0
            self.grad_centralization_flags = (False,) * len(given)
        self._parameters = self.parameters
        self._refuse_twins()

    # -- what was given ------------------------------------------------------------------------------------
    def _listed(self, parameters: Any) -> list[Any]:
        if isinstance(parameters, Parameter) or not isinstance(parameters, Iterable):
            raise TypeError(
                f"{self.cls_name}: parameters must be a list of Parameters or of dicts. Received: "
                f"{parameters!r:.80} (of type "
                f"{type(parameters).__name__})"
            )
        items = list(parameters)
        if not items:
            raise ValueError(
                f"{self.cls_name}: parameters must not be empty; net.trainable_params() of a network whose "
                "parameters have "
                f"requires_grad=True gives them"
            )
        if not (all(isinstance(p, Parameter) for p in items) or all(isinstance(p, dict) for p in items)):
            wrong = next(
                p for p in items if not isinstance(p, (Parameter, dict)) or type(p) is not type(items[0])
            )
            raise TypeError(
                f"{self.cls_name}: parameters must be all Parameters or all dicts. Received: {wrong!r:.80} "
                "(of type "
                f"{type(wrong).__name__}) among them"
            )
        return items

    def _rate(self, rate: Any) -> Any:
        """A float, an array of floats (one per step), or a schedule."""
        if isinstance(rate, LearningRateSchedule):
            return rate
        if isinstance(rate, Tensor):
            rate = rate.asnumpy()
        try:
            if isinstance(rate, str):
                raise TypeError  # NumPy would read a number in it
            array = np.asarray(
                list(rate) if not np.isscalar(rate) and not isinstance(rate, np.ndarray) else rate,
                self.precision,
            )
        except (TypeError, ValueError):
            raise TypeError(
                f"{self.cls_name}: learning_rate must be a number, a list, a 1-D Tensor or a "
                "LearningRateSchedule. Received: "
                f"{rate!r:.80} (of type {type(rate).__name__})"
            ) from None
        if array.ndim > 1 or (array.ndim == 1 and array.size < 2):
            raise ValueError(
                f"{self.cls_name}: a list of learning rates must be 1-D with at least two entries. Received: "
                f"shape {array.shape}"
            )
        if not (array >= 0).all():
            raise ValueError(f"{self.cls_name}: learning_rate must be at least 0. Received: {rate!r:.80}")
        return float(array) if array.ndim == 0 else array

    def _decay(self, decay: Any) -> Any:
        if isinstance(decay, Cell):
            return decay
        if isinstance(decay, bool) or not isinstance(decay, (int, float)) or decay < 0:
            raise ValueError(
                f"{self.cls_name}: weight_decay must be a number of at least 0, or a Cell that gives one for "
                "a step. Received: "
                f"weight_decay={decay!r}"
            )
        return float(decay)

    def _rate_holder(self, rate: Any, name: str) -> Any:
        """What lives in the optimizer for a rate: a Parameter that may be assigned to, or a schedule."""
        if isinstance(rate, float):
            return Parameter(self.precision(rate), name=name)
        self.dynamic_lr = True
        return (
            rate if isinstance(rate, LearningRateSchedule) else TabledLearningRate(rate, name, self.precision)
        )

    def _adopt_groups(self, groups: list[dict], default_rate: Any, default_decay: Any) -> None:
        members: list[tuple[Parameter, tuple[str, Any], Any, bool]] = []
        order: list[Parameter] | None = None
        for index, group in enumerate(groups):
            unknown = [key for key in group if key not in _GROUP_KEYS]
            if unknown:
                raise KeyError(
                    f"{self.cls_name}: a parameter group may have the keys {', '.join(_GROUP_KEYS)}. "
                    f"Received: {unknown}"
                )
            if "order_params" in group:
                order = list(group["order_params"])
                continue
            if not group.get("params"):
                raise ValueError(
                    f"{self.cls_name}: a parameter group needs 'params', a list of Parameters. Received: "
                    f"keys {list(group)}"
                )
            self.is_group_lr |= "lr" in group
            rate = (
                (f"learning_rate_group_{index}", self._rate(group["lr"]))
                if "lr" in group
                else ("learning_rate", default_rate)
            )
            decay = self._decay(group["weight_decay"]) if "weight_decay" in group else default_decay
            members += [
                (p, rate, decay, bool(group.get("grad_centralization", False))) for p in group["params"]
            ]
        if order is not None:
            by_id = {id(m[0]): m for m in members}
            if {id(p) for p in order} != set(by_id):
                raise ValueError(
                    f"{self.cls_name}: order_params must hold the parameters of all groups and no others"
                )
            members = [by_id[id(p)] for p in order]
        parameters = [m[0] for m in members]
        if self.is_group_lr:
            self.dynamic_lr = any(not isinstance(m[1][1], float) for m in members)
            self.learning_rate = self._group_rates(members)
        else:
            self.learning_rate = self._rate_holder(default_rate, "learning_rate")
        self.parameters = ParameterTuple(parameters)
        self.weight_decay = tuple(m[2] for m in members)
        self.decay_flags = tuple(isinstance(d, Cell) or d > 0 for d in self.weight_decay)
        self.exec_weight_decay = any(self.decay_flags)
        self.grad_centralization_flags = tuple(m[3] for m in members)

    def _group_rates(self, members: list[tuple[Parameter, tuple[str, Any], Any, bool]]) -> Any:
        """One rate for each parameter; parameters of a group share theirs."""
        shared: dict[str, Any] = {}
        for _, (name, rate), _, _ in members:
            if name not in shared:
                constant = self.dynamic_lr and isinstance(rate, float)
                shared[name] = (
                    TabledLearningRate([rate, rate], name, self.precision)
                    if constant
                    else self._rate_holder(rate, name)
                )
        rates = [shared[m[1][0]] for m in members]
        return CellList(rates, auto_prefix=False) if self.dynamic_lr else ParameterTuple(rates)

    def _refuse_twins(self) -> None:
        seen: set[str] = set()
        for parameter in self.parameters:
            if parameter.name in seen:
                raise ValueError(
                    f"{self.cls_name}: two parameters are named {parameter.name!r}; moments are kept by "
                    "name, so each needs one "
                    f"of its own"
                )
            seen.add(parameter.name)

    # -- one step ------------------------------------------------------------------------------------------
    spared: tuple[int, ...] = ()  # parameters that the loss of the latest gradients does not depend on

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Updates the parameters; the whole step is one compiled plan in either mode."""
        if dispatch.is_tracing():
            return self.construct(*args, **kwargs)
        from mycelia.engine import jit

        gradients = args[0] if args else kwargs.get("gradients", ())
        if isinstance(gradients, (tuple, list)):
            spared = tuple([i for i, g in enumerate(gradients) if is_unused(g)])
            if spared != self.spared:
                self.spared = spared
        return jit.call_cell(self, args, kwargs)

    def get_lr(self) -> Any:
        """The learning rate of the step to come: a scalar tensor, or one for each parameter when groups have
        their own."""
        if not self.dynamic_lr:
            return self.learning_rate
        step = Reshape(self.global_step, shape=())
        if self.is_group_lr:
            return tuple(rate(step) for rate in self.learning_rate)
        return self.learning_rate(step)

    def get_weight_decay(self) -> Any:
        """The weight decay of the step to come, for each parameter with groups."""
        step = Reshape(self.global_step, shape=())

        def of(decay: Any) -> Any:
            return decay(step) if isinstance(decay, Cell) else decay

        return tuple(map(of, self.weight_decay)) if self.is_group else of(self.weight_decay)

    def get_lr_parameter(self, param: Parameter | Sequence[Parameter]) -> Any:
        """The learning-rate Parameter or schedule that a parameter (or each of several) is updated with."""

        def of(parameter: Parameter) -> Any:
            for i, own in enumerate(self.parameters):
                if own is parameter:
                    return list(self.learning_rate)[i] if self.is_group_lr else self.learning_rate
            raise ValueError(
                f"get_lr_parameter: {parameter.name!r} is not a parameter of this {self.cls_name}"
            )

        return of(param) if isinstance(param, Parameter) else [of(p) for p in param]

    def rates(self) -> tuple[Any, ...]:
        """The step's learning rate for each parameter, in the parameter's dtype."""
        rate = self.get_lr()
        each = rate if self.is_group_lr else (rate,) * len(self.parameters)
        return tuple(in_dtype_of(r, p) for r, p in zip(each, self.parameters))

    def gradients_of_step(self, gradients: Sequence[Tensor], decay: bool = True) -> list[Tensor]:
        """Gradients in their parameters' dtypes, divided by the loss scale, with weight decay and
        centralization.

        Raises:
            ValueError: as many gradients as parameters are needed, each of its parameter's shape.
        """
        checked = self._checked(gradients)
        if self.loss_scale != 1.0:
            checked = [g * (1.0 / self.loss_scale) for g in checked]
        if decay and self.exec_weight_decay:
            amount = self.get_weight_decay()
            each = amount if self.is_group else (amount,) * len(checked)
            checked = [
                g + p * _factor(d, p) if flag else g
                for g, p, d, flag in zip(checked, self.parameters, each, self.decay_flags)
            ]
        return list(map(_centralized, checked, self.grad_centralization_flags))

    def decays(self) -> tuple[Any, ...]:
        """The step's weight decay for each parameter in its dtype, None for those that are spared."""
        if not self.exec_weight_decay:
            return (None,) * len(self.parameters)
        amount = self.get_weight_decay()
        each = amount if self.is_group else (amount,) * len(self.parameters)
        return tuple(
            _factor(d, p) if flag else None for d, p, flag in zip(each, self.parameters, self.decay_flags)
        )

    def members(self, gradients: Sequence[Tensor], *states: Any, decay: bool = True) -> Iterator[tuple]:
        """``(parameter, gradient, rate, *its states)`` as `gradients_of_step` gives them, for each parameter
        that the loss depends on: the others keep their values and their states."""
        given = (gradients,) if isinstance(gradients, Tensor) else gradients
        rows = zip(self.parameters, self.gradients_of_step(gradients, decay), self.rates(), *states)
        return (row for i, (row, g) in enumerate(zip(rows, given)) if not (i in self.spared or is_unused(g)))

    def done(self) -> tuple[bool, ...]:
        """Counts the step; what `construct` returns."""
        self.advance()
        return (True,) * len(self.parameters)

    @property
    def learning_dtype(self) -> DType:
        """What rates and their like are computed in."""
        return float64 if self.precision is np.float64 else float32

    def _checked(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        if isinstance(gradients, Tensor):
            gradients = (gradients,)
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"{self.cls_name}: needs one gradient for each of its {len(self.parameters)} parameters. "
                "Received: "
                f"{len(gradients)} gradients"
            )
        for p, g in zip(self.parameters, gradients):
            if g.shape != p.shape:
                raise ValueError(
                    f"{self.cls_name}: the gradient of {p.name!r} must have its shape {p.shape}. Received: "
                    f"{g.shape}"
                )
        return [in_dtype_of(g, p) for p, g in zip(self.parameters, gradients)]

    def advance(self) -> None:
        """Counts the step; to be called after the rates of the step were taken."""
        write(self.global_step, self.global_step + 1)

    # -- what optimizers written for MindSpore call ----------------------------------------------------------
    def decay_weight(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Gradients with weight decay, as it counts before `scale_grad`."""
        scale = self.loss_scale
        return tuple(
            g if d is None else g + p * (d * scale)
            for p, g, d in zip(self.parameters, gradients, self.decays())
        )

    def gradients_centralization(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Gradients without their means over all axes but the first, where a group asks for it."""
        return tuple(map(_centralized, gradients, self.grad_centralization_flags))

    def scale_grad(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Gradients divided by the loss scale."""
        return tuple(g * (1.0 / self.loss_scale) if self.loss_scale != 1.0 else g for g in gradients)

    def flatten_gradients(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """The gradients; parameters are not merged here."""
        return gradients

    def assignadd(self, parameter: Parameter, value: Any) -> Parameter:
        """``parameter += value``."""
        write(parameter, parameter + value)
        return parameter

    global_step_increase_tensor = 1
    """What one step adds to `global_step`."""

    @property
    def target(self) -> str:
        """Where updates run: ``"CPU"``."""
        return "CPU"

    @target.setter
    def target(self, value: str) -> None:
        if value not in ("CPU", "Ascend", "GPU"):
            raise ValueError(f"{self.cls_name}: target must be 'CPU', 'Ascend' or 'GPU'. Received: {value!r}")

    def moments_like(self, prefix: str, init: Any = "zeros") -> ParameterTuple:
        """State for each parameter, named ``prefix.NAME``, that starts at "zeros", "ones", or a number."""
        if isinstance(init, str):
            return self.parameters.clone(prefix, init)
        return ParameterTuple(
            Parameter(np.full(p.shape, init, p.dtype.numpy), name=f"{prefix}.{p.name}")
            for p in self.parameters
        )


def store(targets: Sequence[Any], values: Sequence[Any]) -> None:
    """Writes each value to its target; None stands for state that an optimizer does without."""
    for target, value in zip(targets, values):
        if target is not None and value is not None:
            write(target, value)


def in_dtype_of(x: Tensor, parameter: Tensor) -> Tensor:
    return x if x.dtype is parameter.dtype else x.astype(parameter.dtype)


def _centralized(g: Tensor, wanted: bool) -> Tensor:
    return g - g.mean(tuple(range(1, g.ndim)), keep_dims=True) if wanted and g.ndim > 1 else g


def opt_init_args_register(init: Callable[..., None]) -> Callable[..., None]:
    """Decorates an optimizer's ``__init__`` so that it keeps what it was called with, in ``init_args``,
    ``init_params`` and ``init_learning_rate``."""

    @functools.wraps(init)
    def registered(self: Any, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(init).bind(self, *args, **kwargs)
        given.apply_defaults()
        options = dict(list(given.arguments.items())[1:])
        parameters = options.pop("params", None)
        init(self, *args, **kwargs)
        self.__dict__["init_params"] = {"params": parameters}
        self.__dict__["init_learning_rate"] = options.get("learning_rate")
        self.__dict__["init_args"] = options

    return registered


def _factor(decay: Any, parameter: Parameter) -> Any:
    return in_dtype_of(decay, parameter) if isinstance(decay, Tensor) else decay


def check_fraction(owner: str, name: str, value: Any) -> float:
    """A decay rate such as beta1.

    Raises:
        TypeError: not a float.
        ValueError: not between 0 and 1, both excluded.
    """
    if not isinstance(value, float):
        raise TypeError(
            f"{owner}: {name} must be a float. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    if not 0.0 < value < 1.0:
        raise ValueError(f"{owner}: {name} must lie between 0 and 1, both excluded. Received: {name}={value}")
    return value


def check_at_least(owner: str, name: str, value: Any, low: float = 0.0, exclusive: bool = False) -> float:
    """A number bounded from below."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{owner}: {name} must be a number. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    if value < low or (exclusive and value == low):
        raise ValueError(
            f"{owner}: {name} must be {'greater than' if exclusive else 'at least'} {low:g}. Received: "
            f"{name}={value}"
        )
    return float(value)
