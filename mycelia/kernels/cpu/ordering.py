"""Sorting, and the k largest or smallest, on the CPU."""
from __future__ import annotations

import math

from mycelia.codegen import ordering as generator
from mycelia.codegen.ordering import Order
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, Work, kernel
from mycelia.kernels.cpu.fused import SMALLEST_CHUNK, static_shape

SHORT = {64: 64, 128: 20}  # longest axis that is sorted by ranks, by the bits of a word
FEW = 128  # most elements that are kept in a list
MOST_ROOMS = 16  # chunks that may each have room for a long axis
LONGEST = 2**31 - 1  # an index is an int32


def _chunks(units: int, n: int, cost: int) -> tuple[int, int]:
    """Units per chunk, and chunks: enough work in each, and not too many rooms for long axes."""
    each = max(1, SMALLEST_CHUNK // max(n * cost, 1), -(-units // max(MOST_ROOMS, units * n >> 18)))
    return each, -(-units // each)


def _rounded(count: int, order: Order, target: Target) -> int:
    """Words up to whole vectors."""
    width = generator.lanes(order, target)
    return -(-count // width) * width


class Ordering(KernelBase):
    def accepts(self, node: Node, target: Target) -> Refusal | None:
        n = static_shape(node.inputs[0])[node.attrs.get("axis", -1)]
        return Refusal(f"indices are int32, but an axis has {n} elements") if n > LONGEST else None

    def radix(self, node: Node, order: Order, units: int, n: int, inner: int, kept: int) -> Call:
        each, chunks = _chunks(units, n, 2 * order.dtype.itemsize)
        symbol = f"sort_radix_{order.key}{'_kept' if kept != n else ''}"
        code = Code(symbol, symbol, lambda: generator.sort_radix_text(symbol, order, kept != n))
        room = Work(chunks * 2 * n * order.word_bits // 8, "words")
        return Call(code, [In(0), Out(0), Out(1), room, units, each, n, inner, kept], chunks)


@kernel("Sort")
class Sort(Ordering):
    """Short axes by ranks, others by digits."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        shape, axis = static_shape(node.inputs[0]), node.attrs["axis"]
        if 0 in shape:
            return []
        n, inner = shape[axis], math.prod(shape[axis + 1 :])
        units = math.prod(shape) // n
        order = Order(node.inputs[0].dtype, bool(node.attrs["descending"]), inner == 1)
        if n > SHORT[order.word_bits]:
            return [self.radix(node, order, units, n, inner, n)]
        rounded = _rounded(n, order, target)
        each = max(1, SMALLEST_CHUNK // (n * rounded))
        chunks = -(-units // each)
        symbol = f"sort_ranks_{order.key}"
        code = Code(symbol, symbol, lambda: generator.sort_ranks_text(symbol, order, target))
        room = Work(chunks * rounded * order.word_bits // 8, "words")
        words: list[Arg] = [In(0), Out(0), Out(1), room, units, each, n, inner, rounded]
        return [Call(code, words, chunks)]


@kernel("TopK")
class TopK(Ordering):
    """A few from a list that is kept in order, many by sorting."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        shape, k = static_shape(node.inputs[0]), int(node.attrs["k"])
        n = shape[-1]
        if 0 in shape or k == 0:
            return []
        units = math.prod(shape) // n
        order = Order(node.inputs[0].dtype, bool(node.attrs["largest"]))
        if k > FEW:
            return [self.radix(node, order, units, n, 1, k)]
        each, chunks = _chunks(units, n, 1)
        rounded = _rounded(k, order, target)
        symbol = f"first_of_order_{order.key}"
        code = Code(symbol, symbol, lambda: generator.first_of_order_text(symbol, order, target))
        room = Work(chunks * rounded * order.word_bits // 8, "words")
        words: list[Arg] = [In(0), Out(0), Out(1), room, units, each, n, k, rounded]
        return [Call(code, words, chunks)]
