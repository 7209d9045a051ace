"""`jvp`, `jacfwd`, `jacrev`: derivatives along directions, and whole Jacobians.

The pull-back of a function is linear in its cotangents, so the pull-back of the pull-back is the function's
derivative along a direction (Griewank and Walther, Evaluating Derivatives, chapter 5); `jvp` needs no rules
beyond the operators' own. Jacobians map it, or the pull-back, over a basis with `vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.engine.grad import (
    EAGER,
    differentiable,
    graph_mode_call,
    name_of,
    positions_of,
    split_aux,
    staged,
    vjp,
)
from mycelia.engine.vmap import vmap
from mycelia.tensor.tensor import Tensor
from mycelia.trace.nesting import flatten, map_leaves, unflatten
from mycelia.trace.tracer import constant


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """The value of ``fn(*inputs)`` and its derivative along ``v``.

    Args:
        fn: a function or Cell over floating tensors.
        inputs: a tensor, or a tuple or list of them.
        v: the direction, of the same structure, shapes and dtypes.
        has_aux: only ``fn``'s first result is differentiated; the others are returned as they are.

    Returns:
        ``(outputs, derivative)``, or ``(outputs, derivative, aux)``.

    Raises:
        TypeError: not tensors of floating dtype.
        ValueError: ``v`` does not fit ``inputs``.

    Example:
        >>> jvp(lambda x: x * x, Tensor([3.0]), Tensor([1.0]))  # 9 and 6
    """
    many = isinstance(inputs, (tuple, list))
    primals, direction = (
        (tuple(inputs), tuple(v)) if many and isinstance(v, (tuple, list)) else ((inputs,), (v,))
    )
    points: list[Any] = []
    along: list[Any] = []
    if flatten(primals, points) != flatten(direction, along) or any(
        not isinstance(d, Tensor) or d.shape != differentiable(x, "jvp: inputs").shape
        for x, d in zip(points, along)
    ):
        raise ValueError(
            f"jvp: v must have the structure and shapes of inputs. Received: inputs {_shapes(points)}, v "
            f"{_shapes(along)}"
        )
    result = vjp(fn, *primals, has_aux=has_aux)
    outputs, pull = result[0], result[1]
    cotangents = map_leaves(_ones, outputs)  # any values do: the pull-back is linear in them
    leaves: list[Any] = []
    structure = flatten(cotangents, leaves)

    def linear(*flat: Tensor) -> Any:
        return pull(unflatten(structure, iter(flat)))

    _, push = vjp(linear, *leaves)
    along = [d if d.dtype is x.dtype else d.astype(x.dtype) for x, d in zip(points, along)]
    derivative = unflatten(structure, iter(push(*along)))
    return (outputs, derivative, result[2]) if has_aux else (outputs, derivative)


def jacrev(fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian, by rows: one pull-back for each element of the outputs, all at once.

    Args:
        fn: a function or Cell over floating tensors.
        grad_position: index or indices of the arguments to differentiate by.
        has_aux: only the first result is differentiated; the function returns ``(jacobian, aux)``.

    Returns:
        A function giving for each output a Jacobian of shape output.shape + input.shape, a tuple of them for
        a tuple of positions.

    Example:
        >>> jacrev(lambda x: x * x)(Tensor([1.0, 2.0]))  # [[2, 0], [0, 4]]
    """
    return _jacobian(fn, grad_position, has_aux, _by_rows)


def jacfwd(fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The Jacobian, by columns: one `jvp` for each element of the inputs, all at once. Otherwise as
    `jacrev`."""
    return _jacobian(fn, grad_position, has_aux, _by_columns)


def _jacobian(fn: Any, grad_position: Any, has_aux: bool, compute: Any) -> Callable[..., Any]:
    if not callable(fn):
        raise TypeError(f"jacobian: fn must be callable. Received: {fn!r} (of type {type(fn).__name__})")

    @functools.wraps(fn if hasattr(fn, "__name__") else type(fn))
    def jacobian(*args: Any) -> Any:
        compiled = graph_mode_call(jacobian, args, {})
        if compiled is not EAGER:
            return compiled
        positions = positions_of(grad_position, len(args))
        points = [differentiable(args[p], f"argument {p} of {name_of(fn)}") for p in positions]
        aux: list[Any] = []

        def partial(*xs: Tensor) -> Any:
            operands = list(args)
            for p, x in zip(positions, xs):
                operands[p] = x
            result = staged(fn)(*operands)
            if has_aux:
                result, rest = split_aux(result, fn)
                aux[:] = [rest]
            return result

        structure, table = compute(partial, points)
        one = not isinstance(grad_position, (tuple, list))
        found = unflatten(structure, iter([row[0] if one else tuple(row) for row in table]))
        if not has_aux:
            return found
        operands = list(args)
        return found, split_aux(staged(fn)(*operands), fn)[1]

    return jacobian


def _by_rows(fn: Callable[..., Any], points: Sequence[Tensor]) -> tuple[Any, list[list[Tensor]]]:
    outputs, pull = vjp(fn, *points)
    leaves: list[Any] = []
    structure = flatten(outputs, leaves)
    table = []
    for k, y in enumerate(leaves):

        def row(direction: Tensor, k: int = k) -> Any:
            seeds = [direction if i == k else _zeros(z) for i, z in enumerate(leaves)]
            return pull(unflatten(structure, iter(seeds)))

        rows = vmap(row)(_basis(y))
        table.append([r.reshape((*y.shape, *x.shape)) for r, x in zip(rows, points)])
    return structure, table


def _by_columns(fn: Callable[..., Any], points: Sequence[Tensor]) -> tuple[Any, list[list[Tensor]]]:
    columns = []
    structure: Any = None
    for k, x in enumerate(points):

        def column(direction: Tensor, k: int = k) -> Any:
            along = [direction if i == k else _zeros(z) for i, z in enumerate(points)]
            return jvp(fn, tuple(points), tuple(along))[1]

        leaves: list[Any] = []
        structure = flatten(vmap(column, 0, -1)(_basis(x)), leaves)
        columns.append([y.reshape((*y.shape[:-1], *x.shape)) for y in leaves])
    return structure, [list(row) for row in zip(*columns)]


def _basis(x: Tensor) -> Tensor:
    """All directions of one element each: shape (x.size, *x.shape)."""
    return constant(np.eye(int(x.size), dtype=x.dtype.numpy).reshape(int(x.size), *x.shape))


def _ones(x: Tensor) -> Tensor:
    return constant(np.ones(x.shape, x.dtype.numpy))


def _zeros(x: Tensor) -> Tensor:
    return constant(np.zeros(x.shape, x.dtype.numpy))


def _shapes(tensors: Sequence[Any]) -> list[Any]:
    return [x.shape if isinstance(x, Tensor) else type(x).__name__ for x in tensors]
