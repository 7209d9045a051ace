"""Settings of data pipelines (`mindspore.dataset.config`)."""

from __future__ import annotations

import json
import multiprocessing
import os
from enum import IntEnum
from typing import Any

from mycelia.dataset import randomness

_DEFAULT_SEED = 5489  # what get_seed answers before any seed was set, as MindSpore's does


class ErrorSamplesMode(IntEnum):
    """What is done with a row at which a function of the user's fails."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


_INITIAL: dict[str, Any] = {
    "prefetch_size": 2,
    "num_parallel_workers": 0,
    "start_method": "fork" if hasattr(os, "fork") else "spawn",
    "timeout_interval": 300,
    "callback_timeout": 60,
    "autotune_interval": 0,
    "monitor_sampling_interval": 1000,
    "error_samples_mode": ErrorSamplesMode.RETURN,
    "auto_num_workers": False,
    "enable_shared_mem": True,
    "enable_autotune": False,
    "auto_offload": False,
    "enable_watchdog": True,
    "fast_recovery": True,
    "debug_mode": False,
    "dynamic_shape": False,
    "numa_enable": False,
    "do_copy": False,
    "parallel_convert": False,
}
_settings = dict(_INITIAL)


def set_seed(seed: int) -> None:
    """Sets the seed of pipelines alone; `mindspore.set_seed` sets it too. Every pipeline's epochs start anew.

    Raises:
        TypeError: the seed is not an integer.
        ValueError: it is not from 0 to 2**32 - 1.
    """
    randomness.set_seed(_integer("set_seed", "seed", seed, 0, 2**32 - 1))


def get_seed() -> int:
    """The seed of pipelines; 5489 before any was set, when each run draws differently."""
    seed = randomness.get_seed()
    return _DEFAULT_SEED if seed is None else seed


def set_prefetch_size(size: int) -> None:
    """How many batches a background thread may prepare ahead of the program (see
    `mycelia.dataset.prefetch`)."""
    _settings["prefetch_size"] = _integer("set_prefetch_size", "size", size, 1, 2**31 - 1)


def get_prefetch_size() -> int:
    """The size that `set_prefetch_size` sets."""
    return _settings["prefetch_size"]


def set_num_parallel_workers(num: int) -> None:
    """Workers of nodes that do not name a number; Python functions need them, operations work on whole
    blocks.

    Raises:
        ValueError: not positive. A number above that of the CPUs becomes theirs, with a note.
    """
    from mycelia.dataset.workers import checked_workers

    _settings["num_parallel_workers"] = checked_workers(
        "set_num_parallel_workers", _integer("set_num_parallel_workers", "num", num, 1, 2**31 - 1)
    )


def get_num_parallel_workers() -> int:
    """The number that `set_num_parallel_workers` sets; by default that of the CPUs, at most 8."""
    return _settings["num_parallel_workers"] or min(8, os.cpu_count() or 1)


def given_num_parallel_workers() -> int | None:
    """The number that the program has set, if it has."""
    return _settings["num_parallel_workers"] or None


def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """How worker processes begin: "fork" or "spawn".

    Raises:
        ValueError: another method, or one that this system lacks.
    """
    known = [
        name for name in ("fork", "spawn", "forkserver") if name in multiprocessing.get_all_start_methods()
    ]
    if start_method not in known:
        raise ValueError(
            f"set_multiprocessing_start_method: start_method must be one of {', '.join(known)}. "
            f"Received: start_method={start_method!r}"
        )
    _settings["start_method"] = start_method


def get_multiprocessing_start_method() -> str:
    """How worker processes begin."""
    return _settings["start_method"]


def set_multiprocessing_timeout_interval(interval: int) -> None:
    """Seconds after which a warning names worker processes that have not answered."""
    _settings["timeout_interval"] = _integer(
        "set_multiprocessing_timeout_interval", "interval", interval, 1, 2**31 - 1
    )


def get_multiprocessing_timeout_interval() -> int:
    """Seconds until the warning about worker processes."""
    return _settings["timeout_interval"]


def set_callback_timeout(timeout: int) -> None:
    """Seconds that a pipeline waits at `sync_wait` for `sync_update`."""
    _settings["callback_timeout"] = _integer("set_callback_timeout", "timeout", timeout, 1, 2**31 - 1)


def get_callback_timeout() -> int:
    """Seconds that a pipeline waits at `sync_wait`."""
    return _settings["callback_timeout"]


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """What `map` does with a row at which a Python function fails: stop (RETURN), put the last good row in
    its place
    (REPLACE), or leave it out (SKIP)."""
    if not isinstance(error_samples_mode, ErrorSamplesMode):
        raise TypeError(
            "set_error_samples_mode: error_samples_mode must be of ErrorSamplesMode. Received: "
            f"{error_samples_mode!r}"
        )
    _settings["error_samples_mode"] = error_samples_mode


def get_error_samples_mode() -> ErrorSamplesMode:
    """What `map` does with a row at which a Python function fails."""
    return _settings["error_samples_mode"]


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list[Any] | None = None) -> None:
    """With debug mode, Python functions run in the program's own thread, whatever workers are asked for."""
    _settings["debug_mode"] = _flag("set_debug_mode", "debug_mode_flag", debug_mode_flag)


def get_debug_mode() -> bool:
    """Whether debug mode is on."""
    return _settings["debug_mode"]


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Kept for programs that call it: there is nothing to tune, blocks take the place of queues."""
    _settings["enable_autotune"] = _flag("set_enable_autotune", "enable", enable)


def get_enable_autotune() -> bool:
    """What was set."""
    return _settings["enable_autotune"]


def set_enable_shared_mem(enable: bool) -> None:
    """Kept for programs that call it: rows come from worker processes through pipes."""
    _settings["enable_shared_mem"] = _flag("set_enable_shared_mem", "enable", enable)


def get_enable_shared_mem() -> bool:
    """What was set."""
    return _settings["enable_shared_mem"]


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """Kept for programs that call it: every element has memory of its own."""
    _settings["do_copy"] = _flag("set_iterator_mode", "do_copy", do_copy)
    _settings["parallel_convert"] = _flag("set_iterator_mode", "parallel_convert", parallel_convert)


def get_iterator_mode() -> dict[str, bool]:
    """What was set."""
    return {"do_copy": _settings["do_copy"], "parallel_convert": _settings["parallel_convert"]}


def _kept_flag(name: str) -> tuple[Any, Any]:
    """A pair of functions for a switch of MindSpore's engine that has nothing to switch here."""

    def setter(enable: bool) -> None:
        _settings[name] = _flag(f"set_{name}", "enable", enable)

    def getter() -> bool:
        return _settings[name]

    setter.__name__, getter.__name__ = f"set_{name}", f"get_{name}"
    setter.__doc__ = "Kept for programs that call it: a switch of another engine's."
    getter.__doc__ = "What was set."
    return setter, getter


set_auto_num_workers, get_auto_num_workers = _kept_flag("auto_num_workers")
set_auto_offload, get_auto_offload = _kept_flag("auto_offload")
set_dynamic_shape, get_dynamic_shape = _kept_flag("dynamic_shape")
set_enable_watchdog, get_enable_watchdog = _kept_flag("enable_watchdog")
set_fast_recovery, get_fast_recovery = _kept_flag("fast_recovery")
set_numa_enable, get_numa_enable = _kept_flag("numa_enable")


def set_autotune_interval(interval: int) -> None:
    """Kept for programs that call it."""
    _settings["autotune_interval"] = _integer("set_autotune_interval", "interval", interval, 0, 2**31 - 1)


def get_autotune_interval() -> int:
    """What was set."""
    return _settings["autotune_interval"]


def set_monitor_sampling_interval(interval: int) -> None:
    """Kept for programs that call it."""
    _settings["monitor_sampling_interval"] = _integer(
        "set_monitor_sampling_interval", "interval", interval, 1, 2**31 - 1
    )


def get_monitor_sampling_interval() -> int:
    """What was set."""
    return _settings["monitor_sampling_interval"]


def set_sending_batches(batch_num: int) -> None:
    """Kept for programs that call it: batches are handed over, not sent."""
    _integer("set_sending_batches", "batch_num", batch_num, 0, 2**31 - 1)


def load(file: str) -> None:
    """Takes settings from a JSON file: ``numParallelWorkers``, ``seed``, ``monitorSamplingInterval``.

    Raises:
        RuntimeError: no such file, or one that is not JSON.
    """
    try:
        with open(file, encoding="utf-8") as text:
            values = json.load(text)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"config.load: cannot read settings from {file}: {error}") from error
    for name, setter in (
        ("numParallelWorkers", set_num_parallel_workers),
        ("seed", set_seed),
        ("monitorSamplingInterval", set_monitor_sampling_interval),
    ):
        if name in values:
            setter(values[name])


def _flag(function: str, name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(
            f"{function}: {name} must be a bool. Received: {name}={value!r} (of type {type(value).__name__})"
        )
    return value


def _integer(function: str, name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(
            f"{function}: {name} must be an integer. Received: {name}={value!r} "
            f"(of type {type(value).__name__})"
        )
    if not low <= value <= high:
        raise ValueError(f"{function}: {name} must be from {low} to {high}. Received: {name}={value}")
    return value
