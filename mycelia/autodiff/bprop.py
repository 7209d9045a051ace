"""Gradients that the user writes: ``bprop`` of Cells, and `custom_bprop` for functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mycelia.autodiff import custom, recording
from mycelia.autodiff.tape import in_dtype_of
from mycelia.ops import dispatch
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.trace.control_flow import stage
from mycelia.trace.nesting import flatten, unflatten
from mycelia.trace.tracer import current_trace


def run_with_bprop(
    owner: str,
    function: Callable[..., Any],
    bprop: Callable[..., Any],
    args: tuple,
    parameters: Sequence[Parameter] = (),
) -> Any:
    """``function(*args)``, whose gradient is ``bprop(*args, out, dout)``.

    Args:
        owner: whom error messages name.
        bprop: returns one cotangent for each argument (a single one need not be in a tuple); or a pair of
            those and a dict from Parameters to theirs.
        parameters: what that dict may hold.

    Raises:
        TypeError: ``bprop`` takes another number of arguments.
        ValueError: it returns another number of cotangents, or one of another shape.
    """
    if not dispatch.is_tracing() and not recording.follows_any([*args, *parameters]):
        return function(*args)
    if current_trace() is not None:
        bprop = stage(bprop)
    leaves: list[Any] = []
    structure = flatten(args, leaves)
    places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
    count = len(places)
    shape_of_result: list[Any] = []

    def with_tensors(tensors: Sequence[Any]) -> tuple:
        filled = list(leaves)
        for i, x in zip(places, tensors):
            filled[i] = x
        return unflatten(structure, iter(filled))

    def forward(*tensors: Tensor) -> list[Tensor]:
        out: list[Any] = []
        shape_of_result[:] = [flatten(function(*with_tensors(tensors[:count])), out)]
        shape_of_result.append(out)
        return [y for y in out if isinstance(y, Tensor)]

    def rebuilt(tensors: Sequence[Any]) -> Any:
        fresh = iter(tensors)
        return unflatten(
            shape_of_result[0],
            iter([next(fresh) if isinstance(y, Tensor) else y for y in shape_of_result[1]]),
        )

    def backward(inputs: Any, outputs: Any, cotangents: Any) -> list[Tensor | None]:
        given = with_tensors(inputs[:count])
        got = _call_bprop(owner, bprop, (*given, rebuilt(outputs), rebuilt(cotangents)), len(given))
        by_parameter: dict[Any, Any] = {}
        if isinstance(got, (tuple, list)) and len(got) == 2 and isinstance(got[1], dict):
            got, by_parameter = got
        if not isinstance(got, (tuple, list)) or (
            len(args) == 1 and len(got) != 1 and isinstance(args[0], (tuple, list))
        ):
            got = (got,)
        if len(got) != len(args):
            raise ValueError(
                f"{owner}: bprop must return one gradient for each of the {len(args)} argument(s). Received: "
                f"{len(got)}"
            )
        flat: list[Any] = []
        for argument, d in zip(args, got):
            flat += _matching(argument, d)
        result = [
            _fitting(owner, f"argument {k}", flat[i], x)
            for k, (i, x) in enumerate(zip(places, inputs[:count]))
        ]
        return result + [
            _fitting(owner, f"parameter {p.name!r}", by_parameter.get(p), p) for p in parameters
        ]

    outputs = custom.call(forward, backward, [*[leaves[i] for i in places], *parameters])
    return rebuilt(outputs)


def _call_bprop(owner: str, bprop: Callable[..., Any], arguments: tuple, count: int) -> Any:
    code = getattr(getattr(bprop, "__func__", bprop), "__code__", None)
    if code is not None and not code.co_flags & 0x04:
        expected = code.co_argcount - hasattr(bprop, "__self__")
        defaults = getattr(bprop, "__defaults__", None) or ()
        if not expected - len(defaults) <= len(arguments) <= expected:
            names = code.co_varnames[code.co_argcount - expected : code.co_argcount]
            raise TypeError(
                f"{owner}: bprop must take the {count} argument(s) of the forward computation, then out and "
                f"dout: {count + 2} in all. Received: bprop({', '.join(names)}) ({code.co_filename}:"
                f"{code.co_firstlineno})"
            )
    return bprop(*arguments)


def _matching(argument: Any, gradient: Any) -> list[Any]:
    """The gradient's leaves in the order of the argument's."""
    leaves: list[Any] = []
    structure = flatten(argument, leaves)
    if gradient is None:
        return [None] * len(leaves)
    given: list[Any] = []
    if flatten(gradient, given) != structure:
        raise ValueError(
            f"bprop: the gradient of a nested argument must be nested alike, {structure}. Received: "
            f"{gradient!r:.80}"
        )
    return given


def _fitting(owner: str, what: str, gradient: Any, x: Tensor) -> Tensor | None:
    if gradient is None or not isinstance(gradient, Tensor):
        return None
    if gradient.ndim != x.ndim or gradient.shape != x.shape:
        raise ValueError(
            f"{owner}: bprop's gradient of {what} must have its shape {x.shape}. Received: {gradient.shape}"
        )
    return in_dtype_of(gradient, x)


def custom_bprop(bprop: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a function a gradient of its own, in both modes, under `vmap` and for higher orders.

    Args:
        bprop: called as ``bprop(*args, out, dout)``; returns one gradient for each argument.

    Returns:
        A decorator.

    Example:
        >>> @ms.custom_bprop(lambda x, out, dout: dout * (out > 0))
        ... def straight(x): return ops.relu(x)
    """
    if not callable(bprop):
        raise TypeError(
            f"custom_bprop: bprop must be callable. Received: {bprop!r} (of type {type(bprop).__name__})"
        )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(function, "__qualname__", type(function).__name__)

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            inner = function if current_trace() is None else stage(function)
            return run_with_bprop(name, inner, bprop, args)

        return call

    return decorate
