"""Ranges of a program, marked by hand, that profilers show."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from mycelia.profiler.recorder import Event, Recorder

_open: dict[int, tuple[str, int]] = {}
_numbers = itertools.count(1)


class mstx:  # noqa: N801  (MindSpore's name)
    """Marks ranges and moments.

    Example:
        >>> number = mstx.range_start("loading")
        >>> mstx.range_end(number)
    """

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begins a range and returns its number."""
        if not isinstance(message, str):
            raise TypeError(f"mstx.range_start: message must be a str. Received: {message!r}")
        number = next(_numbers)
        _open[number] = (message, time.perf_counter_ns())
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """Ends a range; one that is not open is left alone."""
        entry = _open.pop(range_id, None)
        if entry is not None and Recorder.active is not None:
            Recorder.active.add(
                Event("range", entry[0], entry[1], time.perf_counter_ns(), {"domain": domain})
            )

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """Notes a moment."""
        now = time.perf_counter_ns()
        if Recorder.active is not None:
            Recorder.active.add(Event("range", message, now, now, {"domain": domain}))


def ranged(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that marks each call of a function."""

    def call(*args: Any, **kwargs: Any) -> Any:
        number = mstx.range_start(getattr(function, "__qualname__", str(function)))
        try:
            return function(*args, **kwargs)
        finally:
            mstx.range_end(number)

    return call
