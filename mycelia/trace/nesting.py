"""Nested arguments and results: flattening to leaves and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mycelia.tensor.tensor import Tensor


class Leaf:
    """Stands for one leaf in a structure."""

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()


def flatten(tree: Any, leaves: list[Any]) -> Any:
    """Appends the leaves of nested tuples, lists and dicts and returns the hashable structure that is
    left."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return (kind, *[flatten(item, leaves) for item in tree])
    if kind is dict:
        return (dict, *[(key, flatten(item, leaves)) for key, item in tree.items()])
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return (kind, *[flatten(item, leaves) for item in tree])
    if isinstance(tree, (tuple, list)):
        return (tuple if isinstance(tree, tuple) else list, *[flatten(item, leaves) for item in tree])
    leaves.append(tree)
    return LEAF


def unflatten(structure: Any, leaves: Iterator[Any]) -> Any:
    """The inverse of `flatten`; takes the leaves from an iterator."""
    if structure is LEAF:
        return next(leaves)
    kind, items = structure[0], structure[1:]
    if kind is dict:
        return {key: unflatten(item, leaves) for key, item in items}
    built = [unflatten(item, leaves) for item in items]
    if kind is list:
        return built
    return tuple(built) if kind is tuple else kind(*built)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same structure with the function applied to each leaf."""
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    return unflatten(structure, iter([function(leaf) for leaf in leaves]))


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Marks an argument whose elements may change from call to call.

    Tensors inside tuples, lists and dicts are inputs of a compiled graph anyway, so the data comes back as
    it is.

    Raises:
        TypeError: something else than bools, numbers, Tensors and nested tuples, lists and dicts of them; or
            ``dynamic_len`` for what has no length.
    """
    leaves: list[Any] = []
    flatten(input_data, leaves)
    for leaf in leaves:
        if not isinstance(leaf, (bool, int, float, Tensor)):
            raise TypeError(
                "mutable: input_data must be bools, ints, floats, Tensors, or nested tuples, lists and "
                f"dicts of them. Received: {leaf!r} (of type {type(leaf).__name__})"
            )
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError(
            f"mutable: dynamic_len needs a tuple or list. Received: {input_data!r} (of type "
            f"{type(input_data).__name__})"
        )
    return input_data
