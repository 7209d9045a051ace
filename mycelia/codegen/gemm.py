"""Dense contraction: one register-tiled loop nest over packed panels that serves matrix products and
convolutions.

``C[m, n] = epilogue(sum over (t, i) of A[row(m, t) + i] * B[n, t, i])``

* A row of A is read where it lies: at ``m * stride`` (matrix product), or for each tap ``t`` through a
table of byte offsets,
  where -1 stands for a row of zeros (convolution: the pixel under tap ``t`` of output pixel ``m``; padding).
* B is packed into panels ``[n / width][t][i][width]``, where ``width`` is two vectors of output columns
(`Tile.width`).
* A tile of ``Tile.rows`` rows by one panel is accumulated in registers. The rows of an image are dealt to
tiles evenly (49 rows are
  4 tiles of 6 and 5 of 5), so that no tile is too small to keep the multipliers busy.

A kernel's chunk is a block of tiles by a block of panels of one member of the outer dimension (a batch of
matrices, or the groups of
a convolution). Within it the sum is cut into pieces that fit the cache; the piece in turn is added to what
C holds.
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
        # 16 registers: 12 sums, 2 vectors of B, 1 broadcast of A. 32 registers: 16 sums are enough for two
        # multipliers of
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
        regular: the table has one row, the other taps are ``a_tap`` bytes apart, and no row is outside.
        scatter: rows of C come from a table of byte offsets; else row m is at ``m * c_row``.
        bias: a vector of N is added to each row.
        residual: a tensor laid out as C is added.
        relu: negative results become zero (NaN stays).
        columns: ``"whole"`` if N is a multiple of a panel, ``"narrow"`` if it is at most a vector, else
            ``"any"``.
        shortest: rows of the smaller tiles; others have one row more.
    """

    tile: Tile
    table: bool = False
    regular: bool = False
    scatter: bool = False
    bias: bool = False
    residual: bool = False
    relu: bool = False
    columns: str = "any"
    shortest: int = 5

    @property
    def key(self) -> str:
        names = ("table", "regular", "scatter", "bias", "residual", "relu")
        flags = "".join("_" + name for name in names if getattr(self, name))
        return f"contraction_{self.tile.key}_{self.columns}{self.shortest}{flags}"

    @property
    def vectors(self) -> tuple[int, ...]:
        return column_vectors(self.tile, self.columns)

    @property
    def heights(self) -> range:
        return range(self.shortest, min(self.shortest + 1, self.tile.rows) + 1)


def column_class(tile: Tile, n: int) -> str:
    """How ``n`` columns fit panels: ``"whole"`` panels, one ``"narrow"`` vector at most, or ``"any"``."""
    return "whole" if n % tile.width == 0 else "narrow" if n <= tile.lanes else "any"


def column_vectors(tile: Tile, columns: str) -> tuple[int, ...]:
    """The numbers of vectors that tiles have in such a class."""
    return {"whole": (tile.vectors,), "narrow": (1,), "any": tuple(range(1, tile.vectors + 1))}[columns]


# Words of the argument table, in order.
POINTERS = ("a", "b", "c", "bias", "residual", "table", "zeros", "scatter")
NUMBERS = (
    "rows",  # rows of A per image
    "tiles",  # tiles per image
    "tile_rows",  # rows of the smaller tiles of an image
    "taller",  # number of tiles (the first ones) with one row more
    "all_tiles",  # tiles of all images
    "n",  # columns
    "taps",
    "run",  # the sum goes over taps x run
    "tap_block",
    "run_block",  # piece of the sum taken at once
    "a_row",
    "a_tap",
    "a_image",
    "a_outer",
    "b_outer",
    "c_row",
    "c_image",
    "c_outer",  # strides in bytes
    # a chunk's tiles and panels, and numbers of chunks
    "tile_block",
    "row_blocks",
    "panel_block",
    "column_blocks",
    "strip",  # tiles that go over all of a chunk's panels before the next strip
)
WORDS = POINTERS + NUMBERS
LINE = 64  # bytes of a cache line
LONG_SUM = 192  # steps of a tile in which memory answers
SHARES = 4  # so many tiles together prefetch the panel that comes next


def contraction(spec: Contraction, symbol: str) -> str:
    """The text of the kernel; its argument words are `WORDS`."""
    module = Module()
    f = module.kernel(symbol)
    tile = spec.tile
    w = dict(zip(WORDS, f.words(*["ptr"] * len(POINTERS), *["i64"] * len(NUMBERS))))
    panel_bytes = tile.width * tile.itemsize

    column = f.rem(f.params[1], w["column_blocks"])
    rest = f.div(f.params[1], w["column_blocks"])
    row, outer = f.rem(rest, w["row_blocks"]), f.div(rest, w["row_blocks"])
    a = f.byte(w["a"], f.mul(outer, w["a_outer"]))
    b = f.byte(w["b"], f.mul(outer, w["b_outer"]))
    c_outer = f.mul(outer, w["c_outer"])
    bias_outer = f.byte(w["bias"], f.mul(f.mul(outer, w["n"]), tile.itemsize))

    first_tile = f.mul(row, w["tile_block"])
    last_tile = f.minimum(f.add(first_tile, w["tile_block"]), w["all_tiles"])
    first_column = f.mul(f.mul(column, w["panel_block"]), tile.width)
    last_column = f.minimum(f.add(first_column, f.mul(w["panel_block"], tile.width)), w["n"])
    panel_stride = f.mul(f.mul(w["taps"], w["run"]), panel_bytes)
    split_run = f.icmp("slt", w["run_block"], w["run"])
    piece_bytes = f.mul(f.select(split_run, w["run_block"], f.mul(w["tap_block"], w["run"])), panel_bytes)
    share = f.div(piece_bytes, SHARES)
    spills = _may_spill(f, spec, w)
    # What a spilling tile writes too much lies in later tiles of this chunk: the last ones, whose rows it
    # may reach, do not spill.
    reach = f.div(f.sub(tile.width, 1), f.maximum(w["n"], 1))
    height = f.maximum(w["tile_rows"], 1)
    safe_end = f.sub(last_tile, f.div(f.add(reach, f.sub(height, 1)), height))

    with (
        f.loop(first_tile, last_tile, w["strip"]) as strips,
        f.loop(0, f.maximum(w["taps"], 1), w["tap_block"]) as taps,
        f.loop(0, f.maximum(w["run"], 1), w["run_block"]) as runs,
    ):
        strip_end = f.minimum(f.add(strips.index, w["strip"]), last_tile)
        start = [f.value(f.div(strips.index, w["tiles"])), f.value(f.rem(strips.index, w["tiles"]))]
        tap_end = f.minimum(f.add(taps.index, w["tap_block"]), w["taps"])
        run_end = f.minimum(f.add(runs.index, w["run_block"]), w["run"])
        begins = f.icmp("eq", f.op("i64", f"or i64 {taps.index}, {runs.index}"), 0)
        ends = f.binary("and", f.icmp("sge", tap_end, w["taps"]), f.icmp("sge", run_end, w["run"]))
        a_run = f.byte(a, f.mul(runs.index, tile.itemsize))
        b_run = f.byte(b, f.mul(runs.index, panel_bytes))
        b_next_piece = f.byte(
            f.byte(b_run, f.mul(f.div(first_column, tile.width), panel_stride)), piece_bytes
        )
        with f.loop(first_column, last_column, tile.width) as panels:
            b_panel = f.byte(b_run, f.mul(f.div(panels.index, tile.width), panel_stride))
            last_panel = f.icmp("sge", f.add(panels.index, tile.width), last_column)
            last_panel = f.binary("and", last_panel, f.binary("xor", ends, constant(True, "i1")))
            # panels follow each other in memory, tap by tap: within a piece the address of its first tap is
            # what counts
            ahead = f.select(last_panel, b_next_piece, f.byte(b_panel, panel_stride))
            ahead = f.byte(ahead, f.mul(f.mul(taps.index, w["run"]), panel_bytes))
            c_panel = f.add(c_outer, f.mul(panels.index, tile.itemsize))
            bias = f.byte(bias_outer, f.mul(panels.index, tile.itemsize))
            with f.loop(strips.index, strip_end, 1, start) as tiles:
                at, (image, j) = tiles.index, tiles.carried
                # the next tiles of equal height within the image
                tall = f.icmp("slt", j, w["taller"])
                count = f.minimum(f.sub(f.select(tall, w["taller"], w["tiles"]), j), f.sub(strip_end, at))
                m = f.add(f.mul(j, w["tile_rows"]), f.minimum(j, w["taller"]))
                c_at = f.add(c_panel, f.mul(image, w["c_image"]), 0 if spec.scatter else f.mul(m, w["c_row"]))
                a_tile = f.byte(a_run, f.mul(image, w["a_image"]))
                if not spec.table:
                    a_tile = f.byte(a_tile, f.mul(m, w["a_row"]))
                cols = f.value(f.sub(w["n"], panels.index))
                arguments = dict(
                    args=f.params[0],
                    a=a_tile,
                    b=b_panel,
                    c=f.byte(w["c"], c_at),
                    ahead=ahead,
                    share=share,
                    bias=bias,
                    residual=f.byte(w["residual"], c_at),
                    m=f.value(m),
                    tile=f.value(f.sub(at, strips.index)),
                    count=count,
                    first=taps.index,
                    last=f.value(tap_end),
                    run=f.value(f.sub(run_end, runs.index)),
                    cols=cols,
                    begins=begins,
                    ends=ends,
                    spilling=f.select(spills, f.sub(safe_end, at), 0),
                )
                dispatch(
                    f,
                    tile,
                    spec.vectors,
                    spec.heights,
                    symbol,
                    f.add(w["tile_rows"], f.cast("zext", tall, "i64")),
                    cols,
                    [arguments[name] for _, name in _RegisterTile.PARAMETERS],
                )
                after = f.add(j, count)
                wrapped = f.icmp("eq", after, w["tiles"])
                tiles.step = count
                tiles.next([f.add(image, f.cast("zext", wrapped, "i64")), f.select(wrapped, 0, after)])
    f.ret(0)
    for vectors in spec.vectors:
        for rows in spec.heights:
            _RegisterTile(module, spec, f"{symbol}_tile{rows}x{vectors}", rows, vectors).emit()
    return str(module)


def _may_spill(f: Function, spec: Contraction, w: dict[str, Value]) -> Value:
    """Whether tiles may write past their last column, into rows that come later: there is one panel and one
    piece of the sum."""
    if spec.scatter or spec.columns == "whole":
        return constant(False, "i1")
    conditions = [
        f.icmp("sge", w["tap_block"], w["taps"]),
        f.icmp("sge", w["run_block"], w["run"]),
        f.icmp("sle", w["n"], spec.tile.width),
        f.icmp("eq", w["c_row"], f.mul(w["n"], spec.tile.itemsize)),
    ]
    result = conditions[0]
    for condition in conditions[1:]:
        result = f.binary("and", result, condition)
    return result


def dispatch(
    f: Function,
    tile: Tile,
    vectors: Sequence[int],
    heights: Sequence[int],
    symbol: str,
    height: Operand,
    cols: Operand,
    arguments: Sequence[Value],
) -> None:
    """Calls the tile function for the number of rows and of vectors."""
    done = f.fresh("done")
    labels = {count: f.fresh("vectors") for count in vectors}
    if len(labels) == 1:
        f.branch(*labels.values())
    else:
        f.branch_if(f.icmp("sgt", cols, tile.lanes), labels[2], labels[1])
    for count, label in labels.items():
        f.start(label)
        cases = {rows: f.fresh("rows") for rows in heights}
        table = " ".join(f"i64 {rows}, label %{case}" for rows, case in cases.items())
        f.line(f"switch i64 {height}, label %{cases[heights[-1]]} [ {table} ]")
        for rows, case in cases.items():
            f.start(case)
            f.call(f"{symbol}_tile{rows}x{count}", "void", *arguments)
            f.branch(done)
    f.start(done)


class _RegisterTile:
    """A function over ``count`` register tiles below each other, each ``rows`` rows by ``vectors`` vectors.

    The sum goes over taps [first, last) and ``run`` elements of each; ``spilling`` tiles may write whole
    vectors where fewer columns
    are left. While a tile is computed, its part of the panel that comes next is fetched from ``ahead``.
    """

    PARAMETERS = (
        ("ptr", "args"),
        ("ptr", "a"),
        ("ptr", "b"),
        ("ptr", "c"),
        ("ptr", "bias"),
        ("ptr", "residual"),
        ("ptr", "ahead"),
        ("i64", "share"),
        ("i64", "m"),
        ("i64", "tile"),
        ("i64", "count"),
        ("i64", "first"),
        ("i64", "last"),
        ("i64", "run"),
        ("i64", "cols"),
        ("i64", "spilling"),
        ("i1", "begins"),
        ("i1", "ends"),
    )

    def __init__(self, module: Module, spec: Contraction, name: str, rows: int, vectors: int) -> None:
        self.spec, self.tile, self.rows, self.vectors = spec, spec.tile, rows, vectors
        self.f = f = module.function(
            name, "void", self.PARAMETERS, internal=True, attributes="nounwind noinline"
        )
        self.p = {name: value for (_, name), value in zip(self.PARAMETERS, f.params)}
        self.step_bytes = self.tile.lanes * self.tile.itemsize
        self.zero = Value("zeroinitializer", self.tile.vector)
        self.whole = (
            constant(True, "i1")
            if spec.columns == "whole"
            else f.icmp("sge", self.p["cols"], vectors * self.tile.lanes)
        )
        # with few sums, several steps of the run are kept apart, so that additions do not wait for each other
        self.phases = 1
        while rows * vectors * self.phases < 8 and self.phases * 2 <= self.tile.unroll:
            self.phases *= 2

    def word(self, name: str) -> Value:
        return self.f.words("ptr" if name in POINTERS else "i64", first=WORDS.index(name))[0]

    def emit(self) -> None:
        f, p = self.f, self.p
        carried = [p["m"], p["a"], p["c"], p["residual"]]
        with f.loop(0, p["count"], 1, carried) as tiles:
            p["m"], p["a"], p["c"], p["residual"] = tiles.carried
            part = f.binary("and", f.value(f.add(p["tile"], tiles.index)), constant(SHARES - 1, "i64"))
            self.tile_once(
                f.byte(p["ahead"], f.mul(part, p["share"])), f.icmp("slt", tiles.index, p["spilling"])
            )
            down_a = 0 if self.spec.table else f.mul(self.word("a_row"), self.rows)
            down_c = 0 if self.spec.scatter else f.mul(self.word("c_row"), self.rows)
            tiles.next(
                [
                    f.value(f.add(p["m"], self.rows)),
                    f.byte(p["a"], down_a),
                    f.byte(p["c"], down_c),
                    f.byte(p["residual"], down_c),
                ]
            )
        f.ret()

    def tile_once(self, ahead: Value, spill: Value) -> None:
        f, p, spec, rows = self.f, self.p, self.spec, range(self.rows)
        if spec.scatter:
            entries = f.at("i32", self.word("scatter"), p["m"])
            places: list[Operand] = [
                f.cast("sext", f.load("i32", f.at("i32", entries, r)), "i64") for r in rows
            ]
        else:
            c_row = self.word("c_row")
            places = [f.mul(c_row, r) for r in rows]
        below: Operand = 0
        if not spec.scatter:
            # a long sum leaves time to fetch the own rows of C, a short one only for those of the next tile
            depth = f.mul(p["run"], f.sub(p["last"], p["first"]))
            below = f.select(f.icmp("sge", depth, LONG_SUM), 0, f.value(f.mul(c_row, self.rows)))
        self.prefetch(f.byte(p["c"], below), places, write=True)
        if spec.residual:
            self.prefetch(f.byte(p["residual"], below), places)
        sums = f.choose(
            p["begins"], lambda: [self.zero] * (self.rows * self.vectors), lambda: self.read(p["c"], places)
        )
        sums += [self.zero] * (self.rows * self.vectors * (self.phases - 1))
        if spec.table:
            sums = self.over_taps(ahead, sums)
        else:
            sums = self.over_run(
                [f.byte(p["a"], f.mul(self.word("a_row"), r)) for r in rows], p["b"], ahead, sums
            )
        count = self.rows * self.vectors
        total = sums[:count]
        for phase in range(1, self.phases):
            total = [f.fadd(x, y) for x, y in zip(total, sums[phase * count :])]
        if spec.bias or spec.residual or spec.relu:
            total = f.choose(p["ends"], lambda: self.epilogue(total, places), lambda: total)
        self.write(total, places, spill)

    def prefetch(self, base: Value, places: Sequence[Operand], write: bool = False) -> None:
        """Asks for lines of a tensor laid out as C."""
        for place in places:
            for at in range(0, self.vectors * self.step_bytes, LINE):
                prefetch(self.f, self.f.byte(self.f.byte(base, place), at), write, 3)

    def read(self, base: Value, places: Sequence[Operand]) -> list[Value]:
        """Vectors of rows of a tensor laid out as C, row by row; the last vector of a row may be partial."""
        f, tile = self.f, self.tile

        def rows(mask: Value | None) -> list[Value]:
            addresses = [
                f.byte(base, f.add(place, v * self.step_bytes))
                for place in places
                for v in range(self.vectors)
            ]
            return [
                f.load(tile.vector, p)
                if mask is None or (i + 1) % self.vectors
                else f.masked_load(tile.vector, p, mask)
                for i, p in enumerate(addresses)
            ]

        if self.spec.columns == "whole":
            return rows(None)
        left = f.sub(self.p["cols"], (self.vectors - 1) * tile.lanes)
        return f.choose(self.whole, lambda: rows(None), lambda: rows(f.mask(left, tile.lanes)))

    def over_taps(self, ahead: Value, sums: list[Value]) -> list[Value]:
        f, p, tile = self.f, self.p, self.tile
        table, all_run = self.word("table"), self.word("run")
        ahead_step = tile.width * tile.itemsize // SHARES

        def offsets_at(entry: Operand) -> list[Value]:
            return [f.load("i32", f.at("i32", f.at("i32", table, entry), r)) for r in range(self.rows)]

        def over_tap(tap: Value, pointers: list[Value], sums: list[Value]) -> list[Value]:
            b = f.at(tile.element, p["b"], f.mul(f.mul(tap, all_run), tile.width))
            done = f.mul(f.sub(tap, p["first"]), all_run)
            return self.over_run(pointers, b, f.byte(ahead, f.mul(done, ahead_step)), sums)

        if self.spec.regular:
            starts = [f.byte(p["a"], f.cast("sext", offset, "i64")) for offset in offsets_at(p["m"])]
            with f.loop(p["first"], p["last"], 1, sums) as taps:
                down = f.mul(taps.index, self.word("a_tap"))
                taps.next(over_tap(taps.index, [f.byte(start, down) for start in starts], taps.carried))
            return taps.results
        zeros, all_rows = self.word("zeros"), self.word("rows")
        with f.loop(p["first"], p["last"], 1, sums) as taps:
            offsets = offsets_at(f.add(f.mul(taps.index, all_rows), p["m"]))
            outside = offsets[0]
            for offset in offsets[1:]:
                outside = f.binary("and", outside, offset)

            def tap() -> list[Value]:
                pointers = [
                    f.select(f.icmp("slt", offset, 0), zeros, f.byte(p["a"], f.cast("sext", offset, "i64")))
                    for offset in offsets
                ]
                return over_tap(taps.index, pointers, taps.carried)

            # negative only if all are: no row of the tile meets the image under this tap
            taps.next(f.choose(f.icmp("sge", outside, 0), tap, lambda: taps.carried))
        return taps.results

    def over_run(self, pointers: list[Value], b: Value, ahead: Value, sums: list[Value]) -> list[Value]:
        f, tile, run = self.f, self.tile, self.p["run"]
        whole = (
            f.sub(run, f.rem(run, tile.unroll))
            if tile.unroll & (tile.unroll - 1)
            else f.binary("and", run, constant(-tile.unroll, "i64"))
        )
        ahead_step = tile.width * tile.itemsize // SHARES
        with f.loop(0, whole, tile.unroll, sums) as loop:
            now = list(loop.carried)
            here = f.at(tile.element, b, f.mul(loop.index, tile.width))
            for at in range(0, ahead_step * tile.unroll, LINE):
                prefetch(f, f.byte(f.byte(ahead, f.mul(loop.index, ahead_step)), at), False, 2)
            for k in range(tile.unroll):
                self.multiply(now, pointers, loop.index, k, here, k % self.phases)
            loop.next(now)
        with f.loop(whole, run, 1, loop.results) as rest:
            now = list(rest.carried)
            self.multiply(
                now, pointers, rest.index, 0, f.at(tile.element, b, f.mul(rest.index, tile.width)), 0
            )
            rest.next(now)
        return rest.results

    def multiply(
        self, sums: list[Value], pointers: list[Value], at: Value, k: int, b: Value, phase: int
    ) -> None:
        """One element of each row times one row of the panel, added to ``sums`` of the phase."""
        f, tile = self.f, self.tile
        weights = [
            f.load(tile.vector, f.at(tile.element, b, k * tile.width + v * tile.lanes))
            for v in range(self.vectors)
        ]
        for r, pointer in enumerate(pointers):
            x = f.splat(
                f.load(tile.element, f.at(tile.element, f.at(tile.element, pointer, at), k)), tile.lanes
            )
            for v in range(self.vectors):
                i = (phase * self.rows + r) * self.vectors + v
                sums[i] = f.fma(x, weights[v], sums[i])

    def epilogue(self, sums: list[Value], places: Sequence[Operand]) -> list[Value]:
        f, spec = self.f, self.spec
        if spec.bias:
            bias = self.read(self.p["bias"], [0])
            sums = [f.fadd(x, bias[i % self.vectors]) for i, x in enumerate(sums)]
        if spec.residual:
            sums = [f.fadd(x, y) for x, y in zip(sums, self.read(self.p["residual"], places))]
        if spec.relu:
            sums = [f.select(f.fcmp("ogt", self.zero, x), self.zero, x) for x in sums]
        return sums

    def write(self, sums: list[Value], places: Sequence[Operand], spill: Value) -> None:
        f, vectors = self.f, self.vectors
        rows = [f.byte(self.p["c"], place) for place in places]
        addresses = [f.byte(row, v * self.step_bytes) for row in rows for v in range(vectors)]
        if self.spec.columns == "whole":
            for x, address in zip(sums, addresses):
                f.store(x, address)
            return
        whole, partial, done = f.fresh("whole"), f.fresh("partial"), f.fresh("done")
        f.branch_if(f.binary("or", self.whole, spill), whole, partial)
        f.start(whole)
        for x, address in zip(sums, addresses):
            f.store(x, address)
        f.branch(done)
        f.start(partial)
        for i, (x, address) in enumerate(zip(sums, addresses)):
            if (i + 1) % vectors:
                f.store(x, address)
        left = f.sub(self.p["cols"], (vectors - 1) * self.tile.lanes)
        store_partial(f, sums[vectors - 1 :: vectors], addresses[vectors - 1 :: vectors], left)
        f.branch(done)
        f.start(done)


def prefetch(f: Function, address: Value, write: bool, locality: int) -> None:
    f.call("llvm.prefetch.p0", "void", address, *(constant(x, "i32") for x in (int(write), locality, 1)))


def store_partial(f: Function, values: Sequence[Value], addresses: Sequence[Value], count: Operand) -> None:
    """Stores the first ``count`` lanes (less than all) of each vector in halves, quarters...: masked stores
    are slow on some
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
            f.store(
                f.shuffle(x, x, range(width)) if width > 1 else f.extract(x, 0), address, BYTES[element(type)]
            )
        moved = [f.byte(address, width * BYTES[element(type)]) for address in addresses]
        upper = [f.shuffle(x, x, [(width + i) % lanes(type) for i in range(lanes(type))]) for x in values]
        f.branch(after)
        f.start(after)
        if width > 1:
            values = [f.phi(type, (x, before), (y, then)) for x, y in zip(values, upper)]
            addresses = [f.phi("ptr", (p, before), (q, then)) for p, q in zip(addresses, moved)]
        width //= 2
