"""Prefetching: a background thread prepares the next batches while the program works on the last one."""
from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref

from mycelia.dataset import config
from mycelia.dataset.block import Block
from mycelia.dataset.dataset import Dataset, Stream
from mycelia.dataset.workers import cpus


def prefetched(dataset: Dataset) -> Stream:
    """A pass over a pipeline, run ahead in a thread where that is safe and of use.

    Functions of the user's stay in the user's thread, where their random numbers and effects keep their
    order; so do pipelines without batches, whose rows are read in blocks as it is. One CPU gains nothing.
    """
    stream = dataset.open(dataset.draws())
    if not dataset.pure or dataset.read_ahead > 1 or cpus() < 2:
        return stream
    return _Prefetched(stream, config.get_prefetch_size())


_open: weakref.WeakSet[_Prefetched] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Ends the workers before the interpreter goes: a thread must not be inside NumPy then."""
    for stream in list(_open):
        stream.close()
        stream.worker.join(1.0)


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Prefetched(Stream):
    """Blocks of an inner pass through a bounded queue; the pass itself is touched by the worker alone.

    After a fork the child has no worker; it says so instead of waiting for ever.
    """

    def __init__(self, inner: Stream, depth: int) -> None:
        self.inner = inner
        self.ready: queue.Queue[Block | _Failure | None] = queue.Queue(depth)
        self.stopped = threading.Event()
        self.process = os.getpid()
        self.worker = threading.Thread(target=_work, args=(inner, self.ready, self.stopped), daemon=True,
                                       name="mycelia-dataset")
        self.worker.start()
        _open.add(self)

    def read(self, count: int) -> Block | None:
        if self.process != os.getpid():
            raise RuntimeError("a dataset iterator was taken over a fork in the middle of an epoch; make a "
                               "new iterator in the child process")
        item = self.ready.get()
        if isinstance(item, _Failure):
            raise item.error
        return item

    def close(self) -> None:
        if self.process != os.getpid():
            return
        _open.discard(self)
        self.stopped.set()
        while not self.ready.empty():  # makes room for the block that the worker may be about to hand over
            self.ready.get_nowait()


def _work(inner: Stream, ready: queue.Queue[Block | _Failure | None], stopped: threading.Event) -> None:
    """Reads to the end; holds no reference to the consumer, so that an abandoned iterator is collected and
    stops it."""
    try:
        block = inner.read(1)
        while not stopped.is_set():
            ready.put(block)
            if block is None:
                return
            block = inner.read(1)
    except BaseException as error:
        ready.put(_Failure(error))
    inner.close()
