"""Matrix products on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mycelia.codegen import products
from mycelia.codegen.conv import PixelSum
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
    pixel_sums,
    tile_for,
    transpose,
)

# A product whose operands are smaller than this (in bytes) reads a transposed a as it lies.
SMALL = 256 * 1024
# Multiply-adds of a chunk of a product with few rows: about 100 us at the speed of memory.
STREAMED_WORK = 500_000
# Into at most so many ranges of k is such a product cut, and rows longer than this into blocks.
MOST_RANGES = 16
LONGEST_ROW = 8192


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
        x = wide.read(vector, p.batch * rows * p.k, "vector")
        if by_rows:
            return [*wide.before, *_dot_products(tile, wide.stored, p, x, matrix, Out(0), rows, n)]
        y = wide.write(Out(0), p.batch * rows * n)
        return [*wide.before, *_scaled_rows(tile, wide.stored, p, x, matrix, y, rows, n), *wide.after]


def _streamed(form: str, tile: Tile, stored: str, rows: int, outer: int, **words: Arg) -> Call:
    """The call of a kernel of `mycelia.codegen.products`."""
    symbol = f"{form}{rows}_{stored}x{tile.lanes}"
    code = Code(symbol, symbol, lambda: getattr(products, form)(tile, stored, rows, symbol))
    words["blocks"] = ceil_div(words["n"], words["block"])  # type: ignore[arg-type]
    return Call(code, [words[name] for name in products.WORDS], outer * words["blocks"])


def _dot_products(
    tile: Tile, stored: str, p: Product, x: Arg, w: Arg, y: Arg, rows: int, n: int
) -> list[Call]:
    size, item = p.dtype.itemsize, tile.itemsize
    block = evenly(n, max(STREAMED_WORK // (p.k * rows), 8), 4)
    strides = dict(x_row=p.k * item, w_row=p.k * size, y_row=n * size)
    outer = dict(x_outer=rows * p.k * item, w_outer=n * p.k * size, y_outer=rows * n * size)
    words = dict(x=x, w=w, y=y, n=n, k=p.k, block=block, **strides, **outer)
    return [_streamed("dot_products", tile, stored, rows, p.batch, **words)]


def _scaled_rows(
    tile: Tile, stored: str, p: Product, x: Arg, w: Arg, y: Arg, rows: int, n: int
) -> list[Call]:
    """Chunks are ranges of k, whose rows lie together in memory: their sums are added by a second call."""
    size, item = p.dtype.itemsize, tile.itemsize
    most = min(MOST_RANGES, p.k * n * rows // STREAMED_WORK) if p.batch == 1 else 1
    ranges = max((d for d in range(1, most + 1) if p.k % d == 0), default=1)
    k = p.k // ranges
    common = dict(n=n, k=k, x_row=p.k * item, w_row=n * size, y_row=n * item, y_outer=rows * n * item)
    block = evenly(n, LONGEST_ROW, tile.lanes)
    if ranges == 1:
        outer = dict(x_outer=rows * p.k * item, w_outer=n * p.k * size)
        return [
            _streamed(
                "scaled_rows", tile, stored, rows, p.batch, x=x, w=w, y=y, block=block, **common, **outer
            )
        ]
    sums = Work(ranges * rows * n * item, "sums")
    outer = dict(x_outer=k * item, w_outer=k * n * size)
    ones = Table(np.ones(ranges, np.float64 if tile.element == "double" else np.float32))
    total = rows * n
    return [
        _streamed(
            "scaled_rows", tile, stored, rows, ranges, x=x, w=w, y=sums, block=block, **common, **outer
        ),
        _streamed(
            "scaled_rows",
            tile,
            tile.element,
            1,
            1,
            x=ones,
            w=sums,
            y=y,
            n=total,
            k=ranges,
            x_row=0,
            w_row=total * item,
            y_row=0,
            x_outer=0,
            w_outer=0,
            y_outer=0,
            block=evenly(total, LONGEST_ROW, tile.lanes),
        ),
    ]


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
