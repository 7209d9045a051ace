"""Convolutions on the CPU, channels last: contractions whose rows of A are pixels found through tables of
offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.codegen import conv, pack
from mycelia.codegen.conv import Depthwise, PixelSum
from mycelia.codegen.gemm import Contraction, Tile
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, Table, Work, kernel
from mycelia.kernels.cpu.contraction import (
    Shape,
    Widened,
    ceil_div,
    contract,
    evenly,
    pack_panels,
    packed_elements,
    packed_pixel_sums,
    pixel_sums,
    tile_for,
    transpose,
)

Pair = tuple[int, int]

# Up to so many channels, an image is copied into a padded one, so that a row of taps is one run of memory.
FEW_CHANNELS = 8


@dataclass(frozen=True)
class Window:
    """How a kernel moves over an image: extents of both images, and the attributes of the convolution."""

    size: Pair
    out: Pair
    kernel: Pair
    stride: Pair = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Pair = (1, 1)

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def pixels(self) -> int:
        """Pixels of the output."""
        return self.out[0] * self.out[1]

    @property
    def pointwise(self) -> bool:
        """Output pixel p needs input pixel p alone."""
        return self.kernel == (1, 1) and self.stride == (1, 1) and not any(self.pads)


def _places(size: int, out: int, kernel: int, stride: int, before: int, dilation: int) -> np.ndarray:
    """``[kernel, out]``: the input index under each tap for each output index, -1 outside."""
    at = np.arange(out)[None] * stride + np.arange(kernel)[:, None] * dilation - before
    return np.where((at >= 0) & (at < size), at, -1)


def _offsets(rows: np.ndarray, columns: np.ndarray, width: int, pixel: int) -> np.ndarray:
    """``[taps, pixels]`` byte offsets from indices ``[kh, oh]`` and ``[kw, ow]``; -1 where either is."""
    rows, columns = rows[:, None, :, None], columns[None, :, None, :]
    offsets = np.where((rows >= 0) & (columns >= 0), (rows * width + columns) * pixel, -1)
    kh, kw, high, wide = offsets.shape
    return np.ascontiguousarray(offsets.reshape(kh * kw, high * wide), np.int32)


@lru_cache(256)
def forward_offsets(window: Window, pixel: int) -> np.ndarray:
    """Where each tap of each output pixel reads the image; ``pixel`` is the bytes of an input pixel."""
    w = window
    rows = _places(w.size[0], w.out[0], w.kernel[0], w.stride[0], w.pads[0], w.dilation[0])
    columns = _places(w.size[1], w.out[1], w.kernel[1], w.stride[1], w.pads[2], w.dilation[1])
    return _offsets(rows, columns, w.size[1], pixel)


@lru_cache(256)
def row_offsets(window: Window, width: int, pixel: int, padded: bool) -> np.ndarray:
    """As `forward_offsets`, for runs over a whole row of taps: ``[kh, pixels]``. ``width`` is that of the
    image read, which holds
    its own padding if ``padded``."""
    w = window
    pads = (0, 0) if padded else (w.pads[0], w.pads[2])
    height = w.size[0] + w.pads[0] + w.pads[1] if padded else w.size[0]
    rows = _places(height, w.out[0], w.kernel[0], w.stride[0], pads[0], w.dilation[0])
    columns = np.arange(w.out[1])[None] * w.stride[1] - pads[1]
    return _offsets(rows, columns, width, pixel)


@lru_cache(256)
def backward_places(
    size: int, out: int, kernel: int, stride: int, before: int, dilation: int
) -> tuple[tuple[tuple[int, ...], np.ndarray, np.ndarray], ...]:
    """Classes of input indices that meet the same taps: (taps, input indices, ``[taps, indices]`` output
    index or -1).

    Input index i is under tap k of output index o where ``o * stride + k * dilation == i + before``; the
    residue of i + before
    modulo the stride decides which taps that can be.
    """
    classes = []
    for residue in range(stride):
        taps = tuple(k for k in range(kernel) if k * dilation % stride == residue)
        indices = np.array([i for i in range(size) if (i + before) % stride == residue], np.int64)
        at = (indices[None] + before - np.array(taps, np.int64)[:, None] * dilation) // stride
        classes.append((taps, indices, np.where((at >= 0) & (at < out), at, -1)))
    return tuple(classes)


def tap_classes(kernel: Pair, stride: Pair, dilation: Pair) -> list[list[int]]:
    """Taps in the order in which weights for input gradients are packed: by class of input pixels (see
    `backward_places`)."""
    rows = [[u for u in range(kernel[0]) if u * dilation[0] % stride[0] == r] for r in range(stride[0])]
    columns = [[v for v in range(kernel[1]) if v * dilation[1] % stride[1] == r] for r in range(stride[1])]
    return [[u * kernel[1] + v for u in us for v in vs] for us in rows for vs in columns]


def window_of(node: Node, size: Sequence[int], out: Sequence[int]) -> Window:
    a = node.attrs
    return Window(
        (size[1], size[2]),
        (out[1], out[2]),
        tuple(a["kernel_size"]),
        tuple(a["stride"]),
        tuple(a["pads"]),
        tuple(a["dilation"]),
    )


def is_depthwise(groups: int, channels: int, out_channels: int) -> bool:
    return groups > 1 and groups == channels == out_channels


class ConvKernel(KernelBase):
    def accepts(self, node: Node, target: Target) -> Refusal | None:
        for value in (*node.inputs, *node.outputs):
            if value.type.nbytes // max(value.shape[0], 1) >= 2**31 and len(value.shape) == 4:
                return Refusal(f"an image of {value.type} is over 2 GB")
        if not node.inputs[0].dtype.is_float:
            return Refusal(f"computes floating-point convolutions, not {node.inputs[0].dtype.name}")
        return None


@kernel("PackConvWeights", device="CPU")
class PackWeights(ConvKernel):
    """Weights ``[oc, ic / groups, kh, kw]`` into panels of output channels (of input channels for the
    input's gradient)."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        (w,) = node.inputs
        oc, ic, kh, kw = w.shape
        groups, stride, dilation = (node.attrs[x] for x in ("groups", "stride", "dilation"))
        taps, size, per_group = kh * kw, w.dtype.itemsize, oc // groups
        stored, tile = pack.STORED[w.dtype.name], tile_for(target, w.dtype)
        if is_depthwise(groups, ic * groups, oc):
            return transpose(
                target,
                stored,
                tile.element,
                In(0),
                Out(0),
                rows=oc,
                columns=taps,
                source_row=taps * size,
                target_row=oc * tile.itemsize,
            )
        if node.attrs["form"] == "forward":
            return pack_panels(
                tile,
                w.dtype,
                In(0),
                Out(0),
                n=per_group,
                run=ic,
                n_stride=ic * taps * size,
                i_stride=taps * size,
                offsets=np.arange(taps) * size,
                outer=groups,
                outer_stride=per_group * ic * taps * size,
            )
        calls, start = [], 0
        for members in tap_classes((kh, kw), stride, dilation):
            calls += pack_panels(
                tile,
                w.dtype,
                In(0),
                Out(0, start * tile.itemsize),
                n=ic,
                run=per_group,
                n_stride=taps * size,
                i_stride=ic * taps * size,
                offsets=np.array(members, np.int64) * size,
                outer=groups,
                outer_stride=per_group * ic * taps * size,
            )
            start += groups * packed_elements(tile, ic, len(members), per_group)
        return calls


def pad_images(
    target: Target, dtype: DType, source: Arg, result: Arg, shape: Sequence[int], pads: Sequence[int]
) -> list[Call]:
    """Copies ``[n, h, w, c]`` into an image with zeros around, in the type of arithmetic."""
    n, h, w, c = shape
    stored, tile = pack.STORED[dtype.name], tile_for(target, dtype)
    symbol = f"pad_images_{stored}_{tile.lanes}"
    code = Code(symbol, symbol, lambda: conv.pad_images(stored, tile, symbol))
    group = evenly(n, max(200_000 // max(h * w * c, 1), 1))
    words = [source, result, h, w * c, pads[0], pads[1], pads[2] * c, pads[3] * c, n, group]
    return [Call(code, words, ceil_div(n, group))] if n else []


@dataclass
class Reading:
    """How a contraction reads an image: address, offsets of its runs, and the bytes of an image.

    ``tap`` is the distance of taps in bytes where it is the same for all pixels, and no pixel lies outside;
    else 0.
    """

    a: Arg
    offsets: np.ndarray
    image: int
    run: int
    calls: list[Call]
    tap: int = 0


def read_windows(
    window: Window,
    groups: int,
    channels: int,
    images: int,
    wide: Widened,
    dtype: DType,
    source: Arg,
    target: Target,
) -> Reading:
    """Rows of taps are one run where a group has all channels and no column lies outside the image, or
    channels are so few that
    a padded copy is cheap; else each tap is a run of its own."""
    w, size = window, wide.itemsize
    h, width = w.size
    elements = images * h * width * channels
    if groups == 1 and w.kernel[1] > 1 and w.dilation[1] == 1:
        run = w.kernel[1] * channels
        if not w.pads[2] and not w.pads[3]:
            offsets = row_offsets(w, width, channels * size, False)
            tap = 0 if w.pads[0] or w.pads[1] else width * channels * size * w.dilation[0]
            return Reading(
                wide.read(source, elements, "image"), offsets, h * width * channels * size, run, [], tap
            )
        if channels <= FEW_CHANNELS:
            high, across = h + w.pads[0] + w.pads[1], width + w.pads[2] + w.pads[3]
            padded = Work(max(images * high * across * channels * size, 1), "padded")
            calls = pad_images(target, dtype, source, padded, (images, h, width, channels), w.pads)
            tap = across * channels * size
            return Reading(
                padded,
                row_offsets(w, across, channels * size, True),
                high * tap,
                run,
                calls,
                tap * w.dilation[0],
            )
    return Reading(
        wide.read(source, elements, "image"),
        forward_offsets(w, channels * size),
        h * width * channels * size,
        channels // groups,
        [],
        channels * size if w.taps == 1 and not any(w.pads) else 0,
    )


@kernel("ConvNHWC", device="CPU")
class Convolution(ConvKernel):
    """The forward convolution with bias, residual and activation in its registers."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        attrs, x = node.attrs, node.inputs[0]
        (y,) = node.outputs
        n, h, width, channels = x.shape
        groups, oc = attrs["groups"], attrs["out_channels"]
        window = window_of(node, x.shape, y.shape)
        tile, wide = tile_for(target, x.dtype), Widened(target, x.dtype)
        size = tile.itemsize
        bias = wide.read(In(2), oc, "bias") if attrs["has_bias"] else 0
        count = n * window.pixels * oc
        residual = wide.read(In(2 + attrs["has_bias"]), count, "residual") if attrs["has_residual"] else 0
        flags = dict(bias=attrs["has_bias"], residual=attrs["has_residual"], relu=attrs["epilogue"] == "relu")
        result = wide.write(Out(0), count)
        if is_depthwise(groups, channels, oc):
            image = wide.read(In(0), n * h * width * channels, "image")
            calls = depthwise(
                Depthwise(tile, **flags),
                image,
                In(1),
                result,
                bias,
                residual,
                forward_offsets(window, channels * size),
                n,
                channels,
                h * width * channels * size,
            )
            return [*wide.before, *calls, *wide.after]
        ocg, icg = oc // groups, channels // groups
        common = dict(
            n=ocg,
            c_row=oc * size,
            outer=groups,
            a_outer=icg * size,
            c_outer=ocg * size,
            b_outer=packed_elements(tile, ocg, window.taps, icg) * size,
        )
        if window.pointwise:
            image = wide.read(In(0), n * h * width * channels, "image")
            shape = Shape(rows=n * h * width, run=icg, a_row=channels * size, **common)
            main = contract(Contraction(tile, **flags), shape, image, In(1), result, bias, residual)
            return [*wide.before, *([main] if main else []), *wide.after]
        reading = read_windows(window, groups, channels, n, wide, x.dtype, In(0), target)
        shape = Shape(
            rows=window.pixels,
            run=reading.run,
            taps=len(reading.offsets),
            a_row=0,
            a_tap=reading.tap,
            images=n,
            a_image=reading.image,
            c_image=window.pixels * oc * size,
            **common,
        )
        regular = reading.tap > 0
        main = contract(
            Contraction(tile, table=True, regular=regular, **flags),
            shape,
            reading.a,
            In(1),
            result,
            bias,
            residual,
            offsets=reading.offsets[:1] if regular else reading.offsets,
        )
        return [*wide.before, *reading.calls, *([main] if main else []), *wide.after]


@kernel("ConvInputGradNHWC", device="CPU")
class ConvolutionInputGrad(ConvKernel):
    """The gradient of the image: for each class of input pixels that meet the same taps, a contraction over
    output channels."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        attrs, (dy, _packed) = node.attrs, node.inputs
        n, h, width, channels = attrs["input_shape"]
        oc, groups = dy.shape[3], attrs["groups"]
        window = window_of(node, attrs["input_shape"], dy.shape)
        tile, wide = tile_for(target, dy.dtype), Widened(target, dy.dtype)
        size = tile.itemsize
        source = wide.read(In(0), n * window.pixels * oc, "image")
        result = wide.write(Out(0), n * h * width * channels)
        rows = backward_places(
            h, window.out[0], window.kernel[0], window.stride[0], window.pads[0], window.dilation[0]
        )
        columns = backward_places(
            width, window.out[1], window.kernel[1], window.stride[1], window.pads[2], window.dilation[1]
        )
        dy_image, dx_image = window.pixels * oc * size, h * width * channels * size
        if is_depthwise(groups, channels, oc):
            offsets = _depthwise_backward(window, rows, columns, oc * size)
            calls = depthwise(Depthwise(tile), source, In(1), result, 0, 0, offsets, n, channels, dy_image)
            return [*wide.before, *calls, *wide.after]
        ocg, icg = oc // groups, channels // groups
        common = dict(
            n=icg, run=ocg, c_row=channels * size, outer=groups, a_outer=ocg * size, c_outer=icg * size
        )
        if window.pointwise:
            shape = Shape(
                rows=n * h * width,
                a_row=oc * size,
                b_outer=packed_elements(tile, icg, 1, ocg) * size,
                **common,
            )
            calls = [contract(Contraction(tile), shape, source, In(1), result)]
        else:
            calls, start = [], 0
            scatter = window.stride != (1, 1)
            for row_taps, ih, oh in rows:
                for column_taps, iw, ow in columns:
                    taps = len(row_taps) * len(column_taps)
                    offsets = _offsets(oh, ow, window.out[1], oc * size)
                    to = (
                        ((ih[:, None] * width + iw) * channels * size).astype(np.int32).ravel()
                        if scatter
                        else None
                    )
                    shape = Shape(
                        rows=len(ih) * len(iw),
                        taps=taps,
                        a_row=0,
                        images=n,
                        a_image=dy_image,
                        c_image=dx_image,
                        b_outer=packed_elements(tile, icg, taps, ocg) * size,
                        **common,
                    )
                    calls.append(
                        contract(
                            Contraction(tile, table=True, scatter=scatter),
                            shape,
                            source,
                            In(1, start * size),
                            result,
                            offsets=offsets,
                            scatter=to,
                        )
                    )
                    start += groups * packed_elements(tile, icg, taps, ocg)
        return [*wide.before, *(c for c in calls if c), *wide.after]


def _depthwise_backward(window: Window, rows: tuple, columns: tuple, pixel: int) -> np.ndarray:
    """``[taps, input pixels]``: the output pixel that reads an input pixel through a tap, -1 where there is
    none."""

    def spread(classes: tuple, kernel: int, size: int) -> np.ndarray:
        at = np.full((kernel, size), -1)
        for taps, indices, places in classes:
            at[np.ix_(taps, indices)] = places
        return at

    return _offsets(
        spread(rows, window.kernel[0], window.size[0]),
        spread(columns, window.kernel[1], window.size[1]),
        window.out[1],
        pixel,
    )


def depthwise(
    spec: Depthwise,
    x: Arg,
    weights: Arg,
    y: Arg,
    bias: Arg,
    residual: Arg,
    offsets: np.ndarray,
    images: int,
    channels: int,
    x_image: int,
) -> list[Call]:
    taps, pixels = offsets.shape
    if 0 in (images, channels, pixels):
        return []
    symbol = spec.key
    code = Code(symbol, symbol, lambda: conv.depthwise(spec, symbol))
    block = evenly(pixels, max(400_000 // max(channels * taps, 1), 1))
    blocks = ceil_div(pixels, block)
    words: dict[str, Arg] = dict(
        x=x,
        weights=weights,
        y=y,
        bias=bias,
        residual=residual,
        table=Table(offsets),
        pixels=pixels,
        images=images,
        taps=taps,
        channels=channels,
        x_image=x_image,
        y_image=pixels * channels * spec.tile.itemsize,
        block=block,
        blocks=blocks,
    )
    return [Call(code, [words[name] for name in conv.DEPTHWISE_WORDS], images * blocks)]


@kernel("ConvWeightGradNHWC", device="CPU")
class ConvolutionWeightGrad(ConvKernel):
    """The gradient of the weights: sums over pixels, kept as ``[taps, ic, oc]`` and then brought into the
    weights' order."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        attrs, (x, dy) = node.attrs, node.inputs
        (dw,) = node.outputs
        n, h, width, channels = x.shape
        oc, icg = dw.shape[:2]
        groups = attrs["groups"]
        window = window_of(node, x.shape, dy.shape)
        tile, wide = tile_for(target, x.dtype), Widened(target, x.dtype)
        size, taps, ocg = tile.itemsize, window.taps, oc // groups
        grad = wide.read(In(1), n * window.pixels * oc, "grad")
        sums = Work(max(taps * icg * oc * size, 1), "sums")
        order = dict(target=target, source_type=tile.element, target_type=wide.stored, source=sums)
        itemsize = dw.dtype.itemsize
        if is_depthwise(groups, channels, oc):
            image = wide.read(In(0), n * h * width * channels, "image")
            calls = _depthwise_sums(
                tile,
                image,
                grad,
                sums,
                forward_offsets(window, channels * size),
                n,
                channels,
                h * width * channels * size,
            )
            calls += transpose(
                result=Out(0),
                rows=taps,
                columns=oc,
                source_row=oc * size,
                target_row=taps * itemsize,
                **order,
            )
            return [*wide.before, *calls]
        if window.pointwise:
            image = wide.read(In(0), n * h * width * channels, "image")
            reading = Reading(image, None, 0, icg, [])  # type: ignore[arg-type]
        else:
            reading = read_windows(window, groups, channels, n, wide, x.dtype, In(0), target)
        pixel_sum = PixelSum(tile, table=not window.pointwise)
        operands: dict[str, Any] = dict(
            a=reading.a,
            b=grad,
            c=sums,
            offsets=reading.offsets,
            pixels=n * window.pixels if window.pointwise else window.pixels,
            images=1 if window.pointwise else n,
            taps=1 if window.pointwise else len(reading.offsets),
            run=reading.run,
            n=ocg,
            a_row=channels * size,
            a_image=reading.image,
            b_row=oc * size,
            outer=groups,
            a_outer=icg * size,
            b_outer=ocg * size,
        )
        if ocg > tile.width:
            calls = packed_pixel_sums(pixel_sum, **operands)
        else:
            calls = pixel_sums(
                pixel_sum,
                **operands,
                b_image=window.pixels * oc * size,
                c_outer=taps * icg * ocg * size,
            )
        for group in range(groups):
            place = dict(order, source=Work(sums.nbytes, sums.key, group * taps * icg * ocg * size))
            calls += transpose(
                result=Out(0, group * ocg * icg * taps * itemsize),
                rows=taps,
                columns=ocg,
                source_row=icg * ocg * size,
                target_row=icg * taps * itemsize,
                outer=icg,
                source_outer=ocg * size,
                target_outer=taps * itemsize,
                **place,
            )
        return [*wide.before, *reading.calls, *calls]


def _depthwise_sums(
    tile: Tile, x: Arg, dy: Arg, dw: Arg, offsets: np.ndarray, images: int, channels: int, x_image: int
) -> list[Call]:
    taps, pixels = offsets.shape
    if 0 in (taps, channels):
        return []
    symbol = f"depthwise_sum_{tile.element}x{tile.lanes}"
    code = Code(symbol, symbol, lambda: conv.depthwise_sum(tile, symbol))
    words: dict[str, Arg] = dict(
        x=x,
        dy=dy,
        dw=dw,
        table=Table(offsets),
        pixels=pixels,
        images=images,
        taps=taps,
        channels=channels,
        x_image=x_image,
        y_image=pixels * channels * tile.itemsize,
    )
    return [Call(code, [words[name] for name in conv.DEPTHWISE_SUM_WORDS], taps)]
