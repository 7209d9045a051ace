"""Callbacks that watch, keep, schedule and end a run; compared with what real MindSpore 2.10 printed."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia import Tensor, nn, ops
from mycelia.train import (
    BackupAndRestore,
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LearningRateScheduler,
    LossMonitor,
    Model,
    ModelCheckpoint,
    OnRequestExit,
    ReduceLROnPlateau,
    SummaryCollector,
    SummaryRecord,
    TimeMonitor,
)
from mycelia.train.callback.progress import Progress, StepTimes
from mycelia.train.summary.event_file import crc32c, read_events

X = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int32)


def data(batch=5):
    return ds.NumpySlicesDataset((X, Y), ["data", "label"], shuffle=False).batch(batch)


def model(rate=0.1, **settings):
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return Model(net, loss, nn.Momentum(net.trainable_params(), rate, 0.9), **settings)


class Values(Callback):
    """Lets a run of `fit` report given values of a metric."""

    def __init__(self, name, values):
        self.name, self.values = name, iter(values)

    def on_train_epoch_end(self, run_context):
        run_context.original_args().eval_results = {self.name: next(self.values)}


class Epochs(Callback):
    def __init__(self):
        self.seen, self.rates = [], []

    def on_train_epoch_end(self, run_context):
        run = run_context.original_args()
        self.seen.append(run.cur_epoch_num)
        self.rates.append(round(float(run.optimizer.learning_rate.asnumpy()), 7))


def test_history_keeps_outputs_and_metrics():
    history = History()
    model(metrics={"acc": nn.Accuracy()}).fit(3, data(), data(), 2, callbacks=[history])
    assert history.epoch == {"epoch": [1, 2, 3]}
    assert len(history.history["net_output"]) == 3 and len(history.history["acc"]) == 1
    assert isinstance(history.history["net_output"][0], np.ndarray)


@pytest.mark.parametrize(
    "settings, values, epochs",
    [
        (dict(patience=1), [0.5, 0.4, 0.4], [1, 2, 3]),
        (dict(patience=2), [0.5, 0.5, 0.6], [1, 2, 3]),
        (dict(patience=1, min_delta=0.2), [0.5, 0.4], [1, 2]),
        (dict(patience=1, mode="max"), [0.5, 0.6, 0.6], [1, 2, 3]),
        (dict(patience=2, baseline=0.3), [0.5, 0.4], [1, 2]),
    ],
)
def test_early_stopping(settings, values, epochs, capsys):
    seen = Epochs()
    stop = EarlyStopping(verbose=True, **settings)
    model().fit(len(epochs) + 3, data(), callbacks=[Values("eval_loss", values + [0] * 9), stop, seen])
    assert seen.seen == epochs
    assert f"Epoch {epochs[-1]:05d}: early stopping\n" in capsys.readouterr().out


def test_early_stopping_brings_the_best_weights_back():
    trained = model()
    kept = {}

    class Keep(Callback):
        def on_train_epoch_end(self, run_context):
            run = run_context.original_args()
            kept[run.cur_epoch_num] = [p.asnumpy().copy() for p in run.train_network.get_parameters()]

    stop = EarlyStopping("score", patience=2, restore_best_weights=True)
    trained.train(9, data(), callbacks=[Values("score", [3, 1, 2, 2, 0]), Keep(), stop])
    assert len(kept) == 4
    now = [p.asnumpy() for p in trained.train_network.get_parameters()]
    assert all(np.array_equal(a, b) for a, b in zip(now, kept[2]))
    assert not all(np.array_equal(a, b) for a, b in zip(now, kept[4]))


def test_a_missing_monitor_is_a_warning_that_lists_what_there_is():
    with pytest.warns(UserWarning, match="no 'nothere'.*there is loss"):
        model().train(1, data(), callbacks=[EarlyStopping("nothere")])


def test_the_rate_falls_on_a_plateau(capsys):
    seen = Epochs()
    reduce = ReduceLROnPlateau(
        "score", factor=0.5, patience=1, verbose=True, min_delta=5, cooldown=1, min_lr=0.02
    )
    model().train(6, data(), callbacks=[Values("score", [1] * 6), reduce, seen])
    assert seen.rates == [0.1, 0.05, 0.025, 0.02, 0.02, 0.02]
    assert "Epoch 00003: ReduceLROnPlateau reducing learning rate to 0.025.\n" in capsys.readouterr().out


def test_a_function_sets_the_rate():
    trained = model()
    trained.train(
        2, data(), callbacks=[LearningRateScheduler(lambda rate, step: rate / 2 if step % 4 == 0 else rate)]
    )
    assert trained.train_network.optimizer.learning_rate.asnumpy() == np.float32(0.025)
    net = nn.Dense(4, 2)
    scheduled = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), [0.1, 0.2]))
    with pytest.raises(ValueError, match="constant learning rate"):
        scheduled.train(1, data(), callbacks=[LearningRateScheduler(lambda rate, step: rate)])
    with pytest.raises(TypeError, match="must return a number"):
        model().train(1, data(), callbacks=[LearningRateScheduler(lambda rate, step: None)])


def test_a_signal_ends_the_run_and_saves(tmp_path):
    class Kill(Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 3:
                os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.getsignal(signal.SIGUSR1)
    seen = Epochs()
    leave = OnRequestExit(file_name="net", directory=str(tmp_path), sig=signal.SIGUSR1)
    model().train(5, data(), callbacks=[Kill(), leave, seen])
    assert seen.seen == [1] and signal.getsignal(signal.SIGUSR1) is before
    assert int(ms.load_checkpoint(str(tmp_path / "net_train.ckpt"))["global_step"].asnumpy()[0]) in (3, 4)


def test_a_file_ends_the_run(tmp_path):
    asks = tmp_path / "exit.json"
    asks.write_text('{"GracefulExit": 1}')
    seen = Epochs()
    model().train(5, data(), callbacks=[OnRequestExit(save_ckpt=False, config_file=str(asks)), seen])
    assert seen.seen == [1]


def test_a_run_goes_on_from_its_backup(tmp_path):
    class Crash(Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 10:
                raise KeyboardInterrupt

    initial = model()
    start = [Tensor(p.asnumpy().copy()) for p in initial.train_network.get_parameters()]
    initial.train(4, data())
    wanted = [p.asnumpy() for p in initial.train_network.get_parameters()]
    backup = str(tmp_path / "backup")
    first = model()
    for parameter, value in zip(first.train_network.get_parameters(), start):
        parameter.set_data(value)
    with pytest.raises(KeyboardInterrupt):
        first.train(4, data(), callbacks=[BackupAndRestore(backup), Crash()])
    second, seen = model(), Epochs()
    second.train(4, data(), callbacks=[BackupAndRestore(backup), seen])
    assert seen.seen == [3, 4]
    assert all(np.array_equal(p.asnumpy(), w) for p, w in zip(second.train_network.get_parameters(), wanted))
    assert not os.path.exists(backup)


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: EarlyStopping(mode="x"), ValueError, "mode must be one of.*'x'"),
        (lambda: EarlyStopping(patience=-1), ValueError, "patience"),
        (lambda: EarlyStopping(monitor=3), TypeError, "monitor must be a str"),
        (lambda: ReduceLROnPlateau(factor=2.0), ValueError, "between 0 and 1"),
        (lambda: LearningRateScheduler(3), TypeError, "callable"),
        (lambda: BackupAndRestore(""), ValueError, "must name a folder"),
        (lambda: BackupAndRestore("x", 0), ValueError, "save_freq"),
        (lambda: OnRequestExit(sig=signal.SIGKILL), ValueError, "can be caught"),
        (lambda: SummaryCollector("logs", 0), ValueError, "collect_freq"),
        (
            lambda: SummaryCollector("logs", collect_specified_data={"x": 1}),
            ValueError,
            "collect_metric.*'x'",
        ),
        (lambda: model(amp_level="O9"), ValueError, "O0, O1, O2, O3, auto.*O9"),
        (lambda: Model(nn.Dense(2, 2), amp_level="O2"), ValueError, "need an optimizer"),
        (lambda: model().train(1, [1, 2]), TypeError, "must be a dataset.*list"),
        (lambda: model().train(1, data(), dataset_sink_mode=True, sink_size=0), ValueError, "sink_size"),
    ],
)
def test_wrong_uses(make, error, message):
    with pytest.raises(error, match=message):
        make()


# -- the loop ----------------------------------------------------------------------------------------------
def test_an_epoch_of_sink_size_steps_goes_on_in_the_data():
    rows = []

    class Rows(Callback):
        def on_train_step_end(self, run_context):
            run = run_context.original_args()
            rows.append(
                (run.cur_epoch_num, run.batch_num, float(run.train_dataset_element[0].asnumpy()[0, 0]))
            )

    model().train(3, data(), callbacks=[Rows()], dataset_sink_mode=True, sink_size=3)
    firsts = [float(X[5 * (i % 4), 0]) for i in range(9)]
    assert rows == [(i // 3 + 1, 3, first) for i, first in enumerate(firsts)]


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto"])
def test_training_in_mixed_precision_learns(level):
    ms.set_seed(1)
    trained = model(amp_level=level, metrics={"acc", "loss"})
    before = trained.eval(data())
    trained.train(10, data())
    after = trained.eval(data())
    assert after["loss"] < before["loss"] and after["acc"] > 0.8


def test_the_loss_scale_of_a_model():
    manager = ms.train.FixedLossScaleManager(1024.0)
    trained = model(amp_level="O3", loss_scale_manager=manager)
    assert trained.train_network.scale_sense.asnumpy() == 1024
    trained.train(1, data(), callbacks=[LossMonitor(0)])


def test_a_line_for_each_epoch_without_a_terminal(capsys, monkeypatch):
    model().train(2, data())
    lines = capsys.readouterr().err.splitlines()
    assert [line[:31] for line in lines] == [
        "mycelia: epoch 1/2: 4 steps in ",
        "mycelia: epoch 2/2: 4 steps in ",
    ]
    assert "data" in lines[0] and "compile" in lines[0] and "run" in lines[0]
    monkeypatch.setenv("MYCELIA_PROGRESS", "0")
    model().train(1, data())
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    shown = []

    class Look(Callback):
        def on_train_step_end(self, run_context):
            (bar,) = [c for c in run_context.original_args().list_callback if isinstance(c, Progress)]
            (task,) = bar._bar.tasks
            fields = task.fields
            shown.append((task.completed, task.total, fields["epoch"], "compile" in fields["times"]))

    model().train(2, data(), callbacks=[Look()])
    assert shown == [(step, 4, f"{epoch}/2", True) for epoch in (1, 2) for step in (1, 2, 3, 4)]
    assert capsys.readouterr().err == ""


def test_the_time_of_a_step_is_split():
    kept = []

    class Times(Callback):
        def on_train_epoch_end(self, run_context):
            times = run_context.original_args().times
            kept.append((times.data, times.compile, times.run))

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        model().train(2, data(), callbacks=[Times()])
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    (_, first, _), (_, second, run) = kept
    assert first > 0.001 and second == 0 and run > 0
    assert StepTimes().per_step(3) == "data 0.0 + compile 0.0 + run 0.0 ms"


def test_the_time_of_an_epoch_is_its_own_without_the_evaluation(capsys):
    class Slow(Callback):
        def on_train_step_end(self, run_context):
            time.sleep(0.02)

        def on_eval_step_end(self, run_context):
            time.sleep(0.1)

    model(metrics={"acc"}).fit(2, data(), data(), callbacks=[Slow(), TimeMonitor()])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "epoch time" in line]
    assert [line[0] for line in lines] == ["Eval", "Train"] * 2
    evaluation, training = float(lines[2][3]), float(lines[3][3])
    assert evaluation > 400 and 80 < training < evaluation


def test_data_sink_runs_steps_on_the_next_batches():
    rows = []
    step = ms.data_sink(
        lambda x, label: rows.append(float(x.asnumpy()[0, 0])) or len(rows), data(), sink_size=3
    )
    assert step() == 3 and step() == 6
    assert rows == [float(X[5 * (i % 4), 0]) for i in range(6)]
    helper = ms.DatasetHelper(data(), sink_size=3)
    assert len(list(helper)) == 3 and helper.sink_size() == 3
    assert len(list(ms.DatasetHelper(data(), dataset_sink_mode=False))) == 4
    with pytest.raises(ValueError, match="sink_size"):
        ms.data_sink(print, data(), sink_size=0)


# -- summaries ---------------------------------------------------------------------------------------------
def test_the_checksum_is_castagnolis():
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720, B.4
    assert crc32c(bytes(32)) == 0x8A9136AA


def test_a_summary_is_read_back(tmp_path):
    with SummaryRecord(str(tmp_path)) as summary:
        for step in range(3):
            summary.add_value("scalar", "loss", Tensor(1.0 / (step + 1)))
            summary.add_value("image", "picture", Tensor(np.zeros((1, 3, 4, 5), np.float32)))
            summary.add_value("histogram", "weights", np.arange(10.0))
            summary.add_value("tensor", "weights", np.arange(6, dtype=np.int32).reshape(2, 3))
            summary.add_value("text", "note", "hello")
            assert summary.record(step)
        assert not summary.record(3)
        path = summary.log_dir
    events = read_events(path)
    assert [event["scalars"].get("loss") for event in events[1:]] == [1.0, 0.5, np.float32(1 / 3)]
    assert events[1]["tags"] == ["loss", "picture", "weights", "weights", "note"]
    damaged = bytearray(Path(path).read_bytes())
    damaged[60] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    with pytest.raises(ValueError, match="damaged record at byte"):
        read_events(str(tmp_path / "damaged"))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_network_summarises(tmp_path, mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scalar, self.spread = ops.ScalarSummary(), ops.HistogramSummary()

        def construct(self, x):
            self.scalar("size", (x * x).sum())
            self.spread("x", x)
            return x * 2

    ms.set_context(mode=mode)
    try:
        net = Net()
        with SummaryRecord(str(tmp_path)) as summary:
            for step in range(3):
                net(Tensor(np.full(2, step, np.float32)))
                assert summary.record(step)
            assert not summary.record(3)
            path = summary.log_dir
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    events = read_events(path)[1:]
    assert [event["scalars"]["size"] for event in events] == [0.0, 2.0, 8.0]
    assert events[0]["tags"] == ["size", "x"]
    with pytest.raises(ValueError, match="one element"):
        ops.ScalarSummary()("size", Tensor([1.0, 2.0]))


def test_a_full_summary_says_so(tmp_path):
    summary = SummaryRecord(str(tmp_path), max_file_size=100, raise_exception=True)
    with pytest.raises(RuntimeError, match="max_file_size=100"):
        for step in range(9):
            summary.add_value("scalar", "loss", 1.0)
            summary.record(step)
    assert os.path.getsize(summary.log_dir) <= 100


@pytest.mark.parametrize(
    "plugin, name, value, error, message",
    [
        ("graph", "x", 1, ValueError, "plugin must be one of"),
        ("scalar", "", 1, ValueError, "non-empty"),
        ("scalar", "x", [1, 2], ValueError, "must have one element"),
        ("image", "x", np.zeros((2, 2)), ValueError, "must be"),
        ("scalar", "x", object(), TypeError, "Tensor, array or number"),
    ],
)
def test_wrong_values_of_a_summary(tmp_path, plugin, name, value, error, message):
    with SummaryRecord(str(tmp_path)) as summary, pytest.raises(error, match=message):
        summary.add_value(plugin, name, value)


def test_a_run_collects_its_summary(tmp_path):
    collector = SummaryCollector(
        str(tmp_path), collect_freq=2, collect_specified_data={"histogram_regular": "0.w"}
    )
    model(metrics={"acc"}).fit(2, data(), data(), callbacks=[collector])
    (path,) = tmp_path.iterdir()
    events = read_events(str(path))
    steps = [event["step"] for event in events if "loss" in event["scalars"]]
    assert steps == [1, 2, 4, 6, 8]
    assert {"loss", "learning_rate", "eval/acc", "0.weight"} <= {
        tag for event in events for tag in event["tags"]
    }


# -- checkpoints -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", [False, True, "process"])
def test_checkpoints_in_the_other_format(tmp_path, how):
    config = CheckpointConfig(2, keep_checkpoint_max=2, format="safetensors", async_save=how, crc_check=True)
    saver = ModelCheckpoint("net", str(tmp_path), config)
    trained = model()
    trained.train(2, data(), callbacks=[saver])
    ms.save_checkpoint({"w": np.ones(1)}, str(tmp_path / "other"))  # waits for what is under way
    (tmp_path / "other.ckpt").unlink()
    assert sorted(os.listdir(tmp_path)) == ["net-2_2.safetensors", "net-2_4.safetensors"]
    loaded = ms.load_checkpoint(saver.latest_ckpt_file_name, crc_check=True)
    for parameter in trained.train_network.get_parameters():
        assert np.array_equal(loaded[parameter.name].asnumpy(), parameter.asnumpy())


@pytest.mark.parametrize(
    "settings, message",
    [
        (dict(format="onnx"), "'ckpt' or 'safetensors'.*onnx"),
        (dict(enc_key=b"0123456789ABCDEF"), "encryption"),
        (dict(foo=1), "unexpected keyword argument 'foo'"),
    ],
)
def test_wrong_settings_of_checkpoints(settings, message):
    with pytest.raises(ValueError, match=message):
        CheckpointConfig(**settings)
