"""Moves matrices: into panels of a contraction, transposed, and between element types of storage and of
arithmetic.

float16 and bfloat16 are types of storage: they are widened to float32 as they are loaded and rounded as
they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.codegen import half
from mycelia.codegen.gemm import Tile
from mycelia.codegen.text import BYTES, Function, Module, Operand, Value, constant, vector

STORED = {"float16": "half", "bfloat16": "bfloat", "float32": "float", "float64": "double"}


def arithmetic(stored: str) -> str:
    """The LLVM type in which values of a stored type are computed."""
    return "double" if stored == "double" else "float"


def load_wide(f: Function, stored: str, width: int, address: Value) -> Value:
    """Loads ``width`` elements and widens them."""
    x = f.load(vector(width, storage(stored)), address)
    return (
        half.from_float16(f, x) if stored == "half" else half.from_bfloat16(f, x) if stored == "bfloat" else x
    )


def narrow(f: Function, x: Value, stored: str) -> Value:
    """Rounds to a stored type, to nearest even."""
    return half.to_float16(f, x) if stored == "half" else half.to_bfloat16(f, x) if stored == "bfloat" else x


def storage(stored: str) -> str:
    """The LLVM type in memory: half precision is kept as integers."""
    return "i16" if stored in ("half", "bfloat") else stored


def convert(source: str, target: str, width: int, symbol: str) -> str:
    """Copies ``count`` elements from one stored type to another. Words: source, target, count, elements per
    chunk."""
    module = Module()
    f = module.kernel(symbol)
    x, y, count, block = f.words("ptr", "ptr", "i64", "i64")
    first = f.mul(f.params[1], block)
    last = f.minimum(f.add(first, block), count)
    whole = f.sub(last, f.rem(f.sub(last, first), width))

    def move(lo: Operand, hi: Operand, step: int) -> None:
        with f.loop(lo, hi, step) as loop:
            value = load_wide(f, source, step, f.at(storage(source), x, loop.index))
            f.store(narrow(f, value, target), f.at(storage(target), y, loop.index))

    move(first, whole, width)
    move(whole, last, 1)
    f.ret(0)
    return str(module)


# Words of the packing kernels, in order. Source element (n, t, i) is at offsets[t] + n * n_stride + i *
# i_stride bytes.
PACK_WORDS = (
    "source",
    "panels",
    "offsets",
    "n",
    "taps",
    "run",
    "n_stride",
    "i_stride",
    "outer_stride",
    "panel_outer",
    "panel_block",
    "panel_blocks",
)


def pack(tile: Tile, stored: str, order: str, symbol: str) -> str:
    """Copies B into panels ``[n / width][t][i][width]``, the last panel filled up with zeros.

    ``order`` says what is contiguous in the source: ``"rows"`` (n), ``"columns"`` (i), ``"taps"`` (t),
    ``"images"`` (t, and then i), or ``"strided"`` (nothing).
    """
    module = Module()
    f = module.kernel(symbol)
    w = dict(zip(PACK_WORDS, f.words(*["ptr"] * 3, *["i64"] * (len(PACK_WORDS) - 3))))
    block = f.rem(f.params[1], w["panel_blocks"])
    outer = f.div(f.params[1], w["panel_blocks"])
    source = f.byte(w["source"], f.mul(outer, w["outer_stride"]))
    panels = f.byte(w["panels"], f.mul(outer, w["panel_outer"]))
    first = f.mul(f.mul(block, w["panel_block"]), tile.width)
    last = f.minimum(f.add(first, f.mul(w["panel_block"], tile.width)), w["n"])
    depth = f.mul(w["taps"], w["run"])

    def panel_at(n: Operand) -> Value:
        """Panel of columns [n, n + width)."""
        return f.at(tile.element, panels, f.mul(n, depth))

    def strided(n: Operand) -> None:
        cols = f.minimum(f.sub(w["n"], n), tile.width)
        target = panel_at(n)
        with f.loop(0, w["taps"]) as taps:
            offset = f.load("i64", f.at("i64", w["offsets"], taps.index))
            base = f.byte(f.byte(source, offset), f.mul(n, w["n_stride"]))
            with f.loop(0, w["run"]) as runs:
                at = f.byte(base, f.mul(runs.index, w["i_stride"]))
                row = f.at(
                    tile.element, target, f.mul(f.add(f.mul(taps.index, w["run"]), runs.index), tile.width)
                )
                with f.loop(0, cols) as c:
                    x = load_wide(f, stored, 1, f.byte(at, f.mul(c.index, w["n_stride"])))
                    f.store(x, f.at(tile.element, row, c.index))
                with f.loop(cols, tile.width) as c:
                    f.store(constant(0.0, tile.element), f.at(tile.element, row, c.index))

    at: Operand = first
    for panels_at_once in {"rows": (4, 1), "strided": ()}.get(order, (1,)):
        group = tile.width * panels_at_once
        whole = f.sub(last, f.rem(f.sub(last, at), group))
        with f.loop(at, whole, group) as groups:
            if order == "rows":
                _pack_rows(f, tile, stored, w, source, panel_at, groups.index, group)
            else:
                _pack_squares(f, tile, stored, order, w, source, panel_at(groups.index), groups.index)
        at = whole
    with f.loop(at, last, tile.width) as rest:
        strided(rest.index)
    f.ret(0)
    return str(module)


def _pack_rows(
    f: Function, tile: Tile, stored: str, w: dict[str, Value], source: Value, panel_at, n: Value, group: int
) -> None:
    """Several panels at once: a row gives them a few cache lines in a row."""
    panels = [panel_at(f.add(n, p)) for p in range(0, group, tile.width)]
    with f.loop(0, w["taps"]) as taps:
        offset = f.load("i64", f.at("i64", w["offsets"], taps.index))
        base = f.at(storage(stored), f.byte(source, offset), n)
        with f.loop(0, w["run"]) as runs:
            at = f.byte(base, f.mul(runs.index, w["i_stride"]))
            row = f.mul(f.add(f.mul(taps.index, w["run"]), runs.index), tile.width)
            for p, panel in enumerate(panels):
                for v in range(0, tile.width, tile.lanes):
                    x = load_wide(f, stored, tile.lanes, f.at(storage(stored), at, p * tile.width + v))
                    f.store(x, f.at(tile.element, panel, f.add(row, v)))


def _pack_squares(
    f: Function,
    tile: Tile,
    stored: str,
    order: str,
    w: dict[str, Value],
    source: Value,
    panel: Value,
    n: Value,
) -> None:
    """One panel, by squares of columns against what is contiguous, transposed in registers."""
    outer, inner = {"columns": (w["taps"], w["run"]), "taps": (w["run"], w["taps"])}.get(
        order, (1, f.mul(w["taps"], w["run"]))
    )
    whole = f.sub(inner, f.rem(inner, tile.lanes))
    with f.loop(0, outer) as outers:
        base = f.byte(source, f.mul(n, w["n_stride"]))
        if order == "columns":
            base = f.byte(base, f.load("i64", f.at("i64", w["offsets"], outers.index)))
        elif order == "taps":
            base = f.byte(base, f.mul(outers.index, w["i_stride"]))
        # the tap and the place in the run of the next element
        place = [f.value(0), f.value(0)]
        for lo, hi, step in ((0, whole, tile.lanes), (whole, inner, 1)):
            with f.loop(lo, hi, step, place) as loop:
                tap, i = loop.carried
                rows: list[Operand] = []
                for c in range(step):
                    if order == "columns":
                        rows.append(f.add(f.mul(outers.index, w["run"]), loop.index, c))
                    elif order == "taps":
                        rows.append(f.add(f.mul(f.add(loop.index, c), w["run"]), outers.index))
                    else:
                        rows.append(f.add(f.mul(tap, w["run"]), i))
                        following = f.add(tap, 1)
                        wrapped = f.icmp("eq", following, w["taps"])
                        tap, i = f.select(wrapped, 0, following), f.add(i, f.cast("zext", wrapped, "i64"))
                for v in range(0, tile.width, tile.lanes):
                    at = f.byte(base, f.mul(loop.index, BYTES[stored]))
                    lines = [f.byte(at, f.mul(w["n_stride"], v + r)) for r in range(tile.lanes)]
                    for row, x in zip(rows, _columns(f, tile, stored, lines, step)):
                        f.store(x, f.at(tile.element, panel, f.add(f.mul(row, tile.width), v)))
                loop.next([tap, i])
            place = loop.results


def _columns(f: Function, tile: Tile, stored: str, lines: Sequence[Value], count: int) -> list[Value]:
    """The first ``count`` columns (one, or one for each line) of the square of elements at ``lines``."""
    rows = [load_wide(f, stored, count, line) for line in lines]
    if count > 1:
        return transpose_square(f, rows)
    column = Value("poison", tile.vector)
    for r, x in enumerate(rows):
        column = f.insert(column, x, r)
    return [column]


def transpose_square(f: Function, rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of vectors: log2(n) rounds that exchange halves, pairs of halves, and so on."""
    count = len(rows)
    rows = list(rows)
    distance = count // 2
    while distance >= 1:
        low = [i if not (i // distance) % 2 else count + i - distance for i in range(count)]
        high = [i + distance if not (i // distance) % 2 else count + i for i in range(count)]
        for i in range(count):
            if not (i // distance) % 2:
                a, b = rows[i], rows[i + distance]
                rows[i], rows[i + distance] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        distance //= 2
    return rows


TRANSPOSE_WORDS = (
    "source",
    "target",
    "rows",
    "columns",
    "source_row",
    "target_row",
    "source_outer",
    "target_outer",
    "block",
    "blocks",
)


def transpose(tile: Tile, source: str, target: str, symbol: str) -> str:
    """``target[c, r] = source[r, c]`` for a batch of matrices; strides in bytes; a chunk is a block of
    source columns."""
    module = Module()
    f = module.kernel(symbol)
    w = dict(zip(TRANSPOSE_WORDS, f.words("ptr", "ptr", *["i64"] * (len(TRANSPOSE_WORDS) - 2))))
    outer, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    x = f.byte(w["source"], f.mul(outer, w["source_outer"]))
    y = f.byte(w["target"], f.mul(outer, w["target_outer"]))
    first = f.mul(block, w["block"])
    last = f.minimum(f.add(first, w["block"]), w["columns"])
    width = tile.lanes

    def move(r: Value, c: Value, step: int) -> None:
        at = f.byte(f.at(storage(source), x, c), f.mul(r, w["source_row"]))
        to = f.byte(f.at(storage(target), y, r), f.mul(c, w["target_row"]))
        if step == 1:
            f.store(narrow(f, load_wide(f, source, 1, at), target), to)
            return
        rows = [load_wide(f, source, width, f.byte(at, f.mul(w["source_row"], i))) for i in range(width)]
        for i, column in enumerate(transpose_square(f, rows)):
            f.store(narrow(f, column, target), f.byte(to, f.mul(w["target_row"], i)))

    whole_columns = f.sub(last, f.rem(f.sub(last, first), width))
    whole_rows = f.sub(w["rows"], f.rem(w["rows"], width))
    for c_lo, c_hi, r_lo, r_hi, step in (
        (first, whole_columns, 0, whole_rows, width),
        (first, whole_columns, whole_rows, w["rows"], 1),
        (whole_columns, last, 0, w["rows"], 1),
    ):
        with f.loop(c_lo, c_hi, step) as cs, f.loop(r_lo, r_hi, step) as rs:
            move(rs.index, cs.index, step)
    f.ret(0)
    return str(module)
