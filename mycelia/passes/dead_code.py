"""Removes nodes whose results nobody reads and that have no effect of their own."""
from __future__ import annotations

from mycelia.ir.graph import Graph, Node


def dead_code(graph: Graph) -> bool:
    """Removes dead nodes in place; says whether there were any.

    A random node is dead like any other: its effect is the generator state that it returns. `Assign` and io
    stay.
    """
    needed = set(graph.results())
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        effects = node.op.effects
        if effects.io or effects.writes or _subgraph_effects(node) or not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    changed = len(kept) != len(graph.nodes)
    if changed:
        kept.reverse()
        graph.nodes = kept
    return changed


def _subgraph_effects(node: Node) -> bool:
    return any(has_effects(node.attrs[key]) for key in node.op.subgraphs if key in node.attrs)


def has_effects(graph: Graph) -> bool:
    """Whether running a graph does something that its results do not show."""
    return bool(graph.writes) or any(
        n.op.effects.io or n.op.effects.writes or _subgraph_effects(n) for n in graph.nodes)
