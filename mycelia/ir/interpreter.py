"""Runs a graph with NumPy, operator by operator: the oracle of every pass and kernel.

float16 and bfloat16 are storage types here as everywhere: an operator computes in float32 and rounds its
results. `Assign` writes into its target's memory, and view operators give NumPy views of theirs, so that a
graph that has not been functionalised means what the user's program means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.ir import operator as registry
from mycelia.ir.binding import bind, binding_of
from mycelia.ir.dtypes import DType, bfloat16, float16
from mycelia.ir.graph import Graph, Node, Value

VIEWS = frozenset(["Reshape", "Transpose", "StridedSlice", "BroadcastTo"])
_HALF = (float16, bfloat16)


def interpret(graph: Graph, inputs: Sequence[Any]) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    """The outputs of a graph, and the values that its inputs hold after it ran, by index of the input.

    Args:
        graph: may hold `Assign`, `Cond`, `While` and fused nodes; symbolic dimensions take the inputs' sizes.
        inputs: an array (or what ``np.asarray`` takes) for each input; never modified.

    Raises:
        ValueError: the number of arrays, a shape or a dtype does not fit.

    Example:
        >>> graph = parse("graph(%x: float32[2]) { %y = Add(%x, %x)  return %y }")
        >>> outputs, writes = interpret(graph, [np.ones(2, "f4")])
    """
    arrays = [np.asarray(x) for x in inputs]
    check_inputs(graph, arrays)
    binding = binding_of(graph, [a.shape for a in arrays])
    if binding:
        graph = bind(graph, binding)
    assigned = _assigned_inputs(graph)
    arrays = [np.array(a, order="C") if i in assigned else a for i, a in enumerate(arrays)]
    touched: set[int] = set()
    outputs, written = _run(graph, arrays, touched)
    for index in touched - written.keys():
        written[index] = arrays[index]
    return outputs, written


def check_inputs(graph: Graph, arrays: Sequence[np.ndarray]) -> None:
    if len(arrays) != len(graph.inputs):
        raise ValueError(f"graph {graph.name} takes {len(graph.inputs)} inputs. Received: {len(arrays)}")
    for value, array in zip(graph.inputs, arrays):
        kind = value.type
        fits = (
            len(kind.shape) == array.ndim
            and array.dtype == kind.dtype.numpy
            and all(
                d == n if isinstance(d, int) else d.lo <= n <= d.hi for d, n in zip(kind.shape, array.shape)
            )
        )
        if not fits:
            raise ValueError(
                f"graph {graph.name}: input {value.name} must be {kind}. Received: "
                f"{array.dtype}{list(array.shape)}"
            )


def apply(node: Node, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of one node by its operator's reference, rounded and shaped as the node says.

    Raises:
        NotImplementedError: the operator has no reference.
    """
    name = node.op.name
    structured = _STRUCTURED.get(name)
    if structured is not None:
        return structured(node, arrays)
    reference = node.op.reference
    if reference is None:
        raise NotImplementedError(
            f"operator {name} has no NumPy reference" + (f" (at {node.loc})" if node.loc else "")
        )
    if name == "BroadcastTo":
        return [np.broadcast_to(arrays[0], node.attrs["shape"])]
    if name in VIEWS or name == "Constant":
        return [reference(*arrays, **node.attrs)]
    dtypes = [v.type.dtype for v in node.inputs]
    if any(d in _HALF for d in dtypes):
        arrays = [a.astype(np.float32) if d in _HALF else a for a, d in zip(arrays, dtypes)]
    with np.errstate(all="ignore"):
        results = reference(*arrays, **node.attrs)
        if not isinstance(results, (tuple, list)):
            results = (results,) if node.outputs else ()
        return [_rounded(r, v.type.dtype) for r, v in zip(results, node.outputs)]


def _rounded(result: Any, dtype: DType) -> np.ndarray:
    return np.asarray(result).astype(dtype.numpy, copy=False)


def _assigned_inputs(graph: Graph) -> set[int]:
    """Indices of the graph's inputs that an Assign may overwrite, directly, through views or through earlier
    Assigns.
    """
    found = set()
    for node in graph.nodes:
        if node.op.name == "Assign":
            value = node.inputs[0]
            while value.node is not None and (value.node.op.name in VIEWS or value.node.op.name == "Assign"):
                value = value.node.inputs[0]
            if value.node is None:
                found.add(value.index)
    return found


def _run(
    graph: Graph, arrays: Sequence[np.ndarray], touched: set[int] | None = None
) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    table: dict[Value, np.ndarray] = dict(zip(graph.inputs, arrays))
    has_writes = any(node.op.effects.writes for node in graph.nodes)
    for node in graph.nodes:
        operands = [table[v] for v in node.inputs]
        if node.op.name == "Assign":
            target, value = operands
            if not target.flags.writeable:
                raise ValueError(
                    f"cannot write through a broadcast view ({node.loc}): one element would be written "
                    f"several times"
                )
            target[...] = value
            if touched is not None:
                touched.update(i for i, a in enumerate(arrays) if np.may_share_memory(a, target))
            results = [target]
        else:
            results = apply(node, operands)
            if has_writes and node.op.name not in VIEWS:
                results = [_own(r, operands) for r in results]
        for value, result in zip(node.outputs, results):
            table[value] = result
    outputs = [table[v] for v in graph.outputs]
    if has_writes:  # an output is a tensor of its own, later writes to its base are not
        outputs = [np.array(o) for o in outputs]
    return outputs, {i: table[v] for i, v in graph.writes.items()}


def _own(result: np.ndarray, operands: Sequence[np.ndarray]) -> np.ndarray:
    """A result in memory of its own, dense in row-major order, as views of it expect."""
    if result.flags.c_contiguous and not any(np.may_share_memory(result, a) for a in operands):
        return result
    return np.array(result, order="C")


def _cond(node: Node, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    branch = node.attrs["then"] if bool(np.reshape(arrays[0], ())) else node.attrs["orelse"]
    return _run(branch, arrays[1:])[0]


def _while(node: Node, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    count = node.attrs["n_state"]
    state, constants = list(arrays[:count]), list(arrays[count:])
    while bool(np.reshape(_run(node.attrs["cond"], state + constants)[0][0], ())):
        state = _run(node.attrs["body"], state + constants)[0]
    return state


def _fused(node: Node, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [
        np.ascontiguousarray(np.broadcast_to(result, value.shape)).reshape(value.shape)
        for result, value in zip(_run(node.attrs["body"], arrays)[0], node.outputs)
    ]


def _fused_reduce(node: Node, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    body, attrs = node.attrs["body"], node.attrs
    operand = np.broadcast_to(_run(body, arrays)[0][0], body.outputs[0].shape)
    inner = Node(
        registry.get("Reduce" + attrs["reduce"].capitalize()),
        body.outputs,
        {"axes": attrs["axes"], "keepdims": attrs["keepdims"]},
        tuple(v.type for v in node.outputs),
        node.loc,
    )
    return apply(inner, [operand])


_STRUCTURED: dict[str, Callable[[Node, Sequence[np.ndarray]], list[np.ndarray]]] = {
    "Cond": _cond,
    "While": _while,
    "Fused": _fused,
    "FusedReduce": _fused_reduce,
}
