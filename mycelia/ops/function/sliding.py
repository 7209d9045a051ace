"""Windows that slide along the axes of a tensor, cut out and laid back: what convolution and pooling of any
number of axes are made of.

A window is a gather by a table of places, and laying windows back is that gather's adjoint, so that both have
native kernels and gradients already.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ops.composite import composite
from mycelia.ops.constants import constant
from mycelia.ops.function.shaping import extents, narrow, reshape
from mycelia.ops.indexing import Gather, GatherGrad
from mycelia.ops.movement import Pad, Transpose
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor

__all__ = ["fold", "unfold"]


def several(name: str, value: Any, what: str, count: int) -> tuple[int, ...]:
    """``count`` ints from one or from as many; of longer tuples (MindSpore's 4 and 5 for NCHW, NCDHW) the
    last."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * count
    if isinstance(value, (tuple, list)) and all(isinstance(v, int) and v is not True for v in value):
        if len(value) == 1:
            return (int(value[0]),) * count
        if len(value) in (count, count + 2):
            return tuple(int(v) for v in value[-count:])
    raise TypeError(
        f"{name}: {what} must be an int or a tuple of {count} ints. Received: {what}={value!r} (of type "
        f"{type(value).__name__})"
    )


def window_pads(
    name: str,
    pad_mode: str,
    padding: Any,
    size: Sequence[Any],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The padding of a pad mode, before and after each axis: ``"same"``, ``"valid"`` or ``"pad"`` by an int,
    one for each axis, or two for each axis.

    Raises:
        ValueError: another mode, or another number of paddings.
    """
    mode, count = str(pad_mode).lower(), len(kernel)
    if mode == "valid":
        return (0,) * (2 * count)
    if mode == "same":
        pads: list[int] = []
        for extent, k, s, d in zip(size, kernel, stride, dilation or (1,) * count):
            total = (-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent
            total = total if total > 0 else 0
            pads += [total // 2, total - total // 2]
        return tuple(pads)
    if mode != "pad":
        raise ValueError(
            f"{name}: pad_mode must be 'same', 'valid' or 'pad'. Received: pad_mode={pad_mode!r}"
        )
    numbers = (padding,) if isinstance(padding, int) else tuple(int(p) for p in padding)
    if len(numbers) == 1:
        numbers = numbers * (2 * count)
    elif len(numbers) == count:
        numbers = tuple(p for p in numbers for _ in range(2))
    if len(numbers) != 2 * count or min(numbers) < 0:
        raise ValueError(
            f"{name}: padding must be an int, {count} of them or {2 * count}, none negative. Received: "
            f"padding={padding!r}"
        )
    return numbers


def pairs(pads: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((pads[i], pads[i + 1]) for i in range(0, len(pads), 2))


def places(extent: int, kernel: int, stride: int, dilation: int = 1) -> np.ndarray:
    """Where the windows along an axis read: ``[windows, kernel]``."""
    count = (extent - dilation * (kernel - 1) - 1) // stride + 1
    return np.arange(max(count, 0))[:, None] * stride + np.arange(kernel) * dilation


def _require_fit(name: str, extent: Any, kernel: int, dilation: int) -> None:
    if isinstance(extent, int) and extent < dilation * (kernel - 1) + 1:
        raise ValueError(
            f"{name}: the window must fit into the padded input. Received: a window over "
            f"{dilation * (kernel - 1) + 1} of {extent} elements. Pad the input or use a smaller one"
        )


def windows(name: str, x: Tensor, kernel: Sequence[int], stride: Sequence[int], pads: Sequence[int],
            dilation: Sequence[int], value: float = 0.0, lead: int = 2) -> Tensor:
    """The windows over the axes after the first ``lead``: ``[n, c, d, h]`` becomes ``[n, c, windows_d,
    windows_h, kernel_d, kernel_h]``. Axes beyond those of the kernel stay as they are, at the end."""
    count = len(kernel)
    if any(pads):
        rest = ((0, 0),) * (x.ndim - lead - count)
        x = Pad(x, paddings=(*((0, 0),) * lead, *pairs(pads), *rest), value=value)
    for i in range(count):
        at = lead + 2 * i
        _require_fit(name, x.shape[at], kernel[i], dilation[i])
        table = places(int(x.shape[at]), kernel[i], stride[i], dilation[i])
        x = Gather(x, constant(table), axis=at)
    if count == 1:
        return x
    last = lead + 2 * count
    order = (*range(lead), *range(lead, last, 2), *range(lead + 1, last, 2), *range(last, x.ndim))
    return Transpose(x, perm=order)


def laid_back(x: Tensor, size: Sequence[int], stride: Sequence[int], pads: Sequence[int],
              dilation: Sequence[int], lead: int = 2) -> Tensor:
    """The adjoint of `windows`: ``[n, c, windows_d, windows_h, kernel_d, kernel_h]`` added up to ``[n, c,
    *size]``."""
    count = len(size)
    kernel = tuple(int(k) for k in x.shape[lead + count:lead + 2 * count])
    if count > 1:
        paired = (a for i in range(count) for a in (lead + i, lead + count + i))
        x = Transpose(x, perm=(*range(lead), *paired, *range(lead + 2 * count, x.ndim)))
    for i in reversed(range(count)):
        at = lead + 2 * i
        whole = int(size[i]) + pads[2 * i] + pads[2 * i + 1]
        table = places(whole, kernel[i], stride[i], dilation[i])
        x = GatherGrad(constant(table), x, axis=at, shape=(*x.shape[:at], whole, *x.shape[at + 2:]))
    for i in range(count):
        if pads[2 * i] or pads[2 * i + 1]:
            x = narrow(x, lead + i, pads[2 * i], size[i])
    return x


@composite
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images as columns.

    Args:
        input: ``[n, c, h, w]``.
        kernel_size, dilation, padding, stride: an int, or one for height and one for width.

    Returns:
        ``[n, c * kernel_h * kernel_w, windows]``.

    Raises:
        TypeError: no tensor, or settings of other types.
        ValueError: another number of axes, or a window that does not fit.

    Example:
        >>> unfold(Tensor(numpy.zeros((1, 2, 4, 4), "f")), 3).shape
        (1, 18, 4)
    """
    x, kernel, steps, pads, spread = _settings("unfold", input, kernel_size, dilation, padding, stride, (4,))
    cut = windows("unfold", x, kernel, steps, pads, spread)
    n, c, high, wide = cut.shape[:4]
    columns = Transpose(cut, perm=(0, 1, 4, 5, 2, 3))
    return reshape(columns, (n, c * kernel[0] * kernel[1], high * wide))


def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:
    """Adds columns of windows up to images: the adjoint of `unfold`.

    Args:
        input: ``[n, c * kernel_h * kernel_w, windows]``, or the same without n.
        output_size: (h, w) of the images.
        kernel_size, dilation, padding, stride: as of `unfold`.

    Returns:
        ``[n, c, h, w]``.

    Raises:
        ValueError: a number of rows or windows that does not match.
    """
    x, kernel, steps, pads, spread = _settings("fold", input, kernel_size, dilation, padding, stride, (2, 3))
    size = several("fold", extents("fold", output_size, "output_size"), "output_size", 2)
    single = x.ndim == 2
    x = reshape(x, (1, *x.shape)) if single else x
    grid = [len(places(size[i] + pads[2 * i] + pads[2 * i + 1], kernel[i], steps[i], spread[i]))
            for i in range(2)]
    n, rows, count = x.shape
    inner = kernel[0] * kernel[1]
    if rows % inner or count != grid[0] * grid[1]:
        raise ValueError(
            f"fold: the input must hold c * {inner} rows and {grid[0]} * {grid[1]} windows. Received: a "
            f"tensor of shape {input.shape} for kernel_size={kernel_size}, output_size={output_size}"
        )
    apart = reshape(x, (n, rows // inner, *kernel, *grid))
    y = laid_back(Transpose(apart, perm=(0, 1, 4, 5, 2, 3)), size, steps, pads, spread)
    return reshape(y, y.shape[1:]) if single else y


def _settings(name: str, x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any,
              ranks: tuple[int, ...]) -> tuple:
    x = require_tensor(name, x)
    if x.ndim not in ranks:
        raise ValueError(
            f"{name}: the input must have {' or '.join(map(str, ranks))} axes. Received: a tensor of shape "
            f"{x.shape}"
        )
    kernel, spread, steps = (
        several(name, value, what, 2)
        for value, what in ((kernel_size, "kernel_size"), (dilation, "dilation"), (stride, "stride"))
    )
    pads = window_pads(name, "pad", padding, x.shape[-2:], kernel, steps, spread)
    return x, kernel, steps, pads, spread
