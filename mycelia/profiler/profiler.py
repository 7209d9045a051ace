"""Profilers: the time of each operator, as a table and as a timeline that ``chrome://tracing`` opens."""

from __future__ import annotations

import csv
import json
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from mycelia.profiler.recorder import Event, Recorder
from mycelia.profiler.settings import ProfilerLevel

_ROWS = {"step": 1, "range": 2, "graph": 3, "kernel": 4}
_ROW_NAMES = {1: "steps", 2: "ranges", 3: "graphs (whole launches)", 4: "kernels"}
TIMELINE, STATISTIC = "trace_view.json", "op_statistic.csv"


class schedule:  # noqa: N801  (MindSpore's name)
    """Which steps are looked at: after ``skip_first`` steps, rounds of ``wait`` steps without, ``warmup``
    steps that are thrown away, and ``active`` steps that are kept; ``repeat`` rounds, 0 for no end.

    Raises:
        ValueError: negative numbers, or no active step.
    """

    def __init__(
        self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0
    ) -> None:
        for name, value in (
            ("wait", wait),
            ("warmup", warmup),
            ("repeat", repeat),
            ("skip_first", skip_first),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(
                    f"schedule: {name} must be an integer that is not negative. Received: {value!r}"
                )
        if isinstance(active, bool) or not isinstance(active, int) or active < 1:
            raise ValueError(f"schedule: active must be a positive integer. Received: active={active!r}")
        self.wait, self.active, self.warmup, self.repeat, self.skip_first = (
            wait,
            active,
            warmup,
            repeat,
            skip_first,
        )

    def __call__(self, step: int) -> str:
        """``"none"``, ``"warmup"``, ``"active"``, or ``"last"`` for the last active step of a round."""
        step -= self.skip_first
        length = self.wait + self.warmup + self.active
        if step < 0 or self.repeat and step >= self.repeat * length:
            return "none"
        place = step % length
        if place < self.wait:
            return "none"
        if place < self.wait + self.warmup:
            return "warmup"
        return "last" if place == length - 1 else "active"


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, **kwargs: Any
) -> Callable[[Profiler], None]:
    """What to do with the trace of a round: writes it to a folder of its own below ``dir_name``."""

    def handle(profiler: Profiler) -> None:
        folder = dir_name or profiler.output_path
        name = f"{worker_name or f'host_{os.getpid()}'}_{time.time_ns() // 10**6}_mycelia"
        profiler.export(os.path.join(folder, name))

    return handle


class Profiler:
    """Times every launch and every kernel in it, from its start to its stop.

    Args:
        start_profile: whether it starts at once.
        output_path: a folder for ``trace_view.json`` (the timeline; open it in ``chrome://tracing`` or
            https://ui.perfetto.dev) and ``op_statistic.csv``.
        schedule: which steps are kept, where `step` is called; default: everything.
        on_trace_ready: called with the profiler at the end of a round; default: `analyse` writes the files.
        profiler_level, activities, **kwargs: MindSpore's, kept.

    Raises:
        RuntimeError: another profiler runs.

    Example:
        >>> with Profiler(output_path="profile") as profiler:
        ...     model.train(1, data)
        >>> profiler.op_analyse("MatMul")
    """

    def __init__(
        self,
        start_profile: bool = True,
        output_path: str = "./data",
        profiler_level: ProfilerLevel = ProfilerLevel.Level0,
        activities: Any = None,
        schedule: Callable[[int], str] | None = None,
        on_trace_ready: Callable[[Profiler], None] | None = None,
        **kwargs: Any,
    ) -> None:
        for name, value, kind in (("start_profile", start_profile, bool), ("output_path", output_path, str)):
            if not isinstance(value, kind):
                raise TypeError(f"Profiler: {name} must be a {kind.__name__}. Received: {name}={value!r}")
        if not isinstance(profiler_level, ProfilerLevel):
            raise TypeError(f"Profiler: profiler_level must be a ProfilerLevel. Received: {profiler_level!r}")
        if schedule is not None and not callable(schedule):
            raise TypeError(f"Profiler: schedule must be a schedule(...). Received: {schedule!r}")
        self.output_path, self.profiler_level, self.activities = output_path, profiler_level, activities
        self.schedule, self.on_trace_ready, self.settings = schedule, on_trace_ready, kwargs
        self.metadata: dict[str, Any] = {}
        self.events: list[Event] = []
        self._recorder: Recorder | None = None
        self._running = False
        self._steps, self._step_began = 0, 0
        if start_profile:
            self.start()

    # -- when ----------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Begins.

        Raises:
            RuntimeError: it runs already.
        """
        if self._running:
            raise RuntimeError("Profiler.start: it runs already")
        self._running, self._steps = True, 0
        self.events = []
        self._begin_step()

    def stop(self) -> None:
        """Ends; the events are kept for `analyse`."""
        if not self._running:
            raise RuntimeError("Profiler.stop: it does not run; call start() first")
        was_recording = self._recorder is not None
        self._take(keep=True)
        self._running = False
        if self.on_trace_ready is not None and was_recording:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Tells that a step of the program is done."""
        if not self._running:
            raise RuntimeError("Profiler.step: it does not run; call start() first")
        phase = self._phase()
        if self._recorder is not None:
            now = time.perf_counter_ns()
            self._recorder.add(Event("step", f"step {self._steps}", self._step_began, now, {}))
        if phase == "warmup":
            self._take(keep=False)
        elif phase == "last":
            self._take(keep=True)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
                self.events = []
        self._steps += 1
        self._begin_step()

    def _phase(self) -> str:
        return "active" if self.schedule is None else self.schedule(self._steps)

    def _begin_step(self) -> None:
        if self._recorder is None and self._phase() != "none":
            self._recorder = Recorder()
            self._recorder.start()
        self._step_began = time.perf_counter_ns()

    def _take(self, keep: bool) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        recorder.stop()
        if keep:
            self.events += recorder.events
            if recorder.dropped:
                warnings.warn(
                    f"Profiler: {recorder.dropped} events beyond the limit were dropped", stacklevel=3
                )

    def __enter__(self) -> Profiler:
        if not self._running:
            self.start()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._running:
            self.stop()
        if self.on_trace_ready is None:
            self.analyse()

    # -- what ----------------------------------------------------------------------------------------------
    def analyse(
        self, offline_path: str | None = None, pretty: bool = False, step_list: Any = None, mode: str = "sync"
    ) -> None:
        """Writes the timeline and the table to ``output_path``; stops first if it runs.

        Raises:
            ValueError: a result of another time is asked for, or steps are chosen.
        """
        if offline_path is not None or step_list is not None:
            raise ValueError(
                "Profiler.analyse: offline_path and step_list are not supported; the files are whole"
            )
        if self._running:
            self.stop()
        self.export(self.output_path)

    def export(self, folder: str) -> None:
        """Writes the timeline and the table to a folder."""
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, TIMELINE), "w") as file:
            json.dump(self.timeline(), file)
        with open(os.path.join(folder, STATISTIC), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["operator", "kernel", "count", "total_us", "mean_us", "share_percent"])
            for row in self.statistic():
                writer.writerow(row.values())

    def timeline(self) -> dict[str, Any]:
        """The events in the form that ``chrome://tracing`` reads."""
        process = os.getpid()
        rows: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": process, "tid": row, "args": {"name": name}}
            for row, name in _ROW_NAMES.items()
        ]
        rows += [
            {
                "ph": "X",
                "name": event.name,
                "cat": event.row,
                "ts": event.begin / 1e3,
                "dur": (event.end - event.begin) / 1e3,
                "pid": process,
                "tid": _ROWS[event.row],
                "args": event.detail,
            }
            for event in self.events
        ]
        return {"traceEvents": rows, "displayTimeUnit": "ms", "otherData": self.metadata}

    def statistic(self) -> list[dict[str, Any]]:
        """Count and time of each operator and kernel, the costliest first."""
        totals: dict[tuple[str, str], list[int]] = {}
        for event in self.events:
            if event.row == "kernel":
                entry = totals.setdefault((event.name, event.detail["kernel"]), [0, 0])
                entry[0] += 1
                entry[1] += event.end - event.begin
        whole = sum(spent for _, spent in totals.values()) or 1
        return [
            {
                "operator": name,
                "kernel": kernel,
                "count": count,
                "total_us": spent / 1e3,
                "mean_us": spent / 1e3 / count,
                "share_percent": 100 * spent / whole,
            }
            for (name, kernel), (count, spent) in sorted(totals.items(), key=lambda item: -item[1][1])
        ]

    def op_analyse(self, op_name: str | list[str], device_id: int | None = None) -> str:
        """Count and time of some operators, as JSON.

        Raises:
            TypeError: no name and no list of names.
        """
        names = [op_name] if isinstance(op_name, str) else op_name
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"Profiler.op_analyse: op_name must be a str or a list of them. Received: {op_name!r}"
            )
        rows = self.statistic()
        return json.dumps({name: [row for row in rows if row["operator"] == name] for name in names})

    def add_metadata(self, key: str, value: str) -> None:
        """Keeps a text with the timeline."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"Profiler.add_metadata: key and value must be str. Received: {key!r}, {value!r}")
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keeps JSON with the timeline.

        Raises:
            ValueError: the text is no JSON.
        """
        try:
            self.metadata[key] = json.loads(value)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Profiler.add_metadata_json: value must be JSON. Received: {value!r:.80}"
            ) from error


class profile(Profiler):  # noqa: N801  (MindSpore's name)
    """As `Profiler`, started by ``start()`` or ``with``."""

    def __init__(self, *, start_profile: bool = False, **settings: Any) -> None:
        super().__init__(start_profile=start_profile, **settings)
