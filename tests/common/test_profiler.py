"""The profiler: what it sees, when, and the files it writes."""
from __future__ import annotations

import csv
import json
import os

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia.profiler import Profiler, ProfilerLevel, mstx, profile, schedule, tensorboard_trace_handler

needs_timing = pytest.mark.skipif(os.environ.get("MYCELIA_TEST_DEVICE") == "hostile",
                                  reason="the test device does not time its kernels")
X = Tensor(np.ones((64, 64), np.float32))


@needs_timing
def test_each_operator_is_timed(tmp_path):
    net = nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 8))
    compiled = ms.jit(net)
    compiled(X)
    with Profiler(output_path=str(tmp_path)) as profiler:
        profiler.add_metadata("note", "here")
        for _ in range(3):
            compiled(X)
            profiler.step()
    trace = json.loads((tmp_path / "trace_view.json").read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert trace["otherData"] == {"note": "here"}
    by_row = {row: [e for e in events if e["cat"] == row] for row in ("step", "graph", "kernel")}
    assert len(by_row["step"]) == 3 and len(by_row["graph"]) == 3 and len(by_row["kernel"]) >= 6
    for kernel in by_row["kernel"]:  # each lies within a graph, and each graph within a step
        assert any(g["ts"] <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= g["ts"] + g["dur"]
                   for g in by_row["graph"])
    with open(tmp_path / "op_statistic.csv") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["share_percent"]) for row in rows) == pytest.approx(100, abs=0.1)
    products = [row for row in rows if "MatMul" in row["operator"] or "MatMul" in row["kernel"]]
    assert products and all(int(row["count"]) % 3 == 0 for row in rows)  # three calls of the same kernels
    assert json.loads(profiler.op_analyse(rows[0]["operator"]))[rows[0]["operator"]][0]["count"] > 0


@needs_timing
def test_nothing_is_timed_before_and_after(tmp_path):
    profiler = Profiler(start_profile=False, output_path=str(tmp_path))
    ops.tanh(X)
    profiler.start()
    ops.tanh(X)
    profiler.stop()
    ops.tanh(X)
    assert [event.name for event in profiler.events if event.row == "kernel"] == ["Tanh"]
    with pytest.raises(RuntimeError, match="does not run"):
        profiler.stop()


@needs_timing
def test_a_schedule_chooses_steps(tmp_path):
    phases = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [phases(step) for step in range(10)] == ["none", "none", "warmup", "active", "last"] + \
        ["none", "warmup", "active", "last"] + ["none"]
    rounds = []
    with profile(schedule=phases, on_trace_ready=lambda p: rounds.append(len(p.events))) as profiler:
        for _ in range(10):
            ops.tanh(X)
            profiler.step()
    assert rounds == [6, 6]  # two steps each: the step, the launch, the kernel
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path))):
        ops.tanh(X)
    (folder,) = tmp_path.iterdir()
    assert (folder / "trace_view.json").exists()


def test_ranges_are_shown():
    profiler = Profiler()
    number = mstx.range_start("loading")
    mstx.mark("now")
    mstx.range_end(number)
    profiler.stop()
    assert [event.name for event in profiler.events if event.row == "range"] == ["now", "loading"]


def test_wrong_uses(tmp_path):
    first = Profiler()
    with pytest.raises(RuntimeError, match="another profiler runs"):
        Profiler()
    first.stop()
    for make, error, message in ((lambda: schedule(wait=0, active=0), ValueError, "active"),
                                 (lambda: schedule(wait=-1, active=1), ValueError, "wait"),
                                 (lambda: Profiler(output_path=3), TypeError, "output_path"),
                                 (lambda: Profiler(profiler_level=3), TypeError, "ProfilerLevel"),
                                 (lambda: first.add_metadata_json("a", "{"), ValueError, "must be JSON")):
        with pytest.raises(error, match=message):
            make()
    assert ProfilerLevel.Level0.name in ProfilerLevel.__members__
