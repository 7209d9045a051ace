"""What convolution needs beside the contraction: padded copies, sums over pixels (weight gradients), and
depthwise kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from mycelia.codegen.gemm import Tile, column_vectors, dispatch, store_partial
from mycelia.codegen.pack import load_wide
from mycelia.codegen.text import BYTES, Function, Loop, Module, Operand, Value, constant

PAD_WORDS = ("source", "target", "height", "row", "top", "bottom", "left", "right", "images", "group")


def image_group(f: Function, index: Operand, images: Value, group: Value) -> AbstractContextManager[Loop]:
    """A loop over the images of group ``index``."""
    first = f.mul(index, group)
    return f.loop(first, f.minimum(f.add(first, group), images))


def pad_images(stored: str, tile: Tile, symbol: str) -> str:
    """Copies images ``[h][row]`` into zeros ``[top + h + bottom][left + row + right]``; a chunk is a
    group of images.

    ``row``, ``left`` and ``right`` count elements (pixels times channels).
    """
    module = Module()
    f = module.kernel(symbol)
    w = dict(zip(PAD_WORDS, f.words("ptr", "ptr", *["i64"] * (len(PAD_WORDS) - 2))))
    wide = f.add(w["left"], w["row"], w["right"])
    high = f.add(w["top"], w["height"], w["bottom"])
    lanes = tile.lanes

    def fill(at: Value, count: Operand) -> None:
        whole = f.sub(count, f.rem(count, lanes))
        with f.loop(0, whole, lanes) as loop:
            f.store(constant(0.0, tile.vector), f.at(tile.element, at, loop.index))
        with f.loop(whole, count) as loop:
            f.store(constant(0.0, tile.element), f.at(tile.element, at, loop.index))

    with image_group(f, f.params[1], w["images"], w["group"]) as images:
        pixels = f.mul(images.index, f.mul(w["height"], w["row"]))
        source = f.byte(w["source"], f.mul(pixels, BYTES[stored]))
        target = f.at(tile.element, w["target"], f.mul(images.index, f.mul(high, wide)))
        fill(target, f.mul(w["top"], wide))
        with f.loop(0, w["height"]) as rows:
            start = f.at(tile.element, target, f.mul(f.add(rows.index, w["top"]), wide))
            fill(start, w["left"])
            to = f.at(tile.element, start, w["left"])
            at = f.byte(source, f.mul(f.mul(rows.index, w["row"]), BYTES[stored]))
            whole = f.sub(w["row"], f.rem(w["row"], lanes))
            for lo, hi, step in ((0, whole, lanes), (whole, w["row"], 1)):
                with f.loop(lo, hi, step) as loop:
                    x = load_wide(f, stored, step, f.byte(at, f.mul(loop.index, BYTES[stored])))
                    f.store(x, f.at(tile.element, to, loop.index))
            fill(f.at(tile.element, to, w["row"]), w["right"])
        fill(f.at(tile.element, target, f.mul(f.add(w["top"], w["height"]), wide)), f.mul(w["bottom"], wide))
    f.ret(0)
    return str(module)


@dataclass(frozen=True)
class PixelSum:
    """Compile-time parameters of ``C[t, i, n] = sum over pixels p of A[row(p, t) + i] * B[p, n]``.

    Attributes:
        tile: the register tile; A gives up to ``tile.rows`` neighbouring scalars, B ``tile.width`` columns.
        table: rows of A come from a table of byte offsets; else row p is at ``p * a_row``.
        columns: see `mycelia.codegen.gemm.Contraction`.
        shortest: rows of C of the smaller tiles; others have one row more.
    """

    tile: Tile
    table: bool = True
    columns: str = "any"
    shortest: int = 5

    @property
    def key(self) -> str:
        return f"pixelsum_{self.tile.key}_{self.columns}{self.shortest}{'_table' if self.table else ''}"

    @property
    def vectors(self) -> tuple[int, ...]:
        return column_vectors(self.tile, self.columns)

    @property
    def heights(self) -> range:
        return range(self.shortest, min(self.shortest + 1, self.tile.rows) + 1)


SUM_POINTERS = ("a", "b", "c", "table", "zeros")
SUM_NUMBERS = (
    "pixels",
    "images",  # the sum goes over images x pixels
    "pixel_block",
    "image_block",  # piece of it that stays in the cache
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
    "b_row",
    "b_image",
    "b_outer",
    "c_outer",
)
SUM_WORDS = SUM_POINTERS + SUM_NUMBERS


def pixel_sum(spec: PixelSum, symbol: str) -> str:
    """The text of the kernel; its argument words are `SUM_WORDS`."""
    module = Module()
    f = module.kernel(symbol)
    tile = spec.tile
    w = dict(zip(SUM_WORDS, f.words(*["ptr"] * len(SUM_POINTERS), *["i64"] * len(SUM_NUMBERS))))
    column = f.rem(f.params[1], w["column_blocks"])
    rest = f.div(f.params[1], w["column_blocks"])
    row, outer = f.rem(rest, w["row_blocks"]), f.div(rest, w["row_blocks"])
    a = f.byte(w["a"], f.mul(outer, w["a_outer"]))
    b = f.byte(w["b"], f.mul(outer, w["b_outer"]))
    c = f.byte(w["c"], f.mul(outer, w["c_outer"]))
    first_tile = f.mul(row, w["tile_block"])
    last_tile = f.minimum(f.add(first_tile, w["tile_block"]), w["all_tiles"])
    first_column = f.mul(f.mul(column, w["panel_block"]), tile.width)
    last_column = f.minimum(f.add(first_column, f.mul(w["panel_block"], tile.width)), w["n"])
    with f.loop(0, f.maximum(w["images"], 1), w["image_block"]) as images:
        image_end = f.minimum(f.add(images.index, w["image_block"]), w["images"])
        with f.loop(0, f.maximum(w["pixels"], 1), w["pixel_block"]) as pixels:
            pixel_end = f.minimum(f.add(pixels.index, w["pixel_block"]), w["pixels"])
            begins = f.icmp("eq", f.op("i64", f"or i64 {images.index}, {pixels.index}"), 0)
            with (
                f.loop(first_tile, last_tile) as tiles,
                f.loop(first_column, last_column, tile.width) as panels,
            ):
                tap, j = f.div(tiles.index, w["tiles"]), f.rem(tiles.index, w["tiles"])
                i = f.add(f.mul(j, w["tile_rows"]), f.minimum(j, w["taller"]))
                height = f.add(w["tile_rows"], f.cast("zext", f.icmp("slt", j, w["taller"]), "i64"))
                cols = f.sub(w["n"], panels.index)
                c_at = f.add(f.mul(f.add(f.mul(tap, w["run"]), i), w["n"]), panels.index)
                arguments = [
                    f.params[0],
                    f.at(tile.element, a, i),
                    f.at(tile.element, b, panels.index),
                    f.at(tile.element, c, c_at),
                    f.value(tap),
                    images.index,
                    f.value(image_end),
                    pixels.index,
                    f.value(pixel_end),
                    f.value(cols),
                    begins,
                ]
                dispatch(f, tile, spec.vectors, spec.heights, symbol, height, cols, arguments)
    f.ret(0)
    for vectors in spec.vectors:
        for rows in spec.heights:
            _sum_tile(module, spec, f"{symbol}_tile{rows}x{vectors}", rows, vectors)
    return str(module)


def _sum_tile(module: Module, spec: PixelSum, name: str, rows: int, vectors: int) -> None:
    tile, size = spec.tile, spec.tile.itemsize
    f = module.function(
        name,
        "void",
        [
            ("ptr", "args"),
            ("ptr", "a"),
            ("ptr", "b"),
            ("ptr", "c"),
            ("i64", "tap"),
            ("i64", "first_image"),
            ("i64", "last_image"),
            ("i64", "first"),
            ("i64", "last"),
            ("i64", "cols"),
            ("i1", "begins"),
        ],
        internal=True,
        attributes="nounwind noinline",
    )
    args, a, b, c, tap, first_image, last_image, first, last, cols, begins = f.params

    def word(name: str) -> Value:
        return f.words("ptr" if name in SUM_POINTERS else "i64", first=SUM_WORDS.index(name))[0]

    n, b_row, a_image, b_image = (word(x) for x in ("n", "b_row", "a_image", "b_image"))
    if spec.table:
        zeros = word("zeros")
        offsets = f.at("i32", word("table"), f.mul(tap, word("pixels")))
    else:
        a_row = word("a_row")
    full = f.icmp("sge", cols, vectors * tile.lanes)
    columns = f.select(full, tile.lanes, f.sub(cols, (vectors - 1) * tile.lanes))
    mask = f.mask(columns, tile.lanes)
    zero = Value("zeroinitializer", tile.vector)
    phases = 1
    while rows * vectors * phases < 8 and phases < 4:
        phases *= 2

    def read(base: Value, partial: bool) -> list[Value]:
        addresses = [f.byte(base, v * tile.lanes * size) for v in range(vectors)]
        return [
            f.masked_load(tile.vector, p, mask)
            if partial and v == vectors - 1
            else f.load(tile.vector, p, size)
            for v, p in enumerate(addresses)
        ]

    def accumulate(sums: list[Value], partial: bool) -> list[Value]:
        def step(sums: list[Value], at: Operand, a_base: Value, b_base: Value, phase: int) -> None:
            if spec.table:
                offset = f.load("i32", f.at("i32", offsets, at))
                there = f.byte(a_base, f.cast("sext", offset, "i64"))
                pixel = f.select(f.icmp("slt", offset, 0), zeros, there)
            else:
                pixel = f.byte(a_base, f.mul(at, a_row))
            vectors_of_b = read(f.byte(b_base, f.mul(at, b_row)), partial)
            for r in range(rows):
                x = f.splat(f.load(tile.element, f.at(tile.element, pixel, r)), tile.lanes)
                for v in range(vectors):
                    k = (phase * rows + r) * vectors + v
                    sums[k] = f.fma(x, vectors_of_b[v], sums[k])

        with f.loop(first_image, last_image, 1, sums) as images:
            a_base = f.byte(a, f.mul(images.index, a_image))
            b_base = f.byte(b, f.mul(images.index, b_image))
            unroll = max(phases, 2)
            whole = f.add(first, f.op("i64", f"and i64 {f.sub(last, first)}, {-unroll}"))
            with f.loop(first, whole, unroll, images.carried) as loop:
                now = list(loop.carried)
                for k in range(unroll):
                    step(now, f.add(loop.index, k), a_base, b_base, k % phases)
                loop.next(now)
            with f.loop(whole, last, 1, loop.results) as left:
                now = list(left.carried)
                step(now, left.index, a_base, b_base, 0)
                left.next(now)
            images.next(left.results)
        return images.results

    def by_fit(emit: Callable[[bool], list[Value]]) -> list[Value]:
        """``emit(partial)`` as the columns that are left fill the vectors or not."""
        return (
            emit(False)
            if spec.columns == "whole"
            else f.choose(full, lambda: emit(False), lambda: emit(True))
        )

    row_addresses = [f.at(tile.element, c, f.mul(n, r)) for r in range(rows)]
    held = f.choose(
        begins,
        lambda: [zero] * (rows * vectors),
        lambda: by_fit(lambda partial: [x for p in row_addresses for x in read(p, partial)]),
    )
    held += [zero] * (rows * vectors * (phases - 1))
    sums = by_fit(lambda partial: accumulate(held, partial))
    count = rows * vectors
    for phase in range(1, phases):
        sums = [f.fadd(x, y) for x, y in zip(sums[:count], sums[phase * count : (phase + 1) * count])] + sums[
            count:
        ]

    store_sums(f, spec, sums[:count], row_addresses, vectors, full, columns)


def store_sums(
    f: Function,
    spec: PixelSum,
    sums: list[Value],
    rows: list[Value],
    vectors: int,
    full: Value,
    columns: Operand,
) -> None:
    """Stores a register tile at the addresses of its rows and returns; ``columns`` of each row's last vector
    unless ``full``."""
    tile = spec.tile
    addresses = [f.byte(p, v * tile.lanes * tile.itemsize) for p in rows for v in range(vectors)]
    for k, (x, address) in enumerate(zip(sums, addresses)):
        if (k + 1) % vectors:
            f.store(x, address)
    ends = list(zip(sums, addresses))[vectors - 1 :: vectors]
    if spec.columns == "whole":
        for x, address in ends:
            f.store(x, address)
        f.ret()
        return
    whole, part, done = f.fresh("whole"), f.fresh("part"), f.fresh("done")
    f.branch_if(full, whole, part)
    f.start(whole)
    for x, address in ends:
        f.store(x, address)
    f.branch(done)
    f.start(part)
    store_partial(f, [x for x, _ in ends], [address for _, address in ends], columns)
    f.branch(done)
    f.start(done)
    f.ret()


DEPTHWISE_WORDS = (
    "x",
    "weights",
    "y",
    "bias",
    "residual",
    "table",
    "pixels",
    "images",
    "taps",
    "channels",
    "x_image",
    "y_image",
    "block",
    "blocks",
)


@dataclass(frozen=True)
class Depthwise:
    """Compile-time parameters of a convolution in which each channel is a group of its own."""

    tile: Tile
    bias: bool = False
    residual: bool = False
    relu: bool = False

    @property
    def key(self) -> str:
        flags = "".join("_" + name for name in ("bias", "residual", "relu") if getattr(self, name))
        return f"depthwise_{self.tile.element}x{self.tile.lanes}{flags}"


def channel_blocks(
    f: Function,
    tile: Tile,
    first: Operand,
    last: Operand,
    vectors: int,
    emit: Callable[[Operand, int, Value | None], None],
) -> None:
    """Calls ``emit(channel, vectors, left)`` for blocks of several vectors, for single vectors, and for
    what is left (``left`` lanes)."""

    def whole(width: int) -> Operand:
        return f.sub(last, f.rem(f.sub(last, first), width))

    wide, single = whole(vectors * tile.lanes), whole(tile.lanes)
    for lo, hi, count in ((first, wide, vectors), (wide, single, 1)):
        with f.loop(lo, hi, count * tile.lanes) as loop:
            emit(loop.index, count, None)
    left = f.value(f.sub(last, single))
    with f.when(f.icmp("sgt", left, 0)):
        emit(single, 1, left)


def depthwise(spec: Depthwise, symbol: str) -> str:
    """``y[p, c] = sum over t of x[table[t, p] + c] * weights[t, c]``; -1 in the table leaves a term out.

    A chunk is a block of an image's pixels. Words: `DEPTHWISE_WORDS`, strides in bytes.
    """
    module = Module()
    f = module.kernel(symbol)
    tile = spec.tile
    w = dict(zip(DEPTHWISE_WORDS, f.words(*["ptr"] * 6, *["i64"] * (len(DEPTHWISE_WORDS) - 6))))
    image, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    x, y = f.byte(w["x"], f.mul(image, w["x_image"])), f.byte(w["y"], f.mul(image, w["y_image"]))
    residual = f.byte(w["residual"], f.mul(image, w["y_image"])) if spec.residual else w["residual"]
    first = f.mul(block, w["block"])
    last = f.minimum(f.add(first, w["block"]), w["pixels"])
    channels = w["channels"]
    with f.loop(first, last) as pixels:
        row = f.mul(pixels.index, channels)

        def emit(channel: Operand, vectors: int, left: Value | None) -> None:
            mask = f.mask(left, tile.lanes) if left is not None else None

            def read(base: Value, v: int) -> Value:
                at = f.at(tile.element, base, v * tile.lanes)
                return f.load(tile.vector, at) if mask is None else f.masked_load(tile.vector, at, mask)

            sums = [constant(0.0, tile.vector)] * vectors
            with f.loop(0, w["taps"], 1, sums) as taps:
                offset = f.load(
                    "i32", f.at("i32", w["table"], f.add(f.mul(taps.index, w["pixels"]), pixels.index))
                )

                def add() -> list[Value]:
                    at = f.at(tile.element, f.byte(x, f.cast("sext", offset, "i64")), channel)
                    factor = f.at(tile.element, w["weights"], f.add(f.mul(taps.index, channels), channel))
                    return [f.fma(read(at, v), read(factor, v), s) for v, s in enumerate(taps.carried)]

                taps.next(f.choose(f.icmp("sge", offset, 0), add, lambda: taps.carried))
            sums = taps.results
            at = f.add(row, channel)
            if spec.bias:
                sums = [
                    f.fadd(s, read(f.at(tile.element, w["bias"], channel), v)) for v, s in enumerate(sums)
                ]
            if spec.residual:
                sums = [f.fadd(s, read(f.at(tile.element, residual, at), v)) for v, s in enumerate(sums)]
            if spec.relu:
                zero = constant(0.0, tile.vector)
                sums = [f.select(f.fcmp("ogt", zero, s), zero, s) for s in sums]
            for v, s in enumerate(sums):
                to = f.at(tile.element, y, f.add(at, v * tile.lanes))
                if left is None:
                    f.store(s, to)
                else:
                    store_partial(f, [s], [to], left)

        channel_blocks(f, tile, 0, channels, 4, emit)
    f.ret(0)
    return str(module)


DEPTHWISE_SUM_WORDS = ("x", "dy", "dw", "table", "pixels", "images", "taps", "channels", "x_image", "y_image")


def depthwise_sum(tile: Tile, symbol: str) -> str:
    """``dw[t, c] = sum over images and pixels of x[table[t, p] + c] * dy[p, c]``; a chunk is a tap."""
    module = Module()
    f = module.kernel(symbol)
    w = dict(zip(DEPTHWISE_SUM_WORDS, f.words(*["ptr"] * 4, *["i64"] * (len(DEPTHWISE_SUM_WORDS) - 4))))
    tap, channels = f.params[1], w["channels"]
    offsets = f.at("i32", w["table"], f.mul(tap, w["pixels"]))

    def emit(channel: Operand, vectors: int, left: Value | None) -> None:
        mask = f.mask(left, tile.lanes) if left is not None else None

        def read(base: Value, v: int) -> Value:
            at = f.at(tile.element, base, v * tile.lanes)
            return f.load(tile.vector, at) if mask is None else f.masked_load(tile.vector, at, mask)

        with f.loop(0, w["images"], 1, [constant(0.0, tile.vector)] * vectors) as images:
            x = f.at(tile.element, f.byte(w["x"], f.mul(images.index, w["x_image"])), channel)
            dy = f.at(tile.element, f.byte(w["dy"], f.mul(images.index, w["y_image"])), channel)
            with f.loop(0, w["pixels"], 1, images.carried) as pixels:
                offset = f.load("i32", f.at("i32", offsets, pixels.index))

                def add() -> list[Value]:
                    at = f.byte(x, f.cast("sext", offset, "i64"))
                    other = f.at(tile.element, dy, f.mul(pixels.index, channels))
                    return [f.fma(read(at, v), read(other, v), s) for v, s in enumerate(pixels.carried)]

                pixels.next(f.choose(f.icmp("sge", offset, 0), add, lambda: pixels.carried))
            images.next(pixels.results)
        to = f.at(tile.element, w["dw"], f.add(f.mul(tap, channels), channel))
        for v, s in enumerate(images.results):
            if left is None:
                f.store(s, f.at(tile.element, to, v * tile.lanes))
            else:
                store_partial(f, [s], [to], left)

    channel_blocks(f, tile, 0, channels, 8, emit)
    f.ret(0)
    return str(module)
