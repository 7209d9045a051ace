"""`tools/names.py`: the needed names of MindSpore are here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parent.parent / "tools" / "names.py"


def run(*arguments: str, code: str | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", code] if code else [sys.executable, str(TOOL), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=TOOL.parent.parent)


def test_no_needed_name_is_missing():
    done = run()
    assert done.returncode == 0 and done.stdout.rstrip().endswith(" 0 missing"), done.stdout + done.stderr


def test_a_name_that_is_not_here_is_told():
    done = run(
        code="""
import sys
sys.path.insert(0, "tools")
import names
from mycelia import compat
compat.install()
asked = "ops.relu ops.reluu ops.AllReduce nn.loss.MSELoss nix.x"
found = [names.state(f"mindspore.{n}") for n in asked.split()]
assert found == ["here", "missing", "left out", "here", "missing"], found
names.needed = lambda: [("mindspore.ops.reluu", 3)]
sys.exit(names.main([]))
"""
    )
    assert done.returncode == 1 and "mindspore.ops.reluu" in done.stdout, done.stdout + done.stderr
