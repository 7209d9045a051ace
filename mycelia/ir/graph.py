"""The one intermediate representation: a graph is a list of nodes in execution order over typed values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.ir import operator as registry
from mycelia.ir.dtypes import from_numpy_dtype
from mycelia.ir.operator import Operator
from mycelia.ir.types import TensorType


@dataclass(frozen=True)
class Location:
    """Where in the user's program a node came from."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Value:
    """A result of a node, or an input of a graph (``node`` is None). Compared by identity."""

    __slots__ = ("type", "node", "index", "name")

    def __init__(self, type: TensorType, node: Node | None = None, index: int = 0, name: str = "") -> None:
        self.type, self.node, self.index, self.name = type, node, index, name

    @property
    def shape(self) -> tuple:
        return self.type.shape

    @property
    def dtype(self):
        return self.type.dtype

    def __repr__(self) -> str:
        return f"%{self.name or '?'}: {self.type}"


class Node:
    """One application of an operator. ``attrs`` hold hashable Python values, NumPy arrays (Constant) or
    graphs.
    """

    __slots__ = ("op", "inputs", "attrs", "outputs", "loc", "origin")

    def __init__(
        self,
        op: Operator,
        inputs: list[Value],
        attrs: dict[str, Any],
        types: tuple[TensorType, ...],
        loc: Location | None = None,
        origin: str = "",
    ) -> None:
        self.op, self.inputs, self.attrs, self.loc = op, list(inputs), attrs, loc
        self.origin = origin  # the pass or rule that made the node, when it is not the user's own
        self.outputs = [Value(t, self, i) for i, t in enumerate(types)]

    @property
    def output(self) -> Value:
        return self.outputs[0]

    def __repr__(self) -> str:
        return f"<{self.op.name}({', '.join(str(v.type) for v in self.inputs)})>"


class Graph:
    """A function over tensors: inputs, nodes in execution order, outputs.

    ``writes`` maps an input's index to the value that its storage holds after the graph ran (parameters
    updated by an optimizer, generator states, mutated arguments). ``nodes`` is topologically sorted at all
    times.
    """

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.writes: dict[int, Value] = {}

    # -- building ------------------------------------------------------------------------------------------
    def input(self, type: TensorType, name: str = "") -> Value:
        value = Value(type, None, len(self.inputs), name or f"x{len(self.inputs)}")
        self.inputs.append(value)
        return value

    def add(
        self, op: Operator | str, *inputs: Value, loc: Location | None = None, origin: str = "", **attrs: Any
    ) -> Node:
        """Appends a node; its output types come from the operator's own rule."""
        if isinstance(op, str):
            op = registry.get(op)
        node = Node(
            op, list(inputs), attrs, op.output_types(tuple(v.type for v in inputs), attrs), loc, origin
        )
        self.nodes.append(node)
        return node

    def constant(self, array: Any, loc: Location | None = None, origin: str = "") -> Value:
        return self.add("Constant", value=np.asarray(array), loc=loc, origin=origin).output

    # -- looking -------------------------------------------------------------------------------------------
    def results(self) -> Iterator[Value]:
        """Outputs, then written-back values."""
        yield from self.outputs
        yield from self.writes.values()

    def users(self) -> dict[Value, list[Node]]:
        """For each value the nodes that read it, in order, once each."""
        table: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.inputs):
                table.setdefault(value, []).append(node)
        return table

    def replace(self, old: Value, new: Value) -> None:
        """Makes every reader of ``old`` read ``new``."""
        for node in self.nodes:
            if old in node.inputs:
                node.inputs = [new if v is old else v for v in node.inputs]
        self.outputs = [new if v is old else v for v in self.outputs]
        self.writes = {i: new if v is old else v for i, v in self.writes.items()}

    def clone(self, name: str | None = None) -> Graph:
        """A copy with values and nodes of its own; attributes are shared, subgraphs too (they are never
        mutated).
        """
        copy, table = Graph(name or self.name), {}
        for v in self.inputs:
            table[v] = copy.input(v.type, v.name)
        for node in self.nodes:
            fresh = Node(
                node.op,
                [table[v] for v in node.inputs],
                dict(node.attrs),
                tuple(v.type for v in node.outputs),
                node.loc,
                node.origin,
            )
            for a, b in zip(node.outputs, fresh.outputs):
                b.name = a.name
                table[a] = b
            copy.nodes.append(fresh)
        copy.outputs = [table[v] for v in self.outputs]
        copy.writes = {i: table[v] for i, v in self.writes.items()}
        return copy

    def bind(self, binding: dict[str, int]) -> Graph:
        """The static graph in which symbols have these numbers."""
        from mycelia.ir.binding import bind

        return bind(self, binding)

    def __str__(self) -> str:
        from mycelia.ir.printer import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return (
            f"<graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, "
            f"{len(self.outputs)} outputs>"
        )


def constant_type(array: np.ndarray) -> TensorType:
    return TensorType(from_numpy_dtype(array.dtype), array.shape)


def _constant_infer(*, value: np.ndarray) -> TensorType:
    return constant_type(value)


registry.register(Operator("Constant", infer=_constant_infer, reference=lambda *, value: value))
