"""What is printed during a run: the loss, the time."""
from __future__ import annotations

import math
import time

from mycelia.train.callback.base import Callback, RunContext, loss_of


class LossMonitor(Callback):
    """Prints the loss: ``epoch: 1 step: 100, loss is 0.123``.

    Args:
        per_print_times: prints after so many steps; 0 for never.

    Raises:
        ValueError: the loss is NaN or infinite, which ends the training.
    """

    def __init__(self, per_print_times: int = 1) -> None:
        if isinstance(per_print_times, bool) or not isinstance(per_print_times, int) or per_print_times < 0:
            raise ValueError("LossMonitor: per_print_times must be an integer that is not negative. "
                             f"Received: per_print_times={per_print_times!r}")
        self.per_print_times = per_print_times
        self._last_step = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        self._last_step = run_context.original_args().get("cur_step_num", 0)

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        loss, epoch = loss_of(run.net_outputs), run.get("cur_epoch_num", 1)
        step = (run.cur_step_num - 1) % run.batch_num + 1
        if isinstance(loss, float) and not math.isfinite(loss):
            raise ValueError(f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot "
                             f"continue, terminating training. (It is {loss}; a smaller learning rate, or "
                             "inputs of a smaller range may help)")
        if self.per_print_times and run.cur_step_num - self._last_step >= self.per_print_times:
            self._last_step = run.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.get("metrics"):
            print(f"Eval result: epoch {run.cur_epoch_num}, metrics: {run.metrics}", flush=True)


class TimeMonitor(Callback):
    """Prints the time of each epoch: ``Train epoch time: 5000.000 ms, per step time: 50.000 ms``.

    Args:
        data_size: steps of an epoch, where the run does not know them.
        data_time: whether the time spent on waiting for data is printed too.
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        if not isinstance(data_time, bool):
            raise TypeError(f"TimeMonitor: data_time must be a bool. Received: data_time={data_time!r}")
        self.data_size, self.data_time = data_size, data_time
        self._starts: dict[str, float] = {}  # by mode: an evaluation runs within an epoch of training
        self._waiting_since = time.perf_counter()
        self._waited = 0.0

    def epoch_begin(self, run_context: RunContext) -> None:
        mode = run_context.original_args().get("mode", "")
        self._starts[mode] = time.perf_counter()
        if mode != "eval":
            self._waiting_since = self._starts[mode]
            self._waited = 0.0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._waited += time.perf_counter() - self._waiting_since

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._waiting_since = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        mode = run.get("mode", "")
        seconds = time.perf_counter() - self._starts.get(mode, self._waiting_since)
        if mode == "eval" and "train" in self._starts:
            self._starts["train"] += seconds  # of no epoch of training
        steps = run.get("batch_num") or self.data_size
        if not steps or steps < 0:
            raise ValueError("TimeMonitor: data_size must be given where the run does not know its steps. "
                             f"Received: {steps!r}")
        line = (f"{mode.title()} epoch time: {seconds * 1000:5.3f} ms, "
                f"per step time: {seconds * 1000 / steps:5.3f} ms")
        if self.data_time:
            line += f" (data time: {self._waited * 1000 / steps:5.3f} ms)"
        print(line, flush=True)
