"""Locks that survive a fork. In the child only the forking thread is left, and a lock that another thread
held would never open.

`ForkLock` is new in the child. Those made with ``hold=True`` guard data that a half-done operation would
leave broken: the fork waits for them. LLVM's data is such data, too, behind llvmlite's own lock; the wait for
it is the rest of one LLVM call.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

PATIENCE = 5.0  # seconds that a fork waits for a lock that is to be held over it

_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()
_in_child: list[Callable[[], None]] = []
_held: list[Any] = []


class ForkLock:
    """A mutex for ``with``.

    Args:
        reentrant: the holder may take it again.
        hold: the fork waits until nobody holds it.
    """

    __slots__ = ("lock", "hold", "make", "__weakref__")

    def __init__(self, hold: bool = False, reentrant: bool = False) -> None:
        self.make: Callable[[], Any] = threading.RLock if reentrant else threading.Lock
        self.lock = self.make()
        self.hold = hold
        _locks.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        return self.lock.acquire(blocking)

    def release(self) -> None:
        self.lock.release()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lock.release()


def after_fork_in_child(function: Callable[[], None]) -> None:
    """Registers what a child has to reset, besides its locks."""
    _in_child.append(function)


def _llvm_lock() -> Any:
    """llvmlite's lock holder, if llvmlite is loaded. Its re-entrant lock is the attribute ``_lock``."""
    module = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(module, "lib", None), "_lock", None)


def _before() -> None:
    for lock in list(_locks):
        if lock.hold and lock.lock.acquire(timeout=PATIENCE):
            _held.append(lock.lock)
    holder = _llvm_lock()
    if holder is not None and holder._lock.acquire(timeout=PATIENCE):
        _held.append(holder._lock)


def _after_in_parent() -> None:
    while _held:
        _held.pop().release()


def _after_in_child() -> None:
    _held.clear()
    for lock in list(_locks):
        lock.lock = lock.make()
    holder = _llvm_lock()
    if holder is not None:
        holder._lock = threading.RLock()
    for function in _in_child:
        function()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
