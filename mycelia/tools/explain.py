"""`mycelia explain SCRIPT`: runs a script and shows what became of each graph on its way to the device.

For every compiled graph: the model's operators, what the passes (the engine) made of them, which kernel
(the runtime) each node got
and which ones refused, and how long its latest call took inside kernels and outside.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from mycelia.ge import instruction_times

SINGLE_OPERATOR_NODES = 1


class Recorder:
    """Times every launch: the whole call on the host's clock, each instruction by the plan walker."""

    def __init__(self) -> None:
        self.totals: dict[int, list[float]] = {}  # id of a launchable -> seconds of its latest calls
        self.launchables: dict[int, Any] = {}

    def install(self) -> None:
        from mycelia.engine import compiled

        original = compiled.Launchable.run
        recorder = self

        def run(launchable: Any, inputs: Sequence[Any]) -> Any:
            key = id(launchable)
            if key not in recorder.launchables:
                recorder.launchables[key] = launchable
                profile = getattr(launchable.executable, "profile", None)
                if profile is not None:
                    profile(True)
            began = time.perf_counter()
            results = original(launchable, inputs)
            recorder.totals.setdefault(key, []).append(time.perf_counter() - began)
            return results

        compiled.Launchable.run = run  # type: ignore[method-assign]


def explain_script(path: str, arguments: Sequence[str], mode: str | None, everything: bool) -> int:
    """Runs the script, then prints a page for each graph; the exit status is the script's."""
    from mycelia.engine import compiled
    from mycelia.run import run_script

    recorder = Recorder()
    recorder.install()
    kept: list[Any] = []
    add = compiled.LIVE.add
    compiled.LIVE.add = lambda graph: (kept.append(graph), add(graph))  # type: ignore
    status = run_script(path, arguments, mode)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    shown = [g for g in kept if everything or len(g.graph.nodes) > SINGLE_OPERATOR_NODES]
    for graph in shown:
        for staged in graph._plans.values():
            if hasattr(staged, "main"):  # the parts of a cut graph are graphs of their own
                show_graph(console, graph, staged, recorder)
    hidden = len(kept) - len(shown)
    if hidden:
        console.print(f"{hidden} graphs of one operator are left out; --all shows them")
    return status


def show_graph(console: Console, graph: Any, staged: Any, recorder: Recorder) -> None:
    """One graph's page."""
    plan = staged.main.plan
    operators = Counter(node.op.name for node in graph.graph.nodes if node.op.name != "Constant")
    fused = Counter(step.node.op.name for step in plan.instructions if step.node is not None)
    console.rule(f"[bold]{graph.name}[/bold]")
    console.print(
        "model:   "
        + ", ".join(f"{n} {name}" for name, n in operators.most_common(12))
        + (" ..." if len(operators) > 12 else "")
    )
    console.print(
        "engine:  "
        + ", ".join(f"{n} {name}" for name, n in fused.most_common(12))
        + f"  (passes took {sum(s.seconds for s in staged.report.stages) * 1e3:.1f} ms)"
    )
    console.print(
        f"runtime: {len(plan.instructions)} instructions, {len(plan.codes())} native functions, "
        f"{len(plan.host_calls())} host calls, arena {plan.arena_bytes:,} bytes"
        + (
            f"; a prologue of {len(staged.prologue.plan.instructions)} instructions runs when a parameter "
            f"changes"
            if staged.prologue is not None
            else ""
        )
    )
    times = recorder.totals.get(id(staged.main))
    spans = instruction_times(staged.main)
    if times and spans is not None:
        inside, whole = sum(spans) / 1e9, times[-1]
        console.print(
            f"device:  {staged.main.device.name}, {len(times)} calls, the latest took {whole * 1e3:.3f} ms, "
            f"{inside * 1e3:.3f} ms of it in kernels; outside kernels {max(0.0, 1 - inside / whole):.1%}"
        )
    table = Table("#", "node", "kernel", "chunks", "µs", "types", "where", box=None)
    for index, step in enumerate(plan.instructions):
        node = step.node
        types = " ".join(str(v.type) for v in node.outputs) if node is not None else ""
        micro = f"{spans[index] / 1e3:.1f}" if spans is not None and index < len(spans) else ""
        kernel = step.kernel + (f" [host call: {step.host.reason}]" if step.host is not None else "")
        table.add_row(
            str(index),
            node.op.name if node is not None else "-",
            kernel,
            str(step.chunks),
            micro,
            types,
            str(step.loc or ""),
        )
        for name, reason in step.refusals:
            table.add_row("", "", f"not {name}: {reason}")
    console.print(table)
