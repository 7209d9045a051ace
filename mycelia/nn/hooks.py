"""Functions that run before and after a Cell's construct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.autodiff.bprop import run_with_bprop
from mycelia.autodiff.hooks import watched
from mycelia.trace.control_flow import stage
from mycelia.trace.tracer import current_trace

KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


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
        refresh_plainness(cell)

    def remove(self) -> None:
        remaining = [h for h in self.cell.__dict__.get(self.kind, []) if h is not self]
        setattr(self.cell, self.kind, remaining)
        refresh_plainness(self.cell)


def refresh_plainness(cell: Any) -> None:
    """To be called when the cell's hooks or policy changed: what was compiled of it alone is stale."""
    attributes = cell.__dict__
    cell._plain = cell._policy is None and not hasattr(cell, "bprop") and not any(map(attributes.get, KINDS))
    attributes.pop("_compiled_construct", None)


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


def run_backward_hooks(cell: Any, args: tuple, run: Callable[..., Any]) -> Any:
    """``run(*args)`` in between functions that see the gradients on their way back through the cell."""
    before = cell.__dict__.get("_backward_pre_hooks", ())
    after = cell.__dict__.get("_backward_hooks", ())
    if not before and not after:
        return run(*args)
    name = type(cell).__name__
    arrived: list[tuple] = [()]  # the gradients of the outputs, for the hooks that see both

    def enter(gradients: tuple) -> tuple:
        for handle in before:
            gradients = _replaced(gradients, _staged(handle.hook)(cell, gradients))
        arrived[0] = gradients
        return gradients

    def leave(gradients: tuple) -> tuple:
        for handle in after:
            gradients = _replaced(gradients, _staged(handle.hook)(cell, gradients, arrived[0]))
        return gradients

    args = watched(args, leave, f"a backward hook of {name}", always=True)
    return watched(run(*args), enter, f"a backward pre-hook of {name}")


def _replaced(gradients: tuple, result: Any) -> tuple:
    if result is None:
        return gradients
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _staged(hook: Callable[..., Any]) -> Callable[..., Any]:
    return hook if current_trace() is None else stage(hook)


def with_own_gradient(cell: Any, construct: Callable[..., Any], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """``construct``, differentiated by the cell's ``bprop`` if it has one; keyword arguments are
    constants."""
    bprop = getattr(cell, "bprop", None)
    if bprop is None:
        return construct
    name = f"{type(cell).__name__}.construct"
    return lambda *args: run_with_bprop(
        name, lambda *xs: construct(*xs, **kwargs), bprop, args, cell.trainable_params()
    )
