"""Fully connected layers, dropout, reshaping."""

from __future__ import annotations

import math
from typing import Any

from mycelia.common.initializer import HeUniform, Uniform, initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.layer.activation import get_activation
from mycelia.ops.function.drawing import dropout
from mycelia.ops.function.linear import dense
from mycelia.ops.function.shaping import flatten
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

    def extend_repr(self) -> str:
        text = (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"has_bias={self.has_bias}"
        )
        return text if self.activation is None else f"{text}, activation={self.activation}"


class Dropout(Cell):
    """While training each element is 0 with probability ``p``, and the others grow by 1 / (1 - p); else
    nothing changes.

    Args:
        keep_prob: 1 - p, the older spelling; counts where ``p`` is None.
        p: share of elements to drop, in [0, 1).
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = float32) -> None:
        super().__init__()
        for name, value in (("keep_prob", keep_prob), ("p", p)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
                raise TypeError(
                    f"Dropout: {name} must be a number. Received: {name}={value!r} (of type "
                    f"{type(value).__name__})"
                )
        if p is not None and not 0 <= p < 1:
            raise ValueError(f"Dropout: p must be in [0, 1). Received: p={p}")
        if p is None and not 0 < keep_prob <= 1:
            raise ValueError(f"Dropout: keep_prob must be in (0, 1]. Received: keep_prob={keep_prob}")
        self.keep_prob, self.p = keep_prob, p
        self.share = float(1 - keep_prob if p is None else p)

    def construct(self, x: Tensor) -> Tensor:
        return dropout(x, self.share) if self.training and self.share else x

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class Flatten(Cell):
    """Merges the axes from ``start_dim`` to ``end_dim`` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        return flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """Gives back its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, x: Any) -> Any:
        return x
