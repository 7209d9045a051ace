"""Activations as cells; the formulas are in `mycelia.ops`."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.ops.function import activations, elementwise
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class ReLU(Cell):
    """max(x, 0)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.relu(x)


class ReLU6(Cell):
    """min(max(x, 0), 6)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.relu6(x)


class LeakyReLU(Cell):
    """x where it is positive, alpha * x elsewhere."""

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return activations.leaky_relu(x, self.alpha)


class ELU(Cell):
    """x where it is positive, exp(x) - 1 elsewhere."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        return activations.elu(x, self.alpha)


class SeLU(Cell):
    """The self-normalising ELU."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.selu(x)


class GELU(Cell):
    """x * Phi(x), with tanh in the place of the normal distribution function if ``approximate``."""

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        if not isinstance(approximate, bool):
            raise TypeError(
                f"GELU: approximate must be a bool. Received: approximate={approximate!r} (of type "
                f"{type(approximate).__name__})"
            )
        self.approximate = approximate

    def construct(self, x: Tensor) -> Tensor:
        return activations.gelu(x, approximate="tanh" if self.approximate else "none")


class SiLU(Cell):
    """x * sigmoid(x)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.silu(x)


class Mish(Cell):
    """x * tanh(softplus(x))."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.mish(x)


class HSwish(Cell):
    """x * relu6(x + 3) / 6."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.hardswish(x)


class HSigmoid(Cell):
    """relu6(x + 3) / 6."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.hardsigmoid(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def construct(self, x: Tensor) -> Tensor:
        return elementwise.sigmoid(x)  # type: ignore[attr-defined]


class LogSigmoid(Cell):
    """log(sigmoid(x))."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.logsigmoid(x)


class Tanh(Cell):
    """tanh(x)."""

    def construct(self, x: Tensor) -> Tensor:
        return elementwise.tanh(x)  # type: ignore[attr-defined]


class Softsign(Cell):
    """x / (1 + |x|)."""

    def construct(self, x: Tensor) -> Tensor:
        return activations.softsign(x)


class PReLU(Cell):
    """x where it is positive, w * x elsewhere, with a parameter w for all channels or for each.

    Args:
        channel: 1, or the number of channels.
        w: initial value.
    """

    def __init__(self, channel: int = 1, w: float = 0.25) -> None:
        super().__init__()
        import numpy as np

        from mycelia.nn.arguments import positive_int

        positive_int("PReLU", channel=channel)
        self.w = Parameter(np.full(channel, w, np.float32), name="a")

    def construct(self, x: Tensor) -> Tensor:
        return activations.prelu(x, self.w)


class Softmax(Cell):
    """exp(x) over its sum along an axis."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return activations.softmax(x, self.axis)


class LogSoftmax(Cell):
    """The logarithm of the softmax along an axis."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        return activations.log_softmax(x, self.axis)


_BY_NAME: dict[str, type[Cell]] = {
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
    "relu": ReLU,
    "relu6": ReLU6,
    "silu": SiLU,
    "tanh": Tanh,
    "gelu": GELU,
    "elu": ELU,
    "sigmoid": Sigmoid,
    "prelu": PReLU,
    "leakyrelu": LeakyReLU,
    "hswish": HSwish,
    "hsigmoid": HSigmoid,
    "logsigmoid": LogSigmoid,
    "selu": SeLU,
    "mish": Mish,
}


def get_activation(name: str | None, prim_name: str | None = None) -> Any:
    """The activation cell of a name; None for None.

    Raises:
        KeyError: an unknown name.
    """
    if name is None:
        return None
    made = _BY_NAME.get(name)
    if made is None:
        raise KeyError(
            f"{prim_name or 'get_activation'}: no activation is named {name!r}; known: {', '.join(_BY_NAME)}"
        )
    return made()


__all__ = [
    "ELU",
    "GELU",
    "HSigmoid",
    "HSwish",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SeLU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softsign",
    "Tanh",
    "get_activation",
]
