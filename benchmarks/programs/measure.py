"""What every measuring program shares: timing, and the lines that it writes.

A program is called with TABLE VARIANT and writes one JSON line per figure to ``BENCH_OUT``: case, framework,
variant, threads, unit, min, median, samples, first (seconds of the first call), others (CPUs that other
processes used meanwhile), gflops, gbs, answer (a file with what was computed).

Weights are made from their names, so that every framework computes with the same ones and answers can be
compared.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TABLE, VARIANT = (sys.argv[1:] + ["?", "?"])[:2]
BASE = VARIANT.split("+")[0]  # the suffixes are settings of the environment, but for +sync
FRAMEWORK = os.environ.get("BENCH_FRAMEWORK", "?")
THREADS = int(os.environ.get("BENCH_THREADS", "1"))
QUICK = bool(os.environ.get("BENCH_QUICK"))
OUT = Path(os.environ.get("BENCH_OUT", "/dev/stdout"))
ANSWERS = os.environ.get("BENCH_ANSWERS")


# -- measuring --
def emit(case: str, variant: str = VARIANT, **figures: Any) -> None:
    row = {"case": case, "framework": FRAMEWORK, "variant": variant, "threads": THREADS, **figures}
    with OUT.open("a") as file:
        file.write(json.dumps(row) + "\n")


def keep(case: str, variant: str, answer: Any) -> str | None:
    """Saves an answer where the runner compares answers; returns the file."""
    if ANSWERS is None or answer is None:
        return None
    name = f"{case} {FRAMEWORK} {variant}".replace("/", "_").replace(" ", "_")
    path = Path(ANSWERS) / f"{name}.npy"
    np.save(path, np.asarray(answer, dtype=np.float64))
    return str(path)


def _busy() -> tuple[float, float]:
    """CPU seconds used by the machine, and by this process."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    own = resource.getrusage(resource.RUSAGE_SELF)
    machine = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
    return machine, own.ru_utime + own.ru_stime


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


_SCALES = {"s": 1.0, "ms": 1e3, "us": 1e6, "us/image": 1e6}


def bench(
    case: str,
    function: Callable[[], Any],
    layout: str = "",
    load: float = 0.0,
    unit: str = "ms",
    per: int = 1,
    flops: float | None = None,
    bytes_: float | None = None,
    answer: Callable[[Any], Any] | None = None,
) -> None:
    """Times a function, which must end with its result complete.

    Args:
        layout: added to the variant's name.
        load: seconds to add to the first call.
        per: units of work in one call; the figure is time per unit.
        flops, bytes_: work of one call, for rates.
        answer: makes what is compared with other frameworks from the result of the first call.
    """
    variant = " ".join(filter(None, (BASE, layout))) + VARIANT[len(BASE) :]
    try:
        first, result = timed(function)
        kept = keep(case, variant, answer(result)) if answer else None
        del result
        one = timed(function)[0]
    except Exception as error:
        emit(case, variant, error=one_line(error))
        return
    inner = max(1, int(0.002 / one))  # short work is repeated inside a sample
    for _ in range(0 if QUICK or one > 1 else min(20, int(0.5 / one))):
        function()
    samples: list[float] = []
    begin, before = time.perf_counter(), _busy()
    least = 2 if QUICK or one > 10 else 4
    while len(samples) < least or (not QUICK and len(samples) < 15 and time.perf_counter() - begin < 8):
        start = time.perf_counter()
        for _ in range(inner):
            function()
        samples.append((time.perf_counter() - start) / inner)
    machine, own = (b - a for a, b in zip(before, _busy()))
    best, scale = min(samples), _SCALES[unit] / per
    figures: dict[str, Any] = {
        "unit": unit,
        "min": best * scale,
        "median": sorted(samples)[len(samples) // 2] * scale,
        "samples": len(samples),
        "first": first + load,
        "others": round(max(0.0, machine - own) / (time.perf_counter() - begin), 2),
    }
    if flops:
        figures["gflops"] = flops / best / 1e9
    if bytes_:
        figures["gbs"] = bytes_ / best / 1e9
    if kept:
        figures["answer"] = kept
    emit(case, variant, **figures)


def three_losses(step: Callable[[], float]) -> Callable[[float], list[float]]:
    """The answer of a training step: its loss, and those of the two steps after it, which show the
    updates."""
    return lambda loss: [loss, step(), step()]


def mean_over(case: str, function: Callable[[], Any], seconds: float, layout: str = "") -> None:
    """The mean time of calls over some seconds, for tables that measure what a busy machine does."""
    first = timed(function)[0]
    function()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        function()
        count += 1
    mean = (time.perf_counter() - begin) / count
    variant = " ".join(filter(None, (BASE, layout)))
    emit(case, variant, unit="ms", min=mean * 1e3, median=mean * 1e3, samples=count, first=first)


def run(tables: dict[str, Any]) -> None:
    """Runs the function named like the table; what it raises becomes an error line."""
    try:
        tables[TABLE]()
    except Exception as error:
        emit("*", error=one_line(error))
