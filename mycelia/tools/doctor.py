"""`mycelia doctor`: what this machine and installation can do, and what stands in the way."""

from __future__ import annotations

import importlib.metadata as metadata
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KIN = ("mindspore", "mindspore-gpu", "mindspore-ascend", "mindspore-npu", "mindspore-lite", "mindspore-dev")


@dataclass(frozen=True)
class Finding:
    """One line of the examination.

    Attributes:
        subject: what was looked at.
        state: what was found.
        good: whether it is as it should be.
        cure: what to do if not.
    """

    subject: str
    state: str
    good: bool = True
    cure: str = ""


def findings() -> Iterator[Finding]:
    """Everything that is looked at, in order."""
    yield _python()
    for package in ("numpy", "llvmlite", "ml_dtypes"):
        yield _package(package)
    yield _processor()
    yield from _threads_and_memory()
    yield _cache()
    yield Finding("devices", "CPU; Ascend and GPU are not available in this version")
    for name in KIN:
        version = _version(name)
        if version is not None:
            yield Finding(
                name, f"{version} is installed; `mycelia run` leaves it alone and offers its own `mindspore`"
            )


def _python() -> Finding:
    version = platform.python_version()
    free_threaded = hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled()
    if free_threaded:
        return Finding(
            "Python",
            f"{version}, free-threaded",
            False,
            "use a build with the GIL: python3.13, not python3.13t",
        )
    good = (3, 10) <= sys.version_info[:2] <= (3, 13)
    return Finding("Python", version, good, "use Python 3.10 to 3.13")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Finding:
    version = _version(name)
    return Finding(name, version or "missing", version is not None, f"pip install {name}")


def _processor() -> Finding:
    from mycelia.codegen.target import Target

    try:
        target = Target.host()
    except RuntimeError as error:
        return Finding("processor", str(error), False, "run on a processor with AVX2 and FMA, or with NEON")
    kind = {64: "AVX-512", 32: "AVX2", 16: "NEON"}[target.vector_bytes]
    return Finding("processor", f"{target.cpu}: {kind}, {target.vector_bytes * 8}-bit vectors")


def _threads_and_memory() -> Iterator[Finding]:
    from mycelia.runtime.threads import get_num_threads

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = get_num_threads()
    yield Finding(
        "threads",
        f"{threads} of {allowed} processors",
        threads <= allowed,
        "more threads than processors slow each other down: set MYCELIA_NUM_THREADS",
    )
    limit = os.environ.get("MS_MEMORY_POOL_SIZE")
    if limit is not None:
        from mycelia.runtime.memory import parse_size

        try:
            yield Finding("MS_MEMORY_POOL_SIZE", f"{parse_size(limit):,} bytes")
        except ValueError as error:
            yield Finding(
                "MS_MEMORY_POOL_SIZE", str(error), False, "give bytes, or a size such as 32GB or 512MB"
            )


def _cache() -> Finding:
    if os.environ.get("MYCELIA_CACHE_DIR") is None and os.environ.get("MYCELIA_CACHE", "").lower() == "off":
        return Finding(
            "object cache", "off (MYCELIA_CACHE=off)", False, "unset MYCELIA_CACHE for quick starts"
        )
    base = os.environ.get("MYCELIA_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "mycelia"
    )
    folder = Path(base)
    if not folder.exists():
        return Finding("object cache", f"{folder}, to be made at the first compilation")
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    good = folder.stat().st_uid == os.getuid() and os.access(folder, os.W_OK)
    return Finding(
        "object cache",
        f"{folder}, {size / 2**20:.1f} MB",
        good,
        "make the folder your own and writable, or point MYCELIA_CACHE_DIR elsewhere",
    )


def examine() -> int:
    """Prints the findings; the exit status is 1 if one is not good."""
    from rich.console import Console
    from rich.table import Table

    import mycelia

    table = Table(
        title=f"Mycelia {mycelia.__version__}, following MindSpore's interface 2.10",
        box=None,
        title_justify="left",
    )
    for column in ("", "subject", "state"):
        table.add_column(column, overflow="fold")
    bad = False
    for finding in findings():
        bad |= not finding.good
        state = finding.state if finding.good or not finding.cure else f"{finding.state}\n-> {finding.cure}"
        table.add_row("ok" if finding.good else "!!", finding.subject, state)
    Console().print(table)
    return int(bad)
