"""Seconds of an import in a fresh process, the interpreter's own start taken off, and the megabytes of the
distribution and all that it requires. Runs in any framework's interpreter."""

from __future__ import annotations

import importlib.metadata as metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import measure
from measure import FRAMEWORK, QUICK, emit

NAME = {"ort": "onnxruntime"}.get(FRAMEWORK, FRAMEWORK)


def seconds(module: str) -> float:
    command = [sys.executable, "-c", f"import {module}"]
    return measure.timed(lambda: subprocess.run(command, check=True, capture_output=True))[0]


def installed(name: str, sizes: dict[str, int]) -> dict[str, int]:
    """Bytes of a distribution and of what it requires, extras left out, by name."""
    name = re.sub("[-_.]+", "-", name).lower()
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return sizes
    if name not in sizes:
        paths = {Path(str(file.locate())).resolve() for file in distribution.files or ()}
        sizes[name] = sum(path.stat().st_size for path in paths | package_files(name) if path.is_file())
        for requirement in distribution.requires or ():
            if "extra ==" not in requirement:
                installed(re.split(r"[^\w.-]", requirement)[0], sizes)
    return sizes


def package_files(name: str) -> set[Path]:
    """The files of the package of that name, which an editable installation does not list."""
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    folders = (spec and spec.submodule_search_locations) or ()
    return {path.resolve() for folder in folders for path in Path(folder).rglob("*")}


def importing() -> None:
    first, rounds = seconds(NAME), range(2 if QUICK else 7)
    samples = [[seconds(module) for module in ("sys", "numpy", NAME)] for _ in rounds]
    bare, numpy, own = map(min, zip(*samples))
    emit("import", "fresh", unit="s", times=[own - bare], first=first)
    if NAME != "numpy":
        emit("import beyond numpy's", "fresh", unit="s", times=[own - numpy])
    sizes = installed(NAME, {})
    emit("installed", f"{len(sizes)} packages", unit="MB", times=[sum(sizes.values()) / 2**20])


if __name__ == "__main__":
    measure.run({"import": importing})
