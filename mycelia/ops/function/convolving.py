"""Convolution along one, two and three axes, and its adjoint.

All are the two-dimensional operator: a sequence is an image of one row, and of a volume the windows along its
depth become channels.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.ops.composite import composite
from mycelia.ops.convolution import Conv2D, Conv2DInputGrad
from mycelia.ops.function.shaping import reshape
from mycelia.ops.function.sliding import laid_back, several, window_pads, windows
from mycelia.ops.movement import Transpose
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]


def _biased(y: Tensor, bias: Any) -> Tensor:
    if bias is None:
        return y
    return y + reshape(bias, (1, bias.shape[0], *(1,) * (y.ndim - 2)))


def _require(name: str, x: Any, w: Any, axes: int) -> tuple[Tensor, Tensor, bool]:
    """The input with a batch axis, the weight, and whether the batch axis was added."""
    x, w = require_tensor(name, x), require_tensor(name, w, "weight")
    single = x.ndim == axes + 1
    if w.ndim != axes + 2 or x.ndim not in (axes + 1, axes + 2):
        raise ValueError(
            f"{name}: the input must have {axes + 2} axes, [n, c, ...], and the weight as many. Received: "
            f"{x.type} and {w.type}"
        )
    return (reshape(x, (1, *x.shape)) if single else x), w, single


def _as_image(x: Tensor) -> Tensor:
    return reshape(x, (*x.shape[:2], 1, x.shape[2]))


def _forward(x: Tensor, w: Tensor, stride: Sequence[int], pads: Sequence[int], dilation: Sequence[int],
             groups: int) -> Tensor:
    """The convolution along as many axes as there are strides."""
    if len(stride) == 1:
        y = Conv2D(
            _as_image(x), _as_image(w), stride=(1, *stride), pads=(0, 0, *pads), dilation=(1, *dilation),
            groups=groups,
        )
        return reshape(y, (*y.shape[:2], y.shape[3]))
    how = {"stride": tuple(stride[-2:]), "pads": tuple(pads[-4:]), "dilation": tuple(dilation[-2:])}
    if len(stride) == 2:
        return Conv2D(x, w, groups=groups, **how)
    n, c = x.shape[:2]
    cut = windows("conv3d", x, w.shape[2:3], stride[:1], pads[:2], dilation[:1])  # [n, c, deep, kernel, h, w]
    deep, kernel = cut.shape[2:4]
    images = reshape(Transpose(cut, perm=(0, 2, 1, 3, 4, 5)), (n * deep, c * kernel, *x.shape[3:]))
    y = Conv2D(images, _depth_as_channels(w), groups=groups, **how)
    return Transpose(reshape(y, (n, deep, *y.shape[1:])), perm=(0, 2, 1, 3, 4))


def _depth_as_channels(w: Tensor) -> Tensor:
    return reshape(w, (w.shape[0], w.shape[1] * w.shape[2], *w.shape[3:]))


def _adjoint(dy: Tensor, w: Tensor, size: Sequence[Any], stride: Sequence[int], pads: Sequence[int],
             dilation: Sequence[int], groups: int) -> Tensor:
    """What `_forward` with this weight would give ``dy``'s shape for: ``[n, c, *size]``."""
    channels = w.shape[1] * groups
    if len(stride) == 1:
        y = Conv2DInputGrad(
            _as_image(dy), _as_image(w), input_shape=(dy.shape[0], channels, 1, *size), stride=(1, *stride),
            pads=(0, 0, *pads), dilation=(1, *dilation), groups=groups,
        )
        return reshape(y, (*y.shape[:2], y.shape[3]))
    how = {"stride": tuple(stride[-2:]), "pads": tuple(pads[-4:]), "dilation": tuple(dilation[-2:])}
    if len(stride) == 2:
        return Conv2DInputGrad(dy, w, input_shape=(dy.shape[0], channels, *size), groups=groups, **how)
    n, out, deep = dy.shape[:3]
    kernel = w.shape[2]
    images = reshape(Transpose(dy, perm=(0, 2, 1, 3, 4)), (n * deep, out, *dy.shape[3:]))
    y = Conv2DInputGrad(
        images, _depth_as_channels(w), input_shape=(n * deep, channels * kernel, *size[1:]), groups=groups,
        **how,
    )
    apart = Transpose(reshape(y, (n, deep, channels, kernel, *size[1:])), perm=(0, 2, 1, 3, 4, 5))
    return laid_back(apart, size[:1], stride[:1], pads[:2], dilation[:1])


def _convolution(axes: int) -> Any:
    name, shape = f"conv{axes}d", ["d", "h", "w"][3 - axes:]

    @composite
    def conv(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        x, w, single = _require(name, input, weight, axes)
        steps, spread = (several(name, stride, "stride", axes), several(name, dilation, "dilation", axes))
        pads = window_pads(name, pad_mode, padding, x.shape[2:], w.shape[2:], steps, spread)
        y = _biased(_forward(x, w, steps, pads, spread, int(groups)), bias)
        return reshape(y, y.shape[1:]) if single else y

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""Convolution along {axes} {'axis' if axes == 1 else 'axes'} (cross-correlation, as \
networks mean it).

    Args:
        input: ``[n, c, {', '.join(shape)}]``, or the same without n.
        weight: ``[out, c / groups, {', '.join('k' + s for s in shape)}]``.
        bias: ``[out]``, or None.
        stride, dilation: an int, or one for each axis.
        pad_mode: ``"valid"``, ``"same"`` (as many outputs as inputs over stride) or ``"pad"`` by ``padding``.
        padding: an int, one for each axis, or two (before, after) for each axis.
        groups: groups of channels that do not mix.

    Returns:
        ``[n, out, ...]``.

    Raises:
        TypeError: element types that differ.
        ValueError: shapes that do not fit.
    """
    return conv


def _transposed(axes: int) -> Any:
    name = f"conv_transpose{axes}d"

    @composite
    def conv(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        x, w, single = _require(name, input, weight, axes)
        steps, spread, extra = (
            several(name, value, what, axes)
            for value, what in (
                (stride, "stride"), (dilation, "dilation"), (output_padding, "output_padding")
            )
        )
        if any(e and e >= max(s, d) for e, s, d in zip(extra, steps, spread)):
            raise ValueError(
                f"{name}: output_padding must be smaller than stride or dilation. Received: "
                f"output_padding={output_padding}, stride={stride}, dilation={dilation}"
            )
        pads = window_pads(name, "pad", padding, x.shape[2:], w.shape[2:], steps, spread)
        size = tuple(
            (x.shape[2 + i] - 1) * steps[i]
            - pads[2 * i]
            - pads[2 * i + 1]
            + spread[i] * (w.shape[2 + i] - 1)
            + 1
            + extra[i]
            for i in range(axes)
        )
        y = _biased(_adjoint(x, w, size, steps, pads, spread, int(groups)), bias)
        return reshape(y, y.shape[1:]) if single else y

    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = f"""The adjoint of `conv{axes}d`: its input grows by the stride.

    Args:
        input: ``[n, c, ...]``, or the same without n.
        weight: ``[c, out / groups, ...]``.
        bias: ``[out]``, or None.
        stride, dilation, padding: an int, or one for each axis.
        output_padding: elements more at the end of each axis; smaller than stride or dilation.
        groups: groups of channels that do not mix.

    Raises:
        ValueError: shapes that do not fit.
    """
    return conv


conv1d, conv2d, conv3d = _convolution(1), _convolution(2), _convolution(3)
conv_transpose1d, conv_transpose2d, conv_transpose3d = _transposed(1), _transposed(2), _transposed(3)
conv2d_transpose = conv_transpose2d


@composite
def conv3d_transpose(
    inputs: Any,
    weight: Any,
    pad_mode: str = "valid",
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
) -> Tensor:
    """`conv_transpose3d` in MindSpore's older order of parameters, with a pad mode.

    Raises:
        ValueError: shapes that do not fit.
    """
    x, w, _ = _require("conv3d_transpose", inputs, weight, 3)
    steps, spread = (
        several("conv3d_transpose", stride, "stride", 3), several("conv3d_transpose", dilation, "dilation", 3)
    )
    return transposed(x, w, steps, pad_mode, padding, spread, group, output_padding)


def transposed(x: Tensor, w: Tensor, stride: Sequence[int], pad_mode: str, padding: Any,
               dilation: Sequence[int], groups: int, output_padding: Any = 0) -> Tensor:
    """The adjoint of a convolution by its pad mode: with ``"same"`` outputs are inputs times stride."""
    axes = len(stride)
    extra = several("conv_transpose", output_padding, "output_padding", axes)
    mode = str(pad_mode).lower()
    spans = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation)]
    if mode == "same":
        size = tuple(x.shape[2 + i] * stride[i] for i in range(axes))
        pads = window_pads("conv_transpose", "same", 0, size, w.shape[2:], stride, dilation)
    else:
        pads = window_pads("conv_transpose", pad_mode, padding, x.shape[2:], w.shape[2:], stride, dilation)
        size = tuple(
            (x.shape[2 + i] - 1) * stride[i] + spans[i] - pads[2 * i] - pads[2 * i + 1] + extra[i]
            for i in range(axes)
        )
    return _adjoint(x, w, size, stride, pads, dilation, int(groups))


@composite
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Tensor:
    """`conv1d` of ``[time, batch, channels]`` with a weight ``[k, channels, out]``."""
    y = conv1d(
        Transpose(input, perm=(1, 2, 0)), Transpose(weight, perm=(2, 1, 0)), bias, 1, "pad", (pad, pad)
    )
    return Transpose(y, perm=(2, 0, 1))
