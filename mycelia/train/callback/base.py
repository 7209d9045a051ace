"""Callbacks: what runs between the steps and epochs of `Model.train`, `fit` and `eval`."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


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
                cure = ""
                if callback is ...:
                    cure = (
                        ". Where a text prints `...` it leaves them to you: write callbacks=[LossMonitor()] "
                        "or the like, or leave callbacks out"
                    )
                elif isinstance(callback, type) and issubclass(callback, Callback):
                    cure = f". That is the class: make one, {callback.__name__}(...)"
                raise TypeError("callbacks must be a Callback or a list of them. Received an item: "
                                f"{callback!r} (of type {type(callback).__name__}){cure}")

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


def loss_of(outputs: Any) -> Any:
    """The number in what a training network returned: a loss, or a tuple that begins with it."""
    loss: Any = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    return float(np.mean(loss.asnumpy())) if hasattr(loss, "asnumpy") else loss
