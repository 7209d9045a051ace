"""What every measuring program shares: cases, weights, timing, and the lines that it writes.

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
import zlib
from collections.abc import Callable, Iterator
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

# -- cases --
RESNET_INFER = (("r50 b1", 1), ("r50 b8", 8))
RESNET_TRAIN = (("r50 train b8 224", 8, 224, 1000), ("r50 train b32 32x32", 32, 32, 10))
RESNET_FLOPS = 2 * 4.089e9  # of one image at 224x224
RESNET_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
BERT_FLOPS = 2 * 128 * 12 * (4 * 768**2 + 8 * 768**2 + 2 * 128 * 768)  # of one sequence
GEMM = (
    ("gemm 1024^3", 1024, 1024, 1024),
    ("gemm 4096x768x3072", 4096, 768, 3072),
    ("gemv 4096x4096", 4096, 4096, 1),
)
POINTWISE = (
    ("gelu 16M", (16 << 20,)),
    ("softmax 4096x1024", (4096, 1024)),
    ("layernorm 4096x1024", (4096, 1024)),
)
WIDTH, HEADS, LAYERS, VOCABULARY, CONTEXT, PROMPT, NEW = 768, 12, 12, 50257, 96, 32, 64  # GPT-2 small
MEAN, DEVIATION = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)  # of CIFAR-10, in 0..255


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def integers(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, high, shape).astype(np.int32)


def matrices() -> Iterator[tuple[str, np.ndarray, np.ndarray, int, int | None]]:
    """Name, a, b, floating-point operations, bytes to read (where reading is what takes the time)."""
    for name, m, k, n in GEMM:
        b = normal(k, seed=1) if n == 1 else normal(k, n, seed=1)
        yield name, normal(m, k), b, 2 * m * k * n, 4 * m * k if n == 1 else None


def photographs() -> tuple[np.ndarray, np.ndarray]:
    count = 5000 if QUICK else 50000
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, count).astype(
        np.int32
    )


# -- weights --
_KINDS = {
    "gamma": "scale",
    "beta": "shift",
    "moving_mean": "mean",
    "moving_variance": "variance",
    "running_mean": "mean",
    "running_var": "variance",
    "bias": "shift",
    "embedding_table": "table",
}


def weight(path: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a parameter, from its path such as ``l.0.c1.weight``; PyTorch's and MindSpore's names
    agree.

    A vector called weight is the scale of a norm, a matrix two of whose axes are a vocabulary a table.
    """
    owner, _, last = path.rpartition(".")
    kind = _KINDS.get(last, "weight" if len(shape) > 1 else "scale")
    if kind == "weight" and owner.split(".")[-1] in ("w", "p", "pe", "t"):
        kind = "table" if shape[1] == WIDTH and owner.count(".") == 0 else kind
    rng = np.random.default_rng(zlib.crc32(f"{owner}:{kind}:{shape}".encode()))
    if kind == "variance":
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    values = rng.standard_normal(shape, dtype=np.float32)
    if kind == "scale":
        return 1 + np.float32(0.05) * values
    if kind in ("shift", "mean"):
        return np.float32(0.05) * values
    if kind == "table":
        return np.float32(0.02) * values
    return values * np.float32((1 / np.prod(shape[1:])) ** 0.5)


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
