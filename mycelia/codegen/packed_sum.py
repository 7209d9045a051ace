"""Sums over pixels of outer products, which the gradient of convolution weights is, from packed operands.

``C[t, i, n] = sum over pixels p of A[row(p, t) + i] * B[p, n]``, as `mycelia.codegen.conv.pixel_sum`. There
both operands are read where they lie, a few elements of each pixel, whose addresses are a power of two apart
as often as not, so that they fall into few sets of the caches. Here B comes in panels
(`mycelia.codegen.pack`), and a chunk copies the columns of A that it needs, a block of pixels at a time, to
its stack, where a register tile reads them in order (the loops of K. Goto and R. van de Geijn, "Anatomy of
High-Performance Matrix Multiplication", 2008).
"""
from __future__ import annotations

from mycelia.codegen.conv import PixelSum, store_sums
from mycelia.codegen.gemm import dispatch
from mycelia.codegen.text import Module, Operand, Value

POINTERS = ("a", "b", "c", "table", "zeros")
NUMBERS = (
    "pixels",
    "total",  # the sum goes over images x pixels
    "run",
    "n",  # extents of C beside the taps
    "tiles",
    "tile_rows",
    "taller",  # tiles per tap, rows of the smaller ones, how many have one more
    "all_tiles",
    "tile_block",
    "row_blocks",
    "panel_block",
    "column_blocks",
    "a_row",
    "a_image",
    "a_outer",
    "b_outer",
    "c_outer",
    "parts",
    "part_pixels",
    "c_part",  # pieces of the sum that chunks of their own compute, each into a C of its own
)
WORDS = POINTERS + NUMBERS
BLOCK_BYTES = 1024  # of one column of A: the pixels of a block; its piece of a panel stays in the first cache
GROUP = 8  # tiles of A that are copied at once


def block_pixels(spec: PixelSum) -> int:
    return BLOCK_BYTES // spec.tile.itemsize


def packed_sum(spec: PixelSum, symbol: str) -> str:
    """The text of the kernel; its argument words are `WORDS`."""
    module = Module()
    f = module.kernel(symbol)
    tile, block = spec.tile, block_pixels(spec)
    w = dict(zip(WORDS, f.words(*["ptr"] * len(POINTERS), *["i64"] * len(NUMBERS))))
    copies = f.stack(tile.element, GROUP * block * tile.rows + tile.lanes)
    column = f.rem(f.params[1], w["column_blocks"])
    rest = f.div(f.params[1], w["column_blocks"])
    row, rest = f.rem(rest, w["row_blocks"]), f.div(rest, w["row_blocks"])
    part, outer = f.rem(rest, w["parts"]), f.div(rest, w["parts"])
    a = f.byte(w["a"], f.mul(outer, w["a_outer"]))
    b = f.byte(w["b"], f.mul(outer, w["b_outer"]))
    c = f.byte(w["c"], f.add(f.mul(outer, w["c_outer"]), f.mul(part, w["c_part"])))
    first_tile = f.mul(row, w["tile_block"])
    last_tile = f.minimum(f.add(first_tile, w["tile_block"]), w["all_tiles"])
    first_panel = f.mul(column, w["panel_block"])
    panels = f.div(f.add(w["n"], tile.width - 1), tile.width)
    last_panel = f.minimum(f.add(first_panel, w["panel_block"]), panels)

    def place(index: Value) -> tuple[Operand, Operand, Operand]:
        """Tap, first column of A, and height of a tile."""
        tap, j = f.div(index, w["tiles"]), f.rem(index, w["tiles"])
        height = f.add(w["tile_rows"], f.cast("zext", f.icmp("slt", j, w["taller"]), "i64"))
        return tap, f.add(f.mul(j, w["tile_rows"]), f.minimum(j, w["taller"])), height

    def copy_of(index: Value, first: Value) -> Value:
        return f.at(tile.element, copies, f.mul(f.sub(index, first), block * tile.rows))

    first = f.value(f.mul(part, w["part_pixels"]))
    end = f.minimum(f.add(first, w["part_pixels"]), w["total"])
    with f.loop(first, f.maximum(end, f.add(first, 1)), block) as blocks:
        count = f.minimum(f.sub(end, blocks.index), block)
        begins = f.icmp("eq", blocks.index, first)
        with f.loop(first_tile, last_tile, GROUP) as groups:
            last = f.minimum(f.add(groups.index, GROUP), last_tile)
            with f.loop(groups.index, last) as tiles:
                tap, i, height = place(tiles.index)
                f.call(
                    f"{symbol}_copy",
                    "void",
                    f.params[0],
                    f.at(tile.element, a, i),
                    copy_of(tiles.index, groups.index),
                    f.value(tap),
                    f.value(height),
                    blocks.index,
                    f.value(count),
                )
            with f.loop(first_panel, last_panel) as panel, f.loop(groups.index, last) as tiles:
                tap, i, height = place(tiles.index)
                from_column = f.mul(panel.index, tile.width)
                cols = f.sub(w["n"], from_column)
                c_at = f.add(f.mul(f.add(f.mul(tap, w["run"]), i), w["n"]), from_column)
                b_at = f.mul(f.add(f.mul(panel.index, w["total"]), blocks.index), tile.width)
                arguments = [
                    copy_of(tiles.index, groups.index),
                    f.at(tile.element, b, b_at),
                    f.at(tile.element, c, c_at),
                    f.value(f.mul(w["n"], tile.itemsize)),
                    f.value(count),
                    f.value(cols),
                    begins,
                ]
                dispatch(f, tile, spec.vectors, spec.heights, symbol, height, cols, arguments)
    f.ret(0)
    _copy(module, spec, f"{symbol}_copy")
    for vectors in spec.vectors:
        for rows in spec.heights:
            _tile(module, spec, f"{symbol}_tile{rows}x{vectors}", rows, vectors)
    return str(module)


def _copy(module: Module, spec: PixelSum, name: str) -> None:
    """Brings the columns of a tile together: ``tile.rows`` elements for each pixel, pixel after pixel."""
    tile = spec.tile
    f = module.function(
        name,
        "void",
        [
            ("ptr", "args"),
            ("ptr", "a"),
            ("ptr", "copy"),
            ("i64", "tap"),
            ("i64", "height"),
            ("i64", "first"),
            ("i64", "count"),
        ],
        internal=True,
        attributes="nounwind noinline",
    )
    _, a, copy, tap, height, first, count = f.params

    def word(name: str) -> Value:
        return f.words("ptr" if name in POINTERS else "i64", first=WORDS.index(name))[0]

    pixels, a_image = word("pixels"), word("a_image")
    steps = range(0, tile.rows, tile.lanes)
    masks = [f.mask(f.minimum(f.maximum(f.sub(height, k), 0), tile.lanes), tile.lanes) for k in steps]
    if spec.table:
        zeros, offsets = word("zeros"), f.at("i32", word("table"), f.mul(tap, pixels))
    else:
        a_row = word("a_row")
    every = f.maximum(pixels, 1)
    start = [f.value(f.rem(first, every)), f.value(f.mul(f.div(first, every), a_image))]
    with f.loop(0, count, 1, start) as loop:
        pixel, image = loop.carried
        source = f.byte(a, image)
        if spec.table:
            offset = f.load("i32", f.at("i32", offsets, pixel))
            there = f.byte(source, f.cast("sext", offset, "i64"))
            source = f.select(f.icmp("slt", offset, 0), zeros, there)
        else:
            source = f.byte(source, f.mul(pixel, a_row))
        target = f.at(tile.element, copy, f.mul(loop.index, tile.rows))
        for k, mask in zip(steps, masks):  # the next pixel overwrites what is beyond the tile
            x = f.masked_load(tile.vector, f.at(tile.element, source, k), mask)
            f.store(x, f.at(tile.element, target, k), tile.itemsize)
        following = f.add(pixel, 1)
        wraps = f.icmp("eq", following, pixels)
        loop.next([f.select(wraps, 0, following), f.select(wraps, f.add(image, a_image), image)])
    f.ret()


def _tile(module: Module, spec: PixelSum, name: str, rows: int, vectors: int) -> None:
    """Adds the sum over a block of pixels to a register tile of C, which starts at 0 where ``begins``."""
    tile, size = spec.tile, spec.tile.itemsize
    f = module.function(
        name,
        "void",
        [
            ("ptr", "a"),
            ("ptr", "b"),
            ("ptr", "c"),
            ("i64", "c_row"),
            ("i64", "count"),
            ("i64", "cols"),
            ("i1", "begins"),
        ],
        internal=True,
        attributes="nounwind noinline",
    )
    a, b, c, c_row, count, cols, begins = f.params
    full = f.icmp("sge", cols, vectors * tile.lanes)
    columns = f.select(full, tile.lanes, f.sub(cols, (vectors - 1) * tile.lanes))
    mask = f.mask(columns, tile.lanes)
    zero = Value("zeroinitializer", tile.vector)
    sums_of = rows * vectors
    phases = 1
    while sums_of * phases < 8 and phases < 4:
        phases *= 2

    row_addresses = [f.byte(c, f.mul(c_row, r)) for r in range(rows)]
    held = f.choose(
        begins,
        lambda: [zero] * sums_of,
        lambda: [
            f.masked_load(tile.vector, f.byte(p, v * tile.lanes * size), mask)
            if spec.columns != "whole" and v == vectors - 1
            else f.load(tile.vector, f.byte(p, v * tile.lanes * size), size)
            for p in row_addresses
            for v in range(vectors)
        ],
    )

    def step(sums: list[Value], at: Operand, phase: int) -> None:
        from_b = f.byte(b, f.mul(at, tile.width * size))
        of_b = [f.load(tile.vector, f.byte(from_b, v * tile.lanes * size), size) for v in range(vectors)]
        from_a = f.byte(a, f.mul(at, tile.rows * size))
        for r in range(rows):
            x = f.splat(f.load(tile.element, f.at(tile.element, from_a, r)), tile.lanes)
            for v in range(vectors):
                k = (phase * rows + r) * vectors + v
                sums[k] = f.fma(x, of_b[v], sums[k])

    unroll = 4
    whole = f.op("i64", f"and i64 {count}, {-unroll}")
    with f.loop(0, whole, unroll, held + [zero] * (sums_of * (phases - 1))) as loop:
        now = list(loop.carried)
        for k in range(unroll):
            step(now, f.add(loop.index, k), k % phases)
        loop.next(now)
    with f.loop(whole, count, 1, loop.results) as left:
        now = list(left.carried)
        step(now, left.index, 0)
        left.next(now)
    sums = left.results
    for phase in range(1, phases):
        rest = sums[phase * sums_of : (phase + 1) * sums_of]
        sums = [f.fadd(x, y) for x, y in zip(sums[:sums_of], rest)] + sums[sums_of:]
    store_sums(f, spec, sums[:sums_of], row_addresses, vectors, full, columns)


PART_WORDS = ("parts", "c", "count", "elements", "block")


def sum_parts(spec: PixelSum, symbol: str) -> str:
    """The text of ``c[i] = sum over s of parts[s, i]``; its words are `PART_WORDS`: addresses, the number of
    parts and of elements in each, elements of a chunk."""
    module, tile = Module(), spec.tile
    f = module.kernel(symbol)
    source, c, count, elements, block = f.words("ptr", "ptr", "i64", "i64", "i64")
    first = f.mul(f.params[1], block)
    last = f.minimum(f.add(first, block), elements)
    whole = f.add(first, f.op("i64", f"and i64 {f.value(f.sub(last, first))}, {-tile.lanes}"))

    def total(type: str, at: Value) -> None:
        begin = [f.load(type, f.at(tile.element, source, at), tile.itemsize)]
        with f.loop(1, count, 1, begin) as parts:
            address = f.at(tile.element, source, f.add(at, f.mul(parts.index, elements)))
            parts.next([f.fadd(parts.carried[0], f.load(type, address, tile.itemsize))])
        f.store(parts.results[0], f.at(tile.element, c, at), tile.itemsize)

    with f.loop(first, whole, tile.lanes) as vectors:
        total(tile.vector, vectors.index)
    with f.loop(whole, last) as left:
        total(tile.element, left.index)
    f.ret(0)
    return str(module)
