"""Gradients of `Cond` and `While`.

The gradient of a `Cond` is a `Cond` over the gradients of its branches, each of which computes its branch
again. The gradient of a
`While` needs the state of every iteration: `WhileGrad` runs the loop again, keeps the states on a growing
stack, and walks it back
(reverse accumulation with recomputation; Griewank and Walther, Evaluating Derivatives, chapter 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.autodiff.custom import replay
from mycelia.autodiff.tape import Tape, token_of, zeros_like
from mycelia.ir import operator as registry
from mycelia.ir.graph import Graph
from mycelia.ir.types import TensorType
from mycelia.ops import dispatch
from mycelia.ops.control import While, evaluate
from mycelia.ops.definition import operator
from mycelia.tensor.tensor import Tensor
from mycelia.trace.tracer import Trace, TracedTensor


def pullback(graph: Graph, wanted: Sequence[int], given: Sequence[int]) -> Graph:
    """The graph that pulls cotangents back.

    Args:
        graph: what to differentiate.
        wanted: the inputs whose cotangents are the results.
        given: the outputs whose cotangents are inputs, after the graph's own inputs.
    """
    trace = Trace(f"{graph.name}.pullback", inner=True)
    values = [trace.graph.input(v.type, f"x{i}") for i, v in enumerate(graph.inputs)]
    cotangents = [TracedTensor(trace, trace.graph.input(graph.outputs[i].type, f"g{i}")) for i in given]
    with dispatch.interpreting(trace):
        operands = [TracedTensor(trace, v) for v in values]
        tape = Tape()
        tokens = [token_of(operands[i]) for i in wanted]
        with dispatch.interpreting(tape):
            outputs = replay(graph, operands)
        roots, seeds = [], []
        for i, g in zip(given, cotangents):
            token_of(outputs[i])
            roots.append(outputs[i])
            seeds.append(g)
        grads = tape.backward(roots, seeds, tokens)
        results = [zeros_like(operands[i]) if g is None else g for i, g in zip(wanted, grads)]
    return trace.finish(results)


def _floats(types: Sequence[TensorType]) -> list[int]:
    return [i for i, t in enumerate(types) if t.dtype.is_float]


def cond_vjp(
    g: Sequence[Tensor], predicate: Tensor, *rest: Tensor, then: Graph, orelse: Graph
) -> list[Tensor | None]:
    """Cotangents of a `Cond`'s predicate (none) and operands."""
    operands = rest[: len(then.inputs)]
    wanted = _floats([x.type for x in operands])
    given = _floats([v.type for v in then.outputs])
    result: list[Tensor | None] = [None] * (1 + len(operands))
    if wanted and given:
        grads = registry.get("Cond")(
            predicate,
            *operands,
            *[g[i] for i in given],
            then=pullback(then, wanted, given),
            orelse=pullback(orelse, wanted, given),
        )
        for i, d in zip(wanted, grads):
            result[1 + i] = d
    return result


def while_vjp(
    g: Sequence[Tensor], *rest: Tensor, cond: Graph, body: Graph, n_state: int
) -> list[Tensor | None]:
    """Cotangents of a `While`'s initial state and constants."""
    inputs = rest[: len(body.inputs)]
    wanted = _floats([x.type for x in inputs])
    given = _floats([v.type for v in body.outputs])
    result: list[Tensor | None] = [None] * len(inputs)
    if wanted and given:
        grads = WhileGrad(
            *inputs,
            *[g[i] for i in given],
            cond=cond,
            body=body,
            pull=pullback(body, wanted, given),
            n_state=n_state,
        )
        for i, d in zip(wanted, grads):
            result[i] = d
    return result


@operator("WhileGrad", num_outputs=-1, subgraphs=("cond", "body", "pull"))
class WhileGrad:
    """Cotangents of a `While`'s floating inputs, from those of its floating results."""

    def infer(*inputs: Any, cond: Graph, body: Graph, pull: Graph, n_state: int) -> tuple[TensorType, ...]:
        return tuple(inputs[i] for i in _floats(inputs[: len(body.inputs)]))

    def reference(
        *inputs: Any, cond: Graph, body: Graph, pull: Graph, n_state: int
    ) -> tuple[np.ndarray, ...]:
        return walk_back(
            inputs,
            lambda xs: evaluate(cond, xs),
            lambda xs: evaluate(body, xs),
            lambda xs: evaluate(pull, xs),
            len(body.inputs),
            n_state,
        )


def walk_back(
    inputs: Sequence[np.ndarray], cond: Any, body: Any, pull: Any, count: int, n_state: int
) -> tuple[np.ndarray, ...]:
    """Runs a loop forward, keeping each state, then back.

    Args:
        inputs: state, constants, and the cotangents of the floating part of the state.
        cond, body, pull: functions from arrays to arrays.
        count: number of state and constants together.
    """
    state, constants = list(inputs[:n_state]), list(inputs[n_state:count])
    states = []
    while cond([*state, *constants])[0].item():
        states.append(state)
        state = list(body([*state, *constants]))
    floating = [i for i in range(count) if inputs[i].dtype.kind == "f" or inputs[i].dtype.name == "bfloat16"]
    of_state = [k for k, i in enumerate(floating) if i < n_state]
    flowing = [np.array(g) for g in inputs[count:]]
    sums = [np.zeros_like(inputs[i]) for i in floating if i >= n_state]
    for state in reversed(states):
        grads = list(pull([*state, *constants, *flowing]))
        flowing = [grads[k] for k in of_state]
        for total, d in zip(sums, grads[len(of_state) :]):
            total += d
    return (*flowing, *sums)


registry.get("Cond").vjp = cond_vjp
While.vjp = while_vjp
