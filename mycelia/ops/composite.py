"""Composites: functions written over operators, which the engine may run as one compiled plan.

Inside a trace a composite is inlined, so that gradients, batching and fusion see its operators. Outside, the
eager engine's runner gets the whole function.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from mycelia.ir.types import NeedsConcrete
from mycelia.ops import dispatch

F = TypeVar("F", bound=Callable[..., Any])

Runner = Callable[[Callable[..., Any], tuple, dict[str, Any]], Any]
_runner: Runner | None = None


def set_composite_runner(runner: Runner | None) -> None:
    """Registers ``runner(function, args, kwargs)``, which carries out composites outside of tracing."""
    global _runner
    _runner = runner


def composite(function: F) -> F:
    """Marks a function over tensors that is worth compiling as one piece.

    The function must be pure apart from operators, and depend on nothing but its arguments.

    Example:
        >>> @composite
        ... def silu(x): return x * Sigmoid(x)
    """
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _runner is None or dispatch.is_tracing():
            for x in (*args, *kwargs.values()):
                if getattr(x, "fixable", False):
                    raise NeedsConcrete(f"the number given to {function.__name__}")
            return function(*args, **kwargs)
        return _runner(function, args, kwargs)
    return call  # type: ignore[return-value]
