"""Picking by index, writing by index, and their gradients on the CPU."""
from __future__ import annotations

import math

from mycelia.codegen import indexing as generator
from mycelia.codegen.indexing import RowCopy
from mycelia.codegen.program import from_function
from mycelia.codegen.rows import computed_in
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, Work, kernel
from mycelia.kernels.cpu.fused import SMALLEST_CHUNK, pointwise_call, static_shape
from mycelia.kernels.cpu.movement import copy_calls, fill_call

CHUNK_BYTES = 4 * SMALLEST_CHUNK  # that a chunk copies
LINE = 64  # elements: parts of rows that different chunks add to begin on lines of the cache
MOST_PARTS = 16  # of a result whose rows are shared out: each part reads all indices


def _around(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """[outer, axis, inner] of a shape."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


@kernel("Gather")
class Gather(KernelBase):
    """Slices by index, copied whole."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        x, indices = node.inputs
        outer, extent, inner = _around(static_shape(x), node.attrs["axis"])
        count, nbytes = math.prod(static_shape(indices)), inner * x.dtype.itemsize
        rows = outer * count
        if rows == 0:
            return []
        copy = RowCopy.of(nbytes, target)
        symbol = f"gather_{indices.dtype.name}_{copy.key}"
        code = Code(symbol, symbol, lambda: generator.gather_text(symbol, copy, indices.dtype))
        each = max(1, CHUNK_BYTES // max(nbytes, 4))
        words: list[Arg] = [In(0), In(1), Out(0), rows, each, count, extent, nbytes]
        return [Call(code, words, -(-rows // each))]


@kernel("ScatterUpdate")
class ScatterUpdate(KernelBase):
    """The base is copied, then its slices are written over. It keeps its own memory: after an index out of
    range it is as before."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        base, indices, _ = node.inputs
        shape, itemsize = static_shape(base), base.dtype.itemsize
        outer, extent, inner = _around(shape, node.attrs["axis"])
        count, nbytes = math.prod(static_shape(indices)), inner * itemsize
        calls = copy_calls(itemsize, (math.prod(shape),), In(0), (1,), Out(0), (1,), target)
        if outer * count:
            parts = max(1, min(MOST_PARTS, extent, count * nbytes // CHUNK_BYTES))
            height = max(1, -(-extent // parts))
            parts = max(1, -(-extent // height))
            each = max(1, CHUNK_BYTES * parts // max(count * nbytes, 1))
            copy = RowCopy.of(nbytes, target)
            symbol = f"scatter_update_{indices.dtype.name}_{copy.key}"
            code = Code(symbol, symbol, lambda: generator.scatter_update_text(symbol, copy, indices.dtype))
            units = outer * parts
            words: list[Arg] = [In(1), In(2), Out(0), units, each, count, extent, nbytes, height, parts]
            calls.append(Call(code, words, -(-units // each)))
        return calls


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
        last = inner == 1
        symbol = f"gather_elements{itemsize}_{indices.dtype.name}{'_last' if last else ''}"
        code = Code(
            symbol, symbol, lambda: generator.gather_elements_text(symbol, itemsize, indices.dtype, last)
        )
        each = max(1, SMALLEST_CHUNK // inner)
        words: list[Arg] = [In(0), In(1), Out(0), rows, each, count, extent, inner]
        return [Call(code, words, -(-rows // each))]


@kernel("ScatterElements")
class ScatterElements(KernelBase):
    """The base is copied, then its elements are combined with the values in the order of the indices; float16
    and bfloat16 in float32."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        base, indices, _ = node.inputs
        dtype, shape, axis, reduce = base.dtype, static_shape(base), node.attrs["axis"], node.attrs["reduce"]
        size = math.prod(shape)
        if size == 0:
            return []
        outer, extent, inner = _around(shape, axis)
        count = static_shape(indices)[axis]
        total = computed_in(dtype) if dtype.is_float and reduce != "update" else dtype
        sink: Arg = Out(0) if total is dtype else Work(size * total.itemsize, "wide")
        if total is dtype:
            calls = copy_calls(dtype.itemsize, (size,), In(0), (1,), Out(0), (1,), target)
        else:
            wide = from_function("cast", [dtype], [total], lambda m, x: m.cast(x, total))
            calls = pointwise_call(wide, (size,), [(1,)], [In(0)], [sink], target)
        if count:
            width = min(inner, -(-SMALLEST_CHUNK // (count * LINE)) * LINE)
            tiles = -(-inner // width)
            units = outer * tiles
            each = max(1, SMALLEST_CHUNK // (count * width))
            last = inner == 1
            symbol = f"scatter_elements_{reduce}_{dtype.name}_{indices.dtype.name}{'_last' if last else ''}"
            code = Code(
                symbol,
                symbol,
                lambda: generator.scatter_elements_text(
                    symbol, dtype, total, indices.dtype, last, shared=False, reduce=reduce
                ),
            )
            words: list[Arg] = [In(1), In(2), sink, units, each, count, extent, inner, width, tiles]
            calls.append(Call(code, words, -(-units // each)))
        if total is not dtype:
            narrow = from_function("cast", [total], [dtype], lambda m, x: m.cast(x, dtype))
            calls += pointwise_call(narrow, (size,), [(1,)], [sink], [Out(0)], target)
        return calls


@kernel(["GatherGrad", "GatherDGrad"])
class GatherGrad(KernelBase):
    """Inputs: indices and the cotangent. The result is filled with zeros, then rows (elements) are added to
    it in the order of the indices; float16 and bfloat16 are added up in float32."""

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
        if outer * count * (inner or whole_rows):
            # parts of a row go to different chunks only if a row's part is work enough
            width = min(inner, -(-SMALLEST_CHUNK // (count * LINE)) * LINE)
            tiles = -(-inner // width) if inner else 1
            units = outer * tiles
            each = max(1, SMALLEST_CHUNK // (count * max(width, 1)))
            calls.append(
                Call(
                    self._code(whole_rows, inner == 1, node, total, target),
                    [In(0), In(1), sink, units, each, count, extent, inner, width, tiles],
                    -(-units // each),
                )
            )
        if total is not dtype:
            narrow = from_function("cast", [total], [dtype], lambda m, x: m.cast(x, dtype))
            calls += pointwise_call(narrow, (size,), [(1,)], [sink], [Out(0)], target)
        return calls

    @staticmethod
    def _code(whole_rows: bool, last: bool, node: Node, total: DType, target: Target) -> Code:
        index, dtype = node.inputs[0].dtype, node.output.dtype
        types = f"{dtype.name}_{index.name}"
        if whole_rows and not last:
            symbol = f"scatter_add_{types}"
            return Code(
                symbol, symbol, lambda: generator.scatter_add_text(symbol, dtype, total, index, target)
            )
        symbol = f"scatter_elements_{types}{'_last' if last else ''}{'_shared' if whole_rows else ''}"
        return Code(
            symbol,
            symbol,
            lambda: generator.scatter_elements_text(symbol, dtype, total, index, last, shared=whole_rows),
        )
