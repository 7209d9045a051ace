"""Compiles several codes at once: in this process and in worker processes beside it.

llvmlite holds one lock around every LLVM call, so threads do not help. A worker is a bare interpreter that
runs `mycelia.runtime.emit`, which imports llvmlite only, and takes one text at a time over pipes. A worker
that dies or hangs is given up, and its text compiled here: a worker can make things faster, never wrong.

``MYCELIA_COMPILE_WORKERS`` sets their number; by default one for each further CPU of the affinity mask.
"""

from __future__ import annotations

import atexit
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from queue import SimpleQueue

from mycelia.codegen.target import Target
from mycelia.kernels.api import Code
from mycelia.runtime import emit as emitter
from mycelia.runtime.fork import ForkLock, after_fork_in_child

WORTH_IT = 3  # codes; for fewer, the pipes and a cold worker cost more than they save
MOST = 8
PATIENCE = 30.0  # seconds for one text


class _Lost(Exception):
    """The worker died, hung or answered nonsense."""


class _Worker:
    """One process and its pipes. Started at once; it is ready some 0.1 s later."""

    def __init__(self) -> None:
        self.busy = ForkLock()
        paths = [p for p in sys.path if p and os.path.isdir(p)]
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", emitter.__file__, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    def compile(self, text: str, target: Target) -> tuple[bool, bytes]:
        """(True, object file) or (False, LLVM's message).

        Raises:
            _Lost: no sensible answer within `PATIENCE`.
        """
        request = "\0".join((target.triple, target.cpu, target.features, text)).encode()
        deadline = time.monotonic() + PATIENCE
        try:
            self._write(struct.pack("<Q", len(request)) + request, deadline)
            (length,) = struct.unpack("<Q", self._read(8, deadline))
            if not 0 < length < 1 << 30:
                raise _Lost
            answer = self._read(length, deadline)
        except (OSError, ValueError):
            raise _Lost from None
        return answer[0] == 0, answer[1:]

    def _write(self, data: bytes, deadline: float) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        left = memoryview(data)
        while left:
            if not select.select([], [pipe], [], max(0.0, deadline - time.monotonic()))[1]:
                raise _Lost
            left = left[os.write(pipe.fileno(), left[: select.PIPE_BUF]) :]

    def _read(self, count: int, deadline: float) -> bytes:
        pipe = self.process.stdout
        assert pipe is not None
        parts, missing = [], count
        while missing:
            if not select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise _Lost
            part = os.read(pipe.fileno(), missing)
            if not part:
                raise _Lost
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def close(self, kill: bool = False) -> None:
        """Ends the process: it leaves by itself once its input is closed."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if kill:
            self.process.kill()
            self.process.wait()


_workers: list[_Worker] = []
_lock = ForkLock()


def wanted() -> int:
    """How many workers may be of use on this machine."""
    text = os.environ.get("MYCELIA_COMPILE_WORKERS", "").strip()
    if text:
        if not text.isdigit():
            raise ValueError(f"MYCELIA_COMPILE_WORKERS must be a number, 0 for none. Received: {text!r}")
        return int(text)
    return min(len(os.sched_getaffinity(0)) - 1, MOST)


def _team(size: int) -> list[_Worker]:
    """Workers, started where missing; fewer where the system gives no more processes."""
    with _lock:
        while len(_workers) < size:
            try:
                _workers.append(_Worker())
            except OSError:
                break
        return _workers[:size]


def compile_objects(codes: list[Code], target: Target) -> Iterator[tuple[Code, bytes]]:
    """Yields each code with its object file, in the order in which they get done.

    Raises:
        RuntimeError: LLVM does not accept a text; names the code.
    """
    from mycelia.runtime.compile import emit

    helpers = _team(min(wanted(), len(codes) // 2)) if len(codes) >= WORTH_IT else []
    if not helpers:
        for code in codes:
            yield code, emit(code, target)
        return
    waiting = deque(codes)
    results: SimpleQueue[tuple[Code, bytes | BaseException | None]] = SimpleQueue()
    for worker in helpers:
        threading.Thread(target=_feed, args=(worker, waiting, results, target), daemon=True).start()
    done = 0
    while done < len(codes):
        while not results.empty() or not waiting:
            code, outcome = results.get()
            if outcome is None:  # its worker was lost
                outcome = emit(code, target)
            if isinstance(outcome, BaseException):
                waiting.clear()
                raise outcome
            done += 1
            yield code, outcome
            if done == len(codes):
                return
        try:
            code = waiting.popleft()
        except IndexError:
            continue
        done += 1
        yield code, emit(code, target)


def _feed(worker: _Worker, waiting: deque[Code], results: SimpleQueue, target: Target) -> None:
    """Keeps one worker supplied until nothing waits."""
    with worker.busy:
        while True:
            try:
                code = waiting.popleft()
            except IndexError:
                return
            try:
                ok, answer = worker.compile(code.text(), target)
            except _Lost:
                with _lock:
                    if worker in _workers:
                        _workers.remove(worker)
                worker.close(kill=True)
                results.put((code, None))
                return
            except BaseException as error:  # a generator's own error
                results.put((code, error))
                return
            results.put(
                (
                    code,
                    answer
                    if ok
                    else RuntimeError(
                        f"kernel {code.symbol} ({code.key}) for {target.cpu}: "
                        f"{answer.decode(errors='replace')}"
                    ),
                )
            )


def shutdown() -> None:
    """Ends all workers."""
    with _lock:
        while _workers:
            _workers.pop().close()


def _forget() -> None:
    """In a child of a fork: the workers are the parent's. Its copies of their pipes go, or they would outlive
    the parent."""
    while _workers:
        _workers.pop().close()


atexit.register(shutdown)
after_fork_in_child(_forget)
