"""How a contraction is cut into chunks and pieces, and the calls that bring its operands into shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mycelia.codegen import conv, gemm, pack, packed_sum
from mycelia.codegen.conv import PixelSum
from mycelia.codegen.gemm import Contraction, Tile
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType, float32, float64
from mycelia.kernels.api import Arg, Call, Code, Table, Work

# Bytes of A that a chunk goes over for each panel of B: it stays in the second-level cache.
ROW_BLOCK_BYTES = 192 * 1024
# Bytes of a panel of B that are used for all rows of a chunk before the next piece of the sum.
PANEL_BYTES = 64 * 1024
# Bytes of B that stay in the cache while all rows go by, and the tiles that then go over all panels together.
RESIDENT_BYTES = 256 * 1024
SHORT_STRIP = 8
# Multiply-adds of a chunk: about 200 us.
CHUNK_WORK = 8_000_000
# A chunk of a deep sum has so many panels, as long as that leaves enough chunks for several threads.
DEEP_PANELS = 16
FEW_CHUNKS = 16


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def evenly(total: int, most: int, multiple: int = 1) -> int:
    """The size of equal pieces of ``total``, each at most about ``most``, rounded up to a multiple."""
    if total <= most:
        return max(total, 1)
    return ceil_div(ceil_div(total, ceil_div(total, most)), multiple) * multiple


def tile_for(target: Target, dtype: DType) -> Tile:
    """The register tile in the type in which values of ``dtype`` are computed."""
    return Tile.of(target, pack.arithmetic(pack.STORED[dtype.name]))


def packed_elements(tile: Tile, n: int, taps: int, run: int) -> int:
    """Elements of B in panels."""
    return ceil_div(n, tile.width) * tile.width * taps * run


def _unroll(run: int, table: bool) -> int:
    """Steps of a run that are written out: for a short run a divisor, so that nothing is left over."""
    if table and run <= 32 and run % 4:
        return next((u for u in (7, 6, 5, 3) if run % u == 0), 4)
    return 4


@dataclass
class Shape:
    """Extents and strides (in bytes) of a contraction; see `mycelia.codegen.gemm`."""

    rows: int
    n: int
    run: int
    a_row: int
    c_row: int
    taps: int = 1
    a_tap: int = 0
    images: int = 1
    a_image: int = 0
    c_image: int = 0
    outer: int = 1
    a_outer: int = 0
    b_outer: int = 0
    c_outer: int = 0


def contract(
    spec: Contraction,
    shape: Shape,
    a: Arg,
    b: Arg,
    c: Arg,
    bias: Arg = 0,
    residual: Arg = 0,
    offsets: np.ndarray | None = None,
    scatter: np.ndarray | None = None,
) -> Call | None:
    """The call of a contraction over packed B; None where it has no element.

    Args:
        offsets: int32 byte offsets ``[taps, rows]`` of A's rows, -1 for a row of zeros; of the first tap
            alone if
            ``spec.regular``.
        scatter: int32 byte offsets ``[rows]`` of C's rows.
    """
    tile, s = spec.tile, shape
    if 0 in (s.rows, s.n, s.images, s.outer):
        return None
    tiles = ceil_div(s.rows, tile.rows)
    tile_rows, taller = divmod(s.rows, tiles)
    all_tiles = tiles * s.images
    panels = ceil_div(s.n, tile.width)
    depth = max(s.taps * s.run, 1)

    piece = max(PANEL_BYTES // (tile.width * tile.itemsize), tile.unroll)
    if s.run >= piece:
        tap_block, run_block = 1, evenly(s.run, piece, tile.unroll)
    else:
        tap_block, run_block = evenly(s.taps, max(piece // max(s.run, 1), 1)), max(s.run, 1)
    depth_block = min(tap_block * run_block, depth)

    # B that stays in the cache lets a strip be a few tiles, whose rows of C are then written (and residuals
    # read) in order;
    # else a strip has as many rows of A as stay there while B goes by
    b_bytes = panels * tile.width * depth * tile.itemsize
    if b_bytes <= RESIDENT_BYTES and depth_block == depth:
        strip = SHORT_STRIP
        tile_block = evenly(all_tiles, max(CHUNK_WORK // (tile.rows * depth * s.n), strip), strip)
    else:
        most_rows = max(ROW_BLOCK_BYTES // (depth_block * tile.itemsize), 2 * tile.rows)
        strip = tile_block = evenly(all_tiles, max(most_rows // tile.rows, 1))
    row_blocks = ceil_div(all_tiles, tile_block)
    work = tile_block * tile.rows * depth * tile.width
    most_panels = max(CHUNK_WORK // work, 1)
    if depth_block < depth:  # a piece of A's rows serves several panels before it is read again
        most_panels = max(most_panels, min(DEEP_PANELS, panels * row_blocks * s.outer // FEW_CHUNKS))
    panel_block = evenly(panels, most_panels)
    column_blocks = ceil_div(panels, panel_block)
    spec = replace(
        spec,
        columns=gemm.column_class(tile, s.n),
        shortest=min(tile_rows, tile.rows - 1),
        tile=replace(tile, unroll=_unroll(s.run, spec.table)),
    )

    symbol = "k_" + spec.key
    code = Code(symbol, spec.key, lambda: gemm.contraction(spec, symbol))
    zeros: Arg = Table(np.zeros(max(s.run, 1) * tile.itemsize, np.uint8)) if spec.table else 0
    words: dict[str, Arg] = dict(
        a=a,
        b=b,
        c=c,
        bias=bias,
        residual=residual,
        zeros=zeros,
        table=Table(offsets) if offsets is not None else 0,
        scatter=Table(scatter) if scatter is not None else 0,
        rows=s.rows,
        tiles=tiles,
        tile_rows=tile_rows,
        taller=taller,
        all_tiles=all_tiles,
        n=s.n,
        taps=s.taps,
        run=s.run,
        tap_block=tap_block,
        run_block=run_block,
        a_row=s.a_row,
        a_tap=s.a_tap,
        a_image=s.a_image,
        a_outer=s.a_outer,
        b_outer=s.b_outer,
        c_row=s.c_row,
        c_image=s.c_image,
        c_outer=s.c_outer,
        tile_block=tile_block,
        row_blocks=row_blocks,
        panel_block=panel_block,
        column_blocks=column_blocks,
        strip=strip,
    )
    return Call(code, [words[name] for name in gemm.WORDS], s.outer * row_blocks * column_blocks)


def pack_panels(
    tile: Tile,
    dtype: DType,
    source: Arg,
    panels: Arg,
    *,
    n: int,
    run: int,
    n_stride: int,
    i_stride: int,
    offsets: np.ndarray | None = None,
    outer: int = 1,
    outer_stride: int = 0,
) -> list[Call]:
    """The call that packs B, whose element (n, t, i) is at ``offsets[t] + n * n_stride + i * i_stride``
    bytes."""
    offsets = np.zeros(1, np.int64) if offsets is None else offsets.astype(np.int64)
    taps = len(offsets)
    if 0 in (n, run, taps, outer):
        return []
    stored = pack.STORED[dtype.name]
    order = _contiguous(tile, offsets, run, n_stride, i_stride, dtype.itemsize)
    symbol = f"pack_{order}_{stored}_{tile.key}"
    code = Code(symbol, symbol, lambda: pack.pack(tile, stored, order, symbol))
    count = ceil_div(n, tile.width)
    block = evenly(count, max(200_000 // max(taps * run * tile.width, 1), 4), 4)
    words: dict[str, Arg] = dict(
        source=source,
        panels=panels,
        offsets=Table(offsets),
        n=n,
        taps=taps,
        run=run,
        n_stride=n_stride,
        i_stride=i_stride,
        outer_stride=outer_stride,
        panel_outer=packed_elements(tile, n, taps, run) * tile.itemsize,
        panel_block=block,
        panel_blocks=ceil_div(count, block),
    )
    return [Call(code, [words[name] for name in pack.PACK_WORDS], outer * ceil_div(count, block))]


def _contiguous(tile: Tile, offsets: np.ndarray, run: int, n_stride: int, i_stride: int, size: int) -> str:
    """Which extents of B are contiguous, as `mycelia.codegen.pack.pack` names it."""
    taps = len(offsets)
    if n_stride == size:
        return "rows"
    if i_stride == size:
        return "columns"
    if taps > 1 and np.array_equal(offsets, np.arange(taps) * size):
        if i_stride == taps * size:
            return "images"
        if taps >= tile.lanes:
            return "taps"
    return "strided"


def transpose(
    target: Target,
    source_type: str,
    target_type: str,
    source: Arg,
    result: Arg,
    *,
    rows: int,
    columns: int,
    source_row: int,
    target_row: int,
    outer: int = 1,
    source_outer: int = 0,
    target_outer: int = 0,
) -> list[Call]:
    """The call of ``result[c, r] = source[r, c]`` for ``outer`` matrices; types as LLVM names them, strides
    in bytes."""
    if 0 in (rows, columns, outer):
        return []
    tile = Tile.of(target, pack.arithmetic(source_type))
    symbol = f"transpose_{source_type}_{target_type}_{tile.lanes}"
    code = Code(symbol, symbol, lambda: pack.transpose(tile, source_type, target_type, symbol))
    block = evenly(columns, max(100_000 // rows, tile.lanes), tile.lanes)
    words: dict[str, Arg] = dict(
        source=source,
        target=result,
        rows=rows,
        columns=columns,
        source_row=source_row,
        target_row=target_row,
        source_outer=source_outer,
        target_outer=target_outer,
        block=block,
        blocks=ceil_div(columns, block),
    )
    return [Call(code, [words[name] for name in pack.TRANSPOSE_WORDS], outer * ceil_div(columns, block))]


def convert(
    target: Target, source_type: str, target_type: str, source: Arg, result: Arg, count: int
) -> list[Call]:
    """The call that copies ``count`` elements from one stored type into another."""
    if count == 0:
        return []
    width = target.lanes(4)
    symbol = f"convert_{source_type}_{target_type}_{width}"
    code = Code(symbol, symbol, lambda: pack.convert(source_type, target_type, width, symbol))
    block = evenly(count, 200_000, width)
    return [Call(code, [source, result, count, block], ceil_div(count, block))]


class Widened:
    """Operands of a node in the type of arithmetic: float16 and bfloat16 go through workspace, others stay
    in place."""

    def __init__(self, target: Target, dtype: DType) -> None:
        self.target, self.stored = target, pack.STORED[dtype.name]
        self.element = pack.arithmetic(self.stored)
        self.itemsize = 8 if self.element == "double" else 4
        self.same = self.stored == self.element
        self.before: list[Call] = []
        self.after: list[Call] = []

    def read(self, source: Arg, count: int, key: str) -> Arg:
        if self.same:
            return source
        wide = Work(max(count, 1) * self.itemsize, key)
        self.before += convert(self.target, self.stored, self.element, source, wide, count)
        return wide

    def write(self, result: Arg, count: int, key: str = "result") -> Arg:
        if self.same:
            return result
        wide = Work(max(count, 1) * self.itemsize, key)
        self.after += convert(self.target, self.element, self.stored, wide, result, count)
        return wide


# Bytes of A and B that a sum over pixels goes over again for each tile of a chunk.
PIXEL_BLOCK_BYTES = 192 * 1024
# A result of so many bytes is summed up in parts, each over some of the pixels.
PART_BYTES = 640 * 1024


def pixel_sums(
    spec: PixelSum,
    *,
    a: Arg,
    b: Arg,
    c: Arg,
    offsets: np.ndarray | None,
    pixels: int,
    images: int,
    taps: int,
    run: int,
    n: int,
    a_row: int,
    a_image: int,
    b_row: int,
    b_image: int,
    outer: int = 1,
    a_outer: int = 0,
    b_outer: int = 0,
    c_outer: int = 0,
) -> list[Call]:
    """The call of ``C[t, i, n] = sum over pixels p of A[row(p, t) + i] * B[p, n]`` (zeros where there is no
    pixel).

    Args:
        offsets: int32 byte offsets ``[taps, pixels]`` of A's rows, -1 for zeros; None: row p is at ``p *
            a_row``.
    """
    if 0 in (taps, run, n, outer):
        return []
    tile = spec.tile
    cut = SumCut.of(tile, pixels * images, taps, run, n)
    pixel_bytes = (run + min(n, cut.panel_block * tile.width)) * tile.itemsize
    at_once = max(PIXEL_BLOCK_BYTES // pixel_bytes, 16)
    pixel_block = evenly(pixels, at_once, 4)
    image_block = max(at_once // pixels, 1) if 0 < pixels <= at_once else 1
    spec = cut.specialised(spec, n)
    symbol = spec.key
    code = Code(symbol, spec.key, lambda: conv.pixel_sum(spec, symbol))
    words: dict[str, Arg] = dict(
        a=a,
        b=b,
        c=c,
        table=Table(offsets) if offsets is not None else 0,
        zeros=_zero_row(spec),
        pixels=pixels,
        images=images,
        pixel_block=pixel_block,
        image_block=image_block,
        run=run,
        n=n,
        a_row=a_row,
        a_image=a_image,
        a_outer=a_outer,
        b_row=b_row,
        b_image=b_image,
        b_outer=b_outer,
        c_outer=c_outer,
        **cut.words(),
    )
    return [Call(code, [words[name] for name in conv.SUM_WORDS], outer * cut.chunks)]


def packed_pixel_sums(
    spec: PixelSum,
    *,
    a: Arg,
    b: Arg,
    c: Work,
    offsets: np.ndarray | None,
    pixels: int,
    images: int,
    taps: int,
    run: int,
    n: int,
    a_row: int,
    a_image: int,
    b_row: int,
    outer: int = 1,
    a_outer: int = 0,
    b_outer: int = 0,
) -> list[Call]:
    """`pixel_sums` with B brought into panels first and A copied by each chunk: for many columns. The images
    of B follow each other without a gap, and so do the C of ``outer``."""
    total = pixels * images
    if 0 in (taps, run, n, outer):
        return []
    tile = spec.tile
    elements = packed_elements(tile, n, 1, total)
    panels = Work(max(outer * elements * tile.itemsize, 1), "panels")
    dtype = float64 if tile.element == "double" else float32
    calls = pack_panels(
        tile, dtype, b, panels, n=n, run=total, n_stride=tile.itemsize, i_stride=b_row, outer=outer,
        outer_stride=b_outer,
    )  # fmt: skip
    block, elements_of_c = packed_sum.block_pixels(spec), taps * run * n
    cut, parts, part_pixels = SumCut.square(tile, total, taps, run, n), 1, total
    if elements_of_c * tile.itemsize <= PART_BYTES and total >= 4 * block:
        cut = SumCut.whole(tile, taps, run, n)
        part_pixels = evenly(total, max(ceil_div(total, FEW_CHUNKS), 2 * block), block)
        parts = ceil_div(total, part_pixels)
    spec = cut.specialised(spec, n)
    symbol = "packed_" + spec.key
    c_outer = elements_of_c * tile.itemsize
    to = c if parts == 1 else Work(outer * parts * c_outer, "parts")
    code = Code(symbol, symbol, lambda: packed_sum.packed_sum(spec, symbol))
    words: dict[str, Arg] = dict(
        a=a,
        b=panels,
        c=to,
        table=Table(offsets) if offsets is not None else 0,
        zeros=_zero_row(spec),
        pixels=pixels,
        total=total,
        run=run,
        n=n,
        a_row=a_row,
        a_image=a_image,
        a_outer=a_outer,
        b_outer=elements * tile.itemsize,
        c_outer=parts * c_outer,
        parts=parts,
        part_pixels=part_pixels,
        c_part=c_outer,
        **cut.words(),
    )
    calls.append(Call(code, [words[name] for name in packed_sum.WORDS], outer * parts * cut.chunks))
    if parts > 1:
        calls += [
            _total_of_parts(spec, to, c, g * parts * c_outer, g * c_outer, parts, elements_of_c)
            for g in range(outer)
        ]
    return calls


def _total_of_parts(
    spec: PixelSum, source: Work, result: Work, start: int, place: int, parts: int, elements: int
) -> Call:
    symbol = f"sum_parts_{spec.tile.element}x{spec.tile.lanes}"
    code = Code(symbol, symbol, lambda: packed_sum.sum_parts(spec, symbol))
    block = evenly(elements, max(200_000 // parts, spec.tile.lanes), spec.tile.lanes)
    source, result = (Work(w.nbytes, w.key, w.offset + at) for w, at in ((source, start), (result, place)))
    return Call(code, [source, result, parts, elements, block], ceil_div(elements, block))


def _zero_row(spec: PixelSum) -> Arg:
    return Table(np.zeros(spec.tile.rows * spec.tile.itemsize, np.uint8)) if spec.table else 0


@dataclass
class SumCut:
    """How a sum over pixels is cut into register tiles and chunks; see `mycelia.codegen.conv.pixel_sum`."""

    tiles: int
    tile_rows: int
    taller: int
    all_tiles: int
    tile_block: int
    row_blocks: int
    panel_block: int
    column_blocks: int

    @staticmethod
    def of(tile: Tile, total: int, taps: int, run: int, n: int) -> SumCut:
        """Few rows of C at a time, with many columns."""
        units, all_tiles, panels = SumCut._units(tile, total, taps, run, n)
        panel_block = evenly(panels, max(units, 1))
        return SumCut._blocks(tile, taps, run, n, max(units // panel_block, 1), panel_block)

    @staticmethod
    def square(tile: Tile, total: int, taps: int, run: int, n: int) -> SumCut:
        """As many rows as columns, in time: what is read for a chunk is least then."""
        units, all_tiles, panels = SumCut._units(tile, total, taps, run, n)
        tile_block = min(max(math.isqrt(units * 4 // 3), units // panels, 1), all_tiles)
        return SumCut._blocks(tile, taps, run, n, tile_block, max(units // tile_block, 1))

    @staticmethod
    def whole(tile: Tile, taps: int, run: int, n: int) -> SumCut:
        """All of C."""
        return SumCut._blocks(tile, taps, run, n, taps * run, n)

    @staticmethod
    def _units(tile: Tile, total: int, taps: int, run: int, n: int) -> tuple[int, int, int]:
        """Register tiles of a chunk; tiles below each other, and panels, of C."""
        all_tiles, panels = taps * ceil_div(run, tile.rows), ceil_div(n, tile.width)
        unit = max(total, 1) * tile.rows * tile.width
        chunk = min(max(unit * all_tiles * panels // FEW_CHUNKS, CHUNK_WORK), 40 * CHUNK_WORK)
        return chunk // unit, all_tiles, panels

    @staticmethod
    def _blocks(tile: Tile, taps: int, run: int, n: int, most_tiles: int, most_panels: int) -> SumCut:
        tiles, panels = ceil_div(run, tile.rows), ceil_div(n, tile.width)
        tile_rows, taller = divmod(run, tiles)
        all_tiles = taps * tiles
        tile_block, panel_block = evenly(all_tiles, most_tiles), evenly(panels, most_panels)
        return SumCut(
            tiles, tile_rows, taller, all_tiles, tile_block, ceil_div(all_tiles, tile_block), panel_block,
            ceil_div(panels, panel_block),
        )  # fmt: skip

    @property
    def chunks(self) -> int:
        return self.row_blocks * self.column_blocks

    def specialised(self, spec: PixelSum, n: int) -> PixelSum:
        shortest = min(self.tile_rows, spec.tile.rows - 1)
        return replace(spec, columns=gemm.column_class(spec.tile, n), shortest=shortest)

    def words(self) -> dict[str, Arg]:
        return dict(vars(self))
