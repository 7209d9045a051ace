"""Pointwise operators and clusters of them on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.codegen import fused as generator
from mycelia.codegen.program import Program, from_graph, from_node
from mycelia.codegen.strided import Space, broadcast_strides, collapse, row_major
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, kernel

SMALLEST_CHUNK = 32768  # elements: about 20 us of cheap work
MOST_CHUNKS = 256
GRAIN = 1024  # chunks begin on whole vectors and cache lines
STREAM_FROM = 48 << 20  # bytes of output beyond which caches are of no use to it


def chunk_size(total: int) -> int:
    """Elements per chunk: by the size of the work only, never by the number of threads."""
    size = max(SMALLEST_CHUNK, -(-total // MOST_CHUNKS))
    return -(-size // GRAIN) * GRAIN


def pointwise_call(
    program: Program,
    shape: Sequence[int],
    strides: Sequence[Sequence[int]],
    inputs: Sequence[Arg],
    outputs: Sequence[Arg],
    target: Target,
) -> list[Call]:
    """The call that runs a program over a space.

    Args:
        shape: the iteration space, which is the shape of each output.
        strides: for each input its strides in elements, one per dimension of the space.
        inputs: where the inputs begin; an offset belongs to the argument.
    """
    total = 1
    for extent in shape:
        total *= extent
    if total == 0:
        return []
    space = collapse(shape, [*strides, row_major(shape)])
    space = Space(space.sizes, space.strides[:-1], space.tags)
    walk = generator.patterns(space)
    rank = len(space.sizes)
    nbytes = total * max(d.itemsize for d in program.outputs)
    streaming = rank == 1 and nbytes >= STREAM_FROM and generator.streamable(program, target)
    key = f"fused/{program.key}/{rank}{walk}{'/stream' if streaming else ''}"
    symbol = f"fused_{program.symbol}_{rank}{walk}{'t' if streaming else ''}"
    per_chunk = chunk_size(total)
    words: list[Arg] = [*inputs, *outputs, total, per_chunk]
    if rank > 1:
        words += space.sizes
    for dtype, steps, pattern in zip(program.inputs, space.strides, walk):
        words += [s * dtype.itemsize for s in (steps if pattern == generator.STRIDED else steps[:-1])]
    code = Code(symbol, key, lambda: generator.text(symbol, program, rank, walk, target, streaming))
    return [Call(code, words, -(-total // per_chunk))]


def static_shape(value: Any) -> tuple[int, ...]:
    return tuple(int(d) for d in value.shape)


@kernel(["Fused", "*pointwise"])
class Pointwise(KernelBase):
    """Any operator with a scalar body, alone or in a cluster; inputs broadcast."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        shapes = {v.shape for v in node.outputs}
        if len(shapes) != 1:
            return Refusal(
                f"all outputs must have one shape; received {', '.join(str(v.type) for v in node.outputs)}"
            )
        return None

    def lower(self, node: Node, target: Target) -> list[Call]:
        program = from_graph(node.attrs["body"]) if node.op.name == "Fused" else from_node(node)
        shape = static_shape(node.output)
        strides = [broadcast_strides(static_shape(v), shape) for v in node.inputs]
        return pointwise_call(
            program,
            shape,
            strides,
            [In(i) for i in range(len(node.inputs))],
            [Out(i) for i in range(len(node.outputs))],
            target,
        )

    def alias(self, node: Node) -> list[tuple[int, int]]:
        return [
            (o, i)
            for o, out in enumerate(node.outputs)
            for i, value in enumerate(node.inputs)
            if value.shape == out.shape and value.dtype.itemsize == out.dtype.itemsize
        ]
