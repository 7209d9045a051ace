"""The pass manager: runs passes in order, times them, verifies between them, and shows each stage.

A pass is a function ``pass_(graph) -> bool`` that rewrites a graph in place and says whether it changed
anything.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from mycelia.ir.graph import Graph
from mycelia.ir.verifier import verify
from mycelia.passes.dead_code import dead_code
from mycelia.passes.decompose import decompose
from mycelia.passes.epilogue import epilogue
from mycelia.passes.fold_batch_norm import fold_batch_norm
from mycelia.passes.functionalise import functionalise
from mycelia.passes.fusion import fusion
from mycelia.passes.hoist import hoist
from mycelia.passes.layout import layout
from mycelia.passes.prepack import Prepack
from mycelia.passes.simplify import simplify

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
        lines = [f"  {s.name:<20} {s.seconds * 1e3:8.2f} ms  {s.nodes:>5} nodes"
                 f"{'' if s.changed else '  (no change)'}" for s in self.stages]
        return "\n".join(
            [f"{sum(s.seconds for s in self.stages) * 1e3:.2f} ms in {len(lines)} passes", *lines]
        )


class PassManager:
    """Runs passes in order.

    Args:
        passes: functions, named by themselves.
        dump: called with the number and name of each stage and the graph after it (``save_graphs``).
        check: verify after each pass; default: the environment's ``MYCELIA_VERIFY=1``.
    """

    def __init__(self, passes: Sequence[Pass], dump: Dump | None = None, check: bool | None = None,
                 report: Report | None = None, count: int = 0) -> None:
        self.passes, self.dump, self.count = passes, dump, count
        self.check = os.environ.get("MYCELIA_VERIFY") == "1" if check is None else check
        self.report = report or Report()

    def run(self, graph: Graph) -> Graph:
        """Rewrites the graph in place and returns it.

        Raises:
            VerificationError: naming the pass that broke the graph.
        """
        if self.check:
            verify(graph, "what came before" if self.count else "")
        if self.dump is not None and not self.count:
            self.dump_as("traced", graph)
        for step in self.passes:
            name = getattr(step, "__name__", type(step).__name__)
            began = perf_counter()
            changed = step(graph)
            self.report.stages.append(Stage(name, perf_counter() - began, changed, len(graph.nodes)))
            if self.check and changed:
                verify(graph, name)
            if self.dump is not None:
                self.dump_as(name, graph)
        return graph

    def dump_as(self, name: str, graph: Graph) -> None:
        self.dump(f"{self.count:02d}_{name}", graph)  # type: ignore[misc]
        self.count += 1


@dataclass
class Optimised:
    """What the standard passes made of a graph.

    Attributes:
        prologue: computes, over the same inputs, what depends on parameters alone; None when nothing does.
        main: the rest; its inputs are the graph's, followed by the prologue's outputs.
        report: passes, times, sizes.
    """

    prologue: Graph | None
    main: Graph
    report: Report


PREPARE: tuple[Pass, ...] = (functionalise, decompose, simplify, dead_code, fold_batch_norm, layout, simplify,
                             dead_code, epilogue)
FINISH: tuple[Pass, ...] = (simplify, fusion, dead_code)


def optimise(
    graph: Graph, parameters: Collection[int] = (), dump: Dump | None = None, check: bool | None = None
) -> Optimised:
    """Runs the standard passes over a copy of a graph.

    Args:
        graph: as traced; left as it is.
        parameters: indices of inputs that seldom change (and that the graph does not write): what depends on
        them alone is
            hoisted into a prologue.
        dump: see `PassManager`.
        check: see `PassManager`.

    Example:
        >>> result = optimise(graph, parameters=[1, 2])
        >>> plans = build(result.main), result.prologue and build(result.prologue)
    """
    manager = PassManager(PREPARE, dump, check)
    prepared = manager.run(_with_bodies(graph.clone(), check))
    prologue, main = None, prepared
    if parameters:
        packing = PassManager((Prepack(parameters),), dump, check, manager.report, manager.count)
        prologue, main = hoist(packing.run(prepared), parameters)
        manager.count = packing.count
    finish = PassManager(FINISH, dump, check, manager.report, manager.count)
    main = finish.run(main)
    if prologue is not None:
        if dump is not None:
            finish.dump_as("prologue", prologue)
        prologue = PassManager(FINISH, None, check, manager.report).run(prologue)
    return Optimised(prologue, main, manager.report)


def _with_bodies(graph: Graph, check: bool | None) -> Graph:
    """Optimises the graphs inside control flow nodes, which are shared and so replaced."""
    for node in graph.nodes:
        if node.op.name in ("Cond", "While", "WhileGrad"):
            node.attrs = {key: optimise(value, check=check).main if isinstance(value, Graph) else value
                          for key, value in node.attrs.items()}
    return graph
