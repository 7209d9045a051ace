"""Times of launches and of the kernels in them, taken by the plan walker itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_EVENTS = 2_000_000


class Event(NamedTuple):
    """Something that took time.

    Attributes:
        row: ``"graph"`` (a launch, with its host side), ``"kernel"``, ``"step"`` or ``"range"``.
        name: the operator, graph or range.
        begin, end: nanoseconds of the monotonic clock.
        detail: what more is known.
    """

    row: str
    name: str
    begin: int
    end: int
    detail: dict[str, Any]


class Recorder:
    """Notes every launch between `start` and `stop`.

    ``a + b`` of small dense tensors in PyNative mode runs in native code without a launch, and is not seen.
    """

    active: Recorder | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.dropped = 0
        self._timed: dict[int, tuple[Any, list[tuple[str, dict[str, Any]]]]] = {}
        self._original: Any = None

    def start(self) -> None:
        """Begins to note launches.

        Raises:
            RuntimeError: another recorder runs.
        """
        from mycelia.engine import compiled

        with Recorder._lock:
            if Recorder.active is not None:
                raise RuntimeError("Profiler: another profiler runs; stop it first")
            Recorder.active = self
        self._original = original = compiled.Launchable.run

        def run(launchable: Any, inputs: Sequence[Any]) -> Any:
            known = self._timed.get(id(launchable)) or self._meet(launchable)
            begin = time.perf_counter_ns()
            results = original(launchable, inputs)
            self._note(launchable, known[1], begin, time.perf_counter_ns())
            return results

        compiled.Launchable.run = run  # type: ignore[method-assign]

    def stop(self) -> None:
        """Notes nothing more."""
        from mycelia.engine import compiled

        compiled.Launchable.run = self._original  # type: ignore[method-assign]
        for launchable, _ in self._timed.values():
            switch = getattr(launchable.executable, "profile", None)
            if switch is not None:
                switch(False)
        self._timed.clear()
        with Recorder._lock:
            Recorder.active = None

    def add(self, event: Event) -> None:
        """Notes one event."""
        if len(self.events) < MAX_EVENTS:
            self.events.append(event)
        else:
            self.dropped += 1

    def _meet(self, launchable: Any) -> tuple[Any, list[tuple[str, dict[str, Any]]]]:
        switch = getattr(launchable.executable, "profile", None)
        if switch is not None:
            switch(True)
        # Instructions without chunks are not in the executable.
        carried_out = [i for i in launchable.plan.instructions if i.host is not None or i.chunks > 0]
        steps = [_described(instruction) for instruction in carried_out]
        known = self._timed[id(launchable)] = (launchable, steps)
        return known

    def _note(self, launchable: Any, steps: list[tuple[str, dict[str, Any]]], begin: int, end: int) -> None:
        self.add(Event("graph", launchable.plan.name, begin, end, {"kernels": len(steps)}))
        times = getattr(launchable.executable, "times", None)
        if times is None:
            return
        for (name, detail), (first, last) in zip(steps, times().tolist()):
            if last:
                self.add(Event("kernel", name, first, last, detail))


def _described(step: Any) -> tuple[str, dict[str, Any]]:
    detail: dict[str, Any] = {"kernel": step.kernel, "chunks": step.chunks}
    if step.loc:
        detail["where"] = str(step.loc)
    if step.node is None:
        return step.kernel, detail
    detail["inputs"] = [str(value.type) for value in step.node.inputs]
    detail["outputs"] = [str(value.type) for value in step.node.outputs]
    return step.node.op.name, detail
