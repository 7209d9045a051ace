"""How a table is measured: in which order, on which cores, with what beside it.

Every variant runs once in each round, so that a busy spell of the machine hits all alike.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from benchmarks.results import Result, Row
from benchmarks.runner import Runner, available_cores, pinned
from benchmarks.tables import TABLES


def measure_table(runner: Runner, table: str, threads: int) -> Result:
    """Measures a table by its protocol and compares the answers."""
    result, spec = Result(), TABLES[table]
    PROTOCOLS[spec.protocol](runner, result, table, threads)
    if spec.tolerance is not None:
        result.compare_answers(spec.tolerance)
    return result


def interleaved(runner: Runner, result: Result, table: str, threads: int) -> None:
    """On as many cores as threads. What cannot become its framework's best runs in the first round only."""
    jobs, cores = _prepared(runner, result, table), available_cores()[-threads:]
    apart = TABLES[table].apart
    for turn in _rounds(runner):
        for framework, variant in jobs:
            if turn > 1 and not apart and result.hopeless(framework, variant):
                continue
            begin = time.perf_counter()
            runner.run(
                result,
                framework,
                table,
                variant,
                threads=threads,
                cores=cores,
                turn=turn,
                label=f" {variant}" if apart else "",
            )
            _progress(f"round {turn} {framework} {variant}", begin)


def cold_then_warm(runner: Runner, result: Result, table: str, threads: int) -> None:
    """On the whole machine, since compilation may use it: one process with an empty cache, one after it."""
    jobs, cores = _prepared(runner, result, table), available_cores()
    for turn in _rounds(runner):
        for framework, variant in jobs:
            begin = time.perf_counter()
            for state in ("cold", "warm"):
                runner.run(
                    result,
                    framework,
                    table,
                    variant,
                    threads=len(cores),
                    cores=cores,
                    turn=turn,
                    cache=f"-{turn}",
                    label=f", {state}",
                )
            _progress(f"round {turn} {framework} {variant}", begin)


def beside_a_busy_process(runner: Runner, result: Result, table: str, threads: int) -> None:
    """One thread on a free core, then two threads on it and a core that another process keeps busy."""
    if len(available_cores()) < 2:
        result.complain(f"{table}: needs two cores, there is {available_cores()}")
        return
    jobs = _prepared(runner, result, table)
    runner.measure_floors()
    free, taken = available_cores()[:2]
    busy = subprocess.Popen([*pinned([taken]), sys.executable, "-c", "while True: pass"])
    try:
        for turn in range(1, runner.settings.rounds + 1):
            for framework, variant in jobs:
                begin = time.perf_counter()
                for count, cores in ((1, [free]), (2, [free, taken])):
                    runner.run(
                        result,
                        framework,
                        table,
                        variant,
                        threads=count,
                        cores=cores,
                        turn=turn,
                        label=f", {_threads(count)}",
                    )
                _progress(f"round {turn} {framework} {variant}", begin)
    finally:
        busy.kill()
        busy.wait()
    _add_ratios(result)


def _add_ratios(result: Result) -> None:
    """Two threads' times over one thread's, round by round, as cases of their own."""
    for case in [case for case in result.rows if case.endswith(_threads(2))]:
        name = case.removesuffix(_threads(2))
        for two in list(result.of_case(case)):
            one = result.rows.get(name + _threads(1), {}).get(two.framework, {}).get(two.variant)
            if one is not None:
                ratios = [b / a for a, b in zip(one.times, two.times)]
                result.add(Row(f"{name}two / one", two.framework, two.variant, two.job, "ratio", ratios))


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _rounds(runner: Runner) -> Iterator[int]:
    """The rounds' numbers; the core's floors are measured anew at the beginning of each."""
    for turn in range(1, runner.settings.rounds + 1):
        runner.measure_floors()
        yield turn


def _prepared(runner: Runner, result: Result, table: str) -> list[tuple[str, str]]:
    jobs = runner.jobs(table)
    if TABLES[table].exported and any(framework in ("ort", "openvino") for framework, _ in jobs):
        runner.export(result, table)
    return jobs


def _progress(text: str, begin: float) -> None:
    print(f"  {text}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)


PROTOCOLS: dict[str, Callable[[Runner, Result, str, int], None]] = {
    "interleaved": interleaved,
    "cold then warm": cold_then_warm,
    "beside a busy process": beside_a_busy_process,
}
