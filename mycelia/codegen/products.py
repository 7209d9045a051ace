"""Products that need no panels: of one to a few rows with a matrix, which are as fast as memory, and of
integers."""

from __future__ import annotations

from mycelia.codegen.gemm import Tile
from mycelia.codegen.pack import load_wide, narrow, storage
from mycelia.codegen.text import BYTES, Function, Module, Operand, Value, constant, suffix

FEW_ROWS = 3

# Words of both kernels, in order; strides in bytes. x and, in `scaled_rows`, y are in the type of arithmetic.
WORDS = (
    "x",
    "w",
    "y",
    "n",
    "k",
    "x_row",
    "w_row",
    "y_row",
    "x_outer",
    "w_outer",
    "y_outer",
    "block",
    "blocks",
)


def _open(module: Module, symbol: str) -> tuple[Function, dict[str, Value], Operand, Operand]:
    """The kernel, its words with the outer offsets applied, and the range of columns of the chunk."""
    f = module.kernel(symbol)
    w = dict(zip(WORDS, f.words("ptr", "ptr", "ptr", *["i64"] * (len(WORDS) - 3))))
    outer, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    for name in "xwy":
        w[name] = f.byte(w[name], f.mul(outer, w[f"{name}_outer"]))
    first = f.mul(block, w["block"])
    return f, w, first, f.minimum(f.add(first, w["block"]), w["n"])


def dot_products(tile: Tile, stored: str, rows: int, symbol: str) -> str:
    """``y[m, n] = sum over k of x[m, k] * w[n, k]`` for ``rows`` rows of x: each row of w is read once.

    The sum runs in vectors of partial sums, which are added at the end of a row.
    """
    module = Module()
    f, w, first, last = _open(module, symbol)
    size, lanes = BYTES[storage(stored)], tile.lanes
    x_rows = [f.byte(w["x"], f.mul(w["x_row"], m)) for m in range(rows)]

    def products(n: Operand, count: int) -> None:
        w_rows = [f.byte(w["w"], f.mul(f.add(n, i), w["w_row"])) for i in range(count)]
        phases = max(1, 8 // (count * rows))
        whole = f.sub(w["k"], f.rem(w["k"], lanes * phases))
        start = [constant(0.0, tile.vector)] * (count * rows * phases)
        with f.loop(0, whole, lanes * phases, start) as loop:
            sums = list(loop.carried)
            for phase in range(phases):
                at = f.add(loop.index, phase * lanes)
                xs = [f.load(tile.vector, f.at(tile.element, row, at)) for row in x_rows]
                for i, row in enumerate(w_rows):
                    weights = load_wide(f, stored, lanes, f.byte(row, f.mul(at, size)))
                    for m, x in enumerate(xs):
                        j = (phase * count + i) * rows + m
                        sums[j] = f.fma(x, weights, sums[j])
            loop.next(sums)
        vectors = loop.results[: count * rows]
        for phase in range(1, phases):
            vectors = [f.fadd(a, b) for a, b in zip(vectors, loop.results[phase * count * rows :])]
        totals = [horizontal_sum(f, v) for v in vectors]
        with f.loop(whole, w["k"], 1, totals) as rest:
            xs = [f.load(tile.element, f.at(tile.element, row, rest.index)) for row in x_rows]
            weights = [load_wide(f, stored, 1, f.byte(row, f.mul(rest.index, size))) for row in w_rows]
            rest.next([f.fma(xs[j % rows], weights[j // rows], t) for j, t in enumerate(rest.carried)])
        for j, total in enumerate(rest.results):
            row = f.byte(w["y"], f.mul(w["y_row"], j % rows))
            f.store(narrow(f, total, stored), f.at(storage(stored), row, f.add(n, j // rows)))

    grouped = f.sub(last, f.rem(f.sub(last, first), 4))
    for lo, hi, count in ((first, grouped, 4), (grouped, last, 1)):
        with f.loop(lo, hi, count) as columns:
            products(columns.index, count)
    f.ret(0)
    return str(module)


def horizontal_sum(f: Function, x: Value) -> Value:
    """The sum of a vector's lanes, by halves."""
    name = f"llvm.vector.reduce.fadd.{suffix(x.type)}"
    scalar = x.type[1:-1].split(" x ")[1]
    f.module.declare(name, scalar, [scalar, x.type])
    return f.op(scalar, f"call reassoc {scalar} @{name}({scalar} {constant(-0.0, scalar)}, {x.typed})")


def scaled_rows(tile: Tile, stored: str, rows: int, symbol: str) -> str:
    """``y[m, n] = sum over k of x[m, k] * w[k, n]`` for ``rows`` rows of x: w is read along its rows,
    several at a time."""
    module = Module()
    f, w, first, last = _open(module, symbol)
    size, group = BYTES[storage(stored)], 8 if rows == 1 else 4
    x_rows = [f.byte(w["x"], f.mul(w["x_row"], m)) for m in range(rows)]
    y_rows = [f.byte(w["y"], f.mul(w["y_row"], m)) for m in range(rows)]
    for y in y_rows:
        with f.loop(first, last) as columns:
            f.store(constant(0.0, tile.element), f.at(tile.element, y, columns.index))

    def add_rows(k: Operand, count: int) -> None:
        w_rows = [f.byte(w["w"], f.mul(f.add(k, i), w["w_row"])) for i in range(count)]
        xs = [
            [f.load(tile.element, f.at(tile.element, row, f.add(k, i))) for i in range(count)]
            for row in x_rows
        ]
        whole = f.sub(last, f.rem(f.sub(last, first), tile.lanes))
        for lo, hi, width in ((first, whole, tile.lanes), (whole, last, 1)):
            factors = [[f.splat(x, width) for x in row] for row in xs]
            type = tile.vector if width > 1 else tile.element
            with f.loop(lo, hi, width) as columns:
                places = [f.at(tile.element, y, columns.index) for y in y_rows]
                sums = [f.load(type, place) for place in places]
                for i, row in enumerate(w_rows):
                    weights = load_wide(f, stored, width, f.byte(row, f.mul(columns.index, size)))
                    sums = [f.fma(factors[m][i], weights, s) for m, s in enumerate(sums)]
                for s, place in zip(sums, places):
                    f.store(s, place)

    grouped = f.sub(w["k"], f.rem(w["k"], group))
    for lo, hi, count in ((0, grouped, group), (grouped, w["k"], 1)):
        with f.loop(lo, hi, count) as ks:
            add_rows(ks.index, count)
    f.ret(0)
    return str(module)


INTEGER_WORDS = (
    "a",
    "b",
    "c",
    "m",
    "n",
    "k",
    "a_m",
    "a_k",
    "b_k",
    "b_n",
    "a_outer",
    "b_outer",
    "c_outer",
    "block",
    "blocks",
)


def integer_product(bits: int, symbol: str) -> str:
    """``c[m, n] = sum over k of a[m, k] * b[k, n]`` modulo ``2 ** bits``, any strides (in bytes); a chunk
    is a block of rows."""
    module = Module()
    f = module.kernel(symbol)
    type, size = f"i{bits}", bits // 8
    w = dict(zip(INTEGER_WORDS, f.words("ptr", "ptr", "ptr", *["i64"] * (len(INTEGER_WORDS) - 3))))
    outer, block = f.div(f.params[1], w["blocks"]), f.rem(f.params[1], w["blocks"])
    a, b, c = (f.byte(w[x], f.mul(outer, w[f"{x}_outer"])) for x in "abc")
    first = f.mul(block, w["block"])
    last = f.minimum(f.add(first, w["block"]), w["m"])
    with f.loop(first, last) as rows, f.loop(0, w["n"]) as columns:
        with f.loop(0, w["k"], 1, [constant(0, type)]) as ks:
            x = f.load(type, f.byte(a, f.add(f.mul(rows.index, w["a_m"]), f.mul(ks.index, w["a_k"]))))
            y = f.load(type, f.byte(b, f.add(f.mul(ks.index, w["b_k"]), f.mul(columns.index, w["b_n"]))))
            ks.next([f.binary("add", ks.carried[0], f.binary("mul", x, y))])
        place = f.add(f.mul(f.add(f.mul(rows.index, w["n"]), columns.index), size))
        f.store(ks.results[0], f.byte(c, place))
    f.ret(0)
    return str(module)
