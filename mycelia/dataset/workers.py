"""Workers: a user's Python functions over rows, in threads or processes; any number of them gives the same
rows."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import random
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import connection
from typing import Any

import numpy as np

from mycelia.dataset import config, randomness

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_noted: set[str] = set()


def cpus() -> int:
    """CPUs that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def checked_workers(operation: str, count: Any) -> int | None:
    """The number of workers asked for, at most as many as there are CPUs; a larger one is noted once.

    Raises:
        TypeError: not an integer.
        ValueError: not positive.
    """
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
        raise TypeError(
            f"{operation}: num_parallel_workers must be an integer. Received: "
            f"num_parallel_workers={count!r} (of type {type(count).__name__})"
        )
    if count < 1:
        raise ValueError(
            f"{operation}: num_parallel_workers must be positive. Received: num_parallel_workers={count}"
        )
    if count > cpus():
        note_once(
            "workers",
            f"{operation}: num_parallel_workers={count} is more than this process' {cpus()} "
            f"CPUs; {cpus()} will work",
        )
    return min(int(count), cpus())


def note_once(key: str, text: str) -> None:
    """A warning, said once in a program."""
    if key not in _noted:
        _noted.add(key)
        warnings.warn(text, stacklevel=4)


class RowError(Exception):
    """An error of a user's function: where in a block of rows, and in which of the user's lines."""

    def __init__(self, row: int, error: BaseException, place: str | None = None) -> None:
        super().__init__(row, error, place)
        self.row, self.error, self.place = row, error, place or user_line(error)

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}{self.place}"


def user_line(error: BaseException) -> str:
    """Where an error arose, in words: the innermost line that is neither Mycelia's nor an installed
    package's."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_OWN)]
    own_lines = [
        frame
        for frame in theirs
        if f"{os.sep}site-packages{os.sep}" not in frame.filename
        and not frame.filename.startswith(sys.base_prefix)
    ]
    if not theirs:
        return ""
    frame = (own_lines or theirs)[-1]
    return f" (at {frame.filename}:{frame.lineno}, in {frame.name})"


# -- random numbers of a user's functions ----------------------------------------------------------------
def _seed_of(base: int, row: int) -> int:
    """A seed for a row: splitmix64's finaliser over base and row."""
    mask = (1 << 64) - 1
    z = (base + (row + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
    return (z ^ z >> 31) & 0xFFFFFFFF


def _seed_all(seed: int) -> None:
    np.random.seed(seed)
    random.seed(seed)
    randomness.seed_eager(seed)


def _global_state() -> tuple[Any, ...]:
    kind, words, *rest = np.random.get_state()
    return (kind, np.asarray(words).tobytes(), *rest), random.getstate(), randomness.eager_state()


@contextlib.contextmanager
def _kept_state() -> Iterator[None]:
    """Leaves the program's own random generators as they were."""
    numbers, python, eager = np.random.get_state(), random.getstate(), randomness.eager_state()
    try:
        yield
    finally:
        np.random.set_state(numbers)
        random.setstate(python)
        randomness.restore_eager(eager)


# -- the ways to run -------------------------------------------------------------------------------------
class Serial:
    """Rows one after another in the caller's thread.

    Once a seed was set, the generators that a function may draw from (NumPy's, Python's, the image
    operations') are
    seeded for each row, so that the row's numbers depend on nothing but the seed and the row.
    """

    def __init__(self, call: Callable[[Any], Any], base: int) -> None:
        self.call, self.base = call, base

    def map(self, items: Sequence[Any], first: int) -> list[Any]:
        """What the function makes of each item; the first is row `first` of this pass.

        Raises:
            RowError: the function failed.
        """
        if randomness.get_seed() is None:
            return _run(self.call, items)
        with _kept_state():
            return _run(self.call, items, self.base, first)

    def close(self) -> None:
        """Lets the workers go."""


def _run(
    call: Callable[[Any], Any], items: Sequence[Any], base: int | None = None, first: int = 0
) -> list[Any]:
    results = []
    for i, item in enumerate(items):
        if base is not None:
            _seed_all(_seed_of(base, first + i))
        try:
            results.append(call(item))
        except Exception as error:
            raise RowError(i, error) from error
    return results


class Threads(Serial):
    """Rows in threads, for functions that wait or that let the interpreter go.

    Threads share NumPy's and Python's generators. Where a seed was set and the function turns out to draw
    from
    them, the block is computed again, and all later ones, one row after another.
    """

    def __init__(self, call: Callable[[Any], Any], base: int, workers: int) -> None:
        super().__init__(call, base)
        self.executor: ThreadPoolExecutor | None = ThreadPoolExecutor(workers, "mycelia-dataset")

    def map(self, items: Sequence[Any], first: int) -> list[Any]:
        if self.executor is None or len(items) < 2:
            return super().map(items, first)
        if randomness.get_seed() is None:
            return self._together(self.executor, items)
        with _kept_state():
            before = _global_state()
            results = self._together(self.executor, items)
            if _global_state() == before:
                return results
        self.close()
        return super().map(items, first)

    def _together(self, executor: ThreadPoolExecutor, items: Sequence[Any]) -> list[Any]:
        futures = [executor.submit(self.call, item) for item in items]
        results = []
        try:
            for i, future in enumerate(futures):
                try:
                    results.append(future.result())
                except Exception as error:
                    raise RowError(i, error) from error
        finally:
            for future in futures:
                future.cancel()
        return results

    def close(self) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=False, cancel_futures=True)
            self.executor = None


class Processes(Serial):
    """Rows in processes of their own, each with a part of the block.

    They are forked, as MindSpore's are, or spawned (`config.set_multiprocessing_start_method`), when the
    function
    must be picklable. A process that dies is an error.
    """

    def __init__(self, call: Callable[[Any], Any], base: int, workers: int, name: str) -> None:
        super().__init__(call, base)
        self.name = name
        method = config.get_multiprocessing_start_method()
        context: Any = multiprocessing.get_context(method)
        self.workers: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _stop, self.workers)
        for _ in range(workers):
            ours, theirs = context.Pipe()
            # A forked child holds copies of our ends, which would keep its sisters waiting after our death.
            inherited = [worker.pipe for worker in self.workers] + [ours] if method == "fork" else []
            process = context.Process(
                target=_serve, args=(theirs, call, inherited), daemon=True, name="mycelia-dataset"
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
                try:
                    process.start()
                except (pickle.PicklingError, AttributeError, TypeError) as error:
                    raise RuntimeError(
                        f"{name}: with the start method {method!r} the functions must be picklable: "
                        f"defined at the top of a module, no lambdas. {type(error).__name__}: "
                        f"{error}"
                    ) from error
            theirs.close()
            self.workers.append(_Worker(process, ours))

    def map(self, items: Sequence[Any], first: int) -> list[Any]:
        each = -(-len(items) // len(self.workers))
        parts = [(start, items[start : start + each]) for start in range(0, len(items), each)]
        for worker, (start, part) in zip(self.workers, parts):
            try:
                worker.pipe.send((self.base, first + start, part))
            except (BrokenPipeError, ConnectionResetError):
                raise self._died(worker, first + start, len(part)) from None
        results: list[Any] = []
        failure: RowError | None = None
        for worker, (start, part) in zip(self.workers, parts):
            made, failed = self._answer(worker, first + start, len(part))
            results += made
            if failed is not None and failure is None:
                failure = RowError(start + failed.row, failed.error, failed.place)
        if failure is not None:
            raise failure from failure.error
        return results

    def _answer(self, worker: _Worker, first: int, count: int) -> tuple[list[Any], RowError | None]:
        interval = config.get_multiprocessing_timeout_interval()
        while True:
            ready = connection.wait([worker.pipe, worker.process.sentinel], interval)
            if not ready:
                warnings.warn(
                    f"{self.name}: a worker has been at rows {first} to {first + count - 1} for {interval} "
                    "seconds",
                    stacklevel=1,
                )
                continue
            if worker.pipe not in ready and not worker.pipe.poll():
                raise self._died(worker, first, count)
            try:
                return worker.pipe.recv()
            except (EOFError, OSError):
                raise self._died(worker, first, count) from None

    def _died(self, worker: _Worker, first: int, count: int) -> RuntimeError:
        worker.process.join(5)
        code = worker.process.exitcode
        self.close()
        how = (
            f"was killed by {signal.Signals(-code).name}"
            if code is not None and code < 0
            else f"ended with exit status {code}"
        )
        return RuntimeError(
            f"{self.name}: worker process {worker.process.pid} {how} while it worked on rows {first} to "
            f"{first + count - 1}. Perhaps memory ran out (SIGKILL), or native code that the function "
            "calls failed; python_multiprocessing=False runs it in threads, num_parallel_workers=1 "
            "here"
        )

    def close(self) -> None:
        self._finalizer()


class _Worker:
    def __init__(self, process: Any, pipe: Any) -> None:
        self.process, self.pipe = process, pipe


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()  # a waiting worker reads the end and leaves
    for worker in workers:
        worker.process.join(0.2)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join(5)
    workers.clear()


def _serve(pipe: Any, call: Callable[[Any], Any], inherited: list[Any]) -> None:
    """A worker's loop: parts of blocks in, results or the first error out."""
    for end in inherited:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's to handle
    while True:
        try:
            base, first, items = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[list[Any], RowError | None] = _run(call, items, base, first), None
        except RowError as failure:
            answer = [], RowError(failure.row, _sendable(failure.error), failure.place)
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:  # what the function returned cannot be sent
            pipe.send(([], RowError(0, TypeError(f"what the function returned cannot be sent: {error}"), "")))


class _WorkerTraceback(Exception):
    """The trace of an error in another process, as text."""

    def __str__(self) -> str:
        return self.args[0]


def _sendable(error: BaseException) -> BaseException:
    """The error as another process can have it; its trace goes along as text."""
    text = "\n" + "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
    copy.__cause__ = _WorkerTraceback(text)
    return copy


def workers_for(
    call: Callable[[Any], Any], base: int, workers: int | None, processes: bool, name: str
) -> Serial:
    """The way to run a function that a node's arguments ask for."""
    count = workers or config.given_num_parallel_workers() or 1
    if count < 2 or config.get_debug_mode() or multiprocessing.current_process().daemon:
        return Serial(call, base)
    return Processes(call, base, count, name) if processes else Threads(call, base, count)
