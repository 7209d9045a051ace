"""A convolution followed by per-channel scales and shifts: the scale goes into the weights, the shift becomes
a bias.

Inference batch normalisation is a composite of pointwise operators, ``(x - mean) * rsqrt(var + eps) * gamma +
beta`` or any other order, with per-channel values reshaped to [1, c, 1, 1]. Following the chain from the
convolution, value = conv * scale + shift.
"""
from __future__ import annotations

from typing import Any

from mycelia.ir.graph import Graph, Node, Value
from mycelia.passes.rewrite import make_node

_CHAIN = frozenset(["Add", "Sub", "Mul", "Div", "Neg"])
_DERIVES = frozenset(["Constant", "Reshape", "Transpose", "BroadcastTo", "Cast"])


def fold_batch_norm(graph: Graph) -> bool:
    """Rewrites a graph in place; says whether a scale was folded. Results differ by rounding."""
    if not any(n.op.name == "Conv2D" for n in graph.nodes):
        return False
    derived = input_derived(graph)
    users = graph.users()
    results = set(graph.results())
    at: dict[Node, list[Node]] = {}      # nodes that take the place of the last node of a chain
    dropped: set[Node] = set()
    for node in graph.nodes:
        if node.op.name != "Conv2D":
            continue
        chain = _Chain(node)
        while chain.end not in results and len(users.get(chain.end, ())) == 1:
            if not chain.follow(users[chain.end][0], derived):
                break
        if chain.scale is None and len(chain.nodes) < 2:
            continue
        last = chain.nodes[-1]
        at[last] = chain.build()
        dropped.update((node, *chain.nodes))
        graph.replace(last.output, at[last][-1].output)
    if not at:
        return False
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += at.get(node, () if node in dropped else (node,))
    graph.nodes = nodes
    return True


def input_derived(graph: Graph) -> set[Value]:
    """Values computed from the graph's inputs and constants by pointwise operators and movement alone."""
    found = set(graph.inputs)
    for node in graph.nodes:
        if (
            (node.op.pointwise or node.op.name in _DERIVES)
            and not node.op.effects
            and all(v in found for v in node.inputs)
        ):
            found.update(node.outputs)
    return found


class _Chain:
    """What follows a convolution: ``end = conv * scale + shift`` with scale and shift of shape [c] or
    scalars; None: 1, 0.
    """

    def __init__(self, conv: Node) -> None:
        self.conv, self.end = conv, conv.output
        self.channels = conv.output.shape[1]
        self.nodes: list[Node] = []
        self.made: list[Node] = []
        self.scale: Value | None = None
        self.shift: Value | None = None

    def emit(self, op: str, *inputs: Value, **attrs: Any) -> Value:
        node = make_node(op, inputs, attrs, self.nodes[-1] if self.nodes else self.conv, "fold_batch_norm")
        self.made.append(node)
        return node.output

    def follow(self, node: Node, derived: set[Value]) -> bool:
        """Takes the next node in, if it is a scale or a shift by per-channel values that do not depend on
        images.
        """
        name = node.op.name
        if name not in _CHAIN or node.output.type != self.end.type:
            return False
        if name == "Neg":
            self.nodes.append(node)
            self.scale = self.emit("Neg", self.scale) if self.scale is not None else self.minus_one()
            self.shift = self.emit("Neg", self.shift) if self.shift is not None else None
        else:
            first = node.inputs[0] is self.end
            other = node.inputs[1] if first else node.inputs[0]
            if (
                other is self.end
                or other not in derived
                or not self.per_channel(other)
                or (name == "Div" and not first)
            ):
                return False
            self.nodes.append(node)
            factor = self.flat(other)
            if name in ("Mul", "Div"):
                if self.scale is None:
                    self.scale = factor if name == "Mul" else self.emit("Reciprocal", factor)
                else:
                    self.scale = self.emit(name, self.scale, factor)
                self.shift = self.emit(name, self.shift, factor) if self.shift is not None else None
            elif name == "Add":
                self.shift = self.emit("Add", self.shift, factor) if self.shift is not None else factor
            elif first:
                self.shift = (
                    self.emit("Sub", self.shift, factor)
                    if self.shift is not None
                    else self.emit("Neg", factor)
                )
            else:
                self.scale = self.emit("Neg", self.scale) if self.scale is not None else self.minus_one()
                self.shift = self.emit("Sub", factor, self.shift) if self.shift is not None else factor
        self.end = node.output
        return True

    def minus_one(self) -> Value:
        import numpy as np
        return self.emit("Constant", value=np.asarray(-1).astype(self.conv.output.dtype.numpy))

    def per_channel(self, value: Value) -> bool:
        """Whether a value has one element, or one for each channel along axis 1 of images."""
        whole = (1,) * (4 - len(value.shape)) + tuple(value.shape)
        if len(whole) != 4 or not value.type.is_static:
            return False
        return whole[0] == whole[2] == whole[3] == 1 and whole[1] in (1, self.channels)

    def flat(self, value: Value) -> Value:
        shape = (self.channels,) if value.type.size != 1 or self.channels == 1 else ()
        if value.node is not None and value.node.op.name == "Reshape" and value.node.inputs[0].shape == shape:
            return value.node.inputs[0]
        return value if value.shape == shape else self.emit("Reshape", value, shape=shape)

    def build(self) -> list[Node]:
        """The nodes that compute the end of the chain."""
        x, w = self.conv.inputs
        if self.scale is not None:
            scale = self.scale
            if scale.shape:
                scale = self.emit("Reshape", scale, shape=(self.channels, 1, 1, 1))
            w = self.emit("Mul", w, scale)
        y = self.emit("Conv2D", x, w, **self.conv.attrs)
        if self.shift is not None:
            shift = (
                self.emit("Reshape", self.shift, shape=(1, self.channels, 1, 1))
                if self.shift.shape
                else self.shift
            )
            self.emit("Add", y, shift)
        return self.made
