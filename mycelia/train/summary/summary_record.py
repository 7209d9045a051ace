"""SummaryRecord: numbers, images and distributions of a run, for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
import warnings
from typing import Any

import numpy as np

from mycelia.ops import summaries
from mycelia.train.summary import event_file

PLUGINS = ("scalar", "image", "tensor", "histogram", "text")
MODES = ("train", "eval")


class SummaryRecord:
    """Writes an event file: ``tensorboard --logdir LOG_DIR`` shows it.

    Args:
        log_dir: a folder; made if it is missing.
        file_prefix, file_suffix: begin and end the file's name.
        num_process: accepted; values are written at once.
        network: accepted; graphs are not written.
        max_file_size: bytes that the file does not exceed.
        raise_exception: whether a full file is an error instead of a warning.
        export_options: not supported.

    Raises:
        TypeError, ValueError: arguments of other types or out of range.

    Example:
        >>> with SummaryRecord("logs") as summary:
        ...     for step in range(10):
        ...         summary.add_value("scalar", "loss", Tensor(1.0 / (step + 1)))
        ...         summary.record(step)
    """

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: Any = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: dict[str, Any] | None = None,
    ) -> None:
        for name, value in (("log_dir", log_dir), ("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            if not isinstance(value, str):
                raise TypeError(f"SummaryRecord: {name} must be a str. Received: {name}={value!r}")
            if "/" in value and name != "log_dir":
                raise ValueError(f"SummaryRecord: {name} must not contain '/'. Received: {name}={value!r}")
        if not log_dir:
            raise ValueError("SummaryRecord: log_dir must name a folder. Received: log_dir=''")
        if max_file_size is not None and (
            isinstance(max_file_size, bool) or not isinstance(max_file_size, int) or max_file_size < 1
        ):
            raise ValueError(
                f"SummaryRecord: max_file_size must be a positive integer. Received: {max_file_size!r}"
            )
        if export_options:
            raise ValueError(f"SummaryRecord: export_options are not supported. Received: {export_options!r}")
        # TensorBoard takes files with this word in their name.
        name = f"{file_prefix}.out.tfevents.{time.time_ns() // 10**9}.{socket.gethostname()}.{os.getpid()}"
        self._directory = os.path.realpath(log_dir)
        self.full_file_name = os.path.join(self._directory, f"{name}.{_number()}{file_suffix}")
        self.raise_exception, self._mode, self._closed = raise_exception, "train", False
        self._file = event_file.EventFile(self.full_file_name, max_file_size)
        self._waiting: list[tuple[str, str, np.ndarray | str]] = []

    @property
    def log_dir(self) -> str:
        """The file that is written."""
        return self.full_file_name

    def __enter__(self) -> SummaryRecord:
        if self._closed:
            raise ValueError("SummaryRecord: is closed")
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def set_mode(self, mode: str) -> None:
        """``"train"`` or ``"eval"``; tags of the latter end in ``/eval``.

        Raises:
            ValueError: another mode.
        """
        if mode not in MODES:
            raise ValueError(
                f"SummaryRecord.set_mode: mode must be 'train' or 'eval'. Received: mode={mode!r}"
            )
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Keeps a value for the next `record`.

        Args:
            plugin: ``"scalar"`` (one element), ``"image"`` (``[n, channels, height, width]``, 1 or 3
            channels),
                ``"histogram"``, ``"tensor"`` or ``"text"``.
            name: the tag.
            value: a Tensor, array, number or text.

        Raises:
            ValueError: an unknown plugin, an empty name or one that is kept already, or a value of another
            shape.
            TypeError: a value of another type.
        """
        if plugin not in PLUGINS:
            raise ValueError(
                f"SummaryRecord.add_value: plugin must be one of {', '.join(map(repr, PLUGINS))}. Received: "
                f"plugin={plugin!r}"
            )
        if not isinstance(name, str) or not name:
            raise ValueError(
                f"SummaryRecord.add_value: name must be a non-empty str. Received: name={name!r}"
            )
        if any(kept[:2] == (plugin, name) for kept in self._waiting):
            raise ValueError(f"SummaryRecord.add_value: a {plugin} {name!r} waits for record() already")
        if plugin == "text":
            if not isinstance(value, str):
                raise TypeError(f"SummaryRecord.add_value: a text must be a str. Received: {value!r:.80}")
            self._waiting.append((plugin, name, value))
            return
        array = np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)
        if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
            raise TypeError(
                f"SummaryRecord.add_value: the {plugin} {name!r} must be a Tensor, array or number. "
                f"Received: "
                f"{value!r:.80} (of type {type(value).__name__})"
            )
        if plugin == "scalar" and array.size != 1:
            raise ValueError(
                f"SummaryRecord.add_value: the scalar {name!r} must have one element. Received: shape "
                f"{array.shape}"
            )
        if plugin == "image" and (array.ndim != 4 or array.shape[1] not in (1, 3)):
            raise ValueError(
                f"SummaryRecord.add_value: the image {name!r} must be [n, 1 or 3, height, width]. Received: "
                f"shape "
                f"{array.shape}"
            )
        self._waiting.append((plugin, name, np.array(array)))

    def record(self, step: int, train_network: Any = None, plugin_filter: Any = None) -> bool:
        """Writes what was added since the last call, and what `ops.ScalarSummary` and its like were given.

        Args:
            step: the number to write it under.
            plugin_filter: takes a plugin's name; only those for which it is true are written.

        Returns:
            Whether anything was written.

        Raises:
            TypeError: step is no integer.
            RuntimeError: the file is full, with ``raise_exception``.
        """
        if isinstance(step, bool) or not isinstance(step, int):
            raise TypeError(f"SummaryRecord.record: step must be an int. Received: step={step!r}")
        if self._closed:
            raise ValueError("SummaryRecord.record: the record is closed")
        for (plugin, name), value in summaries.take().items():
            if not any(kept[:2] == (plugin, name) for kept in self._waiting):  # an explicit value comes first
                self._waiting.append((plugin, name, value))
        chosen = [item for item in self._waiting if plugin_filter is None or plugin_filter(item[0])]
        self._waiting = []
        if not chosen:
            return False
        was_full = self._file.full
        written = self._file.add([self._encoded(*item) for item in chosen], step)
        if not written and not was_full:
            message = (
                f"SummaryRecord: {self.full_file_name} would exceed max_file_size={self._file.max_bytes} "
                f"bytes; "
                "nothing more is written"
            )
            if self.raise_exception:
                raise RuntimeError(message)
            warnings.warn(message, stacklevel=2)
        return written

    def _encoded(self, plugin: str, name: str, value: Any) -> bytes:
        tag = name if self._mode == "train" else f"{name}/eval"
        if plugin == "scalar":
            return event_file.scalar(tag, float(value.reshape(())))
        if plugin == "image":
            return event_file.image(tag, _pixels(value[0]))
        return {"histogram": event_file.histogram, "tensor": event_file.tensor, "text": event_file.text}[
            plugin
        ](tag, value)

    def flush(self) -> None:
        """Hands what was written to the system."""
        self._file.flush()

    def close(self) -> None:
        """Ends the file; what was not recorded is lost."""
        if not self._closed:
            self._closed = True
            self._file.close()


_records = 0


def _number() -> int:
    """Tells the files of one process apart."""
    global _records
    _records += 1
    return _records


def _pixels(image: np.ndarray) -> np.ndarray:
    """``[channels, height, width]`` as bytes ``[height, width, channels]``; numbers that are not bytes
    already are
    stretched from their least to their greatest."""
    image = image.transpose(1, 2, 0)
    if image.dtype == np.uint8:
        return image
    numbers = np.nan_to_num(image.astype(np.float32))
    low, high = numbers.min(), numbers.max()
    return ((numbers - low) * (255 / max(high - low, 1e-12))).round().astype(np.uint8)
