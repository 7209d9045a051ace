"""Nested arguments and results: flattening to leaves and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


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
    """
    return input_data
