"""Convolutions and their adjoints along one to three axes."""

from __future__ import annotations

import math
from typing import Any

from mycelia.common.initializer import HeUniform, Uniform, initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn import arguments
from mycelia.nn.arguments import paddings, positive_int, several
from mycelia.nn.cell import Cell
from mycelia.nn.explanations import refusal_of_images
from mycelia.ops.function import convolving
from mycelia.ops.function.shaping import reshape
from mycelia.ops.movement import Pad
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class _Convolution(Cell):
    """What all convolutions share.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size, stride, dilation: an int, or one for each axis.
        pad_mode: ``"same"`` (the default: outputs are inputs over stride), ``"valid"``, or ``"pad"`` with
            ``padding`` an int or (before, after) of each axis.
        group: groups of channels that do not mix.
        has_bias: whether to add a bias for each output channel.
        weight_init, bias_init: initializers, their names, or tensors; default: uniform within 1 /
            sqrt(fan_in).
        data_format: channels second, ``"NCHW"`` or ``"NCDHW"``.
        dtype: of the parameters.

    Raises:
        ValueError: a number out of range, padding without ``pad_mode="pad"``, or channels that the groups do
            not divide.
        TypeError: arguments of other types.
    """

    axes = 2
    layout = "NCHW"
    adjoint = False

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
        data_format: str | None = None,
        dtype: DType = float32,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        name = self.cls_name
        positive_int(name, in_channels=in_channels, out_channels=out_channels, group=group)
        if data_format not in (None, self.layout):
            raise ValueError(
                f"{name}: data_format must be {self.layout!r}; graphs choose the fast layout themselves. "
                f"Received: {data_format!r}"
            )
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = several(name, "kernel_size", kernel_size, self.axes)
        self.stride = several(name, "stride", stride, self.axes)
        self.dilation = several(name, "dilation", dilation, self.axes)
        self.padding = paddings(name, padding, (2 * self.axes,) if self.axes > 1 else ())
        self.pad_mode = arguments.pad_mode(name, pad_mode, self.padding)
        self.output_padding = several(name, "output_padding", output_padding, self.axes, least=0)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise ValueError(
                f"{name}: output_padding counts only with pad_mode='pad'. Received: "
                f"output_padding={output_padding}, pad_mode={pad_mode!r}"
            )
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"{name}: group must divide in_channels and out_channels. Received: group={group}, "
                f"in_channels={in_channels}, out_channels={out_channels}"
            )
        if self.axes == 1:  # an image of one row, as checkpoints have it
            self.kernel_size, self.stride, self.dilation = (
                (1, *values) for values in (self.kernel_size, self.stride, self.dilation)
            )
            self.padding = (0, 0, self.padding, self.padding)
        channels = (out_channels, in_channels // group)
        if self.adjoint:
            channels = (in_channels, out_channels // group)
        shape = (*channels, *self.kernel_size)
        self.weight = Parameter(
            initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype),
            name="weight",
        )
        self.has_bias = bool(has_bias)
        self.bias = None
        if self.has_bias:
            bound = 1 / math.sqrt(math.prod(shape[1:]))
            self.bias = Parameter(
                initializer(Uniform(bound) if bias_init is None else bias_init, (out_channels,), dtype),
                name="bias",
            )

    def construct(self, x: Tensor) -> Tensor:
        if self.axes == 1 and x.ndim == 3:
            y = self.convolved(reshape(x, (*x.shape[:2], 1, x.shape[2])))
            return reshape(y, (*y.shape[:2], y.shape[3]))
        return self.convolved(x)

    def convolved(self, x: Tensor) -> Tensor:
        """The convolution of an image or volume."""
        compute = convolving.conv3d if self.axes == 3 else convolving.conv2d
        return compute(
            x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group
        )

    def refusal(self, *inputs: Any) -> str | None:
        return refusal_of_images(self, inputs[0], self.in_channels, self.axes) if inputs else None

    def extend_repr(self) -> str:
        shown = {
            "input_channels": self.in_channels,
            "output_channels": self.out_channels,
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "pad_mode": self.pad_mode,
            "padding": self.padding,
            "dilation": self.dilation,
            "group": self.group,
            "has_bias": self.has_bias,
        }
        return ", ".join(f"{key}={value}" for key, value in shown.items())


class Conv1d(_Convolution):
    """Convolution of rows ``[n, in_channels, length]``; arguments as of `Conv2d`, ints throughout."""

    axes = 1

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
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            None,
            dtype,
        )


class Conv2d(_Convolution):
    """Convolution of images ``[n, in_channels, h, w]``.

    Example:
        >>> layer = Conv2d(3, 64, 7, stride=2, pad_mode="pad", padding=3)
        >>> layer(Tensor(numpy.zeros((1, 3, 224, 224), "f"))).shape
        (1, 64, 112, 112)
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
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )


class Conv3d(_Convolution):
    """Convolution of volumes ``[n, in_channels, d, h, w]``."""

    axes = 3
    layout = "NCDHW"

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
        data_format: str = "NCDHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
        )


class _Adjoint(_Convolution):
    """The adjoint of a convolution; with ``pad_mode="same"`` outputs are inputs times stride.
    ``output_padding`` adds zeros at the ends, with ``pad_mode="pad"``."""

    adjoint = True

    def convolved(self, x: Tensor) -> Tensor:
        y = convolving.transposed(
            x, self.weight, self.stride, self.pad_mode, self.padding, self.dilation, self.group
        )
        if any(self.output_padding):
            y = Pad(y, paddings=((0, 0), (0, 0), *((0, extra) for extra in self.output_padding)), value=0)
        return y if self.bias is None else y + reshape(self.bias, (1, -1, *(1,) * (y.ndim - 2)))


class Conv1dTranspose(_Adjoint):
    """The adjoint of `Conv1d`, from ``[n, in_channels, length]``."""

    axes = 1

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
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            None,
            dtype,
        )


class Conv2dTranspose(_Adjoint):
    """The adjoint of `Conv2d`, from ``[n, in_channels, h, w]``."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            None,
            dtype,
            output_padding,
        )


class Conv3dTranspose(_Adjoint):
    """The adjoint of `Conv3d`, from ``[n, in_channels, d, h, w]``."""

    axes = 3
    layout = "NCDHW"

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
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            data_format,
            dtype,
            output_padding,
        )
