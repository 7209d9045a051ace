"""Cuts a graph where an extent becomes known only by running a node (`NonZero`): before it, the node, after
it.

The part after the cut has the node's results among its inputs, so that its symbols take their numbers from
what was found, like those of any symbolic graph.
"""
from __future__ import annotations

from dataclasses import dataclass

from mycelia.ir.graph import Graph, Node, Value
from mycelia.ir.types import Sym
from mycelia.passes.functionalise import functionalise


@dataclass
class Cut:
    """A graph in three parts.

    Attributes:
        before: over the graph's inputs; gives the node's operands, then what ``after`` needs besides.
        node: the data-dependent node, to be run by its reference.
        after: over the graph's inputs, then the node's results, then the other results of ``before``. It
            holds the graph's outputs and writes, and may hold further data-dependent nodes.
    """

    before: Graph
    node: Node
    after: Graph


def is_data_dependent(node: Node) -> bool:
    """Whether a node gives an extent that none of its operands has."""
    known = {d for v in node.inputs for d in v.shape if isinstance(d, Sym)}
    return any(isinstance(d, Sym) and d.bounded and d.parts is None and d not in known
               for v in node.outputs for d in v.shape)


def cut(graph: Graph) -> Cut | None:
    """Cuts a graph at its first data-dependent node; None when it has none. The graph is left as it is.

    Effects keep their order: what stands before the node in the graph runs before it.
    """
    place = next((i for i, node in enumerate(graph.nodes) if is_data_dependent(node)), None)
    if place is None:
        return None
    source = graph.clone()
    functionalise(source)
    place = next(i for i, node in enumerate(source.nodes) if is_data_dependent(node))
    node, later = source.nodes[place], source.nodes[place + 1:]
    inside = set(source.inputs) | {v for n in later for v in n.outputs} | set(node.outputs)
    needed = dict.fromkeys(v for n in later for v in n.inputs if v not in inside)
    needed.update(dict.fromkeys(v for v in source.results() if v not in inside))
    before = Graph(f"{graph.name}.before")
    before.inputs, before.nodes = source.inputs, source.nodes[:place]
    before.outputs = [*node.inputs, *needed]
    before = before.clone()

    after = Graph(f"{graph.name}.after")
    table: dict[Value, Value] = {}
    for value in (*source.inputs, *node.outputs, *needed):
        table[value] = after.input(value.type, value.name)
    for old in later:
        types = tuple(v.type for v in old.outputs)
        fresh = Node(old.op, [table[v] for v in old.inputs], old.attrs, types, old.loc, old.origin)
        for a, b in zip(old.outputs, fresh.outputs):
            b.name = a.name
            table[a] = b
        after.nodes.append(fresh)
    after.outputs = [table[v] for v in source.outputs]
    after.writes = {i: table[v] for i, v in source.writes.items()}
    return Cut(before, node, after)
