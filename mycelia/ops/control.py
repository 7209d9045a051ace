"""Operators with effects, and control flow that runs inside a graph."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL
from mycelia.ir.graph import Graph, Value
from mycelia.ir.operator import Effects
from mycelia.ir.types import TensorType
from mycelia.ops import arithmetic, comparison, reduction, trigonometric  # noqa: F401  (the samples' graphs apply them)
from mycelia.ops.definition import operator
from mycelia.ops.inference import no_gradient, require_dtypes, same_type, wrong_dtype, wrong_shape
from mycelia.ops.samples import ErrorCase, Sample, tensor, unary, values


@operator("StopGradient", pointwise=True)
class StopGradient:
    """The input itself, a constant to gradients."""

    infer = same_type(ALL)
    vjp = no_gradient
    def body(m, x): return x
    reference = np.copy
    samples = unary(ALL, gradient=False)


@operator("Assign", effects=Effects(writes=(0,)))
class Assign:
    """Overwrites ``target`` with ``value``, of one type, and gives the value."""

    def infer(target: TensorType, value: TensorType) -> TensorType:
        require_dtypes("Assign", (target, value), ALL)
        if target.shape != value.shape:
            raise wrong_shape(
                "Assign",
                (target, value),
                "the value must have the target's shape",
                "Broadcast or reshape it first",
            )
        return target

    def vjp(g, target, value, y): return None, g
    def reference(target, value): return value.copy()

    def samples():
        for dtype in ALL:
            yield Sample((values((2, 3), dtype, key="t"), values((2, 3), dtype, key="v")))

    errors = [ErrorCase((tensor(dtypes.float32, 2), tensor(dtypes.float32, 3)), ValueError, "target's shape"),
              ErrorCase((tensor(dtypes.float32, 2), tensor(dtypes.int32, 2)), TypeError, "one dtype")]


@operator("Print", num_outputs=0, effects=Effects(io=True))
class Print:
    """Prints the inputs where ``format`` has ``{}``."""

    def infer(*xs: TensorType, format: str) -> tuple:
        if format.replace("{{", "").replace("}}", "").count("{}") != len(xs):
            raise ValueError(
                f"Print: format must have one {{}} for each of the {len(xs)} inputs. Received: "
                f"format={format!r}"
            )
        return ()

    vjp = no_gradient

    def reference(*xs, format):
        print(format.format(*(np.array2string(np.asarray(x), separator=" ") for x in xs)), flush=True)
        return ()

    errors = [ErrorCase((tensor(dtypes.float32, 2),), ValueError, "one {} for each", {"format": "x"})]


@operator("PyCall", num_outputs=-1, effects=Effects(io=True))
class PyCall:
    """Calls ``function`` with NumPy arrays when the graph runs; it returns arrays of the declared
    ``types``."""

    def infer(
        *xs: TensorType, function: Callable[..., Any], types: tuple[TensorType, ...]
    ) -> tuple[TensorType, ...]:
        if not callable(function):
            raise TypeError(f"PyCall: function must be callable. Received: {function!r}")
        return tuple(types)

    def reference(*xs, function, types):
        results = function(*xs)
        results = results if isinstance(results, tuple) else (results,)
        arrays = tuple(np.asarray(r) for r in results)
        found = tuple((a.dtype, a.shape) for a in arrays)
        declared = tuple((t.dtype.numpy, t.shape) for t in types)
        if found != declared:
            raise TypeError(
                f"PyCall: {getattr(function, '__name__', function)} must return arrays of the declared types "
                f"({', '.join(map(str, types))}). Received: {found}"
            )
        return arrays

    def samples():
        yield Sample(
            (values((2, 3)),), {"function": np.cumsum, "types": (tensor(dtypes.float32, 6),)}, gradient=False
        )

    errors = [ErrorCase((), TypeError, "must be callable", {"function": 3, "types": ()})]


def evaluate(graph: Graph, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Runs a graph by its operators' references."""
    table: dict[Value, np.ndarray] = dict(zip(graph.inputs, arrays))
    for node in graph.nodes:
        results = node.op.reference(*(table[v] for v in node.inputs), **node.attrs)
        table.update(zip(node.outputs, results if isinstance(results, tuple) else (results,)))
    return tuple(table[v] for v in graph.outputs)


def _types(values: Sequence[Value]) -> tuple[TensorType, ...]:
    return tuple(v.type for v in values)


def _require_predicate(name: str, types: tuple[TensorType, ...], predicate: TensorType) -> None:
    if predicate.dtype is not dtypes.bool_ or predicate.size != 1:
        raise wrong_dtype(
            name,
            types,
            f"the condition must be one bool, not {predicate}",
            "Compare, or reduce with all() or any()",
        )


def _require_operands(name: str, graph: Graph, role: str, operands: Sequence[TensorType]) -> None:
    if _types(graph.inputs) != tuple(operands):
        raise wrong_shape(name, tuple(operands), f"the operands must have the types that {role} takes, "
                          f"({', '.join(map(str, _types(graph.inputs)))})", "Trace it with these operands")


def _branches() -> tuple[Graph, Graph]:
    graphs = []
    for name in ("Sin", "Neg"):
        graph = Graph(name.lower())
        x = graph.input(tensor(dtypes.float64, 3))
        graph.outputs = [graph.add(name, x).output]
        graphs.append(graph)
    return graphs[0], graphs[1]


@operator("Cond", num_outputs=-1, subgraphs=("then", "orelse"))
class Cond:
    """``then(*operands)`` if the predicate holds, else ``orelse(*operands)``: graphs with equal types."""

    def infer(
        predicate: TensorType, *operands: TensorType, then: Graph, orelse: Graph
    ) -> tuple[TensorType, ...]:
        _require_predicate("Cond", (predicate, *operands), predicate)
        _require_operands("Cond", then, "then", operands)
        _require_operands("Cond", orelse, "orelse", operands)
        first, second = _types(then.outputs), _types(orelse.outputs)
        if first != second:
            raise wrong_shape(
                "Cond",
                (predicate, *operands),
                f"both branches must give equal types, not "
                f"({', '.join(map(str, first))}) and ({', '.join(map(str, second))})",
                "Convert or reshape in a branch",
            )
        return first

    def reference(predicate, *operands, then, orelse):
        return evaluate(then if predicate.item() else orelse, operands)

    def samples():
        then, orelse = _branches()
        for predicate in (True, False):
            yield Sample(
                (np.array(predicate), values((3,), dtypes.float64)),
                {"then": then, "orelse": orelse},
                gradient=False,
            )

    errors = [ErrorCase((tensor(dtypes.int32), tensor(dtypes.float64, 3)), TypeError, "must be one bool",
                        dict(zip(("then", "orelse"), _branches())))]


@operator("While", num_outputs=-1, subgraphs=("cond", "body"))
class While:
    """Repeats ``state = body(*state, *constants)`` while ``cond(*state, *constants)`` holds; gives the last
    state."""

    def infer(*inputs: TensorType, cond: Graph, body: Graph, n_state: int) -> tuple[TensorType, ...]:
        _require_operands("While", cond, "cond", inputs)
        _require_operands("While", body, "body", inputs)
        if len(cond.outputs) != 1:
            raise wrong_shape(
                "While", inputs, f"cond must give one value, not {len(cond.outputs)}", "Return one bool"
            )
        _require_predicate("While", inputs, cond.outputs[0].type)
        state = tuple(inputs[:n_state])
        if _types(body.outputs) != state:
            raise wrong_shape(
                "While",
                inputs,
                f"the body must give the state's types, not ({', '.join(map(str, _types(body.outputs)))})",
                "Keep dtype and shape from one iteration to the next",
            )
        return state

    def reference(*inputs, cond, body, n_state):
        state, constants = tuple(inputs[:n_state]), tuple(inputs[n_state:])
        while evaluate(cond, (*state, *constants))[0].item():
            state = evaluate(body, (*state, *constants))
        return state

    def samples():
        cond, body = Graph("cond"), Graph("body")
        kinds = (tensor(dtypes.float64, 2), tensor(dtypes.float64))
        for graph in (cond, body):
            for kind in kinds:
                graph.input(kind)
        total = cond.add("ReduceSum", cond.inputs[0], axes=(0,), keepdims=False).output
        cond.outputs = [cond.add("Less", total, cond.inputs[1]).output]
        body.outputs = [body.add("Add", body.inputs[0], body.inputs[0]).output]
        for limit in (100.0, 0.0):
            yield Sample(
                (np.array([1.0, 2.0]), np.array(limit)),
                {"cond": cond, "body": body, "n_state": 1},
                gradient=False,
            )

    errors = [ErrorCase((tensor(dtypes.float32, 3),), ValueError, "operands must have the types",
                        {"cond": _branches()[0], "body": _branches()[1], "n_state": 1})]
