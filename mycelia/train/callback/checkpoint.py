"""Checkpoints during training."""
from __future__ import annotations

import os
import re
import time
from typing import Any

from mycelia.train.callback.base import Callback, RunContext
from mycelia.train.serialization import FORMATS, save_checkpoint


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
        for name in kwargs:
            if name not in ("map_param_inc", "global_step_num"):
                raise ValueError(f"CheckpointConfig: got an unexpected keyword argument {name!r}")
        if enc_key is not None:
            raise ValueError("CheckpointConfig: encryption (enc_key) is not supported; encrypt the folder's "
                             "disk instead")
        if format not in FORMATS:
            raise ValueError("CheckpointConfig: format must be 'ckpt' or 'safetensors'. Received: "
                             f"format={format!r}")
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
    """Saves checkpoints during training, as ``PREFIX-EPOCH_STEP.ckpt`` (or ``.safetensors``), and one at its
    end.

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
        name = f"{self._prefix}-{run.cur_epoch_num}_{step}{suffix}.{config.format}"
        path = os.path.join(self._directory, name)
        for name, value in (("epoch_num", run.cur_epoch_num), ("step_num", run.cur_step_num)):
            if name in config.append_dict:
                config.append_dict[name] = value
        network = run.train_network if config.saved_network is None else config.saved_network
        save_checkpoint(network, path, config.integrated_save, config.async_save, config.append_dict,
                        config.enc_key, config.enc_mode, crc_check=config.crc_check, format=config.format)
        self._last_step, self._last_time, self._latest = run.cur_step_num, time.monotonic(), path
        run["last_save_ckpt_step"], run["latest_ckpt_file"] = run.cur_step_num, os.path.basename(path)
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
    pattern = re.compile(re.escape(prefix) + r"(?:_(\d+))?-.*(?<!_breakpoint)\.(?:ckpt|safetensors)")
    found = [match for match in map(pattern.fullmatch, os.listdir(directory)) if match]
    if not found:
        return prefix
    return f"{prefix}_{max(int(match.group(1) or 0) for match in found) + 1}"
