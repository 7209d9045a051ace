"""Pooling of images."""

from __future__ import annotations

from typing import Any

from mycelia.nn.arguments import nchw, pad_mode, paddings, pair
from mycelia.nn.cell import Cell
from mycelia.ops.function.images import adaptive_avg_pool2d, adaptive_max_pool2d, avg_pool2d, max_pool2d
from mycelia.tensor.tensor import Tensor


class _Pool(Cell):
    def __init__(
        self, kernel_size: Any, stride: Any, mode: str, padding: Any, ceil_mode: bool, data_format: str
    ) -> None:
        super().__init__()
        nchw(self.cls_name, data_format)
        self.kernel_size = pair(self.cls_name, "kernel_size", kernel_size)
        self.stride = pair(self.cls_name, "stride", stride)
        self.padding = paddings(self.cls_name, padding, (2,))
        self.pad_mode = pad_mode(self.cls_name, mode, self.padding)
        if ceil_mode and self.pad_mode != "pad":
            raise ValueError(
                f"{self.cls_name}: ceil_mode counts only with pad_mode='pad'. Received: ceil_mode=True, "
                f"pad_mode={mode!r}"
            )
        self.ceil_mode = bool(ceil_mode)
        sides = (self.padding, self.padding) if isinstance(self.padding, int) else self.padding
        if any(p > k // 2 for p, k in zip(sides, self.kernel_size)):
            raise ValueError(
                f"{self.cls_name}: padding must be at most half of kernel_size. Received: padding={padding}, "
                f"kernel_size={kernel_size}"
            )

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode.upper()}"


class MaxPool2d(_Pool):
    """The largest element of each window of images ``[n, c, h, w]``.

    Args:
        kernel_size, stride: an int, or two for height and width.
        pad_mode: ``"valid"`` (the default), ``"same"``, or ``"pad"`` with ``padding`` an int or two.
        dilation: must be 1.
        return_indices: must be False.
        ceil_mode: with ``pad_mode="pad"``, also take windows that reach over the end.

    Raises:
        ValueError: padding without ``pad_mode="pad"``, or a number out of range.
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
        if pair("MaxPool2d", "dilation", dilation) != (1, 1) or return_indices:
            raise NotImplementedError(
                f"MaxPool2d: dilation must be 1 and return_indices False. Received: dilation={dilation}, "
                f"return_indices={return_indices}"
            )

    def construct(self, x: Tensor) -> Tensor:
        return max_pool2d(
            x, self.kernel_size, self.stride, self.padding, ceil_mode=self.ceil_mode, pad_mode=self.pad_mode
        )


class AvgPool2d(_Pool):
    """The mean of each window of images ``[n, c, h, w]``.

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
                f"AvgPool2d: divisor_override must be a positive int or None. Received: {divisor_override!r}"
            )
        self.count_include_pad, self.divisor_override = bool(count_include_pad), divisor_override

    def construct(self, x: Tensor) -> Tensor:
        return avg_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override or 0,
            pad_mode=self.pad_mode,
        )


class AdaptiveAvgPool2d(Cell):
    """The means of ``output_size`` pieces of the last two axes; None keeps an axis."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = tuple(output_size) if isinstance(output_size, (tuple, list)) else output_size

    def construct(self, x: Tensor) -> Tensor:
        return adaptive_avg_pool2d(x, self.output_size)


class AdaptiveMaxPool2d(Cell):
    """The largest elements of ``output_size`` pieces of the last two axes; None keeps an axis."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = tuple(output_size) if isinstance(output_size, (tuple, list)) else output_size

    def construct(self, x: Tensor) -> Tensor:
        return adaptive_max_pool2d(x, self.output_size)
