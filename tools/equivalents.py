"""Prints ``docs/equivalents.md`` from the table in `mycelia.ops.equivalents`.

    python tools/equivalents.py [--check]

``--check`` says instead whether the document is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mycelia.ops.equivalents import EQUIVALENTS

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "equivalents.md"

HEAD = """# Equivalents

Names that programs for MindSpore or PyTorch use and that are spelt otherwise here. The error of an unknown
name quotes its row:

    AttributeError: module 'mycelia.ops' has no attribute 'concatenate'; here it is written ops.cat((x, y), 0)

This page is printed by `python tools/equivalents.py` from the table in `mycelia/ops/equivalents.py`, and
`tests/ops/test_equivalents.py` runs every row and compares it with NumPy. In the rows `x` and `y` are
tensors of shape (2, 3), `v` one of shape (3,), `array` a NumPy array, `images` of shape
(n, 2, height, width), `batch` of three axes, `square` a matrix, and `net` a Cell.

What has no equivalent either can be made: `mycelia op --new NAME` writes the skeleton of an operator.
"""

TITLES = {
    "ops": "Functions and primitives: `mindspore.ops`",
    "nn": "Layers, optimizers: `mindspore.nn`",
    "Tensor": "Methods of Tensor",
    "mindspore": "The module itself",
}


def text() -> str:
    """The document."""
    parts = [HEAD]
    for where, rows in EQUIVALENTS.items():
        table = "\n".join(f"| `{where}.{name}` | `{code}` |" for name, code in rows.items())
        parts.append(f"## {TITLES[where]}\n\n| looked for | here |\n|---|---|\n{table}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if DOCUMENT.read_text() == text() else f"{DOCUMENT} differs from the table")
    DOCUMENT.write_text(text())
