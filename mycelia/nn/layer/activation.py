"""Activations as cells; the formulas are in `mycelia.ops`."""

from __future__ import annotations

from typing import Any

from mycelia.common.initializer import initializer
from mycelia.nn.cell import Cell
from mycelia.nn.function_cell import cell
from mycelia.ops.arithmetic import Pow, Square
from mycelia.ops.constants import like
from mycelia.ops.function import activations, elementwise
from mycelia.ops.movement import Pad
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


CELU = cell("CELU", activations.celu)
FastGelu = cell("FastGelu", activations.fast_gelu)
GLU = cell("GLU", activations.glu)
HShrink = cell("HShrink", activations.hardshrink)
Hardtanh = cell("Hardtanh", activations.hardtanh)
RReLU = cell("RReLU", activations.rrelu)
SoftShrink = cell("SoftShrink", activations.softshrink)
Softmin = cell("Softmin", activations.softmin, only="axis")
Tanhshrink = cell("Tanhshrink", activations.tanhshrink)


class Threshold(Cell):
    """x where it is above ``threshold``, ``value`` elsewhere."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, input_x: Tensor) -> Tensor:
        return activations.threshold(input_x, self.threshold, self.value)


class Softmax2d(Cell):
    """The softmax over the channels of ``[n, c, h, w]`` or ``[c, h, w]``."""

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: the input must have 3 or 4 axes. Received: shape {x.shape}")
        return activations.softmax(x, -3)


class LogSoftmaxExt(Cell):
    """The logarithm of the softmax along ``dim``; None: 0 for tensors of 0, 1 or 3 axes, else 1."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, x: Tensor) -> Tensor:
        implied = 0 if x.ndim in (0, 1, 3) else 1
        return activations.log_softmax(x, implied if self.dim is None else self.dim)


class PReLUExt(Cell):
    """x where it is positive, weight * x elsewhere; one weight or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        self.weight = Parameter(initializer(init, (num_parameters,), dtype), name="weight")

    def construct(self, input: Tensor) -> Tensor:
        return activations.prelu(input, self.weight)


class LRN(Cell):
    """x / (bias + alpha * s) ** beta, where s sums the squares of the channels up to ``depth_radius`` away.
    Krizhevsky et al. 2012, section 3.3.

    Args:
        depth_radius: see there.
        bias, alpha, beta: see there.
        norm_region: ``"ACROSS_CHANNELS"``.
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        if norm_region != "ACROSS_CHANNELS":
            raise ValueError(f"LRN: norm_region must be 'ACROSS_CHANNELS'. Received: {norm_region!r}")
        self.depth_radius, self.bias, self.alpha, self.beta = depth_radius, bias, alpha, beta

    def construct(self, input_x: Tensor) -> Tensor:
        channels, r = input_x.shape[1], self.depth_radius
        paddings = tuple((r, r) if axis == 1 else (0, 0) for axis in range(input_x.ndim))
        squares = Pad(Square(input_x), paddings=paddings, value=0)
        near = squares[:, :channels]
        for shift in range(1, 2 * r + 1):
            near = near + squares[:, shift : shift + channels]
        scale = near * self.alpha + self.bias
        return input_x / Pow(scale, like(self.beta, scale))


_BY_NAME: dict[str, type[Cell]] = {
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
    "relu": ReLU,
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
    "softmax2d": Softmax2d,
    "softmin": Softmin,
    "softsign": Softsign,
    "relu6": ReLU6,
    "rrelu": RReLU,
    "celu": CELU,
    "fast_gelu": FastGelu,
    "fastgelu": FastGelu,
    "glu": GLU,
    "hardtanh": Hardtanh,
    "softshrink": SoftShrink,
    "hshrink": HShrink,
    "threshold": Threshold,
    "tanhshrink": Tanhshrink,
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
