"""Pooling over channels-last images, vectorised over channels, and its gradients.

The largest element is the first one in the window's order that no later one exceeds; a NaN beats all and
the first NaN stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mycelia.codegen.conv import channel_blocks, image_group
from mycelia.codegen.gemm import Tile, store_partial
from mycelia.codegen.pack import load_wide, narrow, storage
from mycelia.codegen.text import BYTES, Function, Module, Operand, Value, constant, vector

POINTERS = ("x", "y", "dy", "dx")
NUMBERS = (
    "height",
    "width",
    "channels",
    "out_height",
    "out_width",
    "kernel_height",
    "kernel_width",
    "stride_height",
    "stride_width",
    "top",
    "left",
    "block",
    "blocks",
    "images",
    "group",
)
WORDS = POINTERS + NUMBERS


@dataclass(frozen=True)
class Pooling:
    """Compile-time parameters.

    Attributes:
        kind: ``"max"`` or ``"avg"``.
        stored: LLVM's name of the stored element type.
        whole_count: a mean divides by the window's size, else by the number of its elements inside the image.
    """

    kind: str
    tile: Tile
    stored: str
    whole_count: bool = False

    @property
    def key(self) -> str:
        return f"{self.kind}pool_{self.stored}x{self.tile.lanes}{'_whole' if self.whole_count else ''}"


class _Window:
    """The part of an output pixel's window that lies inside the image."""

    def __init__(self, f: Function, w: dict[str, Value], row: Operand, column: Operand) -> None:
        self.f, self.w = f, w
        self.row0 = f.sub(f.mul(row, w["stride_height"]), w["top"])
        self.column0 = f.sub(f.mul(column, w["stride_width"]), w["left"])
        self.rows = (f.maximum(self.row0, 0), f.minimum(f.add(self.row0, w["kernel_height"]), w["height"]))
        self.columns = (
            f.maximum(self.column0, 0),
            f.minimum(f.add(self.column0, w["kernel_width"]), w["width"]),
        )

    def count(self, whole: bool, element: str) -> Value:
        f, w = self.f, self.w
        inside = f.mul(f.sub(self.rows[1], self.rows[0]), f.sub(self.columns[1], self.columns[0]))
        elements = f.mul(w["kernel_height"], w["kernel_width"]) if whole else inside
        return f.cast("sitofp", f.value(elements), element)

    def fold(self, start: list[Value], turn: Callable[[Value, list[Value]], list[Value]]) -> list[Value]:
        """Carries values over the window's pixels; ``turn(pixel index, values)`` gives the next ones."""
        f = self.f
        with f.loop(*self.rows, 1, start) as rows:
            base = f.mul(rows.index, self.w["width"])
            with f.loop(*self.columns, 1, rows.carried) as columns:
                columns.next(turn(f.add(base, columns.index), columns.carried))
            rows.next(columns.results)
        return rows.results


class _Channels:
    """A block of channels: whole vectors, or the last partial one."""

    def __init__(self, f: Function, tile: Tile, channel: Operand, vectors: int, left: Value | None) -> None:
        self.f, self.tile, self.channel, self.vectors, self.left = f, tile, channel, vectors, left
        self.mask = f.mask(left, tile.lanes) if left is not None else None

    def _address(self, base: Value, stored: str, pixel: Operand, v: int) -> Value:
        return self.f.at(storage(stored), base, self.f.add(pixel, self.channel, v * self.tile.lanes))

    def load(self, base: Value, stored: str, pixel: Operand) -> list[Value]:
        """``pixel`` counts elements."""
        f, result = self.f, []
        for v in range(self.vectors):
            address = self._address(base, stored, pixel, v)
            if self.mask is None:
                result.append(load_wide(f, stored, self.tile.lanes, address))
            elif storage(stored) == self.tile.element:
                result.append(f.masked_load(self.tile.vector, address, self.mask))
            else:  # 16-bit lanes have no masked load on most processors
                x = constant(0.0, self.tile.vector)
                with f.loop(0, self.left, 1, [x]) as lanes:
                    one = load_wide(f, stored, 1, f.at(storage(stored), address, lanes.index))
                    lanes.next([f.insert(lanes.carried[0], one, lanes.index)])
                result += lanes.results
        return result

    def store(self, values: list[Value], base: Value, stored: str, pixel: Operand) -> None:
        for v, x in enumerate(values):
            address = self._address(base, stored, pixel, v)
            x = narrow(self.f, x, stored)
            if self.left is None:
                self.f.store(x, address)
            else:
                store_partial(self.f, [x], [address], self.left)


def pool(spec: Pooling, symbol: str) -> str:
    """The forward kernel: a chunk is a block of output rows of a group of images. Words: `WORDS`."""
    module = Module()
    f = module.kernel(symbol)
    tile, stored = spec.tile, spec.stored
    w = dict(zip(WORDS, f.words(*["ptr"] * len(POINTERS), *["i64"] * len(NUMBERS))))
    group, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    channels, size = w["channels"], BYTES[storage(stored)]
    first = f.mul(block, w["block"])
    last = f.minimum(f.add(first, w["block"]), w["out_height"])
    with image_group(f, group, w["images"], w["group"]) as images:
        image = images.index
        x = f.byte(w["x"], f.mul(f.mul(image, f.mul(f.mul(w["height"], w["width"]), channels)), size))
        y = f.byte(w["y"], f.mul(f.mul(image, f.mul(f.mul(w["out_height"], w["out_width"]), channels)), size))
        with f.loop(first, last) as rows, f.loop(0, w["out_width"]) as columns:
            window = _Window(f, w, rows.index, columns.index)
            count = (
                f.splat(window.count(spec.whole_count, tile.element), tile.lanes)
                if spec.kind == "avg"
                else None
            )
            out = f.mul(f.add(f.mul(rows.index, w["out_width"]), columns.index), channels)

            def emit(channel: Operand, vectors: int, left: Value | None) -> None:
                here = _Channels(f, tile, channel, vectors, left)
                start = constant(float("-inf") if spec.kind == "max" else 0.0, tile.vector)

                def turn(pixel: Value, held: list[Value]) -> list[Value]:
                    new = here.load(x, stored, f.mul(pixel, channels))
                    if spec.kind == "avg":
                        return [f.fadd(a, b) for a, b in zip(held, new)]
                    return [
                        f.select(f.binary("or", f.fcmp("ogt", b, a), f.fcmp("uno", b, b)), b, a)
                        for a, b in zip(held, new)
                    ]

                result = window.fold([start] * vectors, turn)
                if count is not None:
                    result = [f.fdiv(a, count) for a in result]
                here.store(result, y, stored, out)

            channel_blocks(f, tile, 0, channels, 4, emit)
    f.ret(0)
    return str(module)


def _first_hits(
    f: Function, new: list[Value], largest: list[Value], taken: list[Value]
) -> tuple[list[Value], list[Value]]:
    """Where elements are the first of their windows that equal the largest (NaN a NaN), and what is taken
    then."""
    true = constant(True, taken[0].type)
    hits = [f.binary("or", f.fcmp("oeq", a, b), f.fcmp("uno", a, a)) for a, b in zip(new, largest)]
    fresh = [f.binary("and", hit, f.binary("xor", t, true)) for hit, t in zip(hits, taken)]
    return fresh, [f.binary("or", hit, t) for hit, t in zip(hits, taken)]


def max_pool_grad_grad(spec: Pooling, symbol: str) -> str:
    """The elements of ``dx`` (stored as images are) where each window of x has its first largest element,
    written to ``dy``: a chunk is a block of output rows of a group of images. Words: `WORDS`."""
    module = Module()
    f = module.kernel(symbol)
    tile, stored = spec.tile, spec.stored
    w = dict(zip(WORDS, f.words(*["ptr"] * len(POINTERS), *["i64"] * len(NUMBERS))))
    group, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    channels, size = w["channels"], BYTES[storage(stored)]
    first = f.mul(block, w["block"])
    last = f.minimum(f.add(first, w["block"]), w["out_height"])
    with image_group(f, group, w["images"], w["group"]) as images:
        image = f.mul(f.mul(images.index, f.mul(f.mul(w["height"], w["width"]), channels)), size)
        out = f.mul(f.mul(images.index, f.mul(f.mul(w["out_height"], w["out_width"]), channels)), size)
        x, g, y, picked = (
            f.byte(w[name], at) for name, at in (("x", image), ("dx", image), ("y", out), ("dy", out))
        )
        with f.loop(first, last) as rows, f.loop(0, w["out_width"]) as columns:
            window = _Window(f, w, rows.index, columns.index)
            place = f.mul(f.add(f.mul(rows.index, w["out_width"]), columns.index), channels)

            def emit(channel: Operand, vectors: int, left: Value | None) -> None:
                here = _Channels(f, tile, channel, vectors, left)
                largest = here.load(y, stored, place)
                nothing = constant(0.0, tile.vector)

                def turn(pixel: Value, held: list[Value]) -> list[Value]:
                    at = f.mul(pixel, channels)
                    fresh, taken = _first_hits(f, here.load(x, stored, at), largest, held[vectors:])
                    new = here.load(g, stored, at)
                    return [*(f.select(h, a, b) for h, a, b in zip(fresh, new, held[:vectors])), *taken]

                free = constant(False, vector(tile.lanes, "i1"))
                result = window.fold([nothing] * vectors + [free] * vectors, turn)
                here.store(result[:vectors], picked, stored, place)

            channel_blocks(f, tile, 0, channels, 2, emit)
    f.ret(0)
    return str(module)


def pool_grad(spec: Pooling, symbol: str) -> str:
    """The gradient of the image: a chunk is a block of channels of a group of images; dx is written in
    the type of arithmetic.

    ``x`` and ``y`` are read by a max pooling alone, whose windows give their share to their first largest
    element.
    """
    module = Module()
    f = module.kernel(symbol)
    tile, stored = spec.tile, spec.stored
    w = dict(zip(WORDS, f.words(*["ptr"] * len(POINTERS), *["i64"] * len(NUMBERS))))
    group, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    channels, size = w["channels"], BYTES[storage(stored)]
    first = f.mul(block, w["block"])
    last = f.minimum(f.add(first, w["block"]), channels)
    pixels = f.mul(w["height"], w["width"])
    with image_group(f, group, w["images"], w["group"]) as images:
        image = images.index
        dx = f.at(tile.element, w["dx"], f.mul(image, f.mul(pixels, channels)))
        x = (
            f.byte(w["x"], f.mul(f.mul(image, f.mul(pixels, channels)), size))
            if spec.kind == "max"
            else w["x"]
        )
        output = f.mul(f.mul(image, f.mul(f.mul(w["out_height"], w["out_width"]), channels)), size)
        y = f.byte(w["y"], output) if spec.kind == "max" else w["y"]
        dy = f.byte(w["dy"], output)

        with f.loop(0, pixels) as loop:

            def clear(channel: Operand, vectors: int, left: Value | None) -> None:
                here = _Channels(f, tile, channel, vectors, left)
                here.store(
                    [constant(0.0, tile.vector)] * vectors, dx, tile.element, f.mul(loop.index, channels)
                )

            channel_blocks(f, tile, first, last, 4, clear)
        with f.loop(0, w["out_height"]) as rows, f.loop(0, w["out_width"]) as columns:
            window = _Window(f, w, rows.index, columns.index)
            count = (
                f.splat(window.count(spec.whole_count, tile.element), tile.lanes)
                if spec.kind == "avg"
                else None
            )
            out = f.mul(f.add(f.mul(rows.index, w["out_width"]), columns.index), channels)

            def emit(channel: Operand, vectors: int, left: Value | None) -> None:
                here = _Channels(f, tile, channel, vectors, left)
                share = here.load(dy, stored, out)
                if count is not None:
                    share = [f.fdiv(s, count) for s in share]
                largest = here.load(y, stored, out) if spec.kind == "max" else []
                bits = vector(tile.lanes, "i1")

                def turn(pixel: Value, taken: list[Value]) -> list[Value]:
                    at = f.mul(pixel, channels)
                    parts = share
                    if spec.kind == "max":
                        fresh, taken = _first_hits(f, here.load(x, stored, at), largest, taken)
                        parts = [f.select(h, s, constant(0.0, tile.vector)) for h, s in zip(fresh, share)]
                    held = here.load(dx, tile.element, at)
                    here.store([f.fadd(a, b) for a, b in zip(held, parts)], dx, tile.element, at)
                    return taken

                window.fold([constant(False, bits)] * vectors if spec.kind == "max" else [], turn)

            channel_blocks(f, tile, first, last, 4, emit)
    f.ret(0)
    return str(module)
