"""Dense contraction: one register-tiled loop nest over packed panels that serves matrix products and convolutions.

``C[m, n] = epilogue(sum over (t, i) of A[row(m, t) + i] * B[n, t, i])``

* A row of A is read where it lies: at ``m * stride`` (matrix product), or for each tap ``t`` through a table of byte offsets,
  where -1 stands for a row of zeros (convolution: the pixel under tap ``t`` of output pixel ``m``; padding).
* B is packed into panels ``[n / width][t][i][width]``, where ``width`` is two vectors of output columns (`Tile.width`).
* A tile of ``Tile.rows`` rows by one panel is accumulated in registers. The rows of an image are dealt to tiles evenly (49 rows are
  4 tiles of 6 and 5 of 5), so that no tile is too small to keep the multipliers busy.

A kernel's chunk is a block of tiles by a block of panels of one member of the outer dimension (a batch of matrices, or the groups of
a convolution). Within it the sum is cut into pieces that fit the cache; the piece in turn is added to what C holds.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mycelia.codegen.target import Target
from mycelia.codegen.text import BYTES, Function, Module, Operand, Value, constant, element, lanes, vector


@dataclass(frozen=True)
class Tile:
    """Shape of the register tile for an element type on a processor."""

    element: str
    lanes: int
    rows: int
    vectors: int = 2
    unroll: int = 4

    @staticmethod
    def of(target: Target, element: str) -> Tile:
        # 16 registers: 12 sums, 2 vectors of B, 1 broadcast of A. 32 registers: 16 sums are enough for two multipliers of
        # latency 4, and 8 row addresses still fit into the general registers of x86-64.
        return Tile(element, target.lanes(BYTES[element]), 6 if target.registers == 16 else 8)

    @property
    def width(self) -> int:
        """Columns of a panel."""
        return self.lanes * self.vectors

    @property
    def itemsize(self) -> int:
        return BYTES[self.element]

    @property
    def vector(self) -> str:
        return vector(self.lanes, self.element)

    @property
    def key(self) -> str:
        return f"{self.element}x{self.lanes}r{self.rows}v{self.vectors}u{self.unroll}"


@dataclass(frozen=True)
class Contraction:
    """Compile-time parameters of the loop nest.

    Attributes:
        tile: the register tile.
        table: rows of A come from a table of byte offsets per tap; else row m is at ``m * a_row``.
        scatter: rows of C come from a table of byte offsets; else row m is at ``m * c_row``.
        bias: a vector of N is added to each row.
        residual: a tensor laid out as C is added.
        relu: negative results become zero (NaN stays).
    """

    tile: Tile
    table: bool = False
    scatter: bool = False
    bias: bool = False
    residual: bool = False
    relu: bool = False

    @property
    def key(self) -> str:
        flags = "".join("_" + name for name in ("table", "scatter", "bias", "residual", "relu") if getattr(self, name))
        return f"contraction_{self.tile.key}{flags}"


# Words of the argument table, in order.
POINTERS = ("a", "b", "c", "bias", "residual", "table", "zeros", "scatter")
NUMBERS = (
    "rows",        # rows of A per image
    "tiles",       # tiles per image
    "tile_rows",   # rows of the smaller tiles of an image
    "taller",      # number of tiles (the first ones) with one row more
    "all_tiles",   # tiles of all images
    "n",           # columns
    "taps", "run",             # the sum goes over taps x run
    "tap_block", "run_block",  # piece of the sum taken at once
    "a_row", "a_image", "a_outer", "b_outer", "c_row", "c_image", "c_outer",   # strides in bytes
    "tile_block", "row_blocks", "panel_block", "column_blocks",
)
WORDS = POINTERS + NUMBERS


def contraction(spec: Contraction, symbol: str) -> str:
    """The text of the kernel; its argument words are `WORDS`."""
    module = Module()
    f = module.kernel(symbol)
    tile = spec.tile
    w = dict(zip(WORDS, f.words(*["ptr"] * len(POINTERS), *["i64"] * len(NUMBERS))))
    panel_bytes = tile.width * tile.itemsize

    column = f.rem(f.params[1], w["column_blocks"])
    rest = f.div(f.params[1], w["column_blocks"])
    row = f.rem(rest, w["row_blocks"])
    outer = f.div(rest, w["row_blocks"])
    a = f.byte(w["a"], f.mul(outer, w["a_outer"]))
    b = f.byte(w["b"], f.mul(outer, w["b_outer"]))
    c_outer = f.mul(outer, w["c_outer"])
    bias_outer = f.mul(f.mul(outer, w["n"]), tile.itemsize)

    first_tile = f.mul(row, w["tile_block"])
    last_tile = f.minimum(f.add(first_tile, w["tile_block"]), w["all_tiles"])
    first_column = f.mul(f.mul(column, w["panel_block"]), tile.width)
    last_column = f.minimum(f.add(first_column, f.mul(w["panel_block"], tile.width)), w["n"])
    panel_stride = f.mul(f.mul(w["taps"], w["run"]), panel_bytes)
    first_image = f.div(first_tile, w["tiles"])
    first_in_image = f.rem(first_tile, w["tiles"])
    # a tile may write past its last column, into rows that come later, where there is one panel and one piece
    one_piece = f.op("i1", f"and i1 {f.icmp('sge', w['tap_block'], w['taps'])}, {f.icmp('sge', w['run_block'], w['run'])}")
    narrow = f.op("i1", f"and i1 {one_piece}, {f.icmp('sle', w['n'], tile.width)}")
    narrow = f.op("i1", f"and i1 {narrow}, {f.icmp('eq', w['c_row'], f.mul(w['n'], tile.itemsize))}")

    with f.loop(0, f.maximum(w["taps"], 1), w["tap_block"]) as taps:
        tap_end = f.minimum(f.add(taps.index, w["tap_block"]), w["taps"])
        with f.loop(0, f.maximum(w["run"], 1), w["run_block"]) as runs:
            run_end = f.minimum(f.add(runs.index, w["run_block"]), w["run"])
            run_length = f.sub(run_end, runs.index)
            begins = f.icmp("eq", f.op("i64", f"or i64 {taps.index}, {runs.index}"), 0)
            ends = f.op("i1", f"and i1 {f.icmp('sge', tap_end, w['taps'])}, {f.icmp('sge', run_end, w['run'])}")
            a_run = f.byte(a, f.mul(runs.index, tile.itemsize))
            b_run = f.byte(b, f.mul(runs.index, panel_bytes))
            with f.loop(first_column, last_column, tile.width) as panels:
                b_panel = f.byte(b_run, f.mul(f.div(panels.index, tile.width), panel_stride))
                c_panel = f.add(c_outer, f.mul(panels.index, tile.itemsize))
                bias = f.byte(f.byte(w["bias"], bias_outer), f.mul(panels.index, tile.itemsize))
                cols = f.sub(w["n"], panels.index)
                with f.loop(first_tile, last_tile, 1, [f.value(first_image), f.value(first_in_image)]) as tiles:
                    image, j = tiles.carried
                    m = f.add(f.mul(j, w["tile_rows"]), f.minimum(j, w["taller"]))
                    height = f.add(w["tile_rows"], f.cast("zext", f.icmp("slt", j, w["taller"]), "i64"))
                    c_offset = f.add(c_panel, f.mul(image, w["c_image"]))
                    if not spec.scatter:
                        c_offset = f.add(c_offset, f.mul(m, w["c_row"]))
                    a_tile = f.byte(a_run, f.mul(image, w["a_image"]))
                    if not spec.table:
                        a_tile = f.byte(a_tile, f.mul(m, w["a_row"]))
                    last = f.icmp("eq", f.add(tiles.index, 1), last_tile)
                    spill = constant(0, "i1") if spec.scatter else f.select(last, constant(0, "i1"), narrow)
                    arguments = [f.params[0], a_tile, b_panel, f.byte(w["c"], c_offset), bias,
                                 f.byte(w["residual"], c_offset) if spec.residual else w["residual"],
                                 f.value(m), f.value(taps.index), f.value(tap_end), f.value(run_length), f.value(cols),
                                 begins, ends, spill]
                    _dispatch(f, spec, symbol, height, cols, arguments)
                    following = f.add(j, 1)
                    wrapped = f.icmp("eq", following, w["tiles"])
                    tiles.next([f.add(image, f.cast("zext", wrapped, "i64")), f.select(wrapped, 0, following)])
    f.ret(0)
    for vectors in range(1, tile.vectors + 1):
        for rows in range(1, tile.rows + 1):
            _tile(module, spec, f"{symbol}_tile{rows}x{vectors}", rows, vectors)
    return str(module)


def _dispatch(f: Function, spec: Contraction, symbol: str, height: Operand, cols: Operand,
              arguments: Sequence[Value]) -> None:
    """Calls the tile function for the number of rows and of vectors."""
    after = f.fresh("done")
    wide, narrow = f.fresh("wide"), f.fresh("narrow")
    f.branch_if(f.icmp("sgt", cols, spec.tile.lanes), wide, narrow)
    for label, vectors in ((wide, 2), (narrow, 1)):
        f.start(label)
        cases = [f.fresh("case") for _ in range(spec.tile.rows)]
        table = " ".join(f"i64 {i + 1}, label %{case}" for i, case in enumerate(cases[:-1]))
        f.line(f"switch i64 {height}, label %{cases[-1]} [ {table} ]")
        for i, case in enumerate(cases):
            f.start(case)
            f.call(f"{symbol}_tile{i + 1}x{vectors}", "void", *arguments)
            f.branch(after)
    f.start(after)


def _tile(module: Module, spec: Contraction, name: str, rows: int, vectors: int) -> None:
    """One register tile: ``rows`` rows by ``vectors`` vectors, over taps [first, last) and a piece of the run."""
    tile = spec.tile
    f = module.function(name, "void", [
        ("ptr", "args"), ("ptr", "a"), ("ptr", "b"), ("ptr", "c"), ("ptr", "bias"), ("ptr", "residual"), ("i64", "m"),
        ("i64", "first"), ("i64", "last"), ("i64", "run"), ("i64", "cols"), ("i1", "begins"), ("i1", "ends"),
        ("i1", "spill")], internal=True, attributes="nounwind noinline")
    args, a, b, c, bias, residual, m, first, last, run, cols, begins, ends, spill = f.params

    def word(name: str) -> Value:
        return f.words("ptr" if name in POINTERS else "i64", first=WORDS.index(name))[0]

    c_row = word("c_row")
    scatter = [f.cast("sext", f.load("i32", f.at("i32", word("scatter"), f.add(m, r))), "i64") for r in range(rows)] \
        if spec.scatter else [f.mul(c_row, r) for r in range(rows)]
    if spec.table:
        table, zeros, all_rows, all_run = (word(x) for x in ("table", "zeros", "rows", "run"))
    else:
        a_row = word("a_row")
        starts = [f.byte(a, f.mul(a_row, r)) for r in range(rows)]

    # with few sums, several steps of the run are kept apart, so that additions do not wait for each other
    phases = 1
    while rows * vectors * phases < 8 and phases < tile.unroll:
        phases *= 2
    step_bytes = tile.lanes * tile.itemsize
    zero = Value("zeroinitializer", tile.vector)
    full = f.icmp("sge", cols, vectors * tile.lanes)

    def read(base: Value, offsets: Sequence[Operand]) -> list[Value]:
        """Vectors of rows of a tensor laid out as C (the last vector may be partial), row by row."""
        def vectors_of(mask: Value | None) -> list[Value]:
            addresses = [f.byte(base, f.add(at, v * step_bytes)) for at in offsets for v in range(vectors)]
            return [f.load(tile.vector, p) if mask is None or (i + 1) % vectors else f.masked_load(tile.vector, p, mask)
                    for i, p in enumerate(addresses)]

        return f.choose(full, lambda: vectors_of(None),
                        lambda: vectors_of(f.mask(f.sub(cols, (vectors - 1) * tile.lanes), tile.lanes)))

    sums = f.choose(begins, lambda: [zero] * (rows * vectors), lambda: read(c, scatter)) + [zero] * (rows * vectors * (phases - 1))

    def step(sums: list[Value], pointers: list[Value], at: Value, k: int, b_at: Value, phase: int) -> None:
        weights = [f.load(tile.vector, f.at(tile.element, b_at, k * tile.width + v * tile.lanes), tile.itemsize)
                   for v in range(vectors)]
        for r in range(rows):
            value = f.splat(f.load(tile.element, f.at(tile.element, f.at(tile.element, pointers[r], at), k)), tile.lanes)
            for v in range(vectors):
                i = (phase * rows + r) * vectors + v
                sums[i] = f.fma(value, weights[v], sums[i])

    def accumulate(pointers: list[Value], b_at: Value, sums: list[Value]) -> list[Value]:
        whole = f.op("i64", f"and i64 {run}, {-tile.unroll}")
        with f.loop(0, whole, tile.unroll, sums) as loop:
            now = list(loop.carried)
            here = f.at(tile.element, b_at, f.mul(loop.index, tile.width))
            for k in range(tile.unroll):
                step(now, pointers, loop.index, k, here, k % phases)
            loop.next(now)
        with f.loop(whole, run, 1, loop.results) as rest:
            now = list(rest.carried)
            step(now, pointers, rest.index, 0, f.at(tile.element, b_at, f.mul(rest.index, tile.width)), 0)
            rest.next(now)
        return rest.results

    if spec.table:
        with f.loop(first, last, 1, sums) as taps:
            entry = f.at("i32", table, f.add(f.mul(taps.index, all_rows), m))
            offsets = [f.load("i32", f.at("i32", entry, r)) for r in range(rows)]
            outside = offsets[0]
            for offset in offsets[1:]:
                outside = f.binary("and", outside, offset)

            def tap() -> list[Value]:
                pointers = [f.select(f.icmp("slt", offset, 0), zeros, f.byte(a, f.cast("sext", offset, "i64")))
                            for offset in offsets]
                b_at = f.at(tile.element, b, f.mul(f.mul(taps.index, all_run), tile.width))
                return accumulate(pointers, b_at, taps.carried)

            taps.next(f.choose(f.icmp("sge", outside, 0), tap, lambda: taps.carried))
        sums = taps.results
    else:
        sums = accumulate(starts, b, sums)
    for phase in range(1, phases):
        n = rows * vectors
        sums = [f.fadd(x, y) for x, y in zip(sums[:n], sums[phase * n:(phase + 1) * n])] + sums[n:]
    sums = sums[:rows * vectors]

    def finish() -> list[Value]:
        done = list(sums)
        if spec.bias:
            shift = read(bias, [0])
            done = [f.fadd(x, shift[i % vectors]) for i, x in enumerate(done)]
        if spec.residual:
            done = [f.fadd(x, y) for x, y in zip(done, read(residual, scatter))]
        if spec.relu:
            done = [f.select(f.fcmp("ogt", zero, x), zero, x) for x in done]
        return done

    if spec.bias or spec.residual or spec.relu:
        sums = f.choose(ends, finish, lambda: sums)
    addresses = [[f.byte(f.byte(c, at), v * step_bytes) for v in range(vectors)] for at in scatter]
    whole, part, done = f.fresh("whole"), f.fresh("part"), f.fresh("done")
    f.branch_if(f.op("i1", f"or i1 {full}, {spill}"), whole, part)
    f.start(whole)
    for row in range(rows):
        for v in range(vectors):
            f.store(sums[row * vectors + v], addresses[row][v])
    f.branch(done)
    f.start(part)
    for row in range(rows):
        for v in range(vectors - 1):
            f.store(sums[row * vectors + v], addresses[row][v])
    store_partial(f, sums[vectors - 1::vectors], [row[-1] for row in addresses], f.sub(cols, (vectors - 1) * tile.lanes))
    f.branch(done)
    f.start(done)
    f.ret()


def store_partial(f: Function, values: Sequence[Value], addresses: Sequence[Value], count: Operand) -> None:
    """Stores the first ``count`` lanes (less than all) of each vector in halves, quarters...: masked stores are slow on some
    processors."""
    type = values[0].type
    values, addresses = list(values), list(addresses)
    width = lanes(type) // 2
    while width >= 1:
        bit = f.icmp("ne", f.op("i64", f"and i64 {f.value(count)}, {width}"), 0)
        before, then, after = f.block, f.fresh("then"), f.fresh("after")
        f.branch_if(bit, then, after)
        f.start(then)
        for x, address in zip(values, addresses):
            f.store(f.shuffle(x, x, range(width)) if width > 1 else f.extract(x, 0), address, BYTES[element(type)])
        moved = [f.byte(address, width * BYTES[element(type)]) for address in addresses]
        upper = [f.shuffle(x, x, [(width + i) % lanes(type) for i in range(lanes(type))]) for x in values]
        f.branch(after)
        f.start(after)
        if width > 1:
            values = [f.phi(type, (x, before), (y, then)) for x, y in zip(values, upper)]
            addresses = [f.phi("ptr", (p, before), (q, then)) for p, q in zip(addresses, moved)]
        width //= 2
