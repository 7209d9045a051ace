"""Reverse-mode differentiation from the operators' rules, on whatever lies below: the eager engine or a
trace.

A `Tape` is an interpreter that hands each application on to the interpreter under it and keeps a record.
Going backward,
the rules are applied under that same lower interpreter, so a tape over a trace yields gradient nodes in the
same graph, a tape over the
eager engine computes at once, and a tape over a tape gives higher orders. A tensor's value is known by its
token; a write
gives the tensor a new token (see Griewank and Walther, Evaluating Derivatives, chapter 3, for the method).
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mycelia.autodiff.batching import BatchedTensor
from mycelia.ir import operator as registry
from mycelia.ir.operator import Operator
from mycelia.ops import dispatch
from mycelia.ops.dispatch import Interpreter
from mycelia.ops.inplace import VIEW_OPERATORS, apply_chain, scatter_chain
from mycelia.tensor.tensor import Tensor, View, new_token
from mycelia.trace.location import user_frame
from mycelia.trace.tracer import TracedTensor

ALWAYS_WANTED = 0  # a token that every backward run counts among those it is asked for
Hook = Callable[[Tensor], Tensor]

# A tag of operators whose rule takes None for the cotangent of any output but the first.
OPTIONAL_COTANGENTS = "optional_cotangents"


def token_of(tensor: Tensor) -> int:
    token = tensor._token
    if token is None:
        token = tensor._token = new_token()
    return token


class Record:
    """One application: the operator, what went in and came out, and the storage versions that the rule
    relies on."""

    __slots__ = ("op", "attrs", "inputs", "outputs", "in_tokens", "out_tokens", "versions", "line")

    def __init__(
        self, op: Operator, attrs: dict[str, Any], inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]
    ) -> None:
        self.op, self.attrs, self.inputs, self.outputs = op, attrs, inputs, outputs
        self.in_tokens = [token_of(x) for x in inputs]
        self.out_tokens = [token_of(y) for y in outputs]
        self.versions = [t._storage.version if t._storage is not None else 0 for t in (*inputs, *outputs)]
        frame = user_frame(3)
        self.line = (frame.f_code, frame.f_lasti) if frame is not None else None

    def cotangents(
        self, got: Sequence[Tensor | None], tape: Tape, reach: set[int]
    ) -> Sequence[Tensor | None]:
        if not any(y.dtype.kind in "fc" for y in self.outputs):
            return [None] * len(self.inputs)
        if self.op.num_outputs == 1:
            g: Any = got[0]
        else:
            absent = OPTIONAL_COTANGENTS in self.op.tags
            g = tuple(
                [
                    d if d is not None or absent and i else zeros_like(y)
                    for i, (y, d) in enumerate(zip(self.outputs, got))
                ]
            )
        if self.op.vjp is None:
            raise TypeError(
                f"operator {self.op.name} has no gradient{_at(self.line)}; wrap it in ops.stop_gradient if "
                f"it should count as a constant"
            )
        self._check_versions(tape)
        attrs = self.attrs
        if _takes_needed(self.op):
            attrs = {**attrs, "needed": tuple([token in reach for token in self.in_tokens])}
        result = self.op.vjp(g, *self.inputs, *self.outputs, **attrs)
        return result if isinstance(result, (tuple, list)) else (result,)

    def _check_versions(self, tape: Tape) -> None:
        """Refuses a rule that would read elements which were overwritten since."""
        needed = elements_read(self)
        for i, (tensor, version) in enumerate(zip((*self.inputs, *self.outputs), self.versions)):
            if tensor._storage is not None and tensor._storage.version != version and i in needed:
                raise RuntimeError(
                    f"the gradient of {self.op.name}{_at(self.line)} needs a tensor of shape {tensor.shape} "
                    f"that was "
                    f"overwritten in place afterwards{_at(tape.last_write.get(id(tensor._storage)))}; write "
                    f"to a copy "
                    f"(x.copy()), or use the form that returns a new tensor"
                )


def _rule_code(op: Operator) -> Any:
    """The code of a gradient rule itself, whatever is wrapped around it; None if it has none."""
    return None if op.vjp is None else getattr(inspect.unwrap(op.vjp), "__code__", None)


_with_needed: dict[str, bool] = {}  # by operator


def _takes_needed(op: Operator) -> bool:
    """Whether a gradient rule wants to know which cotangents are asked for."""
    known = _with_needed.get(op.name)
    if known is None:
        code = _rule_code(op)
        names = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        known = _with_needed[op.name] = "needed" in names
    return known


_read_positions: dict[tuple[str, int, int], frozenset[int]] = {}


def _reads(op: Operator, inputs: int, outputs: int) -> frozenset[int]:
    """Which of the inputs and outputs a gradient rule looks at, from its code: the others may be
    overwritten."""
    key = (op.name, inputs, outputs)
    known = _read_positions.get(key)
    if known is None:
        everything = frozenset(range(inputs + outputs))
        code = _rule_code(op)
        if code is None or code.co_flags & 0x04 or code.co_argcount < 1 + inputs + outputs:
            known = everything
        else:
            loaded: set[str] = set()
            for instruction in dis.get_instructions(code):
                if instruction.opname.startswith("LOAD"):
                    value = instruction.argval
                    loaded.update(
                        value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
                    )
            known = frozenset(i for i in everything if code.co_varnames[1 + i] in loaded)
        _read_positions[key] = known
    return known


# Rules that read only shapes, never the elements: a later write cannot change their result.
_VERSION_FREE = VIEW_OPERATORS | {
    "Add",
    "Sub",
    "Neg",
    "ReduceSum",
    "ReduceMean",
    "Concat",
    "Cast",
    "Pad",
    "SliceScatter",
    "GatherGrad",
}


class WriteRecord:
    """A write through a chain of views: the root's new value is a function of its old one and of the value
    written."""

    __slots__ = ("chain", "shape", "root", "in_tokens", "out_tokens")

    def __init__(self, root: Tensor, chain: tuple, old: int, value: int, new: int) -> None:
        self.root, self.chain = root, chain
        self.in_tokens, self.out_tokens = [old, value], [new]

    def cotangents(self, got: Sequence[Tensor | None], tape: Tape) -> Sequence[Tensor | None]:
        (g,) = got
        assert g is not None
        if not self.chain:
            return None, g
        shown = apply_chain(g, self.chain)
        return scatter_chain(g, self.chain, zeros_like(shown)), shown


class ViewRecord:
    """A view read again after its root was written."""

    __slots__ = ("chain", "root", "in_tokens", "out_tokens")

    def __init__(self, root: Tensor, chain: tuple, old: int, new: int) -> None:
        self.root, self.chain = root, chain
        self.in_tokens, self.out_tokens = [old], [new]

    def cotangents(self, got: Sequence[Tensor | None], tape: Tape) -> Sequence[Tensor | None]:
        (g,) = got
        if not self.chain or g is None:
            return (g,)
        base = registry.get("Full")(shape=self.root.shape, value=0.0, dtype=g.dtype)
        return (scatter_chain(base, self.chain, g),)


class Tape:
    """Records what happens between `dispatch.interpreting(tape)` and its end."""

    def __init__(self, below: Interpreter | None = None) -> None:
        self.below = below or dispatch.current()
        # In a trace a tensor that is written later would show its new value: records hold today's.
        self.snapshot = getattr(self.below, "snapshot", None)
        self.direct = self.snapshot is None  # records hold the very tensors, on a list
        self.records: list[Any] = []
        self.native_records = getattr(
            self.below, "native", False
        )  # the eager fast path may append tuples of its own
        self.last_write: dict[int, Any] = {}  # id of a storage -> where it was overwritten last
        self._readers: dict[int, list[int]] = {}  # id of a storage -> records whose rules read it
        self._aliased: dict[int, tuple[Tensor, int, int]] = {}  # by id: a root, its token, that of its twin
        self._indexed = 0  # so many records are in it: it is made at writes only
        self.paused = 0  # `no_grad` blocks under way, in which nothing is recorded
        self.hooks: dict[int, list[Hook]] = {}  # by token: what to do to a value's cotangent

    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        if self.paused:
            return self.below.bind(op, inputs, attrs)
        for x in inputs:
            if x._view is not None:
                self.settle(x)
        direct = self.direct
        kept = tuple(inputs) if direct else tuple([self.keep(x) for x in inputs])
        result = self.below.bind(op, inputs, attrs)
        outputs = result if type(result) is tuple else (result,)
        if direct:
            self.records.append(Record(op, attrs, kept, outputs))
        else:
            record = Record(op, attrs, kept, tuple([self.keep_result(y) for y in outputs]))
            if op.subgraphs and self._aliased:  # what a branch writes to it takes by its root
                record.in_tokens = [self._before(x) for x in inputs]
            self.note(record, outputs)
        if op.name in VIEW_OPERATORS:
            view = outputs[0]._view
            if view is not None:
                view.seen = token_of(view.root)
        return result

    def settle(self, x: Tensor) -> None:
        """Relates a view to its root again if the root was written since."""
        view = x._view
        if view is None or view.seen == view.root._token or self.paused:
            return
        root_token, before = token_of(view.root), x._token
        self._settle_below(x)
        if x._token == before:  # else a tape below has named the new value already
            x._token = new_token()
        self.note(ViewRecord(view.root, view.chain, root_token, token_of(x)), (x,))
        view.seen = root_token

    def _settle_below(self, x: Tensor) -> None:
        """Lets a tape below record, and a trace derive the view's value, while they still can see that the
        root changed."""
        follow = getattr(self.below, "settle", None) or getattr(self.below, "value_of", None)
        if follow is not None:
            follow(x)

    def keep(self, x: Tensor) -> Tensor:
        """What a record holds of a tensor: the tensor as it is now, whatever is written to it later."""
        return x if self.snapshot is None else self.snapshot(x, token_of(x))

    keep_result = keep

    def follows_any(self, tensors: Sequence[Tensor]) -> bool:
        """Whether what is computed from these tensors is recorded."""
        return not self.paused

    def note(self, record: Any, outputs: Sequence[Tensor]) -> None:
        """Adds a record of what gave these tensors their values."""
        self.records.append(record)

    def alias(self, x: Tensor) -> Tensor:
        """A tensor of its own identity that shows the same elements, so that its gradient on this tape is
        told from the original's."""
        self.settle(x)
        if type(x) is TracedTensor:
            twin: Tensor = TracedTensor(x.trace, x.trace.value_of(x))
        elif type(x) is BatchedTensor:
            twin = BatchedTensor(x.inner, x.axis, x.level)
        else:
            twin = Tensor.wrap(x._storage, x._shape, x._dtype, x._strides, x._offset)
        root, chain = (x, ()) if x._view is None else (x._view.root, x._view.chain)
        twin._view = View(root, chain, token_of(root))
        if not chain:
            self._aliased[id(root)] = root, token_of(root), token_of(twin)
        self.link(x, twin)
        return twin

    def _before(self, root: Tensor) -> int:
        """The token of what a write is about to change, which is the argument's own if it is its memory."""
        _, token, own = self._aliased.get(id(root), (None, None, 0))
        return own if token == token_of(root) else token_of(root)

    def link(self, x: Tensor, twin: Tensor) -> None:
        """Notes in the tapes below that a new tensor, told from the other here, is the same value to them."""
        interpreter: Any = self.below
        while interpreter is not None:
            if isinstance(interpreter, Tape):
                interpreter.identify(x, twin)
            interpreter = getattr(interpreter, "below", None)

    def identify(self, x: Tensor, twin: Tensor) -> None:
        """Notes that a new tensor is the same value as another."""
        self.note(ViewRecord(x, (), token_of(x), token_of(twin)), (twin,))

    def write(self, target: Tensor, value: Tensor) -> None:
        if self.paused:
            storage = target._storage
            if storage is not None and self.direct:
                self._keep_overwritten(storage, 0)
            self.below.write(target, value)
            return
        view = target._view
        root, chain = (target, ()) if view is None else (view.root, view.chain)
        self.settle(value)
        old, value_token, before = token_of(root), token_of(value), target._token
        changed = self._before(root)
        if root._storage is not None:
            self._keep_overwritten(root._storage, value_token)
        self.below.write(target, value)
        if root._token == old:  # else the interpreter below has named the new value already
            root._token = new_token()
        new = token_of(root)
        self.note(WriteRecord(root, chain, changed, value_token, new), (root,))
        if view is not None:
            if target._token == before:
                target._token = new_token()
            self.note(ViewRecord(root, chain, new, token_of(target)), (target,))
            view.seen = new
        if root._storage is not None:
            frame = user_frame(2)
            self.last_write[id(root._storage)] = (frame.f_code, frame.f_lasti) if frame is not None else None

    def _keep_overwritten(self, storage: Any, result: int) -> None:
        """Gives the records whose rules will read what is about to be overwritten copies of their own."""
        records = self.records
        if not self.direct:  # of a record kept elsewhere only the latest, that of ``x * y`` in ``x *= y``
            if records and _makes(records[-1], result):
                records[-1] = _with_own_operands(records[-1], storage, {})
            return
        readers = self._readers
        for i in range(self._indexed, len(records)):
            for place in _places_read(records[i]):
                readers.setdefault(place, []).append(i)
        self._indexed = len(records)
        copies: dict[int, tuple[Tensor, int]] = {}
        for i in readers.pop(id(storage), ()):
            records[i] = _with_own_operands(records[i], storage, copies)

    @property
    def constant(self) -> Any:
        return getattr(self.below, "constant", None)

    def backward(
        self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor | None], wrt: Sequence[int]
    ) -> list[Tensor | None]:
        """Cotangents of the values with the tokens ``wrt``, None where the outputs do not depend on them."""
        reach = {ALWAYS_WANTED, *wrt}
        useful = []
        for record in self.records:
            if type(record) is tuple:  # of the eager fast path
                if record[4] in reach or record[5] in reach:
                    useful.append(record)
                    reach.add(record[6])
            elif any(token in reach for token in record.in_tokens):
                useful.append(record)
                reach.update(record.out_tokens)
        whole = getattr(self.below, "whole_backward", None)  # the eager engine may know the pass by now
        if whole is not None and not self.hooks and dispatch.current() is self.below:
            done = whole(useful, outputs, cotangents, wrt)
            if done is not None:
                return done
        grads: dict[int, Tensor] = {}
        for y, g in zip(outputs, cotangents):
            if g is not None and y._token in reach:
                _accumulate(grads, y._token, g)
        keep = set(wrt)
        hooks, add = self.hooks, registry.get("Add")
        for record in reversed(useful):
            if type(record) is tuple:
                # Of the eager fast path; all operands have one shape.
                op, x, y, out, x_token, y_token, out_token, x_version, y_version = record
                if hooks:
                    self._apply_hooks((out_token,), grads)
                g = grads.get(out_token) if out_token in keep else grads.pop(out_token, None)
                if g is None:
                    continue
                if (x._storage.version != x_version or y._storage.version != y_version) and (
                    op.name not in _VERSION_FREE
                ):
                    raise _overwritten(record)
                dx, dy = op.vjp(g, x, y, out)
                if x_token in reach:
                    known = grads.get(x_token)
                    grads[x_token] = dx if known is None else add(known, dx)
                if y_token in reach:
                    known = grads.get(y_token)
                    grads[y_token] = dy if known is None else add(known, dy)
                continue
            if hooks:
                self._apply_hooks(record.out_tokens, grads)
            got = [grads.get(token) for token in record.out_tokens]
            if all(g is None for g in got):
                continue
            for token in record.out_tokens:
                if token not in keep:
                    grads.pop(token, None)
            self._step(record, got, grads, reach)
        if hooks:
            made = {token for r in useful for token in (r[6:7] if type(r) is tuple else r.out_tokens)}
            self._apply_hooks([token for token in keep if token not in made], grads)
        return [grads.get(token) for token in wrt]

    def _apply_hooks(self, tokens: Sequence[int], grads: dict[int, Tensor]) -> None:
        """Lets hooks see, and change, cotangents that are complete."""
        for token in tokens:
            g = grads.get(token)
            if g is not None:
                for hook in self.hooks.get(token, ()):
                    g = hook(g)
                grads[token] = g

    def _step(self, record: Any, got: list[Tensor | None], grads: dict[int, Tensor], reach: set[int]) -> None:
        if type(record) is Record:
            results = record.cotangents(got, self, reach)
            pointwise = record.op.pointwise
            for x, token, d in zip(record.inputs, record.in_tokens, results):
                if d is not None and token in reach and x._dtype.kind in "fc":
                    _accumulate(
                        grads, token, sum_to(d, x._shape) if pointwise and _differ(d._shape, x._shape) else d
                    )
        else:
            for token, d in zip(record.in_tokens, record.cotangents(got, self)):
                if d is not None and token in reach:
                    _accumulate(grads, token, d)


def _makes(record: Any, token: int) -> bool:
    return token == (record[6] if type(record) is tuple else record.out_tokens[0])


def elements_read(record: Any) -> frozenset[int]:
    """The positions, among the inputs and then the outputs of a `Record` or of a tuple of the eager fast
    path, of those tensors whose elements its rule reads."""
    if type(record) is tuple:
        return frozenset() if record[0].name in _VERSION_FREE else _OPERANDS
    if record.op.name in _VERSION_FREE or record.op.vjp is None:
        return frozenset()
    return _reads(record.op, len(record.inputs), len(record.outputs))


_OPERANDS = frozenset((0, 1))


def _places_read(record: Any) -> set[int]:
    """The storages, by id, whose elements a record's rule will read."""
    if type(record) is tuple:
        tensors = record[1:3]
    elif type(record) is Record:
        tensors = (*record.inputs, *record.outputs)
    else:
        return set()
    read = elements_read(record)
    return {id(tensors[i]._storage) for i in read if tensors[i]._storage is not None}


def _with_own_operands(record: Any, storage: Any, copies: dict[int, tuple[Tensor, int]]) -> Any:
    """The record with copies in place of tensors that lie in a storage about to be overwritten.

    Args:
        copies: those made already, by token.
    """

    def own(x: Tensor, token: int) -> tuple[Tensor, int]:
        if token not in copies:
            copies[token] = _copy(x, token)
        return copies[token]

    version = storage.version
    if type(record) is tuple:
        op, x, y, out, x_token, y_token, out_token, x_version, y_version = record
        if op.name in _VERSION_FREE:
            return record
        if x._storage is storage and x_version == version:
            x, x_version = own(x, x_token)
        if y._storage is storage and y_version == version:
            y, y_version = own(y, y_token)
        return op, x, y, out, x_token, y_token, out_token, x_version, y_version
    if type(record) is Record and record.op.name not in _VERSION_FREE:
        tensors = [*record.inputs, *record.outputs]
        tokens = [*record.in_tokens, *record.out_tokens]
        count = len(record.inputs)
        for i in _reads(record.op, count, len(record.outputs)):
            if tensors[i]._storage is storage and record.versions[i] == version:
                tensors[i], record.versions[i] = own(tensors[i], tokens[i])
        record.inputs, record.outputs = tuple(tensors[:count]), tuple(tensors[count:])
    return record


def _copy(x: Tensor, token: int) -> tuple[Tensor, int]:
    twin = Tensor(x)
    twin._token = token
    return twin, twin._storage.version


def _overwritten(record: tuple) -> RuntimeError:
    op, x = record[:2]
    return RuntimeError(
        f"the gradient of {op.name} needs an operand of shape {x._shape} that was overwritten in place "
        f"afterwards; write to a copy (x.copy()), or use the form that returns a new tensor"
    )


def _accumulate(grads: dict[int, Tensor], token: int, g: Tensor) -> None:
    known = grads.get(token)
    grads[token] = g if known is None else registry.get("Add")(known, g)


def _at(line: Any) -> str:
    if line is None:
        return ""
    code, last = line
    for start, end, number in code.co_lines():
        if start <= last < end and number is not None:
            return f" ({code.co_filename}:{number})"
    return f" ({code.co_filename})"


def zeros_like(x: Tensor) -> Tensor:
    return registry.get("Full")(shape=x.shape, value=0.0, dtype=x.dtype)


def ones_like(x: Tensor) -> Tensor:
    return registry.get("Full")(shape=x.shape, value=1.0, dtype=x.dtype)


def in_dtype_of(g: Tensor, x: Tensor) -> Tensor:
    """A gradient in the dtype of what it is the gradient of."""
    return g if g._dtype is x._dtype else registry.get("Cast")(g, dtype=x._dtype)


def sum_to(g: Tensor, shape: tuple) -> Tensor:
    """Undoes broadcasting: sums the axes that were stretched."""
    lead = g.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i for i, d in enumerate(shape) if d == 1 and g.shape[lead + i] != 1
    )
    if axes:
        g = registry.get("ReduceSum")(g, axes=axes, keepdims=False)
    return registry.get("Reshape")(g, shape=shape) if _differ(g.shape, shape) else g


def _differ(a: tuple, b: tuple) -> bool:
    """Whether shapes differ. By their ranks first: comparing tuples would ask a symbol for its number."""
    return len(a) != len(b) or a != b


__all__ = ["Tape", "View", "in_dtype_of", "ones_like", "sum_to", "token_of", "zeros_like"]
