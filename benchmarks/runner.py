"""Starts the measuring programs: each a process of its own, with its framework's interpreter, pinned."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import Floors
from benchmarks.results import Result
from benchmarks.tables import FRAMEWORKS, MODULES, OWN, PROGRAMS, SUFFIXES, TABLES, variants_of

ROOT = Path(__file__).resolve().parent.parent
PROGRAM_FOLDER = ROOT / "benchmarks" / "programs"


@dataclass(frozen=True)
class Settings:
    """What the command line asked for.

    Attributes:
        pythons: a framework's interpreter; this one where it names none.
        patterns: regular expressions that a framework's variants must match.
        out: a file that every figure is appended to, as a JSON line.
    """

    frameworks: tuple[str, ...] = FRAMEWORKS
    pythons: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    rounds: int = 3
    quick: bool = False
    timeout: float = 1200.0
    out: Path | None = None


class Runner:
    """Runs the programs of one invocation, in a folder that they share.

    Attributes:
        floors: the best that one core was seen to do.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._scratch = tempfile.TemporaryDirectory(prefix="benchmarks-")
        self.folder = Path(self._scratch.name)
        self.floors = Floors()
        self._said: set[str] = set()
        for name in ("arrays", "caches"):
            (self.folder / name).mkdir()

    # -- what there is --
    def python(self, framework: str) -> str:
        pythons = self.settings.pythons
        return pythons.get(framework) or (framework == "numpy" and pythons.get("torch")) or sys.executable

    def has(self, framework: str) -> bool:
        module = MODULES.get(framework, framework)
        find = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
        try:
            command = [self.python(framework), "-c", find]
            environment = self._environment(framework, 1)
            return subprocess.run(command, capture_output=True, env=environment).returncode == 0
        except OSError:
            return False

    def jobs(self, table: str) -> list[tuple[str, str]]:
        """The frameworks and variants to run; says once which frameworks are left out."""
        jobs = []
        for framework in self.settings.frameworks:
            variants = variants_of(table, framework)
            if variants and not self.has(framework):
                text = f"{framework}: not installed for {self.python(framework)}, left out"
                if text not in self._said:
                    self._said.add(text)
                    print(text, flush=True)
                continue
            if framework == OWN and not (self.folder / "bytecode").exists():
                self._compile_bytecode()
            pattern = self.settings.patterns.get(framework, "")
            jobs += [(framework, variant) for variant in variants if re.search(pattern, variant)]
        return jobs

    # -- one process --
    def run(
        self,
        result: Result,
        framework: str,
        table: str,
        variant: str,
        *,
        threads: int = 1,
        cores: Sequence[int] = (),
        turn: int = 1,
        cache: str = "",
        label: str = "",
    ) -> None:
        """Runs a program and adds its rows to the result; a failure is a problem there.

        Args:
            cores: those it is pinned to; all where empty.
            turn: the round, for the file of figures.
            cache: names the folder of compiled code; programs of one name find each other's.
            label: added to the cases' names.
        """
        answers = self.folder / "answers" / f"{threads}{label}"
        answers.mkdir(parents=True, exist_ok=True)
        rows = self._program(framework, table, variant, threads, cores, cache, answers)
        for row in rows:
            row |= {"case": row["case"] + label, "job": variant, "table": table, "round": turn}
            if self.settings.out is not None:
                with self.settings.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            result.note(row)

    def _program(
        self,
        framework: str,
        table: str,
        variant: str,
        threads: int,
        cores: Sequence[int],
        cache: str,
        answers: Path,
    ) -> list[dict[str, Any]]:
        out, log = self.folder / "rows", self.folder / "log"
        out.write_text("")
        program = TABLES[table].program if table in TABLES else ""
        script = str(PROGRAM_FOLDER / (program or PROGRAMS[framework]))
        unchanged = ["-m", "mycelia.run"] if framework == OWN and not program else []
        caches = self.folder / "caches" / f"{framework}-{table}-{variant}{cache}"
        environment = self._environment(framework, threads) | {
            "BENCH_FRAMEWORK": framework,
            "BENCH_THREADS": str(threads),
            "BENCH_OUT": str(out),
            "BENCH_ARRAYS": str(self.folder / "arrays"),
            "BENCH_ANSWERS": str(answers),
            "BENCH_QUICK": "1" if self.settings.quick else "",
            "TORCHINDUCTOR_CACHE_DIR": f"{caches}-inductor",
            "JAX_COMPILATION_CACHE_DIR": f"{caches}-jax",
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "MYCELIA_CACHE_DIR": f"{caches}-mycelia",
        }
        for suffix, values in SUFFIXES.items():
            if suffix in variant:
                environment |= values
        command = [*pinned(cores), self.python(framework), *unchanged, script, table, variant]
        try:
            with log.open("w") as file:
                done = subprocess.run(
                    command,
                    cwd=self.folder,
                    env=environment,
                    stdout=file,
                    stderr=file,
                    timeout=self.settings.timeout,
                )
            status: Any = done.returncode
        except subprocess.TimeoutExpired:
            status = f"more than {self.settings.timeout:.0f} s"
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        if status:
            last = " | ".join(log.read_text(errors="replace").splitlines()[-2:])[-300:]
            error = f"ended with {status}: {last}"
            rows.append({"case": "*", "framework": framework, "variant": variant, "error": error})
        return rows

    def _environment(self, framework: str, threads: int) -> dict[str, str]:
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MYCELIA_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, str(threads))
        if framework == OWN:  # this checkout, whether installed or not
            path = filter(None, (str(ROOT), environment.get("PYTHONPATH")))
            environment["PYTHONPATH"] = os.pathsep.join(path)
            environment["PYTHONPYCACHEPREFIX"] = str(self.folder / "bytecode")
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return environment

    def _compile_bytecode(self) -> None:
        """Gives this checkout, and what it imports, the byte code that an installation has."""
        environment, python = self._environment(OWN, 1), self.python(OWN)
        packages = [str(ROOT / "mycelia"), str(PROGRAM_FOLDER)]
        subprocess.run([python, "-m", "compileall", "-q", *packages], check=True, env=environment)
        loaded = "import mycelia.run, llvmlite.binding, concurrent.futures, multiprocessing.spawn"
        subprocess.run([python, "-c", loaded], check=True, env=environment)

    def export(self, result: Result, table: str) -> None:
        """Has PyTorch write the model that runtimes read, once."""
        if not (self.folder / f"{table}.onnx").exists():
            self.run(result, "torch", "export", table)

    def measure_floors(self) -> None:
        """Raises the floors to what one core reaches now."""
        command = [*pinned(available_cores()[-1:]), self.python(OWN), "-m", "benchmarks.machine"]
        environment = self._environment(OWN, 1)
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            print(f"the core's floors could not be measured: {' '.join(last)}", file=sys.stderr)
            return
        gflops, gbs = map(float, done.stdout.split())
        self.floors = Floors(max(self.floors.gflops, gflops), max(self.floors.gbs, gbs))


def available_cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def pinned(cores: Sequence[int]) -> list[str]:
    """What stands before a command that is to run on these cores only."""
    return ["taskset", "-c", ",".join(map(str, cores))] if cores else []
