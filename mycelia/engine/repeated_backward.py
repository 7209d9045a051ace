"""The backward pass of PyNative mode as one plan, once it repeats.

A training loop in PyNative mode leaves the same records on its tape at every step. The way back over them
holds no Python of the user's, so after `REPEATS` equal passes it is traced over stand-ins for the tensors
that the rules read, optimised and compiled as Graph mode would, and launched as a whole. Hooks, gradients of
the user's own, and rules that need a tensor's elements stay as they are: operator by operator.

``set_context(pynative_synchronize=True)``, the setting for debugging, turns it off.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from mycelia.autodiff.tape import Record, Tape, ViewRecord, elements_read
from mycelia.engine.clock import compiling
from mycelia.engine.compiled import CompiledGraph
from mycelia.ir import operator as registry
from mycelia.ir.types import NeedsConcrete, Sym, TensorType
from mycelia.ops import dispatch
from mycelia.tensor.tensor import Tensor
from mycelia.trace.tracer import Trace, TracedTensor

REPEATS = 10
MAX_KEPT = 64


class RepeatedBackward:
    """Backward passes by what is on their tapes: how often each was seen, then its plan."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple, Any] = OrderedDict()  # a count, a `_Plan`, or None: never

    def run(
        self,
        records: Sequence[Any],
        outputs: Sequence[Tensor],
        cotangents: Sequence[Tensor | None],
        wrt: Sequence[int],
    ) -> list[Tensor | None] | None:
        """The cotangents that `Tape.backward` asks for, or None if it shall go back operator by operator.

        Args:
            records: those of the tape that lie between ``wrt`` and the outputs.
            outputs: where the way back begins.
            cotangents: theirs.
            wrt: tokens of the values whose cotangents are asked for.
        """
        records = _leading_to(records, outputs, cotangents)
        key = _signature(records, outputs, cotangents, wrt)
        if key is None:
            return None
        known = self._known
        try:
            plan = known.get(key, 0)
        except TypeError:  # an attribute that cannot be a key
            return None
        if type(plan) is int:
            if plan < REPEATS:
                known[key] = plan + 1
                if len(known) > MAX_KEPT:
                    known.popitem(last=False)
                return None
            plan = known[key] = _compile(records, outputs, cotangents, wrt)
        return None if plan is None else plan.run(records, cotangents)


def _leading_to(
    records: Sequence[Any], outputs: Sequence[Tensor], cotangents: Sequence[Tensor | None]
) -> list[Any]:
    """The records that the outputs depend on: not, say, those of a batch norm's running statistics."""
    needed = {y._token for y, g in zip(outputs, cotangents) if g is not None}
    kept = []
    for r in reversed(records):
        if type(r) is tuple:
            if r[6] in needed:
                needed.update(r[4:6])
                kept.append(r)
        elif not needed.isdisjoint(r.out_tokens):
            needed.update(r.in_tokens)
            kept.append(r)
    kept.reverse()
    return kept


def _signature(
    records: Sequence[Any],
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    wrt: Sequence[int],
) -> tuple | None:
    """Equal for passes that compute the same from tensors of the same types; None if there is something on
    the tape that only Python can carry out."""
    names: dict[int, int] = {}  # a value's token -> its number in the order of appearance

    def number(token: int) -> int:
        return names.setdefault(token, len(names))

    parts: list[Any] = []
    for r in records:
        if type(r) is tuple:  # of the eager fast path
            parts.append((r[0].name, number(r[4]), number(r[5]), number(r[6]), r[1]._dtype.code, r[1]._shape))
        elif type(r) is Record:
            op = r.op
            if op.subgraphs or op.effects.writes or registry.REGISTRY.get(op.name) is not op:
                return None
            parts.append((op.name, *r.attrs.values(), *map(number, r.in_tokens), *map(number, r.out_tokens)))
            for x in (*r.inputs, *r.outputs):
                parts.append((x._dtype.code, x._shape))
        elif type(r) is ViewRecord and not r.chain:
            parts.append((*map(number, r.in_tokens), *map(number, r.out_tokens)))
        else:
            return None
    for y, g in zip(outputs, cotangents):
        parts.append(None if g is None else (number(y._token or 0), g._dtype.code, g._shape))
    parts.append(tuple(map(number, wrt)))
    return tuple(parts)


class _Plan:
    """A backward pass compiled.

    Args:
        graph: what is launched; its inputs are tensors of the records, then cotangents.
        places: for each input its place: (index of a record, position among its inputs and outputs), or
            (-1, index of a cotangent).
        given: for each cotangent asked for whether there is one.
        checks: places of all tensors whose elements the rules read, and which nobody may have overwritten.
    """

    def __init__(
        self,
        graph: CompiledGraph,
        places: list[tuple[int, int]],
        given: list[bool],
        checks: list[tuple[int, int]],
    ) -> None:
        self.graph, self.places, self.given, self.checks = graph, places, given, checks

    def run(self, records: Sequence[Any], cotangents: Sequence[Tensor | None]) -> list[Tensor | None] | None:
        for i, k in self.checks:
            if _tensor(records[i], k)._storage.version != _version(records[i], k):
                return None  # the slow way says what was overwritten where
        inputs: list[Any] = [cotangents[k] if i < 0 else _tensor(records[i], k) for i, k in self.places]
        results = iter(self.graph.run(inputs))
        return [next(results) if given else None for given in self.given]


def _tensor(record: Any, position: int) -> Tensor:
    if type(record) is tuple:
        return record[1 + position]
    count = len(record.inputs)
    return record.inputs[position] if position < count else record.outputs[position - count]


def _version(record: Any, position: int) -> int:
    return record[7 + position] if type(record) is tuple else record.versions[position]


@compiling
def _compile(
    records: Sequence[Any],
    outputs: Sequence[Tensor],
    cotangents: Sequence[Tensor | None],
    wrt: Sequence[int],
) -> _Plan | None:
    """Traces the pass over stand-ins; None where a rule needs more than they can give."""
    trace = Trace("backward")
    graph = trace.graph
    places: list[tuple[int, int]] = []
    by_token: dict[int, TracedTensor] = {}

    def stand_in(token: int, type: TensorType, place: tuple[int, int]) -> None:
        if token not in by_token:
            places.append(place)
            made = by_token[token] = TracedTensor(trace, graph.input(type))
            made._token = token

    # Tensors whose elements are read come first: another record may hold, under the same token, one that was
    # overwritten since.
    checks = []
    for i, r in enumerate(records):
        if type(r) is not ViewRecord:
            tokens = r[4:7] if type(r) is tuple else (*r.in_tokens, *r.out_tokens)
            for k in sorted(elements_read(r)):
                checks.append((i, k))
                stand_in(tokens[k], _tensor(r, k).type, (i, k))
    for i, r in enumerate(records):
        if type(r) is not ViewRecord:
            tokens = r[4:7] if type(r) is tuple else (*r.in_tokens, *r.out_tokens)
            for k, token in enumerate(tokens):
                stand_in(token, _tensor(r, k).type, (i, k))
    seeds = []
    for k, g in enumerate(cotangents):
        seeds.append(None if g is None else TracedTensor(trace, graph.input(g.type)))
        if g is not None:
            places.append((-1, k))

    tape = Tape(trace)
    tape.records = [_twin(r, by_token) for r in records]
    roots = [by_token.get(y._token or 0, y) for y in outputs]
    try:
        with dispatch.interpreting(trace):
            got = tape.backward(roots, seeds, wrt)
    except (NeedsConcrete, RuntimeError, TypeError, ValueError):  # the slow way works, or says what is wrong
        return None
    made = [g for g in got if g is not None]
    if trace.captures or any(isinstance(d, Sym) for g in made for d in g.shape):
        return None
    trace.finish(made)
    used = {v for node in graph.nodes for v in node.inputs} | set(graph.outputs)
    places = [place for v, place in zip(graph.inputs, places) if v in used]
    graph.inputs = [v for v in graph.inputs if v in used]
    for i, v in enumerate(graph.inputs):
        v.index = i
    return _Plan(CompiledGraph(graph, [], "backward"), places, [g is not None for g in got], checks)


def _twin(r: Any, by_token: dict[int, TracedTensor]) -> Any:
    """A record of the same application over stand-ins."""
    if type(r) is ViewRecord:
        return r
    twin = Record.__new__(Record)
    if type(r) is tuple:
        twin.op, twin.attrs, twin.line = r[0], {}, None
        twin.in_tokens, twin.out_tokens = [r[4], r[5]], [r[6]]
    else:
        twin.op, twin.attrs, twin.line = r.op, r.attrs, r.line
        twin.in_tokens, twin.out_tokens = r.in_tokens, r.out_tokens
    twin.inputs = tuple([by_token[token] for token in twin.in_tokens])
    twin.outputs = tuple([by_token[token] for token in twin.out_tokens])
    twin.versions = [0] * (len(twin.inputs) + len(twin.outputs))
    return twin


__all__ = ["RepeatedBackward"]
