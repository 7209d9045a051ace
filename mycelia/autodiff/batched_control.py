"""Batch rules of `Cond` and `While`.

Elements of a batch may take different branches: both are computed, and each element keeps its own. A loop
runs while any element's test holds, and elements whose test does not keep their state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.autodiff.batching import Batch, BatchedTensor
from mycelia.autodiff.control_flow import WhileGrad, pullback
from mycelia.autodiff.custom import replay
from mycelia.ir import operator as registry
from mycelia.ir.graph import Graph
from mycelia.ops import dispatch
from mycelia.ops.batching import all_at_front, at_front, batch_size, repeated, reshape
from mycelia.tensor.tensor import Tensor
from mycelia.trace.tracer import Trace, TracedTensor

Axes = Sequence["int | None"]


def _refuse_effects(name: str, graph: Graph) -> None:
    for node in graph.nodes:
        if node.op.effects:
            raise NotImplementedError(
                f"vmap: {name} contains {node.op.name}, whose effect cannot be limited to the elements of "
                "the batch that come there; take it out of the branch or the loop, or loop over the axis "
                "instead"
            )
        for attribute in node.op.subgraphs:
            _refuse_effects(name, node.attrs[attribute])


def _batched(graph: Graph, size: Any, axes: Axes, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The graph's results for the whole batch, which is their first axis."""
    level = Batch(size)
    with dispatch.interpreting(level):
        operands = [x if axis is None else BatchedTensor(x, axis, level) for x, axis in zip(inputs, axes)]
        outputs = replay(graph, operands)
    return [
        at_front(y.inner, y.axis) if type(y) is BatchedTensor and y.level is level else repeated(y, size)
        for y in outputs
    ]


def _chosen(test: Tensor, size: Any, yes: Sequence[Tensor], no: Sequence[Tensor]) -> list[Tensor]:
    """Each element of the batch from ``yes`` where its test holds, else from ``no``."""
    select = registry.get("Select")
    return [select(reshape(test, size, *(1,) * (y.ndim - 1)), y, n) for y, n in zip(yes, no)]


def cond_batch(
    axes: Axes, predicate: Tensor, *operands: Tensor, then: Graph, orelse: Graph
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """`Cond` for a batch: both branches, and of each element the one that its predicate chooses."""
    _refuse_effects("if", then)
    _refuse_effects("if", orelse)
    size = batch_size(axes, (predicate, *operands))
    test = repeated(predicate, size) if axes[0] is None else at_front(predicate, axes[0])
    branches = [_batched(graph, size, axes[1:], operands) for graph in (then, orelse)]
    outputs = _chosen(reshape(test, size), size, *branches)
    return tuple(outputs), (0,) * len(outputs)


def while_batch(
    axes: Axes, *inputs: Tensor, cond: Graph, body: Graph, n_state: int
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """`While` for a batch: goes on while any element does; those that are done keep their state."""
    _refuse_effects("while", cond)
    _refuse_effects("while", body)
    size = batch_size(axes, inputs)
    whole = all_at_front(axes, inputs)
    front = (0,) * len(whole)
    graphs = []
    for graph in (cond, body):
        trace = Trace(f"{graph.name}.batch", inner=True)
        operands = [TracedTensor(trace, trace.graph.input(x.type, f"x{i}")) for i, x in enumerate(whole)]
        with dispatch.interpreting(trace):
            test = reshape(_batched(cond, size, front, operands)[0], size)
            if graph is cond:
                results = [registry.get("ReduceAny")(test, axes=(0,), keepdims=False)]
            else:
                results = _chosen(test, size, _batched(body, size, front, operands), operands[:n_state])
        graphs.append(trace.finish(results))
    outputs = registry.get("While")(*whole, cond=graphs[0], body=graphs[1], n_state=n_state)
    return tuple(outputs), (0,) * n_state


def while_grad_batch(
    axes: Axes, *inputs: Tensor, cond: Graph, body: Graph, pull: Graph, n_state: int
) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """`WhileGrad` for a batch: the gradient of the batch's loop."""
    whole = all_at_front(axes, inputs)
    trace = Trace("while.batch", inner=True)
    own = whole[: len(body.inputs)]
    operands = [TracedTensor(trace, trace.graph.input(x.type, f"x{i}")) for i, x in enumerate(own)]
    with dispatch.interpreting(trace):
        outputs, _ = while_batch((0,) * len(operands), *operands, cond=cond, body=body, n_state=n_state)
    loop = trace.finish(list(outputs))
    wanted = [i for i, v in enumerate(loop.inputs) if v.type.dtype.is_float]
    given = [i for i, v in enumerate(loop.outputs) if v.type.dtype.is_float]
    grads = replay(pullback(loop, wanted, given), whole)
    return tuple(grads), (0,) * len(grads)


registry.get("Cond").batch = cond_batch
registry.get("While").batch = while_batch
WhileGrad.batch = while_grad_batch
