"""Keeps the messages that ``docs/errors`` quotes to what the code prints.

    python tools/error_pages.py [--fix]

In a page, a ``python`` block followed by a ``text`` block is a program and the error that it ends with. Each
program begins with the first block of ``index.md``. Without ``--fix`` the pages that differ are named.
"""

from __future__ import annotations

import linecache
import re
import sys
import tempfile
import textwrap
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "errors"
PAIR = re.compile(r"```python\n(?P<code>.*?)```\n\n?```text\n(?P<said>.*?)```", re.DOTALL)
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def message(code: str) -> str:
    """What Python prints last for a program, with the places in it as ``case.py:line``."""
    import mycelia
    from mycelia import compat

    compat.install()
    prelude = BLOCK.search((FOLDER / "index.md").read_text())
    assert prelude is not None
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "case.py")
        linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
        scope: dict = {"__name__": "__main__"}
        exec(prelude[1], scope)
        mycelia.set_context(mode=mycelia.PYNATIVE_MODE)
        mycelia.set_seed(0)
        try:
            exec(compile(code.replace("FOLDER", folder), file, "exec"), scope)
        except Exception as error:
            said = f"{type(error).__name__}: {error}".replace(folder + "/", "")
            return re.sub(r"In use: .*", "In use: ...", said)  # depends on what ran before
    return "nothing"


def filled(text: str) -> str:
    """A message in lines that a page has room for."""
    return "\n".join(
        textwrap.fill(line, 110, break_on_hyphens=False, break_long_words=False, subsequent_indent="  ")
        for line in text.split("\n")
    )


def quoted(page: Path) -> list[tuple[str, str]]:
    """The programs of a page and the errors that it says they end with."""
    return [(m["code"], m["said"].strip()) for m in PAIR.finditer(page.read_text())]


def same(a: str, b: str) -> bool:
    """Whether two messages differ in nothing but how they are broken into lines."""
    return a.split() == b.split()


def _renewed(match: re.Match[str]) -> str:
    return f"```python\n{match['code']}```\n\n```text\n{filled(message(match['code']))}\n```"


if __name__ == "__main__":
    for page in sorted(FOLDER.glob("*.md")):
        wrong = [code for code, said in quoted(page) if not same(said, message(code))]
        if wrong and "--fix" in sys.argv[1:]:
            page.write_text(PAIR.sub(_renewed, page.read_text()))
        if wrong:
            print(f"{page.name}: {len(wrong)} messages {'renewed' if '--fix' in sys.argv[1:] else 'differ'}")
