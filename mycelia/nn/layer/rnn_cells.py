"""Steps of recurrent networks, and the cells that take one step.

A step takes the input's share of the gates, worked out beforehand, so that a layer computes those of all
steps
as one product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia.autodiff import custom
from mycelia.common.initializer import Uniform, initializer
from mycelia.ir.dtypes import DType, float16, float32, float64
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.ops.activation import ReLU, Sigmoid
from mycelia.ops.function.linear import dense
from mycelia.ops.movement import Concat, StridedSlice
from mycelia.ops.trigonometric import Tanh
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

Weights = tuple[Tensor, Tensor | None]  # of the state: w_hh and b_hh


def pieces(x: Tensor, axis: int, count: int) -> tuple[Tensor, ...]:
    """Equal pieces along an axis, whose gradients are put together at once (those of single slices would each
    fill a tensor of zeros)."""
    width = x.shape[axis] // count

    def cut(x: Tensor) -> list[Tensor]:
        before, after = (0,) * axis, x.shape[axis + 1 :]
        return [
            StridedSlice(
                x,
                begin=(*before, i * width, *(0 for _ in after)),
                end=(*x.shape[:axis], (i + 1) * width, *after),
                strides=(1,) * x.ndim,
            )
            for i in range(count)
        ]

    return custom.call(cut, lambda inputs, outputs, gradients: [Concat(*gradients, axis=axis)], [x])


def tanh_step(given: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """Elman 1990."""
    return Tanh(given + dense(h, *weights))


def relu_step(given: Tensor, h: Tensor, weights: Weights) -> Tensor:
    return ReLU(given + dense(h, *weights))


def gru_step(given: Tensor, h: Tensor, weights: Weights) -> Tensor:
    """Cho et al. 2014, with the reset gate after the product."""
    reset_x, update_x, new_x = pieces(given, 1, 3)
    reset_h, update_h, new_h = pieces(dense(h, *weights), 1, 3)
    new = Tanh(new_x + Sigmoid(reset_x + reset_h) * new_h)
    return new + Sigmoid(update_x + update_h) * (h - new)


def lstm_step(given: Tensor, state: tuple[Tensor, Tensor], weights: Weights) -> tuple[Tensor, Tensor]:
    """Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 1999)."""
    h, c = state
    enter, forget, cell, leave = pieces(given + dense(h, *weights), 1, 4)
    c = Sigmoid(forget) * c + Sigmoid(enter) * Tanh(cell)
    return Sigmoid(leave) * Tanh(c), c


def require_states(owner: str, **tensors: Any) -> None:
    """Raises TypeError unless all are float tensors of one dtype."""
    first = None
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{owner}: {name} must be a Tensor. Received: {tensor!r:.80} (of type "
                f"{type(tensor).__name__})"
            )
        if tensor.dtype not in (float32, float16, float64):
            raise TypeError(
                f"{owner}: {name} must be float32, float16 or float64. Received: {name} of {tensor.dtype}"
            )
        first = first or tensor.dtype
        if tensor.dtype is not first:
            raise TypeError(
                f"{owner}: inputs must have one dtype. Received: {first} and {name} of {tensor.dtype}"
            )


class _StepCell(Cell):
    """Args:
    input_size, hidden_size: extents of the input and of the state.
    has_bias: whether there are biases.
    dtype: of the parameters.
    """

    pieces = 1

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool, dtype: DType) -> None:
        super().__init__()
        positive_int(self.cls_name, input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.hidden_size, self.has_bias = input_size, hidden_size, bool(has_bias)
        rows = self.pieces * hidden_size
        draw = Uniform(1 / math.sqrt(hidden_size))

        def parameter(name: str, *shape: int) -> Parameter:
            return Parameter(initializer(draw, shape, dtype), name=name)

        self.weight_ih = parameter("weight_ih", rows, input_size)
        self.weight_hh = parameter("weight_hh", rows, hidden_size)
        self.bias_ih = parameter("bias_ih", rows) if has_bias else None
        self.bias_hh = parameter("bias_hh", rows) if has_bias else None

    def stepped(self, step: Callable[..., Any], x: Tensor, state: Any) -> Any:
        for name, tensor, extent, argument in (
            ("x", x, self.input_size, "input_size"),
            *(("hx", h, self.hidden_size, "hidden_size") for h in (state if self.pieces == 4 else (state,))),
        ):
            if tensor.ndim != 2 or tensor.shape[1] != extent:
                raise ValueError(
                    f"{self.cls_name}: {name} must be [batch, {extent}], as {argument} says. Received: a "
                    f"tensor of shape {tensor.shape}"
                )
        return step(dense(x, self.weight_ih, self.bias_ih), state, (self.weight_hh, self.bias_hh))


class RNNCell(_StepCell):
    """One step of an Elman network: ``construct(x, hx)`` gives the next state.

    Args:
        input_size, hidden_size: extents of the input and of the state.
        has_bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        dtype: of the parameters.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: DType = float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell: nonlinearity must be 'tanh' or 'relu'. Received: {nonlinearity!r}")
        self.nonlinearity = nonlinearity

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        require_states("RNNCell", x=x, hx=hx)
        return self.stepped(tanh_step if self.nonlinearity == "tanh" else relu_step, x, hx)


class GRUCell(_StepCell):
    """One step of a gated recurrent unit: ``construct(x, hx)`` gives the next state.

    Args:
        input_size, hidden_size: extents of the input and of the state.
        has_bias: whether there are biases.
        dtype: of the parameters.
    """

    pieces = 3

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = float32
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        require_states("GRUCell", x=x, hx=hx)
        return self.stepped(gru_step, x, hx)


class LSTMCell(_StepCell):
    """One step of long short-term memory: ``construct(x, (h, c))`` gives the next (h, c).

    Args:
        input_size, hidden_size: extents of the input and of the state.
        has_bias: whether there are biases.
        dtype: of the parameters.
    """

    pieces = 4

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = float32
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise TypeError(
                f"LSTMCell: hx must be (h, c). Received: {hx!r:.80} (of type {type(hx).__name__})"
            )
        require_states("LSTMCell", x=x, h=hx[0], c=hx[1])
        return self.stepped(lstm_step, x, tuple(hx))
