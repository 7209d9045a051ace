"""Functions that look at gradients on their way back: on tensors, and around Cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia.autodiff import custom
from mycelia.autodiff.state import known_state, state_of
from mycelia.autodiff.tape import Hook, Tape, in_dtype_of, token_of
from mycelia.ops import dispatch
from mycelia.tensor.tensor import Tensor
from mycelia.trace.control_flow import stage
from mycelia.trace.nesting import flatten, unflatten
from mycelia.trace.tracer import current_trace


class TensorHookHandle:
    """A hook on a tensor's gradient; `remove` takes it out again."""

    def __init__(self, lists: list[list[Hook]], hook: Hook) -> None:
        self.lists, self.hook = lists, hook
        for hooks in lists:
            hooks.append(hook)

    def remove(self) -> None:
        for hooks in self.lists:
            if self.hook in hooks:
                hooks.remove(self.hook)
        self.lists = []


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> Any:
    """Calls ``hook(grad)`` when the tensor's gradient is complete; what it returns, unless None, replaces it.

    Outside of any differentiation the hook stays with the tensor (a Parameter, or a tensor that requires a
    gradient); within a function that is being differentiated it belongs to that run.

    Returns:
        A handle with ``remove()``; inside a compiled graph the tensor itself, as in MindSpore.

    Raises:
        TypeError: not callable.
    """
    _check_callable("register_hook", hook)
    checked = _checked("register_hook", hook)
    tapes = list(_tapes())
    if not tapes:
        source = getattr(known_state(self), "source", None)
        hooks = getattr(source, "hooks", None)  # of what a recorded computation made
        return TensorHookHandle([state_of(self).hooks if hooks is None else hooks], checked)
    for tape in tapes:
        tape.settle(self)
    token = token_of(self)
    handle = TensorHookHandle([tape.hooks.setdefault(token, []) for tape in tapes], checked)
    return self if current_trace() is not None else handle


def _tapes() -> Any:
    interpreter: Any = dispatch.current() if dispatch.is_tracing() else None
    while interpreter is not None:
        if isinstance(interpreter, Tape):
            yield interpreter
        interpreter = getattr(interpreter, "below", None)


def hooked(tensor: Tensor, gradient: Tensor | None) -> Tensor | None:
    """The gradient of a tensor that is differentiated by, after the hooks that stay with the tensor."""
    state = known_state(tensor)
    if state is not None and gradient is not None:
        for hook in tuple(state.hooks):
            gradient = hook(gradient)
    return gradient


def _checked(what: str, hook: Callable[[Tensor], Any]) -> Hook:
    """The hook, with what it returns looked at."""

    def run(gradient: Tensor) -> Tensor:
        result = (hook if current_trace() is None else stage(hook))(gradient)
        return gradient if result is None else _same_type(what, result, gradient)

    return run


def _same_type(what: str, result: Any, gradient: Tensor) -> Tensor:
    if isinstance(result, (tuple, list)) and len(result) == 1:
        result = result[0]
    if not isinstance(result, Tensor) or result.ndim != gradient.ndim or result.shape != gradient.shape:
        shown = (
            result.type if isinstance(result, Tensor) else f"{result!r:.80} (of type {type(result).__name__})"
        )
        raise ValueError(
            f"{what}: the hook must return None or a gradient of shape {gradient.shape} and dtype "
            f"{gradient.dtype}. Received: {shown}"
        )
    return in_dtype_of(result, gradient)


def _check_callable(what: str, hook: Any) -> None:
    if not callable(hook):
        raise TypeError(
            f"{what}: the hook must be callable. Received: {hook!r} (of type {type(hook).__name__})"
        )


# -- around values and Cells ---------------------------------------------------------------------------------
def watched(tree: Any, hook: Callable[[tuple[Tensor, ...]], Any], what: str, always: bool = False) -> Any:
    """The same nested values; when gradients come back, the hook gets those of all floating tensors.

    Args:
        hook: returns the gradients to go on with, or None for the same ones.
        what: whom error messages name.
        always: whether the hook runs even if what is below it needs no gradient.
    """
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and x.dtype.is_float]
    if not places:
        return tree

    def backward(inputs: Any, outputs: Any, cotangents: tuple[Tensor, ...]) -> Sequence[Tensor]:
        result = hook(cotangents)
        if result is None:
            return cotangents
        items = result if isinstance(result, (tuple, list)) else (result,)
        if len(items) != len(cotangents):
            raise ValueError(
                f"{what}: the hook must return {len(cotangents)} gradient(s) or None. Received: {len(items)}"
            )
        return [g if d is None else _same_type(what, d, g) for d, g in zip(items, cotangents)]

    marked = custom.call(lambda *xs: xs, backward, [leaves[i] for i in places], always)
    for i, x in zip(places, marked):
        leaves[i] = x
    return unflatten(structure, iter(leaves))


class HookBackward:
    """A value to whose gradient a function is applied: ``hook_fn((grad,))`` returns the new one or None.

    Example:
        >>> show = ops.HookBackward(lambda grads: print(grads))
        >>> ms.grad(lambda x: show(x * x) * 2)(x)
    """

    def __init__(self, hook_fn: Callable[..., Any], cell_id: str = "") -> None:
        _check_callable("HookBackward", hook_fn)
        self.hook_fn, self.cell_id = hook_fn, cell_id

    def __call__(self, *inputs: Tensor) -> Any:
        for x in inputs:
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"HookBackward: input must be a Tensor. Received: {x!r} (of type {type(x).__name__})"
                )
        hook = self.hook_fn if current_trace() is None else stage(self.hook_fn)
        outputs = watched(inputs, hook, "HookBackward")
        return outputs[0] if len(inputs) == 1 else outputs


class InsertGradientOf:
    """A value whose gradient is ``f(gradient)``.

    Example:
        >>> clip = ops.InsertGradientOf(lambda dx: ops.clamp(dx, -1, 1))
        >>> ms.grad(lambda x: clip(x) * 5)(x)
    """

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        _check_callable("InsertGradientOf", f)
        self.f = f

    def __call__(self, input_x: Any) -> Any:
        f = self.f if current_trace() is None else stage(self.f)
        return watched(input_x, lambda grads: [f(g) for g in grads], "InsertGradientOf")
