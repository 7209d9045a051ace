"""Trains LeNet at batch 32 for 2,000 steps in each mode and tells whether memory and time stay as they were.

    python tools/long_run.py [--mode GRAPH|PYNATIVE] [--steps 2000] [--runs 3]

Resident memory may grow by 5 MB after step 50; the median time of the last 200 steps may be 1.05 times that
of steps 51 to 250, in the best of the runs. Each run is a process of its own. Run it pinned to one
processor: ``taskset -c 1 python tools/long_run.py``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

GROWTH_MB = 5.0
DRIFT = 1.05
FIRST, WINDOW = 50, 200


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def lenet():
    from mycelia import nn

    return nn.SequentialCell(
        nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(256, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10),
    )  # fmt: skip


def measure(mode: str, steps: int) -> tuple[float, float]:
    """Growth of resident memory in MB, and the ratio of the late to the early median time."""
    import mycelia as ms
    from mycelia import Tensor, nn

    ms.set_seed(1)
    network = lenet()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.01, momentum=0.9)
    gradient = ms.value_and_grad(lambda x, y: loss_fn(network(x), y), None, optimizer.parameters)

    def step(x, y):
        loss, grads = gradient(x, y)
        optimizer(grads)
        return loss

    run = ms.jit(step) if mode == "GRAPH" else step
    rng = np.random.default_rng(1)
    images = rng.normal(size=(8, 32, 1, 28, 28)).astype(np.float32)
    labels = rng.integers(0, 10, (8, 32)).astype(np.int32)
    times = np.zeros(steps)
    before = 0.0
    for i in range(steps):
        start = time.perf_counter()
        run(Tensor(images[i % 8]), Tensor(labels[i % 8])).asnumpy()
        times[i] = time.perf_counter() - start
        if i + 1 == FIRST:
            before = resident_mb()
    early, late = statistics.median(times[FIRST : FIRST + WINDOW]), statistics.median(times[-WINDOW:])
    print(f"{mode}: {early * 1e3:.3f} ms early, {late * 1e3:.3f} late, {before:.0f} MB at step {FIRST}")
    return resident_mb() - before, late / early


def main() -> int:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--mode", choices=["GRAPH", "PYNATIVE"])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", action="store_true", help="measure here, once (what each run does)")
    options = parser.parse_args()
    if options.steps < FIRST + 2 * WINDOW:
        parser.error(f"--steps must be at least {FIRST + 2 * WINDOW}, for two windows of {WINDOW} steps")
    if options.one:
        print(*measure(options.mode or "GRAPH", options.steps))
        return 0
    good = True
    for mode in [options.mode] if options.mode else ["GRAPH", "PYNATIVE"]:
        results = []
        for _ in range(options.runs):
            command = [sys.executable, __file__, "--one", "--mode", mode, "--steps", str(options.steps)]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            growth, drift = map(float, lines[-1].split())
            results.append((growth, drift))
            print(f"{lines[-2]}; memory +{growth:.1f} MB, time x{drift:.3f}", flush=True)
        growth, drift = min(results, key=lambda r: (r[0] > GROWTH_MB, r[1]))
        passed = growth <= GROWTH_MB and drift <= DRIFT
        good = good and passed
        print(f"{mode}: {'pass' if passed else 'FAIL'}, best run: memory +{growth:.1f} MB, time x{drift:.3f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
