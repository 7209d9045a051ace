"""Softmax, layer normalisation and batch normalisation on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.codegen import rows as generator
from mycelia.codegen.program import from_function
from mycelia.codegen.strided import row_major
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import DType
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Work, kernel
from mycelia.kernels.cpu.fused import MOST_CHUNKS, SMALLEST_CHUNK, pointwise_call, static_shape
from mycelia.kernels.cpu.movement import fill_call
from mycelia.kernels.cpu.reduce import reduction_calls


def rows_per_chunk(rows: int, n: int) -> int:
    return max(1, max(SMALLEST_CHUNK, -(-rows * n // MOST_CHUNKS)) // max(n, 1))


def float_word(value: float) -> int:
    """A float64 as an argument word."""
    return int(np.float64(value).view(np.int64))


def row_call(
    name: str,
    make: Callable[..., str],
    options: tuple,
    pointers: Sequence[Arg],
    rows: int,
    n: int,
    words: Sequence[int],
    target: Target,
) -> Call:
    """One call of a row kernel; ``options`` are its compile-time parameters."""
    symbol = "_".join([name, *(o.name if isinstance(o, DType) else str(o) for o in options)])
    each = rows_per_chunk(rows, n)
    code = Code(symbol, symbol, lambda: make(symbol, *options, target))
    return Call(code, [*pointers, rows, each, n, *words], -(-rows // each))


def _along(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


@kernel(["Softmax", "LogSoftmax"])
class Softmax(KernelBase):
    """Rows in one visit; another axis than the last by a maximum, a sum and a pointwise pass."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        dtype, shape = node.output.dtype, static_shape(node.output)
        if math.prod(shape) == 0:
            return []
        outer, n, inner = _along(shape, node.attrs["axis"])
        logarithm = node.op.name == "LogSoftmax"
        if inner == 1:
            return [
                row_call(
                    "softmax",
                    generator.softmax_text,
                    (dtype, logarithm),
                    [In(0), Out(0)],
                    outer,
                    n,
                    [],
                    target,
                )
            ]
        space, dense, kept = (outer, n, inner), row_major((outer, n, inner)), (inner, 0, 1)
        real = generator.computed_in(dtype)
        largest, total = (Work(outer * inner * real.itemsize, key) for key in ("largest", "total"))

        def terms(m: Any, x: Any, top: Any) -> Any:
            return m.exp_nonpositive(m.cast(x, real) - top)

        def finish(m: Any, x: Any, top: Any, total: Any) -> Any:
            result = m.cast(x, real) - top
            return m.cast(result - m.log(total) if logarithm else m.exp_nonpositive(result) / total, dtype)

        return [
            *reduction_calls(
                from_function("softmax.max", [dtype], [real], lambda m, x: m.cast(x, real)),
                ["max"],
                space,
                [dense],
                (1,),
                [In(0)],
                [largest],
                target,
                "parts0_",
            ),
            *reduction_calls(
                from_function("softmax.terms", [dtype, real], [real], terms),
                ["sum"],
                space,
                [dense, kept],
                (1,),
                [In(0), largest],
                [total],
                target,
                "parts1_",
            ),
            *pointwise_call(
                from_function(f"softmax.finish{logarithm}", [dtype, real, real], [dtype], finish),
                space,
                [dense, kept, kept],
                [In(0), largest, total],
                [Out(0)],
                target,
            ),
        ]


@kernel(["SoftmaxGrad", "LogSoftmaxGrad"])
class SoftmaxGrad(KernelBase):
    """Inputs: y and its cotangent."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        dtype, shape = node.output.dtype, static_shape(node.output)
        if math.prod(shape) == 0:
            return []
        outer, n, inner = _along(shape, node.attrs["axis"])
        logarithm = node.op.name == "LogSoftmaxGrad"
        if inner == 1:
            return [
                row_call(
                    "softmax_grad",
                    generator.softmax_grad_text,
                    (dtype, logarithm),
                    [In(0), In(1), Out(0)],
                    outer,
                    n,
                    [],
                    target,
                )
            ]
        space, dense, kept = (outer, n, inner), row_major((outer, n, inner)), (inner, 0, 1)
        real = generator.computed_in(dtype)
        total = Work(outer * inner * real.itemsize, "total")

        def terms(m: Any, y: Any, g: Any) -> Any:
            return m.cast(g, real) if logarithm else m.cast(g, real) * m.cast(y, real)

        def finish(m: Any, y: Any, g: Any, total: Any) -> Any:
            g, y = m.cast(g, real), m.cast(y, real)
            return m.cast(g - m.exp_nonpositive(y) * total if logarithm else (g - total) * y, dtype)

        return [
            *reduction_calls(
                from_function(f"softmax_grad.terms{logarithm}", [dtype, dtype], [real], terms),
                ["sum"],
                space,
                [dense, dense],
                (1,),
                [In(0), In(1)],
                [total],
                target,
            ),
            *pointwise_call(
                from_function(f"softmax_grad.finish{logarithm}", [dtype, dtype, real], [dtype], finish),
                space,
                [dense, dense, kept],
                [In(0), In(1), total],
                [Out(0)],
                target,
            ),
        ]


@kernel("LayerNorm")
class LayerNorm(KernelBase):
    def lower(self, node: Node, target: Target) -> list[Call]:
        x, gamma, _ = node.inputs
        shape, begin = static_shape(x), node.attrs["begin_axis"]
        rows, n = math.prod(shape[:begin]), math.prod(shape[begin:])
        if rows == 0:
            return []
        return [
            row_call(
                "layer_norm",
                generator.layer_norm_text,
                (x.dtype, gamma.dtype),
                [In(0), In(1), In(2), Out(0), Out(1), Out(2)],
                rows,
                n,
                [float_word(node.attrs["epsilon"])],
                target,
            )
        ]


@kernel("LayerNormGrad")
class LayerNormGrad(KernelBase):
    """Inputs dy, x, gamma, mean, rstd; outputs dx, dgamma, dbeta."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        x, gamma = node.inputs[1], node.inputs[2]
        shape, begin = static_shape(x), node.attrs["begin_axis"]
        rows, n = math.prod(shape[:begin]), math.prod(shape[begin:])
        if n == 0:
            return []
        if rows == 0:
            return [
                *fill_call(gamma.dtype, 0, n, Out(1), target),
                *fill_call(gamma.dtype, 0, n, Out(2), target),
            ]
        real = generator.computed_in(x.dtype)
        chunks = -(-rows // rows_per_chunk(rows, n))
        sums = Work(chunks * 2 * n * real.itemsize, "sums")
        main = row_call(
            "layer_norm_grad",
            generator.layer_norm_grad_text,
            (x.dtype, gamma.dtype),
            [In(0), In(1), In(2), In(3), In(4), Out(0), sums],
            rows,
            n,
            [],
            target,
        )
        return [main, *_sums_of_chunks(sums, chunks, n, real, gamma.dtype, [Out(1), Out(2)], target)]


def _sums_of_chunks(
    sums: Work, chunks: int, n: int, real: DType, dtype: DType, outputs: Sequence[Arg], target: Target
) -> list[Call]:
    """Adds ``[chunks][outputs][n]`` over the chunks."""
    program = (
        from_function("sums", [real], [dtype], lambda m, x: m.cast(x, dtype))
        if real is dtype
        else from_function("sums", [real], [dtype], lambda m, x: x)
    )
    calls = []
    for k, out in enumerate(outputs):
        at = Work(sums.nbytes, sums.key, k * n * real.itemsize)
        calls += reduction_calls(
            program, ["sum"], (chunks, n), [(len(outputs) * n, 1)], (0,), [at], [out], target, f"parts{k}_"
        )
    return calls


@kernel(["BatchNormTrain", "BatchNormTrainNHWC"])
class BatchNormTrain(KernelBase):
    """Statistics as sums of differences from the channel's first element and of their squares, then one
    pointwise pass."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        x, gamma = node.inputs[0], node.inputs[1]
        space, axis, per_channel, count = _channels(node, x)
        dtype, scale, kept = x.dtype, gamma.dtype, node.outputs[1].dtype
        channels = space[axis]
        if math.prod(space) == 0:
            nothing = float("nan")
            return [
                *fill_call(kept, nothing, channels, Out(1), target),
                *fill_call(kept, nothing, channels, Out(2), target),
            ]
        dense = row_major(space)
        axes = tuple(d for d in range(len(space)) if d != axis)
        real = generator.computed_in(dtype)
        # the first element of each channel
        first = tuple(dense[axis] if d == axis else 0 for d in range(len(space)))
        moments = [Work(channels * 8, key) for key in ("shifted", "squares")]

        def terms(m: Any, x: Any, origin: Any) -> Any:
            d = m.cast(x, real) - m.cast(origin, real)
            return d, d * d

        def statistics(m: Any, origin: Any, shifted: Any, squares: Any) -> Any:
            mean, wide = shifted, m.cast(m.cast(origin, real), shifted.dtype)
            var = m.maximum(squares - mean * mean, 0.0)
            return m.cast(wide + mean, kept), m.cast(var, kept)

        epsilon = node.attrs["epsilon"]

        def normalise(m: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
            factor = m.cast(gamma, real) * m.rsqrt(var + epsilon)
            return m.cast((m.cast(x, real) - mean) * factor + m.cast(beta, real), dtype)

        from mycelia.ir import dtypes

        double = dtypes.float64
        return [
            *reduction_calls(
                from_function("batch_norm.terms", [dtype, dtype], [real, real], terms),
                ["mean", "mean"],
                space,
                [dense, first],
                axes,
                [In(0), In(0)],
                moments,
                target,
                keep_wide=True,
            ),
            *pointwise_call(
                from_function("batch_norm.statistics", [dtype, double, double], [kept, kept], statistics),
                (channels,),
                [(dense[axis],), (1,), (1,)],
                [In(0), *moments],
                [Out(1), Out(2)],
                target,
            ),
            *pointwise_call(
                from_function(
                    f"batch_norm.normalise{epsilon.hex()}",
                    [dtype, scale, scale, kept, kept],
                    [dtype],
                    normalise,
                ),
                space,
                [dense, *[per_channel] * 4],
                [In(0), In(1), In(2), Out(1), Out(2)],
                [Out(0)],
                target,
            ),
        ]


def _channels(node: Node, x: Any) -> tuple[tuple[int, ...], int, tuple[int, ...], int]:
    """The space as [batch, channels, rest] or [all, channels], its channel axis, a channel vector's strides
    in it, elements a channel."""
    shape = static_shape(x)
    if node.op.name.endswith("NHWC"):
        space, axis = (math.prod(shape[:-1]), shape[-1]), 1
    else:
        space, axis = (shape[0], shape[1], math.prod(shape[2:])), 1
    return (
        space,
        axis,
        tuple(int(d == axis) for d in range(len(space))),
        math.prod(space) // max(space[axis], 1),
    )


@kernel(["BatchNormTrainGrad", "BatchNormTrainGradNHWC"])
class BatchNormTrainGrad(KernelBase):
    """Inputs dy, x, gamma, mean, var; outputs dx, dgamma, dbeta."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        x, gamma, mean = node.inputs[1], node.inputs[2], node.inputs[3]
        space, axis, per_channel, count = _channels(node, x)
        dtype, scale, kept = x.dtype, gamma.dtype, mean.dtype
        channels, epsilon = space[axis], node.attrs["epsilon"]
        if math.prod(space) == 0:
            return [
                *fill_call(scale, 0, channels, Out(1), target),
                *fill_call(scale, 0, channels, Out(2), target),
            ]
        dense = row_major(space)
        axes = tuple(d for d in range(len(space)) if d != axis)
        real = generator.computed_in(dtype)
        sums = [Work(channels * 8, key) for key in ("along", "plain")]

        def terms(m: Any, g: Any, x: Any, mean: Any) -> Any:
            g = m.cast(g, real)
            return g * (m.cast(x, real) - mean), g

        def parameters(m: Any, along: Any, plain: Any, var: Any) -> Any:
            return m.cast(along * m.rsqrt(m.cast(var, along.dtype) + epsilon), scale), m.cast(plain, scale)

        def finish(m: Any, g: Any, x: Any, gamma: Any, mean: Any, var: Any, along: Any, plain: Any) -> Any:
            wide = m.cast(var, along.dtype)
            slope = m.cast(along / ((wide + epsilon) * count), real)
            inner = m.cast(g, real) - m.cast(plain / count, real) - (m.cast(x, real) - mean) * slope
            return m.cast(m.cast(gamma, real) * m.rsqrt(var + epsilon) * inner, dtype)

        from mycelia.ir import dtypes

        double = dtypes.float64
        key = f"{epsilon.hex()}"
        return [
            *reduction_calls(
                from_function("batch_norm_grad.terms", [dtype, dtype, kept], [real, real], terms),
                ["sum", "sum"],
                space,
                [dense, dense, per_channel],
                axes,
                [In(0), In(1), In(3)],
                sums,
                target,
                keep_wide=True,
            ),
            *pointwise_call(
                from_function(
                    f"batch_norm_grad.parameters{key}", [double, double, kept], [scale, scale], parameters
                ),
                (channels,),
                [(1,)] * 3,
                [*sums, In(4)],
                [Out(1), Out(2)],
                target,
            ),
            *pointwise_call(
                from_function(
                    f"batch_norm_grad.finish{key}/{count}",
                    [dtype, dtype, scale, kept, kept, double, double],
                    [dtype],
                    finish,
                    widest=real.itemsize,
                ),
                space,
                [dense, dense, *[per_channel] * 5],
                [In(0), In(1), In(2), In(3), In(4), *sums],
                [Out(0)],
                target,
            ),
        ]
