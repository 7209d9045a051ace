"""The one funnel: applying an operator to tensors goes to the interpreter on top of this thread's stack.

The engine registers the eager interpreter as the base; tracing (Graph mode, gradients, vmap) pushes its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from mycelia.ir import operator as registry
from mycelia.ir.operator import Operator


class Interpreter(Protocol):
    """Carries out one application of an operator and returns a tensor, or a tuple when the operator has
    several."""

    def bind(self, op: Operator, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any: ...

    def write(self, target: Any, value: Any) -> None:
        """``target[...] = value``."""
        ...


_depth = 0  # interpreters on all threads' stacks together
_depth_lock = threading.Lock()
_listener: Callable[[int, Any], None] | None = None


def set_depth_listener(listener: Callable[[int, Any], None] | None) -> None:
    """Registers ``listener(depth, tape)``, told at each change of the number of interpreters on all stacks.

    ``tape`` is the interpreter of this thread if it is the only one of all and offers ``records`` to native
    code.
    """
    global _listener
    _listener = listener
    if listener is not None:
        listener(_depth, None)


def _count(change: int, entries: list[Interpreter]) -> None:
    global _depth
    with _depth_lock:
        _depth += change
        if _listener is not None:
            tape = entries[-1] if _depth == 1 and len(entries) == 1 else None
            _listener(_depth, tape if getattr(tape, "native_records", False) else None)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entries: list[Interpreter] = []


_stack = _Stack()
_base: Interpreter | None = None


def set_base(interpreter: Interpreter) -> None:
    """Registers the interpreter that is used when no tracing is under way (the eager engine)."""
    global _base
    _base = interpreter


def base() -> Interpreter:
    """The interpreter that `set_base` registered."""
    if _base is None:
        raise RuntimeError("no engine is registered; import mycelia, not a part of it")
    return _base


def current() -> Interpreter:
    entries = _stack.entries
    return entries[-1] if entries else base()


def is_tracing() -> bool:
    return bool(_stack.entries)


@contextmanager
def interpreting(interpreter: Interpreter) -> Iterator[Interpreter]:
    """Makes an interpreter the current one within the block."""
    entries = _stack.entries
    entries.append(interpreter)
    _count(1, entries)
    try:
        yield interpreter
    finally:
        entries.pop()
        _count(-1, entries)


def bind(op: Operator, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    return current().bind(op, inputs, attrs)


registry.set_binder(bind)
