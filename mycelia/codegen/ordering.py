"""Sorting along one axis, and the k first of an order.

Elements become unsigned keys whose order as integers is the wanted one; below each key stands the element's
place, so that no two words are equal and every order is stable. NaN is larger than all numbers, and 0 equals
-0. Words of up to 32-bit keys have 64 bits, others 128.
"""
from __future__ import annotations

from dataclasses import dataclass

from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Function, Module, Operand, Value, constant, vector
from mycelia.ir.dtypes import DType

PLACE_BITS = 32
DIGITS = 256  # values of a digit of the radix sort


@dataclass(frozen=True)
class Order:
    """What an order is compiled for.

    Attributes:
        descending: largest first.
        last: the axis is the last one.
    """

    dtype: DType
    descending: bool
    last: bool = True

    @property
    def key_bits(self) -> int:
        return self.dtype.bits

    @property
    def word_bits(self) -> int:
        return 64 if self.key_bits <= 32 else 128

    @property
    def key(self) -> str:
        flags = ("down", self.descending), ("last", self.last)
        return "_".join([self.dtype.name, *(name for name, present in flags if present)])


def _key(f: Function, order: Order, address: Value, lanes: int = 1) -> Value:
    """Adjacent elements as keys."""
    dtype, type = order.dtype, vector(lanes, f"i{order.key_bits}")
    raw = f.load(memory_type(dtype, lanes), address)
    ones = constant(-1, type)
    top = constant(-1 << order.key_bits - 1, type)
    if dtype.is_float:
        m = VectorScalars(f, lanes)
        x: Scalar = m.from_memory(dtype, raw)
        bits = f.cast("bitcast", raw, type)
        bits = f.select(m.eq(x, 0.0).value, constant(0, type), bits)
        sign = f.binary("ashr", bits, constant(order.key_bits - 1, type))
        key = f.binary("xor", bits, f.binary("or", sign, top))
        key = f.select(m.isnan(x).value, ones, key)
    else:
        key = f.binary("xor", raw, top) if dtype.kind == "i" else raw
    return f.binary("xor", key, ones) if order.descending else key


def _word(f: Function, order: Order, key: Value, place: Operand) -> Value:
    type = f"i{order.word_bits}"
    high = f.binary("shl", f.cast("zext", key, type), constant(PLACE_BITS, type))
    low = f.value(place)
    return f.binary("or", high, low if type == "i64" else f.cast("zext", low, type))


def _place(f: Function, word: Value) -> Value:
    """Where the element of a word was."""
    return f.cast("zext", f.cast("trunc", word, "i32"), "i64")


class _Rows:
    """The elements along the axis, at each position of the other axes."""

    def __init__(
        self, f: Function, order: Order, unit: Value, n: Operand, kept: Operand, inner: Operand
    ) -> None:
        outer, column = (unit, 0) if order.last else (f.div(unit, inner), f.rem(unit, inner))
        self.f, self.order, self.step = f, order, 1 if order.last else inner
        self.first = f.add(f.mul(f.mul(outer, n), self.step), column)
        self.kept_first = f.add(f.mul(f.mul(outer, kept), self.step), column)

    def element(self, x: Value, place: Operand) -> Value:
        f = self.f
        return f.at(memory_type(self.order.dtype, 1), x, f.add(self.first, f.mul(place, self.step)))

    def give(self, x: Value, y: Value, indices: Value, rank: Operand, word: Value) -> None:
        """Writes the element of a word, and its place, at a rank."""
        f, type = self.f, memory_type(self.order.dtype, 1)
        place, sink = _place(f, word), f.add(self.kept_first, f.mul(rank, self.step))
        f.store(f.load(type, self.element(x, place)), f.at(type, y, sink))
        f.store(f.cast("trunc", place, "i32"), f.at("i32", indices, sink))


def lanes(order: Order, target: Target) -> int:
    """Words that are compared at once."""
    return target.lanes(8) if order.word_bits == 64 else 1


def _rank(f: Function, order: Order, target: Target, words: Value, rounded: Operand, own: Value) -> Value:
    """How many of the words are smaller."""
    width = lanes(order, target)
    type, count = vector(width, own.type), vector(width, "i64")
    wide = f.splat(own, width)
    with f.loop(0, rounded, width, [constant(0, count)]) as loop:
        other = f.load(type, f.at(own.type, words, loop.index))
        smaller = f.cast("zext", f.icmp("ult", other, wide), count)
        loop.next([f.binary("add", loop.carried[0], smaller)])
    total = loop.results[0]
    return total if width == 1 else f.call(f"llvm.vector.reduce.add.v{width}i64", "i64", total)


def sort_ranks_text(symbol: str, order: Order, target: Target) -> str:
    """Short axes: an element's rank is how many words are smaller than its own.

    Words: addresses of x, y, indices, room of ``n`` words rounded up to whole vectors for each chunk; units
    in all, per chunk; n; inner; words of a chunk's room. A unit is one position of the other axes.
    """
    module = Module()
    f = module.kernel(symbol)
    x, y, indices, room = f.words("ptr", "ptr", "ptr", "ptr")
    units, each, n, inner, rounded = f.words(*["i64"] * 5, first=4)
    type = f"i{order.word_bits}"
    words = f.at(type, room, f.mul(f.params[1], rounded))
    first = f.mul(f.params[1], each)
    with f.loop(n, rounded) as loop:  # larger than any word
        f.store(constant(-1, type), f.at(type, words, loop.index))
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        rows = _Rows(f, order, unit.index, n, n, inner)
        with f.loop(0, n) as loop:
            key = _key(f, order, rows.element(x, loop.index))
            f.store(_word(f, order, key, loop.index), f.at(type, words, loop.index))
        with f.loop(0, n) as loop:
            own = f.load(type, f.at(type, words, loop.index))
            rows.give(x, y, indices, _rank(f, order, target, words, rounded, own), own)
    f.ret(0)
    return str(module)


def sort_radix_text(symbol: str, order: Order, kept_only: bool) -> str:
    """Long axes: words move by one digit of the key after the other, the last digit first; a digit that all
    keys share costs nothing.

    Words: addresses of x, y, indices, room of ``2 n`` words for each chunk; units in all, per chunk; n;
    inner; elements of the order that are kept (with ``kept_only``; else n).
    """
    module = Module()
    f = module.kernel(symbol)
    x, y, indices, room = f.words("ptr", "ptr", "ptr", "ptr")
    units, each, n, inner, kept = f.words(*["i64"] * 5, first=4)
    kept = kept if kept_only else n
    type, digits = f"i{order.word_bits}", order.key_bits // 8
    counts = f.stack("i64", digits * DIGITS)
    near = f.at(type, room, f.mul(f.params[1], f.mul(n, 2)))
    far = f.at(type, near, n)

    def digit(word: Value, number: int) -> Value:
        shifted = f.binary("lshr", word, constant(PLACE_BITS + 8 * number, type))
        return f.cast("zext", f.cast("trunc", shifted, "i8"), "i64")

    def count(number: int, value: Value) -> Value:
        return f.at("i64", counts, f.add(value, number * DIGITS))

    first = f.mul(f.params[1], each)
    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        rows = _Rows(f, order, unit.index, n, kept, inner)
        with f.loop(0, digits * DIGITS) as loop:
            f.store(constant(0, "i64"), f.at("i64", counts, loop.index))
        with f.loop(0, n) as loop:
            word = _word(f, order, _key(f, order, rows.element(x, loop.index)), loop.index)
            f.store(word, f.at(type, near, loop.index))
            for number in range(digits):
                address = count(number, digit(word, number))
                f.store(f.value(f.add(f.load("i64", address), 1)), address)
        source, sink = near, far
        for number in range(digits):
            def moved(number: int = number, source: Value = source, sink: Value = sink) -> list[Value]:
                with f.loop(0, DIGITS, 1, [constant(0, "i64")]) as loop:
                    address = count(number, loop.index)
                    here = f.load("i64", address)
                    f.store(loop.carried[0], address)
                    loop.next([f.value(f.add(loop.carried[0], here))])
                with f.loop(0, n) as loop:
                    word = f.load(type, f.at(type, source, loop.index))
                    address = count(number, digit(word, number))
                    place = f.load("i64", address)
                    f.store(word, f.at(type, sink, place))
                    f.store(f.value(f.add(place, 1)), address)
                return [sink, source]

            shared = f.load("i64", count(number, digit(f.load(type, source), number)))
            now = [source, sink]
            source, sink = f.choose(f.icmp("eq", shared, n), lambda now=now: now, moved)
        with f.loop(0, kept) as loop:
            rows.give(x, y, indices, loop.index, f.load(type, f.at(type, source, loop.index)))
    f.ret(0)
    return str(module)


def first_of_order_text(symbol: str, order: Order, target: Target) -> str:
    """The k first of the order along the last axis: they are kept in a list, and most elements are only
    compared with the last one of it, a vector at a time.

    Words: addresses of x, y, indices, room of k words rounded up to whole vectors for each chunk; units in
    all, per chunk; n; k; words of a chunk's room.
    """
    module = Module()
    f = module.kernel(symbol)
    x, y, indices, room = f.words("ptr", "ptr", "ptr", "ptr")
    units, each, n, k, rounded = f.words(*["i64"] * 5, first=4)
    type, key_type = f"i{order.word_bits}", f"i{order.key_bits}"
    keys = target.lanes(max(order.dtype.itemsize, 4 if order.dtype.is_float else 1))
    words = f.at(type, room, f.mul(f.params[1], rounded))
    last = f.at(type, words, f.sub(k, 1))
    first = f.mul(f.params[1], each)

    def insert(rows: _Rows, place: Value) -> None:
        """Puts a word where it belongs in the list, pushing out the last one."""
        new = _word(f, order, _key(f, order, rows.element(x, place)), place)
        rank = _rank(f, order, target, words, rounded, new)
        here = f.at(type, words, rank)
        nbytes = f.value(f.mul(f.sub(f.sub(k, 1), rank), order.word_bits // 8))
        f.call("llvm.memmove.p0.p0.i64", "void", f.at(type, here, 1), here, nbytes, constant(False, "i1"))
        f.store(new, here)

    def worst() -> Value:
        shifted = f.binary("lshr", f.load(type, last), constant(PLACE_BITS, type))
        return f.cast("trunc", shifted, key_type)

    with f.loop(first, f.minimum(f.add(first, each), units)) as unit:
        rows = _Rows(f, order, unit.index, n, k, 1)
        with f.loop(0, rounded) as loop:
            f.store(constant(-1, type), f.at(type, words, loop.index))
        with f.loop(0, k) as loop:
            insert(rows, loop.index)
        whole = f.add(k, f.mul(f.div(f.sub(n, k), keys), keys))

        def scan(begin: Operand, end: Operand, width: int) -> None:
            with f.loop(begin, end, width, [worst()]) as loop:
                key = _key(f, order, rows.element(x, loop.index), width)
                hits = f.icmp("ult", key, f.splat(loop.carried[0], width))
                some = hits
                if width > 1:
                    some = f.icmp("ne", f.cast("bitcast", hits, f"i{width}"), constant(0, f"i{width}"))

                def look() -> list[Value]:
                    with f.loop(loop.index, f.add(loop.index, width)) as lane:
                        one = _key(f, order, rows.element(x, lane.index))
                        with f.when(f.icmp("ult", one, worst())):
                            insert(rows, lane.index)
                    return [worst()]

                loop.next(f.choose(some, look, lambda: [loop.carried[0]]))

        scan(k, whole, keys)
        scan(whole, n, 1)
        with f.loop(0, k) as loop:
            rows.give(x, y, indices, loop.index, f.load(type, f.at(type, words, loop.index)))
    f.ret(0)
    return str(module)
