"""Tables of results as text, and goals that are judged by them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchmarks.machine import Floors
from benchmarks.results import Result, Row
from benchmarks.tables import FRAMEWORKS, OWN, TABLES


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in [head, *rows])


def report(table: str, result: Result, floors: Floors, threads: int, rounds: int) -> str:
    """The text of a table.

    Minima and medians with their ratios, first calls, shares of the machine's floors, time outside kernels,
    differences of answers, and what went wrong.
    """
    plural = "s" * (threads > 1)
    pinned = f"{threads} thread{plural}, " if TABLES[table].protocol == "interleaved" else ""
    parts = [f"\n{table}: {TABLES[table].text}", f"{pinned}{rounds} round{'s' * (rounds > 1)}"]
    if result.rows:
        parts += ["\nminimum / median, of the best variant by minima", _times(result)]
        parts += _section(result, "first call, s: cold / with what that left behind", _first)
        peak = floors.gflops * threads
        parts += _section(
            result,
            f"share of the FMA peak, {number(peak)} GF/s with {threads} core{plural}",
            lambda row: _share(row.rate("flops"), peak),
        )
        parts += _section(
            result,
            f"share of one core's read bandwidth, {number(floors.gbs)} GB/s",
            lambda row: _share(row.rate("bytes_"), floors.gbs),
        )
        parts += _section(
            result,
            "share of the time outside kernels",
            lambda row: None if row.outside is None else f"{row.outside:.1%}",
        )
        parts += _differences(result)
    return "\n".join(parts + [f"! {problem}" for problem in result.problems])


def _frameworks(result: Result) -> list[str]:
    return [f for f in FRAMEWORKS if any(f in of for of in result.rows.values())]


def _times(result: Result) -> str:
    frameworks = _frameworks(result)

    def cell(row: Row | None) -> str:
        if row is None:
            return "-"
        rate = f" ({1e6 / row.best:.0f}/s)" if row.unit == "us/image" else ""
        return f"{number(row.best)} / {number(row.median)}{rate} {row.variant}"

    own = [f"{peer}/{OWN}" for peer in ("peer", "torch") if OWN in frameworks and len(frameworks) > 1]
    rows = [
        [
            case,
            next(result.of_case(case)).unit,
            *(cell(result.best(case, f)) for f in frameworks),
            *(number(metric(result, Floors(), case, name.split("/")[0])) for name in own),
        ]
        for case in result.rows
    ]
    return columns(["case", "unit", *frameworks, *own], rows)


def _section(result: Result, title: str, text: Callable[[Row], str | None]) -> list[str]:
    """A table of one property of the best variants, left out where no row has it."""
    frameworks, rows = _frameworks(result), []
    for case in result.rows:
        best = [result.best(case, framework) for framework in frameworks]
        cells = [None if row is None else text(row) for row in best]
        if any(cells):
            rows.append([case, *(cell or "-" for cell in cells)])
    return [f"\n{title}", columns(["case", *frameworks], rows)] if rows else []


def _first(row: Row) -> str | None:
    if row.first is None:
        return None
    return number(row.first) + ("" if row.again is None else f" / {number(row.again)}")


def _share(rate: float | None, floor: float) -> str | None:
    return None if rate is None or not floor else number(rate / floor)


def _differences(result: Result) -> list[str]:
    frameworks, rows = _frameworks(result), []
    for case, of in result.rows.items():
        found = [
            [r.difference for r in of.get(f, {}).values() if r.difference is not None] for f in frameworks
        ]
        if any(found):
            rows.append([case, *(f"{max(d):.1g}" if d else "-" for d in found)])
    title = "\nlargest difference of any variant's answer from the first framework's, the same weights"
    return [title, columns(["case", *frameworks], rows)] if rows else []


# -- goals --
def metric(result: Result, floors: Floors, case: str, name: str) -> float | None:
    """A figure of a case, None where it cannot be formed.

    Args:
        name: ``peer`` (best peer's time over Mycelia's), a framework's name, ``eager`` (best eager PyTorch's
            over Mycelia's), ``time`` (Mycelia's own, in the case's unit), ``fma`` and ``read`` (share of one
            core's FMA peak, of its read bandwidth).
    """
    own = result.best(case, OWN)
    if own is None:
        return None
    if name == "time":
        return own.best
    if name in ("fma", "read"):
        kind, floor = ("flops", floors.gflops) if name == "fma" else ("bytes_", floors.gbs)
        rate = own.rate(kind)
        return rate / floor if rate is not None and floor else None
    peers = [row for row in result.of_case(case) if row.framework != OWN]
    if name == "eager":
        peers = [row for row in peers if row.framework == "torch" and row.variant.startswith("eager")]
    elif name != "peer":
        peers = [row for row in peers if row.framework == name]
    return min(row.best for row in peers) / own.best if peers else None


def judge(goals: Sequence[str], results: Sequence[Result], floors: Floors) -> tuple[str, bool]:
    """Holds goals such as ``"r50 b1: ort >= 0.909"`` against the first results that have their case.

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
        owner = next((result for result in results if case in result.rows), None)
        value = metric(owner, floors, case, name) if owner else None
        holds = value is not None and (value >= float(wanted) if sign == ">=" else value <= float(wanted))
        fine &= holds
        words.append(f"{case} {name} {number(value)} {'' if holds else 'MISSES '}{sign} {wanted}")
    return "; ".join(words), fine
