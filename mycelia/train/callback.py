"""Callbacks: what runs between the steps and epochs of `Model.train`, `fit` and `eval`."""
from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mycelia.train.serialization import save_checkpoint


class CallbackParam(dict):
    """What callbacks can ask of the run, by key or as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the run has no {name!r}; it has {', '.join(sorted(self))}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """Handed to every callback: the run's state, and the means to stop it."""

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise TypeError("RunContext: original_args must be a dict. Received: "
                            f"{type(original_args).__name__}")
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The run's state, e.g. ``cur_epoch_num``, ``cur_step_num``, ``batch_num``, ``net_outputs``,
        ``network``."""
        return self._original_args

    def request_stop(self) -> None:
        """Asks that the run end after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        return self._stop_requested


class Callback:
    """Base of callbacks: define the methods of the moments that matter.

    The ``on_train_*`` and ``on_eval_*`` methods call the older ones without a prefix, which so see both kinds
    of run. `__enter__` and `__exit__` surround the run, also when it fails.

    Example:
        >>> class StopEarly(Callback):
        ...     def on_train_step_end(self, run_context):
        ...         if run_context.original_args().cur_step_num == 100:
        ...             run_context.request_stop()
    """

    def __enter__(self) -> Callback:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def begin(self, run_context: RunContext) -> None: ...
    def epoch_begin(self, run_context: RunContext) -> None: ...
    def epoch_end(self, run_context: RunContext) -> None: ...
    def step_begin(self, run_context: RunContext) -> None: ...
    def step_end(self, run_context: RunContext) -> None: ...
    def end(self, run_context: RunContext) -> None: ...

    def on_train_begin(self, run_context: RunContext) -> None:
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        self.end(run_context)


class CallbackList:
    """Several callbacks as one: each moment is passed on to all, in order."""

    def __init__(self, callbacks: Any) -> None:
        if callbacks is None:
            callbacks = []
        elif isinstance(callbacks, Callback):
            callbacks = [callbacks]
        elif not isinstance(callbacks, Iterable):
            raise TypeError("callbacks must be a Callback or a list of them. Received: "
                            f"{callbacks!r} (of type {type(callbacks).__name__})")
        self.callbacks: list[Callback] = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise TypeError("callbacks must be a Callback or a list of them. Received an item: "
                                f"{callback!r} (of type {type(callback).__name__})")

    def __enter__(self) -> CallbackList:
        entered: list[Callback] = []
        try:
            for callback in self.callbacks:
                callback.__enter__()
                entered.append(callback)
        except BaseException:
            for callback in reversed(entered):
                callback.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        for callback in reversed(self.callbacks):
            callback.__exit__(*error)

    def call(self, moment: str, run_context: RunContext) -> None:
        """Calls the method of this name, such as ``on_train_step_end``, of each callback."""
        for callback in self.callbacks:
            getattr(callback, moment)(run_context)


def _loss_of(outputs: Any) -> Any:
    """The number in what a training network returned: a loss, or a tuple that begins with it."""
    loss: Any = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    return float(np.mean(loss.asnumpy())) if hasattr(loss, "asnumpy") else loss


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
        loss, epoch = _loss_of(run.net_outputs), run.get("cur_epoch_num", 1)
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
        self._start = self._waiting_since = time.perf_counter()
        self._waited = 0.0

    def epoch_begin(self, run_context: RunContext) -> None:
        self._start = self._waiting_since = time.perf_counter()
        self._waited = 0.0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._waited += time.perf_counter() - self._waiting_since

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._waiting_since = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        seconds = time.perf_counter() - self._start
        run = run_context.original_args()
        steps = run.get("batch_num") or self.data_size
        if not steps or steps < 0:
            raise ValueError("TimeMonitor: data_size must be given where the run does not know its steps. "
                             f"Received: {steps!r}")
        line = (f"{run.get('mode', '').title()} epoch time: {seconds * 1000:5.3f} ms, "
                f"per step time: {seconds * 1000 / steps:5.3f} ms")
        if self.data_time:
            line += f" (data time: {self._waited * 1000 / steps:5.3f} ms)"
        print(line, flush=True)


class LambdaCallback(Callback):
    """A callback made of functions of a RunContext, by the name of the moment, e.g.
    ``on_train_epoch_end``."""

    def __init__(self, **functions: Callable[[RunContext], None] | None) -> None:
        moments = {name for name in dir(Callback) if name.startswith("on_")}
        for name, function in functions.items():
            if name not in moments:
                raise TypeError(f"LambdaCallback: there is no moment {name!r}; known are "
                                f"{', '.join(sorted(moments))}")
            if function is not None:
                setattr(self, name, function)


class CheckpointConfig:
    """When `ModelCheckpoint` saves and how many files it keeps.

    Args:
        save_checkpoint_steps: saves after so many steps.
        save_checkpoint_seconds: saves after so many seconds, where `save_checkpoint_steps` is 0.
        keep_checkpoint_max: files kept; the oldest goes.
        keep_checkpoint_per_n_minutes: keeps one file of so many minutes, where `keep_checkpoint_max` is 0.
        saved_network: the Cell to save; default: the training network with its optimizer.
        append_info: more to keep: ``"epoch_num"``, ``"step_num"``, or a dict.
        integrated_save, async_save, crc_check, enc_key, enc_mode, format: as in `save_checkpoint`.
        exception_save: saves the last state too when the training fails, as
            ``PREFIX-EPOCH_STEP_breakpoint.ckpt``.
        remove_redundancy: accepted; parameters are whole in one process.

    Raises:
        ValueError: neither steps nor seconds, negative numbers, or append_info of other things.
    """

    def __init__(self, save_checkpoint_steps: int = 1, save_checkpoint_seconds: int = 0,
                 keep_checkpoint_max: int = 5, keep_checkpoint_per_n_minutes: int = 0,
                 integrated_save: bool = True, async_save: bool | str = False, saved_network: Any = None,
                 append_info: list[Any] | None = None, enc_key: bytes | None = None,
                 enc_mode: str = "AES-GCM", exception_save: bool = False, crc_check: bool = False,
                 remove_redundancy: bool = False, format: str = "ckpt", **kwargs: Any) -> None:
        numbers = {"save_checkpoint_steps": save_checkpoint_steps,
                   "save_checkpoint_seconds": save_checkpoint_seconds,
                   "keep_checkpoint_max": keep_checkpoint_max,
                   "keep_checkpoint_per_n_minutes": keep_checkpoint_per_n_minutes}
        for name, value in numbers.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ValueError(f"CheckpointConfig: {name} must be an integer that is not negative. "
                                 f"Received: {name}={value!r}")
        if not any(numbers.values()):
            raise ValueError(f"CheckpointConfig: {', '.join(numbers)} must not all be 0")
        self.save_checkpoint_steps = save_checkpoint_steps or 0
        self.save_checkpoint_seconds = 0 if save_checkpoint_steps else save_checkpoint_seconds or 0
        self.keep_checkpoint_max = keep_checkpoint_max or (0 if keep_checkpoint_per_n_minutes else 1)
        self.keep_checkpoint_per_n_minutes = 0 if self.keep_checkpoint_max else keep_checkpoint_per_n_minutes
        self.integrated_save, self.async_save = integrated_save, async_save
        self.crc_check, self.format = crc_check, format
        self.saved_network, self.exception_save = saved_network, exception_save
        self.enc_key, self.enc_mode = enc_key, enc_mode
        self.append_dict = self._appended(append_info)

    @staticmethod
    def _appended(append_info: list[Any] | None) -> dict[str, Any]:
        appended: dict[str, Any] = {}
        for item in append_info or []:
            if isinstance(item, dict):
                appended |= item
            elif item in ("epoch_num", "step_num"):
                appended[item] = 0
            else:
                raise ValueError("CheckpointConfig: append_info must hold 'epoch_num', 'step_num' or a dict. "
                                 f"Received: {item!r}")
        return appended

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When files are saved and kept."""
        return {name: getattr(self, name) for name in ("save_checkpoint_steps", "save_checkpoint_seconds",
                                                       "keep_checkpoint_max", "keep_checkpoint_per_n_minutes",
                                                       "saved_network")}


class ModelCheckpoint(Callback):
    """Saves checkpoints during training, as ``PREFIX-EPOCH_STEP.ckpt``, and one at its end.

    Files that an earlier run has left under the prefix stay: the new ones are named ``PREFIX_1-...``, and so
        on.

    Args:
        prefix: begins the files' names.
        directory: where they go; default: the current folder.
        config: when; default: after each step, five files kept.

    Raises:
        ValueError: a prefix with a slash.
    """

    def __init__(self, prefix: str = "CKP", directory: str | None = None,
                 config: CheckpointConfig | None = None) -> None:
        if not isinstance(prefix, str) or "/" in prefix:
            raise ValueError("ModelCheckpoint: prefix must be a string without '/'. Received: "
                             f"prefix={prefix!r}")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError("ModelCheckpoint: config must be a CheckpointConfig. Received: "
                            f"{config!r} (of type {type(config).__name__})")
        self._config = config or CheckpointConfig()
        self._directory = os.path.realpath(directory or ".")
        os.makedirs(self._directory, exist_ok=True)
        self._prefix = _unused_prefix(self._directory, prefix)
        self._files: list[tuple[str, float]] = []
        self._last_step = 0
        self._last_time = time.monotonic()
        self._latest = ""
        self._run: Any = None

    @property
    def latest_ckpt_file_name(self) -> str:
        """The file that was saved last; empty before the first."""
        return self._latest

    def __exit__(self, *error: Any) -> None:
        if self._config.exception_save and error and error[0] is not None and self._run is not None:
            self._save(self._run, "_breakpoint")

    def on_train_begin(self, run_context: RunContext) -> None:
        self._run = run_context.original_args()
        self._last_step = self._run.get("cur_step_num", 0)
        self._last_time = time.monotonic()

    def on_train_step_end(self, run_context: RunContext) -> None:
        run, config = run_context.original_args(), self._config
        if config.save_checkpoint_steps:
            due = run.cur_step_num >= self._last_step + config.save_checkpoint_steps
        else:
            due = bool(config.save_checkpoint_seconds) and \
                time.monotonic() - self._last_time > config.save_checkpoint_seconds
        if due:
            self._save(run)

    def on_train_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.cur_step_num != self._last_step:
            self._save(run)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """An evaluation saves nothing."""

    on_eval_step_end = on_eval_end = on_eval_begin

    def _save(self, run: Any, suffix: str = "") -> None:
        config = self._config
        self._make_room()
        step = (run.cur_step_num - 1) % run.batch_num + 1
        path = os.path.join(self._directory, f"{self._prefix}-{run.cur_epoch_num}_{step}{suffix}.ckpt")
        for name, value in (("epoch_num", run.cur_epoch_num), ("step_num", run.cur_step_num)):
            if name in config.append_dict:
                config.append_dict[name] = value
        network = run.train_network if config.saved_network is None else config.saved_network
        save_checkpoint(network, path, config.integrated_save, config.async_save, config.append_dict,
                        config.enc_key, config.enc_mode, crc_check=config.crc_check, format=config.format)
        self._last_step, self._last_time, self._latest = run.cur_step_num, time.monotonic(), path
        self._files.append((path, self._last_time))

    def _make_room(self) -> None:
        """Removes files of this run beyond those to keep, one more being about to come."""
        config = self._config
        if config.keep_checkpoint_max:
            while len(self._files) >= config.keep_checkpoint_max:
                _remove(self._files.pop(0)[0])
            return
        span = config.keep_checkpoint_per_n_minutes * 60
        recent = [file for file in self._files if time.monotonic() - file[1] < span]
        for file in recent[1:]:  # the first of a span stays
            self._files.remove(file)
            _remove(file[0])


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def _unused_prefix(directory: str, prefix: str) -> str:
    """The prefix, with a number where files of an earlier run have it."""
    pattern = re.compile(re.escape(prefix) + r"(?:_(\d+))?-.*(?<!_breakpoint)\.ckpt")
    found = [match for match in map(pattern.fullmatch, os.listdir(directory)) if match]
    if not found:
        return prefix
    return f"{prefix}_{max(int(match.group(1) or 0) for match in found) + 1}"


class Progress(Callback):
    """A bar with the steps of the epoch and the loss, for a terminal; added by `Model` where there is one."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        run = run_context.original_args()
        self._bar = Progress(TextColumn("epoch {task.fields[epoch]}"), BarColumn(), MofNCompleteColumn(),
                             TextColumn("{task.fields[speed]}"), TimeRemainingColumn(), transient=True,
                             refresh_per_second=4)
        self._task = self._bar.add_task("", total=run.batch_num, speed="",
                                        epoch=f"{run.cur_epoch_num}/{run.epoch_num}")
        self._bar.start()
        self._since = time.perf_counter()

    def on_train_step_end(self, run_context: RunContext) -> None:
        if self._bar is not None:
            done = (run_context.original_args().cur_step_num - 1) % run_context.original_args().batch_num + 1
            speed = done / (time.perf_counter() - self._since)
            self._bar.update(self._task, completed=done, speed=f"{speed:.1f} steps/s")

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self._stop()

    def __exit__(self, *error: Any) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
