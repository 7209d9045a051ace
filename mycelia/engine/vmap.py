"""`vmap`: a function over one element becomes a function over a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mycelia.autodiff import batched_control  # noqa: F401  (registers the batch rules of Cond and While)
from mycelia.autodiff.batching import Batch, BatchedTensor, unbatch
from mycelia.engine.grad import EAGER, graph_mode_call, staged
from mycelia.ops import dispatch
from mycelia.tensor.tensor import Tensor
from mycelia.trace.nesting import flatten, unflatten


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that applies ``fn`` to each slice along an axis of its arguments and stacks the results.

    Args:
        fn: takes and returns tensors (nested as one likes).
        in_axes: the mapped axis of each argument, None for arguments that are the same for all; nested as the
            arguments are, where an int stands for all that is below it.
        out_axes: where the results carry the axis.

    Raises:
        ValueError: the mapped axes differ in size, none is given, or one is out of range.
        TypeError: an axis is given for something that is no tensor.

    Example:
        >>> vmap(lambda x, y: (x * y).sum(), (0, None))(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 1.0]))
    """

    @functools.wraps(fn if hasattr(fn, "__name__") else type(fn))
    def mapped(*args: Any) -> Any:
        compiled = graph_mode_call(mapped, args, {})
        if compiled is not EAGER:
            return compiled
        leaves: list[Any] = []
        structure = flatten(args, leaves)
        axes = [_normalised(a, x) for a, x in zip(_leaf_axes("in_axes", in_axes, args), leaves)]
        sizes = {x.shape[a] for x, a in zip(leaves, axes) if a is not None}
        if len(sizes) != 1:
            raise ValueError(
                "vmap: the mapped axes must have one size. Received: "
                + (f"sizes {sorted(sizes)}" if sizes else "None for all arguments")
                + f" with in_axes={in_axes!r}"
            )
        level = Batch(sizes.pop())
        with dispatch.interpreting(level):
            operands = [x if a is None else BatchedTensor(x, a, level) for x, a in zip(leaves, axes)]
            result = staged(fn)(*unflatten(structure, iter(operands)))
        outputs: list[Any] = []
        out_structure = flatten(result, outputs)
        places = _leaf_axes("out_axes", out_axes, result if isinstance(result, tuple) else (result,))
        return unflatten(out_structure, iter([_result(y, a, level) for y, a in zip(outputs, places)]))

    return mapped


def _result(y: Any, axis: int | None, level: Batch) -> Any:
    if not isinstance(y, Tensor):
        raise TypeError(
            f"vmap: the function must return tensors. Received: {y!r:.60} (of type {type(y).__name__})"
            + (". Does it lack a return?" if y is None else ". Make it one with mindspore.Tensor")
        )
    if axis is not None:
        return unbatch(y, axis, level)
    if type(y) is BatchedTensor and y.level is level:
        raise ValueError(
            f"vmap: out_axes is None for a result of shape {y.shape} that differs from element to element; "
            f"give the axis that it should have"
        )
    return y


def _normalised(axis: int | None, x: Any) -> int | None:
    """The axis as a non-negative index."""
    if axis is None:
        return None
    if not isinstance(x, Tensor):
        raise TypeError(
            f"vmap: only tensors have an axis to map over. Received: {x!r} (of type {type(x).__name__}) with "
            f"axis {axis}; give None for it in in_axes"
        )
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"vmap: axis {axis} is out of range for an argument of shape {x.shape}")
    return axis % x.ndim


def _leaf_axes(name: str, axes: Any, values: Any) -> list[int | None]:
    """One axis for each leaf of the values: an int or None stands for all leaves below it."""
    leaves: list[Any] = []
    if axes is None or type(axes) is int:
        flatten(values, leaves)
        return [axes] * len(leaves)
    if isinstance(axes, dict) and isinstance(values, dict) and axes.keys() == values.keys():
        return [a for key, value in values.items() for a in _leaf_axes(name, axes[key], value)]
    sequences = isinstance(axes, (tuple, list)) and isinstance(values, (tuple, list))
    if not sequences or len(axes) != len(values):
        shown = f"{len(values)} values" if isinstance(values, (tuple, list)) else f"a {type(values).__name__}"
        raise ValueError(
            f"vmap: {name} must be an int, None, or nested as the values are. Received: {axes!r} for {shown}"
        )
    return [a for axis, value in zip(axes, values) for a in _leaf_axes(name, axis, value)]
