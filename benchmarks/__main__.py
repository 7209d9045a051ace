"""``python -m benchmarks TABLE...``: the same work in every framework on this machine, side by side."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks import machine
from benchmarks.protocols import measure_table
from benchmarks.report import judge, number, report
from benchmarks.results import Result
from benchmarks.runner import Runner, Settings, available_cores
from benchmarks.tables import FRAMEWORKS, TABLES

DESCRIPTION = """\
Runs the same work in every framework that is installed, each variant in a process of its own, pinned and
interleaved over the rounds, and prints minima and medians, first calls, shares of the core's measured peaks,
and how far the answers for equal weights lie apart. Programs of MindSpore run unchanged on Mycelia.

A goal reads 'CASE: METRIC >= NUMBER' (or <=), METRIC one of peer (best peer's time / Mycelia's), a
framework's name, eager (best eager PyTorch's / Mycelia's), time (Mycelia's own), fma, read (share of the
core's FMA peak, read bandwidth). The exit status is 0 if every goal holds or, without goals, if nothing went
wrong. Tables:

"""


def arguments(argv: list[str]) -> argparse.Namespace:
    listing = "\n".join(f"  {name:14}{table.text}" for name, table in TABLES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=DESCRIPTION + listing,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option("tables", nargs="+", choices=list(TABLES), metavar="TABLE")
    option("--frameworks", default=",".join(FRAMEWORKS), help="separated by commas; default: %(default)s")
    for name, value, text in (
        ("--python", "PATH", "a framework's interpreter; default: this one"),
        ("--variants", "REGEX", "only the framework's variants that match"),
    ):
        option(name, action="append", default=[], metavar=f"FRAMEWORK={value}", type=_pair, help=text)
    option("--threads", choices=["1", "2", "both"], default="1", help="default: 1")
    option("--rounds", type=int, default=3, help="default: 3")
    option("--quick", action="store_true", help="one round, fewest samples: only whether all works")
    option("--timeout", type=float, default=1200, help="seconds for one process; default: 1200")
    option("--goal", action="append", default=[], metavar="'CASE: METRIC OP NUMBER'")
    option("--out", type=Path, help="append every figure as a JSON line")
    asked = parser.parse_args(argv)
    asked.threads = {"1": [1], "2": [2], "both": [1, 2]}[asked.threads]
    if max(asked.threads) > len(available_cores()):
        parser.error(f"--threads: {max(asked.threads)} cores are needed, there is {available_cores()}")
    asked.frameworks = tuple(asked.frameworks.split(","))
    if unknown := set(asked.frameworks) - set(FRAMEWORKS):
        parser.error(f"--frameworks must be of {', '.join(FRAMEWORKS)}. Received: {', '.join(unknown)}")
    return asked


def _pair(text: str) -> tuple[str, str]:
    framework, equals, value = text.partition("=")
    if framework not in FRAMEWORKS or not equals:
        known = ", ".join(FRAMEWORKS)
        raise argparse.ArgumentTypeError(f"must be FRAMEWORK=..., one of {known}. Received: {text!r}")
    return framework, value


def main(argv: list[str] | None = None) -> int:
    asked = arguments(sys.argv[1:] if argv is None else argv)
    settings = Settings(
        frameworks=asked.frameworks,
        pythons={framework: os.path.abspath(path) for framework, path in asked.python},
        patterns=dict(asked.variants),
        rounds=1 if asked.quick else asked.rounds,
        quick=asked.quick,
        timeout=asked.timeout,
        out=asked.out,
    )
    print(machine.describe(), flush=True)
    runner = Runner(settings)
    results: list[Result] = []
    for table in asked.tables:
        threads = asked.threads if TABLES[table].protocol == "interleaved" else asked.threads[:1]
        for count in threads:
            results.append(measure_table(runner, table, count))
            print(report(table, results[-1], runner.floors, count, settings.rounds), flush=True)
    floors = runner.floors
    print(f"\none core reached {number(floors.gflops)} GF/s and read {number(floors.gbs)} GB/s")
    if asked.goal:
        words, fine = judge(asked.goal, results, floors)
        print(words)
        return 0 if fine else 1
    return 1 if any(result.problems for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
