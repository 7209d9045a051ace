"""The parallel settings as an object, as MindSpore's own layers ask for them."""

from __future__ import annotations

from typing import Any

from mycelia.common import parallel_context


class _AutoParallelContext:
    """Answers ``get_KEY()`` and ``set_KEY(value)`` for the keys of `set_auto_parallel_context`."""

    def __getattr__(self, name: str) -> Any:
        action, _, key = name.partition("_")
        if action == "get":
            return lambda: parallel_context.get_auto_parallel_context(key)
        if action == "set":
            return lambda value: parallel_context.set_auto_parallel_context(**{key: value})
        raise AttributeError(f"auto_parallel_context() has get_KEY and set_KEY. Received: {name!r}")


_context = _AutoParallelContext()


def auto_parallel_context() -> _AutoParallelContext:
    """The settings of this process."""
    return _context
