"""PyNative mode: each application of an operator is carried out at once.

An operator with its attributes and operand types is a graph of one node, compiled once and kept; the next
application is one
dictionary look-up and one launch. View operators only make another tensor over the same storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mycelia.runtime  # noqa: F401  (makes the devices known)
from mycelia.ir.graph import Graph
from mycelia.ir.operator import Operator
from mycelia.ops import composite, dispatch
from mycelia.ops.inplace import apply_chain
from mycelia.tensor.storage import Storage
from mycelia.tensor.tensor import Tensor, View, dense_strides, new_token
from mycelia.trace.location import user_location
from mycelia.trace.tracer import Trace, TracedTensor

if TYPE_CHECKING:
    from mycelia.engine.compiled import CompiledGraph
    from mycelia.engine.repeated_backward import RepeatedBackward

MAX_KEPT = 4096


def _compile_graph(graph: Graph, name: str) -> CompiledGraph:
    """Brings in the compiler, and with it the native fast path, when the first operator runs."""
    from mycelia.engine import fast_path
    from mycelia.engine.compiled import CompiledGraph

    fast_path.install()
    return CompiledGraph(graph, [], name)


class EagerEngine:
    """The interpreter at the bottom of every thread's stack."""

    native = True  # a tape directly above may be written by `mycelia.engine.fast_path`

    def __init__(self) -> None:
        self._compiled: dict[Any, CompiledGraph] = {}
        self.synchronous = False  # for debugging: each operator on its own, gradients too
        self._passes: RepeatedBackward | None = None

    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        key = (op.name, *[(x._dtype.code, x._shape) for x in inputs], *attrs.values())
        try:
            compiled = self._compiled.get(key)
        except TypeError:  # an attribute that cannot be a key, such as a constant's array
            return self._unkeyed(op, inputs, attrs)
        if compiled is None:
            special = _SPECIAL.get(op.name)
            if special is not None:
                return special(self, inputs, attrs)
            compiled = self._compile(key, op, inputs, attrs)
        dense = [x if x._view is None or x.is_contiguous() else self.contiguous(x) for x in inputs]
        launchable = compiled.direct
        results = compiled.run(dense) if launchable is None else launchable.run(dense)
        return results[0] if op.num_outputs == 1 else tuple(results)

    def _compile(
        self, key: tuple, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]
    ) -> CompiledGraph:
        for x in inputs:
            if not isinstance(x, Tensor) or x._storage is None:
                _refuse(op, x)
        graph = Graph(op.name)
        node = graph.add(op, *[graph.input(x.type) for x in inputs], **attrs)
        graph.outputs = list(node.outputs)
        return self._keep(key, _compile_graph(graph, op.name))

    def _keep(self, key: tuple, compiled: CompiledGraph) -> CompiledGraph:
        if len(self._compiled) >= MAX_KEPT:
            self._compiled.pop(next(iter(self._compiled)))
        self._compiled[key] = compiled
        return compiled

    def _unkeyed(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        if op.name == "Constant":
            return Tensor.from_numpy(attrs["value"])
        graph = Graph(op.name)
        node = graph.add(op, *[graph.input(x.type) for x in inputs], **attrs)
        graph.outputs = list(node.outputs)
        results = _compile_graph(graph, op.name).run([self.contiguous(x) for x in inputs])
        return results[0] if op.num_outputs == 1 else tuple(results)

    def whole_backward(
        self,
        records: Sequence[Any],
        outputs: Sequence[Tensor],
        cotangents: Sequence[Tensor | None],
        wrt: Sequence[int],
    ) -> list[Tensor | None] | None:
        """What `Tape.backward` asks for from one plan, if the pass is known to repeat; else None."""
        if self.synchronous:
            return None
        passes = self._passes
        if passes is None:
            from mycelia.engine.repeated_backward import RepeatedBackward

            passes = self._passes = RepeatedBackward()
        return passes.run(records, outputs, cotangents, wrt)

    # -- memory --------------------------------------------------------------------------------------------
    def contiguous(self, x: Tensor) -> Tensor:
        """The tensor itself where it is dense, else a dense copy, made by replaying its views on their
        root."""
        if x.is_contiguous():
            return x
        root, chain = x._view.root, x._view.chain
        key = (
            "contiguous",
            root._dtype.code,
            root._shape,
            root._strides,
            tuple((op.name, *a.values()) for op, a in chain),
        )
        compiled = self._compiled.get(key)
        if compiled is None:
            graph = Graph("contiguous")
            value = graph.input(root.type)
            for op, attrs in chain:
                value = graph.add(op, value, **attrs).output
            graph.outputs = [value]
            compiled = self._keep(key, _compile_graph(graph, "contiguous"))
        return compiled.run([root])[0]

    def write(self, target: Tensor, value: Tensor) -> None:
        value = self.contiguous(value)
        storage = target._storage
        root = target if target._view is None else target._view.root
        if target.is_contiguous():
            if target.size:
                if value._storage is storage:
                    value = Tensor(value)
                storage.device.copy(target.address, value.address, target.nbytes)
        else:
            self._write_through(root, target._view.chain, target, value)
        storage.version += 1
        if root._token is not None:
            root._token = new_token()
            if target._view is not None:
                target._view.seen = root._token

    def _write_through(self, root: Tensor, chain: tuple, target: Tensor, value: Tensor) -> None:
        key = ("write", root._dtype.code, root._shape, tuple((op.name, *a.values()) for op, a in chain))
        compiled = self._compiled.get(key)
        if compiled is None:
            trace = Trace("write")
            stand_in = Tensor.wrap(root._storage, root._shape, root._dtype)
            new = Tensor.wrap(value._storage, value._shape, value._dtype)
            trace.argument(stand_in)
            trace.argument(new)
            with dispatch.interpreting(trace):
                shown = apply_chain(stand_in, chain)
                trace.write(shown, new)
            compiled = self._keep(key, _compile_graph(trace.finish([]), "write"))
        compiled.run([root, value])

    # -- composites ----------------------------------------------------------------------------------------
    def run_composite(self, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Carries out a function of several operators as one plan (outside any tape or trace)."""
        from mycelia.engine import jit

        try:
            return jit.call_compiled(function, args, kwargs)
        except IndexError as error:  # the plan names the line that it was first made for
            text, mark, _ = str(error).rpartition("\n  at ")
            where = user_location()
            if mark:
                error.args = (text + (f"{mark}{where}" if where else ""),)
            raise


def _refuse(op: Operator, x: Any) -> None:
    if isinstance(x, TracedTensor):
        raise RuntimeError(
            f"{op.name}: received a tensor of a graph that is no longer being traced ({x.value.type}). A "
            f"function under jit kept it, e.g. in an attribute or a list; return it from the function instead"
        )
    raise TypeError(f"{op.name}: operands must be tensors. Received: {x!r} (of type {type(x).__name__})")


# -- operators that only make another view
# ---------------------------------------------------------------------
def _view_of(
    x: Tensor, op_name: str, attrs: dict[str, Any], offset: int, strides: tuple, shape: tuple
) -> Tensor:
    from mycelia.ir import operator as registry

    y = Tensor.wrap(x._storage, tuple(shape), x._dtype, tuple(strides), offset)
    root, chain = (x, ()) if x._view is None else (x._view.root, x._view.chain)
    if root._token is None:
        root._token = new_token()
    y._view = View(root, (*chain, (registry.get(op_name), attrs)), root._token)
    return y


_view_shapes: dict[tuple, tuple] = {}


def _checked(op_name: str, x: Tensor, attrs: dict[str, Any]) -> tuple:
    """The shape of a view, by the operator's own rule."""
    key = (op_name, x._shape, *attrs.values())
    shape = _view_shapes.get(key)
    if shape is None:
        from mycelia.ir import operator as registry

        if len(_view_shapes) >= MAX_KEPT:
            _view_shapes.clear()
        shape = _view_shapes[key] = registry.get(op_name).infer(x.type, **attrs).shape
    return shape


def _reshape(engine: EagerEngine, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Tensor:
    x = inputs[0]
    shape = _checked("Reshape", x, attrs)
    strides = reshaped_strides(x._shape, x._strides, shape)
    if strides is None:
        x = engine.contiguous(x)
        strides = dense_strides(shape)
    return _view_of(x, "Reshape", attrs, x._offset, strides, shape)


def reshaped_strides(
    shape: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> tuple[int, ...] | None:
    """Strides that show memory of one shape as another, or None where only a copy can."""
    if 0 in shape:
        return dense_strides(new)
    runs: list[list[int]] = []  # [elements, step] of axes that together are one evenly spaced run
    for extent, stride in zip(shape, strides):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = [runs[-1][0] * extent, stride]
        else:
            runs.append([extent, stride])
    result, left, step = [], 1, 1
    for extent in reversed(new):
        if extent == 1:
            result.append(step)
            continue
        if left == 1:
            left, step = runs.pop()
        if left % extent:
            return None
        result.append(step)
        left, step = left // extent, step * extent
    return tuple(reversed(result))


def _transpose(engine: EagerEngine, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Tensor:
    x, perm = inputs[0], attrs["perm"]
    shape = _checked("Transpose", x, attrs)
    return _view_of(x, "Transpose", attrs, x._offset, tuple(x._strides[p] for p in perm), shape)


def _strided_slice(engine: EagerEngine, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Tensor:
    x = inputs[0]
    shape = _checked("StridedSlice", x, attrs)
    offset = x._offset + (sum(b * s for b, s in zip(attrs["begin"], x._strides)) if all(shape) else 0)
    strides = tuple(s * step for s, step in zip(x._strides, attrs["strides"]))
    return _view_of(x, "StridedSlice", attrs, offset, strides, shape)


def _broadcast_to(engine: EagerEngine, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Tensor:
    x = inputs[0]
    shape = _checked("BroadcastTo", x, attrs)
    lead = len(shape) - x.ndim
    strides = (0,) * lead + tuple(
        0 if d == 1 and n != 1 else s for d, n, s in zip(x._shape, shape[lead:], x._strides)
    )
    return _view_of(x, "BroadcastTo", attrs, x._offset, strides, shape)


# -- operators whose effect is on the host or on a storage
# -----------------------------------------------------
def _assign(engine: EagerEngine, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Tensor:
    engine.write(inputs[0], inputs[1])
    return inputs[0]


def _constant(engine: EagerEngine, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Tensor:
    return Tensor.from_numpy(attrs["value"])


_SPECIAL: dict[str, Callable[[EagerEngine, Sequence[Tensor], dict[str, Any]], Any]] = {
    "Reshape": _reshape,
    "Transpose": _transpose,
    "StridedSlice": _strided_slice,
    "BroadcastTo": _broadcast_to,
    "Assign": _assign,
    "Constant": _constant,
}


ENGINE = EagerEngine()


def install() -> None:
    """Makes the eager engine the base of every thread's stack of interpreters, and the runner of
    composites."""
    dispatch.set_base(ENGINE)
    composite.set_composite_runner(ENGINE.run_composite)


__all__ = ["ENGINE", "EagerEngine", "Storage", "install"]
