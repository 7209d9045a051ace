"""Frozen copies of what a compiled function read from outside, for comparison with what is there now.

Plain data is compared by type and value, containers and arrays by their contents at every depth (they may be
changed in place), anything else by identity. What is compared by identity is held, since another object could
otherwise come to lie at the same address.
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
_DEPTH = 8


class Contents:
    """What a container or an array held."""

    __slots__ = ("kind", "items")

    def __init__(self, value: Any, depth: int) -> None:
        self.kind = type(value)
        self.items = tuple(_frozen(item, depth + 1) for item in _items(value))

    def unchanged(self, now: Any) -> bool:
        if type(now) is not self.kind:
            return False
        items = _items(now)
        return len(items) == len(self.items) and all(map(unchanged, self.items, items))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.items[:8]))
        return f"{self.kind.__name__}({shown}{', ...' if len(self.items) > 8 else ''})"


def frozen(value: Any) -> Any:
    """A copy that stays as the value is now, for `unchanged`."""
    return _frozen(value, 0)


def _frozen(value: Any, depth: int) -> Any:
    if depth < _DEPTH and isinstance(value, (*CONTAINERS, np.ndarray)):
        return Contents(value, depth)
    return value


def unchanged(kept: Any, now: Any) -> bool:
    """Whether a value is as it was when `frozen` gave ``kept``."""
    if type(kept) is Contents:
        return kept.unchanged(now)
    if now is kept:
        return True
    kind = type(kept)
    if kind not in PLAIN or type(now) is not kind:
        return False
    if kind is float or kind is complex:
        return repr(now) == repr(kept)  # tells 0.0 from -0.0, and finds NaN equal to itself
    return now == kept


def changeable(value: Any) -> bool:
    """Whether a value's contents can change while it stays the same object."""
    if isinstance(value, (tuple, frozenset)):
        return any(map(changeable, value))
    return isinstance(value, (*CONTAINERS, np.ndarray))


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return (value.shape, *value.ravel())
        return (value.dtype.str, value.shape, value.tobytes())
    return tuple(value) if isinstance(value, (set, frozenset)) else value
