"""Pointwise programs: scalar code from typed inputs to typed outputs, made of one operator or of a graph of
them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia.codegen.scalar import Scalar, VectorScalars
from mycelia.codegen.target import Target
from mycelia.codegen.text import Module
from mycelia.ir.dtypes import DType, from_numpy_dtype
from mycelia.ir.graph import Graph, Node

_TRANSPARENT = ("BroadcastTo",)  # broadcasting is what the iteration space does anyway


@dataclass(frozen=True)
class Program:
    """What a fused kernel computes for each point of its iteration space.

    Attributes:
        key: text that is equal only for equal programs.
        inputs: dtypes of the inputs as they lie in memory.
        outputs: dtypes of the outputs.
        widest: bytes of the widest value on the way, which decides the number of lanes.
        emit: ``emit(m, scalars)`` writes the code and returns one scalar per output.
    """

    key: str
    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]
    widest: int
    emit: Callable[[VectorScalars, Sequence[Scalar]], list[Scalar]] = field(compare=False)

    @property
    def symbol(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()[:16]

    def length(self, lanes: int) -> int:
        """Lines of IR that one emission takes: a rough cost."""
        f = Module().function("length")
        m = VectorScalars(f, lanes)
        before = len(f._lines)
        self.emit(m, [m.const(1, dtype) for dtype in self.inputs])
        return len(f._lines) - before


def width(*dtypes: DType) -> int:
    """Bytes per lane that these dtypes take in registers: float16 and bfloat16 are computed in float32."""
    return max(max(d.itemsize, 4) if d.kind == "f" else d.itemsize for d in dtypes)


def lanes_for(program: Program, target: Target, narrowest: int = 1) -> int:
    """Lanes such that the widest value fills one register."""
    return target.lanes(max(program.widest, narrowest))


def attribute_key(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, DType):
        return value.name
    return value.hex() if isinstance(value, float) else repr(value)


def _attributes_key(attrs: dict[str, Any]) -> str:
    return ",".join(f"{name}={attribute_key(attrs[name])}" for name in sorted(attrs))


def _apply(m: VectorScalars, node: Node, xs: Sequence[Scalar]) -> list[Scalar]:
    if node.op.name in _TRANSPARENT:
        return list(xs)
    if node.op.body is None:
        raise ValueError(
            f"operator {node.op.name} has no scalar body, so it cannot be part of a pointwise program"
        )
    results = node.op.body(m, *xs, **node.attrs)
    results = results if isinstance(results, (tuple, list)) else (results,)
    return [m.rounded(r, v.dtype) for r, v in zip(results, node.outputs)]


def from_node(node: Node) -> Program:
    """The program of one pointwise node."""
    inputs, outputs = tuple(v.dtype for v in node.inputs), tuple(v.dtype for v in node.outputs)
    key = (
        f"{node.op.name}({','.join(d.name for d in inputs)};{_attributes_key(node.attrs)})"
        f"->{','.join(d.name for d in outputs)}"
    )
    return Program(key, inputs, outputs, width(*inputs, *outputs), lambda m, xs: _apply(m, node, xs))


def from_graph(graph: Graph) -> Program:
    """The program of a body graph of pointwise nodes and constants of one element."""
    names = {v: f"i{k}" for k, v in enumerate(graph.inputs)}
    lines, dtypes = [], [v.dtype for v in graph.inputs]
    for k, node in enumerate(graph.nodes):
        for j, v in enumerate(node.outputs):
            names[v] = f"n{k}.{j}"
            dtypes.append(v.dtype)
        lines.append(
            f"{node.op.name}({','.join(names[v] for v in node.inputs)};{_attributes_key(node.attrs)})"
            f":{','.join(v.dtype.name for v in node.outputs)}"
        )
    inputs, outputs = tuple(v.dtype for v in graph.inputs), tuple(v.dtype for v in graph.outputs)
    key = (
        f"({','.join(d.name for d in inputs)}){{{';'.join(lines)}}}"
        f"->{','.join(names[v] for v in graph.outputs)}"
    )

    def emit(m: VectorScalars, xs: Sequence[Scalar]) -> list[Scalar]:
        values = dict(zip(graph.inputs, xs))
        for node in graph.nodes:
            if node.op.name == "Constant":
                values[node.output] = _constant(m, node.attrs["value"])
            else:
                values.update(zip(node.outputs, _apply(m, node, [values[v] for v in node.inputs])))
        return [values[v] for v in graph.outputs]

    return Program(key, inputs, outputs, width(*dtypes), emit)


def _constant(m: VectorScalars, array: np.ndarray) -> Scalar:
    if array.size != 1:
        raise ValueError(
            f"a constant in a pointwise program must have one element; received shape {array.shape}"
        )
    return m.const(
        array.reshape(()).astype(np.float64).item() if array.dtype.kind not in "biu" else array.item(),
        from_numpy_dtype(array.dtype),
    )


def from_function(
    key: str,
    inputs: Sequence[DType],
    outputs: Sequence[DType],
    body: Callable[..., Any],
    widest: int | None = None,
) -> Program:
    """A program written in Python, ``body(m, *scalars)``, for kernels that are more than one operator."""

    def emit(m: VectorScalars, xs: Sequence[Scalar]) -> list[Scalar]:
        results = body(m, *xs)
        results = results if isinstance(results, (tuple, list)) else (results,)
        return [m.rounded(r, d) for r, d in zip(results, outputs)]

    dtypes = f"({','.join(d.name for d in inputs)})->{','.join(d.name for d in outputs)}"
    return Program(key + dtypes, tuple(inputs), tuple(outputs), widest or width(*inputs, *outputs), emit)
