"""Copies, transposes, slices, concatenation, padding and fills on the CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.codegen import copy as generator
from mycelia.codegen.fused import CONTIGUOUS, REPEATED, STRIDED
from mycelia.codegen.strided import broadcast_strides, collapse, row_major
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, kernel
from mycelia.kernels.cpu.fused import SMALLEST_CHUNK, chunk_size, static_shape


def _letter(stride: int) -> str:
    return CONTIGUOUS if stride == 1 else REPEATED if stride == 0 else STRIDED


def copy_calls(
    itemsize: int,
    shape: Sequence[int],
    source: Arg,
    source_strides: Sequence[int],
    sink: Arg,
    sink_strides: Sequence[int],
    target: Target,
) -> list[Call]:
    """The call that copies between strided arrays; strides in elements."""
    if math.prod(shape) == 0:
        return []
    space = collapse(shape, [source_strides, sink_strides])
    total, rank = space.total, len(space.sizes)
    reads, writes = space.strides
    if rank > 1 and writes[-1] == 1 and reads[-1] not in (0, 1) and 1 in reads[:-1]:
        return _transpose(itemsize, space.sizes, source, reads, sink, writes, target)
    walk = _letter(reads[-1]) + (CONTIGUOUS if writes[-1] == 1 else STRIDED)
    symbol = f"copy{itemsize}_{rank}{walk}"
    code = Code(symbol, symbol, lambda: generator.copy_text(symbol, itemsize, rank, walk, target))
    each = chunk_size(total)
    words: list[Arg] = [source, sink, total, each]
    if rank > 1:
        words += space.sizes
    for steps, pattern in zip(space.strides, walk):
        words += [s * itemsize for s in (steps if pattern == STRIDED else steps[:-1])]
    return [Call(code, words, -(-total // each))]


def _transpose(
    itemsize: int,
    sizes: Sequence[int],
    source: Arg,
    reads: Sequence[int],
    sink: Arg,
    writes: Sequence[int],
    target: Target,
) -> list[Call]:
    """The innermost dimension is strided in the source, another one is dense there: blocks of these two."""
    dense = max(d for d in range(len(sizes) - 1) if reads[d] == 1)
    outer = [d for d in range(len(sizes) - 1) if d != dense]
    n_rows, n_columns = sizes[dense], sizes[-1]
    strips = -(-n_columns // generator.strip_of(itemsize))
    segment = min(n_rows, 4096)
    segments = -(-n_rows // segment)
    units = math.prod(sizes[d] for d in outer) * strips * segments
    each = max(
        1,
        max(SMALLEST_CHUNK, math.prod(sizes) // 256)
        // (segment * min(n_columns, generator.strip_of(itemsize))),
    )
    symbol = f"transpose{itemsize}_{len(outer)}"
    code = Code(symbol, symbol, lambda: generator.transpose_text(symbol, itemsize, len(outer), target))
    words: list[Arg] = [
        source,
        sink,
        units,
        each,
        n_rows,
        n_columns,
        segment,
        strips,
        segments,
        reads[-1] * itemsize,
        writes[dense] * itemsize,
        *(sizes[d] for d in outer),
    ]
    for strides in (reads, writes):
        words += [strides[d] * itemsize for d in outer]
    return [Call(code, words, -(-units // each))]


def fill_call(dtype: DType, value: Any, total: int, sink: Arg, target: Target) -> list[Call]:
    """The call that writes one number everywhere."""
    if total == 0:
        return []
    bits = int(np.array(value).astype(dtype.numpy).reshape(1).view(f"u{dtype.itemsize}")[0])
    bits -= (1 << 64) if bits >= 1 << 63 else 0
    symbol = f"fill{dtype.itemsize}"
    code = Code(symbol, symbol, lambda: generator.fill_text(symbol, dtype.itemsize, target))
    each = chunk_size(total)
    return [Call(code, [sink, total, each, bits], -(-total // each))]


def _moved(arg: In | Out, elements: int, itemsize: int) -> In | Out:
    return type(arg)(arg.index, arg.offset + elements * itemsize)


def slice_window(shape: Sequence[int], begin: Sequence[int], strides: Sequence[int]) -> tuple[int, list[int]]:
    """Offset and strides, in elements, of a slice of a dense array."""
    dense = row_major(shape)
    return sum(b * s for b, s in zip(begin, dense)), [s * d for s, d in zip(strides, dense)]


@kernel("Transpose")
class Transpose(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        dense = row_major(static_shape(node.inputs[0]))
        shape = static_shape(node.output)
        return copy_calls(
            node.output.dtype.itemsize,
            shape,
            In(0),
            [dense[p] for p in node.attrs["perm"]],
            Out(0),
            row_major(shape),
            target,
        )


@kernel("BroadcastTo")
class BroadcastTo(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        shape = static_shape(node.output)
        return copy_calls(
            node.output.dtype.itemsize,
            shape,
            In(0),
            broadcast_strides(static_shape(node.inputs[0]), shape),
            Out(0),
            row_major(shape),
            target,
        )


@kernel("Reshape")
class Reshape(KernelBase):
    """Plans let the output share the input's memory; where they cannot, it is a copy."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        return copy_calls(
            node.output.dtype.itemsize,
            (math.prod(static_shape(node.output)),),
            In(0),
            (1,),
            Out(0),
            (1,),
            target,
        )

    def alias(self, node: Node) -> list[tuple[int, int]]:
        return [(0, 0)]


@kernel("StridedCopy")
class StridedCopy(KernelBase):
    """A view made dense."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        shape, itemsize = static_shape(node.output), node.output.dtype.itemsize
        return copy_calls(
            itemsize,
            shape,
            _moved(In(0), node.attrs["offset"], itemsize),
            node.attrs["strides"],
            Out(0),
            row_major(shape),
            target,
        )


@kernel("StridedSlice")
class StridedSlice(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        shape, itemsize = static_shape(node.output), node.output.dtype.itemsize
        offset, strides = slice_window(
            static_shape(node.inputs[0]), node.attrs["begin"], node.attrs["strides"]
        )
        return copy_calls(
            itemsize, shape, _moved(In(0), offset, itemsize), strides, Out(0), row_major(shape), target
        )


@kernel("SliceScatter")
class SliceScatter(KernelBase):
    """The base is copied (onto itself, where the plan lets the output take its memory), then the slice is
    written over."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        base, value = (static_shape(v) for v in node.inputs)
        itemsize = node.output.dtype.itemsize
        offset, strides = slice_window(base, node.attrs["begin"], node.attrs["strides"])
        return [
            *copy_calls(itemsize, (math.prod(base),), In(0), (1,), Out(0), (1,), target),
            *copy_calls(
                itemsize, value, In(1), row_major(value), _moved(Out(0), offset, itemsize), strides, target
            ),
        ]


@kernel("Concat")
class Concat(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        axis, itemsize = node.attrs["axis"], node.output.dtype.itemsize
        dense = row_major(static_shape(node.output))
        calls, at = [], 0
        for i, value in enumerate(node.inputs):
            shape = static_shape(value)
            calls += copy_calls(
                itemsize,
                shape,
                In(i),
                row_major(shape),
                _moved(Out(0), at * dense[axis], itemsize),
                dense,
                target,
            )
            at += shape[axis]
        return calls


@kernel("Pad")
class Pad(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        shape, dtype = static_shape(node.inputs[0]), node.output.dtype
        whole = static_shape(node.output)
        dense = row_major(whole)
        offset = sum(low * s for (low, _), s in zip(node.attrs["paddings"], dense))
        padded = (
            fill_call(dtype, node.attrs["value"], math.prod(whole), Out(0), target) if whole != shape else []
        )
        return padded + copy_calls(
            dtype.itemsize,
            shape,
            In(0),
            row_major(shape),
            _moved(Out(0), offset, dtype.itemsize),
            dense,
            target,
        )


@kernel("Full")
class Full(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        return fill_call(
            node.output.dtype, node.attrs["value"], math.prod(static_shape(node.output)), Out(0), target
        )


@kernel("Iota")
class Iota(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        dtype, (total,) = node.output.dtype, static_shape(node.output)
        if total == 0:
            return []
        symbol = f"iota_{dtype.name}"
        code = Code(symbol, symbol, lambda: generator.iota_text(symbol, dtype, target))
        each = chunk_size(total)
        return [Call(code, [Out(0), total, each], -(-total // each))]
