"""Picking by index and its gradients on the CPU."""
from __future__ import annotations

import math

from mycelia.codegen import indexing as generator
from mycelia.codegen.program import from_function
from mycelia.codegen.rows import computed_in
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, Work, kernel
from mycelia.kernels.cpu.fused import SMALLEST_CHUNK, pointwise_call, static_shape
from mycelia.kernels.cpu.movement import fill_call


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """[outer, axis, inner] of a shape."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


@kernel("Gather")
class Gather(KernelBase):
    """Slices by index; rows of some length are copied whole."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        x, indices = node.inputs
        outer, extent, inner = _around(static_shape(x), node.attrs["axis"])
        count, itemsize = math.prod(static_shape(indices)), x.dtype.itemsize
        rows = outer * count
        if rows == 0:
            return []
        long_rows = inner * itemsize >= generator.LONG_ROW
        symbol = f"gather{itemsize}_{indices.dtype.name}_{'rows' if long_rows else 'elements'}"
        code = Code(
            symbol,
            symbol,
            lambda: generator.gather_text(symbol, itemsize, indices.dtype, long_rows, target),
        )
        each = max(1, SMALLEST_CHUNK // max(inner, 4))
        words: list[Arg] = [In(0), In(1), Out(0), rows, each, count, extent, inner]
        return [Call(code, words, -(-rows // each))]


@kernel("GatherD")
class GatherElements(KernelBase):
    """Elements by index."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        x, indices = node.inputs
        axis, itemsize = node.attrs["axis"], x.dtype.itemsize
        extent = static_shape(x)[axis]
        outer, count, inner = _around(static_shape(indices), axis)
        rows = outer * count
        if rows * inner == 0:
            return []
        symbol = f"gather_elements{itemsize}_{indices.dtype.name}"
        code = Code(
            symbol, symbol, lambda: generator.gather_elements_text(symbol, itemsize, indices.dtype, target)
        )
        each = max(1, SMALLEST_CHUNK // inner)
        words: list[Arg] = [In(0), In(1), Out(0), rows, each, count, extent, inner]
        return [Call(code, words, -(-rows // each))]


@kernel(["GatherGrad", "GatherDGrad"])
class GatherGrad(KernelBase):
    """Inputs: indices and the cotangent. The result is filled with zeros, then rows (elements) are added to
    it in the order of the
    indices; float16 and bfloat16 are added up in float32."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        return Refusal("booleans have no sum") if node.output.dtype.kind == "b" else None

    def lower(self, node: Node, target: Target) -> list[Call]:
        indices, dy = node.inputs
        dtype, shape, axis = dy.dtype, static_shape(node.output), node.attrs["axis"]
        size = math.prod(shape)
        outer, extent, inner = _around(shape, axis)
        whole_rows = node.op.name == "GatherGrad"
        index_shape = static_shape(indices)
        count = math.prod(index_shape) if whole_rows else index_shape[axis]
        total = computed_in(dtype) if dtype.is_float else dtype
        sink: Arg = Out(0) if total is dtype else Work(size * total.itemsize, "sums")
        calls = fill_call(total, 0, size, sink, target)
        if outer * count * inner:
            # parts of a row go to different chunks only if a row's part is work enough
            width = min(inner, max(16, -(-SMALLEST_CHUNK // count)))
            tiles = -(-inner // width)
            units = outer * tiles
            each = max(1, SMALLEST_CHUNK // (count * width))
            make = generator.scatter_add_text if whole_rows else generator.scatter_elements_text
            name = "scatter_add" if whole_rows else "scatter_elements"
            symbol = f"{name}_{dtype.name}_{indices.dtype.name}"
            code = Code(symbol, symbol, lambda: make(symbol, dtype, total, indices.dtype, target))
            words: list[Arg] = [In(0), In(1), sink, units, each, count, extent, inner, width, tiles]
            calls.append(Call(code, words, -(-units // each)))
        if total is not dtype:
            narrow = from_function("cast", [total], [dtype], lambda m, x: m.cast(x, dtype))
            calls += pointwise_call(narrow, (size,), [(1,)], [sink], [Out(0)], target)
        return calls
