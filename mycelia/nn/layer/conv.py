"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from mycelia.common.initializer import HeUniform, Uniform, initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn import arguments
from mycelia.nn.arguments import nchw, paddings, pair, positive_int
from mycelia.nn.cell import Cell
from mycelia.ops.function.images import conv2d
from mycelia.ops.function.shaping import reshape
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Conv2d(Cell):
    """Two-dimensional convolution of images ``[n, in_channels, h, w]``.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size, stride, dilation: an int, or two for height and width.
        pad_mode: ``"same"`` (the default: outputs are inputs over stride), ``"valid"``, or ``"pad"`` with
            ``padding`` an int or (top, bottom, left, right).
        group: groups of channels that do not mix.
        has_bias: whether to add a bias for each output channel.
        weight_init, bias_init: initializers, their names, or tensors; default: uniform within 1 /
            sqrt(fan_in).
        data_format: ``"NCHW"``.
        dtype: of the parameters.

    Raises:
        ValueError: a number out of range, padding without ``pad_mode="pad"``, or channels that the groups do
            not divide.
        TypeError: arguments of other types.

    Example:
        >>> Conv2d(3, 64, 7, stride=2, pad_mode="pad", padding=3)(Tensor(numpy.zeros((1, 3, 224, 224),
        "f"))).shape (1, 64, 112, 112)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int("Conv2d", in_channels=in_channels, out_channels=out_channels, group=group)
        nchw("Conv2d", data_format)
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = pair("Conv2d", "kernel_size", kernel_size)
        self.stride = pair("Conv2d", "stride", stride)
        self.dilation = pair("Conv2d", "dilation", dilation)
        self.padding = paddings("Conv2d", padding, (4,))
        self.pad_mode = arguments.pad_mode("Conv2d", pad_mode, self.padding)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"Conv2d: group must divide in_channels and out_channels. Received: group={group}, "
                f"in_channels={in_channels}, out_channels={out_channels}"
            )
        shape = (out_channels, in_channels // group, *self.kernel_size)
        self.weight = Parameter(
            initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype),
            name="weight",
        )
        self.has_bias = bool(has_bias)
        if self.has_bias:
            bound = 1 / math.sqrt(math.prod(shape[1:]))
            self.bias = Parameter(
                initializer(Uniform(bound) if bias_init is None else bias_init, (out_channels,), dtype),
                name="bias",
            )

    def construct(self, x: Tensor) -> Tensor:
        return conv2d(
            x,
            self.weight,
            self.bias if self.has_bias else None,
            self.stride,
            self.pad_mode,
            self.padding,
            self.dilation,
            self.group,
        )

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, "
            f"dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}"
        )


class Conv1d(Cell):
    """One-dimensional convolution of ``[n, in_channels, length]``; arguments as of `Conv2d`, ints
    throughout."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int(
            "Conv1d",
            in_channels=in_channels,
            out_channels=out_channels,
            kernel_size=kernel_size,
            stride=stride,
            dilation=dilation,
            group=group,
        )
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size, self.stride, self.dilation = (1, kernel_size), (1, stride), (1, dilation)
        padding = paddings("Conv1d", padding, ())
        self.pad_mode = arguments.pad_mode("Conv1d", pad_mode, padding)
        self.padding = (0, 0, padding, padding)
        shape = (out_channels, in_channels // group, *self.kernel_size)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        self.has_bias = bool(has_bias)
        if self.has_bias:
            bound = 1 / math.sqrt(math.prod(shape[1:]))
            self.bias = Parameter(
                initializer(Uniform(bound) if bias_init is None else bias_init, (out_channels,), dtype),
                name="bias",
            )

    def construct(self, x: Tensor) -> Tensor:
        rows = reshape(x, (*x.shape[:2], 1, x.shape[2]))
        y = conv2d(
            rows,
            self.weight,
            self.bias if self.has_bias else None,
            self.stride,
            self.pad_mode,
            self.padding,
            self.dilation,
            self.group,
        )
        return reshape(y, (*y.shape[:2], y.shape[3]))

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size[1]}, "
            f"stride={self.stride[1]}, pad_mode={self.pad_mode}, has_bias={self.has_bias}"
        )
