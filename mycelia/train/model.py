"""Model: training, evaluation and prediction of a network without a loop of one's own."""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from mycelia.common.parallel_context import ParallelMode
from mycelia.trace.location import warn_user
from mycelia.train.amp import LEVELS, build_train_network
from mycelia.train.callback.base import CallbackList, CallbackParam, RunContext
from mycelia.train.callback.progress import StepTimes, progress
from mycelia.train.metrics import Loss, Metric, get_metrics

# Callbacks of training that `fit` does not run in the evaluations between epochs.
_TRAINING_ONLY = frozenset(["LossMonitor", "ModelCheckpoint", "Progress", "PlainProgress"])


class Model:
    """A network with its loss, optimizer and metrics.

    Args:
        network: the Cell to train.
        loss_fn: a Cell of (outputs, labels); None if the network returns its loss.
        optimizer: None for evaluation and prediction only, or if the network is a training step of its own;
            `train` warns after its first step where nothing has updated the weights.
        metrics: names such as ``{"accuracy", "loss"}``, or a dict from name to Metric.
        eval_network: the Cell that `eval` runs; default: the network and the loss.
        eval_indexes: positions of loss, predictions and labels among eval_network's outputs; default: metrics
            get all outputs.
        amp_level: mixed precision, ``"O0"`` to ``"O3"`` or ``"auto"``, as in `amp.auto_mixed_precision`.
        boost_level: ``"O0"``.
        loss_scale_manager, keep_batchnorm_fp32: as in `amp.build_train_network`.

    Raises:
        ValueError: metrics without a loss or eval_network; unknown levels; a loss scale without an optimizer.
        KeyError: an unknown metric.

    Example:
        >>> model = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params()), metrics={"accuracy"})
        >>> model.train(1, train_data, callbacks=[LossMonitor(100)])
        >>> model.eval(test_data)
        {'accuracy': 0.98}
    """

    def __init__(self, network: Any, loss_fn: Any = None, optimizer: Any = None, metrics: Any = None,
                 eval_network: Any = None, eval_indexes: list[int] | None = None, amp_level: str = "O0",
                 boost_level: str = "O0", **kwargs: Any) -> None:
        for name in kwargs:
            if name not in ("loss_scale_manager", "keep_batchnorm_fp32"):
                raise ValueError(f"Model: got an unexpected keyword argument {name!r}")
        if amp_level not in LEVELS:
            raise ValueError(f"Model: amp_level must be one of {', '.join(LEVELS)}. Received: {amp_level!r}")
        if boost_level != "O0":
            raise ValueError("Model: boost_level must be 'O0'; boosting is not built yet. Received: "
                             f"boost_level={boost_level!r}")
        if optimizer is None and (amp_level != "O0" or kwargs.get("loss_scale_manager") is not None):
            raise ValueError("Model: amp_level and loss_scale_manager need an optimizer; for prediction use "
                             f"amp.auto_mixed_precision(network, {amp_level!r}). Received: "
                             f"amp_level={amp_level!r}")
        if eval_indexes is not None and (not isinstance(eval_indexes, list) or len(eval_indexes) != 3):
            raise ValueError("Model: eval_indexes must be a list of three positions: loss, predictions, "
                             f"labels. Received: eval_indexes={eval_indexes!r}")
        if isinstance(network, type) or not callable(network):
            raise TypeError(
                f"Model: network must be a Cell. Received: network={network!r:.60} (of type "
                f"{type(network).__name__})"
                + (". That is the class: make one of it" if isinstance(network, type) else "")
            )
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._metrics: dict[str, Metric] = get_metrics(metrics)
        self._amp_level, self._amp_settings = amp_level, kwargs
        self._train_network = self._build_train_network()
        self._eval_network, self._eval_indexes = eval_network, eval_indexes
        if eval_network is None and self._metrics:
            if loss_fn is None:
                raise ValueError("Model: metrics need a loss_fn or an eval_network. Received: neither")
            from mycelia import nn
            self._eval_network, self._eval_indexes = nn.WithEvalCell(network, loss_fn), [0, 1, 2]

    def _build_train_network(self) -> Any:
        from mycelia import nn
        if self._optimizer is not None:
            return build_train_network(self._network, self._optimizer, self._loss_fn, self._amp_level,
                                       **self._amp_settings)
        return self._network if self._loss_fn is None else nn.WithLossCell(self._network, self._loss_fn)

    @property
    def train_network(self) -> Any:
        """The Cell of one training step."""
        return self._train_network

    @property
    def predict_network(self) -> Any:
        """The network as given."""
        return self._network

    @property
    def eval_network(self) -> Any:
        """The Cell that `eval` runs."""
        return self._eval_network

    # -- training ----------------------------------------------------------------------------------------
    def train(self, epoch: int, train_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False,
              sink_size: int = -1, initial_epoch: int = 0) -> None:
        """Trains for some epochs.

        Args:
            epoch: the number of the last epoch.
            train_dataset: batches of (data, label), or of whatever the network takes where there is no
                loss_fn.
            callbacks: a Callback or a list of them.
            dataset_sink_mode: data go to the network directly in either case, as MindSpore's do on a CPU, and
                callbacks see each step; what it decides is the meaning of `sink_size`.
            sink_size: with dataset_sink_mode, steps of an epoch, which goes on in the data where the one
            before
                has ended; -1 for the whole dataset.
            initial_epoch: epochs that an earlier run has done.

        Raises:
            ValueError: a dataset without batches, or of other columns.
        """
        self.fit(epoch, train_dataset, None, 1, callbacks, dataset_sink_mode, False, sink_size, initial_epoch)

    def fit(self, epoch: int, train_dataset: Any, valid_dataset: Any = None,
            valid_frequency: int | list[int] = 1, callbacks: Any = None, dataset_sink_mode: bool = False,
            valid_dataset_sink_mode: bool = False, sink_size: int = -1, initial_epoch: int = 0) -> None:
        """Trains, and evaluates after epochs.

        Args:
            valid_dataset: what to evaluate on; default: nothing.
            valid_frequency: evaluates after each so many epochs, or after the epochs of a list.
            epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch: as in `train`.
        """
        _positive("epoch", epoch)
        if isinstance(initial_epoch, bool) or not isinstance(initial_epoch,
                                                             int) or not 0 <= initial_epoch < epoch:
            raise ValueError(f"Model.train: initial_epoch must be from 0 to epoch - 1 = {epoch - 1}. "
                             f"Received: initial_epoch={initial_epoch!r}")
        steps = _batches_of("Model.train", "train_dataset", train_dataset)
        if not steps:
            raise ValueError("Model.train: train_dataset has no batches; is batch_size larger than the "
                             "dataset, with drop_remainder=True?")
        if sink_size != -1:
            _positive("sink_size", sink_size)
            steps = sink_size if dataset_sink_mode else steps
        every = _with_progress(callbacks)
        run = CallbackParam(
            mode="train", network=self._network, train_network=self._train_network, loss_fn=self._loss_fn,
            optimizer=self._optimizer, train_dataset=train_dataset, list_callback=every.callbacks,
            batch_num=steps, epoch_num=epoch - initial_epoch, cur_step_num=0, cur_epoch_num=initial_epoch,
            initial_step=0, times=StepTimes(), dataset_sink_mode=False,
            parallel_mode=ParallelMode.STAND_ALONE, device_number=1, train_dataset_element=None,
            last_save_ckpt_step=None, latest_ckpt_file=None)
        context = RunContext(run)
        endless = _endless(train_dataset) if dataset_sink_mode and sink_size > 0 else None
        with every:
            every.call("on_train_begin", context)
            for number in range(run.get("resume_epoch", initial_epoch) + 1, epoch + 1):
                run.cur_epoch_num = number
                batches = train_dataset.create_tuple_iterator(num_epochs=1) if endless is None else \
                    itertools.islice(endless, steps)
                self._train_epoch(batches, every, context)
                if valid_dataset is not None and _due(number, valid_frequency):
                    self._validate(valid_dataset, every, run)
                every.call("on_train_epoch_end", context)
                run.pop("metrics", None)
                run.pop("eval_results", None)
                if context.get_stop_requested():
                    break
            every.call("on_train_end", context)

    def _train_epoch(self, batches: Iterable[Any], every: CallbackList, context: RunContext) -> None:
        run = context.original_args()
        every.call("on_train_epoch_begin", context)
        self._train_network.set_train(True)
        times = run.times
        times.restart()
        for batch in batches:
            times.begin_step()
            if self._loss_fn is not None and len(batch) != 2:
                raise ValueError("Model.train: with a loss_fn, train_dataset must have two columns, data and "
                                 f"label. Received: {', '.join(run.train_dataset.get_col_names())}")
            run.cur_step_num += 1
            run.train_dataset_element = batch
            every.call("on_train_step_begin", context)
            times.begin_run()
            first = run.cur_step_num == 1 and self._optimizer is None
            watched = _versions(self._train_network) if first else []
            run.net_outputs = self._train_network(*batch)
            if watched:
                self._require_update(watched)
            times.end_step()
            every.call("on_train_step_end", context)
            if context.get_stop_requested():
                break
            times.wait()

    def _require_update(self, before: list[tuple[Any, int]]) -> None:
        """Warns where a first step has left all weights alone and nothing is there that could update them.

        An optimizer inside the network may update only every few steps, and nothing is said of it.
        """
        if _versions(self._train_network) != before or _holds_optimizer(self._train_network):
            return
        loss = None if self._loss_fn is None else type(self._loss_fn).__name__
        warn_user(
            f"Model.train: nothing is trained: there is no optimizer, and the first step has changed none of "
            f"the network's {len(before)} trainable parameters. Received: Model(network="
            f"{type(self._network).__name__}, loss_fn={loss}, optimizer=None). Give the Model an optimizer, "
            "such as nn.Adam(network.trainable_params()), or a network that is a training step of its own, "
            "such as nn.TrainOneStepCell(network_with_loss, optimizer)"
        )

    def _validate(self, dataset: Any, every: CallbackList, run: CallbackParam) -> None:
        """The evaluation between two epochs of `fit`; leaves its results in the run for the callbacks."""
        kept = {name: run.get(name) for name in ("mode", "cur_step_num", "batch_num", "net_outputs")}
        listeners = CallbackList([callback for callback in every.callbacks
                                  if type(callback).__name__ not in _TRAINING_ONLY])
        loss = Loss()
        results = self._evaluate(dataset, listeners, run, loss)
        run.update(kept)
        run.metrics = results
        run.eval_results = dict(results)
        if loss._batches:
            run.eval_results["eval_loss"] = loss.eval()

    # -- evaluation --------------------------------------------------------------------------------------
    def eval(self, valid_dataset: Any, callbacks: Any = None,
             dataset_sink_mode: bool = False) -> dict[str, Any]:
        """Runs the metrics over a dataset.

        Args:
            valid_dataset: batches of (data, label), or of whatever eval_network takes.
            callbacks: a Callback or a list of them.
            dataset_sink_mode: accepted, as in `train`.

        Returns:
            Results of the metrics by name.

        Raises:
            ValueError: the model has no metrics, or the dataset no batches.
        """
        if not self._metrics:
            raise ValueError("Model.eval: needs metrics; make the Model with metrics={'accuracy'} or others")
        listeners = CallbackList(callbacks)
        run = CallbackParam(network=self._network, list_callback=listeners.callbacks, dataset_sink_mode=False)
        with listeners:
            return self._evaluate(valid_dataset, listeners, run)

    def _evaluate(self, dataset: Any, listeners: CallbackList, run: CallbackParam,
                  loss: Loss | None = None) -> dict[str, Any]:
        if self._eval_network is None:
            raise ValueError("Model: an evaluation needs metrics and a loss_fn, or an eval_network")
        run.update(mode="eval", eval_network=self._eval_network, valid_dataset=dataset, cur_step_num=0,
                   batch_num=_batches_of("Model.eval", "valid_dataset", dataset))
        if not run.batch_num:
            raise ValueError("Model.eval: valid_dataset has no batches")
        context = RunContext(run)
        for metric in self._metrics.values():
            metric.clear()
        listeners.call("on_eval_begin", context)
        listeners.call("on_eval_epoch_begin", context)
        self._eval_network.set_train(False)
        for batch in dataset.create_tuple_iterator(num_epochs=1):
            run.cur_step_num += 1
            run.eval_dataset_element = batch
            listeners.call("on_eval_step_begin", context)
            outputs = self._eval_network(*batch)
            run.net_outputs = outputs
            listeners.call("on_eval_step_end", context)
            self._count(outputs, loss)
            if context.get_stop_requested():
                break
        listeners.call("on_eval_epoch_end", context)
        run.metrics = {name: metric.eval() for name, metric in self._metrics.items()}
        listeners.call("on_eval_end", context)
        return run.metrics

    def _count(self, outputs: Any, loss: Loss | None) -> None:
        outputs = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
        indexes = self._eval_indexes
        if indexes is not None and max(indexes) >= len(outputs):
            raise ValueError(f"Model.eval: eval_indexes {indexes} must be below the number of eval_network's "
                             f"outputs. Received: {len(outputs)} outputs")
        for metric in self._metrics.values():
            if indexes is None:
                metric.update(*outputs)
            elif isinstance(metric, Loss):
                metric.update(outputs[indexes[0]])
            else:
                metric.update(outputs[indexes[1]], outputs[indexes[2]])
        if loss is not None and indexes is not None:
            loss.update(outputs[indexes[0]])

    # -- prediction --------------------------------------------------------------------------------------
    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """The network's outputs for some inputs, in inference mode.

        Raises:
            ValueError: a backend other than None.
        """
        if backend is not None:
            raise ValueError(f"Model.predict: backend must be None. Received: backend={backend!r}")
        self._network.set_train(False)
        return self._network(*predict_data)

    def build(self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1, epoch: int = 1,
              sink_mode: bool = True) -> None:
        """Compiles the training and evaluation networks for a dataset's shapes ahead of the first step."""
        for network, dataset, training in ((self._train_network, train_dataset, True),
                                           (self._eval_network, valid_dataset, False)):
            if dataset is None:
                continue
            if network is None:
                raise ValueError("Model.build: valid_dataset needs metrics or an eval_network")
            network.set_train(training)
            batch = next(iter(dataset.create_tuple_iterator(num_epochs=1)))
            compile_network = getattr(network, "compile", None)
            if compile_network is None:
                warnings.warn(f"Model.build: {type(network).__name__} compiles at its first "
                              "call", stacklevel=2)
            else:
                compile_network(*batch)


def _versions(network: Any) -> list[tuple[Any, int]]:
    """The memory of a network's trainable parameters, each with the count of its writes."""
    found = getattr(network, "parameters_and_names", lambda: ())()
    storages = (p._storage for _, p in found if getattr(p, "requires_grad", False))
    return [(storage, storage.version) for storage in storages]


def _holds_optimizer(network: Any) -> bool:
    from mycelia.experimental.optim.optimizer import Optimizer as ExperimentalOptimizer
    from mycelia.nn import Optimizer
    return any(isinstance(cell, (Optimizer, ExperimentalOptimizer))
               for _, cell in getattr(network, "cells_and_names", lambda: ())())


def _positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"Model.train: {name} must be a positive integer. Received: {name}={value!r}")


def _due(epoch: int, frequency: int | Iterable[int]) -> bool:
    return epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency


def _with_progress(callbacks: Any) -> CallbackList:
    """The callbacks, with what shows the progress in front."""
    every = CallbackList(callbacks)
    shown = progress()
    if shown is not None:
        every.callbacks.insert(0, shown)
    return every


def _batches_of(function: str, name: str, dataset: Any) -> int:
    if not hasattr(dataset, "get_dataset_size") or not hasattr(dataset, "create_tuple_iterator"):
        raise TypeError(f"{function}: {name} must be a dataset. Received: {dataset!r:.80} (of type "
                        f"{type(dataset).__name__}). Make one of arrays with "
                        "ds.NumpySlicesDataset((x, y), ['data', 'label']).batch(32)")
    return dataset.get_dataset_size()


def _endless(dataset: Any) -> Iterator[Any]:
    """The dataset's batches, over and over."""
    while True:
        yield from dataset.create_tuple_iterator(num_epochs=1)
