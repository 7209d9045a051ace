"""`grad`, `value_and_grad`, `vjp`: the public reverse-mode transformations, the same in both modes."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mycelia.autodiff import control_flow  # noqa: F401  (registers the gradients of Cond and While)
from mycelia.autodiff.hooks import hooked
from mycelia.autodiff.state import mark_unused
from mycelia.autodiff.tape import Tape, ones_like, token_of, zeros_like
from mycelia.ops import dispatch
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.trace.control_flow import stage
from mycelia.trace.nesting import flatten, map_leaves, unflatten
from mycelia.trace.tracer import current_trace

logger = logging.getLogger("mycelia")


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """A function that returns ``fn``'s value together with its gradients.

    A parameter among ``weights`` that the result does not depend on gets zeros, which optimizers take as "no
    update" (no weight decay and no momentum either); a warning names such parameters.

    Args:
        fn: a function or Cell; its first result is differentiated (summed over its elements when not a
            scalar).
        grad_position: index or indices of the arguments to differentiate by; None for none.
        weights: Parameter(s) to differentiate by as well.
        has_aux: ``fn`` returns the loss first and anything else after it, which gets no gradient.
        return_ids: gradients come as (position or parameter name, gradient).
        sens_param: the last positional argument is not ``fn``'s but the cotangent of its result.

    Returns:
        A function giving ``(value, gradients)``: one gradient, or a tuple; with both ``grad_position`` and
        ``weights`` a pair.

    Raises:
        TypeError: an argument or the result is not a floating tensor.

    Example:
        >>> value_and_grad(lambda x: (x * x).sum())(Tensor([3.0]))
    """
    if not callable(fn):
        raise TypeError(f"grad: fn must be callable. Received: {fn!r} (of type {type(fn).__name__})")
    if grad_position is None and weights is None:
        raise ValueError(
            "value_and_grad: grad_position and weights are both None; nothing to differentiate by"
        )
    if has_aux and sens_param:
        raise ValueError("value_and_grad: has_aux and sens_param cannot both be True")
    parameters = None if weights is None else parameters_of(weights)
    told: set[tuple[str, ...]] = set()

    @functools.wraps(fn if hasattr(fn, "__name__") else type(fn))
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        compiled = graph_mode_call(differentiated, args, kwargs)
        if compiled is not EAGER:
            return compiled
        args, seeds = _split_sens(args) if sens_param else (args, None)
        positions = () if grad_position is None else positions_of(grad_position, len(args))
        tape = Tape()
        operands = list(args)
        with dispatch.interpreting(tape):
            for p in positions:
                what = f"argument {p} of {name_of(fn)}"
                operands[p] = map_leaves(
                    lambda leaf, what=what: tape.alias(differentiable(leaf, what)), args[p]
                )
            leaves: list[Tensor] = []
            structures = [flatten(operands[p], leaves) for p in positions]
            tokens = [token_of(x) for x in leaves]  # now: the function may write to its arguments
            result = staged(fn)(*operands, **kwargs)
            roots = _roots(result, has_aux, fn)
            for y in roots:  # views of what was written since
                tape.settle(y)
        originals: list[Tensor] = []
        for p in positions:
            flatten(args[p], originals)
        wanted = [*leaves, *(parameters or ())]
        tokens += [token_of(p) for p in parameters or ()]
        got = tape.backward(roots, _seeds(seeds, roots, fn), tokens)
        got = [hooked(x, g) for x, g in zip([*originals, *(parameters or ())], got)]
        filled = [zeros_like(x) if g is None else g for x, g in zip(wanted, got)]
        if parameters is not None:
            _report_unused(fn, parameters, got[len(leaves) :], filled[len(leaves) :], told)
        by_position = _by_position(structures, iter(filled), grad_position)
        by_weight: Any = tuple(filled[len(leaves) :])
        if isinstance(weights, Parameter):
            by_weight = by_weight[0]
        if return_ids:
            by_position, by_weight = _with_ids(
                by_position, by_weight, positions, parameters, grad_position, weights
            )
        if parameters is None:
            return result, by_position
        return result, (by_weight if grad_position is None else (by_position, by_weight))

    return differentiated


def grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """As `value_and_grad`, returning the gradients alone, or ``(gradients, aux)`` with ``has_aux``."""
    inner = value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)

    @functools.wraps(inner)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = inner(*args, **kwargs)
        return (gradients, value[1:]) if has_aux else gradients

    return gradient


def get_grad(gradients: Any, identifier: Any) -> Tensor:
    """One gradient out of what `grad` returned with ``return_ids=True``.

    Args:
        gradients: pairs of (position or parameter name, gradient), nested as `grad` nests them.
        identifier: a position, or a Parameter.

    Raises:
        TypeError: the identifier is neither.
        RuntimeError: there is no gradient of that position or parameter; lists those that are there.
    """
    if isinstance(identifier, bool) or not isinstance(identifier, (int, Parameter)):
        raise TypeError(
            f"get_grad: identifier must be an int or a Parameter. Received: {identifier!r} (of type "
            f"{type(identifier).__name__})"
        )
    key = identifier.name if isinstance(identifier, Parameter) else identifier
    pairs = list(_pairs(gradients))
    for known, gradient in pairs:
        if known == key:
            return gradient
    raise RuntimeError(
        f"get_grad: there is no gradient for {key!r}. Known: {', '.join(repr(k) for k, _ in pairs) or 'none'}"
    )


def _pairs(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        if len(tree) == 2 and type(tree[0]) in (int, str):
            yield tree
        else:
            for item in tree:
                yield from _pairs(item)


def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """The value of ``fn(*inputs)`` and the function that pulls cotangents of its outputs back to its inputs.

    Returns:
        ``(outputs, pull)``, or ``(outputs, pull, aux)`` with ``has_aux``. ``pull(*cotangents)`` returns a
        tuple with one cotangent for each input; with ``weights`` a pair of that and the weights' cotangents.

    Raises:
        TypeError: an input or output is not a floating tensor.
        ValueError: the cotangents differ from the outputs in number or shape.

    Example:
        >>> _, pull = vjp(lambda x: x * x, Tensor([3.0]))
        >>> pull(Tensor([1.0]))
    """
    parameters = None if weights is None else parameters_of(weights)
    tape = Tape(dispatch.current())
    with dispatch.interpreting(tape):
        operands = tuple(
            map_leaves(lambda leaf: tape.alias(differentiable(leaf, f"an input of {name_of(fn)}")), x)
            for x in inputs
        )
        leaves: list[Tensor] = []
        structures = [flatten(x, leaves) for x in operands]
        tokens = [token_of(x) for x in leaves]
        result = staged(fn)(*operands)
        outputs, aux = split_aux(result, fn) if has_aux else (result, None)
        roots: list[Any] = []
        flatten(outputs, roots)
        for y in roots:
            tape.settle(differentiable(y, f"the result of {name_of(fn)}"))
    wanted = [*leaves, *(parameters or ())]
    tokens += [token_of(p) for p in parameters or ()]

    def pull(*cotangents: Any) -> Any:
        given: list[Any] = []
        flatten(cotangents, given)
        got = tape.backward(roots, _checked_seeds("vjp", given, roots), tokens)
        filled = [zeros_like(x) if g is None else g for x, g in zip(wanted, got)]
        remaining = iter(filled)
        pulled = tuple([unflatten(s, remaining) for s in structures])
        return pulled if parameters is None else (pulled, tuple(filled[len(leaves) :]))

    return (outputs, pull, aux) if has_aux else (outputs, pull)


# -- arguments and results -----------------------------------------------------------------------------------
def differentiable(value: Any, what: str) -> Tensor:
    """The value, if it can have a gradient.

    Raises:
        TypeError: not a floating tensor.
    """
    if not isinstance(value, Tensor):
        cure = ". Wrap it in mindspore.Tensor" if isinstance(value, (float, np.ndarray)) else ""
        if value is None and what.startswith("the result"):
            cure = ". Does it lack a return?"
        kind = type(value).__name__
        raise TypeError(f"{what} must be a Tensor. Received: {value!r} (of type {kind}){cure}")
    if not value.dtype.is_float:
        raise TypeError(
            f"{what} must be of a floating dtype to have a gradient. Received: {value.type}; convert it with "
            f"astype(ms.float32)"
        )
    return value


def parameters_of(weights: Any) -> tuple[Parameter, ...]:
    """``weights`` as a tuple.

    Raises:
        TypeError: something among them is not a Parameter.
    """
    if not isinstance(weights, Iterable) or isinstance(weights, str):
        cure = " Give net.trainable_params()" if hasattr(weights, "trainable_params") else ""
        raise TypeError(
            "weights must be a Parameter or a list of them. Received: an object of type "
            f"{type(weights).__name__}.{cure}"
        )
    items = (weights,) if isinstance(weights, Parameter) else tuple(weights)
    for item in items:
        if not isinstance(item, Parameter):
            raise TypeError(f"weights must be Parameters. Received: {item!r} (of type {type(item).__name__})")
    return items


def positions_of(grad_position: Any, count: int) -> tuple[int, ...]:
    """Non-negative indices of the arguments to differentiate by."""
    positions = grad_position if isinstance(grad_position, (tuple, list)) else (grad_position,)
    for p in positions:
        if type(p) is not int:
            raise TypeError(
                f"grad_position must be an int, a tuple of ints or None. Received: {grad_position!r}"
            )
        if not -count <= p < count:
            raise ValueError(
                f"grad_position {p} is out of range: the function was called with {count} positional "
                f"argument(s)"
            )
    return tuple(p % count for p in positions)


def _split_sens(args: tuple) -> tuple[tuple, Any]:
    if not args:
        raise TypeError(
            "grad: with sens_param the last argument is the cotangent of the result; none is given"
        )
    return args[:-1], args[-1]


def _seeds(given: Any, roots: Sequence[Tensor], fn: Any) -> Sequence[Tensor]:
    if given is None:
        return [ones_like(y) for y in roots]
    leaves: list[Any] = []
    flatten(given, leaves)
    return _checked_seeds(f"the gradient of {name_of(fn)}", leaves, roots)


def _checked_seeds(what: str, given: Sequence[Any], roots: Sequence[Tensor]) -> Sequence[Tensor]:
    if len(given) != len(roots):
        raise ValueError(f"{what}: {len(roots)} output(s) need as many cotangents. Received: {len(given)}")
    for y, g in zip(roots, given):
        if not isinstance(g, Tensor) or len(g.shape) != len(y.shape) or g.shape != y.shape:
            shown = g.type if isinstance(g, Tensor) else repr(g)
            raise ValueError(
                f"{what}: a cotangent must have its output's shape {y.shape} and dtype {y.dtype}. Received: "
                f"{shown}"
            )
    return [g if g.dtype is y.dtype else g.astype(y.dtype) for y, g in zip(roots, given)]


def split_aux(result: Any, fn: Any) -> tuple[Any, Any]:
    """The value to differentiate, and what else the function returned."""
    if not isinstance(result, (tuple, list)) or len(result) < 2:
        raise ValueError(
            f"has_aux: {name_of(fn)} must return the value to differentiate and at least one more. Received: "
            f"{result!r:.80}"
        )
    aux = result[1:]
    return result[0], aux[0] if len(aux) == 1 else aux


def _roots(result: Any, has_aux: bool, fn: Any) -> list[Tensor]:
    if has_aux:
        result, _ = split_aux(result, fn)
    roots: list[Any] = []
    flatten(result, roots)
    return [differentiable(y, f"the result of {name_of(fn)}") for y in roots]


def _by_position(structures: list[Any], filled: Any, grad_position: Any) -> Any:
    trees = [unflatten(s, filled) for s in structures]
    return tuple(trees) if isinstance(grad_position, (tuple, list)) else (trees[0] if trees else None)


def _with_ids(
    by_position: Any, by_weight: Any, positions: tuple, parameters: Any, grad_position: Any, weights: Any
) -> tuple:
    if isinstance(grad_position, (tuple, list)):
        by_position = tuple(zip(positions, by_position))
    elif grad_position is not None:
        by_position = (positions[0], by_position)
    if isinstance(weights, Parameter):
        by_weight = (weights.name, by_weight)
    elif parameters is not None:
        by_weight = tuple((p.name, g) for p, g in zip(parameters, by_weight))
    return by_position, by_weight


def _report_unused(
    fn: Any,
    parameters: Sequence[Parameter],
    got: Sequence[Tensor | None],
    filled: Sequence[Tensor],
    told: set[tuple[str, ...]],
) -> None:
    """Marks the gradients of parameters that the loss does not use, and names those once."""
    unused = tuple([p.name for p, g in zip(parameters, got) if g is None])
    if not unused:
        return
    for g, filling in zip(got, filled):
        if g is None:
            mark_unused(filling)
    if unused not in told:
        told.add(unused)
        names = ", ".join(unused[:8]) + (f" and {len(unused) - 8} more" if len(unused) > 8 else "")
        logger.warning(
            "%s: the result does not depend on %d of %d parameters, which get no update: %s",
            name_of(fn),
            len(unused),
            len(parameters),
            names,
        )


# -- shared by the transformations ---------------------------------------------------------------------------
def staged(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Inside a trace, the function with control flow on tensors staged."""
    return fn if current_trace() is None else stage(fn)


def name_of(fn: Any) -> str:
    """A function's name, or a Cell's class."""
    return getattr(fn, "__qualname__", None) or type(fn).__name__


EAGER = object()


def graph_mode_call(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """In GRAPH_MODE an outermost transformed function is compiled as a whole; else `EAGER`."""
    from mycelia.engine import jit

    if dispatch.is_tracing() or not jit.graph_mode():
        return EAGER
    return jit.call_compiled(function, args, kwargs)
