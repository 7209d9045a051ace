"""Matrix products on the CPU."""
from __future__ import annotations

from mycelia.codegen.gemm import Contraction
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Call, In, KernelBase, Out, Refusal, Work, kernel
from mycelia.kernels.cpu.contraction import (Shape, Widened, contract, pack_panels, packed_elements, tile_for,
                                             transpose)


def extents(node: Node) -> tuple[int, int, int, int]:
    """(batch, M, N, K) of a MatMul or BatchMatMul."""
    *batch, rows, columns = node.inputs[0].shape
    m, k = (columns, rows) if node.attrs.get("transpose_a") else (rows, columns)
    n = node.inputs[1].shape[-2 if node.attrs.get("transpose_b") else -1]
    count = 1
    for extent in batch:
        count *= extent
    return count, m, n, k


@kernel(["MatMul", "BatchMatMul"], device="CPU")
class Gemm(KernelBase):
    """b is packed into panels at run time; a is read where it lies, or transposed first."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        if not node.inputs[0].dtype.is_float:
            return Refusal(f"computes floating-point products, not {node.inputs[0].dtype.name}")
        return None

    def lower(self, node: Node, target: Target) -> list[Call]:
        batch, m, n, k = extents(node)
        dtype = node.inputs[0].dtype
        tile, wide = tile_for(target, dtype), Widened(target, dtype)
        size = dtype.itemsize
        panels = packed_elements(tile, n, 1, k) * tile.itemsize
        packed = Work(max(batch * panels, 1), "panels")
        strides = (k * size, size) if node.attrs.get("transpose_b") else (size, n * size)
        calls = pack_panels(tile, dtype, In(1), packed, n=n, run=k, n_stride=strides[0], i_stride=strides[1],
                            outer=batch, outer_stride=n * k * size)
        if node.attrs.get("transpose_a"):
            a = Work(max(batch * m * k * tile.itemsize, 1), "rows")
            calls += transpose(target, wide.stored, wide.element, In(0), a, rows=k, columns=m, source_row=m * size,
                               target_row=k * tile.itemsize, outer=batch, source_outer=m * k * size,
                               target_outer=m * k * tile.itemsize)
        else:
            a = wide.read(In(0), batch * m * k, "rows")
        c = wide.write(Out(0), batch * m * n)
        item = tile.itemsize
        shape = Shape(rows=m, n=n, run=k, a_row=k * item, c_row=n * item, outer=batch, a_outer=m * k * item,
                      b_outer=panels, c_outer=m * n * item)
        main = contract(Contraction(tile), shape, a, packed, c)
        return [*wide.before, *calls, *([main] if main else []), *wide.after]
