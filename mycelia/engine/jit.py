"""Graph mode: a Python function becomes one graph, and the graph one native plan.

A call is looked up by its signature (structure, element types and shapes of the tensors, Python values),
then by guards on what
the function read from outside. The second size that an axis shows turns it into a symbol: the graph is
traced once more and from
then on serves every size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from mycelia.autodiff import recording
from mycelia.engine import mode
from mycelia.engine.clock import compiling
from mycelia.engine.guards import Guards
from mycelia.engine.jit_options import check_options
from mycelia.engine.report import logger, report_recompilation
from mycelia.engine.signature import Signature
from mycelia.ir.types import NeedsConcrete, Sym, TensorType
from mycelia.ops import dispatch
from mycelia.runtime.fork import ForkLock
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.trace.control_flow import stage
from mycelia.trace.nesting import LEAF, flatten, unflatten
from mycelia.trace.tracer import Trace, TracedTensor

MAX_SPECIALISATIONS = 32


def graph_mode() -> bool:
    return mode.current == mode.GRAPH_MODE


class Specialisation:
    """One traced graph of a function, and the guards under which it holds."""

    def __init__(
        self,
        function: JitFunction,
        leaves: list[Any],
        structure: Any,
        types: list[TensorType],
        numbers: frozenset[int],
        by_root: bool = False,
    ) -> None:
        self.types = types
        self.symbolic = any(isinstance(d, Sym) for t in types for d in t.shape)
        self.guards = Guards(function.fn, function.fields, tuple(leaves))
        trace = Trace(function.name, by_root=by_root)
        remaining = iter(types)
        operands: list[Any] = []
        for i, leaf in enumerate(leaves):
            operands.append(trace.argument(leaf, next(remaining)) if isinstance(leaf, Tensor) else leaf)
            if i in numbers:
                operands[-1].weak = operands[-1].fixable = True
        args, kwargs = unflatten(structure, iter(operands))
        with self.guards.recording(trace), dispatch.interpreting(trace):
            result = function.staged(*args, **kwargs)
            outputs: list[Any] = []
            self.structure = flatten(result, outputs)
            self.count = len(outputs)
            if any(getattr(y, "fixable", False) for y in outputs):
                raise NeedsConcrete("a number among the results")
            self.effects = (list, *[_taken_apart(value, outputs) for value in self.guards.effects()])
            if any(isinstance(y, Sym) for y in outputs):
                raise NeedsConcrete("a size among the results")
            graph = trace.finish([y for y in outputs if isinstance(y, Tensor)])
        function.fields |= self.guards.repeats()
        self.template = [None if isinstance(y, Tensor) else y for y in outputs]
        self.places = [i for i, y in enumerate(outputs) if isinstance(y, Tensor)]
        self.captures = trace.captures[trace.arguments :]
        for x in self.captures:
            if type(x) is TracedTensor:
                raise RuntimeError(
                    f"{function.name} reads {x.value.type} of a graph that is no longer being traced: "
                    "a function under jit kept it, e.g. in an attribute or a list; return it from there"
                )
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        self.written = sorted(trace.written)
        # Whether a gradient of its results by parameters makes sense; not so for an optimizer's step.
        self.learns = any(y.dtype.is_float for y in outputs[: self.count] if isinstance(y, Tensor)) and any(
            isinstance(x, Parameter) and x.requires_grad for x in self.captures
        )
        self.views = _views(given) if by_root else None
        if by_root:
            given = _roots(given)
        self.distinct = (
            None
            if trace.arguments == len(given) + len(self.guards.fields)
            else list(dict.fromkeys(_sharing(given)))
        )
        stable = range(trace.arguments, len(trace.captures))
        from mycelia.engine.compiled import CompiledGraph

        self.compiled = CompiledGraph(graph, [i for i in stable if i not in trace.written], function.name)

    def matches(self, tensors: list[Tensor]) -> bool:
        """Whether the shapes fit, equal symbols meeting equal sizes, and all that was read from outside is
        as it was."""
        if self.symbolic:
            binding: dict[str, int] = {}
            for t, x in zip(self.types, tensors):
                for d, n in zip(t.shape, x._shape):
                    if isinstance(d, int):
                        if d != n:
                            return False
                    elif binding.setdefault(d.text, n) != n or not d.lo <= n <= d.hi:
                        return False
        if self.views is not None:
            if self.views != _views(tensors):
                return False
        elif self.written and any(x._view is not None for x in tensors) and self.mixes(tensors):
            return False
        return self.guards.hold()

    def mixes(self, tensors: list[Tensor]) -> bool:
        """Whether a write would miss another view of the same memory, or the view that is written is not
        dense: such a call needs a graph over the roots of all views."""
        inputs = self._inputs(tensors)
        owners: dict[int, int] = {}
        for x in inputs:
            owners[id(x._storage)] = owners.get(id(x._storage), 0) + 1
        written = [inputs[i] for i in self.written]
        return any(not x.is_contiguous() or owners[id(x._storage)] > 1 for x in written)

    def _inputs(self, tensors: list[Tensor]) -> list[Tensor]:
        if self.views is not None:
            tensors = _roots(tensors)
        if self.distinct is not None:
            tensors = [tensors[i] for i in self.distinct]
        if self.guards.fields:
            tensors = tensors + self.guards.field_values()
        return tensors + self.captures

    def run(self, tensors: list[Tensor]) -> Any:
        results = self.compiled.run(self._inputs(tensors))
        outputs = list(self.template)
        for place, y in zip(self.places, results):
            outputs[place] = y
        if self.guards.written:
            self.guards.apply_effects(unflatten(self.effects, iter(outputs[self.count :])))
        return unflatten(self.structure, iter(outputs[: self.count]))


class JitFunction:
    """What `jit` returns: calls the function's compiled form, and the function itself inside another
    trace."""

    def __init__(self, fn: Callable[..., Any], options: dict[str, Any] | None = None) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self.options = options or {}
        self.name = getattr(fn, "__name__", type(fn).__name__)
        self.specialisations: dict[Any, list[Specialisation]] = {}
        self._kept: list[Any] = []  # objects that signatures know by id
        self.fields: set[tuple[int, str]] = set()  # attributes that it writes, by owner's id and name
        self._numbers: frozenset[int] = frozenset()  # leaves whose Python numbers are inputs of the graph
        self._fixed: set[int] = set()  # leaves whose numbers must be known when it is traced
        self._lock = ForkLock(reentrant=True)
        declared = self.options.get("input_signature")
        self.signature = None if declared is None else Signature(self.name, declared)
        self._hashed = tuple(_listed(self.options.get("hash_args")))  # what else a compilation depends on

    @property
    def staged(self) -> Callable[..., Any]:
        """The function with its control flow rewritten to stage tests of traced values."""
        return stage(self.fn)  # its defaults may have been replaced

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self.__call__, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if dispatch.is_tracing():
            return self.staged(*args, **kwargs)
        key, leaves, tensors = self._signature(args, kwargs)
        if recording.RECORDER is not None and recording.follows_any(tensors):
            return self.staged(*args, **kwargs)  # so that `Tensor.backward` finds its way through
        for candidate in self.specialisations.get(key, ()):
            if candidate.matches(tensors):
                if candidate.learns and recording.follows_any(candidate.captures):
                    return self.staged(*args, **kwargs)
                return candidate.run(tensors)
        structure = self._structure(key)
        try:
            made = self._specialise(key, leaves, structure, tensors)
        except _NeedsNumbers:
            key, leaves, tensors = self._signature(args, kwargs)
            made = self._specialise(key, leaves, self._structure(key), tensors)
        else:
            if len(made.types) != len(tensors):  # numbers became inputs meanwhile
                key, leaves, tensors = self._signature(args, kwargs)
        if made.learns and recording.follows_any(made.captures):
            return self.staged(*args, **kwargs)
        return made.run(tensors)

    def _structure(self, key: tuple) -> Any:
        """The nesting of the arguments, as a signature's first entry holds it."""
        structure = key[0][0]
        return structure[0] if self._hashed else structure

    def _signature(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, list[Any], list[Tensor]]:
        """What tells this call from others, the leaves of its arguments, and the tensors among them."""
        leaves: list[Any] = []
        structure: Any = flatten((args, kwargs), leaves)
        if self._hashed:
            structure = (structure, *map(_static_key, self._hashed))
        tensors: list[Tensor] = []
        freed = self._numbers
        if freed:
            freed = frozenset(i for i in freed if i < len(leaves) and _may_be_input(leaves[i]))
            leaves = [_as_input(leaf) if i in freed else leaf for i, leaf in enumerate(leaves)]
        exact: list[Any] = [(structure, freed)]
        for leaf in leaves:
            if isinstance(leaf, Tensor):
                tensors.append(leaf)
                exact.append((leaf._dtype.code, leaf._shape))
            else:
                exact.append(_static_key(leaf))
        if len(tensors) > 1 and len(set(map(id, tensors))) < len(tensors):
            exact.append(_sharing(tensors))
        return tuple(exact), leaves, tensors

    @compiling
    def _specialise(
        self, key: tuple, leaves: list[Any], structure: Any, tensors: list[Tensor]
    ) -> Specialisation:
        declared = None if self.signature is None else self.signature.types(leaves)
        numbers = key[0][1]
        with self._lock:
            erased = tuple(
                (k[0], len(k[1])) if isinstance(leaf, Tensor) else k for k, leaf in zip(key[1:], leaves)
            )
            family = self.specialisations.setdefault(("family", key[0], erased, _sharing(tensors)), [])
            for candidate in family:
                if candidate.symbolic and candidate.matches(tensors):
                    self._remember(key, candidate, leaves)
                    return candidate
            if not family and self._free_a_number(key, leaves):
                return self._specialise_again(leaves, structure)
            if len(family) >= MAX_SPECIALISATIONS:
                family.pop(0)
            types = [x.type for x in tensors]
            made: Specialisation | None = None
            if family:
                report_recompilation(self, family, types)
                generalised = _generalise(family[-1].types, types)
                if generalised is not None:
                    try:
                        made = Specialisation(self, leaves, structure, generalised, numbers)
                    except Exception:  # asked for a number, or an error that is to be told with numbers
                        made = None
            elif declared is not None and any(isinstance(d, Sym) for t in declared for d in t.shape):
                try:
                    made = Specialisation(self, leaves, structure, declared, numbers)
                except NeedsConcrete as need:
                    logger.warning(
                        "%s: the declared inputs leave sizes open that it needs as numbers (%s); each size "
                        "gets a graph of its own",
                        self.name,
                        need,
                    )
            if made is None:
                made = self._trace(leaves, structure, types, numbers)
            if made.written and made.mixes(tensors):
                made = Specialisation(self, leaves, structure, types, numbers, by_root=True)
            family.append(made)
            self._remember(key, made, leaves)
            return made

    def _trace(
        self, leaves: list[Any], structure: Any, types: list[TensorType], numbers: frozenset[int]
    ) -> Specialisation:
        """Where the function needs the values of numbers that became inputs, they are fixed again."""
        try:
            return Specialisation(self, leaves, structure, types, numbers)
        except Exception:
            if not numbers:
                raise
            self._fixed |= self._numbers
            self._numbers = frozenset()
            raise _NeedsNumbers from None

    def _free_a_number(self, key: tuple, leaves: list[Any]) -> bool:
        """Makes Python numbers inputs of the graph once a second value shows up where all else is as
        before."""
        others = [k[2] for k in self.specialisations if k[0] == "family" and k[1] == key[0]]
        erased = [(k[0], len(k[1])) if isinstance(leaf, Tensor) else k for k, leaf in zip(key[1:], leaves)]
        for other in others:
            differ = [i for i, (a, b) in enumerate(zip(other, erased)) if a != b]
            if differ and all(
                erased[i][0] in (int, float)
                and other[i][0] is erased[i][0]
                and i not in self._fixed
                and _may_be_input(leaves[i])
                for i in differ
            ):
                self._numbers |= frozenset(differ)
                report_recompilation(
                    self,
                    [],
                    [],
                    f"the number in argument {', '.join(str(i) for i in differ)} changed; "
                    f"it is an input of the graph from now on",
                )
                return True
        return False

    def _specialise_again(self, leaves: list[Any], structure: Any) -> Specialisation:
        """Traces with the freed numbers as inputs."""
        args, kwargs = unflatten(structure, iter(leaves))
        key, replaced, tensors = self._signature(args, kwargs)
        return self._specialise(key, replaced, structure, tensors)

    def _remember(self, key: tuple, made: Specialisation, leaves: list[Any]) -> None:
        self._kept.append([leaf for leaf in leaves if not isinstance(leaf, Tensor)])
        self.specialisations.setdefault(key, []).insert(0, made)

    def __repr__(self) -> str:
        return f"<jit {self.name}>"


class _NeedsNumbers(Exception):
    """The function uses a number's value in Python, so that it cannot be an input of the graph."""


def _listed(value: Any) -> Sequence[Any]:
    """What ``hash_args`` holds: nothing, one thing, or several."""
    return () if value is None else value if isinstance(value, (tuple, list)) else (value,)


def _may_be_input(leaf: Any) -> bool:
    """Whether a leaf is a Python number that a 0-d tensor can stand for; None, a bool or a tensor in its
    place is something else."""
    return type(leaf) is float or type(leaf) is int and -(1 << 63) <= leaf < 1 << 63


def _taken_apart(value: Any, outputs: list[Any]) -> Any:
    """Flattens what a function left in an attribute if the graph computes a part of it; else the attribute
    gets the very object."""
    leaves: list[Any] = []
    structure = flatten(value, leaves)
    if any(isinstance(leaf, (Tensor, Sym)) for leaf in leaves):
        outputs.extend(leaves)
        return structure
    outputs.append(value)
    return LEAF


def _as_input(number: Any) -> Tensor:
    """A Python number as a 0-d tensor; ops give it the dtype that the number itself would take."""
    return Tensor(np.array(number, np.int64 if type(number) is int else np.float64))


def _static_key(leaf: Any) -> Any:
    """What tells one Python argument from another: value and type of plain data and arrays, identity of
    anything else."""
    kind = type(leaf)
    if leaf is None or kind in (bool, int, float, str, bytes, complex, type):
        if leaf != leaf or kind in (float, complex) and leaf == 0:
            return (kind, repr(leaf))  # NaN is unlike itself, and 0.0 would equal -0.0
        return (kind, leaf)
    if kind is np.ndarray and not leaf.dtype.hasobject or isinstance(leaf, np.generic):
        return (kind, leaf.dtype.str, leaf.shape, leaf.tobytes())
    if kind is slice or kind is range:
        return (kind, *map(_static_key, (leaf.start, leaf.stop, leaf.step)))
    if kind is MethodType:  # a new object at each look-up
        return (kind, id(leaf.__self__), id(leaf.__func__))
    return ("object", id(leaf))


def _sharing(tensors: list[Tensor]) -> tuple[int, ...]:
    """For each tensor the index of the first that is the same object."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(id(x), i) for i, x in enumerate(tensors))


def _roots(tensors: list[Tensor]) -> list[Tensor]:
    return [x if x._view is None else x._view.root for x in tensors]


def _views(tensors: list[Tensor]) -> tuple:
    """How each tensor is made of its root, and which roots are the same."""
    chains = [
        None if x._view is None else tuple((op.name, *attrs.values()) for op, attrs in x._view.chain)
        for x in tensors
    ]
    roots = _roots(tensors)
    return tuple(chains), _sharing(roots), tuple(x._shape for x in roots)


def _generalise(known: list[TensorType], new: list[TensorType]) -> list[TensorType] | None:
    """Types with a symbol for each axis that showed a second size; axes that changed alike share one."""
    symbols: dict[Any, Sym] = {}
    result = []
    changed = False
    for a, b in zip(known, new):
        shape: list[Any] = []
        for d, n in zip(a.shape, b.shape):
            if isinstance(d, int) and d == n:
                shape.append(n)
                continue
            if n < 2 or (isinstance(d, int) and d < 2):
                return None  # sizes 0 and 1 broadcast differently: they keep graphs of their own
            pair = (d.text if isinstance(d, Sym) else d, n)
            changed = True
            shape.append(symbols.setdefault(pair, Sym(lo=2)))
        result.append(TensorType(b.dtype, tuple(shape)))
    return result if changed else None


def jit(
    function: Callable[..., Any] | None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **options: Any,
) -> Any:
    """Compiles a function, a method or a Cell's construct as one graph; use it as a decorator or call it.

    Args:
        function: what to compile. Positional and keyword arguments may nest tensors in tuples, lists and
            dicts.
        capture_mode, jit_level, dynamic, fullgraph, backend: checked as MindSpore checks them; one compiler
            serves all. Sizes that change become symbols by themselves, and a function is captured as a whole
            or refused, whatever ``dynamic`` and ``fullgraph`` say.
        **options: ``input_signature``: Tensors that describe the arguments, ``None`` standing for sizes that
            change (``Tensor(shape=[None, 3], dtype=ms.float32)``); ``hash_args``: whatever else a compilation
            depends on; ``jit_config``: a `JitConfig`; and those of MindSpore's backends.

    Returns:
        A callable of the same signature.

    Raises:
        ValueError: a setting out of the known ones, or a call that does not fit ``input_signature``.
        TypeError: ``function`` cannot be called, or a setting is of another type.

    Example:
        >>> @jit
        ... def step(x): return ops.tanh(x) * 2
    """
    check_options(capture_mode, jit_level, dynamic, fullgraph, backend, options)
    if function is None:
        return functools.partial(
            jit,
            capture_mode=capture_mode,
            jit_level=jit_level,
            dynamic=dynamic,
            fullgraph=fullgraph,
            backend=backend,
            **options,
        )
    if not callable(function):
        raise TypeError(
            f"jit: function must be callable. Received: {function!r} (of type {type(function).__name__})"
        )
    return JitFunction(function, dict(jit_level=jit_level, dynamic=dynamic, **options))


def ms_function(
    fn: Callable[..., Any] | None = None,
    input_signature: Any = None,
    hash_args: Any = None,
    jit_config: Any = None,
    compile_once: bool = False,
) -> Any:
    """`jit` under its older name, with its older arguments."""
    options = dict(
        input_signature=input_signature, hash_args=hash_args, jit_config=jit_config, compile_once=compile_once
    )
    return jit(fn, **options)


class _Composite(JitFunction):
    """A composite outside of tracing. Its Python code may tell a number from a tensor, so numbers stay what
    they are; with ever new ones it is carried out operator by operator, not compiled anew each time."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(fn)
        self._variants: dict[Any, int] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except _NeedsNumbers:
            return self.fn(*args, **kwargs)

    def _free_a_number(self, key: tuple, leaves: list[Any]) -> bool:
        kinds = tuple(k if isinstance(leaf, Tensor) else k[0] for k, leaf in zip(key[1:], leaves))
        count = self._variants[key[0], kinds] = self._variants.get((key[0], kinds), 0) + 1
        if count > MAX_SPECIALISATIONS:
            raise _NeedsNumbers
        return False


def call_compiled(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Runs a function through its compiled form, which lives as long as the function does."""
    compiled = function.__dict__.get("_compiled")
    if compiled is None:
        compiled = function.__dict__["_compiled"] = _Composite(function)
    return compiled(*args, **kwargs)


def call_cell(cell: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """An outermost Cell in GRAPH_MODE: its whole construct is one graph."""
    compiled = cell.__dict__.get("_compiled_construct")
    if compiled is None:
        compiled = JitFunction(cell.construct if cell._plain else cell._run_construct)
        compiled.name = type(cell).__name__
        declared = cell.__dict__.get("_inputs")
        if declared is not None:
            compiled.signature = Signature(compiled.name, declared)
        object.__setattr__(cell, "_compiled_construct", compiled)
    return compiled(*args, **kwargs)
