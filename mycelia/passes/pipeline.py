"""The pass manager: runs passes in order, times them, verifies between them, and shows each stage.

A pass is a function ``pass_(graph) -> bool`` that rewrites a graph in place and says whether it changed anything.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from mycelia.ir.graph import Graph
from mycelia.ir.verifier import verify

Pass = Callable[[Graph], bool]
Dump = Callable[[str, Graph], None]


@dataclass
class Stage:
    """What one pass did."""

    name: str
    seconds: float
    changed: bool
    nodes: int


@dataclass
class Report:
    """Provenance of an optimised graph: each pass with its time, and the matches that rules refused."""

    stages: list[Stage] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"  {s.name:<20} {s.seconds * 1e3:8.2f} ms  {s.nodes:>5} nodes{'' if s.changed else '  (no change)'}"
                 for s in self.stages]
        return "\n".join([f"{sum(s.seconds for s in self.stages) * 1e3:.2f} ms in {len(lines)} passes", *lines])


class PassManager:
    """Runs passes in order.

    Args:
        passes: functions, named by themselves.
        dump: called with the number and name of each stage and the graph after it (``save_graphs``).
        check: verify after each pass; default: the environment's ``MYCELIA_VERIFY=1``.
    """

    def __init__(self, passes: Sequence[Pass], dump: Dump | None = None, check: bool | None = None) -> None:
        self.passes, self.dump = passes, dump
        self.check = os.environ.get("MYCELIA_VERIFY") == "1" if check is None else check
        self.report = Report()

    def run(self, graph: Graph) -> Graph:
        """Rewrites the graph in place and returns it.

        Raises:
            VerificationError: naming the pass that broke the graph.
        """
        if self.check:
            verify(graph)
        if self.dump is not None:
            self.dump("00_traced", graph)
        for number, step in enumerate(self.passes, 1):
            name = getattr(step, "__name__", type(step).__name__)
            began = perf_counter()
            changed = step(graph)
            self.report.stages.append(Stage(name, perf_counter() - began, changed, len(graph.nodes)))
            if self.check and changed:
                verify(graph, name)
            if self.dump is not None:
                self.dump(f"{number:02d}_{name}", graph)
        return graph


def normalise(graph: Graph) -> Graph:
    """The passes that hold for every device and every size."""
    return graph


def lower(graph: Graph, stable: Sequence[int], target: object) -> tuple[Graph | None, Graph, list[int]]:
    """Passes for a device: (prologue over the stable inputs or None, main graph, inputs of the original that main keeps).

    The prologue's inputs are the stable ones in order; its outputs follow the kept inputs in main's.
    """
    return None, graph, list(range(len(graph.inputs)))
