"""`set_recursion_limit`: how deep calls may nest while a function is traced."""

from __future__ import annotations

import sys


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Raises Python's limit on nested calls to one that is asked for; it is never lowered.

    Raises:
        TypeError: no integer.
        ValueError: not positive.
    """
    if isinstance(recursion_limit, bool) or not isinstance(recursion_limit, int):
        raise TypeError(f"set_recursion_limit: recursion_limit must be an int. Received: {recursion_limit!r}")
    if recursion_limit < 1:
        raise ValueError(
            f"set_recursion_limit: recursion_limit must be positive. Received: {recursion_limit}"
        )
    sys.setrecursionlimit(max(sys.getrecursionlimit(), recursion_limit))
