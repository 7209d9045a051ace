"""Pooling along one to three axes."""

from __future__ import annotations

from typing import Any

from mycelia.nn.arguments import pad_mode, paddings, several
from mycelia.nn.cell import Cell
from mycelia.nn.explanations import refusal_of_windows
from mycelia.nn.function_cell import cell
from mycelia.ops.function import pools
from mycelia.tensor.tensor import Tensor


class _Pool(Cell):
    axes = 2

    def __init__(
        self,
        kernel_size: Any,
        stride: Any,
        mode: str,
        padding: Any,
        ceil_mode: bool,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__()
        if data_format != "NCHW":
            raise ValueError(
                f"{self.cls_name}: data_format must be 'NCHW'; graphs choose the fast layout themselves. "
                f"Received: {data_format!r}"
            )
        self.kernel_size = several(self.cls_name, "kernel_size", kernel_size, self.axes)
        self.stride = several(self.cls_name, "stride", stride, self.axes)
        self.padding = paddings(self.cls_name, padding, (self.axes,))
        self.pad_mode = pad_mode(self.cls_name, mode, self.padding)
        if ceil_mode and self.pad_mode != "pad":
            raise ValueError(
                f"{self.cls_name}: ceil_mode counts only with pad_mode='pad'. Received: ceil_mode=True, "
                f"pad_mode={mode!r}"
            )
        self.ceil_mode = bool(ceil_mode)
        sides = (self.padding,) * self.axes if isinstance(self.padding, int) else self.padding
        if any(p > k // 2 for p, k in zip(sides, self.kernel_size)):
            raise ValueError(
                f"{self.cls_name}: padding must be at most half of kernel_size. Received: padding={padding}, "
                f"kernel_size={kernel_size}"
            )

    def refusal(self, *inputs: Any) -> str | None:
        if not inputs:
            return None
        return refusal_of_windows(self, inputs[0], self.axes, self.kernel_size, self.padding)

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode.upper()}"


class _MaxPool(_Pool):
    """The largest element of each window.

    Args:
        kernel_size, stride: an int, or one for each axis.
        pad_mode: ``"valid"`` (the default), ``"same"``, or ``"pad"`` with ``padding`` an int or one for each
            axis.
        dilation: distance of the elements of a window, with ``pad_mode="pad"``.
        return_indices: also return where in its channel each largest element lies, with ``pad_mode="pad"``.
        ceil_mode: with ``pad_mode="pad"``, also take windows that reach over the end.

    Raises:
        ValueError: settings that need ``pad_mode="pad"`` without it, or a number out of range.
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        self.dilation = several(self.cls_name, "dilation", dilation, self.axes)
        self.return_indices = bool(return_indices)
        if self.pad_mode != "pad" and (return_indices or max(self.dilation) > 1):
            raise ValueError(
                f"{self.cls_name}: dilation and return_indices count only with pad_mode='pad'. Received: "
                f"dilation={dilation}, return_indices={return_indices}, pad_mode={pad_mode!r}"
            )

    def construct(self, x: Tensor) -> Any:
        return _BY_AXES["max", self.axes](
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            dilation=self.dilation,
            return_indices=self.return_indices,
            ceil_mode=self.ceil_mode,
            pad_mode=self.pad_mode,
        )


class MaxPool1d(_MaxPool):
    """Windows of rows ``[n, c, length]`` or ``[c, length]``."""

    axes = 1


class MaxPool2d(_MaxPool):
    """Windows of images ``[n, c, h, w]``."""


class MaxPool3d(_MaxPool):
    """Windows of volumes ``[n, c, d, h, w]``."""

    axes = 3


class _AvgPool(_Pool):
    """The mean of each window.

    Args:
        kernel_size, stride, pad_mode, padding, ceil_mode: as of `MaxPool2d`.
        count_include_pad: whether padding zeros count as elements.
        divisor_override: divide by this instead of by the number of elements.
    """

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        if divisor_override is not None and (type(divisor_override) is not int or divisor_override <= 0):
            raise ValueError(
                f"{self.cls_name}: divisor_override must be a positive int or None. Received: "
                f"{divisor_override!r}"
            )
        self.count_include_pad, self.divisor_override = bool(count_include_pad), divisor_override

    def construct(self, x: Tensor) -> Tensor:
        return _BY_AXES["avg", self.axes](
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override or 0,
            pad_mode=self.pad_mode,
        )


class AvgPool1d(_AvgPool):
    """Windows of rows ``[n, c, length]`` or ``[c, length]``."""

    axes = 1


class AvgPool2d(_AvgPool):
    """Windows of images ``[n, c, h, w]``."""


class AvgPool3d(_AvgPool):
    """Windows of volumes ``[n, c, d, h, w]``."""

    axes = 3


def _max_pool3d(x: Any, *args: Any, pad_mode: str, padding: Any = 0, **settings: Any) -> Any:
    from mycelia.ops.function.sliding import window_pads

    kernel, stride, padding = args
    dilation = settings["dilation"]
    if pad_mode == "pad":
        return pools.max_pool3d(x, kernel, stride, padding, **settings)
    pads = window_pads("MaxPool3d", pad_mode, 0, x.shape[-3:], kernel, stride, dilation)
    if any(pads):
        from mycelia.ops.movement import Pad

        lead = ((0, 0),) * (x.ndim - 3)
        low = -float("inf") if x.dtype.is_float else 0
        x = Pad(x, paddings=(*lead, *zip(pads[::2], pads[1::2])), value=low)
    return pools.max_pool3d(x, kernel, stride, 0, **settings)


_BY_AXES = {
    ("max", 1): pools.max_pool1d,
    ("max", 2): pools.max_pool2d,
    ("max", 3): _max_pool3d,
    ("avg", 1): pools.avg_pool1d,
    ("avg", 2): pools.avg_pool2d,
    ("avg", 3): pools.avg_pool3d,
}

AdaptiveAvgPool1d = cell("AdaptiveAvgPool1d", pools.adaptive_avg_pool1d)
AdaptiveAvgPool2d = cell("AdaptiveAvgPool2d", pools.adaptive_avg_pool2d)
AdaptiveAvgPool3d = cell("AdaptiveAvgPool3d", pools.adaptive_avg_pool3d)
AdaptiveMaxPool1d = cell("AdaptiveMaxPool1d", pools.adaptive_max_pool1d, only="output_size")
AdaptiveMaxPool2d = cell("AdaptiveMaxPool2d", pools.adaptive_max_pool2d)
AdaptiveMaxPool3d = cell("AdaptiveMaxPool3d", pools.adaptive_max_pool3d)
LPPool1d = cell("LPPool1d", pools.lp_pool1d)
LPPool2d = cell("LPPool2d", pools.lp_pool2d)


def _unpooled(axes: int) -> type[Cell]:
    compute = getattr(pools, f"max_unpool{axes}d")

    class MaxUnpool(Cell):
        """The elements of a max pooling back at their places, zeros elsewhere.

        Args:
            kernel_size, stride, padding: of the pooling.
        """

        def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
            super().__init__()
            self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

        def construct(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
            return compute(x, indices, self.kernel_size, self.stride, self.padding, output_size)

        def extend_repr(self) -> str:
            return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"

    MaxUnpool.__name__ = MaxUnpool.__qualname__ = f"MaxUnpool{axes}d"
    return MaxUnpool


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = (_unpooled(axes) for axes in (1, 2, 3))

_EXT = "kernel_size stride padding ceil_mode count_include_pad"
AvgPool1dExt = cell("AvgPool1dExt", pools.avg_pool1d, only=_EXT, stride=None)
AvgPool2dExt = cell("AvgPool2dExt", pools.avg_pool2d, only=f"{_EXT} divisor_override", stride=None)
AvgPool3dExt = cell("AvgPool3dExt", pools.avg_pool3d, only=f"{_EXT} divisor_override", stride=None)
MaxPool2dExt = cell(
    "MaxPool2dExt",
    pools.max_pool2d,
    only="kernel_size stride padding dilation return_indices ceil_mode",
    kernel_size=1,
)
