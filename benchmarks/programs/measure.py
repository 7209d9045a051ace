"""What every measuring program shares: timing, and the lines that it writes.

A program is called with TABLE VARIANT and writes one JSON line per figure to ``BENCH_OUT``: case, framework,
variant, threads, unit, times (the samples), first (seconds of the first call), others (CPUs that other
processes used meanwhile), and where they apply flops and bytes_ (work of a sample), inside (seconds in
kernels), answer (a file with what was computed).
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

TABLE, VARIANT = (*sys.argv[1:], "?", "?")[:2]
BASE = VARIANT.split("+")[0]  # the suffixes are settings of the environment, but for +sync
FRAMEWORK = os.environ.get("BENCH_FRAMEWORK", "?")
THREADS = int(os.environ.get("BENCH_THREADS", "1"))
QUICK = bool(os.environ.get("BENCH_QUICK"))
OUT = Path(os.environ.get("BENCH_OUT", "/dev/stdout"))
ANSWERS = os.environ.get("BENCH_ANSWERS")

Call = Callable[[], Any]
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "us/image": 1e6}


def emit(case: str, variant: str = VARIANT, **figures: Any) -> None:
    known = {name: value for name, value in figures.items() if value is not None}
    row = {"case": case, "framework": FRAMEWORK, "variant": variant, "threads": THREADS, **known}
    with OUT.open("a") as file:
        file.write(json.dumps(row) + "\n")


def timed(function: Call) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def bench(
    case: str,
    function: Call,
    layout: str = "",
    *,
    load: float = 0.0,
    unit: str = "ms",
    per: int = 1,
    flops: float | None = None,
    bytes_: float | None = None,
    answer: Callable[[Any], Any] | None = None,
    inside: Callable[[Call], float] | None = None,
) -> None:
    """Times a function, which must end with its result complete.

    Args:
        layout: added to the variant's name.
        load: seconds to add to the first call.
        per: units of work in one call; the figure is time per unit.
        flops, bytes_: work of one call, for rates.
        answer: makes what is compared with other frameworks from the result of the first call.
        inside: finds the seconds of one call that pass inside kernels.
    """
    variant = _variant(layout)
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
    others = round(max(0.0, machine - own) / (time.perf_counter() - begin), 2)
    scale = _PER_SECOND[unit] / per
    emit(
        case,
        variant,
        unit=unit,
        times=[sample * scale for sample in samples],
        first=first + load,
        others=others,
        flops=flops,
        bytes_=bytes_,
        inside=inside(function) if inside else None,
        answer=kept,
    )


def bench_fresh(case: str, function: Call, calls: int = 12) -> None:
    """Times calls whose results are all kept, so that each result needs memory never used before."""
    first, result = timed(function)
    kept, samples = [result], []
    for _ in range(3 if QUICK else calls):
        seconds, result = timed(function)
        samples.append(seconds * 1e3)
        kept.append(result)
    emit(case, unit="ms", times=samples, first=first)


def bench_first(
    case: str, function: Call, answer: Callable[[Any], Any] | None = None, load: float = 0.0
) -> None:
    """Times the first call alone."""
    seconds, result = timed(function)
    kept = keep(case, VARIANT, answer(result)) if answer else None
    emit(case, unit="s", times=[seconds + load], answer=kept)


def bench_mean(
    case: str, function: Call, answer: Callable[[Any], Any] | None = None, seconds: float = 10.0
) -> None:
    """The mean time of calls over some seconds, for what a busy machine does to them."""
    first, result = timed(function)
    kept = keep(case, VARIANT, answer(result)) if answer else None
    function()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < (2 if QUICK else seconds):
        function()
        count += 1
    mean = (time.perf_counter() - begin) / count
    emit(case, unit="ms", times=[mean * 1e3], first=first, answer=kept)


def three_losses(step: Callable[[], float]) -> Callable[[float], list[float]]:
    """The answer of a training step: its loss, and the two after it, which show the updates."""
    return lambda loss: [loss, step(), step()]


def keep(case: str, variant: str, answer: Any) -> str | None:
    """Saves an answer where the runner compares answers; returns the file."""
    if ANSWERS is None:
        return None
    name = f"{case} {FRAMEWORK} {variant}".replace("/", "_").replace(" ", "_")
    path = Path(ANSWERS) / f"{name}.npy"
    np.save(path, np.asarray(answer))
    return str(path)


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def run(tables: dict[str, Any]) -> None:
    """Runs the function named like the table; what it raises becomes an error line."""
    try:
        tables[TABLE]()
    except Exception as error:
        emit("*", error=one_line(error))


def _variant(layout: str) -> str:
    return " ".join(filter(None, (BASE, layout))) + VARIANT[len(BASE) :]


def _busy() -> tuple[float, float]:
    """CPU seconds used by the machine, and by this process."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    own = resource.getrusage(resource.RUSAGE_SELF)
    machine = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")
    return machine, own.ru_utime + own.ru_stime
