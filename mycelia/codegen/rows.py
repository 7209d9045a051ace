"""Kernels that work a row at a time while it stays in the cache: softmax, layer normalisation and their
gradients.

Rows are dense. float16 and bfloat16 are computed in float32; sums are kept in float64 (see
`mycelia.codegen.reduce`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from mycelia.codegen.reduce import Reduction, across_lanes
from mycelia.codegen.scalar import Scalar, VectorScalars, memory_type
from mycelia.codegen.target import Target
from mycelia.codegen.text import Function, Module, Operand, Value
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

Body = Callable[[Operand, "Value | None"], Sequence[Scalar]]


def computed_in(dtype: DType) -> DType:
    return dtypes.float64 if dtype is dtypes.float64 else dtypes.float32


class RowKernel:
    """A kernel under construction over rows of ``n`` elements.

    Words: the pointers; rows in all, per chunk; elements of a row; then the kernel's own.
    """

    def __init__(self, symbol: str, dtype: DType, pointers: int, target: Target) -> None:
        self.module = Module()
        self.f: Function = self.module.kernel(symbol)
        self.pointers = self.f.words(*["ptr"] * pointers)
        self.rows, self.each, self.n = self.f.words("i64", "i64", "i64", first=pointers)
        self.real = computed_in(dtype)
        self.m = VectorScalars(self.f, target.lanes(self.real.itemsize))
        self.one = VectorScalars(self.f, 1)

    @contextmanager
    def each_row(self) -> Iterator[Value]:
        f = self.f
        first = f.mul(f.params[1], self.each)
        with f.loop(first, f.minimum(f.add(first, self.each), self.rows)) as loop:
            yield loop.index

    def row(self, pointer: Value, dtype: DType, index: Operand) -> Value:
        """Where a row of an array begins."""
        return self.f.at(memory_type(dtype, 1), pointer, self.f.mul(index, self.n))

    def load(self, pointer: Value, dtype: DType, at: Operand, mask: Value | None) -> Scalar:
        """Adjacent elements as the type of computation."""
        return self.m.cast(self.m.load(dtype, self.f.at(memory_type(dtype, 1), pointer, at), mask), self.real)

    def store(self, x: Scalar, pointer: Value, dtype: DType, at: Operand, mask: Value | None) -> None:
        self.m.store(self.m.cast(x, dtype), self.f.at(memory_type(dtype, 1), pointer, at), mask)

    def splat(self, x: Scalar) -> Scalar:
        return self.m.wrap(self.f.splat(x.value, self.m.lanes), x.dtype)

    def sweep(self, kinds: Sequence[str], body: Body, unroll: int = 1) -> list[Scalar]:
        """Runs along the row; ``body(index, mask)`` gives a value to reduce for each kind. Returns the
        totals as plain scalars."""
        f, m = self.f, self.m
        reductions = [Reduction(kind, self.real) for kind in kinds]

        def step(
            places: Sequence[Operand], totals: Sequence[Value], mask: Value | None = None
        ) -> list[Value]:
            results = [body(place, mask) for place in places]
            updated = []
            for k, (reduction, total) in enumerate(zip(reductions, totals)):
                values = [r[k] for r in results]
                if mask is not None:
                    values = [
                        m.select(Scalar(m, mask, dtypes.bool_), v, reduction.identity(m, v.dtype))
                        for v in values
                    ]
                joined = reduction.joined(m, values)
                updated.append(reduction.combine(m, m.wrap(total, reduction.accumulator), joined).value)
            return updated

        totals: Sequence[Value] = [r.identity(m).value for r in reductions]
        at: Operand = 0
        for count in dict.fromkeys((unroll, 1)):
            stride = m.lanes * count
            whole = f.add(at, f.mul(f.div(f.sub(self.n, at), stride), stride))
            with f.loop(at, whole, stride, carried=totals) as loop:
                loop.next(step([f.add(loop.index, k * m.lanes) for k in range(count)], loop.carried))
            totals, at = loop.results, whole
        totals = f.choose(
            f.icmp("slt", at, self.n),
            lambda: step([at], totals, f.mask(f.sub(self.n, at), m.lanes)),
            lambda: list(totals),
        )
        return [across_lanes(r, m, m.wrap(t, r.accumulator)) for r, t in zip(reductions, totals)]

    def finished(self) -> str:
        self.f.ret(0)
        return str(self.module)


def softmax_text(symbol: str, dtype: DType, logarithm: bool, target: Target) -> str:
    """Pointers: x, y."""
    k = RowKernel(symbol, dtype, 2, target)
    m, one, real = k.m, k.one, k.real
    keeps = dtype is real  # exponentials can wait in the output without being rounded
    with k.each_row() as index:
        x, y = (k.row(p, dtype, index) for p in k.pointers)
        (largest,) = k.sweep(["max"], lambda at, mask: [k.load(x, dtype, at, mask)], unroll=4)
        top = k.splat(largest)

        def exponential(at: Operand, mask: Value | None) -> Scalar:
            return m.exp_nonpositive(k.load(x, dtype, at, mask) - top)

        def exponentials(at: Operand, mask: Value | None) -> list[Scalar]:
            e = exponential(at, mask)
            if keeps and not logarithm:
                k.store(e, y, dtype, at, mask)
            return [e]

        (total,) = k.sweep(["sum"], exponentials, unroll=2)
        if logarithm:
            shift = k.splat(one.cast(one.log(total), real))
        else:
            factor = k.splat(one.cast(one.const(1.0, total.dtype) / total, real))

        def finish(at: Operand, mask: Value | None) -> list[Scalar]:
            if logarithm:
                result = k.load(x, dtype, at, mask) - top - shift
            else:
                result = (k.load(y, dtype, at, mask) if keeps else exponential(at, mask)) * factor
            k.store(result, y, dtype, at, mask)
            return []

        k.sweep([], finish, unroll=4)
    return k.finished()


def softmax_grad_text(symbol: str, dtype: DType, logarithm: bool, target: Target) -> str:
    """dx = (dy - sum(dy * y)) * y; for the logarithm dy - exp(y) * sum(dy). Pointers: y, dy, dx."""
    k = RowKernel(symbol, dtype, 3, target)
    m, one, real = k.m, k.one, k.real
    with k.each_row() as index:
        y, dy, dx = (k.row(p, dtype, index) for p in k.pointers)

        def weighted(at: Operand, mask: Value | None) -> list[Scalar]:
            g = k.load(dy, dtype, at, mask)
            return [g if logarithm else g * k.load(y, dtype, at, mask)]

        (total,) = k.sweep(["sum"], weighted, unroll=4)
        inner = k.splat(one.cast(total, real))

        def finish(at: Operand, mask: Value | None) -> list[Scalar]:
            g, v = k.load(dy, dtype, at, mask), k.load(y, dtype, at, mask)
            k.store(g - m.exp_nonpositive(v) * inner if logarithm else (g - inner) * v, dx, dtype, at, mask)
            return []

        k.sweep([], finish, unroll=2)
    return k.finished()


def layer_norm_text(symbol: str, dtype: DType, scale: DType, target: Target) -> str:
    """Pointers: x, gamma, beta, y, mean, rstd. Own word: the bits of epsilon as float64."""
    k = RowKernel(symbol, dtype, 6, target)
    f, one, real = k.f, k.one, k.real
    source, gamma, beta, sink, means, rstds = k.pointers
    epsilon = one.wrap(f.words("double", first=9)[0], dtypes.float64)
    count = one.cast(one.wrap(k.n, dtypes.int64), dtypes.float64)
    with k.each_row() as index:
        x, y = k.row(source, dtype, index), k.row(sink, dtype, index)
        (total,) = k.sweep(["sum"], lambda at, mask: [k.load(x, dtype, at, mask)], unroll=4)
        mean = one.cast(total / count, real)
        centre = k.splat(mean)

        def squares(at: Operand, mask: Value | None) -> list[Scalar]:
            d = k.load(x, dtype, at, mask) - centre
            return [d * d]

        (total,) = k.sweep(["sum"], squares, unroll=4)
        rstd = one.cast(one.rsqrt(total / count + epsilon), real)
        factor = k.splat(rstd)

        def finish(at: Operand, mask: Value | None) -> list[Scalar]:
            n = (k.load(x, dtype, at, mask) - centre) * factor
            k.store(n * k.load(gamma, scale, at, mask) + k.load(beta, scale, at, mask), y, dtype, at, mask)
            return []

        k.sweep([], finish, unroll=2)
        one.store(mean, f.at(memory_type(real, 1), means, index))
        one.store(rstd, f.at(memory_type(real, 1), rstds, index))
    return k.finished()


def layer_norm_grad_text(symbol: str, dtype: DType, scale: DType, target: Target) -> str:
    """dx, and each chunk's own sums of dy * n and dy over its rows, n = (x - mean) * rstd.

    Pointers: dy, x, gamma, mean, rstd, dx, sums ``[chunks][2][n]`` of the type of computation.
    """
    k = RowKernel(symbol, dtype, 7, target)
    f, m, one, real = k.f, k.m, k.one, k.real
    grads, source, gamma, means, rstds, sink, sums = k.pointers
    memory = memory_type(real, 1)
    dgamma = f.at(memory, sums, f.mul(f.params[1], f.mul(k.n, 2)))
    dbeta = f.at(memory, dgamma, k.n)

    def clear(at: Operand, mask: Value | None) -> list[Scalar]:
        for pointer in (dgamma, dbeta):
            k.store(m.const(0.0, real), pointer, real, at, mask)
        return []

    k.sweep([], clear)
    share = one.const(1.0, dtypes.float64) / one.cast(one.wrap(k.n, dtypes.int64), dtypes.float64)
    with k.each_row() as index:
        dy, x, dx = k.row(grads, dtype, index), k.row(source, dtype, index), k.row(sink, dtype, index)
        centre, factor = (k.splat(one.load(real, f.at(memory, p, index))) for p in (means, rstds))

        def normal(at: Operand, mask: Value | None) -> Scalar:
            return (k.load(x, dtype, at, mask) - centre) * factor

        def gather(at: Operand, mask: Value | None) -> list[Scalar]:
            g, n = k.load(dy, dtype, at, mask), normal(at, mask)
            for pointer, value in ((dgamma, g * n), (dbeta, g)):
                k.store(k.load(pointer, real, at, mask) + value, pointer, real, at, mask)
            d = g * k.load(gamma, scale, at, mask)
            return [d, d * n]

        inner, along = (
            k.splat(one.cast(total * share, real)) for total in k.sweep(["sum", "sum"], gather, unroll=2)
        )

        def finish(at: Operand, mask: Value | None) -> list[Scalar]:
            d = k.load(dy, dtype, at, mask) * k.load(gamma, scale, at, mask)
            k.store((d - inner - normal(at, mask) * along) * factor, dx, dtype, at, mask)
            return []

        k.sweep([], finish, unroll=2)
    return k.finished()
