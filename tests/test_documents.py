"""The documents keep to the code: references by file and line hold, commands that the README names exist."""

from __future__ import annotations

import importlib.util
import re
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
