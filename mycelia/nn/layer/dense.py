"""Fully connected layers."""

from __future__ import annotations

import math
from typing import Any

from mycelia.common.initializer import HeUniform, Uniform, initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.explanations import refusal_of_rows
from mycelia.nn.layer.activation import get_activation
from mycelia.ops.function.linear import dense
from mycelia.ops.function.shaping import reshape, transpose
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Dense(Cell):
    """``activation(x @ weight.T + bias)`` over the last axis of ``[..., in_channels]``.

    Args:
        in_channels, out_channels: extents of the last axis before and after.
        weight_init, bias_init: initializers, their names, or tensors; default: uniform within 1 /
            sqrt(in_channels).
        has_bias: whether to add a bias.
        activation: a name such as ``"relu"``, a Cell or another callable, or None.
        dtype: of the parameters.

    Raises:
        ValueError: numbers that are not positive, an unknown activation.

    Example:
        >>> Dense(3, 4)(Tensor(numpy.ones((2, 3), "f"))).shape
        (2, 4)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int("Dense", in_channels=in_channels, out_channels=out_channels)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, bool(has_bias)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight = Parameter(initializer(weight_init, (out_channels, in_channels), dtype), name="weight")
        if self.has_bias:
            if bias_init is None:
                bias_init = Uniform(1 / math.sqrt(in_channels))
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise TypeError(
                f"Dense: activation must be a name, a Cell or None. Received: {activation!r} (of type "
                f"{type(activation).__name__})"
            )

    def construct(self, x: Tensor) -> Tensor:
        y = dense(x, self.weight, self.bias if self.has_bias else None)
        return y if self.activation is None else self.activation(y)

    def refusal(self, *inputs: Any) -> str | None:
        return refusal_of_rows(self, inputs[0], self.in_channels, "in_channels") if inputs else None

    def extend_repr(self) -> str:
        text = (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"has_bias={self.has_bias}"
        )
        return text if self.activation is None else f"{text}, activation={self.activation}"


class Linear(Cell):
    """``x @ weight.T + bias`` over the last axis of ``[..., in_features]``; see `Dense`."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        positive_int("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features, self.has_bias = in_features, out_features, bool(bias)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, (out_features, in_features), dtype), name="weight")
        self.bias = None
        if bias:
            bias_init = Uniform(1 / math.sqrt(in_features)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_features,), dtype), name="bias")

    def construct(self, x: Tensor) -> Tensor:
        return dense(x, self.weight, self.bias)

    def refusal(self, *inputs: Any) -> str | None:
        return refusal_of_rows(self, inputs[0], self.in_features, "in_features") if inputs else None

    def extend_repr(self) -> str:
        features = f"input_features={self.in_features}, output_features={self.out_features}"
        return f"{features}, has_bias={self.has_bias}"


class BiDense(Cell):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k, over the last axes of ``[..., in1_channels]`` and ``[...,
    in2_channels]``.

    Args:
        in1_channels, in2_channels, out_channels: extents of the last axes.
        weight_init, bias_init: initializers, their names, or tensors; default: uniform within 1 /
            sqrt(in1_channels).
        has_bias: whether to add a bias.
        dtype: of the parameters.
    """

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int(
            "BiDense", in1_channels=in1_channels, in2_channels=in2_channels, out_channels=out_channels
        )
        self.in1_channels, self.in2_channels, self.out_channels = in1_channels, in2_channels, out_channels
        self.has_bias = bool(has_bias)
        draw = Uniform(1 / math.sqrt(in1_channels))
        shape = (out_channels, in1_channels, in2_channels)
        self.weight = Parameter(
            initializer(draw if weight_init is None else weight_init, shape, dtype), name="weight"
        )
        self.bias = None
        if has_bias:
            self.bias = Parameter(
                initializer(draw if bias_init is None else bias_init, (out_channels,), dtype), name="bias"
            )

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        lead = input1.shape[:-1]
        if input2.shape[:-1] != lead:
            raise ValueError(
                f"BiDense: inputs must agree but for the last axis. Received: {input1.shape} and "
                f"{input2.shape}"
            )
        a, b = reshape(input1, (-1, self.in1_channels)), reshape(input2, (-1, self.in2_channels))
        rows = reshape(transpose(self.weight, (0, 2, 1)), (-1, self.in1_channels))
        products = reshape(dense(a, rows), (a.shape[0], self.out_channels, self.in2_channels))
        y = (products * b.expand_dims(1)).sum(-1)
        return reshape(y if self.bias is None else y + self.bias, (*lead, self.out_channels))

    def extend_repr(self) -> str:
        return (
            f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
            f"output_channels={self.out_channels}, has_bias={self.has_bias}"
        )
