"""What a traced function read from outside, and whether it is still so.

Before a function is traced, everything that it can reach is looked up: globals that its code names, closure
cells, defaults, and what hangs on those: functions it calls, Cells and their attributes, classes and modules
of the user's, containers. Values are compared as `mycelia.engine.snapshot` says. Attributes of Cells that
cannot change in place are compared again only when some Cell's attribute was written since
(`attribute_epoch`). Attributes that the function itself writes (``self.n += 1``) are outputs of the graph,
applied after each run; from the second run on they are inputs as well, so that 1, 2, 3 come out and not
1, 1, 1.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mycelia.engine import mode
from mycelia.engine.snapshot import CONTAINERS, PLAIN, changeable, frozen, unchanged
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.trace.location import is_own_code
from mycelia.trace.tracer import Trace, TracedTensor

MISSING = object()
_DEPTH = 8


class Read:
    """One value that was read: where it lives, what it was, and how it is compared."""

    __slots__ = ("path", "get", "value", "plain")

    def __init__(self, path: str, get: Callable[[], Any], value: Any) -> None:
        self.path, self.get, self.value = path, get, frozen(value)
        self.plain = self.value is not value or type(value) in PLAIN

    def holds(self) -> bool:
        return unchanged(self.value, self.get())


class Attribute:
    """An attribute that the function writes, and what it wrote in the trace."""

    __slots__ = ("owner", "name", "value")

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self.owner, self.name, self.value = owner, name, value


class Guards:
    """Recorded around one trace of ``fn``.

    Args:
        fn: the function or bound method.
        inputs: attributes that an earlier trace saw written: their values are inputs of this one.
        arguments: the call's Python arguments, among which may be Cells.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        inputs: set[tuple[int, str]] = frozenset(),  # type: ignore[assignment]
        arguments: tuple[Any, ...] = (),
    ) -> None:
        self.fn = fn
        self.reads: list[Read] = []
        self.cell_reads: list[Read] = []
        self.written: list[Attribute] = []
        self.cells: list[Any] = []
        self.fields: list[tuple[Any, str]] = []  # written attributes whose value is an input
        self.failed: Read | None = None
        self._inputs = inputs
        self._before: list[tuple[Any, dict[str, Any]]] = []
        self._stand_ins: dict[tuple[int, str], TracedTensor] = {}
        self._seen: set[int] = set()
        self._epoch = -1
        self._names: set[str] = set()  # what the code found so far mentions
        self._objects: list[tuple[str, Any, int, set[str]]] = []  # with the names looked up in each
        self._reach("", fn, 0)
        for i, argument in enumerate(arguments):
            if isinstance(argument, CONTAINERS):  # of a kind that is not taken apart
                self._note(f"argument {i}", lambda argument=argument: argument, argument, 0)
            elif not isinstance(argument, Tensor):
                self._reach(f"argument {i}", argument, 0)
        self._look_into_objects()
        self._mode = (mode.current,)

    # -- finding what can be read --------------------------------------------------------------------------
    def _reach(self, path: str, thing: Any, depth: int) -> None:
        if depth > _DEPTH or id(thing) in self._seen:
            return
        if isinstance(thing, types.MethodType):
            self._reach(f"{path}.__self__" if path else "self", thing.__self__, depth)
            self._reach(path, thing.__func__, depth)
            return
        if hasattr(thing, "__wrapped__"):
            self._seen.add(id(thing))
            self._reach(path, thing.__wrapped__, depth)
        if hasattr(thing, "func") and hasattr(thing, "keywords"):  # functools.partial
            for value in (thing.func, *thing.args, *thing.keywords.values()):
                self._reach(path, value, depth)
            return
        if isinstance(thing, types.FunctionType):
            self._seen.add(id(thing))
            if not is_own_code(thing.__code__):
                self._function(path, thing, depth)
                self._objects.append((path, thing, depth, set(_FUNCTIONS_OWN)))
        elif _is_cell(thing):
            self._seen.add(id(thing))
            self._cell(path, thing, depth)
        elif isinstance(thing, CONTAINERS):
            self._seen.add(id(thing))
            items = thing.items() if isinstance(thing, dict) else enumerate(thing)
            for key, value in list(items):
                self._reach(f"{path}[{key!r}]", value, depth + 1)
        elif _is_plain_object(thing):
            self._seen.add(id(thing))
            self._names.update(_special_methods(type(thing)))
            self._objects.append((path, thing, depth, set()))
            if hasattr(thing, "__dict__"):
                self.cells.append(thing)
        elif isinstance(thing, (type, types.ModuleType)) and _is_users(thing):
            self._seen.add(id(thing))
            if isinstance(thing, type):
                self._names.update(_special_methods(thing))
            self._objects.append((path, thing, depth, set()))

    def _look_into_objects(self) -> None:
        """Attributes and methods of objects of the user's classes, as far as code mentions their names.
        What is found may mention more."""
        before = -1
        while before != (before := len(self._names) + len(self._objects)):
            for path, thing, depth, known in self._objects:  # may grow meanwhile
                self._look_into(path, thing, depth, known)

    def _look_into(self, path: str, thing: Any, depth: int, known: set[str]) -> None:
        for name in sorted(self._names - known):
            known.add(name)
            own = getattr(thing, "__dict__", {})
            value = _attribute(thing, name)
            function = getattr(value, "__func__", getattr(value, "fget", value))
            if isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
                self._reach(f"{path}.{name}", function, depth + 1)
                continue
            if _is_cell(thing) and (name in own or hasattr(_cell_class(), name)):
                continue  # compared with the other attributes of Cells
            if value is not MISSING and not isinstance(value, (property, staticmethod, classmethod)):
                get = lambda thing=thing, name=name: _attribute(thing, name)  # noqa: E731
                if name in own and self._is_input(thing, name, value):
                    self.fields.append((thing, name))
                    self.reads.append(Read(f"{path}.{name}", lambda get=get: _kind(get()), _kind(value)))
                else:
                    self._note(f"{path}.{name}", get, value, depth)

    def _is_input(self, owner: Any, name: str, value: Any) -> bool:
        """Whether an earlier trace saw the attribute written, so that its value is an input of this one."""
        return (
            (id(owner), name) in self._inputs
            and isinstance(value, (int, float, Tensor))
            and type(value) is not bool
        )

    def _function(self, path: str, function: types.FunctionType, depth: int) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            self._note(name, lambda cell=cell: cell.cell_contents, value, depth)
        for name in ("__defaults__", "__kwdefaults__"):
            defaults = getattr(function, name)
            if defaults:
                get = lambda name=name: getattr(function, name)  # noqa: E731
                self._note(f"{function.__name__}.{name}", get, defaults, depth)
        space = function.__globals__
        names = set(_names(function.__code__))
        self._names |= names
        for name in sorted(names):
            if name in space:
                self._note(name, lambda name=name: space.get(name, MISSING), space[name], depth)

    def _note(self, path: str, get: Callable[[], Any], value: Any, depth: int) -> None:
        if type(value) is str and value.isidentifier():
            self._names.add(value)  # may be the name of an attribute that `getattr` is asked for
        self.reads.append(Read(path, get, value))
        self._reach(path, value, depth + 1)

    def _cell(self, path: str, cell: Any, depth: int) -> None:
        for name, value in list(vars(cell).items()):
            if name in _BOOKKEEPING or isinstance(value, Parameter):
                continue
            if _is_cell(value):
                continue
            if self._is_input(cell, name, value):
                self.fields.append((cell, name))
                kind = _kind(value)
                self.cell_reads.append(
                    Read(f"{path}.{name}", lambda cell=cell, name=name: _kind(vars(cell).get(name)), kind)
                )
                continue
            get = lambda cell=cell, name=name: vars(cell).get(name, MISSING)
            reads = self.reads if changeable(value) else self.cell_reads
            reads.append(Read(f"{path}.{name}", get, value))
            self._reach(f"{path}.{name}", value, depth + 1)
        self.cells.append(cell)
        for name, child in cell._cells.items():
            self.cell_reads.append(
                Read(f"{path}.{name}", lambda cell=cell, name=name: cell._cells.get(name), child)
            )
            if child is not None:
                self._reach(f"{path}.{name}", child, depth)
        self._objects.append((path, cell, depth, set()))
        construct = getattr(type(cell), "construct", None)
        if isinstance(construct, types.FunctionType) and id(construct) not in self._seen:
            self._reach(path, construct, depth)

    # -- around the trace ----------------------------------------------------------------------------------
    @contextmanager
    def recording(self, trace: Trace) -> Iterator[None]:
        """Within, the function may run; after, attributes are as they were."""
        self._before = [(cell, dict(vars(cell))) for cell in self.cells]
        self._stand_ins = {}
        for cell, name in self.fields:
            value = vars(cell)[name]
            stand_in = trace.argument(value if isinstance(value, Tensor) else Tensor(value), name=name)
            stand_in.weak = not isinstance(value, Tensor)
            self._stand_ins[id(cell), name] = vars(cell)[name] = stand_in
        try:
            yield
        finally:
            for cell, old in self._before:
                _restore(vars(cell), old)
            self._epoch = _epoch()

    def effects(self) -> list[Any]:
        """What the function left in attributes; tensors among them become outputs of the graph. Ask before
        `recording` ends."""
        for cell, old in self._before:
            for name, value in vars(cell).items():
                known = self._stand_ins.get((id(cell), name), old.get(name, MISSING))
                same = (
                    value is known or type(value) in PLAIN and type(value) is type(known) and value == known
                )
                if not same and name not in _BOOKKEEPING:
                    self.written.append(Attribute(cell, name, value))
        return [a.value for a in self.written]

    def apply_effects(self, values: list[Any]) -> None:
        """Writes the attributes after a run."""
        for attribute, value in zip(self.written, values):
            old = vars(attribute.owner).get(attribute.name)
            if type(old) in (int, float) and isinstance(value, Tensor):
                value = type(old)(value.asnumpy().item())
            if (id(attribute.owner), attribute.name) in self._stand_ins:
                object.__setattr__(attribute.owner, attribute.name, value)
            else:
                setattr(
                    attribute.owner, attribute.name, value
                )  # counts as a change: the next call looks again

    def field_values(self) -> list[Tensor]:
        """The inputs that come from attributes."""
        values = (vars(cell)[name] for cell, name in self.fields)
        return [v if isinstance(v, Tensor) else Tensor(v) for v in values]

    def repeats(self) -> set[tuple[int, str]]:
        """Written attributes that the function read before: they must be inputs of the next trace."""
        return {(id(a.owner), a.name) for a in self.written}

    # -- before each run -----------------------------------------------------------------------------------
    def hold(self) -> bool:
        """Whether all that was read is as it was. `failed` says what is not."""
        if self._mode[0] != mode.current:
            return False
        for read in self.reads:
            if not read.holds():
                self.failed = read
                return False
        epoch = _epoch()
        if epoch != self._epoch:
            for read in self.cell_reads:
                if not read.holds():
                    self.failed = read
                    return False
            self._epoch = epoch
        return True


# What Cells keep about themselves. Any other attribute may steer the computation.
_BOOKKEEPING = frozenset(
    ["_params", "_cells", "_auto_prefix", "_flags", "_compiled_construct", "_jit_config", "_hooks", "_inputs"]
)


def _restore(attributes: dict[str, Any], old: dict[str, Any]) -> None:
    """Puts back what differs, and nothing else: other threads may be reading."""
    for name in [name for name in attributes if name not in old]:
        del attributes[name]
    for name, value in old.items():
        if attributes.get(name, MISSING) is not value:
            attributes[name] = value


def _kind(value: Any) -> Any:
    return (value.shape, value.dtype) if isinstance(value, Tensor) else type(value)


def _names(code: types.CodeType) -> Iterator[str]:
    """Names that a code object and those inside it mention, also as strings (``getattr(x, "name")``)."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant


def _is_cell(thing: Any) -> bool:
    return hasattr(type(thing), "construct") and hasattr(thing, "_cells")


def _is_plain_object(thing: Any) -> bool:
    """Whether it is an object with attributes, of a class of the user's."""
    kind = type(thing)
    if isinstance(thing, (type, types.ModuleType, types.FunctionType)) or _is_cell(thing):
        return False
    if not (_is_users(kind) or kind in (types.SimpleNamespace, argparse.Namespace)):
        return False
    return isinstance(getattr(thing, "__dict__", None), dict) or any(
        "__slots__" in vars(base) for base in kind.__mro__
    )


def _is_users(thing: Any) -> bool:
    """Whether a class or a module is neither Python's nor the package's, nor a module of a library."""
    if isinstance(thing, types.ModuleType) and str(getattr(thing, "__file__", "")).startswith(_LIBRARIES):
        return False
    name = thing.__module__ if isinstance(thing, type) else thing.__name__
    return str(name).partition(".")[0] not in _NOT_USERS


def _special_methods(kind: type) -> Iterator[str]:
    """Methods of a user's class that code calls without naming them, such as ``__call__``."""
    for base in kind.__mro__:
        if _is_users(base):
            for name, value in vars(base).items():
                if name.startswith("__") and isinstance(value, types.FunctionType):
                    yield name


# Attributes that every function has: what they lead to is looked up otherwise.
_FUNCTIONS_OWN = frozenset(dir(types.FunctionType)) | {"__wrapped__"}
_LIBRARIES = tuple({sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")})
_NOT_USERS = (sys.stdlib_module_names - {"__main__"}) | {"builtins", "numpy", "mycelia", "mindspore"}


def _cell_class() -> Any:
    module = sys.modules.get("mycelia.nn.cell")
    return module.Cell if module is not None else object


def _attribute(thing: Any, name: str) -> Any:
    """An object's own attribute or its class's, without running any code of the class."""
    own = getattr(thing, "__dict__", {})
    if name in own:
        return own[name]
    kinds = thing.__mro__ if isinstance(thing, type) else type(thing).__mro__
    value = next((vars(kind)[name] for kind in kinds if name in vars(kind)), MISSING)
    if isinstance(value, types.MemberDescriptorType) and not isinstance(thing, type):
        return getattr(thing, name, MISSING)  # a slot
    return value


def _epoch() -> int:
    module = sys.modules.get("mycelia.nn.cell")
    return module.attribute_epoch if module is not None else 0
