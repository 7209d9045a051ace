"""`mycelia op`, `explain` and `doctor`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mycelia
from mycelia.cli import main
from mycelia.ir.operator import REGISTRY

ROOT = Path(mycelia.__file__).parent


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_op_shows_definition_and_devices():
    done = invoke("op", "Tanh")
    assert done.exit_code == 0
    found = re.search(r"(\S*trigonometric\.py|\S*exponential\.py):(\d+)", done.output)
    assert found, done.output
    path = next(p for p in (ROOT / "ops" / Path(found[1]).name, Path(found[1])) if p.exists())
    assert "Tanh" in path.read_text().splitlines()[int(found[2]) - 1]
    for column in ("CPU", "GPU", "NPU"):
        assert column in done.output


def test_op_names_the_nearest():
    done = invoke("op", "Tanhh")
    assert done.exit_code != 0 and "Tanh" in done.output


def test_op_check_runs_the_samples():
    done = invoke("op", "--check", "Add")
    assert done.exit_code == 0, done.output
    checks = "types,PyNative mode,Graph mode,gradient,vmap,empty,0-d,float16,errors"
    for check in checks.split(","):
        passed = rf"^Add  {re.escape(check)} +passed, [1-9]\d* cases$"
        assert re.search(passed, done.output, re.M), done.output


@pytest.mark.parametrize(
    ("rule", "wrong", "check"),
    [
        ("vjp", lambda g, x, y: g, "gradient"),
        ("reference", lambda x: np.sin(x) + 1, "PyNative mode"),
        ("reference", lambda x: np.sin(x).astype(np.float64), "types"),
    ],
)
def test_op_check_tells_a_wrong_rule(monkeypatch, rule, wrong, check):
    monkeypatch.setattr(REGISTRY["Sin"], rule, wrong)
    done = invoke("op", "--check", "Sin")
    assert done.exit_code == 1
    assert re.search(rf"^Sin  {check} +FAILED", done.output, re.M), done.output


def test_op_check_of_no_operator():
    assert invoke("op", "--check", "Sinn").exit_code == 1


def test_doctor_looks_over_the_machine():
    done = invoke("doctor")
    for word in ("Python", "numpy", "llvmlite", "CPU"):
        assert word.lower() in done.output.lower(), done.output


@pytest.mark.parametrize("command", ["run", "op", "explain", "doctor"])
def test_help(command):
    done = invoke(command, "--help")
    assert done.exit_code == 0 and "Usage" in done.output


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "mycelia", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("Usage: mycelia"), done.stderr
    assert "doctor" in done.stdout
