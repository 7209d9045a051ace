"""In-place writes become values: `Assign` disappears, and ``graph.writes`` says what each written input holds
at the end.

A value that a chain of view operators made of another shows that other's memory. Each base (a graph input, or
a result that is no view) has a current value; a write through a view scatters into it, and whoever reads the
base or a view of it later, in program order, reads the current value. What is and is not a view follows
NumPy: a `Reshape` of memory that is not dense copies.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.graph import Graph, Node, Value
from mycelia.passes.rewrite import make_node

VIEWS = frozenset(["Reshape", "Transpose", "StridedSlice", "BroadcastTo"])
Chain = tuple[Node, ...]


class WriteError(ValueError):
    """A write that has no meaning: through a broadcast, or to an operand inside a branch."""


def functionalise(graph: Graph) -> bool:
    """Rewrites a graph in place; says whether there were writes.

    Raises:
        WriteError: naming the user's line.
    """
    changed = False
    for node in graph.nodes:
        for key in node.op.subgraphs:
            body = node.attrs.get(key)
            if body is not None and any(n.op.effects.writes for n in body.nodes):
                body = body.clone()
                _Functionaliser(body).run()
                if body.writes:
                    index, value = next(iter(body.writes.items()))
                    raise WriteError(f"{node.op.name}: {key} writes to its operand {index} "
                                     f"({body.inputs[index]!r}); a branch or loop body must return the new "
                                     f"value instead{_at(value.node or node)}")
                node.attrs = {**node.attrs, key: body}
                changed = True
    if any(node.op.effects.writes for node in graph.nodes):
        _Functionaliser(graph).run()
        changed = True
    return changed


def _at(node: Node) -> str:
    return f" (at {node.loc})" if node.loc is not None else ""


class _Base:
    """Memory: its current value, and how often it was written."""

    __slots__ = ("current", "version")

    def __init__(self, value: Value) -> None:
        self.current, self.version = value, 0


class _Functionaliser:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.bases: dict[Value, _Base] = {}
        self.paths: dict[Value, tuple[_Base, Chain]] = {}  # original value -> memory and chain of views
        self.seen: dict[
            Value, tuple[int, Value]
        ] = {}  # original value -> version and the value that shows it
        self.dummies: dict[Value, np.ndarray | None] = {}  # memory layout, for the question what is a view

    def run(self) -> None:
        graph = self.graph
        written: dict[_Base, int] = {}
        inputs: dict[_Base, int] = {}
        for index, value in enumerate(graph.inputs):
            inputs[self.new_base(value)] = index
        for node in graph.nodes:
            if node.op.name == "Assign":
                base = self.assign(node)
                written.setdefault(base, len(written))
                continue
            if node.op.name in VIEWS and self.is_view(node):
                base, chain = self.paths[node.inputs[0]]
                self.paths[node.output] = (base, (*chain, node))
                self.seen[node.output] = (-1, node.output)
                if base.version == 0:  # nothing was written yet: the node itself will do
                    self.nodes.append(node)
                    self.seen[node.output] = (0, node.output)
                continue
            node.inputs = [self.read(v) for v in node.inputs]
            self.nodes.append(node)
            for value in node.outputs:
                self.new_base(value)
        graph.outputs = [self.read(v) for v in graph.outputs]
        graph.writes = {i: self.read(v) for i, v in graph.writes.items()}
        for base in written:
            if base in inputs:
                graph.writes[inputs[base]] = base.current
        graph.nodes = self.nodes

    def new_base(self, value: Value) -> _Base:
        base = _Base(value)
        self.paths[value] = (base, ())
        return base

    def read(self, value: Value) -> Value:
        """What a value of the original graph shows now."""
        base, chain = self.paths[value]
        if not chain:
            return base.current
        version, shown = self.seen[value]
        if version != base.version:
            shown = base.current
            for view in chain:
                shown = self.replay(view, base, shown)
        return shown

    def replay(self, view: Node, base: _Base, source: Value) -> Value:
        version, shown = self.seen[view.output]
        if version != base.version:
            shown = self.emit(view.op.name, [source], view.attrs, view)
            self.seen[view.output] = (base.version, shown)
        return shown

    def assign(self, node: Node) -> _Base:
        target, value = node.inputs
        base, chain = self.paths[target]
        base.current = self.scatter(base.current, chain, self.read(value), node)
        base.version += 1
        self.paths[node.output] = (base, chain)
        if chain:
            self.seen[node.output] = (-1, node.output)
        return base

    def scatter(self, whole: Value, chain: Chain, part: Value, at: Node) -> Value:
        """The base's value with the elements that the chain shows replaced."""
        if not chain:
            return part
        view, rest = chain[0], chain[1:]
        if rest:
            inner = self.emit(view.op.name, [whole], view.attrs, at)
            part = self.scatter(inner, rest, part, at)
        name = view.op.name
        if name == "Reshape":
            return self.emit("Reshape", [part], {"shape": whole.shape}, at)
        if name == "Transpose":
            perm = view.attrs["perm"]
            return self.emit(
                "Transpose", [part], {"perm": tuple(perm.index(i) for i in range(len(perm)))}, at
            )
        if name == "StridedSlice":
            return self.emit("SliceScatter", [whole, part], view.attrs, at)
        raise WriteError(f"cannot write through a view made by {name}: one element would be written several "
                         f"times; write to a copy instead{_at(at)}")

    def emit(self, op: str, inputs: list[Value], attrs: dict[str, Any], at: Node) -> Value:
        node = make_node(op, inputs, attrs, at, "functionalise")
        self.nodes.append(node)
        return node.output

    # -- what is a view ------------------------------------------------------------------------------------
    def is_view(self, node: Node) -> bool:
        """Whether the result shows its operand's memory, as NumPy would have it."""
        if node.op.name != "Reshape":
            return True
        layout = self.layout(node.inputs[0])
        if layout is None:  # symbolic: dense unless another view than a Reshape lies between
            return all(view.op.name == "Reshape" for view in self.paths[node.inputs[0]][1])
        if layout.size == 0:
            return True
        try:
            layout = layout.view()
            layout.shape = node.attrs["shape"]
        except AttributeError:
            return False
        return True

    def layout(self, value: Value) -> np.ndarray | None:
        """An array of the same shape and strides over no memory; None for symbolic shapes."""
        if value in self.dummies:
            return self.dummies[value]
        _, chain = self.paths[value]
        found: np.ndarray | None = None
        if value.type.is_static:
            if not chain:
                strides = np.cumprod([1, *value.shape[:0:-1]], dtype=np.int64)[::-1] if value.shape else ()
                found = np.lib.stride_tricks.as_strided(
                    np.empty(1, np.uint8), value.shape, tuple(map(int, strides))
                )
            else:
                source = self.layout(chain[-1].inputs[0])
                if source is not None:
                    if chain[-1].op.name == "BroadcastTo":
                        found = np.broadcast_to(source, chain[-1].attrs["shape"])
                    else:
                        found = chain[-1].op.reference(source, **chain[-1].attrs)  # type: ignore[misc]
        self.dummies[value] = found
        return found
