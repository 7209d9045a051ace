"""Streams and events: MindSpore's names over the device protocol's.

On the CPU work is done by the time that a call returns, in one order; a stream is then a name for that
order. On a device that defers work, streams and events are the device's own.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from mycelia.tensor import device as devices

MS = 1e3


class Stream:
    """A queue of work on a device.

    Args:
        priority: accepted; the devices that exist know one priority.
        **kwargs: ``stream_id``, ``device_name``, ``device_id`` as MindSpore prints them.
    """

    def __init__(self, priority: int = 0, **kwargs: Any) -> None:
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise TypeError(f"Stream: priority must be an int. Received: priority={priority!r}")
        self.priority = priority
        self.device = devices.default_device()
        self.device_name = self.device.name
        self.id = int(kwargs.get("stream_id", _streams.take_number()))
        self._stream = self.device.stream()

    def query(self) -> bool:
        """Whether all its work is done (waits for deferred work, which raises what went wrong in it)."""
        self._stream.synchronize()
        return True

    def synchronize(self) -> None:
        """Waits until all its work is done."""
        self._stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """An event that happens once the work queued so far is done."""
        made = Event() if event is None else event
        made.record(self)
        return made

    def wait_event(self, event: Event) -> None:
        """Makes later work wait for an event."""
        _require("wait_event", "event", event, Event)
        event.synchronize()

    def wait_stream(self, stream: Stream) -> None:
        """Makes later work wait for what is queued on another stream."""
        _require("wait_stream", "stream", stream, Stream)
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device, self.id) == (other.device, other.id)

    def __hash__(self) -> int:
        return hash((self.device_name, self.id))

    def __repr__(self) -> str:
        return f"Stream(device_name={self.device_name}, device_id:0, stream id:{self.id})"


class Event:
    """A point in a stream's work.

    Args:
        enable_timing: whether `elapsed_time` can be asked for.
        blocking: accepted; waiting blocks in any case.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        for name, value in (("enable_timing", enable_timing), ("blocking", blocking)):
            if not isinstance(value, bool):
                raise TypeError(f"Event: {name} must be a bool. Received: {name}={value!r}")
        self.enable_timing = enable_timing
        self._event = devices.default_device().event()
        self._seconds: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Marks the point that the stream (the current one by default) has come to."""
        where = current_stream() if stream is None else stream
        _require("record", "stream", where, Stream)
        self._event.record(where._stream)
        if self.enable_timing:
            where.synchronize()  # the time is that of the work's end
            self._seconds = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Makes later work of the stream wait for this event."""
        self._event.synchronize()

    def synchronize(self) -> None:
        """Waits for the event."""
        self._event.synchronize()

    def query(self) -> bool:
        """Whether it has happened (True as well if it was never recorded)."""
        return self._event.query()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another.

        Raises:
            RuntimeError: one of them was not recorded, or without ``enable_timing=True``.
        """
        _require("elapsed_time", "end_event", end_event, Event)
        if self._seconds is None or end_event._seconds is None:
            raise RuntimeError(
                "elapsed_time: both events must be made with Event(enable_timing=True) and be recorded"
            )
        return (end_event._seconds - self._seconds) * MS


class StreamCtx:
    """A block whose work goes to a stream.

    Example:
        >>> with ms.runtime.StreamCtx(ms.runtime.Stream()):
        ...     y = x + 1
    """

    def __init__(self, ctx_stream: Stream) -> None:
        _require("StreamCtx", "ctx_stream", ctx_stream, Stream)
        self.stream = ctx_stream

    def __enter__(self) -> None:
        self.before = current_stream()
        set_cur_stream(self.stream)

    def __exit__(self, *error: Any) -> None:
        self.stream.synchronize()  # one order for all: what follows sees its results
        set_cur_stream(self.before)


class _Streams(threading.local):
    """This thread's streams."""

    def __init__(self) -> None:
        self.numbers = 0
        self.default: Stream | None = None
        self.communication: Stream | None = None
        self.current: Stream | None = None

    def take_number(self) -> int:
        self.numbers += 1
        return self.numbers


_streams = _Streams()


def default_stream() -> Stream:
    """The stream that work goes to unless another is chosen."""
    if _streams.default is None:
        _streams.default = Stream(stream_id=0)
    return _streams.default


def current_stream() -> Stream:
    """The stream that work goes to now."""
    return _streams.current or default_stream()


def communication_stream() -> Stream:
    """The stream of collective communication."""
    if _streams.communication is None:
        _streams.communication = Stream()
    return _streams.communication


def set_cur_stream(stream: Stream) -> None:
    """Chooses the stream that work goes to."""
    _require("set_cur_stream", "stream", stream, Stream)
    _streams.current = stream


def _require(function: str, name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"{function}: {name} must be a {kind.__name__}. Received: {value!r} (of type "
            f"{type(value).__name__})"
        )


__all__ = [
    "Event",
    "Stream",
    "StreamCtx",
    "communication_stream",
    "current_stream",
    "default_stream",
    "set_cur_stream",
]
