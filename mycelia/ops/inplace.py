"""Every in-place write of the house: a tensor, which may be a view, takes over the elements of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.ir import operator as registry
from mycelia.ops import dispatch
from mycelia.ops.precision import converts
from mycelia.tensor.tensor import Tensor

VIEW_OPERATORS = frozenset(["Reshape", "Transpose", "StridedSlice", "BroadcastTo"])
Chain = Sequence[tuple[Any, dict[str, Any]]]


def write(target: Tensor, value: Tensor) -> Tensor:
    """``target[...] = value``; every view of the same memory sees it.

    Args:
        target: the tensor to overwrite.
        value: elements of the same shape and dtype.

    Raises:
        ValueError: shapes differ.
        TypeError: dtypes differ (under mixed precision the value is converted).
    """
    if target.shape != value.shape:
        raise ValueError(
            f"in-place write: the value must have the target's shape {target.shape}. Received: {value.shape}"
        )
    if target.dtype is not value.dtype and not converts():
        raise TypeError(
            f"in-place write: the value must have the target's dtype {target.dtype.name}. Received: "
            f"{value.dtype.name}"
        )
    dispatch.current().write(target, value)
    return target


def apply_chain(root: Tensor, chain: Chain) -> Any:
    """The view that a chain of view operators makes of a root."""
    for op, attrs in chain:
        root = op(root, **attrs)
    return root


def scatter_chain(root: Tensor, chain: Chain, value: Tensor) -> Any:
    """The root's elements with those that the view shows replaced: the functional form of a write through a
    view.

    Raises:
        ValueError: the view shows one element several times (a broadcast), so that a write has no single
            meaning.
    """
    if not chain:
        return value
    (op, attrs), rest = chain[0], chain[1:]
    inner = scatter_chain(op(root, **attrs), rest, value) if rest else value
    if op.name == "Reshape":
        return registry.get("Reshape")(inner, shape=root.shape)
    if op.name == "Transpose":
        perm = attrs["perm"]
        return registry.get("Transpose")(inner, perm=tuple(perm.index(i) for i in range(len(perm))))
    if op.name == "StridedSlice":
        return registry.get("SliceScatter")(root, inner, **attrs)
    raise ValueError(
        f"cannot write through a view made by {op.name}: one element would be written several times; "
        f"write to a copy (x.copy()) instead"
    )
