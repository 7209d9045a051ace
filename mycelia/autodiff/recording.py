"""`Tensor.backward`: gradients of what was computed outside of any transformation.

Once a tensor asks for a gradient (``x.requires_grad = True``), a `Recorder` stands in front of the eager
engine. It is a tape that keeps no list: each record hangs on the tensors that it gave their values, together
with the records that those came from, so that what nobody can differentiate any more is freed. Parameters
take part while a Cell in training mode runs, and within `enable_grad`. The rules are PyTorch's: leaves add up
their gradients in ``grad``; a record is let go when it was used, unless ``retain_graph`` says otherwise.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator
from typing import Any
from weakref import WeakValueDictionary, ref

from mycelia.autodiff.hooks import hooked, register_hook
from mycelia.autodiff.state import GradientState, known_state, state_of
from mycelia.autodiff.tape import Hook, Record, Tape, in_dtype_of, ones_like, token_of
from mycelia.ir import operator as registry
from mycelia.ir.operator import Operator
from mycelia.ops import dispatch
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

_numbers = itertools.count()


class TrackedTensor(Tensor):
    """A tensor that has a gradient, or was computed from one that has. Of another class so that the engine's
    fast paths, which know `Tensor` alone, leave it to the `Recorder`."""

    __slots__ = ()

    def __reduce__(self) -> tuple:
        function, arguments = super().__reduce__()
        return function, (Tensor, *arguments[1:])


class Leaf:
    """Where a gradient ends: a value of a tensor that asked for it."""

    __slots__ = ("tensor", "token", "__weakref__")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.token = ref(tensor), token_of(tensor)


class Entry:
    """A record in the web of all: what it needs stays alive as long as its results do."""

    __slots__ = ("record", "parents", "number", "hooks", "retained", "__weakref__")

    def __init__(self, record: Any, parents: list[Any]) -> None:
        self.record, self.parents = record, parents
        self.number = next(_numbers)
        self.hooks: list[Hook] = []
        self.retained: list[tuple[int, ref[Tensor]]] = []


class _Latest:
    """Stands for a tape's list of records where only the last one is looked at."""

    def __init__(self) -> None:
        self.entry: Any = lambda: None  # a weak reference

    def __bool__(self) -> bool:
        entry = self.entry()
        return entry is not None and entry.record is not None

    def __getitem__(self, _: int) -> Any:
        return self.entry().record

    def __setitem__(self, _: int, record: Any) -> None:
        self.entry().record = record


class _Thread(threading.local):
    paused = 0  # `no_grad` blocks under way
    parameters = 0  # blocks under way in which Parameters take part


class Recorder(Tape):
    """The interpreter at the bottom of all stacks, over the eager engine."""

    native = True  # of tensors that are not tracked

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.engine = engine
        self.direct = False
        self.records: Any = _Latest()
        self.native_records = False
        self._thread = _Thread()
        self._sources: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by token

    @property
    def paused(self) -> int:
        return self._thread.paused

    @paused.setter
    def paused(self, value: int) -> None:
        if hasattr(self, "_thread"):
            self._thread.paused = value

    # -- which tensors count -------------------------------------------------------------------------------
    def follows(self, x: Any) -> bool:
        """Whether gradients flow through a tensor."""
        if type(x) is TrackedTensor:
            return True
        if isinstance(x, Parameter):
            # Where a transformation is under way, its own tape sees to the parameters.
            return x.requires_grad and self._thread.parameters > 0 and not dispatch.is_tracing()
        view = getattr(x, "_view", None)
        return view is not None and type(view.root) is TrackedTensor

    def follows_any(self, tensors: Sequence[Any]) -> bool:
        return not self.paused and any([self.follows(x) for x in tensors])

    def _know(self, x: Tensor) -> None:
        """Makes a leaf's present value known as a source."""
        if isinstance(x, Parameter) or type(x) is TrackedTensor:
            state, token = state_of(x), token_of(x)
            source = state.source
            if source is None or type(source) is Leaf and source.token != token:  # updated since
                source = state.source = Leaf(x)
            if type(source) is Leaf:
                self._sources[token] = source

    # -- the interpreter -----------------------------------------------------------------------------------
    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        for x in inputs:
            if type(x) is not Tensor or x._view is not None:
                break
        else:
            return self.below.bind(op, inputs, attrs)
        if op.name == "StopGradient" or not self.follows_any(inputs):
            return self.below.bind(op, inputs, attrs)
        for x in inputs:
            if self.follows(x):
                self._know(x)
        return super().bind(op, inputs, attrs)

    def keep(self, x: Tensor) -> Tensor:
        return x

    def keep_result(self, x: Tensor) -> Tensor:
        return _plain_twin(x)  # else a record would hold, through its result, itself

    def note(self, record: Any, outputs: Sequence[Tensor]) -> None:
        sources = [self._sources.get(token) for token in record.in_tokens]
        parents = [s for s in sources if s is not None]
        if not parents:
            return
        entry = Entry(record, parents)
        self.records.entry = ref(entry)
        for y, token in zip(outputs, record.out_tokens):
            if y.dtype.is_float and not isinstance(y, Parameter):
                if type(y) is Tensor:
                    y.__class__ = TrackedTensor
                state_of(y).source = self._sources[token] = entry

    def identify(self, x: Tensor, twin: Tensor) -> None:
        if self.follows_any((x,)):
            self._know(x)
            super().identify(x, twin)

    def settle(self, x: Tensor) -> None:
        if self.follows(x):
            self._know(x)
            super().settle(x)

    def write(self, target: Tensor, value: Tensor) -> None:
        root = target if target._view is None else target._view.root
        followed = self.follows_any((root, value))
        if not followed or isinstance(root, Parameter):
            self.below.write(target, value)  # parameters are what optimizers write to
            return
        if is_leaf(root) and type(root) is TrackedTensor:
            raise RuntimeError(
                f"in-place write to a tensor of shape {root.shape} that requires a gradient: its old value "
                f"would be lost. Write to a copy (x * 1), or within `with ms.no_grad():` if this is an update"
            )
        for x in (root, value):
            if self.follows(x):
                self._know(x)
        super().write(target, value)

    def run_composite(self, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Composites over tracked tensors are carried out operator by operator."""
        if self.follows_any([*args, *kwargs.values()]):
            return function(*args, **kwargs)
        return self.engine.run_composite(function, args, kwargs)

    def whole_backward(
        self,
        records: Sequence[Any],
        outputs: Sequence[Tensor],
        cotangents: Sequence[Tensor | None],
        wrt: Sequence[int],
    ) -> list[Tensor | None] | None:
        """As the engine's, where the gradients themselves are not followed."""
        if not self.paused and self.follows_any([g for g in cotangents if g is not None]):
            return None
        if not self.paused and any([self.follows_any(r.inputs) for r in records if type(r) is Record]):
            return None
        return self.engine.whole_backward(records, outputs, cotangents, wrt)

    # -- going back ----------------------------------------------------------------------------------------
    def backward_from(
        self, y: Tensor, g: Tensor, keep: bool, create: bool, only: Sequence[Tensor] | None
    ) -> None:
        start = _source(y)
        entries, leaves = _reachable(start)
        if any(e.record is None for e in entries):
            raise RuntimeError(
                "backward(): what this tensor was computed from was let go by an earlier backward(); call "
                "that one with retain_graph=True"
            )
        wanted = [(leaf.token, x) for leaf in leaves if (x := leaf.tensor()) is not None]
        for e in entries:
            wanted += [(token, x) for token, r in e.retained if (x := r()) is not None]
        if only is not None:
            known = {id(x) for x in only}
            wanted = [w for w in wanted if id(w[1]) in known or not is_leaf(w[1])]
            wanted += [(token_of(x), x) for x in only if not is_leaf(x)]
        if create:
            for e in entries:  # the rules read results, and those must be followed too
                for x in getattr(e.record, "outputs", ()):
                    if x.dtype.is_float:
                        x.__class__ = TrackedTensor
                        state_of(x).source = e
        tape = Tape(self)
        tape.native_records = False
        tape.records = [e.record for e in entries]
        tape.last_write = self.last_write
        for e in entries:
            for hook in e.hooks:
                tape.hooks.setdefault(e.record.out_tokens[0], []).append(hook)
        with no_grad() if not create else enable_grad(parameters=False):
            got = tape.backward([y], [g], [token for token, _ in wanted])
            for (_, x), d in zip(wanted, got):
                d = hooked(x, d)
                if d is not None:
                    state = state_of(x)
                    state.grad = d if state.grad is None else registry.get("Add")(state.grad, d)
        if create:
            for e in entries:
                for x in getattr(e.record, "outputs", ()):
                    if type(x) is TrackedTensor:
                        x.__class__ = Tensor  # type: ignore[assignment]
                        del x._gradient
        if not (keep or create):
            for e in entries:
                e.record, e.parents = None, []


def _plain_twin(x: Tensor) -> Tensor:
    twin = Tensor.wrap(x._storage, x._shape, x._dtype, x._strides, x._offset)
    twin._token, twin._view = token_of(x), x._view
    return twin


def _source(x: Tensor) -> Any:
    state = known_state(x)
    return None if state is None else state.source


def _reachable(start: Any) -> tuple[list[Entry], list[Leaf]]:
    """All entries that a value depends on, oldest first, and the leaves."""
    seen: set[int] = set()
    entries, leaves, stack = [], [], [start]
    while stack:
        source = stack.pop()
        if source is None or id(source) in seen:
            continue
        seen.add(id(source))
        if type(source) is Leaf:
            leaves.append(source)
        else:
            entries.append(source)
            stack += source.parents
    return sorted(entries, key=lambda e: e.number), leaves


RECORDER: Recorder | None = None


def recorder() -> Recorder:
    """The recorder, put in front of the engine when it is first asked for."""
    global RECORDER
    if RECORDER is None:
        from mycelia.ops import composite

        base = dispatch.base()
        RECORDER = Recorder(base)
        dispatch.set_base(RECORDER)
        composite.set_composite_runner(RECORDER.run_composite)
    return RECORDER


def follows_any(tensors: Sequence[Any]) -> bool:
    """Whether gradients flow through one of the tensors outside of any transformation."""
    return RECORDER is not None and RECORDER.follows_any(tensors)


def parameters_take_part() -> bool:
    """Whether computations with Parameters are recorded here and now, or must not be."""
    return RECORDER is not None and (RECORDER._thread.parameters > 0 or RECORDER._thread.paused > 0)


# -- where recording is on and off ---------------------------------------------------------------------------
class no_grad(ContextDecorator):  # noqa: N801  (PyTorch's and MindSpore's spelling)
    """A block, or a function when used as a decorator, in which nothing is recorded for gradients: what is
    computed in it is a constant to any gradient around it.

    Example:
        >>> with ms.no_grad():
        ...     weight.add_(-0.1 * weight.grad)
    """

    def __enter__(self) -> no_grad:
        self.tapes = list(_interpreters())
        for tape in self.tapes:
            tape.paused += 1
        # One interpreter more on the stack keeps the native fast path from writing to a tape.
        self.block = dispatch.interpreting(dispatch.current()) if dispatch.is_tracing() else None
        if self.block is not None:
            self.block.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self.block is not None:
            self.block.__exit__(None, None, None)
        for tape in self.tapes:
            tape.paused -= 1

    def _recreate_cm(self) -> no_grad:
        return type(self)()


def _interpreters() -> Iterator[Tape]:
    """The tapes that see what is applied now."""
    interpreter: Any = dispatch.current()
    while interpreter is not None:
        if isinstance(interpreter, Tape):
            yield interpreter
        interpreter = getattr(interpreter, "below", None)


class enable_grad(ContextDecorator):  # noqa: N801
    """A block in which computations outside of any transformation are recorded for `Tensor.backward`, those
    with Parameters too; also inside a `no_grad` block.

    Example:
        >>> with ms.enable_grad():
        ...     loss = (net(x) - y).square().mean()
        >>> loss.backward()
    """

    def __init__(self, parameters: bool = True) -> None:
        self.with_parameters = parameters

    def __enter__(self) -> enable_grad:
        thread = recorder()._thread
        self.before = thread.paused, thread.parameters
        thread.paused, thread.parameters = 0, thread.parameters + self.with_parameters
        return self

    def __exit__(self, *error: Any) -> None:
        thread = recorder()._thread
        thread.paused, thread.parameters = self.before

    def _recreate_cm(self) -> enable_grad:
        return type(self)(self.with_parameters)


# -- methods of Tensor ---------------------------------------------------------------------------------------
def is_leaf(self: Tensor) -> bool:
    """Whether the tensor was made by the user rather than by a computation that is recorded."""
    return not isinstance(_source(self), Entry)


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients flow to or through the tensor; set it to True to ask for one."""
    return type(self) is TrackedTensor


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"requires_grad must be a bool. Received: {value!r} (of type {type(value).__name__})")
    if self._storage is None:
        raise RuntimeError(
            "requires_grad cannot be set while a graph is traced or under vmap; use ms.grad or "
            "ms.value_and_grad there"
        )
    if value:
        if not self._dtype.is_float:
            raise TypeError(
                f"requires_grad: only tensors of floating dtype have gradients. Received: {self.type}"
            )
        recorder()
        if type(self) is Tensor:
            self.__class__ = TrackedTensor
            state_of(self).source = Leaf(self)
    elif type(self) is TrackedTensor:
        if not is_leaf(self):
            raise RuntimeError(
                "requires_grad of a computed tensor cannot be set to False; x.detach() gives a constant "
                "with its value"
            )
        self.__class__ = Tensor  # type: ignore[assignment]
        self._gradient.source = None


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Sets ``requires_grad`` and returns the tensor."""
    self.requires_grad = requires_grad  # type: ignore[attr-defined]
    return self


def _get_grad(self: Tensor) -> Tensor | None:
    """What `backward` calls have added up for this leaf; None before the first. Set it to None to begin
    anew."""
    state: GradientState | None = known_state(self)
    return None if state is None else state.grad


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None and (not isinstance(value, Tensor) or value.shape != self.shape):
        raise TypeError(f"grad must be None or a Tensor of shape {self.shape}. Received: {value!r:.80}")
    state_of(self).grad = value


def retain_grad(self: Tensor) -> None:
    """Makes `backward` leave a gradient in ``grad`` of a tensor that is no leaf."""
    source = _source(self)
    if isinstance(source, Entry):
        source.retained.append((token_of(self), ref(self)))


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Adds the gradients of this tensor to ``grad`` of the leaves that it was computed from.

    Args:
        gradient: cotangent of this tensor; needed unless it has one element.
        retain_graph: whether the records stay for another `backward`; default: as ``create_graph``.
        create_graph: whether the gradients themselves can be differentiated.
        inputs: only these get gradients; default: all leaves.

    Raises:
        RuntimeError: nothing of its computation was recorded, or it was let go already.
        ValueError: several elements and no ``gradient``, or one of another shape.

    Example:
        >>> x = Tensor([3.0]).requires_grad_()
        >>> (x * x).sum().backward()
        >>> x.grad  # 6
    """
    if dispatch.is_tracing() or self._storage is None:
        raise RuntimeError(
            "backward() inside a function that is compiled or differentiated is not to be had: use "
            "ms.value_and_grad(fn, grad_position, weights) there, which gives the same gradients as results"
        )
    if type(self) is not TrackedTensor:
        raise RuntimeError(
            f"backward(): nothing that this tensor {self.type} was computed from asked for a gradient at "
            "that time. Set x.requires_grad = True on tensors before they are used; for Parameters, run the "
            "network in training mode (net.set_train()) in PYNATIVE_MODE, or compute within `with "
            "ms.enable_grad():`. What ran in GRAPH_MODE, under no_grad or behind detach() is not recorded"
        )
    if gradient is None:
        if self.size != 1:
            raise ValueError(
                f"backward(): a tensor of shape {self.shape} needs its cotangent: backward(gradient), or "
                "reduce it first with .sum() or .mean()"
            )
        gradient = ones_like(self)
    elif not isinstance(gradient, Tensor) or gradient.shape != self.shape:
        shown = gradient.shape if isinstance(gradient, Tensor) else repr(gradient)
        raise ValueError(f"backward(): gradient must be a Tensor of shape {self.shape}. Received: {shown}")
    only = [inputs] if isinstance(inputs, Tensor) else inputs
    keep = create_graph if retain_graph is None else retain_graph
    recorder()._know(self)
    recorder().backward_from(self, in_dtype_of(gradient, self), keep, create_graph, only)


def install() -> None:
    """Gives `Tensor` these methods."""
    for function in (backward, retain_grad, requires_grad_, register_hook):
        setattr(Tensor, function.__name__, function)
    Tensor.is_leaf = property(is_leaf)  # type: ignore[attr-defined]
    Tensor.grad = property(_get_grad, _set_grad)  # type: ignore[attr-defined]
    Tensor.requires_grad = property(_get_requires_grad, _set_requires_grad)  # type: ignore[attr-defined]
