"""Model's loop and callbacks: who is called when, what is printed, which files are written."""
from __future__ import annotations

import re

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia import Parameter, Tensor, load_checkpoint, load_param_into_net, nn
from mycelia.train import (
    Accuracy,
    Callback,
    CheckpointConfig,
    LambdaCallback,
    Loss,
    LossMonitor,
    Model,
    ModelCheckpoint,
    TimeMonitor,
)


class Network:
    """A stand-in for a Cell that returns its loss: the mean of its input, falling with each step."""

    def __init__(self, loss=lambda step: 1 / step):
        self.loss, self.steps, self.training = loss, 0, []
        self.weight = Parameter(Tensor(np.zeros(2, np.float32)), name="weight")

    def set_train(self, mode=True):
        self.training.append(mode)

    def parameters_and_names(self):
        return [("weight", self.weight)]

    def __call__(self, x, label):
        self.steps += 1
        self.weight.set_data(Tensor(np.full(2, self.steps, np.float32)))
        return Tensor(np.float32(self.loss(self.steps)))


class Classifier(Network):
    """Returns (loss, scores, labels); right for labels below 2."""

    def __call__(self, x, label):
        scores = np.eye(3, dtype=np.float32)[np.minimum(label.asnumpy(), 1)]
        return Tensor(np.float32(0.5)), Tensor(scores), label


class Journal(Callback):
    def __init__(self):
        self.moments = []

    def __enter__(self):
        self.moments.append("enter")
        return self

    def __exit__(self, *error):
        self.moments.append("exit")


for _moment in [name for name in dir(Callback) if name.startswith("on_")]:
    def _note(self, run_context, moment=_moment):
        self.moments.append(moment.removeprefix("on_"))
    setattr(Journal, _moment, _note)


def data(rows=6, batch=2):
    columns = (np.arange(rows, dtype=np.float32), np.arange(rows, dtype=np.int32) % 3)
    return ds.NumpySlicesDataset(columns, ["x", "label"], shuffle=False).batch(batch)


def test_the_order_of_moments():
    journal = Journal()
    Model(Network()).train(2, data(4), callbacks=journal)
    epoch = ["train_epoch_begin", *["train_step_begin", "train_step_end"] * 2, "train_epoch_end"]
    assert journal.moments == ["enter", "train_begin", *epoch, *epoch, "train_end", "exit"]
    journal = Journal()
    model = Model(Network(), metrics={"accuracy"}, eval_network=Classifier(), eval_indexes=[0, 1, 2])
    model.eval(data(4), callbacks=[journal])
    assert journal.moments == ["enter", "eval_begin", "eval_epoch_begin",
                               *["eval_step_begin", "eval_step_end"] * 2,
                               "eval_epoch_end", "eval_end", "exit"]


def test_losses_and_times_are_printed_as_mindspore_prints_them(capsys):
    network = Network()
    Model(network).train(2, data(), callbacks=[LossMonitor(2), TimeMonitor()])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "loss" in line] == [
        "epoch: 1 step: 2, loss is 0.5", "epoch: 2 step: 1, loss is 0.25",
        f"epoch: 2 step: 3, loss is {float(np.float32(1 / 6))}"]
    times = [line for line in lines if "time" in line]
    assert len(times) == 2
    assert all(re.fullmatch(r"Train epoch time: \d+\.\d{3} ms, per step time: \d+\.\d{3} ms", line)
               for line in times)
    assert network.steps == 6 and set(network.training) == {True}
    Model(network).train(1, data(), callbacks=TimeMonitor(data_time=True))
    assert re.search(r"\(data time: \d+\.\d{3} ms\)", capsys.readouterr().out)


def test_a_loss_that_is_no_number_ends_the_training():
    with pytest.raises(ValueError, match="In epoch: 1 step: 2, loss is NAN or INF, training process cannot "
                                         "continue"):
        Model(Network(lambda step: np.nan if step == 2 else 1.0)).train(1, data(), callbacks=LossMonitor(0))


def test_what_callbacks_see_and_stop():
    seen = []

    def look(context):
        run = context.original_args()
        seen.append((run.cur_epoch_num, run.cur_step_num, run.batch_num, run["mode"],
                     len(run.train_dataset_element)))
        if run.cur_step_num == 4:
            context.request_stop()
        with pytest.raises(AttributeError, match="the run has no 'unknown'; it has batch_num"):
            _ = run.unknown
    network = Network()
    Model(network).train(5, data(), callbacks=LambdaCallback(on_train_step_end=look), initial_epoch=2)
    assert seen == [(3, 1, 3, "train", 2), (3, 2, 3, "train", 2), (3, 3, 3, "train", 2),
                    (4, 4, 3, "train", 2)]
    with pytest.raises(TypeError, match="there is no moment 'on_lunch'"):
        LambdaCallback(on_lunch=look)


def test_fit_evaluates_between_epochs(capsys):
    model = Model(Network(), metrics={"accuracy", "loss"}, eval_network=Classifier(), eval_indexes=[0, 1, 2])
    results = []
    keep = LambdaCallback(on_train_epoch_end=lambda c: results.append(c.original_args().get("eval_results")))
    model.fit(4, data(), data(), valid_frequency=2, callbacks=[LossMonitor(3), keep])
    wanted = {"accuracy": 4 / 6, "loss": 0.5}
    assert results == [None, wanted | {"eval_loss": 0.5}] * 2
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Eval result")]
    assert printed == [f"Eval result: epoch {epoch}, metrics: {wanted}" for epoch in (2, 4)]
    assert model.eval(data()) == wanted
    model.fit(3, data(), data(), valid_frequency=[1, 3], callbacks=keep)
    assert [result is not None for result in results[4:]] == [True, False, True]


def test_metrics_given_by_name_or_object():
    model = Model(Network(), metrics={"mine": Accuracy()}, eval_network=Classifier(), eval_indexes=[0, 1, 2])
    assert model.eval(data()) == {"mine": 4 / 6}
    pairs = Model(Network(), metrics={"acc": Accuracy().set_indexes([1, 2])}, eval_network=Classifier())
    assert pairs.eval(data()) == {"acc": 4 / 6}
    for metrics, error, message in (({"foo"}, KeyError, "there is no metric 'foo'; known are F1, acc"),
                                    (["accuracy"], TypeError, "metrics must be a set of names or a dict"),
                                    ({"x": 3}, TypeError, "metrics must go from names to Metrics")):
        with pytest.raises(error, match=message):
            Model(Network(), metrics=metrics, eval_network=Classifier())


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_checkpoints_of_a_run(tmp_path):
    network = Network()
    saver = ModelCheckpoint("net", str(tmp_path),
                            CheckpointConfig(2, keep_checkpoint_max=3, append_info=["epoch_num", {"k": 1}]))
    Model(network).train(3, data(), callbacks=saver)
    assert files(tmp_path) == ["net-2_3.ckpt", "net-3_2.ckpt", "net-3_3.ckpt"]
    latest = load_checkpoint(saver.latest_ckpt_file_name)
    assert latest["weight"].asnumpy().tolist() == [9, 9]
    assert (int(latest["epoch_num"].asnumpy()), int(latest["k"].asnumpy())) == (3, 1)
    again = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(9, keep_checkpoint_max=1))
    Model(network).train(1, data(), callbacks=again)
    assert "net_1-1_3.ckpt" in files(tmp_path) and len(files(tmp_path)) == 4


def test_a_failing_run_saves_its_last_state(tmp_path):
    config = CheckpointConfig(100, exception_save=True)
    with pytest.raises(ValueError, match="NAN"):
        Model(Network(lambda step: np.nan if step == 2 else 1.0)).train(
            1, data(), callbacks=[ModelCheckpoint("net", str(tmp_path), config), LossMonitor()])
    assert files(tmp_path) == ["net-1_2_breakpoint.ckpt"]


@pytest.mark.parametrize("call, error, message", [
    (lambda model: model.train(0, data()), ValueError, "epoch must be a positive integer. Received: epoch=0"),
    (lambda model: model.train(2, data(), initial_epoch=2), ValueError, "initial_epoch must be from 0 to "
                                                                        "epoch - 1 = 1"),
    (lambda model: model.train(1, data(), callbacks=[3]), TypeError, r"Received an item: 3 \(of type int\)"),
    (lambda model: model.train(1, data(), callbacks=3), TypeError, "callbacks must be a Callback or a list "
                                                                   "of them"),
    (lambda model: model.train(1, data(1).skip(1)), ValueError, "train_dataset has no batches"),
    (lambda model: model.eval(data()), ValueError, "needs metrics"),
    (lambda model: Model(Network(), metrics={"loss"}), ValueError, "metrics need a loss_fn or an "
                                                                   "eval_network"),
    (lambda model: Model(Network(), amp_level="O2"), ValueError, "amp_level='O2'"),
    (lambda model: CheckpointConfig(0, 0, 0, 0), ValueError, "must not all be 0"),
    (lambda model: CheckpointConfig(append_info=["x"]), ValueError, "'epoch_num', 'step_num' or a dict. "
                                                                    "Received: 'x'"),
    (lambda model: ModelCheckpoint("a/b"), ValueError, "prefix must be a string without '/'"),
    (lambda model: LossMonitor(-1), ValueError, "per_print_times must be an integer that is not negative"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(Model(Network()))


# -- metrics -----------------------------------------------------------------------------------------------
def test_accuracy():
    metric = Accuracy("classification")
    with pytest.raises(RuntimeError, match="Accuracy.eval: nothing was counted"):
        metric.eval()
    scores = np.array([[0.1, 0.9], [0.8, 0.2]], np.float32)
    metric.update(Tensor(scores), Tensor(np.array([1, 1], np.int32)))
    assert metric.eval() == 0.5
    metric.update(scores, np.array([[0, 1], [1, 0]]))
    assert metric.eval() == 0.75
    metric.clear()
    metric.update(np.zeros((2, 3, 4)), np.zeros((2, 4)))
    assert metric.eval() == 1
    for inputs, message in (((scores,), "must have 2 inputs"),
                            ((scores, np.zeros(3)), r"predictions \(2, 2\), labels \(3,\)"),
                            ((np.zeros(2), np.zeros(2)), r"must have shape \[N, C, ...\]. Received: \(2,\)")):
        with pytest.raises(ValueError, match=message):
            metric.update(*inputs)
    labels = Accuracy("multilabel")
    labels.update(np.array([[1, 0, 1], [0, 1, 1]]), np.array([[1, 0, 1], [0, 1, 0]]))
    assert labels.eval() == 0.5


def test_loss_is_the_mean_over_batches():
    metric = Loss()
    for value in (1.0, 2.0, 6.0):
        metric.update(Tensor(np.float32(value)))
    assert metric.eval() == 3


# -- with real networks ------------------------------------------------------------------------------------
def test_a_network_learns_is_saved_and_restored(tmp_path, capsys):
    ms.set_seed(3)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((256, 8)).astype(np.float32)
    y = (x[:, :4] @ rng.standard_normal((4, 3))).argmax(1).astype(np.int32)
    rows = ds.NumpySlicesDataset((x, y), ["x", "y"]).batch(32)

    def network():
        return nn.SequentialCell(nn.Dense(8, 32), nn.ReLU(), nn.Dense(32, 3))
    net, loss_fn = network(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss_fn, nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"accuracy", "loss"})
    before = model.eval(rows)
    saver = ModelCheckpoint("net", str(tmp_path), CheckpointConfig(100, keep_checkpoint_max=1))
    model.train(12, rows, callbacks=[LossMonitor(8), saver])
    after = model.eval(rows)
    assert before["accuracy"] < 0.7 < 0.95 < after["accuracy"] and after["loss"] < before["loss"] / 3
    assert capsys.readouterr().out.count("step: 8, loss is ") == 12
    restored = network()
    missing, unused = load_param_into_net(restored, load_checkpoint(saver.latest_ckpt_file_name))
    assert missing == [] and "global_step" in unused
    sample = Tensor(x[:5])
    again = Model(restored, loss_fn, metrics={"accuracy", "loss"})
    assert again.eval(rows) == pytest.approx(after)
    assert np.array_equal(again.predict(sample).asnumpy(), model.predict(sample).asnumpy())


def test_a_dataset_of_other_columns_is_refused():
    net = nn.Dense(1, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    with pytest.raises(ValueError, match="must have two columns, data and label. Received: a, b, c"):
        model.train(1, ds.NumpySlicesDataset({"a": [1.0], "b": [1.0], "c": [1.0]}).batch(1))


class _OwnStep(nn.Cell):
    """A training step of its own, which updates every second time or, with `held` False, by assignment."""

    def __init__(self, held):
        super().__init__()
        self.network = nn.WithLossCell(nn.Dense(3, 2), nn.MSELoss())
        self.optimizer = nn.SGD(self.network.trainable_params(), 0.1) if held else None
        self.steps = 0

    def construct(self, x, y):
        self.steps += 1
        if self.optimizer is None:
            for weight in self.network.trainable_params():
                weight.set_data(weight + 1.0)
        elif self.steps % 2 == 0:
            self.optimizer(tuple(ms.ops.ones_like(p) for p in self.network.trainable_params()))
        return self.network(x, y)


def _no_optimizer(kind):
    network = nn.Dense(3, 2)
    return {
        "loss_fn": lambda: Model(network, nn.MSELoss()),
        "returns loss": lambda: Model(nn.WithLossCell(network, nn.MSELoss())),
        "norms": lambda: Model(nn.SequentialCell(network, nn.BatchNorm1d(2)), nn.MSELoss()),
        "training cell": lambda: Model(nn.TrainOneStepCell(
            nn.WithLossCell(network, nn.MSELoss()), nn.SGD(network.trainable_params(), 0.1))),
        "every second step": lambda: Model(_OwnStep(True)),
        "by hand": lambda: Model(_OwnStep(False)),
        "optimizer": lambda: Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 0.1)),
    }[kind]()


@pytest.mark.parametrize("method", ["train", "fit"])
@pytest.mark.parametrize("kind", ["loss_fn", "returns loss", "norms"])
def test_training_without_an_optimizer_is_said_once_at_the_users_line(kind, method):
    data = ds.NumpySlicesDataset((np.ones((8, 3), "f4"), np.ones((8, 2), "f4")), ["x", "y"]).batch(2)
    with pytest.warns(UserWarning, match="nothing is trained: there is no optimizer") as said:
        getattr(_no_optimizer(kind), method)(2, data)
    assert [warning.filename for warning in said] == [__file__]
    assert "2 trainable" in str(said[0].message) or kind == "norms" and "4 trainable" in str(said[0].message)


@pytest.mark.parametrize("kind", ["training cell", "every second step", "by hand", "optimizer"])
def test_a_network_that_trains_itself_is_left_in_peace(kind, recwarn):
    data = ds.NumpySlicesDataset((np.ones((8, 3), "f4"), np.ones((8, 2), "f4")), ["x", "y"]).batch(2)
    _no_optimizer(kind).train(2, data)
    assert not [warning for warning in recwarn if "nothing is trained" in str(warning.message)]
