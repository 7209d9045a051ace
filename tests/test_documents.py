"""The documents keep to the code: references by file and line hold, commands that the README names exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mycelia.cli import main

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted((ROOT / "docs").rglob("*.md"))


def references():
    spec = importlib.util.spec_from_file_location("line_references", ROOT / "tools" / "line_references.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_references_hold(document):
    assert references().wrong(document) == [], "run tools/line_references.py --fix"


def test_a_reference_that_moved_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("see `mycelia/cli.py:1` (`def doctor()`)")
    tool = references()
    assert "not on 1" in tool.wrong(page)[0]
    tool.wrong(page, fix=True)
    assert tool.wrong(page) == []


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", *DOCUMENTS]:
        for target in re.findall(r"\]\(([^)#]+)", document.read_text()):
            assert target.startswith("http") or (document.parent / target).exists(), (
                f"{document.name}: {target}"
            )


def test_commands_of_the_readme_exist():
    runner = CliRunner()
    for command in set(re.findall(r"`mycelia (\w+)", (ROOT / "README.md").read_text())) - {"run"}:
        assert runner.invoke(main, [command, "--help"]).exit_code == 0, command


def test_the_operator_of_the_architecture_page_is_whole():
    """As a reader would: at the end of the file that the page names, and checked by the command there."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    example = re.search(r"## Adding an operator.*?```python\n(.*?)```", page, re.S)
    assert example is not None
    program = (
        "import sys; from mycelia.ops import exponential; from mycelia.ir.operator import REGISTRY;"
        "from mycelia.tools.operator_checks import run_checks; before = set(REGISTRY);"
        "exec(compile(sys.stdin.read(), exponential.__file__, 'exec'), vars(exponential));"
        "(name,) = set(REGISTRY) - before; checks = list(run_checks(REGISTRY[name]));"
        "print(checks); sys.exit(any(failures for *_, failures in checks) or len(checks) < 10)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=example[1], text=True, capture_output=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
