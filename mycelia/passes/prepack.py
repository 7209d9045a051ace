"""Products with weights that stay the same take the weights packed, which the prologue does once.

``MatMul(x, w)`` brings ``w`` into panels at each call: a fifth of the time of a transformer's inference. As a
convolution with windows of one pixel it is the same product, and its weights are packed by a node of their
own, which `mycelia.passes.hoist` moves out of the graph.
"""
from __future__ import annotations

from collections.abc import Collection

from mycelia.ir.graph import Graph, Node, Value
from mycelia.passes.hoist import fixed_values
from mycelia.passes.rewrite import make_node

FEW_ROWS = 16  # with fewer, weights are read where they lie
SMALL = 64 * 64  # elements of weights that are not worth a second copy


class Prepack:
    """The pass for a graph some of whose inputs are parameters.

    Args:
        parameters: indices of inputs that seldom change.
    """

    __name__ = "prepack"

    def __init__(self, parameters: Collection[int]) -> None:
        self.parameters = parameters

    def __call__(self, graph: Graph) -> bool:
        fixed, _ = fixed_values(graph, self.parameters)
        nodes: list[Node] = []
        table: dict[Value, Value] = {}
        for node in graph.nodes:
            node.inputs = [table.get(v, v) for v in node.inputs]
            if _takes_packed(node, fixed):
                made = _as_convolution(node)
                nodes += made
                table[node.output] = made[-1].output
                made[-1].output.name = node.output.name
            else:
                nodes.append(node)
        if not table:
            return False
        graph.nodes = nodes
        graph.outputs = [table.get(v, v) for v in graph.outputs]
        graph.writes = {i: table.get(v, v) for i, v in graph.writes.items()}
        return True


def _takes_packed(node: Node, fixed: set[Value]) -> bool:
    if node.op.name != "MatMul" or not node.output.type.dtype.is_float:
        return False
    x, w = node.inputs
    rows = node.output.shape[0]
    return (
        w in fixed
        and x not in fixed
        and isinstance(rows, int)
        and rows >= FEW_ROWS
        and all(isinstance(d, int) for d in w.shape)
        and w.shape[0] * w.shape[1] >= SMALL
    )


def _as_convolution(node: Node) -> list[Node]:
    made: list[Node] = []

    def emit(op: str, *inputs: Value, **attrs: object) -> Value:
        made.append(make_node(op, inputs, attrs, node, "prepack"))
        return made[-1].output

    x, w = node.inputs
    if node.attrs["transpose_a"]:
        x = emit("Transpose", x, perm=(1, 0))
    if not node.attrs["transpose_b"]:
        w = emit("Transpose", w, perm=(1, 0))
    rows, depth = x.shape
    columns = w.shape[0]
    window = {"groups": 1, "stride": (1, 1), "dilation": (1, 1)}
    kernel = emit("Reshape", w, shape=(columns, depth, 1, 1))
    packed = emit("PackConvWeights", kernel, form="forward", **window)
    image = emit("Reshape", x, shape=(rows, 1, 1, depth))
    product = emit(
        "ConvNHWC",
        image,
        packed,
        kernel_size=(1, 1),
        pads=(0, 0, 0, 0),
        out_channels=columns,
        epilogue="",
        has_bias=False,
        has_residual=False,
        **window,
    )
    emit("Reshape", product, shape=(rows, columns))
    return made
