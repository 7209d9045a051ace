"""Random numbers on the CPU: every element from the generator's state and its own place, whatever the
chunks."""

from __future__ import annotations

import math

from mycelia.codegen import philox as generator
from mycelia.codegen.program import from_function
from mycelia.codegen.strided import broadcast_strides, row_major
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType, float32
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Work, kernel
from mycelia.kernels.cpu.fused import pointwise_call, static_shape
from mycelia.ops.philox import blocks

GROUPS_PER_CHUNK = 512  # of 32 numbers: about 20 us


def draw_call(distribution: str, dtype: DType, size: int, values: Arg, target: Target) -> Call:
    """Input 0 is the state, output 0 the state after."""
    symbol = f"random_{distribution}_{dtype.name}"
    code = Code(symbol, symbol, lambda: generator.random_text(symbol, distribution, dtype, target))
    count = blocks(size, dtype)
    groups = -(-count // generator.BLOCKS)
    each = max(GROUPS_PER_CHUNK, -(-groups // 256))
    return Call(code, [In(0), Out(0), values, count, each, size], max(1, -(-groups // each)))


@kernel(["RandomBits", "RandomUniform", "RandomNormal"])
class Random(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        values = node.outputs[1]
        distribution = node.op.name.removeprefix("Random").lower()
        return [draw_call(distribution, values.dtype, math.prod(static_shape(values)), Out(1), target)]


@kernel("RandomBernoulli")
class Bernoulli(KernelBase):
    """Uniform numbers, compared with the probability."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        p, values = node.inputs[1], node.outputs[1]
        shape, dtype = static_shape(values), values.dtype
        size = math.prod(shape)
        uniform = Work(max(size, 1) * 4, "uniform")
        program = from_function(
            "bernoulli",
            [float32, p.dtype],
            [dtype],
            lambda m, u, p: m.cast(m.lt(u, m.cast(p, float32)), dtype),
        )
        strides = [row_major(shape), broadcast_strides(static_shape(p), shape)]
        return [
            draw_call("uniform", float32, size, uniform, target),
            *pointwise_call(program, shape, strides, [uniform, In(1)], [Out(1)], target),
        ]
