"""Functions with effects: assignment, printing, order; and the stop of gradients."""
from __future__ import annotations

from typing import Any

from mycelia.ops import control, inplace
from mycelia.ops.constants import scalar
from mycelia.ops.movement import BroadcastTo
from mycelia.ops.promotion import cast, is_number, require_tensor
from mycelia.tensor.tensor import Tensor


def _fitted(name: str, variable: Tensor, value: Any) -> Tensor:
    """The value with the variable's dtype and shape.

    Raises:
        ValueError: it does not broadcast to the variable's shape.
    """
    value = scalar(value, variable.dtype) if is_number(value) else require_tensor(name, value, "value")
    value = cast(value, variable.dtype)
    if value.shape == variable.shape:
        return value
    if value.size != 1:
        raise ValueError(
            f"{name}: the value must have the variable's shape {variable.shape}. Received: a value of shape "
            f"{value.shape}. "
            "Reshape or broadcast it first"
        )
    from mycelia.ops.function.shaping import reshape
    return BroadcastTo(reshape(value, ()), shape=variable.shape)


def assign(variable: Any, value: Any) -> Tensor:
    """Overwrites a parameter or tensor in place, and gives it back.

    Args:
        variable: what to overwrite; every view of its memory sees it.
        value: a tensor of its shape, or a number; converted to its dtype.

    Raises:
        TypeError: the variable is no tensor.
        ValueError: shapes differ.

    Example:
        >>> p = Parameter(Tensor([0.0]))
        >>> assign(p, Tensor([2.0]))
        Parameter (name=Parameter, shape=(1,), dtype=Float32, requires_grad=True)
    """
    return inplace.write(require_tensor("assign", variable, "variable"), _fitted("assign", variable, value))


def assign_add(variable: Any, value: Any) -> Tensor:
    """``variable += value`` in place."""
    return inplace.write(
        require_tensor("assign_add", variable, "variable"), variable + _fitted("assign_add", variable, value)
    )


def assign_sub(variable: Any, value: Any) -> Tensor:
    """``variable -= value`` in place."""
    return inplace.write(
        require_tensor("assign_sub", variable, "variable"), variable - _fitted("assign_sub", variable, value)
    )


def print_(*input_x: Any) -> None:
    """Prints tensors and other things when the code runs, inside a graph too."""
    shown, tensors = [], []
    for x in input_x:
        if isinstance(x, Tensor):
            shown.append("{}")
            tensors.append(x)
        else:
            shown.append(str(x).replace("{", "{{").replace("}", "}}"))
    control.Print(*tensors, format="\n".join(shown))


def depend(value: Any, expr: Any) -> Any:
    """The value; what ``expr`` stands for has run before, for effects keep program order."""
    return value


def stop_gradient(value: Any) -> Any:
    """The value, a constant to gradients."""
    if isinstance(value, (tuple, list)):
        return type(value)(stop_gradient(v) for v in value)
    return control.StopGradient(value) if isinstance(value, Tensor) else value


def identity(x: Any) -> Any:
    """The input itself."""
    return x
