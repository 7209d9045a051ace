"""The one funnel: applying an operator to tensors goes to the interpreter on top of this thread's stack.

The engine registers the eager interpreter as the base; tracing (Graph mode, gradients, vmap) pushes its own.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from mycelia.ir import operator as registry
from mycelia.ir.operator import Operator


class Interpreter(Protocol):
    """Carries out one application of an operator and returns a tensor, or a tuple when the operator has several."""

    def bind(self, op: Operator, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any: ...


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entries: list[Interpreter] = []


_stack = _Stack()
_base: Interpreter | None = None


def set_base(interpreter: Interpreter) -> None:
    """Registers the interpreter that is used when no tracing is under way (the eager engine)."""
    global _base
    _base = interpreter


def current() -> Interpreter:
    entries = _stack.entries
    if entries:
        return entries[-1]
    if _base is None:
        raise RuntimeError("no engine is registered; import mycelia, not a part of it")
    return _base


def is_tracing() -> bool:
    return bool(_stack.entries)


@contextmanager
def interpreting(interpreter: Interpreter) -> Iterator[Interpreter]:
    """Makes an interpreter the current one within the block."""
    _stack.entries.append(interpreter)
    try:
        yield interpreter
    finally:
        _stack.entries.pop()


def bind(op: Operator, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    return current().bind(op, inputs, attrs)


registry.set_binder(bind)
