"""Starts the measuring programs, each variant in a process of its own, pinned and interleaved, and keeps what
they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import Floors
from benchmarks.tables import FRAMEWORKS, MODULES, OWN, PROGRAMS, SUFFIXES, TABLES, variants_of

PROGRAM_FOLDER = Path(__file__).resolve().parent / "programs"
Row = dict[str, Any]


@dataclass
class Settings:
    """What the command line asked for."""

    frameworks: tuple[str, ...] = FRAMEWORKS
    pythons: dict[str, str] = field(default_factory=dict)  # interpreter of each framework
    patterns: dict[str, str] = field(default_factory=dict)  # only variants that match
    threads: int = 1
    rounds: int = 3
    quick: bool = False
    timeout: float = 1200.0
    out: Path | None = None


@dataclass
class Result:
    """The best row of each variant, by case and framework, and what went wrong."""

    rows: dict[str, dict[str, dict[str, Row]]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def best(self, case: str, framework: str) -> Row | None:
        variants = self.rows.get(case, {}).get(framework)
        return min(variants.values(), key=lambda row: row["min"]) if variants else None

    def add(self, row: Row) -> None:
        variants = self.rows.setdefault(row["case"], {}).setdefault(row["framework"], {})
        old = variants.get(row["variant"])
        if old is not None:
            row = row if row["min"] < old["min"] else old | {"again": row.get("first")}
            row = row | {"first": old.get("first"), "again": _smaller(old.get("again"), row.get("again"))}
            row["median"] = min(row["median"], old["median"])
        variants[row["variant"]] = row


def _smaller(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else min(a, b)


class Runner:
    """Runs the programs of one invocation."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._scratch = tempfile.TemporaryDirectory(prefix="benchmarks-")
        self.folder = Path(self._scratch.name)
        self.floors = Floors()

    # -- interpreters --
    def python(self, framework: str) -> str:
        pythons = self.settings.pythons
        return pythons.get(framework) or (framework == "numpy" and pythons.get("torch")) or sys.executable

    def has(self, framework: str) -> bool:
        module = MODULES.get(framework, framework)
        find = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
        command = [self.python(framework), "-c", find]
        return subprocess.run(command, capture_output=True, env=self._environment(framework)).returncode == 0

    def _environment(self, framework: str) -> dict[str, str]:
        count = str(self.settings.threads)
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MYCELIA_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, count)
        if framework == OWN:  # this checkout, whether installed or not
            root = str(PROGRAM_FOLDER.parent.parent)
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH"))))
        return environment

    # -- one process --
    def program(
        self, framework: str, table: str, variant: str, cores: list[int] | None, name: str = ""
    ) -> list[Row]:
        """Runs a program and returns its rows; its failure is a row too."""
        settings, out, log = self.settings, self.folder / "rows", self.folder / "log"
        out.write_text("")
        tag = f"{framework}-{table}-{variant}"
        environment = self._environment(framework) | {
            "BENCH_FRAMEWORK": framework,
            "BENCH_THREADS": str(settings.threads),
            "BENCH_OUT": str(out),
            "BENCH_ANSWERS": str(self.folder),
            "BENCH_QUICK": "1" if settings.quick else "",
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / f"inductor-{tag}"),
            "MYCELIA_CACHE_DIR": str(self.folder / f"mycelia-{tag}"),
        }
        for suffix, values in SUFFIXES.items():
            if suffix in variant:
                environment |= values
        script = PROGRAM_FOLDER / (name or PROGRAMS[framework])
        own = ["-m", "mycelia.run"] if framework == OWN and not name else []
        command = [*_pin(cores), self.python(framework), *own, str(script), table, variant]
        try:
            with log.open("w") as file:
                done = subprocess.run(
                    command,
                    cwd=self.folder,
                    env=environment,
                    stdout=file,
                    stderr=file,
                    timeout=settings.timeout,
                )
            status: Any = done.returncode
        except subprocess.TimeoutExpired:
            status = f"more than {settings.timeout:.0f} s"
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        if status:
            last = " | ".join(log.read_text(errors="replace").splitlines()[-2:])[-300:]
            rows.append(
                {
                    "case": "*",
                    "framework": framework,
                    "variant": variant,
                    "error": f"ended with {status}: {last}",
                }
            )
        return rows

    def measure_floors(self) -> None:
        """Raises the FMA peak and the read bandwidth to what one core reaches now."""
        command = [*_pin(self._cores(1)), sys.executable, "-m", "benchmarks.machine"]
        done = subprocess.run(
            command,
            cwd=PROGRAM_FOLDER.parent.parent,
            env=self._environment(OWN),
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            gflops, gbs = map(float, done.stdout.split())
            self.floors = Floors(max(self.floors.gflops, gflops), max(self.floors.gbs, gbs))

    def _cores(self, count: int) -> list[int]:
        return sorted(os.sched_getaffinity(0))[-count:]

    # -- one table --
    def run(self, table: str) -> Result:
        """Measures a table: every variant once in each round, so that a busy spell hits all alike."""
        if table == "shared_core":
            return self._shared_core()
        result, spec, jobs = Result(), TABLES[table], self._jobs(table)
        if spec.exported and any(framework in ("ort", "openvino") for framework, _ in jobs):
            self._note(result, self.program("torch", "export", table, None), table, 0)
        threads = self.settings.threads
        if table == "first_call":  # on the whole machine, since compilation may use it
            self.settings.threads = len(os.sched_getaffinity(0))
        cores = self._cores(self.settings.threads)
        for turn in range(1, (2 if table == "first_call" else self.settings.rounds) + 1):
            self.measure_floors()
            for framework, variant in jobs:
                if turn > 1 and self._hopeless(result, framework, variant) and table != "first_call":
                    continue
                begin = time.perf_counter()
                rows = self.program(framework, table, variant, cores, spec.program)
                seconds = time.perf_counter() - begin
                print(f"  round {turn} {framework} {variant}: {seconds:.0f} s", file=sys.stderr, flush=True)
                if table == "first_call":  # the second process finds what the first one compiled
                    for row in rows:
                        row["case"] += " cold" if turn == 1 else " warm"
                if spec.apart:
                    for row in rows:
                        row["case"] += f" {variant}"
                self._note(result, rows, variant, turn)
        self.settings.threads = threads
        self._compare(result, spec.tolerance)
        return result

    def _jobs(self, table: str) -> list[tuple[str, str]]:
        import re

        jobs = []
        for framework in self.settings.frameworks:
            variants = variants_of(table, framework)
            if not variants:
                continue
            if not self.has(framework):
                print(f"{framework}: not installed for {self.python(framework)}, left out")
                continue
            pattern = self.settings.patterns.get(framework, "")
            jobs += [(framework, variant) for variant in variants if re.search(pattern, variant)]
        return jobs

    def _note(self, result: Result, rows: list[Row], job: str, turn: int) -> None:
        for row in rows:
            row.update(job=job, round=turn)
            if self.settings.out is not None:
                with self.settings.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            if "error" in row:
                text = f"{row['framework']} {row['variant']}, {row['case']}: {row['error']}"
                if text not in result.problems:
                    result.problems.append(text)
            else:
                result.add(row)

    @staticmethod
    def _hopeless(result: Result, framework: str, job: str) -> bool:
        """Whether a variant took over twice its framework's best in every case: it cannot become the
        minimum."""
        seen = [
            (row, of[framework])
            for of in result.rows.values()
            if framework in of
            for row in of[framework].values()
            if row["job"] == job
        ]
        return bool(seen) and all(
            row["min"] > 2 * min(r["min"] for r in others.values()) for row, others in seen
        )

    # -- answers --
    def _compare(self, result: Result, tolerance: float | None) -> None:
        """Holds every answer against PyTorch's (or the first there is): equal weights must give equal
        results."""
        for case, frameworks in result.rows.items():
            reference: tuple[str, np.ndarray] | None = None
            for framework, variants in frameworks.items():
                for variant, row in variants.items():
                    if "answer" not in row:
                        continue
                    answer = np.load(row["answer"])
                    if reference is None:
                        reference = f"{framework} {variant}", answer
                        continue
                    row["difference"] = _difference(answer, reference[1])
                    if tolerance is not None and not row["difference"] <= tolerance:
                        result.problems.append(
                            f"{framework} {variant}, {case}: the answer differs from that of {reference[0]} "
                            "by "
                            f"{row['difference']:.2g} of its largest element, more than {tolerance:g}"
                        )

    # -- a busy machine --
    def _shared_core(self) -> Result:
        """One thread on the free core against two threads on both, while a process keeps the other core
        busy."""
        result, jobs = Result(), self._jobs("shared_core")
        free, taken = ([*self._cores(2), *self._cores(1)])[:2]
        if any(framework in ("ort", "openvino") for framework, _ in jobs):
            self._note(result, self.program("torch", "export", "shared_core", None), "export", 0)
        busy = subprocess.Popen([*_pin([taken]), sys.executable, "-c", "while True: pass"])
        try:
            for turn in range(1, self.settings.rounds + 1):
                for framework, variant in jobs:
                    for threads, cores in ((1, [free]), (2, [free, taken])):
                        self.settings.threads = threads
                        rows = self.program(framework, "shared_core", variant, cores)
                        for row in rows:
                            row["case"] += f", {threads} thread{'s' * (threads > 1)}"
                        self._note(result, rows, variant, turn)
        finally:
            self.settings.threads = 1
            busy.kill()
            busy.wait()
        return result


def _difference(answer: np.ndarray, reference: np.ndarray) -> float:
    if answer.shape != reference.shape:
        return float("inf")
    return (
        float(np.abs(answer - reference).max() / max(np.abs(reference).max(), 1e-30)) if answer.size else 0.0
    )


def _pin(cores: list[int] | None) -> list[str]:
    return ["taskset", "-c", ",".join(map(str, cores))] if cores else []
