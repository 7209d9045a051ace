"""Reductions on the CPU, of tensors and of pointwise programs over them."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.codegen import reduce as generator
from mycelia.codegen.fused import STRIDED, patterns
from mycelia.codegen.program import Program, from_function, from_graph
from mycelia.codegen.reduce import Layout, Reduction
from mycelia.codegen.strided import Space, broadcast_strides, collapse
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, Work, kernel
from mycelia.kernels.cpu.fused import MOST_CHUNKS, SMALLEST_CHUNK, static_shape

KEPT, REDUCED = 0, 1


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for extent in sizes:
        total *= extent
    return total


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def reduction_calls(
    program: Program,
    kinds: Sequence[str],
    shape: Sequence[int],
    strides: Sequence[Sequence[int]],
    axes: Sequence[int],
    inputs: Sequence[Arg],
    outputs: Sequence[Arg],
    target: Target,
    scratch: str = "partial",
    keep_wide: bool = False,
) -> list[Call]:
    """The calls that reduce each output of a program over some axes of its iteration space.

    Args:
        kinds: for each output of the program ``sum``, ``mean``, ``prod``, ``max``, ``min``, ``all`` or
            ``any``.
        shape: the iteration space; strides, for each input, are in elements.
        outputs: where the results go, one per output of the program.
        scratch: name of the scratch memory for partial results.
        keep_wide: results stay in the accumulators' dtype (float64 for sums of floats) instead of being
            rounded.
    """
    reductions = [Reduction(kind, dtype) for kind, dtype in zip(kinds, program.outputs)]
    if keep_wide:
        reductions = [Reduction(r.kind, r.accumulator) for r in reductions]
    kept_total = _product([e for d, e in enumerate(shape) if d not in axes])
    count = _product([e for d, e in enumerate(shape) if d in axes])
    if kept_total == 0:
        return []
    if count == 0:
        return [_fill_identity(r, kept_total, out, target) for r, out in zip(reductions, outputs)]
    space = collapse(shape, strides, [REDUCED if d in axes else KEPT for d in range(len(shape))])
    if not any(space.tags):  # nothing but extents of 1 is reduced
        space = Space((*space.sizes, 1), tuple((*s, 0) for s in space.strides), (*space.tags, REDUCED))
    by_rows = space.tags[-1] == REDUCED
    sizes, tags = space.sizes, space.tags
    kept_dims = [d for d in range(len(sizes) - 1) if tags[d] == KEPT]
    reduced_dims = [d for d in range(len(sizes) - 1) if tags[d] == REDUCED]
    walk = patterns(space)
    inner = sizes[-1]
    share = max(SMALLEST_CHUNK, _ceil(_product(sizes), MOST_CHUNKS))
    if by_rows:
        results, length, width = kept_total, count, 1
    else:
        results, length, width = _product([sizes[d] for d in kept_dims]), count, min(inner, generator.TILE)
    if length * width > share:
        each, part = 1, _ceil(_ceil(share, width), 4096 if by_rows else 8) * (4096 if by_rows else 8)
        splits = _ceil(length, part)
    else:
        each, part, splits = max(1, share // (length * width)), length, 1
    partial = splits > 1
    layout = Layout(walk, len(kept_dims), len(reduced_dims))
    kinds_key = ",".join(f"{r.kind}:{r.dtype.name}" for r in reductions)
    suffix = "p" if partial else "d"
    make = generator.row_text if by_rows else generator.column_text
    way = "rows" if by_rows else "columns"
    symbol = (
        f"reduce_{way}_{'_'.join(kinds)}{'_wide' if keep_wide else ''}_{program.symbol}_{layout.key}_{suffix}"
    )
    code = Code(
        symbol,
        f"reduce/{way}/{kinds_key}/{program.key}/{layout.key}/{suffix}",
        lambda: make(symbol, program, reductions, layout, target, partial),
    )
    works = [
        Work(splits * kept_total * generator.accumulator_bytes(r), f"{scratch}{i}")
        for i, r in enumerate(reductions)
    ]
    words: list[Arg] = [
        *inputs,
        *(works if partial else outputs),
        results,
        each,
        length,
        part,
        splits,
        count,
        inner,
    ]
    chunks = _ceil(results, each) * splits
    if not by_rows:
        tiles = _ceil(inner, width)
        words += [width, tiles]
        chunks *= tiles
    words += [sizes[d] for d in (*kept_dims, *reduced_dims)]
    for dtype, steps, pattern in zip(program.inputs, space.strides, walk):
        words += [steps[d] * dtype.itemsize for d in (*kept_dims, *reduced_dims)]
        if pattern == STRIDED:
            words.append(steps[-1] * dtype.itemsize)
    calls = [Call(code, words, chunks)]
    if partial:
        calls += [
            _combine(r, work, out, splits, kept_total, count, target)
            for r, work, out in zip(reductions, works, outputs)
        ]
    return calls


def _combine(
    reduction: Reduction, work: Arg, out: Arg, splits: int, results: int, count: int, target: Target
) -> Call:
    symbol = f"reduce_combine_{reduction.kind}_{reduction.dtype.name}"
    code = Code(symbol, symbol, lambda: generator.combine_text(symbol, reduction, target))
    each = max(8, SMALLEST_CHUNK // max(splits, 1) // 8 * 8)
    return Call(code, [work, out, splits, results, each, count], _ceil(results, each))


def _fill_identity(reduction: Reduction, results: int, out: Arg, target: Target) -> Call:
    """Nothing to reduce: the identity (for a mean 0 / 0)."""
    return _combine(reduction, out, out, 0, results, 0, target)


_KINDS = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceProd": "prod",
    "ReduceAll": "all",
    "ReduceAny": "any",
}


@kernel([*_KINDS, "FusedReduce"])
class Reduce(KernelBase):
    """A reduction over any axes, of a tensor or of a pointwise body."""

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        kind = self._kind(node)
        if kind in ("max", "min"):
            shape = self._space(node)
            if any(shape[d] == 0 for d in node.attrs["axes"]):
                return Refusal(f"the {kind} over an axis of no elements is not defined; shape {shape}")
        return None

    @staticmethod
    def _kind(node: Node) -> str:
        return node.attrs["reduce"] if node.op.name == "FusedReduce" else _KINDS[node.op.name]

    @staticmethod
    def _space(node: Node) -> tuple[int, ...]:
        """The shape that is reduced; a body may broadcast beyond all its inputs."""
        return static_shape(
            node.attrs["body"].outputs[0] if node.op.name == "FusedReduce" else node.inputs[0]
        )

    def lower(self, node: Node, target: Target) -> list[Call]:
        shape = self._space(node)
        if node.op.name == "FusedReduce":
            program = from_graph(node.attrs["body"])
        else:
            dtype = node.inputs[0].dtype
            program = from_function("itself", [dtype], [node.output.dtype], lambda m, x: x)
        return reduction_calls(
            program,
            [self._kind(node)],
            shape,
            [broadcast_strides(static_shape(v), shape) for v in node.inputs],
            node.attrs["axes"],
            [In(i) for i in range(len(node.inputs))],
            [Out(0)],
            target,
        )
