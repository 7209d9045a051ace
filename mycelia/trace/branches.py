"""Staged control flow: ``if`` and ``while`` whose test is a traced tensor become `Cond` and `While` nodes.

`mycelia.trace.control_flow` rewrites the user's functions so that their tests come here. A test that is an
ordinary value takes the ordinary
way. Branches and bodies are traced as graphs of their own; what they read from outside are operands, what
they write to
tensors from outside comes back as results and is written after the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.ir import operator as registry
from mycelia.ir.dtypes import bool_
from mycelia.ir.graph import Graph, Value
from mycelia.ops import dispatch
from mycelia.ops.inplace import write
from mycelia.ops.precision import under_same_policy
from mycelia.tensor.tensor import Tensor, new_token
from mycelia.trace.location import user_location
from mycelia.trace.nesting import flatten, unflatten
from mycelia.trace.tracer import Trace, TracedTensor, constant, current_trace

Function = Callable[..., Any]


class Undefined:
    """A local name without a value; using it raises."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _use(self, *_: Any, **__: Any) -> Any:
        raise UnboundLocalError(
            f"local variable {self.name!r} has no value here: a branch or loop that may not run assigns it"
        )

    __getattr__ = __call__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __getitem__ = _use
    __bool__ = __iter__ = __len__ = __lt__ = __gt__ = __le__ = __ge__ = __neg__ = _use


def read(name: str, get: Callable[[], Any]) -> Any:
    """A local name's value, or an `Undefined`."""
    try:
        return get()
    except NameError:
        return Undefined(name)


def is_staged(test: Any) -> bool:
    """Whether a test's outcome is known only when the graph runs."""
    return isinstance(test, Tensor) and test._storage is None and current_trace() is not None


def _predicate(test: Tensor, what: str) -> Tensor:
    if test.size != 1:
        raise ValueError(
            f"{what}: the test must be one value. Received: a tensor {test.type}; reduce it with .any() or "
            f".all()"
            f"{_here()}"
        )
    if test.dtype is not bool_:
        test = registry.get("NotEqual")(test, constant(np.zeros((), test.dtype.numpy)))
    return registry.get("Reshape")(test, shape=()) if test.ndim else test


def _here() -> str:
    where = user_location(2)
    return f"\n  at {where}" if where else ""


# -- if
# --------------------------------------------------------------------------------------------------------
def if_(test: Any, then: Function, orelse: Function, names: Sequence[str], values: Sequence[Any]) -> tuple:
    """``if test: ... else: ...``; the functions take the values of the names that the branches assign and
    return them."""
    if not is_staged(test):
        return then(*values) if test else orelse(*values)
    return _cond(test, lambda: then(*values), lambda: orelse(*values), names)


def if_value(test: Any, then: Function, orelse: Function) -> Any:
    """``then() if test else orelse()``, and an ``if`` whose branches both return."""
    if not is_staged(test):
        return then() if test else orelse()
    return _cond(test, lambda: (then(),), lambda: (orelse(),), ("the result",))[0]


class _Branch:
    """One branch as a graph: its results, what it captured, what it wrote."""

    def __init__(self, name: str, run: Function) -> None:
        self.trace = Trace(name, inner=True)
        with dispatch.interpreting(under_same_policy(self.trace)):
            self.results = run()
        self.trace.forget_writes()
        self.leaves: list[Any] = []
        self.structures = [flatten(r, self.leaves) for r in self.results]


def _cond(test: Tensor, then: Function, orelse: Function, names: Sequence[str]) -> tuple:
    predicate = _predicate(test, "if")
    branches = _Branch("then", then), _Branch("else", orelse)
    first, second = branches
    for name, a, b in zip(names, first.structures, second.structures):
        if a != b:
            raise TypeError(
                f"if: the branches must give {name} the same structure. Received: {a} in the first and {b} "
                f"in the "
                f"second{_here()}"
            )
    kinds = [_merge_kind(a, b) for a, b in zip(first.leaves, second.leaves)]
    outputs: list[list[Value]] = [[], []]
    for kind, *pair in zip(kinds, first.leaves, second.leaves):
        if kind == "tensor":
            for values, branch, leaf, other in zip(outputs, branches, pair, reversed(pair)):
                with dispatch.interpreting(branch.trace):
                    values.append(branch.trace.value_of(_as_tensor(leaf, other)))
    _require_agreement(names, branches, kinds, outputs)
    written = list({id(t): t for b in branches for t in b.trace.written.values()}.values())
    for tensor in written:
        for values, branch in zip(outputs, branches):
            values.append(branch.trace.value_of(tensor))
    operands = list({id(t): t for b in branches for t in b.trace.captures}.values())
    for branch, values in zip(branches, outputs):
        align(branch.trace, operands)
        branch.trace.graph.outputs = values
    results = registry.get("Cond")(predicate, *operands, then=first.trace.graph, orelse=second.trace.graph)
    fresh = iter(results[: len(results) - len(written)])
    leaves = [
        next(fresh) if kind == "tensor" else a if kind == "same" else kind
        for kind, a in zip(kinds, first.leaves)
    ]
    for tensor, value in zip(written, results[len(results) - len(written) :]):
        write(tensor, value)
    remaining = iter(leaves)
    return tuple(unflatten(s, remaining) for s in first.structures)


def _merge_kind(a: Any, b: Any) -> Any:
    """How two branches' values become one: a tensor, the same object, or an `Undefined`."""
    for value in (a, b):
        if isinstance(value, Undefined):
            return value
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        for value in (a, b):
            if not isinstance(value, (Tensor, bool, int, float)):
                raise TypeError(
                    "if: a name must become a tensor or a number in both branches, because the test is known "
                    f"only when the graph runs. Received: a tensor in one and {value!r:.60} (of type "
                    f"{type(value).__name__}) in the other. Give the latter a name of its own{_here()}"
                )
        return "same" if a is b else "tensor"
    if a is b or (type(a) is type(b) and isinstance(a, (bool, int, float, str, tuple)) and a == b):
        return "same"
    if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
        return "tensor"
    raise TypeError(
        f"if: the branches give different Python values, {a!r} and {b!r}, but the test is known only when "
        f"the graph "
        f"runs. Use tensors or numbers, or test a Python value{_here()}"
    )


def _as_tensor(value: Any, other: Any = None) -> Tensor:
    """A number as a tensor of the dtype that the other branch's tensor has."""
    if isinstance(value, Tensor):
        return value
    if isinstance(other, Tensor) and (other.dtype.is_float or not isinstance(value, float)):
        return constant(np.array(value, other.dtype.numpy))
    if isinstance(value, bool):
        return constant(np.array(value))
    return constant(
        np.array(value, np.int64 if isinstance(value, int) and not isinstance(other, float) else np.float32)
    )


def _require_agreement(
    names: Sequence[str], branches: Sequence[_Branch], kinds: list[Any], outputs: list[list[Value]]
) -> None:
    """Shapes and dtypes of both branches must be equal; an error shows both side by side."""
    if all(a.type == b.type for a, b in zip(*outputs)):
        return
    owners = _owners(names, branches[0].structures, kinds)
    rows = [
        f"  {name:<16} {a.type!s:<28} {b.type!s}" + ("" if a.type == b.type else "   <- differ")
        for name, a, b in zip(owners, *outputs)
    ]
    different = next((a, b) for a, b in zip(*outputs) if a.type != b.type)
    error = TypeError if different[0].dtype is not different[1].dtype else ValueError
    lines = [str(v.node.loc) if v.node is not None and v.node.loc else "?" for v in different]
    raise error(
        "if: both branches must give equal shapes and dtypes, because the test is known only when the graph "
        "runs.\n"
        f"  {'':<16} {'first branch':<28} second branch\n"
        + "\n".join(rows)
        + f"\n  made at          {lines[0]:<28} {lines[1]}\nConvert with astype, or reshape, in one of the "
          f"branches"
    )


def _owners(names: Sequence[str], structures: Sequence[Any], kinds: list[Any]) -> list[str]:
    owners: list[str] = []
    for name, structure in zip(names, structures):
        leaves: list[Any] = []
        count = _count(structure)
        owners += [name if count == 1 else f"{name}[{i}]" for i in range(count)]
        del leaves
    return [owner for owner, kind in zip(owners, kinds) if kind == "tensor"]


def _count(structure: Any) -> int:
    counter: list[Any] = []

    def endless() -> Iterator[None]:
        while True:
            counter.append(None)
            yield None

    unflatten(structure, endless())
    return len(counter)


def align(trace: Trace, operands: Sequence[Tensor]) -> None:
    """Gives a subgraph one input for each operand, in order, whether it reads it or not."""
    known = dict(zip(map(id, trace.captures), trace.graph.inputs))
    graph: Graph = trace.graph
    graph.inputs = [known.get(id(t)) or Value(t.type, None, 0, f"x{i}") for i, t in enumerate(operands)]
    for i, value in enumerate(graph.inputs):
        value.index, value.name = i, f"x{i}"


# -- while
# -----------------------------------------------------------------------------------------------------
def while_(cond: Function, body: Function, names: Sequence[str], values: Sequence[Any]) -> tuple:
    """``while cond: body``; the functions take the values of the names that the body assigns."""
    state = tuple(values)
    while True:
        test = cond(*state)
        if is_staged(test):
            return _loop(cond, body, names, state)
        if not test:
            return state
        state = tuple(body(*state))


def for_range(bounds: Sequence[Any], body: Function, names: Sequence[str], values: Sequence[Any]) -> tuple:
    """``for i in range(*bounds): body``, whose function takes i before the values."""
    if not any(is_staged(b) for b in bounds):
        state = tuple(values)
        for i in range(*(int(b.asnumpy()) if isinstance(b, Tensor) else b for b in bounds)):
            state = tuple(body(i, *state))
        return state
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if isinstance(step, Tensor):
        raise TypeError(
            f"for: the step of range must be a Python number. Received: a tensor {step.type}{_here()}"
        )

    def cond(i: Any, *state: Any) -> Any:
        return i < stop if step > 0 else i > stop

    def following(i: Any, *state: Any) -> tuple:
        return (i + step, *body(i, *state))

    start = start if isinstance(start, Tensor) else constant(np.array(start, np.int64))
    return while_(cond, following, ("the loop's index", *names), (start, *values))[1:]


def _loop(cond: Function, body: Function, names: Sequence[str], state: tuple) -> tuple:
    leaves: list[Any] = []
    structures = [flatten(value, leaves) for value in state]
    moving = [isinstance(leaf, (Tensor, bool, int, float)) for leaf in leaves]
    start = [_own(_as_tensor(leaf)) for leaf, moves in zip(leaves, moving) if moves]

    def with_state(tensors: Sequence[Tensor]) -> tuple:
        given = iter(tensors)
        rest = iter([next(given) if moves else leaf for leaf, moves in zip(leaves, moving)])
        return tuple(unflatten(s, rest) for s in structures)

    written: list[Tensor] = []
    while True:
        carried = [*start, *written]
        test_trace, body_trace = Trace("cond", inner=True), Trace("body", inner=True)
        for trace in (test_trace, body_trace):
            trace.arguments_of = [trace.argument(t) for t in carried]  # type: ignore[attr-defined]
            trace.changing = range(len(start), len(carried))
        with dispatch.interpreting(under_same_policy(test_trace)):
            arguments = test_trace.arguments_of[: len(start)]  # type: ignore[attr-defined]
            test = test_trace.value_of(_predicate(_as_tensor(cond(*with_state(arguments))), "while"))
        with dispatch.interpreting(under_same_policy(body_trace)):
            arguments = body_trace.arguments_of[: len(start)]  # type: ignore[attr-defined]
            results = body(*with_state(arguments))
            outputs = _loop_results(names, structures, leaves, moving, start, results)
            values = [body_trace.value_of(t) for t in outputs] + [body_trace.value_of(t) for t in written]
        test_trace.forget_writes()
        body_trace.forget_writes()
        more = [
            t
            for t in body_trace.written.values()
            if all(t is not w for w in written) and all(t is not s for s in start)
        ]
        if not more:
            break
        written += more  # tensors from outside that the body writes are part of the state
    constants = [
        t
        for t in {id(t): t for tr in (test_trace, body_trace) for t in tr.captures}.values()
        if all(t is not c for c in carried)
    ]
    align(test_trace, [*carried, *constants])
    align(body_trace, [*carried, *constants])
    test_trace.graph.outputs, body_trace.graph.outputs = [test], values
    final = registry.get("While")(
        *carried, *constants, cond=test_trace.graph, body=body_trace.graph, n_state=len(carried)
    )
    for tensor, value in zip(written, final[len(start) :]):
        write(tensor, value)
    return with_state(final[: len(start)])


def _own(tensor: Tensor) -> Tensor:
    """A tensor object that nothing else refers to, so that the loop's state is told from what the body
    captures. To a tape
    it is the same value."""
    trace = current_trace()
    assert trace is not None
    settle = getattr(dispatch.current(), "settle", None)
    if settle is not None:
        settle(tensor)
    if tensor._token is None:
        tensor._token = new_token()
    again = getattr(tensor, "again", None)  # a tensor of a batching level
    twin = again() if again is not None else TracedTensor(trace, trace.value_of(tensor))
    twin._token = tensor._token
    return twin


def _loop_results(
    names: Sequence[str],
    structures: list[Any],
    leaves: list[Any],
    moving: list[bool],
    start: list[Tensor],
    results: Sequence[Any],
) -> list[Tensor]:
    """The body's results as the next state."""
    after: list[Any] = []
    for name, structure, result in zip(names, structures, results):
        if flatten(result, after) != structure:
            raise TypeError(f"while: {name} must keep its structure from one iteration to the next{_here()}")
    outputs: list[Tensor] = []
    remaining = iter(start)
    for old, new, moves in zip(leaves, after, moving):
        if not moves:
            if new is not old and not isinstance(old, Undefined):
                raise TypeError(
                    f"while: {old!r} became {new!r}; the state of a loop whose test is a tensor must be "
                    f"tensors or "
                    f"numbers{_here()}"
                )
            continue
        kind = next(remaining).type
        value = _as_tensor(new, next((s for s in start if s.type == kind), None))
        if value.type != kind:
            error = TypeError if value.dtype is not kind.dtype else ValueError
            raise error(
                f"while: the state must keep its type from one iteration to the next. Received: {kind} "
                f"before and "
                f"{value.type} after the body; convert before the loop or in it{_here()}"
            )
        outputs.append(value)
    return outputs


# -- and, or, not
# ----------------------------------------------------------------------------------------------
def and_(*parts: Callable[[], Any]) -> Any:
    """``a and b``: of traced tensors their logical and, else as in Python."""
    value = parts[0]()
    for part in parts[1:]:
        if is_staged(value):
            value = registry.get("LogicalAnd")(
                _predicate(value, "and"), _predicate(_as_tensor(part()), "and")
            )
        elif not value:
            return value
        else:
            value = part()
    return value


def or_(*parts: Callable[[], Any]) -> Any:
    """``a or b``: of traced tensors their logical or, else as in Python."""
    value = parts[0]()
    for part in parts[1:]:
        if is_staged(value):
            value = registry.get("LogicalOr")(_predicate(value, "or"), _predicate(_as_tensor(part()), "or"))
        elif value:
            return value
        else:
            value = part()
    return value


def not_(value: Any) -> Any:
    """``not a``: of a traced tensor its logical not, else as in Python."""
    return registry.get("LogicalNot")(_predicate(value, "not")) if is_staged(value) else not value
