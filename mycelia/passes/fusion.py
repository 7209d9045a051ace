"""Pointwise clusters become one `Fused` node, and those that feed a reduction one `FusedReduce`.

Nodes join the cluster of a producer in program order. A group of nodes may be one kernel only if no path
leaves it and comes back; each group therefore carries the set of groups that it depends on, as bits of an
integer.
"""
from __future__ import annotations

from collections.abc import Sequence

from mycelia.ir import operator as registry
from mycelia.ir.graph import Graph, Node, Value
from mycelia.ir.types import Dim, same_shape
from mycelia.ops import internal  # noqa: F401  (defines Fused and FusedReduce)
from mycelia.passes.rewrite import count_uses

MAX_INPUTS = 12
MAX_NODES = 64
REDUCTIONS = {"Reduce" + kind.capitalize(): kind
              for kind in ("sum", "mean", "prod", "max", "min", "all", "any")}
CHEAP = frozenset(["Add", "Sub", "Mul", "Neg", "Abs", "Square", "Cast", "ReLU", "Maximum", "Minimum",
    "Select", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
    "LogicalNot", "BroadcastTo", "Constant"])
DUPLICATED = 4  # cheap nodes that may be computed twice so that a cluster fits into a reduction


def fusion(graph: Graph) -> bool:
    """Fuses in place; says whether anything was fused."""
    if not any(node.op.pointwise for node in graph.nodes):
        return False
    return _Fusion(graph).run()


class _Group:
    """Nodes that will be one; ``space`` is the shape of all results of a pointwise cluster, None for other
    nodes.
    """

    __slots__ = ("nodes", "space", "index", "low", "deps", "inputs", "sources", "done")

    def __init__(self, node: Node, index: int, space: tuple[Dim, ...] | None) -> None:
        self.nodes, self.index, self.space = [node], index, space
        self.low = index                           # of the first node that was merged in
        self.deps = 1 << index                     # groups on which this one depends, itself included
        self.inputs: dict[Value, None] = {}        # operands from outside that are not inlined
        self.sources: dict[int, _Group] = {}       # the groups that produce them
        self.done = False


class _Fusion:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.groups: list[_Group] = []
        self.group_of: dict[Node, _Group] = {}
        self.uses = count_uses(graph)

    def run(self) -> bool:
        self.form()
        order = self.order()
        return self.emit(order)

    # -- forming groups ------------------------------------------------------------------------------------
    def form(self) -> None:
        last_effect: _Group | None = None
        for node in self.graph.nodes:
            group = _Group(node, len(self.groups), node.outputs[0].shape if is_pointwise(node) else None)
            self.add_operands(group, node)
            if node.op.effects.io or node.op.effects.writes:
                if last_effect is not None:
                    group.sources[last_effect.index] = last_effect
                    group.deps |= last_effect.deps
                last_effect = group
            self.groups.append(group)
            self.group_of[node] = group
            if group.space is not None:
                for value in node.inputs:
                    if value.node is not None:
                        self.try_merge(self.group_of[value.node], self.group_of[node])

    def add_operands(self, group: _Group, node: Node) -> None:
        pointwise = group.space is not None
        for value in node.inputs:
            operand = _unbroadcast(value) if pointwise else value
            source = operand.node
            if source is None:
                group.inputs[operand] = None
            elif not (pointwise and is_scalar_constant(source)):
                group.inputs[operand] = None
                producer = self.group_of[source]
                group.sources[producer.index] = producer
                group.deps |= producer.deps

    def try_merge(self, first: _Group, second: _Group) -> None:
        """Merges a producer's group into its reader's, if both have one space and no path leaves and comes
        back.
        """
        if first is second or first.space is None or second.space is None or not self.fits(first, second):
            return
        bit_first, bit_second = 1 << first.index, 1 << second.index
        for index, source in second.sources.items():
            if index != first.index and source.deps & bit_first:
                return
        for index, source in first.sources.items():
            if index != second.index and source.deps & bit_second:
                return
        inputs = {v: None for v in (*first.inputs, *second.inputs)
                  if v.node is None or self.group_of[v.node] not in (first, second)}
        if len(inputs) > MAX_INPUTS or len(first.nodes) + len(second.nodes) > MAX_NODES:
            return
        # the reader's group takes the producer's in
        second.nodes = first.nodes + second.nodes
        for node in first.nodes:
            self.group_of[node] = second
        second.inputs = inputs
        second.sources = {i: g for i, g in (*first.sources.items(), *second.sources.items())
                          if g is not first and g is not second}
        merged = (first.deps | second.deps) & ~bit_first | bit_second
        old = bit_first | bit_second
        self.groups[first.index] = second
        second.low = min(first.low, second.low)
        for group in self.groups[second.low:]:  # earlier ones cannot depend on these two
            if group.deps & old and group is not second:
                group.deps = group.deps & ~bit_first | merged
                if first.index in group.sources:
                    del group.sources[first.index]
                    group.sources[second.index] = second
        second.deps = merged

    def fits(self, first: _Group, second: _Group) -> bool:
        """Whether the producer's values have the reader's shape, or are scalars cheap enough to compute for
        every element.
        """
        if same_shape(first.space, second.space):  # type: ignore[arg-type]
            return True
        if any(not (isinstance(d, int) and d == 1) for d in first.space):  # type: ignore[union-attr]
            return False
        if len(first.nodes) > DUPLICATED or any(n.op.name not in CHEAP for n in first.nodes):
            return False
        inside = set(first.nodes) | set(second.nodes)
        readers = sum(1 for node in inside for v in node.inputs if v.node in inside and v.node in first.nodes)
        return readers == sum(self.uses.get(v, 0) for node in first.nodes for v in node.outputs)

    # -- order ---------------------------------------------------------------------------------------------
    def order(self) -> list[_Group]:
        """Groups in an order that respects their operands; a cluster stands where its last node stood, or
        where it is first needed."""
        result: list[_Group] = []
        for group in dict.fromkeys(self.group_of.values()):
            if group.nodes[0].op.name == "Constant":  # bodies repeat them, so they are nobody's source
                result.append(group)
                group.done = True
        last = {group: group.nodes[-1] for group in self.group_of.values()}
        place = {node: i for i, node in enumerate(self.graph.nodes)}
        for group in last:
            last[group] = max(group.nodes, key=place.__getitem__)
        for node in self.graph.nodes:
            group = self.group_of[node]
            if group.done or last[group] is not node:
                continue
            stack = [(group, iter(group.sources.values()))]
            group.done = True
            while stack:
                top, sources = stack[-1]
                for source in sources:
                    source = self.group_of[source.nodes[0]]
                    if not source.done:
                        source.done = True
                        stack.append((source, iter(source.sources.values())))
                        break
                else:
                    stack.pop()
                    result.append(top)
        return result

    # -- building ------------------------------------------------------------------------------------------
    def emit(self, order: Sequence[_Group]) -> bool:
        graph = self.graph
        place = {node: i for i, node in enumerate(graph.nodes)}
        table: dict[Value, Value] = {}
        nodes: list[Node] = []
        results = set(graph.results())
        changed = False
        readers = graph.users()
        for group in order:
            group.nodes.sort(key=place.__getitem__)
            if group.space is None:
                node = group.nodes[0]
                fused = self.reduction(node, results, readers)
                if fused is not None:
                    changed = True
                    fused.inputs = [table.get(v, v) for v in fused.inputs]
                    table[node.output] = fused.output
                    fused.output.name = node.output.name
                    nodes.append(fused)
                    continue
            if group.space is None or not worth_fusing(group.nodes):
                nodes += _renamed(group.nodes, table)
                continue
            changed = True
            inside = set(group.nodes)
            wanted = [v for node in group.nodes for v in node.outputs
                      if v in results or any(r not in inside for r in readers.get(v, ()))]
            wanted = [v for v in wanted if not self.only_for_reductions(v, readers, results)]
            if not wanted:
                continue
            needed = _cone(wanted, inside)
            if not worth_fusing(alone := list(needed)):
                nodes += _renamed(alone, table)
                continue
            body, inputs = build_body([n for n in group.nodes if n in needed], wanted)
            fused = Node(registry.get("Fused"), [table.get(v, v) for v in inputs], {"body": body},
                         tuple(v.type for v in wanted), group.nodes[-1].loc, "fusion")
            for old, new in zip(wanted, fused.outputs):
                new.name = old.name
                table[old] = new
            nodes.append(fused)
        graph.nodes = nodes
        graph.outputs = [table.get(v, v) for v in graph.outputs]
        graph.writes = {i: table.get(v, v) for i, v in graph.writes.items()}
        return changed

    def only_for_reductions(
        self, value: Value, readers: dict[Value, list[Node]], results: set[Value]
    ) -> bool:
        """Whether a cluster's result is read by reductions alone that will compute it themselves."""
        found = readers.get(value, ())
        return value not in results and bool(found) and all(
            r.op.name in REDUCTIONS and self.reduction(r, results, readers) is not None for r in found)

    def reduction(self, node: Node, results: set[Value], readers: dict[Value, list[Node]]) -> Node | None:
        """The `FusedReduce` in place of a reduction whose operand is a cluster's; None where it stays."""
        if node.op.name not in REDUCTIONS:
            return None
        value = node.inputs[0]
        if value.node is None or not is_pointwise(value.node) or value in results or len(readers[value]) != 1:
            return None
        cluster = self.group_of[value.node]
        cone = list(_cone([value], set(cluster.nodes)))
        whole = len(cone) == len(cluster.nodes)
        shared = [n for n in cone if n is not value.node and any(
            r not in cone for v in n.outputs for r in readers.get(v, ()))]
        if not whole and shared and (len(cone) > DUPLICATED or any(n.op.name not in CHEAP for n in cone)):
            return None
        if not same_shape(value.shape, cluster.space):  # type: ignore[arg-type]
            return None
        body, inputs = build_body(cone, [value])
        if len(inputs) > MAX_INPUTS or not inputs:
            return None
        return Node(registry.get("FusedReduce"), inputs,
                    {"body": body, "reduce": REDUCTIONS[node.op.name], "axes": node.attrs["axes"],
                     "keepdims": node.attrs["keepdims"]}, (node.output.type,), node.loc, "fusion")


def _renamed(nodes: Sequence[Node], table: dict[Value, Value]) -> Sequence[Node]:
    for node in nodes:
        node.inputs = [table.get(v, v) for v in node.inputs]
    return nodes


def is_pointwise(node: Node) -> bool:
    return node.op.pointwise and len(node.outputs) == 1 and not node.op.effects


def is_scalar_constant(node: Node) -> bool:
    return node.op.name == "Constant" and node.attrs["value"].size == 1


def _unbroadcast(value: Value) -> Value:
    """A cluster reads the operand of a BroadcastTo; the body repeats the broadcast where shapes need it."""
    node = value.node
    return node.inputs[0] if node is not None and node.op.name == "BroadcastTo" else value


def worth_fusing(nodes: Sequence[Node]) -> bool:
    """One node alone stays as it is, unless it can read through a broadcast."""
    return len(nodes) > 1 or any(
        v.node is not None and v.node.op.name == "BroadcastTo" for v in nodes[0].inputs
    )


def _cone(values: Sequence[Value], inside: set[Node]) -> dict[Node, None]:
    """The nodes of a cluster that values need, operands before their readers."""
    found: dict[Node, None] = {}

    def visit(node: Node) -> None:
        for operand in node.inputs:
            if operand.node in inside and operand.node not in found:
                visit(operand.node)  # type: ignore[arg-type]
        found[node] = None

    for value in values:
        if value.node not in found:
            visit(value.node)  # type: ignore[arg-type]
    return found


def build_body(nodes: Sequence[Node], outputs: Sequence[Value]) -> tuple[Graph, list[Value]]:
    """A body graph of copies of nodes, and the values from outside that are its inputs, in order of first
    use.
    """
    body = Graph("body")
    inner: dict[Value, Value] = {}
    inputs: list[Value] = []

    def operand(value: Value) -> Value:
        known = inner.get(value)
        if known is not None:
            return known
        node = value.node
        if node is not None and is_scalar_constant(node):
            inner[value] = copy(node)
        elif node is not None and node.op.name == "BroadcastTo":
            operand(node.inputs[0])
            inner[value] = copy(node)
        else:
            inputs.append(value)
            inner[value] = body.input(value.type)
        return inner[value]

    def copy(node: Node) -> Value:
        fresh = Node(
            node.op,
            [operand(v) for v in node.inputs],
            node.attrs,
            tuple(v.type for v in node.outputs),
            node.loc,
        )
        body.nodes.append(fresh)
        return fresh.output

    for node in nodes:
        inner[node.output] = copy(node)
    body.outputs = [inner[v] for v in outputs]
    return body, inputs
