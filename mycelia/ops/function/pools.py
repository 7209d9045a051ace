"""Pooling along one, two and three axes: by windows, or into a given number of pieces.

All are the two-dimensional operators: a sequence is an image of one row, and a volume is pooled within its
slices first, then along its depth, which maxima and means over boxes allow.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir.dtypes import int32, int64
from mycelia.ops import pooling
from mycelia.ops.activation import ReLU
from mycelia.ops.arithmetic import Abs, Maximum, Pow, Sign
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.function.shaping import broadcast_to, cat, expand_dims, narrow, reshape
from mycelia.ops.function.sliding import pairs, several, window_pads, windows
from mycelia.ops.indexing import Gather, GatherD, GatherDGrad
from mycelia.ops.movement import Pad
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.reduction import ArgMax, ReduceMax, ReduceMean
from mycelia.tensor.tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


Extents = tuple[int, ...]


def _settled(name: str, axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, pad_mode: str,
             ceil_mode: bool) -> tuple[Tensor, bool, Extents, Extents, Extents, Extents]:
    """The input with its batch axis, whether that was added, kernel, steps, paddings, and the paddings grown
    for the windows that ceil mode adds."""
    x = require_tensor(name, x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ValueError(
            f"{name}: the input must have {axes + 1} or {axes + 2} axes. Received: a tensor of shape "
            f"{x.shape}"
        )
    single = x.ndim == axes + 1
    x = reshape(x, (1, *x.shape)) if single else x
    kernel = several(name, kernel_size, "kernel_size", axes)
    steps = kernel if stride is None else several(name, stride, "stride", axes)
    if min(kernel) < 1 or min(steps) < 1:
        raise ValueError(
            f"{name}: kernel_size and stride must be positive. Received: kernel_size={kernel_size}, "
            f"stride={stride}"
        )
    pads = window_pads(name, pad_mode, padding, x.shape[2:], kernel, steps)
    grown = _rounded_up(x.shape[2:], kernel, steps, pads) if ceil_mode else pads
    return x, single, kernel, steps, pads, grown


def _rounded_up(size: Sequence[Any], kernel: Sequence[int], stride: Sequence[int], pads: Sequence[int],
                dilation: Sequence[int] | None = None) -> tuple[int, ...]:
    """Padding after each axis so that windows which begin within it all count."""
    grown = list(pads)
    for i, k in enumerate(kernel):
        width = (dilation[i] if dilation else 1) * (k - 1) + 1
        span = size[i] + pads[2 * i] + pads[2 * i + 1]
        count = -(-(span - width) // stride[i]) + 1
        if (count - 1) * stride[i] >= size[i] + pads[2 * i]:
            count -= 1
        more = (count - 1) * stride[i] + width - span
        grown[2 * i + 1] += more if more > 0 else 0
    return tuple(grown)


def _along_images(x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], pads: tuple[int, ...],
                  pool: Any) -> Tensor:
    """``pool(images, kernel_size=, stride=, pads=)`` along one to three axes of ``[n, c, ...]``."""
    lead, size = x.shape[:2], x.shape[2:]
    if len(kernel) == 1:
        y = pool(
            reshape(x, (*lead, 1, *size)), kernel_size=(1, *kernel), stride=(1, *stride), pads=(0, 0, *pads)
        )
        return reshape(y, (*lead, y.shape[3]))
    if len(kernel) == 2:
        return pool(x, kernel_size=kernel, stride=stride, pads=pads)
    slices = reshape(x, (lead[0], lead[1] * size[0], *size[1:]))
    y = pool(slices, kernel_size=kernel[1:], stride=stride[1:], pads=pads[2:])
    high, wide = y.shape[2:]
    y = reshape(y, (*lead, size[0], high * wide))
    y = pool(y, kernel_size=(kernel[0], 1), stride=(stride[0], 1), pads=(*pads[:2], 0, 0))
    return reshape(y, (*lead, y.shape[2], high, wide))


# -- maxima --------------------------------------------------------------------------------------------------
def max_with_indices(name: str, x: Tensor, kernel: Sequence[int], stride: Sequence[int], pads: Sequence[int],
                     dilation: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The largest element of each window of ``[n, c, ...]``, and its place (int64) among the flattened last
    axes."""
    from mycelia.ops.control import StopGradient

    axes, (n, c), size = len(kernel), x.shape[:2], x.shape[2:]
    cut = windows(name, StopGradient(x), kernel, stride, pads, dilation, -math.inf)
    grid = cut.shape[2:2 + axes]
    inner = ArgMax(reshape(cut, (n, c, *grid, math.prod(kernel))), axis=2 + axes, keepdims=False, dtype=int64)
    place: Any = None
    for i in range(axes):
        within = inner // math.prod(kernel[i + 1:]) % kernel[i]
        starts = np.arange(grid[i]) * stride[i] - pads[2 * i]
        line = constant(starts.reshape((-1,) + (1,) * (axes - 1 - i)))
        at = within * dilation[i] + line
        place = at if place is None else place * size[i] + at
    flat = reshape(place, (n, c, math.prod(grid)))
    values = GatherD(reshape(x, (n, c, math.prod(size))), flat, axis=2)
    return reshape(values, (n, c, *grid)), reshape(flat, (n, c, *grid))


def _max_pool(axes: int) -> Any:
    name = f"max_pool{axes}d"

    def pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        pad_mode: str = "pad",
    ) -> Any:
        images, single, kernel, steps, pads, grown = _settled(
            name, axes, x, kernel_size, stride, padding, pad_mode, False
        )
        spread = several(name, dilation, "dilation", axes)
        if ceil_mode:
            grown = _rounded_up(images.shape[2:], kernel, steps, pads, spread)
        if return_indices or max(spread) > 1:
            found: Any = max_with_indices(name, images, kernel, steps, grown, spread)
            found = tuple(reshape(t, t.shape[1:]) for t in found) if single else found
            return found if return_indices else found[0]
        y = _along_images(images, kernel, steps, grown, pooling.MaxPool)
        return reshape(y, y.shape[1:]) if single else y

    return _titled(pool, name, f"""The largest element of each window along {axes} axes of ``[n, c, ...]``.

    Args:
        x: a float tensor; n may be left out.
        kernel_size, stride, padding, dilation: an int, or one for each axis; the stride is the kernel's size
            unless given.
        return_indices: also give the places (int64) of these elements among the flattened last axes.
        ceil_mode: also take windows that reach over the end.

    Raises:
        ValueError: another number of axes, or a window that does not fit.
    """)


def _titled(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return composite(function)


max_pool1d, max_pool2d = _max_pool(1), _max_pool(2)
max_over_volumes = _max_pool(3)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`max_pool2d` along three axes; MindSpore has the last two parameters in this order."""
    return max_over_volumes(x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def _max_unpool(axes: int) -> Any:
    name = f"max_unpool{axes}d"

    def unpool(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
               output_size: Any = None) -> Tensor:
        values, single, kernel, steps, pads, _ = _settled(
            name, axes, x, kernel_size, stride or None, padding, "pad", False
        )
        if indices.shape != x.shape:
            raise ValueError(
                f"{name}: x and indices must have one shape. Received: {x.shape} and {indices.shape}"
            )
        size = tuple(
            (values.shape[2 + i] - 1) * steps[i] + kernel[i] - pads[2 * i] - pads[2 * i + 1]
            for i in range(axes)
        ) if not output_size else tuple(output_size)[-axes:]
        n, c = values.shape[:2]
        total = math.prod(size)
        places = reshape(indices, (n, c, -1))
        where = {"axis": 2, "shape": (n, c, total)}
        flat = reshape(values, (n, c, -1))
        summed = GatherDGrad(places, flat, **where)
        hits = GatherDGrad(places, broadcast_to(like(1, flat), flat.shape), **where)  # overlapping windows
        y = reshape(summed / Maximum(hits, like(1, hits)), (n, c, *size))
        return reshape(y, y.shape[1:]) if single else y

    return _titled(unpool, name, f"""Elements put back where `max_pool{axes}d` took them from, 0 elsewhere.

    Args:
        x: ``[n, c, ...]``; n may be left out.
        indices: places among the flattened last axes of the output, of x's shape.
        kernel_size, stride, padding: those of the pooling.
        output_size: the output's last extents, where they cannot be worked out from these.

    Raises:
        ValueError: shapes that differ.
    """)


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)


# -- means ---------------------------------------------------------------------------------------------------
def _avg_pool(axes: int) -> Any:
    name = f"avg_pool{axes}d"

    def pool(
        input_x: Any,
        kernel_size: Any = 1,
        stride: Any = 1,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = 0,
        pad_mode: str = "pad",
    ) -> Tensor:
        x, single, kernel, steps, pads, grown = _settled(
            name, axes, input_x, kernel_size, stride, padding, pad_mode, ceil_mode
        )
        include = bool(count_include_pad) and str(pad_mode).lower() == "pad"
        if divisor_override:
            include = True
        elif grown != pads and include:  # padding counts, what lies beyond it does not
            x = Pad(x, paddings=((0, 0), (0, 0), *pairs(pads)), value=0.0)
            grown, include = tuple(g - p for g, p in zip(grown, pads)), False

        def mean(images: Tensor, **window: Any) -> Tensor:
            return pooling.AvgPool(images, count_include_pad=include, **window)

        y = _along_images(x, kernel, steps, grown, mean)
        if divisor_override:
            y = y * (math.prod(kernel) / divisor_override)
        return reshape(y, y.shape[1:]) if single else y

    return _titled(pool, name, f"""The mean of each window along {axes} axes of ``[n, c, ...]``.

    Args:
        input_x: a float tensor; n may be left out.
        kernel_size, stride, padding: an int, or one for each axis.
        ceil_mode: also take windows that reach over the end.
        count_include_pad: count padding zeros as elements.
        divisor_override: divide by this instead of by the number of elements, unless 0.

    Raises:
        ValueError: another number of axes, or a window that does not fit.
    """)


avg_pool1d, avg_pool2d, avg_pool3d = _avg_pool(1), _avg_pool(2), _avg_pool(3)


def _lp_pool(axes: int) -> Any:
    mean, name = (avg_pool1d, avg_pool2d)[axes - 1], f"lp_pool{axes}d"

    def pool(
        x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Tensor:
        p, kernel = float(norm_type), several(name, kernel_size, "kernel_size", axes)
        powers = Pow(x, like(p, x))
        total = mean(powers, kernel, kernel if stride is None else stride, 0, ceil_mode, True)
        total = total * float(math.prod(kernel))
        total = Sign(total) * ReLU(Abs(total))
        return Pow(total, like(1.0 / p, total))

    return _titled(pool, name, """The p-norm of each window: the sum of powers, then the root.

    Args:
        x: a float tensor.
        norm_type: p.
        kernel_size, stride: an int, or one for each axis; the stride is the kernel's size unless given.
        ceil_mode: also take windows that reach over the end.
    """)


lp_pool1d, lp_pool2d = _lp_pool(1), _lp_pool(2)


# -- pieces --------------------------------------------------------------------------------------------------
def _bounds(extent: int, count: int) -> list[tuple[int, int]]:
    """The pieces of an axis, as equal as they can be; they may overlap by one element."""
    return [(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]


def _pieces(x: Tensor, axis: int, count: int, reduce: Any) -> Tensor:
    """An axis cut into ``count`` pieces, each reduced to one element."""
    extent = x.shape[axis]
    if count == extent:
        return x
    if extent % count == 0:
        apart = reshape(x, (*x.shape[:axis], count, extent // count, *x.shape[axis + 1:]))
        return reduce(apart, axes=(axis + 1,), keepdims=False)
    parts = [
        reduce(narrow(x, axis, first, last - first), axes=(axis,), keepdims=True)
        for first, last in _bounds(extent, count)
    ]
    return cat(parts, axis)


def _adaptive_size(name: str, axes: int, x: Any, output_size: Any) -> tuple[int, ...]:
    x = require_tensor(name, x)
    if x.ndim not in (axes + 1, axes + 2):
        raise ValueError(
            f"{name}: the input must have {axes + 1} or {axes + 2} axes. Received: a tensor of shape "
            f"{x.shape}"
        )
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    if len(given) != axes or any(n is not None and type(n) is not int for n in given):
        raise TypeError(
            f"{name}: output_size must be an int or {axes} of them, each of which may be None. Received: "
            f"output_size={output_size!r}"
        )
    size = tuple(d if n is None else n for n, d in zip(given, x.shape[-axes:]))
    if any(n < 1 for n in size):
        raise ValueError(f"{name}: output_size must be positive. Received: output_size={output_size!r}")
    return size


def _adaptive(kind: str, axes: int, reduce: Any) -> Any:
    name = f"adaptive_{kind}_pool{axes}d"

    def pool(input: Any, output_size: Any) -> Tensor:
        size = _adaptive_size(name, axes, input, output_size)
        first = input.ndim - axes
        if size == (1,) * axes:
            return reduce(input, axes=tuple(range(first, input.ndim)), keepdims=True)
        x = input
        for i, count in enumerate(size):
            x = _pieces(x, first + i, count, reduce)
        return x

    what = "means" if kind == "avg" else "largest elements"
    return _titled(pool, name, f"""The {what} of ``output_size`` pieces of the last {axes} axes, as equal as \
they can be.

    Args:
        input: ``[n, c, ...]``; n may be left out.
        output_size: an int, or one for each axis; None keeps an axis.

    Raises:
        TypeError, ValueError: another size, or another number of axes.
    """)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive("avg", axes, ReduceMean) for axes in (1, 2, 3)
)
_adaptive_max = [_adaptive("max", axes, ReduceMax) for axes in (1, 2, 3)]


def _adaptive_max_with_indices(name: str, axes: int, x: Any, output_size: Any) -> tuple[Tensor, Tensor]:
    """The largest elements of the pieces, and their places (int64) among the flattened last axes."""
    size = _adaptive_size(name, axes, x, output_size)
    lead, extents = x.shape[:x.ndim - axes], x.shape[x.ndim - axes:]
    place: Any = constant(np.arange(math.prod(extents)).reshape(extents))
    y, place = x, broadcast_to(place, x.shape)
    for i, count in enumerate(size):
        at = len(lead) + i
        bounds = _bounds(int(extents[i]), count)
        longest = max(last - first for first, last in bounds)
        table = np.array([[min(first + k, last - 1) for k in range(longest)] for first, last in bounds])
        y, place = (Gather(t, constant(table), axis=at) for t in (y, place))
        inner = expand_dims(ArgMax(y, axis=at + 1, keepdims=False, dtype=int64), at + 1)
        y, place = (
            reshape(GatherD(t, inner, axis=at + 1), (*t.shape[:at + 1], *t.shape[at + 2:]))
            for t in (y, place)
        )
    return y, cast(place, int64)


def _adaptive_max_pool(axes: int) -> Any:
    plain, name = _adaptive_max[axes - 1], f"adaptive_max_pool{axes}d"

    def pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            y, places = _adaptive_max_with_indices(name, axes, input, output_size)
            return y, cast(places, int32) if axes == 3 else places
        return plain(input, output_size)

    return _titled(pool, name, (plain.__doc__ or "").replace(
        "    Raises:",
        f"        return_indices: also give the places ({'int32' if axes == 3 else 'int64'}) of these "
        "elements among the flattened last axes.\n\n    Raises:",
    ))


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive_max_pool(a) for a in (1, 2, 3))
