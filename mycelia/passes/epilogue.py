"""What follows a channels-last convolution goes into it: the bias, then the sum with a residual, then
ReLU.
"""
from __future__ import annotations

from mycelia.ir.graph import Graph, Node, Value
from mycelia.ir.types import same_shape
from mycelia.passes.rewrite import make_node


def epilogue(graph: Graph) -> bool:
    """Rewrites a graph in place; says whether a convolution took something in.

    Of two convolutions that meet in a sum the later takes the other's result as its residual.
    """
    if not any(n.op.name == "ConvNHWC" for n in graph.nodes):
        return False
    users = graph.users()
    results = set(graph.results())
    at: dict[Node, list[Node]] = {}
    gone: set[Node] = set()
    for node in reversed(graph.nodes):
        if node.op.name != "ConvNHWC" or node.attrs["epilogue"] or node.attrs["has_residual"]:
            continue
        taken = _Epilogue(node)
        while taken.end not in results and len(users.get(taken.end, ())) == 1:
            reader = users[taken.end][0]
            if reader in gone or not taken.take(reader):
                break
        if taken.nodes:
            at[taken.nodes[-1]] = taken.build()
            gone.update((node, *taken.nodes))
    if not at:
        return False
    nodes: list[Node] = []
    table: dict[Value, Value] = {}
    for node in graph.nodes:
        fresh = at.get(node)
        if fresh is not None:
            table[node.output] = fresh[-1].output
            fresh[-1].output.name = node.output.name
        elif node in gone:
            continue
        for made in fresh or (node,):
            made.inputs = [table.get(v, v) for v in made.inputs]
            nodes.append(made)
    graph.nodes = nodes
    graph.outputs = [table.get(v, v) for v in graph.outputs]
    graph.writes = {i: table.get(v, v) for i, v in graph.writes.items()}
    return True


class _Epilogue:
    def __init__(self, conv: Node) -> None:
        self.conv, self.end = conv, conv.output
        self.bias: Value | None = None
        self.residual: Value | None = None
        self.relu = False
        self.nodes: list[Node] = []

    def take(self, node: Node) -> bool:
        """Takes a reader of the convolution in, if it is the next term."""
        if self.relu or node.output.type != self.end.type:
            return False
        if node.op.name == "ReLU":
            self.relu = True
        elif node.op.name == "Add" and self.residual is None and node.inputs[0] is not node.inputs[1]:
            other = node.inputs[1] if node.inputs[0] is self.end else node.inputs[0]
            if other.type == self.end.type and self.conv.output.type != other.type.with_shape(
                1, 1, 1, other.shape[-1]
            ):
                self.residual = other
            elif self.bias is None and not self.conv.attrs["has_bias"] and self.per_channel(other):
                self.bias = other
            else:
                return False
        else:
            return False
        self.nodes.append(node)
        self.end = node.output
        return True

    def per_channel(self, value: Value) -> bool:
        """One element for each channel, along the last axis."""
        channels = self.conv.attrs["out_channels"]
        return bool(value.shape) and value.type.is_static and same_shape(value.shape[-1:], (channels,)) \
            and value.type.size == channels and value.dtype is self.end.dtype

    def build(self) -> list[Node]:
        attrs = dict(self.conv.attrs)
        inputs = list(self.conv.inputs)
        made: list[Node] = []
        if self.bias is not None:
            bias = self.bias
            if len(bias.shape) != 1:
                made.append(
                    make_node("Reshape", [bias], {"shape": (attrs["out_channels"],)}, self.conv, "epilogue")
                )
                bias = made[-1].output
            inputs.append(bias)
            attrs["has_bias"] = True
        if self.residual is not None:
            inputs.append(self.residual)
            attrs["has_residual"] = True
        if self.relu:
            attrs["epilogue"] = "relu"
        made.append(make_node("ConvNHWC", inputs, attrs, self.conv, "epilogue"))
        return made
