"""What the measuring programs said: a row for each variant of a case, and how far answers lie apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "us/image": 1e-6}  # of one of the unit, where it is a time


@dataclass
class Row:
    """One variant's figures for a case, samples of all rounds together.

    Attributes:
        job: the variant as the runner started it; `variant` may say more, such as the layout.
        times: the samples, in `unit`.
        first: the first call ever, in seconds, compilation included; `again` the best first call of a later
            process, which finds what the earlier one compiled.
        flops, bytes_: the work of one sample, where a rate means something.
        inside: seconds of a sample that pass inside kernels.
        answer: the file of what was computed; `difference` its distance from the reference's, as a share of
            the largest element.
    """

    case: str
    framework: str
    variant: str
    job: str
    unit: str
    times: list[float]
    first: float | None = None
    again: float | None = None
    flops: float | None = None
    bytes_: float | None = None
    inside: float | None = None
    answer: str | None = None
    difference: float | None = None

    @property
    def best(self) -> float:
        return min(self.times)

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    def rate(self, kind: str) -> float | None:
        """Billions a second of ``"flops"`` or ``"bytes_"``, at best."""
        work = getattr(self, kind)
        return None if work is None else work / (self.best * SECONDS[self.unit]) / 1e9

    @property
    def outside(self) -> float | None:
        """The share of the time outside kernels."""
        return None if self.inside is None else max(0.0, 1 - self.inside / (self.median * SECONDS[self.unit]))

    def merged(self, later: Row) -> Row:
        """This row with the samples of a later round."""
        firsts = [first for first in (self.again, later.first) if first is not None]
        return Row(
            **{
                **vars(later),
                "times": self.times + later.times,
                "first": self.first,
                "again": min(firsts, default=None),
            }
        )


@dataclass
class Result:
    """The rows of a table, by case, framework and variant, and what went wrong."""

    rows: dict[str, dict[str, dict[str, Row]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        variants = self.rows.setdefault(row.case, {}).setdefault(row.framework, {})
        earlier = variants.get(row.variant)
        variants[row.variant] = row if earlier is None else earlier.merged(row)

    def note(self, figures: dict[str, Any]) -> None:
        """Takes what a program wrote: a row, or an error."""
        figures = dict(figures)
        if "error" in figures:
            where = f"{figures['framework']} {figures['variant']}, {figures['case']}"
            self.complain(f"{where}: {figures['error']}")
        else:
            self.add(Row(**{name: figures[name] for name in Row.__dataclass_fields__ if name in figures}))

    def complain(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)

    def best(self, case: str, framework: str) -> Row | None:
        """The framework's best variant."""
        variants = self.rows.get(case, {}).get(framework)
        return min(variants.values(), key=lambda row: row.best) if variants else None

    def of_case(self, case: str) -> Iterator[Row]:
        for variants in self.rows.get(case, {}).values():
            yield from variants.values()

    def hopeless(self, framework: str, job: str) -> bool:
        """Whether a variant took over twice its framework's best in every case: it cannot become the best."""
        seen = [row for case in self.rows for row in self.of_case(case)]
        mine = [row for row in seen if (row.framework, row.job) == (framework, job)]
        bests = [self.best(row.case, framework) for row in mine]
        return bool(mine) and all(row.best > 2 * best.best for row, best in zip(mine, bests) if best)

    def compare_answers(self, tolerance: float) -> None:
        """Holds each case's answers against the first framework's: equal weights must give equal results."""
        for case in self.rows:
            answered = [row for row in self.of_case(case) if row.answer is not None]
            if not answered:
                continue
            reference = answered[0]
            expected = np.load(str(reference.answer))
            for row in answered[1:]:
                answer = np.load(str(row.answer))
                row.difference = difference(answer, expected)
                if not row.difference <= tolerance:  # also where it is not a number
                    self.complain(
                        f"{row.framework} {row.variant}, {case}: the answer differs from that of "
                        f"{reference.framework} {reference.variant}: {_where(answer, expected)}; "
                        f"{row.difference:.2g} of the largest element, more than {tolerance:g}"
                    )


def difference(answer: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference, as a share of the reference's largest element; infinite for other shapes."""
    if answer.shape != reference.shape:
        return float("inf")
    if not answer.size:
        return 0.0
    apart = np.abs(answer.astype(np.float64) - reference).max()
    return float(apart / max(np.abs(reference).max(), 1e-30))


def _where(answer: np.ndarray, reference: np.ndarray) -> str:
    if answer.shape != reference.shape:
        return f"shape {answer.shape}, not {reference.shape}"
    apart = np.abs(answer.astype(np.float64) - reference)
    at = np.unravel_index(np.argmax(np.where(np.isnan(apart), np.inf, apart)), apart.shape)
    index = ", ".join(map(str, at))
    return f"at [{index}] {answer[at]:.7g} instead of {reference[at]:.7g}"
