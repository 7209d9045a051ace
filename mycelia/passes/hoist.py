"""What depends on parameters alone leaves the graph for a prologue, which runs again only when a parameter
was written.
"""
from __future__ import annotations

from collections.abc import Collection

from mycelia.ir.graph import Graph, Node, Value

_FREE = frozenset(["Reshape", "BroadcastTo", "Constant"])  # cheaper where they are read than as inputs


def hoist(graph: Graph, parameter_inputs: Collection[int]) -> tuple[Graph | None, Graph]:
    """Splits a graph in two.

    Args:
        graph: left as it is.
        parameter_inputs: indices of inputs that seldom change and that the graph does not write.

    Returns:
        The prologue, over the same inputs, or None when there is nothing to hoist; and the main graph, whose
        inputs are the original ones followed by the prologue's outputs.

    Raises:
        ValueError: the graph writes one of the inputs.
    """
    written = set(parameter_inputs) & graph.writes.keys()
    if written:
        raise ValueError(f"hoist: inputs {sorted(written)} of graph {graph.name} are written by the graph, "
                         f"so they cannot count as parameters that stay")
    _, early = fixed_values(graph, parameter_inputs)
    stays = _needed_late(graph, early)
    crossing = [v for v in _crossing(graph, stays) if v.node in early]
    if not crossing:
        return None, graph
    prologue = graph.clone(f"{graph.name}.prologue")
    match = {old: new for a, b in zip(graph.nodes, prologue.nodes) for old, new in zip(a.outputs, b.outputs)}
    prologue.outputs = [match[v] for v in crossing]
    prologue.writes = {}
    from mycelia.passes.dead_code import dead_code
    dead_code(prologue)
    main = Graph(graph.name)
    table: dict[Value, Value] = {v: main.input(v.type, v.name) for v in graph.inputs}
    for number, value in enumerate(crossing):
        table[value] = main.input(value.type, value.name or f"hoisted{number}")
    for node in graph.nodes:
        if node in stays:
            fresh = Node(
                node.op,
                [table[v] for v in node.inputs],
                node.attrs,
                tuple(v.type for v in node.outputs),
                node.loc,
                node.origin,
            )
            for old, new in zip(node.outputs, fresh.outputs):
                new.name = old.name
                table[old] = new
            main.nodes.append(fresh)
    main.outputs = [table[v] for v in graph.outputs]
    main.writes = {i: table[v] for i, v in graph.writes.items()}
    return prologue, main


def fixed_values(graph: Graph, parameter_inputs: Collection[int]) -> tuple[set[Value], set[Node]]:
    """The values that depend on parameters alone, and the nodes that compute them."""
    fixed: set[Value] = {graph.inputs[i] for i in parameter_inputs}
    early: set[Node] = set()
    for node in graph.nodes:
        if (
            not node.op.effects
            and all(v in fixed for v in node.inputs)
            and (node.inputs or node.op.name == "Constant")
        ):
            early.add(node)
            fixed.update(node.outputs)
    return fixed, early


def _needed_late(graph: Graph, early: set[Node]) -> set[Node]:
    """The nodes of the main graph: all that is not early, and the free early nodes that they read."""
    stays: set[Node] = set()
    wanted = {v.node for v in graph.results()}
    for node in reversed(graph.nodes):
        if node not in early or node.op.name in _FREE and node in wanted:
            stays.add(node)
            wanted.update(v.node for v in node.inputs)
    return stays


def _crossing(graph: Graph, stays: set[Node]) -> list[Value]:
    """Values that the main graph reads and does not compute, in program order."""
    read: dict[Value, None] = {}
    for node in graph.nodes:
        if node in stays:
            read.update(dict.fromkeys(v for v in node.inputs if v.node is not None and v.node not in stays))
    read.update(dict.fromkeys(v for v in graph.results() if v.node is not None and v.node not in stays))
    order = {node: i for i, node in enumerate(graph.nodes)}
    return sorted(read, key=lambda v: (order[v.node], v.index))  # type: ignore[index]
