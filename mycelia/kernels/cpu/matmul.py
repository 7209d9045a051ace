"""Matrix products on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia.codegen import products
from mycelia.codegen.conv import PixelSum
from mycelia.codegen.gemm import Contraction
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, Work, kernel
from mycelia.kernels.cpu.contraction import (
    Shape,
    Widened,
    ceil_div,
    contract,
    evenly,
    pack_panels,
    packed_elements,
    pixel_sums,
    tile_for,
    transpose,
)

# A product whose operands are smaller than this (in bytes) reads a transposed a as it lies.
SMALL = 256 * 1024
# Multiply-adds of a chunk of a product with few rows: about 100 us at the speed of memory.
STREAMED_WORK = 500_000


@dataclass(frozen=True)
class Product:
    """Extents of a product: ``batch`` of ``[m, k] x [k, n]``, either operand stored transposed."""

    batch: int
    m: int
    n: int
    k: int
    transpose_a: bool
    transpose_b: bool
    dtype: DType

    @staticmethod
    def of(node: Node) -> Product:
        *lead, rows, columns = node.inputs[0].shape
        transpose_a, transpose_b = bool(node.attrs["transpose_a"]), bool(node.attrs["transpose_b"])
        m, k = (columns, rows) if transpose_a else (rows, columns)
        batch = 1
        for extent in lead:
            batch *= extent
        return Product(
            batch,
            m,
            node.inputs[1].shape[-2 if transpose_b else -1],
            k,
            transpose_a,
            transpose_b,
            node.inputs[0].dtype,
        )


@kernel(["MatMul", "BatchMatMul"], device="CPU", priority=2)
class FewRows(KernelBase):
    """One to three rows (or one column) against a matrix that is read once, in order."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        p = Product.of(node)
        if not p.dtype.is_float:
            return Refusal(f"computes floating-point products, not {p.dtype.name}")
        if p.k == 0:
            return Refusal("there is nothing to sum")
        if p.n != 1 and (p.m > products.FEW_ROWS or p.transpose_a and p.m > 1):
            return Refusal(f"takes up to {products.FEW_ROWS} rows stored as rows, not {p.m}")
        return None

    def lower(self, node: Node, target: Target) -> list[Call]:
        p = Product.of(node)
        tile, wide = tile_for(target, p.dtype), Widened(target, p.dtype)
        if 0 in (p.batch, p.m, p.n):
            return []
        if p.n == 1 and p.m > 1:  # a is the matrix, b the vector
            rows, n, matrix, vector, by_rows = 1, p.m, In(0), In(1), not p.transpose_a
        else:
            rows, n, matrix, vector, by_rows = p.m, p.n, In(1), In(0), p.transpose_b
        size, item = p.dtype.itemsize, tile.itemsize
        form = "dot_products" if by_rows else "scaled_rows"
        symbol = f"{form}{rows}_{wide.stored}x{tile.lanes}"
        code = Code(symbol, symbol, lambda: getattr(products, form)(tile, wide.stored, rows, symbol))
        x = wide.read(vector, p.batch * rows * p.k, "vector")
        y: Arg = Out(0) if by_rows else wide.write(Out(0), p.batch * rows * n)
        y_size = size if by_rows else item
        smallest = 8 if by_rows else 64 * tile.lanes
        block = evenly(n, max(STREAMED_WORK // (p.k * rows), smallest), 4 if by_rows else tile.lanes)
        words: dict[str, Arg] = dict(
            x=x,
            w=matrix,
            y=y,
            n=n,
            k=p.k,
            w_row=(p.k if by_rows else n) * size,
            y_row=n * y_size,
            x_outer=rows * p.k * item,
            w_outer=n * p.k * size,
            y_outer=rows * n * y_size,
            block=block,
            blocks=ceil_div(n, block),
        )
        main = Call(code, [words[name] for name in products.WORDS], p.batch * ceil_div(n, block))
        return [*wide.before, main, *wide.after]


@kernel(["MatMul", "BatchMatMul"], device="CPU", priority=1)
class SmallTransposed(KernelBase):
    """A small product with a transposed a, as in gradients of dense layers: both operands are read along
    their rows."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        p = Product.of(node)
        if not p.dtype.is_float:
            return Refusal(f"computes floating-point products, not {p.dtype.name}")
        if not p.transpose_a or p.transpose_b:
            return Refusal("takes a transposed, b not")
        if p.k * (p.m + p.n) * p.dtype.itemsize > SMALL:
            return Refusal(f"takes operands of up to {SMALL} bytes together")
        return None

    def lower(self, node: Node, target: Target) -> list[Call]:
        p = Product.of(node)
        tile, wide = tile_for(target, p.dtype), Widened(target, p.dtype)
        size = tile.itemsize
        a, b = wide.read(In(0), p.batch * p.k * p.m, "a"), wide.read(In(1), p.batch * p.k * p.n, "b")
        c = wide.write(Out(0), p.batch * p.m * p.n)
        calls = pixel_sums(
            PixelSum(tile, table=False),
            a=a,
            b=b,
            c=c,
            offsets=None,
            pixels=p.k,
            images=1,
            taps=1,
            run=p.m,
            n=p.n,
            a_row=p.m * size,
            a_image=0,
            b_row=p.n * size,
            b_image=0,
            outer=p.batch,
            a_outer=p.k * p.m * size,
            b_outer=p.k * p.n * size,
            c_outer=p.m * p.n * size,
        )
        return [*wide.before, *calls, *wide.after]


@kernel(["MatMul", "BatchMatMul"], device="CPU")
class Gemm(KernelBase):
    """b is packed into panels at run time; a is read where it lies, or transposed first."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        if not node.inputs[0].dtype.is_float:
            return Refusal(f"computes floating-point products, not {node.inputs[0].dtype.name}")
        return None

    def lower(self, node: Node, target: Target) -> list[Call]:
        p = Product.of(node)
        m, n, k, batch = p.m, p.n, p.k, p.batch
        tile, wide = tile_for(target, p.dtype), Widened(target, p.dtype)
        size, item = p.dtype.itemsize, tile.itemsize
        panels = packed_elements(tile, n, 1, k) * item
        packed = Work(max(batch * panels, 1), "panels")
        n_stride, i_stride = (k * size, size) if p.transpose_b else (size, n * size)
        calls = pack_panels(
            tile,
            p.dtype,
            In(1),
            packed,
            n=n,
            run=k,
            n_stride=n_stride,
            i_stride=i_stride,
            outer=batch,
            outer_stride=n * k * size,
        )
        if p.transpose_a:
            a: Arg = Work(max(batch * m * k * item, 1), "rows")
            calls += transpose(
                target,
                wide.stored,
                wide.element,
                In(0),
                a,
                rows=k,
                columns=m,
                source_row=m * size,
                target_row=k * item,
                outer=batch,
                source_outer=m * k * size,
                target_outer=m * k * item,
            )
        else:
            a = wide.read(In(0), batch * m * k, "rows")
        c = wide.write(Out(0), batch * m * n)
        shape = Shape(
            rows=m,
            n=n,
            run=k,
            a_row=k * item,
            c_row=n * item,
            outer=batch,
            a_outer=m * k * item,
            b_outer=panels,
            c_outer=m * n * item,
        )
        main = contract(Contraction(tile), shape, a, packed, c)
        return [*wide.before, *calls, *([main] if main else []), *wide.after]


@kernel(["MatMul", "BatchMatMul"], device="CPU")
class IntegerProduct(KernelBase):
    """Integers, modulo the size of their type."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        if not node.inputs[0].dtype.is_integer:
            return Refusal(f"computes integer products, not {node.inputs[0].dtype.name}")
        return None

    def lower(self, node: Node, target: Target) -> list[Call]:
        p = Product.of(node)
        if 0 in (p.batch, p.m, p.n):
            return []
        bits, size = p.dtype.bits, p.dtype.itemsize
        symbol = f"integer_product_i{bits}"
        code = Code(symbol, symbol, lambda: products.integer_product(bits, symbol))
        block = evenly(p.m, max(200_000 // max(p.n * p.k, 1), 1))
        a_m, a_k = (1, p.m) if p.transpose_a else (p.k, 1)
        b_k, b_n = (1, p.k) if p.transpose_b else (p.n, 1)
        words: dict[str, Arg] = dict(
            a=In(0),
            b=In(1),
            c=Out(0),
            m=p.m,
            n=p.n,
            k=p.k,
            a_m=a_m * size,
            a_k=a_k * size,
            b_k=b_k * size,
            b_n=b_n * size,
            a_outer=p.m * p.k * size,
            b_outer=p.k * p.n * size,
            c_outer=p.m * p.n * size,
            block=block,
            blocks=ceil_div(p.m, block),
        )
        return [Call(code, [words[name] for name in products.INTEGER_WORDS], p.batch * ceil_div(p.m, block))]
