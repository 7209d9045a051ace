"""What is seen of a run while it goes on: a bar in a terminal, a line for each epoch elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from mycelia.engine.clock import compile_seconds
from mycelia.train.callback.base import Callback, RunContext


class StepTimes:
    """Where an epoch's time went: waiting for data, compiling, and running the steps.

    Attributes:
        data, compile, run: seconds since `restart`.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begins an epoch."""
        self.data = self.compile = self.run = 0.0
        self._mark = time.perf_counter()
        self._compiled = compile_seconds()

    def begin_step(self) -> None:
        """The step's data are there."""
        now = time.perf_counter()
        self.data += now - self._mark
        self._mark = now

    def begin_run(self) -> None:
        """The step itself begins."""
        self._mark, self._compiled = time.perf_counter(), compile_seconds()

    def end_step(self) -> None:
        """The step is done."""
        now, compiled = time.perf_counter(), compile_seconds()
        self.compile += compiled - self._compiled
        self.run += now - self._mark - (compiled - self._compiled)
        self._mark, self._compiled = now, compiled

    def wait(self) -> None:
        """From here on the next step's data are waited for; callbacks in between count nowhere."""
        self._mark = time.perf_counter()

    def per_step(self, steps: int) -> str:
        """Milliseconds of a step, e.g. ``data 1.2 + compile 0.0 + run 30.5 ms``."""
        data, compiling, run = (
            seconds * 1000 / max(steps, 1) for seconds in (self.data, self.compile, self.run)
        )
        return f"data {data:.1f} + compile {compiling:.1f} + run {run:.1f} ms"


class Progress(Callback):
    """A bar with the steps of the epoch and where a step's time goes."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._steps = 0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._steps = 0
        run = run_context.original_args()
        self._bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[times]}"),
            TimeRemainingColumn(),
            transient=True,
            refresh_per_second=4,
        )
        self._task = self._bar.add_task(
            "", total=run.batch_num, times="", epoch=f"{run.cur_epoch_num}/{run.epoch_num}"
        )
        self._bar.start()

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._steps += 1
        if self._bar is not None:
            times = run_context.original_args().times.per_step(self._steps)
            self._bar.update(self._task, completed=self._steps, times=times)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self._stop()

    def __exit__(self, *error: Any) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class PlainProgress(Callback):
    """A line on stderr for each epoch, where there is no terminal."""

    def __init__(self) -> None:
        self._steps = 0

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._steps = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._steps += 1

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        seconds = run.times.data + run.times.compile + run.times.run
        print(
            f"mycelia: epoch {run.cur_epoch_num}/{run.epoch_num}: {self._steps} steps in {seconds:.2f} s, "
            f"each {run.times.per_step(self._steps)}",
            file=sys.stderr,
            flush=True,
        )


def progress() -> Callback | None:
    """What shows the run's progress here; None with ``MYCELIA_PROGRESS=0``."""
    if os.environ.get("MYCELIA_PROGRESS") == "0":
        return None
    return Progress() if sys.stdout.isatty() else PlainProgress()
