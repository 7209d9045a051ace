"""The parts of the benchmarks that need no other framework, and one table for real."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks" / "programs"))

import arrays  # noqa: E402
import kernel_clock  # noqa: E402

from benchmarks.__main__ import arguments  # noqa: E402
from benchmarks.machine import Floors, instruction_set  # noqa: E402
from benchmarks.machine import measure as measure_floors  # noqa: E402
from benchmarks.protocols import measure_table  # noqa: E402
from benchmarks.report import judge, metric, number, report  # noqa: E402
from benchmarks.results import Result, Row, difference  # noqa: E402
from benchmarks.runner import Runner, Settings, available_cores  # noqa: E402
from benchmarks.tables import OWN, TABLES, variants_of  # noqa: E402


def row(framework, variant, *times, case="c", **more):
    return Row(case, framework, variant, variant, "ms", list(times), first=1.0, **more)


@pytest.fixture
def result():
    found = Result()
    for entry in (
        row("torch", "eager", 4.0),
        row("torch", "compile", 3.0),
        row("ort", "default", 2.0),
        row(OWN, "graph", 1.0, flops=80e6),
    ):
        found.add(entry)
    return found


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("l.0.b1.weight", "l.0.b1.gamma"),
        ("l.0.b1.bias", "l.0.b1.beta"),
        ("b.running_mean", "b.moving_mean"),
        ("b.running_var", "b.moving_variance"),
        ("c1.bias", "c1.bias"),
    ],
)
def test_weights_of_equal_parameters_are_equal(theirs, ours):
    a = arrays.weight(theirs, (7,))
    assert (a == arrays.weight(ours, (7,))).all() and a.dtype == np.float32
    assert not (a == arrays.weight("another.weight", (7,))).all()


def test_tables_of_embeddings_are_small_and_equal():
    a, b = arrays.weight("w.weight", (100, 768)), arrays.weight("w.embedding_table", (100, 768))
    assert (a == b).all() and a.std() == pytest.approx(0.02, rel=0.02)
    assert arrays.weight("L.0.p.weight", (768, 3072)).std() == pytest.approx(3072**-0.5, rel=0.02)


def test_arrays_are_drawn_once_and_then_read(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_ARRAYS", str(tmp_path))
    drawn = arrays.normal(3, 2)
    (path,) = tmp_path.iterdir()
    np.save(path, drawn + 1)
    assert (arrays.normal(3, 2) == drawn + 1).all()
    assert not (arrays.normal(3, 2, seed=1) == drawn + 1).any()


def test_the_best_variant_counts_and_rounds_add_up(result):
    assert result.best("c", "torch").variant == "compile"
    later = row("torch", "compile", 2.5, 5.0)
    later.first = 0.2
    result.add(later)
    best = result.best("c", "torch")
    assert (best.best, best.median, best.first, best.again) == (2.5, 3.0, 1.0, 0.2)


def test_a_variant_twice_as_slow_everywhere_is_hopeless(result):
    assert not result.hopeless("torch", "eager")
    result.add(row("torch", "slow", 7.0))
    assert result.hopeless("torch", "slow")
    result.add(row("torch", "slow", 1.0, case="another"))
    assert not result.hopeless("torch", "slow")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("peer", 2.0),
        ("torch", 3.0),
        ("eager", 4.0),
        ("ort", 2.0),
        ("time", 1.0),
        ("fma", 0.8),
        ("read", None),
        ("jax", None),
    ],
)
def test_metrics(result, name, expected):
    assert metric(result, Floors(100.0, 10.0), "c", name) == expected


def test_goals(result):
    floors = Floors(100.0, 10.0)
    assert judge(["c: ort >= 1.9", "c: time <= 1.0"], [result], floors)[1]
    words, fine = judge(["c: ort >= 2.1"], [result], floors)
    assert not fine and "MISSES" in words
    assert not judge(["absent: ort >= 1"], [result], floors)[1]
    with pytest.raises(ValueError, match="a goal must read"):
        judge(["c ort 1"], [result], floors)


def test_differences_are_relative_to_the_largest_element():
    assert difference(np.array([1.0, 10.5]), np.array([1.0, 10.0])) == pytest.approx(0.05)
    assert difference(np.zeros(3), np.zeros(2)) == float("inf")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([1.0, 2.01], "at [1] 2.01 instead of 2"),
        ([np.nan, 2.0], "at [0] nan instead of 1"),
        ([1.0], "shape (1,)"),
    ],
)
def test_an_answer_that_differs_is_a_problem(tmp_path, answer, told):
    found = Result()
    for framework, values in (("torch", [1.0, 2.0]), ("ort", [1.0, 2.0]), (OWN, answer)):
        path = tmp_path / f"{framework}.npy"
        np.save(path, np.array(values))
        found.add(row(framework, "x", 1.0, answer=str(path)))
    found.compare_answers(1e-4)
    (problem,) = found.problems
    assert "mycelia x, c: the answer differs from that of torch x" in problem and told in problem


def test_a_report_holds_every_figure(result):
    result.add(row(OWN, "graph", 1.0, flops=80e6, inside=0.75e-3))
    text = report("gemm", result, Floors(100.0, 10.0), 2, 1)
    for word in ("matrix products", "3 / 3 compile", "share of the FMA peak, 200 GF/s", "0.4", "25.0%"):
        assert word in text
    assert number(1234.5) == "1234" and number(None) == "-"


def test_every_table_has_variants_for_mycelia():
    assert all(variants_of(name, OWN) for name in TABLES)


def test_the_core_has_a_peak():
    floors = measure_floors(Floors())
    assert instruction_set() in ("AVX-512", "AVX2 with FMA", "NEON")
    assert 5 < floors.gflops < 1000 and 0.5 < floors.gbs < 1000


def test_time_in_kernels_is_part_of_the_time():
    from mycelia import Tensor, ops

    x = Tensor(np.ones((512, 512), np.float32))

    def call():
        return ops.matmul(x, x).asnumpy()

    call()
    begin = time.perf_counter()
    inside = kernel_clock.seconds_in_kernels(call)
    assert 0 < inside < time.perf_counter() - begin
    assert 2 * 512**3 / inside < 1e13


def test_a_table_runs():
    runner = Runner(Settings(frameworks=("mycelia", "numpy"), rounds=1, quick=True))
    found = measure_table(runner, "eager", 1)
    assert not found.problems
    assert {"add (2,3)", "chain100 fwd+grad"} == set(found.rows)
    assert 0.0 in [found.best("add (2,3)", framework).difference for framework in (OWN, "numpy")]


def test_a_framework_that_is_absent_is_left_out(capsys):
    runner = Runner(Settings(frameworks=("torch", "mycelia"), pythons={"torch": "/nowhere/python"}))
    assert {framework for framework, _ in runner.jobs("gemm")} == {"mycelia"}
    assert "torch: not installed for /nowhere/python, left out" in capsys.readouterr().out


def test_a_program_that_fails_is_a_problem():
    found = Result()
    Runner(Settings()).run(found, "numpy", "first_call", "eager")  # which NumPy has no program for
    assert found.problems == ["numpy eager, *: KeyError: 'first_call'"] and not found.rows


def test_a_table_exports_its_model_once(monkeypatch):
    runner, started = Runner(Settings()), []

    def program(framework, table, variant, *_):
        started.append((framework, table, variant))
        (runner.folder / f"{variant}.onnx").touch()
        return []

    monkeypatch.setattr(runner, "_program", program)
    for _ in range(2):
        runner.export(Result(), "gpt2")
    assert started == [("torch", "export", "gpt2")]


class Rehearsal(Runner):
    """A runner that starts nothing and makes up figures: two threads take 1.5 times as long as one."""

    def __init__(self, rounds):
        super().__init__(Settings(frameworks=("mycelia",), rounds=rounds))
        self.started = []

    def has(self, framework):
        return True

    def measure_floors(self):
        self.floors = Floors(100.0, 10.0)

    def run(self, result, framework, table, variant, *, threads=1, turn=1, cache="", label="", **_):
        self.started.append((variant, threads, turn, cache))
        times = [100.0 + 50.0 * (threads - 1) + turn]
        result.add(Row(f"case{label}", framework, variant, variant, "ms", times))


def test_each_round_begins_with_a_cold_cache():
    runner = Rehearsal(rounds=2)
    found = measure_table(runner, "first_call", 1)
    cores = len(available_cores())
    assert runner.started == [("graph", cores, turn, f"-{turn}") for turn in (1, 1, 2, 2)]
    assert list(found.rows) == ["case, cold", "case, warm"]
    assert len(found.best("case, cold", OWN).times) == 2


@pytest.mark.skipif(len(available_cores()) < 2, reason="needs two cores")
def test_two_threads_beside_a_busy_process_are_held_against_one():
    runner = Rehearsal(rounds=2)
    found = measure_table(runner, "shared_core", 1)
    assert [threads for _, threads, *_ in runner.started] == [1, 2, 1, 2]
    ratio = found.best("case, two / one", OWN)
    assert ratio.unit == "ratio" and ratio.times == [151 / 101, 152 / 102]
    assert "case, two / one" in report("shared_core", found, runner.floors, 1, 2)


def test_variants_apart_are_cases_and_rounds_interleave():
    runner = Rehearsal(rounds=2)
    found = measure_table(runner, "modes", 1)
    assert [(v, turn) for v, _, turn, _ in runner.started] == [
        ("graph", 1),
        ("pynative", 1),
        ("graph", 2),
        ("pynative", 2),
    ]
    assert list(found.rows) == ["case graph", "case pynative"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["gemm", "--frameworks", "torch,tensorflow"], "Received: tensorflow"),
        (["gemm", "--python", "torch"], "must be FRAMEWORK=..."),
        (["gemm", "--threads", "3"], "invalid choice"),
        (["chess"], "invalid choice"),
    ],
)
def test_a_wrong_command_line_is_told(given, told, capsys):
    with pytest.raises(SystemExit):
        arguments(given)
    assert told in capsys.readouterr().err


def test_a_command_line():
    asked = arguments(["gemm", "eager", "--python", "torch=/a/python", "--frameworks", "torch,mycelia"])
    assert asked.tables == ["gemm", "eager"] and asked.threads == [1]
    assert asked.python == [("torch", "/a/python")] and asked.frameworks == ("torch", "mycelia")
