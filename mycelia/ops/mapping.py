"""Functions over functions: mapping over lists of tensors, and choosing a function by the kinds of its
arguments."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mycelia.ops.primitive import Primitive, constexpr
from mycelia.tensor.tensor import Tensor


class HyperMap:
    """Applies a function to the items of lists and tuples, as deep as they are nested.

    Args:
        ops: the function; None when it is the first argument of the call.
        reverse: go through each list from its end.

    Example:
        >>> HyperMap(lambda x: x + 1)([1, (2, 3)])
        [2, (3, 4)]
    """

    _nested = True

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        function, lists = (args[0], args[1:]) if self.ops is None else (self.ops, args)
        if not any(isinstance(x, (list, tuple)) for x in lists):
            return function(*lists)
        return self._mapped(function, lists, self._nested)

    def _mapped(self, function: Callable[..., Any], lists: tuple, nested: bool) -> Any:
        first = lists[0]
        if any(not isinstance(x, (list, tuple)) or len(x) != len(first) for x in lists):
            raise ValueError(
                f"{type(self).__name__}: the arguments must be lists of equal length. Received: lengths "
                f"{[len(x) if isinstance(x, (list, tuple)) else None for x in lists]}"
            )
        rows = list(zip(*lists))
        results = []
        for row in reversed(rows) if self.reverse else rows:
            deeper = nested and any(isinstance(x, (list, tuple)) for x in row)
            results.append(self._mapped(function, row, nested) if deeper else function(*row))
        if self.reverse:
            results.reverse()
        return results if isinstance(first, list) else tuple(results)


class Map(HyperMap):
    """Applies a function to the items of lists and tuples, one level deep."""

    _nested = False


_KINDS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda x: isinstance(x, Tensor),
    "Number": lambda x: isinstance(x, (int, float)) and not isinstance(x, bool),
    "Bool": lambda x: isinstance(x, bool),
    "String": lambda x: isinstance(x, str),
    "Tuple": lambda x: isinstance(x, tuple),
    "List": lambda x: isinstance(x, list),
    "Function": callable,
    "None": lambda x: x is None,
    "mstype.tensor": lambda x: isinstance(x, Tensor),
    "Bfloat16": lambda x: False,
}


class MultitypeFuncGraph:
    """One name for several functions; the call takes the first whose declared kinds fit the arguments.

    Args:
        name: for errors.
        read_value: not used, as values are always read.

    Example:
        >>> scale = MultitypeFuncGraph("scale")
        >>> @scale.register("Number", "Number")
        ... def _(factor, x): return factor * x
        >>> scale(2, 3)
        6
    """

    def __init__(self, name: str, read_value: bool = False, doc_url: str = "") -> None:
        self.name = name
        self.entries: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []

    def register(self, *kinds: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates a function for arguments of these kinds: names such as ``"Tensor"`` and ``"Number"``, or
        element types."""
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((kinds, function))
            return function
        return add

    def __call__(self, *args: Any) -> Any:
        for kinds, function in self.entries:
            if len(kinds) == len(args) and all(_fits(kind, x) for kind, x in zip(kinds, args)):
                return function(*args)
        shown = ", ".join(type(x).__name__ for x in args)
        known = "; ".join(", ".join(map(str, kinds)) for kinds, _ in self.entries)
        raise TypeError(f"{self.name}: no function is registered for ({shown}). Registered: {known}")


def _fits(kind: Any, x: Any) -> bool:
    if isinstance(kind, str):
        known = _KINDS.get(kind)
        return known(x) if known is not None else type(x).__name__ == kind
    return isinstance(x, kind) if isinstance(kind, type) else getattr(x, "dtype", None) is kind


partial = functools.partial

__all__ = ["HyperMap", "Map", "MultitypeFuncGraph", "Primitive", "constexpr", "partial"]
