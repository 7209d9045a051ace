"""Tables of results as text, and goals that are judged by them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.machine import Floors
from benchmarks.runner import Result, Row, Settings
from benchmarks.tables import FRAMEWORKS, OWN, TABLES


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in [head, *rows])


def report(table: str, result: Result, floors: Floors, settings: Settings) -> str:
    """The text of a table: minima and medians, first calls, shares of the machine's floors, differences,
    problems."""
    frameworks = [f for f in FRAMEWORKS if any(f in of for of in result.rows.values())]
    plural = "s" * (settings.threads > 1)
    parts = [
        f"\n{table}: {TABLES[table].text}",
        f"{settings.threads} thread{plural}, best of {settings.rounds} round(s)",
    ]

    def cell(case: str, framework: str) -> str:
        row = result.best(case, framework)
        if row is None:
            return "-"
        rate = f" ({1e6 / row['min']:.0f}/s)" if row["unit"] == "us/image" else ""
        return f"{number(row['min'])} / {number(row['median'])}{rate} {row['variant']}"

    def unit(case: str) -> str:
        return next(row["unit"] for of in result.rows[case].values() for row in of.values())

    head = ["case", "unit", *frameworks, f"peer/{OWN}"]
    rows = [
        [case, unit(case), *(cell(case, f) for f in frameworks), number(metric(result, floors, case, "peer"))]
        for case in result.rows
    ]
    parts += ["minimum / median, of the best variant", columns(head, rows)]
    parts += _first_calls(result, frameworks)
    for rate, name, floor, measured in (
        ("gflops", "FMA peak of one core", floors.gflops, "GF/s"),
        ("gbs", "read bandwidth of one core", floors.gbs, "GB/s"),
    ):
        parts += _shares(
            result, frameworks, rate, name, floor * (settings.threads if rate == "gflops" else 1), measured
        )
    parts += _differences(result, frameworks)
    parts += [f"! {problem}" for problem in result.problems]
    return "\n".join(parts)


def _first_calls(result: Result, frameworks: list[str]) -> list[str]:
    def cell(row: Row | None) -> str:
        if row is None or row.get("first") is None:
            return "-"
        again = f" / {number(row['again'])}" if row.get("again") is not None else ""
        return number(row["first"]) + again

    rows = [[case, *(cell(result.best(case, f)) for f in frameworks)] for case in result.rows]
    return ["\nfirst call of that variant, s (cold / in later rounds)", columns(["case", *frameworks], rows)]


def _shares(
    result: Result, frameworks: list[str], rate: str, name: str, floor: float, unit: str
) -> list[str]:
    rows = []
    for case in result.rows:
        best = {f: result.best(case, f) for f in frameworks}
        if floor and any(row and rate in row for row in best.values()):
            rows.append(
                [case, *(number(row[rate] / floor) if row and rate in row else "-" for row in best.values())]
            )
    title = f"\nshare of the {name}, {floor:.4g} {unit}"
    return [title, columns(["case", *frameworks], rows)] if rows else []


def _differences(result: Result, frameworks: list[str]) -> list[str]:
    rows = []
    for case, of in result.rows.items():
        largest = {
            f: [r["difference"] for r in of.get(f, {}).values() if "difference" in r] for f in frameworks
        }
        if any(largest.values()):
            rows.append([case, *(f"{max(d):.1g}" if d else "-" for d in largest.values())])
    title = "\nlargest difference of answers from the first framework's, same weights"
    return [title, columns(["case", *frameworks], rows)] if rows else []


# -- goals --
def metric(result: Result, floors: Floors, case: str, name: str) -> float | None:
    """A figure of a case: ``peer`` (best peer's time over Mycelia's), a framework's name, ``eager`` (best
    eager PyTorch's), ``time`` (Mycelia's own), ``fma`` and ``read`` (share of the core's FMA peak, of its
    read bandwidth)."""
    own = result.best(case, OWN)
    if own is None:
        return None
    if name == "time":
        return own["min"]
    rate, floor = {"fma": ("gflops", floors.gflops), "read": ("gbs", floors.gbs)}.get(name, ("", 0.0))
    if rate:
        return own[rate] / floor if floor and rate in own else None
    rows = [(f, v, row) for f, of in result.rows[case].items() for v, row in of.items() if f != OWN]
    if name == "eager":
        times = [row["min"] for f, v, row in rows if f == "torch" and v.startswith("eager")]
    else:
        times = [row["min"] for f, _, row in rows if name in ("peer", f)]
    return min(times) / own["min"] if times else None


def judge(goals: Sequence[str], results: dict[str, Result], floors: Floors) -> tuple[str, bool]:
    """Holds goals such as ``"r50 b1: ort >= 0.909"`` against the results.

    Raises:
        ValueError: a goal that cannot be read.
    """
    words, fine = [], True
    for goal in goals:
        found = re.fullmatch(r"(.+): (\w+) (>=|<=) ([\d.]+)", goal)
        if found is None:
            raise ValueError(
                f"a goal must read 'CASE: METRIC >= NUMBER' or 'CASE: METRIC <= NUMBER'. Received: {goal!r}"
            )
        case, name, sign, wanted = found.groups()
        owner = next((result for result in results.values() if case in result.rows), None)
        value = metric(owner, floors, case, name) if owner else None
        holds = value is not None and (value >= float(wanted) if sign == ">=" else value <= float(wanted))
        fine &= holds
        words.append(f"{case} {name} {number(value)} {'' if holds else 'MISSES '}{sign} {wanted}")
    return "; ".join(words), fine
