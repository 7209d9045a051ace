"""The pages in ``docs/errors`` quote what the code prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("error_pages", ROOT / "tools" / "error_pages.py")
pytestmark = pytest.mark.synchronous  # the pages quote the CPU
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)
PAGES = sorted(tool.FOLDER.glob("*.md"))


@pytest.mark.parametrize(
    ("page", "code", "said"),
    [pytest.param(p.name, *pair, id=f"{p.stem}-{i}") for p in PAGES for i, pair in enumerate(tool.quoted(p))],
)
def test_a_quoted_message_is_printed(page, code, said):
    printed = tool.message(code)
    assert printed.split() == said.split(), f"{page}: run tools/error_pages.py --fix"


def test_each_class_has_a_page_that_the_index_names():
    index = (tool.FOLDER / "index.md").read_text()
    for page in PAGES:
        if page.name == "index.md":
            continue
        assert f"({page.name})" in index
        assert len(tool.quoted(page)) >= 2, page.name
        assert page.read_text().count("```text") == len(tool.quoted(page))
    assert len(PAGES) >= 10


def test_another_message_is_noticed():
    code, said = tool.quoted(tool.FOLDER / "shapes.md")[0]
    assert tool.same(said, tool.message(code))
    assert not tool.same(said.replace("Reshape", "Remodel"), tool.message(code))
