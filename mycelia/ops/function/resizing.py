"""Images of another size: interpolation, sampling at given places, and exchanging channels for pixels."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.dtypes import int64
from mycelia.ops import comparison, rounding
from mycelia.ops.arithmetic import Abs, Maximum, Minimum
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.function.shaping import broadcast_to, reshape
from mycelia.ops.indexing import Gather, GatherD
from mycelia.ops.logic import LogicalAnd
from mycelia.ops.movement import Transpose
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = [
    "affine_grid",
    "channel_shuffle",
    "depth_to_space",
    "grid_sample",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "space_to_depth",
    "upsample",
]

# mode: the numbers of axes that it works on
_MODES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}


def _size(x: Tensor, size: Any, scale_factor: Any, mode: str) -> tuple[tuple[int, ...], list[float | None]]:
    """The extents asked for, and the steps between places that a scale factor gives."""
    spatial = x.shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "interpolate: either size or scale_factor must be given. Received: "
            f"size={size}, scale_factor={scale_factor}"
        )
    given = scale_factor if size is None else size
    numbers = tuple(given) if isinstance(given, (tuple, list)) else (given,) * len(spatial)
    if len(numbers) != len(spatial):
        raise ValueError(
            f"interpolate: {'size' if size is not None else 'scale_factor'} must be a number or "
            f"{len(spatial)} of them. Received: {given}"
        )
    if size is not None:
        if any(type(n) is not int or n < 1 for n in numbers):
            raise ValueError(f"interpolate: size must be positive ints. Received: size={size}")
        return numbers, [None] * len(numbers)
    return tuple(int(d * f) for d, f in zip(spatial, numbers)), [1.0 / float(f) for f in numbers]


def _places(have: int, want: int, step: float | None, corners: bool, centred: bool) -> np.ndarray:
    """Where along an axis the new elements lie among the old ones, in float32 as MindSpore computes it."""
    index = np.arange(want, dtype=np.float32)
    if corners:
        return index * np.float32((have - 1) / (want - 1) if want > 1 else 0.0)
    scale = np.float32(have / want if step is None else step)
    return (index + np.float32(0.5)) * scale - np.float32(0.5) if centred else index * scale


def _weighted(x: Tensor, axis: int, taps: list[tuple[np.ndarray, np.ndarray]]) -> Tensor:
    """The sum over taps of the elements at their places, times their weights."""
    shape = (-1,) + (1,) * (x.ndim - axis - 1)
    total: Any = None
    for places, weights in taps:
        at = constant(np.clip(places, 0, x.shape[axis] - 1).astype(np.int64))
        part = Gather(x, at, axis=axis) * cast(constant(weights.astype(np.float32).reshape(shape)), x.dtype)
        total = part if total is None else total + part
    return total


def _linear(x: Tensor, axis: int, at: np.ndarray) -> Tensor:
    at = np.clip(at, 0, None)
    low = np.minimum(np.floor(at), x.shape[axis] - 1)
    share = at - low
    return _weighted(x, axis, [(low, 1 - share), (low + 1, share)])


def _cubic_weights(t: Any, a: float = -0.75) -> list[Any]:
    """The weights of four neighbours, from one before (Keys 1981), t being the distance from the second."""
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


def _cubic(x: Tensor, axis: int, at: np.ndarray) -> Tensor:
    low = np.floor(at)
    return _weighted(x, axis, [(low + k - 1, w) for k, w in enumerate(_cubic_weights(at - low))])


@composite
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Sequences, images or volumes of another size.

    Args:
        input: ``[n, c, length]``, ``[n, c, h, w]`` or ``[n, c, d, h, w]``.
        size: the new last extents, or
        scale_factor: their ratio to the old ones; the results are rounded down.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"area"`` (means of pieces), ``"linear"`` (sequences),
            ``"bilinear"``, ``"bicubic"`` (images), ``"trilinear"`` (volumes).
        align_corners: whether the centres of the corners stay where they are; else the corners' edges do.
        recompute_scale_factor: work the ratio out again from the rounded sizes.

    Returns:
        ``[n, c, *size]`` of the input's dtype.

    Raises:
        TypeError: no tensor.
        ValueError: neither or both of size and scale_factor, or a mode that does not go with the input's
            axes.

    Example:
        >>> interpolate(Tensor([[[1.0, 3.0]]]), size=4, mode="linear")
        Tensor(shape=[1, 1, 4], dtype=Float32, value= [[[1. , 1.5, 2.5, 3. ]]])
    """
    x = require_tensor("interpolate", input)
    axes = x.ndim - 2
    if mode not in _MODES or axes not in _MODES[mode]:
        fit = [m for m, ranks in _MODES.items() if axes in ranks]
        raise ValueError(
            f"interpolate: for an input of {x.ndim} axes mode must be one of {fit}. Received: mode={mode!r}"
        )
    if align_corners and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(
            "interpolate: align_corners only goes with the linear modes and bicubic. Received: "
            f"mode={mode!r}, align_corners={align_corners}"
        )
    want, steps = _size(x, size, scale_factor, mode)
    if recompute_scale_factor:
        steps = [None] * axes
    if mode == "area":
        from mycelia.ops.function import pools
        return getattr(pools, f"adaptive_avg_pool{axes}d")(x, want)
    for i in range(axes):
        x = _resized(x, 2 + i, want[i], steps[i], mode, bool(align_corners))
    return x


def _resized(x: Tensor, axis: int, want: int, step: float | None, mode: str, corners: bool,
             centred: bool = True) -> Tensor:
    have = int(x.shape[axis])
    if have == want and (step is None or step == 1.0):
        return x
    at = _places(have, want, step, corners, centred and mode != "nearest")
    if mode.startswith("nearest"):
        at = np.floor(at + 0.5) if corners or mode == "nearest-exact" else np.floor(at)
        return Gather(x, constant(np.clip(at, 0, have - 1).astype(np.int64)), axis=axis)
    return (_cubic if mode == "bicubic" else _linear)(x, axis, at)


def resized_images(x: Tensor, size: Any, mode: str, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    """Images ``[n, c, h, w]`` of another size, as the ``Resize...`` primitives understand their settings.

    Raises:
        ValueError: both settings at once.
    """
    if align_corners and half_pixel_centers:
        raise ValueError(
            "Resize: align_corners and half_pixel_centers must not both be True. Received: True, True"
        )
    if mode == "nearest" and half_pixel_centers:
        mode = "nearest-exact"
    for axis, want in zip((2, 3), size):
        x = _resized(x, axis, int(want), None, mode, align_corners, half_pixel_centers)
    return x


upsample = interpolate


# -- sampling ------------------------------------------------------------------------------------------------
@composite
def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """The places in an image (or volume) that an affine map takes the places of another to.

    Args:
        theta: ``[n, 2, 3]`` (or ``[n, 3, 4]``), the maps.
        size: ``(n, c, h, w)`` (or ``(n, c, d, h, w)``) of the image that is to be made.
        align_corners: whether -1 and 1 are the centres of the outermost elements, not their edges.

    Returns:
        ``[n, h, w, 2]`` (or ``[n, d, h, w, 3]``): x, y (and z), each from -1 to 1; for `grid_sample`.

    Raises:
        ValueError: shapes that do not match.
    """
    theta = require_tensor("affine_grid", theta, "theta")
    axes = len(size) - 2
    if axes not in (2, 3) or tuple(theta.shape) != (size[0], axes, axes + 1):
        raise ValueError(
            "affine_grid: theta must be [n, 2, 3] for a size of 4 numbers, [n, 3, 4] for 5. Received: theta "
            f"of shape {theta.shape}, size={tuple(size)}"
        )
    lines = []
    for extent in size[2:]:
        line = np.linspace(-1, 1, extent) if extent > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (extent - 1) / extent)
    grid = np.meshgrid(*lines, indexing="ij")
    places = np.stack([*reversed(grid), np.ones_like(grid[0])], -1).reshape(-1, axes + 1)
    from mycelia.ops.function.linear import matmul
    mapped = matmul(cast(constant(places), theta.dtype), Transpose(theta, perm=(0, 2, 1)))
    return reshape(mapped, (size[0], *size[2:], axes))


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    """Places beyond the bounds mirrored back, as often as it takes."""
    span = high - low
    if span <= 0:
        return at * 0.0
    distance = Abs(at - low)
    rounds = rounding.Floor(distance / span)
    rest = distance - rounds * span
    odd = comparison.NotEqual(rounds - rounding.Floor(rounds * 0.5) * 2.0, like(0, at))
    return Select(odd, high - rest, rest + low)


@composite
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = False,
) -> Tensor:
    """Elements of images (or volumes) at given places, between them by interpolation.

    Args:
        input: ``[n, c, h, w]`` (or ``[n, c, d, h, w]``), floats.
        grid: ``[n, out_h, out_w, 2]`` (or ``[n, out_d, out_h, out_w, 3]``): x, y (and z), -1 and 1 being the
            ends.
        mode: ``"bilinear"`` (linear along each axis), ``"nearest"``, or ``"bicubic"`` (images only).
        padding_mode: beyond the ends ``"zeros"``, ``"border"`` (the nearest element) or ``"reflection"``.
        align_corners: whether the ends are the centres of the outermost elements, not their edges.

    Returns:
        ``[n, c, out_h, out_w]`` (or with out_d).

    Raises:
        TypeError: dtypes that differ.
        ValueError: shapes that do not match, another mode.
    """
    x, grid = require_tensor("grid_sample", input), require_tensor("grid_sample", grid, "grid")
    axes = x.ndim - 2
    if axes not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != axes or grid.shape[0] != x.shape[0]:
        raise ValueError(
            "grid_sample: the input must be [n, c, h, w] with a grid [n, oh, ow, 2], or [n, c, d, h, w] with "
            f"[n, od, oh, ow, 3]. Received: {x.type} and {grid.type}"
        )
    if x.dtype is not grid.dtype:
        raise TypeError(
            f"grid_sample: input and grid must have one dtype. Received: {x.type} and {grid.type}. Convert "
            "one with astype"
        )
    if mode not in ("bilinear", "nearest", "bicubic") or mode == "bicubic" and axes == 3:
        raise ValueError(
            "grid_sample: mode must be 'bilinear', 'nearest' or, of images, 'bicubic'. Received: "
            f"mode={mode!r}"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "grid_sample: padding_mode must be 'zeros', 'border' or 'reflection'. Received: "
            f"padding_mode={padding_mode!r}"
        )
    size = [int(d) for d in x.shape[2:]]
    outward = grid.shape[1:-1]
    count = 1
    for d in outward:
        count = count * d
    lines = [reshape(grid[..., axes - 1 - i], (x.shape[0], count)) for i in range(axes)]  # z, y, x
    corners = bool(align_corners)

    def settle(at: Tensor, extent: int) -> Tensor:
        """A place brought between the ends, as the padding mode has it."""
        if padding_mode == "reflection":
            at = _reflected(at, 0.0, extent - 1.0) if corners else _reflected(at, -0.5, extent - 0.5)
        if padding_mode != "zeros":
            at = Minimum(Maximum(at, like(0, at)), like(extent - 1, at))
        return at

    ats = [
        (at + 1.0) * (0.5 * (d - 1)) if corners else (at + 1.0) * (0.5 * d) - 0.5
        for at, d in zip(lines, size)
    ]
    if mode != "bicubic":
        ats = [settle(at, d) for at, d in zip(ats, size)]
    flat = reshape(x, (*x.shape[:2], -1))

    def picked(where: list[Tensor]) -> Tensor:
        """The elements at whole places ``[n, count]``, 0 beyond the ends."""
        inside: Any = None
        place: Any = None
        for at, d in zip(where, size):
            bounded = Minimum(Maximum(at, like(0, at)), like(d - 1, at))
            if padding_mode == "zeros":
                fits = comparison.Equal(at, bounded)
                inside = fits if inside is None else LogicalAnd(inside, fits)
            whole = cast(bounded, int64)
            place = whole if place is None else place * d + whole
        shape = (*x.shape[:2], count)
        spread = broadcast_to(reshape(place, (x.shape[0], 1, count)), shape)
        found = GatherD(flat, spread, axis=2)
        if inside is None:
            return found
        return Select(reshape(inside, (x.shape[0], 1, count)), found, like(0, found))

    taps = _taps(mode, ats)
    total: Any = None
    for corner in range(len(taps[0]) ** axes):
        where, weight = [], None
        for i in range(axes):
            at, share = taps[i][corner // len(taps[0]) ** i % len(taps[0])]
            where.append(settle(at, size[i]) if mode == "bicubic" else at)
            weight = share if weight is None else weight if share is None else weight * share
        part = picked(where)
        if weight is not None:
            part = part * reshape(weight, (x.shape[0], 1, count))
        total = part if total is None else total + part
    return reshape(total, (*x.shape[:2], *outward))


def _taps(mode: str, ats: list[Tensor]) -> list[list[tuple[Tensor, Any]]]:
    """For each axis the whole places that a place takes part of, and their shares."""
    if mode == "nearest":
        return [[(rounding.Rint(at), None)] for at in ats]
    taps = []
    for at in ats:
        low = rounding.Floor(at)
        share = at - low
        if mode == "bicubic":
            taps.append([(low + (k - 1.0), w) for k, w in enumerate(_cubic_weights(share))])
        else:
            taps.append([(low, 1.0 - share), (low + 1.0, share)])
    return taps


# -- channels and pixels -------------------------------------------------------------------------------------
def _require_factor(name: str, what: str, factor: Any) -> int:
    if isinstance(factor, bool) or not isinstance(factor, int):
        raise TypeError(
            f"{name}: {what} must be an int. Received: {what}={factor!r} (of type {type(factor).__name__})"
        )
    if factor < 1:
        raise ValueError(f"{name}: {what} must be positive. Received: {what}={factor}")
    return factor


@composite
def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """``[..., c * r * r, h, w]`` as ``[..., c, h * r, w * r]`` (Shi et al. 2016).

    Raises:
        ValueError: fewer than three axes, or channels that r * r does not divide.
    """
    x = require_tensor("pixel_shuffle", input)
    r = _require_factor("pixel_shuffle", "upscale_factor", upscale_factor)
    if x.ndim < 3 or x.shape[-3] % (r * r):
        raise ValueError(
            f"pixel_shuffle: the input must be [..., c * {r * r}, h, w]. Received: a tensor of shape "
            f"{x.shape}"
        )
    *lead, c, h, w = x.shape
    k = len(lead)
    apart = reshape(x, (*lead, c // (r * r), r, r, h, w))
    moved = Transpose(apart, perm=(*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return reshape(moved, (*lead, c // (r * r), h * r, w * r))


@composite
def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """``[..., c, h * r, w * r]`` as ``[..., c * r * r, h, w]``: undoes `pixel_shuffle`.

    Raises:
        ValueError: fewer than three axes, or extents that r does not divide.
    """
    x = require_tensor("pixel_unshuffle", input)
    r = _require_factor("pixel_unshuffle", "downscale_factor", downscale_factor)
    if x.ndim < 3 or x.shape[-2] % r or x.shape[-1] % r:
        raise ValueError(
            f"pixel_unshuffle: the input must be [..., c, h * {r}, w * {r}]. Received: a tensor of shape "
            f"{x.shape}"
        )
    *lead, c, h, w = x.shape
    k = len(lead)
    apart = reshape(x, (*lead, c, h // r, r, w // r, r))
    moved = Transpose(apart, perm=(*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return reshape(moved, (*lead, c * r * r, h // r, w // r))


def _blocks(x: Tensor, r: int, apart: tuple, perm: tuple[int, ...], shape: tuple) -> Tensor:
    return reshape(Transpose(reshape(x, apart), perm=perm), shape)


@composite
def depth_to_space(x: Any, block_size: int) -> Tensor:
    """``[n, b * b * c, h, w]`` as ``[n, c, h * b, w * b]``: `pixel_shuffle` with the block's place first
    among channels."""
    b = _require_factor("depth_to_space", "block_size", block_size)
    n, c, h, w = x.shape
    if c % (b * b):
        raise ValueError(f"depth_to_space: channels must divide by {b * b}. Received: shape {x.shape}")
    inner = c // (b * b)
    return _blocks(x, b, (n, b, b, inner, h, w), (0, 3, 4, 1, 5, 2), (n, inner, h * b, w * b))


@composite
def space_to_depth(x: Any, block_size: int) -> Tensor:
    """``[n, c, h * b, w * b]`` as ``[n, b * b * c, h, w]``: undoes `depth_to_space`."""
    b = _require_factor("space_to_depth", "block_size", block_size)
    n, c, h, w = x.shape
    if h % b or w % b:
        raise ValueError(f"space_to_depth: height and width must divide by {b}. Received: shape {x.shape}")
    return _blocks(x, b, (n, c, h // b, b, w // b, b), (0, 3, 5, 1, 2, 4), (n, b * b * c, h // b, w // b))


@composite
def channel_shuffle(x: Any, groups: int) -> Tensor:
    """The channels of ``[n, c, ...]`` dealt out: the first of each group, then the second, and so on.

    Raises:
        ValueError: channels that the groups do not divide.
    """
    x, g = require_tensor("channel_shuffle", x), _require_factor("channel_shuffle", "groups", groups)
    n, c, *rest = x.shape
    if c % g:
        raise ValueError(f"channel_shuffle: groups must divide the channels. Received: groups={g} for {c}")
    apart = reshape(x, (n, g, c // g, *rest))
    return reshape(Transpose(apart, perm=(0, 2, 1, *range(3, apart.ndim))), x.shape)
