"""`mycelia op --new NAME` writes an operator that runs."""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner

from mycelia.cli import main


def test_the_skeleton_runs_and_notices_a_wrong_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["op", "--new", "MyCubic"])
    assert done.exit_code == 0 and "my_cubic.py" in done.output
    file = tmp_path / "my_cubic.py"
    run = subprocess.run([sys.executable, file.name], capture_output=True, text=True)
    assert run.returncode == 0 and "agree with the reference" in run.stdout, run.stderr
    used = "import mycelia as ms; from my_cubic import MyCubic; print(MyCubic(ms.Tensor([2.0])))"
    run = subprocess.run([sys.executable, "-c", used], capture_output=True, text=True)
    assert run.stdout.strip() == "[8.]", run.stderr
    file.write_text(file.read_text().replace("3.0 * x * x", "2.0 * x * x"))
    run = subprocess.run([sys.executable, file.name], capture_output=True, text=True)
    assert run.returncode == 1 and "AssertionError" in run.stderr


def test_names_that_cannot_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, words in (("tanh", "capital letter"), ("Tanh", "named 'Tanh' already"), ("A-B", "capital")):
        done = CliRunner().invoke(main, ["op", "--new", name])
        assert done.exit_code == 1 and words in done.output
    (tmp_path / "cubic.py").write_text("")
    done = CliRunner().invoke(main, ["op", "--new", "Cubic"])
    assert done.exit_code == 1 and "cubic.py exists" in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["cubic.py"]
