"""The global seed: one number from which every random draw of a program follows."""
from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from mycelia.ops.generator import seed_default

_seed: int | None = None
_callbacks: list[Callable[[int], None]] = []


def set_seed(seed: int) -> None:
    """Sets the global seed: Python's and NumPy's generators, and those of every module that registered
    itself.

    Args:
        seed: an integer from 0 to 2**32 - 1 (NumPy's range).

    Raises:
        TypeError: the seed is not an integer.
        ValueError: it is out of range.

    Example:
        >>> set_seed(7)
        >>> get_seed()
        7
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"set_seed: seed must be an integer. Received: seed={seed!r} (of type "
                        f"{type(seed).__name__})")
    if not 0 <= seed < 2**32:
        raise ValueError(f"set_seed: seed must be from 0 to 2**32 - 1. Received: seed={seed}")
    global _seed
    _seed = int(seed)
    random.seed(_seed)
    np.random.seed(_seed)
    for callback in _callbacks:
        callback(_seed)


def get_seed() -> int | None:
    """The seed of the last `set_seed`, or None when there was none."""
    return _seed


def on_seed(callback: Callable[[int], None]) -> Callable[[int], None]:
    """Registers a function to call with each new seed; at once too, when a seed is set already. Usable as
    decorator."""
    _callbacks.append(callback)
    if _seed is not None:
        callback(_seed)
    return callback


on_seed(seed_default)
