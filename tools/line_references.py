"""Keeps the documents' references to code true: each ``file.py:LINE`` (``text``) must have the text on that
line.

    python tools/line_references.py [--fix]
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = re.compile(r"`((?:mycelia|tests|tools)/[\w/]+\.py):(\d+)` \(`([^`]+)`\)")


def wrong(document: Path, fix: bool = False) -> list[str]:
    """What is wrong in a document; with ``fix`` lines that moved are set right."""
    problems: list[str] = []

    def check(match: re.Match[str]) -> str:
        file, line, text = match[1], int(match[2]), match[3]
        path = ROOT / file
        if not path.exists():
            problems.append(f"{document.name}: {file} does not exist")
            return match[0]
        lines = path.read_text().splitlines()
        if line <= len(lines) and text in lines[line - 1]:
            return match[0]
        found = [i for i, content in enumerate(lines, 1) if text in content]
        if not found:
            problems.append(f"{document.name}: {file} has no line with {text!r}")
            return match[0]
        if not fix:
            problems.append(f"{document.name}: {text!r} is on line {found[0]} of {file}, not on {line}")
        return f"`{file}:{found[0]}` (`{text}`)"

    content = document.read_text()
    new = REFERENCE.sub(check, content)
    if fix and new != content:
        document.write_text(new)
    return problems


def main() -> int:
    problems = [p for d in sorted((ROOT / "docs").rglob("*.md")) for p in wrong(d, "--fix" in sys.argv[1:])]
    print("\n".join(problems) or "all references hold")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
