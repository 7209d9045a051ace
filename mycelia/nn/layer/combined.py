"""Convolution or dense layer, batch norm and activation in one cell."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.nn.layer.activation import LeakyReLU, get_activation
from mycelia.nn.layer.conv import Conv2d
from mycelia.nn.layer.dense import Dense
from mycelia.nn.layer.normalization import BatchNorm1d, BatchNorm2d
from mycelia.tensor.tensor import Tensor


def _activation(given: Any, alpha: float) -> Any:
    """The activation of a name or as it is; alpha is a leaky ReLU's slope."""
    if given == "leakyrelu":
        return LeakyReLU(alpha)
    return get_activation(given) if isinstance(given, str) else given


class _Combined(Cell):
    def _finish(self, norm: Cell | None, activation: Any, alpha: float) -> None:
        self.has_bn = norm is not None
        if norm is not None:
            self.batchnorm = norm
        self.activation = _activation(activation, alpha)

    def _after(self, x: Tensor) -> Tensor:
        if self.has_bn:
            x = self.batchnorm(x)
        return x if self.activation is None else self.activation(x)


class Conv2dBnAct(_Combined):
    """Convolution, then batch norm if ``has_bn``, then an activation.

    Args:
        in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
            weight_init, bias_init: as of `Conv2d`.
        has_bn, momentum, eps: of the batch norm.
        activation: a name, a Cell or None.
        alpha: the slope of ``"leakyrelu"``.
        after_fake: accepted.
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
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bn: bool = False,
        momentum: float = 0.997,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.conv = Conv2d(
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
        )
        self._finish(BatchNorm2d(out_channels, eps, momentum) if has_bn else None, activation, alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self._after(self.conv(x))


class DenseBnAct(_Combined):
    """Dense layer, then batch norm if ``has_bn``, then an activation.

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias: as of `Dense`.
        has_bn, momentum, eps: of the batch norm.
        activation: a name, a Cell or None.
        alpha: the slope of ``"leakyrelu"``.
        after_fake: accepted.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        has_bn: bool = False,
        momentum: float = 0.9,
        eps: float = 1e-5,
        activation: Any = None,
        alpha: float = 0.2,
        after_fake: bool = True,
    ) -> None:
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self._finish(BatchNorm1d(out_channels, eps, momentum) if has_bn else None, activation, alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self._after(self.dense(x))
