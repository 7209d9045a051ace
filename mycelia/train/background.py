"""Work that goes on while the program does: in a thread over copies, or in a forked process over a
snapshot."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any


class Background:
    """At most one piece of work under way, which the interpreter waits for at its end."""

    def __init__(self) -> None:
        self._work: _Thread | _Process | None = None
        atexit.register(self._finish)

    @property
    def busy(self) -> bool:
        """Whether work is under way."""
        return self._work is not None and self._work.busy()

    def start(self, work: Callable[[], None], process: bool = False) -> None:
        """Begins a piece of work, once the one before is done.

        Args:
            work: the function to run.
            process: runs it in a forked process, which sees memory as it is now: nothing needs to be copied.
        """
        self.wait()
        self._work = _Process(work) if process and hasattr(os, "fork") else _Thread(work)

    def wait(self) -> None:
        """Waits for the work under way and raises its error, if it had one."""
        work, self._work = self._work, None
        if work is not None:
            work.wait()

    def _finish(self) -> None:
        try:
            self.wait()
        except BaseException as error:
            warnings.warn(f"save_checkpoint in the background failed: {error}", stacklevel=1)


class _Thread:
    def __init__(self, work: Callable[[], None]) -> None:
        self._error: BaseException | None = None

        def run() -> None:
            try:
                work()
            except BaseException as error:
                self._error = error
                warnings.warn(f"save_checkpoint in the background failed: {error}", stacklevel=1)

        self._thread = threading.Thread(target=run, name="mycelia-checkpoint")
        self._thread.start()

    def busy(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join()
        if self._error is not None:
            raise self._error


class _Process:
    """The child only reads memory and writes a file: it needs none of the threads that it does not have."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._parent = os.getpid()
        self._reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks while threads run
            self._child = os.fork()
        if not self._child:
            os.close(self._reader)
            self._run(work, writer)
        os.close(writer)
        self._status: int | None = None

    @staticmethod
    def _run(work: Callable[[], None], writer: int) -> Any:
        status = 1
        try:
            work()
            status = 0
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode()[:4096])
        finally:
            os._exit(status)

    def busy(self) -> bool:
        if self._status is None and os.getpid() == self._parent:
            child, status = os.waitpid(self._child, os.WNOHANG)
            if child:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status is None

    def wait(self) -> None:
        if os.getpid() != self._parent:
            return  # another fork: the work is the parent's
        message = b""
        while piece := os.read(self._reader, 4096):
            message += piece
        os.close(self._reader)
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        if self._status:
            why = message.decode("utf-8", "replace") or f"the process ended with status {self._status}"
            raise OSError(f"save_checkpoint in a process of its own failed: {why}")
