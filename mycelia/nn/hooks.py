"""Functions that run before and after a Cell's construct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HookHandle:
    """A registered hook; `remove` takes it out again."""

    def __init__(
        self, cell: Any, kind: str, hook: Callable[..., Any], prepend: bool, with_kwargs: bool
    ) -> None:
        if not callable(hook):
            raise TypeError(f"a hook must be callable. Received: {hook!r} (of type {type(hook).__name__})")
        self.cell, self.kind, self.hook, self.with_kwargs = cell, kind, hook, with_kwargs
        hooks: list[HookHandle] = cell.__dict__.get(kind, [])
        setattr(cell, kind, [self, *hooks] if prepend else [*hooks, self])
        cell._plain = False

    def remove(self) -> None:
        remaining = [h for h in self.cell.__dict__.get(self.kind, []) if h is not self]
        setattr(self.cell, self.kind, remaining)
        others = (self.cell.__dict__.get(kind) for kind in ("_forward_pre_hooks", "_forward_hooks"))
        self.cell._plain = self.cell._compute_dtype is None and not any(others)


def run_pre_hooks(cell: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The inputs after the cell's pre-hooks."""
    for handle in cell.__dict__.get("_forward_pre_hooks", ()):
        if handle.with_kwargs:
            result = handle.hook(cell, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        "a forward pre-hook with kwargs must return None or (args, kwargs). Received: "
                        f"{result!r:.80}"
                    )
                args, kwargs = result
        else:
            result = handle.hook(cell, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
    return args, kwargs


def run_forward_hooks(cell: Any, args: tuple, kwargs: dict[str, Any], output: Any) -> Any:
    """The output after the cell's forward hooks."""
    for handle in cell.__dict__.get("_forward_hooks", ()):
        result = (
            handle.hook(cell, args, kwargs, output) if handle.with_kwargs else handle.hook(cell, args, output)
        )
        if result is not None:
            output = result
    return output
