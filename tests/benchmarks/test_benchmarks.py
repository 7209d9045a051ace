"""The parts of the benchmarks that need no other framework, and one table for real."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks" / "programs"))

import arrays  # noqa: E402

from benchmarks.machine import Floors, instruction_set  # noqa: E402
from benchmarks.machine import measure as measure_floors  # noqa: E402
from benchmarks.report import judge, metric, number, report  # noqa: E402
from benchmarks.runner import Result, Runner, Settings, _difference  # noqa: E402
from benchmarks.tables import OWN, TABLES, variants_of  # noqa: E402


def row(framework, variant, best, case="c", **more):
    figures = {"unit": "ms", "min": best, "median": best * 1.1, "first": 1.0, "job": variant}
    return {"case": case, "framework": framework, "variant": variant, **figures, **more}


@pytest.fixture
def result():
    found = Result()
    for entry in (
        row("torch", "eager", 4.0),
        row("torch", "compile", 3.0),
        row("ort", "default", 2.0),
        row(OWN, "graph", 1.0, gflops=80.0),
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


def test_the_best_variant_counts_and_rounds_keep_minima(result):
    assert result.best("c", "torch")["variant"] == "compile"
    result.add(row("torch", "compile", 2.5) | {"first": 0.2})
    best = result.best("c", "torch")
    assert (best["min"], best["first"], best["again"]) == (2.5, 1.0, None) or best["again"] == 0.2
    result.add(row("torch", "compile", 9.0))
    assert result.best("c", "torch")["min"] == 2.5


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
    assert judge(["c: ort >= 1.9", "c: time <= 1.0"], {"t": result}, floors)[1]
    words, fine = judge(["c: ort >= 2.1"], {"t": result}, floors)
    assert not fine and "MISSES" in words
    assert not judge(["absent: ort >= 1"], {"t": result}, floors)[1]
    with pytest.raises(ValueError, match="a goal must read"):
        judge(["c ort 1"], {"t": result}, floors)


def test_differences_are_relative_to_the_largest_element():
    assert _difference(np.array([1.0, 10.5]), np.array([1.0, 10.0])) == pytest.approx(0.05)
    assert _difference(np.zeros(3), np.zeros(2)) == float("inf")


def test_an_answer_that_differs_is_a_problem(tmp_path):
    found = Result()
    for framework, value in (("torch", 1.0), (OWN, 1.01)):
        path = tmp_path / f"{framework}.npy"
        np.save(path, np.array([value]))
        found.add(row(framework, "x", 1.0, answer=str(path)))
    Runner(Settings())._compare(found, 1e-4)
    assert "the answer differs from that of torch x" in found.problems[0]


def test_a_report_holds_every_figure(result):
    text = report("gemm", result, Floors(100.0, 10.0), Settings())
    for word in ("matrix products", "3 / 3.3 compile", "share of the FMA peak", "0.8"):
        assert word in text
    assert number(1234.5) == "1234" and number(None) == "-"


def test_every_table_has_variants_for_mycelia():
    assert all(variants_of(name, OWN) for name in TABLES)


def test_the_core_has_a_peak():
    floors = measure_floors(Floors())
    assert instruction_set() in ("AVX-512", "AVX2 with FMA", "NEON")
    assert 5 < floors.gflops < 1000 and 0.5 < floors.gbs < 1000


def test_a_table_runs():
    runner = Runner(Settings(frameworks=("mycelia", "numpy"), rounds=1, quick=True))
    found = runner.run("eager")
    assert not found.problems
    assert {"add (2,3)", "chain100 fwd+grad"} == set(found.rows)
    assert 0.0 in [found.best("add (2,3)", framework).get("difference") for framework in (OWN, "numpy")]
