"""From a symbolic graph to the static one of given shapes; kernels are shape-generic, so that only the plan
is made anew.
"""
from __future__ import annotations

from collections.abc import Sequence

from mycelia.ir.binding import bind, binding_of
from mycelia.ir.graph import Graph


def specialise(graph: Graph, shapes: Sequence[tuple[int, ...]]) -> Graph:
    """The static graph for inputs of these shapes; the graph itself when it has no symbols.

    Raises:
        ValueError: a shape does not fit.
    """
    binding = binding_of(graph, shapes)
    return bind(graph, binding) if binding else graph
