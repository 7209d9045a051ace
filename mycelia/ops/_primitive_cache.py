"""Instances of primitive classes, made once for each class and its settings."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

_instances: dict[Any, Any] = {}


def _get_cache_prim(cls: type) -> Callable[..., Any]:
    """A function that takes a primitive class's settings and gives the instance that has them.

    Example:
        >>> from mycelia import ops
        >>> _get_cache_prim(ops.Softmax)(0) is _get_cache_prim(ops.Softmax)(0)
        True
    """

    def instance(*args: Any, **kwargs: Any) -> Any:
        try:
            key = (cls, args, tuple(sorted(kwargs.items())))
            found = _instances.get(key)
        except TypeError:  # settings that cannot be looked up, such as lists
            return cls(*args, **kwargs)
        if found is None:
            found = _instances[key] = cls(*args, **kwargs)
        return found

    return instance
