"""Says once, and why, when a function is compiled again."""

from __future__ import annotations

import logging
from types import MethodType
from typing import Any

from mycelia.ir.types import TensorType
from mycelia.trace.location import is_own_code

logger = logging.getLogger("mycelia")
_told: set[tuple[int, str]] = set()


def report_recompilation(function: Any, family: list[Any], types: list[TensorType], reason: str = "") -> None:
    """Logs a warning that names the function, its place and what changed; the same reason is given once.

    Args:
        function: the `JitFunction`.
        family: its earlier specialisations for the same structure of arguments.
        types: the tensors of this call.
        reason: what changed, where the caller knows.
    """
    code = getattr(getattr(function.fn, "__func__", function.fn), "__code__", None)
    if code is not None and is_own_code(code) and not isinstance(function.fn, MethodType):
        return  # a composite of the package in PyNative mode: nothing that the user could change
    reason = reason or _reason(family[-1], types)
    if (id(function), reason) in _told:
        return
    _told.add((id(function), reason))
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    logger.warning("%s%s is compiled again: %s", function.name, where, reason)


def _reason(last: Any, types: list[TensorType]) -> str:
    for i, (old, new) in enumerate(zip(last.types, types)):
        if str(old) != str(new) and not _fits(old, new):
            return f"tensor argument {i} was {old} and is now {new}"
    failed = last.guards.failed
    if failed is not None:
        now = failed.get()
        if failed.plain:
            return f"{failed.path} was {failed.value!r} and is {now!r} now"
        return f"{failed.path} is another object than before"
    return "the mode, or which of its arguments are views of one memory, changed"


def _fits(old: TensorType, new: TensorType) -> bool:
    return all(
        d == n if isinstance(d, int) else isinstance(n, int) and d.lo <= n <= d.hi
        for d, n in zip(old.shape, new.shape)
    )
