"""SummaryCollector: what TensorBoard shows of a run, without a line in the training loop."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from mycelia.train.callback.base import Callback, RunContext, loss_of
from mycelia.train.summary.summary_record import SummaryRecord

_COLLECTED = {"collect_metric": bool, "collect_input_data": bool, "histogram_regular": (str, type(None))}
_NOT_COLLECTED = (
    "collect_graph",
    "collect_train_lineage",
    "collect_eval_lineage",
    "collect_dataset_graph",
    "collect_landscape",
)


class SummaryCollector(Callback):
    """Writes the loss, the learning rate, metrics, a sample of the input and distributions of parameters.

    Args:
        summary_dir: a folder.
        collect_freq: writes after so many steps.
        num_process: accepted; values are written at once.
        collect_specified_data: what to collect: ``collect_metric`` (loss, rate, metrics),
        ``collect_input_data``
            (the first image of a batch), ``histogram_regular`` (a pattern of parameters' names). MindSpore's
            others are accepted and not collected, with a warning where one is asked for.
        keep_default_action: whether what is not named is collected by default.
        custom_lineage_data: a dict of numbers and texts, written as one text.
        collect_tensor_freq: accepted; tensors are written every ``collect_freq`` steps.
        max_file_size, export_options: as in `SummaryRecord`.

    Raises:
        TypeError, ValueError: arguments of other types or out of range.

    Example:
        >>> model.train(3, train_data, callbacks=[SummaryCollector("logs", collect_freq=100)])
    """

    def __init__(
        self,
        summary_dir: str,
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True,
        custom_lineage_data: dict[str, Any] | None = None,
        collect_tensor_freq: int | None = None,
        max_file_size: int | None = None,
        export_options: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(summary_dir, str) or not summary_dir:
            raise ValueError(f"SummaryCollector: summary_dir must name a folder. Received: {summary_dir!r}")
        if isinstance(collect_freq, bool) or not isinstance(collect_freq, int) or collect_freq < 1:
            raise ValueError(
                f"SummaryCollector: collect_freq must be a positive integer. Received: {collect_freq!r}"
            )
        if not isinstance(keep_default_action, bool):
            raise TypeError(
                f"SummaryCollector: keep_default_action must be a bool. Received: {keep_default_action!r}"
            )
        chosen = self._chosen(collect_specified_data)
        default = keep_default_action
        self.collect_freq = collect_freq
        self.collects_metrics = chosen.get("collect_metric", default)
        self.collects_input = chosen.get("collect_input_data", default)
        self.pattern = chosen.get("histogram_regular", ".*" if default else None)
        self.custom_lineage_data = custom_lineage_data or {}
        self._settings = (summary_dir, max_file_size, export_options)
        self._record: SummaryRecord | None = None

    @staticmethod
    def _chosen(given: dict[str, Any] | None) -> dict[str, Any]:
        if given is not None and not isinstance(given, dict):
            raise TypeError(f"SummaryCollector: collect_specified_data must be a dict. Received: {given!r}")
        for name, value in (given or {}).items():
            if name in _NOT_COLLECTED:
                if value:
                    warnings.warn(f"SummaryCollector: {name} is not collected by this version", stacklevel=3)
            elif name not in _COLLECTED:
                known = ", ".join((*_COLLECTED, *_NOT_COLLECTED))
                raise ValueError(
                    f"SummaryCollector: collect_specified_data may have the keys {known}. Received: {name!r}"
                )
            elif not isinstance(value, _COLLECTED[name]):
                raise TypeError(
                    f"SummaryCollector: collect_specified_data[{name!r}] is of another type. Received: "
                    f"{value!r}"
                )
        return dict(given or {})

    def __enter__(self) -> SummaryCollector:
        folder, size, options = self._settings
        self._record = SummaryRecord(folder, max_file_size=size, export_options=options)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._record is not None:
            self._record.close()

    def begin(self, run_context: RunContext) -> None:
        if self.custom_lineage_data and self._record is not None:
            lines = "\n".join(f"{name}: {value}" for name, value in self.custom_lineage_data.items())
            self._record.add_value("text", "custom_lineage_data", lines)
            self._record.record(0)

    def on_train_step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        first = run.cur_step_num == run.get("initial_step", 0) + 1
        if not first and run.cur_step_num % self.collect_freq:
            return
        record = self._open()
        if self.collects_metrics:
            loss = loss_of(run.net_outputs)
            if isinstance(loss, float):
                record.add_value("scalar", "loss", loss)
            rate = _rate(run)
            if rate is not None:
                record.add_value("scalar", "learning_rate", rate)
        if self.collects_input and run.get("train_dataset_element"):
            image = run.train_dataset_element[0].asnumpy()
            if image.ndim == 4 and image.shape[1] in (1, 3):
                record.add_value("image", "input_data", image[:1])
        if self.pattern is not None:
            for parameter in run.train_network.trainable_params():
                if re.match(self.pattern, parameter.name):
                    record.add_value("histogram", parameter.name, parameter.asnumpy().astype(np.float32))
        record.record(run.cur_step_num)
        record.flush()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if self.collects_metrics and run.get("eval_results"):
            record = self._open()
            for name, value in run.eval_results.items():
                if isinstance(value, (int, float, np.number)):
                    record.add_value("scalar", f"eval/{name}", value)
            record.record(run.cur_step_num)
            record.flush()

    def _open(self) -> SummaryRecord:
        if self._record is None:
            raise RuntimeError("SummaryCollector: is opened by Model.train or by `with`")
        return self._record


def _rate(run: Any) -> float | None:
    optimizer = run.get("optimizer") or getattr(run.train_network, "optimizer", None)
    if optimizer is None or not hasattr(optimizer, "get_lr"):
        return None
    rate = optimizer.get_lr()
    rate = rate[0] if isinstance(rate, (tuple, list)) else rate
    return float(np.ravel(rate.asnumpy())[0])
