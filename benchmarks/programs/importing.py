"""Seconds of an import in a fresh process, the interpreter's own start taken off, and the megabytes of the
distribution and all that it requires. Runs in any framework's interpreter."""

from __future__ import annotations

import importlib.metadata as metadata
import re
import subprocess
import sys

import measure
from measure import FRAMEWORK, QUICK, emit

NAME = {"ort": "onnxruntime"}.get(FRAMEWORK, FRAMEWORK)


def seconds(module: str) -> float:
    command = [sys.executable, "-c", f"import {module}"]
    return measure.timed(lambda: subprocess.run(command, check=True, capture_output=True))[0]


def installed(name: str, sizes: dict[str, int]) -> dict[str, int]:
    """Bytes of a distribution and of what it requires, by name."""
    name = re.sub("[-_.]+", "-", name).lower()
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return sizes
    if name not in sizes:
        files = [file.locate() for file in distribution.files or ()]
        sizes[name] = sum(file.stat().st_size for file in files if file.is_file())
        for requirement in distribution.requires or ():
            if "extra ==" not in requirement:
                installed(re.match(r"[\w.-]+", requirement)[0], sizes)
    return sizes


def importing() -> None:
    first, count = seconds(NAME), 2 if QUICK else 7
    pairs = [(seconds("sys"), seconds(NAME)) for _ in range(count)]
    bare, own = map(min, zip(*pairs))
    emit("import", "fresh", unit="s", min=own - bare, median=own - bare, samples=count, first=first)
    sizes = installed(NAME, {})
    total = sum(sizes.values()) / 2**20
    emit("installed", f"{len(sizes)} packages", unit="MB", min=total, median=total, samples=1)


if __name__ == "__main__":
    measure.run({"import": importing})
