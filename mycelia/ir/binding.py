"""Numbers for symbols: the static graph of given sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.ir.graph import Graph, Node, Value
from mycelia.ir.types import Dim, Sym, TensorType, evaluate


def binding_of(graph: Graph, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The number of each symbol when the graph's inputs have these shapes.

    Raises:
        ValueError: a shape does not fit its input, a symbol would have two numbers, or one outside its range.
    """
    binding: dict[str, int] = {}
    for value, shape in zip(graph.inputs, shapes):
        if len(value.shape) != len(shape):
            raise ValueError(f"input {value.name} must be {value.type}. Received: shape {shape}")
        for dim, number in zip(value.shape, shape):
            if isinstance(dim, int):
                fits = dim == number
            elif dim.parts is None:
                fits = binding.setdefault(dim.text, number) == number and dim.lo <= number <= dim.hi
            else:
                continue
            if not fits:
                known = (
                    f", where {dim} is in {dim.lo}..{dim.hi} and already {binding[dim.text]}"
                    if isinstance(dim, Sym)
                    else ""
                )
                raise ValueError(f"input {value.name} must be {value.type}{known}. Received: shape {shape}")
    for value, shape in zip(graph.inputs, shapes):
        for dim, number in zip(value.shape, shape):
            if isinstance(dim, Sym) and dim.parts is not None and evaluate(dim, binding) != number:
                raise ValueError(
                    f"input {value.name} must be {value.type}, where {dim} is {evaluate(dim, binding)}. "
                    f"Received: shape {shape}"
                )
    return binding


def bind(graph: Graph, binding: dict[str, int]) -> Graph:
    """A copy of the graph in which symbols are replaced by numbers, in types, attributes and nested graphs.

    Symbols without a number (data-dependent extents) stay.
    """
    copy = Graph(graph.name)
    table: dict[Value, Value] = {}
    for value in graph.inputs:
        table[value] = copy.input(bind_type(value.type, binding), value.name)
    for node in graph.nodes:
        fresh = Node(
            node.op,
            [table[v] for v in node.inputs],
            {k: bind_attr(a, binding) for k, a in node.attrs.items()},
            tuple(bind_type(v.type, binding) for v in node.outputs),
            node.loc,
            node.origin,
        )
        for old, new in zip(node.outputs, fresh.outputs):
            new.name = old.name
            table[old] = new
        copy.nodes.append(fresh)
    copy.outputs = [table[v] for v in graph.outputs]
    copy.writes = {i: table[v] for i, v in graph.writes.items()}
    return copy


def bind_dim(dim: Dim, binding: dict[str, int]) -> Dim:
    """A dimension with its atoms replaced as far as numbers are known."""
    if isinstance(dim, int):
        return dim
    if dim.parts is None:
        return binding.get(dim.text, dim)
    op, a, b = dim.parts
    x, y = bind_dim(a, binding), bind_dim(b, binding)
    return x + y if op == "+" else x - y if op == "-" else x * y if op == "*" else x // y


def bind_type(kind: TensorType, binding: dict[str, int]) -> TensorType:
    for dim in kind.shape:
        if type(dim) is not int:
            return TensorType(kind.dtype, tuple(bind_dim(d, binding) for d in kind.shape))
    return kind


def bind_attr(attr: Any, binding: dict[str, int]) -> Any:
    if isinstance(attr, Sym):
        return bind_dim(attr, binding)
    if type(attr) is tuple:
        return tuple(bind_attr(a, binding) for a in attr)
    if isinstance(attr, TensorType):
        return bind_type(attr, binding)
    return bind(attr, binding) if isinstance(attr, Graph) else attr
