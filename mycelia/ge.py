"""The graph engine: what it compiled, and how much of a program's time is spent outside kernels.

There is one graph from trace to engine: the nodes that a trace records are `mycelia.ir.operator.Operator`
records, and the same records are what passes rewrite, kernels are chosen for and plans hold. No table of
names maps one framework's operators to another's at run time.

    ge.graphs()          the graphs that live in this process
    ge.clock()           a block in which every launch is timed
    mycelia explain      the same for a whole script: model -> engine -> runtime -> device
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mycelia.engine import compiled
from mycelia.ir.graph import Graph
from mycelia.plan.plan import Plan

__all__ = ["Clock", "CompiledForm", "EngineGraph", "clock", "graphs", "instruction_times"]


@dataclass(frozen=True)
class CompiledForm:
    """A graph made executable for one set of sizes.

    Attributes:
        plan: what the runtime walks: instructions, kernels, the memory plan.
        prologue: the plan that runs again only when a parameter was written; None if nothing depends on
            parameters alone.
        passes: what each pass did, and in what time.
        device: where it runs.
    """

    plan: Plan
    prologue: Plan | None
    passes: Any
    device: str

    @property
    def operators(self) -> Counter[str]:
        """The operators that passes made of the model's, by name."""
        return Counter(step.node.op.name for step in self.plan.instructions if step.node is not None)

    @property
    def kernels(self) -> list[str]:
        """The kernel of each instruction, in order."""
        return [step.kernel for step in self.plan.instructions]

    @property
    def host_calls(self) -> int:
        """Instructions that go back to Python."""
        return len(self.plan.host_calls())


class EngineGraph:
    """One compiled graph.

    Attributes:
        name: the function's, or the Cell class's.
        graph: its nodes as traced.
    """

    def __init__(self, source: compiled.CompiledGraph) -> None:
        self._source = source
        self.name: str = source.name
        self.graph: Graph = source.graph

    @property
    def operators(self) -> Counter[str]:
        """The model's operators by name."""
        return Counter(node.op.name for node in self.graph.nodes if node.op.name != "Constant")

    @property
    def forms(self) -> list[CompiledForm]:
        """Its executable forms, one for each set of sizes that it ran with."""
        staged = [s for s in self._source._plans.values() if hasattr(s, "main")]
        return [
            CompiledForm(
                s.main.plan,  # type: ignore[union-attr]
                None if s.prologue is None else s.prologue.plan,  # type: ignore[union-attr]
                s.report,  # type: ignore[union-attr]
                s.main.device.name,  # type: ignore[union-attr]
            )
            for s in staged
        ]

    def __repr__(self) -> str:
        return f"<engine graph {self.name}: {len(self.graph.nodes)} nodes, {len(self.forms)} plans>"


def graphs(single_operators: bool = False) -> list[EngineGraph]:
    """The compiled graphs that live in this process, by name.

    Args:
        single_operators: whether graphs of one node come too, which PyNative mode makes of each operator.
    """
    found = [EngineGraph(g) for g in compiled.LIVE if single_operators or len(g.graph.nodes) > 1]
    return sorted(found, key=lambda g: g.name)


@dataclass
class Clock:
    """What a `clock` block measured.

    Attributes:
        seconds: the whole block.
        inside: of these, in kernels. What ran without a plan (PyNative's fast path for small sums and
            products) counts as outside.
        launches: plans that were launched.
    """

    seconds: float = 0.0
    inside: float = 0.0
    launches: int = 0
    by_graph: dict[str, float] = field(default_factory=dict)

    @property
    def outside(self) -> float:
        """The share of the time that was spent outside kernels, 0 to 1."""
        return max(0.0, 1.0 - self.inside / self.seconds) if self.seconds else 0.0


@contextmanager
def clock() -> Iterator[Clock]:
    """Times every launch within the block by the plan walker's own clock, which costs some 30 ns an
    instruction.

    Example:
        >>> with ge.clock() as measured:
        ...     step(x, y)
        >>> f"{measured.outside:.1%} outside kernels"
    """
    measured = Clock()
    original = compiled.Launchable.run

    def run(launchable: Any, inputs: Sequence[Any]) -> Any:
        executable = launchable.executable
        profile = getattr(executable, "profile", None)
        if profile is not None and getattr(executable, "_timing", None) is None:
            profile(True)
        results = original(launchable, inputs)
        spans = instruction_times(launchable)
        if spans is not None:
            seconds = sum(spans) / 1e9
            measured.inside += seconds
            name = launchable.plan.name
            measured.by_graph[name] = measured.by_graph.get(name, 0.0) + seconds
        measured.launches += 1
        return results

    compiled.Launchable.run = run  # type: ignore[method-assign]
    began = time.perf_counter()
    try:
        yield measured
    finally:
        measured.seconds = time.perf_counter() - began
        compiled.Launchable.run = original  # type: ignore[method-assign]


def instruction_times(launchable: Any) -> list[int] | None:
    """Nanoseconds of each instruction in the latest call, None where the device does not say."""
    times = getattr(launchable.executable, "times", None)
    if times is None:
        return None
    try:
        return [int(end - begin) for begin, end in times()]
    except RuntimeError:
        return None
