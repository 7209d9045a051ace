"""How long this process has spent on compiling: tracing, passes, plans, machine code."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _Clock(threading.local):
    """Of one thread: seconds so far, and when the outermost piece of work under way began."""

    def __init__(self) -> None:
        self.seconds, self.depth, self.began = 0.0, 0, 0.0


_clock = _Clock()


def compiling(function: F) -> F:
    """Counts the time spent in a function; what it calls is not counted twice."""

    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        clock = _clock
        if not clock.depth:
            clock.began = time.perf_counter()
        clock.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            clock.depth -= 1
            if not clock.depth:
                clock.seconds += time.perf_counter() - clock.began

    return timed  # type: ignore[return-value]


def compile_seconds() -> float:
    """Seconds that this thread has spent on compiling."""
    return _clock.seconds
