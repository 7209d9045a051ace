"""What `jit` may be told: MindSpore's settings, checked as it checks them. One compiler serves all levels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

_CAPTURE_MODES = ("ast", "bytecode", "trace")
_LEVELS = ("O0", "O1")
_BACKENDS = ("", "ms_backend", "GE")
# Settings of MindSpore's backends, and the values that they may have.
_OPTIONS: dict[str, tuple[Any, ...] | None] = {
    "disable_format_transform": (False, True),
    "exec_order": ("bfs", "dfs"),
    "infer_boost": ("on", "off"),
    "auto_offload": ("", "weight", "activation", "all"),
    "compile_once": (False, True),
    "mode": ("PSJit", "PIJit"),
    "jit_config": None,
    "hash_args": None,
    "input_signature": None,
}


def check_options(
    capture_mode: Any, jit_level: Any, dynamic: Any, fullgraph: Any, backend: Any, options: dict[str, Any]
) -> None:
    """Refuses values that `jit` does not know; warns of unknown options.

    Raises:
        ValueError: a value out of the known ones.
        TypeError: ``dynamic`` is no int, ``fullgraph`` no bool, ``jit_config`` no JitConfig.
    """
    _one_of("capture_mode", capture_mode, _CAPTURE_MODES)
    _one_of("jit_level", jit_level, _LEVELS)
    if isinstance(dynamic, bool) or not isinstance(dynamic, int):
        raise TypeError(f"jit: dynamic must be an int. Received: dynamic={dynamic!r}")
    _one_of("dynamic", dynamic, (0, 1))
    if not isinstance(fullgraph, bool):
        raise TypeError(f"jit: fullgraph must be a bool. Received: fullgraph={fullgraph!r}")
    _one_of("backend", backend, _BACKENDS)
    for name, value in options.items():
        if name not in _OPTIONS:
            warnings.warn(
                f"jit: option {name}={value!r} is unknown and has no effect. Known: {', '.join(_OPTIONS)}",
                stacklevel=3,
            )
            continue
        allowed = _OPTIONS[name]
        if allowed is not None:
            _one_of(name, value, allowed)
    config = options.get("jit_config")
    if config is not None and not hasattr(config, "jit_config_dict"):
        raise TypeError(
            f"jit: jit_config must be a JitConfig. Received: {config!r} (of type {type(config).__name__})"
        )


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed or type(value) not in {type(a) for a in allowed}:
        raise ValueError(
            f"jit: {name} must be one of {', '.join(map(repr, allowed))}. Received: {name}={value!r}"
        )


def jit_class(cls: type) -> type:
    """Marks a class whose objects are used inside compiled functions; any class may be, so it stays as it is.

    Raises:
        TypeError: not a class, or a Cell.
    """
    if not isinstance(cls, type):
        raise TypeError(f"jit_class: must decorate a class. Received: {cls!r} (of type {type(cls).__name__})")
    if hasattr(cls, "construct") and hasattr(cls, "cells_and_names"):
        raise TypeError(f"jit_class: {cls.__name__} is a Cell, which needs no such mark")
    cls.__ms_class__ = True  # type: ignore[attr-defined]
    return cls


def lazy_inline(
    fn: Callable[..., Any] | None = None, attrs: Any = None, policy: Any = None
) -> Callable[..., Any]:
    """Accepted as MindSpore has it: how a Cell's graph is put into another makes no difference here."""
    return fn if fn is not None else lambda function: function


def no_inline(fn: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Accepted as MindSpore has it: a compiled function is one graph."""
    return fn if fn is not None else lambda function: function
