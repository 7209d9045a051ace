"""`grad`, `value_and_grad`, `vjp`, `vmap`: the public transformations, the same in both modes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mycelia.autodiff import control_flow  # noqa: F401  (registers the gradients of Cond and While)
from mycelia.autodiff.batching import Batch, BatchedTensor, move_axis
from mycelia.autodiff.tape import Tape, ones_like, token_of, zeros_like
from mycelia.ops import dispatch
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor, View
from mycelia.trace.control_flow import stage
from mycelia.trace.nesting import flatten, map_leaves, unflatten
from mycelia.trace.tracer import TracedTensor, current_trace


def alias(x: Tensor, tape: Tape) -> Tensor:
    """A tensor of its own identity that shows the same elements, so that its gradient on this tape is told
    from the original's."""
    tape.settle(x)
    if type(x) is TracedTensor:
        twin: Tensor = TracedTensor(x.trace, x.trace.value_of(x))
    elif type(x) is BatchedTensor:
        twin = BatchedTensor(x.inner, x.axis, x.level)
    else:
        twin = Tensor.wrap(x._storage, x._shape, x._dtype, x._strides, x._offset)
    root, chain = (x, ()) if x._view is None else (x._view.root, x._view.chain)
    twin._view = View(root, chain, token_of(root))
    tape.link(x, twin)
    return twin


def _differentiable(value: Any, what: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{what} must be a Tensor. Received: {value!r} (of type {type(value).__name__})")
    if not value.dtype.is_float:
        raise TypeError(
            f"{what} must be of a floating dtype to have a gradient. Received: {value.type}; convert it with "
            f"astype(ms.float32)"
        )
    return value


def _positions(grad_position: Any, count: int) -> tuple[int, ...]:
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


def _weights(weights: Any) -> tuple[Parameter, ...]:
    items = (weights,) if isinstance(weights, Parameter) else tuple(weights)
    for item in items:
        if not isinstance(item, Parameter):
            raise TypeError(f"weights must be Parameters. Received: {item!r} (of type {type(item).__name__})")
    return items


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., Any]:
    """A function that returns ``fn``'s value together with its gradients.

    Args:
        fn: a function or Cell; its first result is differentiated (summed over its elements when not a
            scalar).
        grad_position: index or indices of the arguments to differentiate by; None for none.
        weights: Parameter(s) to differentiate by as well.
        has_aux: ``fn`` returns the loss first and anything else after it, which gets no gradient.
        return_ids: gradients come as (position or parameter name, gradient).

    Returns:
        A function giving ``(value, gradients)``: one gradient, or a tuple; with both ``grad_position`` and
        ``weights`` a pair.

    Raises:
        TypeError: an argument or the result is not a floating tensor.

    Example:
        >>> value_and_grad(lambda x: (x * x).sum())(Tensor([3.0]))
    """
    if grad_position is None and weights is None:
        raise ValueError(
            "value_and_grad: grad_position and weights are both None; nothing to differentiate by"
        )
    parameters = None if weights is None else _weights(weights)

    @functools.wraps(fn if hasattr(fn, "__name__") else type(fn))
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        compiled = _graph_mode_call(differentiated, args, kwargs)
        if compiled is not _EAGER:
            return compiled
        positions = () if grad_position is None else _positions(grad_position, len(args))
        tape = Tape()
        operands = list(args)
        with dispatch.interpreting(tape):
            for p in positions:
                operands[p] = map_leaves(
                    lambda leaf, p=p: alias(
                        _differentiable(leaf, f"argument {p} of {_name(fn)}"), tape
                    ),
                    operands[p],
                )
            result = _staged(fn)(*operands, **kwargs)
            roots = _roots(result, has_aux, fn)
            for y in roots:  # views of what was written since
                tape.settle(y)
        leaves: list[Tensor] = []
        structures = [flatten(operands[p], leaves) for p in positions]
        tokens = [token_of(leaf) for leaf in leaves]
        if parameters is not None:
            tokens += [token_of(p) for p in parameters]
        got = tape.backward(roots, [ones_like(y) for y in roots], tokens)
        wanted = [*leaves, *(parameters or ())]
        filled = [zeros_like(x) if g is None else g for x, g in zip(wanted, got)]
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


def grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[..., Any]:
    """As `value_and_grad`, returning the gradients alone, or ``(gradients, aux)`` with ``has_aux``."""
    inner = value_and_grad(fn, grad_position, weights, has_aux, return_ids)

    @functools.wraps(inner)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = inner(*args, **kwargs)
        return (gradients, value[1:]) if has_aux else gradients

    return gradient


def vjp(fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """The value of ``fn(*inputs)`` and the function that pulls cotangents of its outputs back to its inputs.

    Returns:
        ``(outputs, pull)``, or ``(outputs, pull, aux)`` with ``has_aux``. ``pull(*cotangents)`` returns one
        cotangent, or a tuple
        for several inputs; with ``weights`` a pair of those and the weights'.
    """
    parameters = None if weights is None else _weights(weights)
    below = dispatch.current()
    tape = Tape(below)
    with dispatch.interpreting(tape):
        operands = tuple(
            map_leaves(lambda leaf: alias(_differentiable(leaf, f"an input of {_name(fn)}"), tape), x)
            for x in inputs
        )
        result = _staged(fn)(*operands)
        outputs, aux = (result[0], result[1:]) if has_aux else (result, None)
        roots: list[Any] = []
        flatten(outputs, roots)
        for y in roots:
            tape.settle(y)
    leaves: list[Tensor] = []
    structures = [flatten(x, leaves) for x in operands]
    tokens = [token_of(x) for x in leaves] + [token_of(p) for p in parameters or ()]
    wanted = [*leaves, *(parameters or ())]

    def pull(*cotangents: Any) -> Any:
        given: list[Any] = []
        flatten(cotangents if len(cotangents) != 1 else cotangents[0], given)
        if len(given) != len(roots):
            raise ValueError(f"vjp: {len(roots)} output(s) need as many cotangents. Received: {len(given)}")
        for y, g in zip(roots, given):
            if g.shape != y.shape:
                raise ValueError(
                    f"vjp: a cotangent must have its output's shape {y.shape}. Received: {g.shape}"
                )
        got = tape.backward(roots, given, tokens)
        filled = [zeros_like(x) if g is None else g for x, g in zip(wanted, got)]
        trees = [unflatten(s, it) for it in [iter(filled)] for s in structures]
        pulled = trees[0] if len(trees) == 1 else tuple(trees)
        return pulled if parameters is None else (pulled, tuple(filled[len(leaves) :]))

    return (outputs, pull, aux) if has_aux else (outputs, pull)


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that applies ``fn`` to each slice along an axis of its arguments and stacks the results.

    Args:
        fn: takes and returns tensors (nested as one likes).
        in_axes: the mapped axis of each argument, None for arguments that are the same for all; an int for
            all arguments.
        out_axes: where the results carry the axis.

    Raises:
        ValueError: the mapped axes differ in size, or none is given.
    """

    @functools.wraps(fn if hasattr(fn, "__name__") else type(fn))
    def mapped(*args: Any) -> Any:
        leaves: list[Any] = []
        structure = flatten(args, leaves)
        axes = _leaf_axes(in_axes, args)
        sizes = {x.shape[a % x.ndim] for x, a in zip(leaves, axes) if a is not None}
        if len(sizes) != 1:
            raise ValueError(
                f"vmap: the mapped axes must have one size. Received: sizes {sorted(sizes)} with in_axes="
                f"{in_axes!r}"
            )
        level = Batch(sizes.pop())
        with dispatch.interpreting(level):
            operands = [x if a is None else BatchedTensor(x, a % x.ndim, level) for x, a in zip(leaves, axes)]
            result = _staged(fn)(*unflatten(structure, iter(operands)))
        outputs: list[Any] = []
        out_structure = flatten(result, outputs)
        places = _leaf_axes(out_axes, result if isinstance(result, tuple) else (result,))
        return unflatten(out_structure, iter([_unbatch(y, a, level) for y, a in zip(outputs, places)]))

    return mapped


def _unbatch(y: Any, axis: int, level: Batch) -> Tensor:
    if type(y) is BatchedTensor and y.level is level:
        return move_axis(y.inner, y.axis, axis % y.inner.ndim)
    from mycelia.ir import operator as registry

    lead = registry.get("Reshape")(y, shape=(1, *y.shape))
    return move_axis(registry.get("BroadcastTo")(lead, shape=(level.size, *y.shape)), 0, axis % (y.ndim + 1))


def _leaf_axes(axes: Any, args: Sequence[Any]) -> list[int | None]:
    """One axis for each leaf of the arguments."""
    if axes is None or isinstance(axes, int):
        axes = (axes,) * len(args)
    if len(axes) != len(args):
        raise ValueError(
            f"vmap: in_axes/out_axes must be an int or have one entry for each of the {len(args)} values. "
            f"Received: {axes!r}"
        )
    result: list[int | None] = []
    for axis, arg in zip(axes, args):
        if isinstance(axis, (tuple, list)):
            result += _leaf_axes(axis, arg)
        else:
            leaves: list[Any] = []
            flatten(arg, leaves)
            result += [axis] * len(leaves)
    return result


def _roots(result: Any, has_aux: bool, fn: Any) -> list[Tensor]:
    first = result[0] if has_aux and isinstance(result, (tuple, list)) else result
    roots: list[Any] = []
    flatten(first, roots)
    return [_differentiable(y, f"the result of {_name(fn)}") for y in roots]


def _staged(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Inside a trace, the function with control flow on tensors staged."""
    return fn if current_trace() is None else stage(fn)


def _name(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__name__


_EAGER = object()


def _graph_mode_call(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """In GRAPH_MODE an outermost gradient function is compiled as a whole; else `_EAGER`."""
    from mycelia.engine import jit

    if dispatch.is_tracing() or not jit.graph_mode():
        return _EAGER
    return jit.call_compiled(function, args, kwargs)
