"""Functions that bring a gradient of their own: Cells with ``bprop``, hooks, `custom_bprop`.

`call` carries out such a function under whatever interpreters there are. A tape keeps one record for the
whole function, and lets the interpreter below it carry the function out; a batching level wraps and unwraps
function and gradient; a trace of a branch or a loop's body notes which of its nodes belong to the function,
for the day when that subgraph is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from mycelia.autodiff.batching import Batch, BatchedTensor, move_axis, unbatch
from mycelia.autodiff.tape import ALWAYS_WANTED, Tape, token_of, zeros_like
from mycelia.ir import operator as registry
from mycelia.ir.graph import Graph, Value
from mycelia.ops import dispatch
from mycelia.ops.precision import Precision
from mycelia.tensor.tensor import Tensor
from mycelia.trace.tracer import Trace

Tensors = tuple[Tensor, ...]
Forward = Callable[..., Sequence[Tensor]]
# From inputs, outputs and the outputs' cotangents to the inputs' cotangents, None where there is none.
Backward = Callable[[Tensors, Tensors, Tensors], Sequence[Tensor | None]]


class CustomRecord:
    """One call on a tape."""

    __slots__ = ("backward", "inputs", "outputs", "in_tokens", "out_tokens")

    def __init__(
        self,
        backward: Backward,
        inputs: Tensors,
        outputs: Tensors,
        in_tokens: list[int],
        out_tokens: list[int],
    ) -> None:
        self.backward, self.inputs, self.outputs = backward, inputs, outputs
        self.in_tokens, self.out_tokens = in_tokens, out_tokens

    def cotangents(self, got: Sequence[Tensor | None], tape: Tape) -> Sequence[Tensor | None]:
        filled = tuple([zeros_like(y) if g is None else g for y, g in zip(self.outputs, got)])
        return self.backward(self.inputs, self.outputs, filled)


class Region(NamedTuple):
    """The nodes ``first`` to ``last`` (exclusive) of a subgraph, which have a gradient of their own."""

    first: int
    last: int
    inputs: list[Value]
    outputs: list[Value]
    backward: Backward


REGIONS: WeakKeyDictionary[Graph, list[Region]] = WeakKeyDictionary()


def call(function: Forward, backward: Backward, inputs: Sequence[Tensor], always: bool = False) -> Tensors:
    """``function(*inputs)``, differentiated by ``backward``.

    Args:
        function: takes and returns tensors; what it reads besides its arguments is a constant to gradients.
        backward: cotangents of the inputs from ``(inputs, outputs, cotangents of the outputs)``. It is made
            of operators, so that it can be differentiated again.
        always: whether ``backward`` runs even if no gradient of the inputs is asked for.
    """
    if always:
        backward = _Always(backward)
    return _under(dispatch.current(), function, backward, tuple(inputs))


class _Always:
    """A gradient that is wanted for its effect (a hook)."""

    def __init__(self, backward: Backward) -> None:
        self.backward = backward

    def __call__(self, inputs: Tensors, outputs: Tensors, cotangents: Tensors) -> Sequence[Tensor | None]:
        return self.backward(inputs, outputs, cotangents)


def _under(interpreter: Any, function: Forward, backward: Backward, inputs: Tensors) -> Tensors:
    if isinstance(interpreter, Tape):
        return _taped(interpreter, function, backward, inputs)
    if isinstance(interpreter, Batch):
        return _batched(interpreter, function, backward, inputs)
    if isinstance(interpreter, Precision):
        policy = interpreter.policy

        def under_policy(*xs: Tensor) -> Sequence[Tensor]:
            with dispatch.interpreting(Precision(policy, dispatch.current())):
                return function(*xs)

        return _under(interpreter.below, under_policy, backward, inputs)
    if not dispatch.is_tracing():
        return tuple(function(*inputs))
    with dispatch.interpreting(interpreter):
        if isinstance(interpreter, Trace) and interpreter.inner:
            return _noted(interpreter, function, backward, inputs)
        return tuple(function(*inputs))


def _taped(tape: Tape, function: Forward, backward: Backward, inputs: Tensors) -> Tensors:
    for x in inputs:
        tape.settle(x)
    in_tokens = [token_of(x) for x in inputs]
    if isinstance(backward, _Always):
        in_tokens.append(ALWAYS_WANTED)
    kept = tuple([tape.keep(x) for x in inputs])
    with dispatch.interpreting(tape.below):
        made = _under(tape.below, function, backward, inputs)
    if tape.paused or not tape.follows_any(inputs):
        return made
    # What the function did not make, such as its own input, gets an identity that is told from the old one.
    with dispatch.interpreting(tape.below):
        outputs = tuple([y if y._token is None and y._view is None else tape.alias(y) for y in made])
        tokens = [token_of(y) for y in outputs]
        results = tuple([tape.keep_result(y) for y in outputs])
    tape.note(CustomRecord(backward, kept, results, in_tokens, tokens), outputs)
    return outputs


def _batched(batch: Batch, function: Forward, backward: Backward, inputs: Tensors) -> Tensors:
    axes = [x.axis if type(x) is BatchedTensor and x.level is batch else None for x in inputs]
    if all(axis is None for axis in axes):
        return _under(batch.below, function, backward, inputs)

    def shown(tensors: Sequence[Tensor], places: Sequence[int | None], level: Batch) -> Tensors:
        return tuple([x if a is None else BatchedTensor(x, a, level) for x, a in zip(tensors, places)])

    def forward(*plain: Tensor) -> Tensors:
        level = Batch(batch.size)
        with dispatch.interpreting(level):
            made = tuple(function(*shown(plain, axes, level)))
        return tuple([unbatch(y, 0, level) for y in made])

    def pull(plain: Tensors, outputs: Tensors, cotangents: Tensors) -> list[Tensor | None]:
        level = Batch(batch.size)
        first: list[int | None] = [0] * len(outputs)
        with dispatch.interpreting(level):
            got = backward(
                shown(plain, axes, level), shown(outputs, first, level), shown(cotangents, first, level)
            )
        result: list[Tensor | None] = []
        for d, axis in zip(got, axes):
            whole = None if d is None else unbatch(d, 0, level)
            if whole is not None and axis is None:  # one input for the whole batch
                whole = registry.get("ReduceSum")(whole, axes=(0,), keepdims=False)
            elif whole is not None:
                whole = move_axis(whole, 0, axis)  # type: ignore[arg-type]
            result.append(whole)
        return result

    plain = tuple([x if a is None else x.inner for x, a in zip(inputs, axes)])  # type: ignore[attr-defined]
    lifted: Backward = _Always(pull) if isinstance(backward, _Always) else pull
    return tuple([BatchedTensor(y, 0, batch) for y in _under(batch.below, forward, lifted, plain)])


def _noted(trace: Trace, function: Forward, backward: Backward, inputs: Tensors) -> Tensors:
    given = [trace.value_of(x) for x in inputs]
    first = len(trace.graph.nodes)
    made = tuple(function(*inputs))
    outside = {id(node) for node in trace.graph.nodes[:first]}
    outputs = []
    for y in made:
        node = trace.value_of(y).node
        # A value from outside cannot stand for the function's result as well.
        outputs.append(registry.get("StopGradient")(y) if node is None or id(node) in outside else y)
    region = Region(first, len(trace.graph.nodes), given, [trace.value_of(y) for y in outputs], backward)
    REGIONS.setdefault(trace.graph, []).append(region)
    return tuple(outputs)


def replay(graph: Graph, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Applies a graph's operators to tensors, through the current interpreter."""
    table: dict[Value, Tensor] = dict(zip(graph.inputs, inputs))
    _replay(graph, 0, len(graph.nodes), table, REGIONS.get(graph, []))
    return [table[v] for v in graph.outputs]


def _replay(graph: Graph, first: int, last: int, table: dict[Value, Tensor], regions: list[Region]) -> None:
    """Applies some of the nodes. Of nested regions, the outer one stands later in the list."""
    starting = {r.first: i for i, r in enumerate(regions) if first <= r.first < r.last <= last}
    position = first
    while position < last:
        index = starting.get(position)
        if index is None:
            node = graph.nodes[position]
            results = node.op(*[table[v] for v in node.inputs], **node.attrs)
            table.update(zip(node.outputs, results if isinstance(results, tuple) else (results,)))
            position += 1
            continue
        region, inner = regions[index], regions[:index]

        def again(*xs: Tensor, region: Region = region, inner: list[Region] = inner) -> list[Tensor]:
            local = {**table, **dict(zip(region.inputs, xs))}
            _replay(graph, region.first, region.last, local, inner)
            return [local[v] for v in region.outputs]

        outputs = call(again, region.backward, [table[v] for v in region.inputs])
        table.update(zip(region.outputs, outputs))
        position = region.last
