"""``python -m benchmarks TABLE...``: the same work in every framework on this machine, side by side."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks import machine
from benchmarks.report import judge, number, report
from benchmarks.runner import Runner, Settings
from benchmarks.tables import FRAMEWORKS, TABLES

DESCRIPTION = """\
Runs the same work in every framework that is installed, each variant in a process of its own, pinned and
interleaved over the rounds, and prints minima and medians, first calls, shares of the core's measured peaks,
and how far the answers for equal weights lie apart. Programs of MindSpore run unchanged on Mycelia.

A goal reads 'CASE: METRIC >= NUMBER' (or <=), METRIC one of peer (best peer's time / Mycelia's), a
framework's name, eager (best eager PyTorch's / Mycelia's), time (Mycelia's own), fma, read (share of the
core's FMA peak, read bandwidth). With goals the exit status is 0 only if all hold. Tables:
"""


def arguments(argv: list[str]) -> argparse.Namespace:
    listing = "\n".join(f"  {name:14}{table.text}" for name, table in TABLES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=DESCRIPTION + listing,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tables", nargs="+", choices=list(TABLES), metavar="TABLE")
    parser.add_argument(
        "--frameworks", default=",".join(FRAMEWORKS), help="separated by commas; default: %(default)s"
    )
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="FRAMEWORK=PATH",
        help="a framework's interpreter; default: this one",
    )
    parser.add_argument(
        "--variants",
        action="append",
        default=[],
        metavar="FRAMEWORK=REGEX",
        help="only the variants that match",
    )
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1], help="one number or several; default: 1"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for one process")
    parser.add_argument(
        "--quick", action="store_true", help="fewest samples, one round: only whether all works"
    )
    parser.add_argument("--goal", action="append", default=[], metavar="'CASE: METRIC OP NUMBER'")
    parser.add_argument("--out", type=Path, help="append every figure as a JSON line")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    asked = arguments(sys.argv[1:] if argv is None else argv)
    pythons = dict(pair.split("=", 1) for pair in asked.python)
    settings = Settings(
        frameworks=tuple(asked.frameworks.split(",")),
        pythons={framework: os.path.abspath(path) for framework, path in pythons.items()},
        patterns=dict(pair.split("=", 1) for pair in asked.variants),
        rounds=1 if asked.quick else asked.rounds,
        quick=asked.quick,
        timeout=asked.timeout,
        out=asked.out,
    )
    print(machine.describe())
    fine, results = True, {}
    for threads in asked.threads:
        settings.threads = threads
        runner = Runner(settings)
        for table in asked.tables:
            results[table] = runner.run(table)
            print(report(table, results[table], runner.floors, settings), flush=True)
            fine &= not results[table].problems
        print(
            f"\n{number(runner.floors.gflops)} GF/s and {number(runner.floors.gbs)} GB/s are what one core "
            "reached"
        )
    if asked.goal:
        words, fine = judge(asked.goal, results, runner.floors)
        print(words)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
