"""Checks that a graph is well formed; what it finds names the pass that broke it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from mycelia.ir.graph import Graph, Node, Value
from mycelia.ir.types import Dim, Sym, TensorType, same_dim


class VerificationError(AssertionError):
    """A graph breaks a rule of the IR: a fault of the pass or the tracer that made it, not of the user's
    program.
    """


def verify(graph: Graph, after: str = "") -> None:
    """Raises unless every value is defined before it is read, every type is what the operator's rule says,
    attributes are hashable, written values have their input's type, and subgraphs fit their node.

    Args:
        after: the pass that just ran, for the message.

    Raises:
        VerificationError: with the node as text and the user's line.
    """
    _Verifier(after).graph(graph, graph.name)


class _Verifier:
    def __init__(self, after: str) -> None:
        self.after = after

    def fail(self, message: str, node: Node | None = None) -> None:
        text = message
        if node is not None:
            text += f"\n  node: {describe(node)}"
            if node.loc is not None:
                text += f"\n  at {node.loc}"
        if self.after:
            text += f"\n  after pass {self.after!r}, which left the graph broken"
        raise VerificationError(text)

    def graph(self, graph: Graph, path: str) -> None:
        defined: set[Value] = set()
        for index, value in enumerate(graph.inputs):
            if value.node is not None or value.index != index:
                self.fail(f"graph {path}: input {index} ({value!r}) is not a free value with that index")
            defined.add(value)
        for node in graph.nodes:
            for index, value in enumerate(node.inputs):
                if value not in defined:
                    why = (
                        "is read before it is defined"
                        if value.node in graph.nodes
                        else "belongs to no node or input of this graph"
                    )
                    self.fail(f"graph {path}: operand {index} of {node.op.name} {why}", node)
            self.node(node, path)
            for index, value in enumerate(node.outputs):
                if value.node is not node or value.index != index or value in defined:
                    self.fail(f"graph {path}: result {index} of {node.op.name} is not its own", node)
                defined.add(value)
        for index, value in enumerate(graph.outputs):
            if value not in defined:
                self.fail(f"graph {path}: output {index} ({value!r}) is not defined in the graph")
        for index, value in graph.writes.items():
            if not 0 <= index < len(graph.inputs):
                self.fail(f"graph {path}: writes input {index}, but there are {len(graph.inputs)} inputs")
            if value not in defined:
                self.fail(f"graph {path}: the value written to input {index} is not defined in the graph")
            if value.type != graph.inputs[index].type:
                self.fail(
                    f"graph {path}: input {graph.inputs[index]!r} is written with a value of type "
                    f"{value.type}"
                )

    def node(self, node: Node, path: str) -> None:
        for key, attr in node.attrs.items():
            if isinstance(attr, np.ndarray):
                if node.op.name != "Constant":
                    self.fail(
                        f"graph {path}: attribute {key} is a NumPy array; only Constant may hold one", node
                    )
            elif isinstance(attr, Graph):
                if key not in node.op.subgraphs:
                    self.fail(
                        f"graph {path}: attribute {key} is a graph, which {node.op.name} does not declare",
                        node,
                    )
                self.graph(attr, f"{path}/{node.op.name}.{key}")
            elif not _hashable(attr):
                self.fail(
                    f"graph {path}: attribute {key} of {node.op.name} is not hashable: {attr!r} (of type "
                    f"{type(attr).__name__})",
                    node,
                )
        if node.op.name == "Cond":
            self.branches(node, path)
        try:
            expected = node.op.output_types(tuple(v.type for v in node.inputs), node.attrs)
        except Exception as error:
            self.fail(f"graph {path}: the type rule of {node.op.name} refuses its operands: {error}", node)
            return
        found = tuple(v.type for v in node.outputs)
        if expected != found and not _same_but_for_fresh_symbols(expected, found):
            self.fail(
                f"graph {path}: {node.op.name} gives ({_types(expected)}) by its rule, the node says "
                f"({_types(found)})",
                node,
            )

    def branches(self, node: Node, path: str) -> None:
        then, orelse = node.attrs.get("then"), node.attrs.get("orelse")
        if isinstance(then, Graph) and isinstance(orelse, Graph):
            message = compare_branches([v.type for v in then.outputs], [v.type for v in orelse.outputs])
            if message:
                self.fail(f"graph {path}: {message}", node)


def compare_branches(then: Sequence[TensorType], orelse: Sequence[TensorType]) -> str:
    """Shows both branches of a Cond side by side when their results differ in number, dtype or shape; "" if
    they agree.
    """
    if list(then) == list(orelse):
        return ""
    rows = [("result", "then", "orelse", "")]
    for index in range(max(len(then), len(orelse))):
        a = str(then[index]) if index < len(then) else "-"
        b = str(orelse[index]) if index < len(orelse) else "-"
        rows.append((str(index), a, b, "" if a == b else "<- differs"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = "\n".join(
        "  " + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths)), row[3]]).rstrip() for row in rows
    )
    return (
        "the branches of a Cond must return the same number of tensors with the same shapes and dtypes. "
        "Received:\n" + table
    )


def describe(node: Node) -> str:
    """A node in one line, subgraphs left out."""
    attrs = ", ".join(f"{k}={_attr(a)}" for k, a in node.attrs.items())
    results, operands = (", ".join(map(repr, values)) for values in (node.outputs, node.inputs))
    return f"{results} = {node.op.name}({operands})" + (f" {{{attrs}}}" if attrs else "")


def _attr(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return f"graph {value.name}" if isinstance(value, Graph) else repr(value)


def _same_but_for_fresh_symbols(expected: Sequence[TensorType], found: Sequence[TensorType]) -> bool:
    """A data-dependent extent is a new symbol each time that the rule is asked."""

    def fresh(a: Dim, b: Dim) -> bool:
        return isinstance(a, Sym) and isinstance(b, Sym) and a.bounded and b.bounded

    return len(expected) == len(found) and all(
        e.dtype is f.dtype
        and e.ndim == f.ndim
        and all(same_dim(a, b) or fresh(a, b) for a, b in zip(e.shape, f.shape))
        for e, f in zip(expected, found)
    )


def _types(types: tuple[TensorType, ...]) -> str:
    return ", ".join(map(str, types))


def _hashable(value: Any) -> bool:
    if not isinstance(value, Hashable):
        return False
    return all(map(_hashable, value)) if isinstance(value, tuple) else True
