"""Graphs whose sizes depend on data (`NonZero`): a plan up to the node, the node on the host, a plan for what
it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.ir.interpreter import apply
from mycelia.passes.segments import Cut
from mycelia.tensor.tensor import Tensor

Runnable = Any  # has run(inputs: list[Tensor]) -> list[Tensor]


class Segmented:
    """Runs the parts of a `Cut` one after the other.

    Args:
        parts: the graph, cut at its first data-dependent node.
        compiled: makes a graph runnable; what follows the node is symbolic in the sizes that it finds.
    """

    def __init__(self, parts: Cut, compiled: Callable[[Any], Runnable]) -> None:
        self.node = parts.node
        self.before, self.after = compiled(parts.before), compiled(parts.after)

    def run(self, inputs: list[Tensor]) -> list[Tensor]:
        results = self.before.run(inputs)
        count = len(self.node.inputs)
        found = apply(self.node, [x.asnumpy() for x in results[:count]])
        return self.after.run([*inputs, *map(Tensor, found), *results[count:]])
