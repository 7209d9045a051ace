"""What a run has given, epoch by epoch."""

from __future__ import annotations

from typing import Any

from mycelia.train.callback.base import Callback, RunContext


class History(Callback):
    """Keeps the network's output of each epoch's last step, and the metrics.

    Attributes:
        epoch: ``{"epoch": [numbers]}``.
        history: ``{"net_output": [...], name of a metric: [...]}``.

    Example:
        >>> history = History()
        >>> model.fit(3, train_data, test_data, callbacks=[history])
        >>> history.history["accuracy"]
        [0.91, 0.95, 0.97]
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] = {"epoch": []}

    def begin(self, run_context: RunContext) -> None:
        if run_context.original_args().get("mode") != "eval":
            self.epoch = {"epoch": []}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        self.epoch["epoch"].append(run.get("cur_epoch_num", 1))
        outputs = run.get("net_outputs")
        if isinstance(outputs, (tuple, list)):
            kept: Any = tuple(_array(item) for item in outputs)
        else:
            kept = _array(outputs)
        self.history.setdefault("net_output", []).append(kept)
        for name, value in (run.get("metrics") or {}).items():
            self.history.setdefault(name, []).append(value)


def _array(value: Any) -> Any:
    return value.asnumpy().copy() if hasattr(value, "asnumpy") else value
