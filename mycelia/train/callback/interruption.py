"""Runs that are ended from outside, and runs that go on where an earlier one was ended."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Any

from mycelia.train.callback.base import Callback, RunContext
from mycelia.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint


class OnRequestExit(Callback):
    """Saves a checkpoint and ends the run when the process gets a signal, or a file asks for it.

    Args:
        save_ckpt: whether to save ``FILE_NAME_train.ckpt`` (or ``_eval``).
        save_mindir: accepted; graphs are not exported yet, and no file is written.
        file_name: begins the file's name.
        directory: where it goes.
        config_file: a JSON file, looked at after each step: ``{"GracefulExit": 1}`` asks for the end too.
        sig: the signal.

    Raises:
        ValueError: an unknown signal, or one that cannot be caught.
        TypeError: arguments of other types.
    """

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = True,
        file_name: str = "Net",
        directory: str = "./",
        config_file: str | None = None,
        sig: int = signal.SIGTERM,
    ) -> None:
        for name, value, kind in (
            ("save_ckpt", save_ckpt, bool),
            ("save_mindir", save_mindir, bool),
            ("file_name", file_name, str),
            ("directory", directory, str),
        ):
            if not isinstance(value, kind):
                raise TypeError(
                    f"OnRequestExit: {name} must be a {kind.__name__}. Received: {name}={value!r}"
                )
        if sig in (signal.SIGKILL, signal.SIGSTOP) or sig not in signal.valid_signals():
            raise ValueError(f"OnRequestExit: sig must be a signal that can be caught. Received: sig={sig!r}")
        self.save_ckpt, self.file_name, self.directory = save_ckpt, file_name, directory
        self.config_file, self.sig = config_file, sig
        self.stop = False
        self._previous: Any = None
        self._caught = False

    def __enter__(self) -> OnRequestExit:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(self.sig, self._on_signal)
            self._caught = True
        return self

    def __exit__(self, *error: Any) -> None:
        if self._caught:
            signal.signal(self.sig, self._previous)
            self._caught = False

    def _on_signal(self, number: int, frame: Any) -> None:
        self.stop = True

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._look(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self._look(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.stop:
            self._save(run_context.original_args().train_network, "train")

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self._look(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.stop and run.get("train_network") is None:
            self._save(run.eval_network, "eval")

    def _look(self, run_context: RunContext) -> None:
        if self.config_file is not None and os.path.isfile(self.config_file):
            try:
                with open(self.config_file) as file:
                    self.stop |= json.load(file).get("GracefulExit") in (1, True)
            except ValueError as error:
                raise ValueError(f"OnRequestExit: {self.config_file} holds no JSON: {error}") from None
        if self.stop:
            run_context.request_stop()

    def _save(self, network: Any, suffix: str) -> None:
        if self.save_ckpt:
            save_checkpoint(network, os.path.join(self.directory, f"{self.file_name}_{suffix}.ckpt"))


class BackupAndRestore(Callback):
    """Saves a backup during training, and goes on from one that it finds.

    Args:
        backup_dir: a folder.
        save_freq: ``"epoch"``, or a number of steps.
        delete_checkpoint: whether the backup goes when the training has reached its end.

    Raises:
        ValueError: an empty folder, or another frequency.
    """

    def __init__(
        self, backup_dir: str, save_freq: str | int = "epoch", delete_checkpoint: bool = True
    ) -> None:
        if not isinstance(backup_dir, str) or not backup_dir:
            raise ValueError(f"BackupAndRestore: backup_dir must name a folder. Received: {backup_dir!r}")
        if save_freq != "epoch" and (
            isinstance(save_freq, bool) or not isinstance(save_freq, int) or save_freq < 1
        ):
            raise ValueError(
                f"BackupAndRestore: save_freq must be 'epoch' or a positive integer. Received: {save_freq!r}"
            )
        if not isinstance(delete_checkpoint, bool):
            raise TypeError(
                f"BackupAndRestore: delete_checkpoint must be a bool. Received: {delete_checkpoint!r}"
            )
        self.backup_dir, self.save_freq, self.delete_checkpoint = backup_dir, save_freq, delete_checkpoint

    @property
    def backup_file(self) -> str:
        """Where the backup lies."""
        return os.path.join(self.backup_dir, "backup.ckpt")

    def on_train_begin(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if not os.path.isfile(self.backup_file):
            return
        kept = load_checkpoint(self.backup_file)
        epoch, step = (int(kept.pop(name).asnumpy()) for name in ("epoch_num", "step_num"))  # type: ignore[union-attr]
        load_param_into_net(run.train_network, kept)
        run.cur_step_num = run.initial_step = step
        run.resume_epoch = epoch

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.save_freq != "epoch" and run.cur_step_num % self.save_freq == 0:
            self._save(run, run.cur_epoch_num - 1)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.save_freq == "epoch":
            self._save(run, run.cur_epoch_num)

    def on_train_end(self, run_context: RunContext) -> None:
        if self.delete_checkpoint and not run_context.get_stop_requested():
            if os.path.isfile(self.backup_file):
                os.remove(self.backup_file)
            if os.path.isdir(self.backup_dir) and not os.listdir(self.backup_dir):
                os.rmdir(self.backup_dir)

    def _save(self, run: Any, epochs_done: int) -> None:
        progress = {"epoch_num": epochs_done, "step_num": run.cur_step_num}
        save_checkpoint(run.train_network, self.backup_file, append_dict=progress)
