"""Abstract tracing: running Python over tensors that hold IR values builds a graph.

A trace maps every tensor that it meets to a value. Tensors made inside it are `TracedTensor`; any other
tensor is captured
as an input of the graph. Writes follow the alias rules of `mycelia.ops.inplace`: a tensor's current value
belongs to
its root, and a view whose root was written since is derived anew when it is read.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from types import FrameType
from typing import Any

import numpy as np

from mycelia.ir.graph import Graph, Value
from mycelia.ir.operator import Operator
from mycelia.ir.types import NeedsConcrete, TensorType
from mycelia.ops import dispatch
from mycelia.ops.inplace import VIEW_OPERATORS, apply_chain, scatter_chain
from mycelia.tensor.tensor import Tensor, View, new_token
from mycelia.trace.location import has_source, user_frame, user_location


class TracedTensor(Tensor):
    """A tensor whose elements exist only when the graph runs."""

    __slots__ = ("trace", "value", "weak", "fixable")

    def __init__(self, trace: Trace, value: Value) -> None:
        self.trace, self.value = trace, value
        self.weak = False  # stands for a Python number: it takes the other operand's dtype
        self.fixable = False  # and whoever needs that number may raise NeedsConcrete to get it
        self._shape, self._dtype = value.type.shape, value.type.dtype
        self._storage = None
        self._token = self._view = None

    def _class(self) -> type:
        if self.fixable:  # what `isinstance(x, float)` asks for after the type
            raise NeedsConcrete("the type of a number")
        return TracedTensor

    __class__ = property(_class)  # type: ignore[assignment]

    @property
    def device(self) -> str:
        return "traced"

    def is_contiguous(self) -> bool:
        return True

    def _read(self, what: str, cure: str = "") -> Any:
        where = user_location(1)
        raise RuntimeError(
            f"{what} of a traced tensor {self.value.type}: inside a graph a tensor has no elements yet, they "
            f"exist when the compiled graph runs{f' ({where})' if where else ''}. {cure or _CURES}"
        )

    def asnumpy(self) -> np.ndarray:
        return self._read("asnumpy()")

    numpy = asnumpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._read("a NumPy array")

    def tolist(self) -> Any:
        return self._read("tolist()")

    def item(self, index: Any = None) -> Any:
        return self._read("item()")

    def __int__(self) -> int:
        return self._read("int()", _ARITHMETIC)

    def __float__(self) -> float:
        return self._read("float()", _ARITHMETIC)

    def __index__(self) -> int:
        return self._read("an index made", _ARITHMETIC)

    def __bool__(self) -> bool:
        return self._read("bool()", _branching(user_frame(1)))

    def __repr__(self) -> str:
        return f"TracedTensor({self.value.type})"

    __str__ = __repr__

    def __deepcopy__(self, memo: dict) -> Tensor:
        return self


_NUMBER_TO_NUMBER = frozenset({"Add", "Sub", "Mul", "Div", "FloorDiv", "FloorMod", "Pow", "Neg", "Abs"})
_NUMBER_TO_TRUTH = frozenset({"Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"})


def _follow_numbers(op: Operator, inputs: Sequence[Tensor], output: TracedTensor) -> None:
    """Arithmetic of Python numbers gives Python numbers. What else is made of nothing but numbers depends on
    their values and types in Python, where they can be had.
    """
    fixable = any(x.fixable for x in inputs)  # type: ignore[attr-defined]
    if op.name in _NUMBER_TO_NUMBER:
        output.weak, output.fixable = True, fixable
    elif op.name in _NUMBER_TO_TRUTH:
        output.fixable = fixable
    elif fixable and op.name != "Cast":  # to the dtype of a tensor that it meets
        raise NeedsConcrete(f"{op.name} of a number")


_CURES = (
    "Return the tensor from the compiled function and read it outside, use ops instead of NumPy, or "
    "ops.print_ to look at it."
)
_ARITHMETIC = (
    "Compute with the tensor itself (x * 2, ops.gather, x[i] with a tensor i); what must be a Python "
    "number, such as a size or an axis, is taken from shapes or passed as an argument."
)


def _branching(frame: FrameType | None) -> str:
    """What to do about a test that could not become a part of the graph, depending on where it stands."""
    if frame is not None:
        code = frame.f_code
        if code.co_name == "<lambda>":
            return (
                "A lambda's tests stay Python: write a function with def, whose if and while become part of "
                "the graph, or use ops.where(test, a, b)."
            )
        if not has_source(code):
            return (
                f"The source of {code.co_name} is not to be had ({code.co_filename}), so that its if and "
                "while cannot become part of the graph: put it into a file or a notebook's cell, or use "
                "ops.where(test, a, b)."
            )
    return (
        "Tests in if, while, and, or, not and conditional expressions become part of the graph where they "
        "can; this one cannot (a loop with break, continue or return, a comprehension's condition, a call "
        "such as any()): use ops.where(test, a, b), or a loop whose test is in its head."
    )


def memory_key(tensor: Tensor) -> tuple:
    """Equal for tensors that show the same elements of the same memory."""
    return (id(tensor._storage), tensor._offset, tensor._shape, tensor._strides, tensor._dtype.code)


class Trace:
    """Builds one graph. Push it with `dispatch.interpreting(trace)`.

    Attributes:
        graph: what has been built so far.
        captures: arguments and tensors from outside, in the order of the graph's inputs.
        arguments: how many of them are arguments; those come first.
        by_root: views from outside enter as their root and the operators that make the view, so that what is
            written to one is seen in all others.
        inner: a subgraph of control flow: what is written to captured tensors is then handed out by the
            caller.
    """

    def __init__(self, name: str = "main", inner: bool = False, by_root: bool = False) -> None:
        self.graph = Graph(name)
        self.by_root = by_root
        self.inner = inner
        self.captures: list[Tensor] = []
        self.arguments = 0
        self.written: dict[int, Tensor] = {}  # captures that were overwritten, by input index
        self.changing: Container[int] = ()  # input indices of what an earlier turn of a loop may have written
        self._values: dict[int, Value] = {}  # id of a captured tensor -> current value
        self._inputs: dict[int, int] = {}  # id of a captured tensor -> input index
        self._tokens: list[tuple[Tensor, int | None]] = []
        self._by_memory: dict[tuple, Tensor] = {}  # captured tensors by the memory that they show

    # -- inputs --------------------------------------------------------------------------------------------
    def argument(self, tensor: Tensor, type: TensorType | None = None, name: str = "") -> TracedTensor:
        """Makes an argument an input, possibly with symbolic dimensions, and returns what the function is
        called with.

        Arguments come before any capture; a tensor given twice is one input.
        """
        if self.by_root and tensor._view is not None:
            root = self.argument(tensor._view.root)
            with dispatch.interpreting(self):
                return apply_chain(root, tensor._view.chain)
        if id(tensor) not in self._values:
            value = self.graph.input(type or tensor.type, name or _input_name(tensor, len(self.captures)))
            self._adopt(tensor, value)
            self.arguments = len(self.captures)
        traced = TracedTensor(self, self._values[id(tensor)])
        if tensor._token is None:
            tensor._token = new_token()
        traced._view = View(tensor, (), tensor._token)
        return traced

    def capture(self, tensor: Tensor, name: str = "") -> Value:
        """Makes a tensor from outside an input of the graph, once."""
        if self.by_root and tensor._view is not None:
            root = self.capture(tensor._view.root)
            with dispatch.interpreting(self):
                return apply_chain(TracedTensor(self, root), tensor._view.chain).value
        if self.inner and tensor._view is not None and self._is_written(tensor._view.root):
            root = TracedTensor(self, self.capture(tensor._view.root))
            with dispatch.interpreting(self):
                return apply_chain(root, tensor._view.chain).value
        known = self._values.get(id(tensor))
        if known is not None:
            return known
        if tensor._storage is not None:
            twin = self._by_memory.setdefault(memory_key(tensor), tensor)
            if twin is not tensor:
                return self._values[id(twin)]
        value = self.graph.input(tensor.type, name or _input_name(tensor, len(self.captures)))
        self._adopt(tensor, value)
        return value

    def _is_written(self, root: Tensor) -> bool:
        """Whether a subgraph overwrites a tensor from outside, so that views of it must follow."""
        if id(root) not in self._inputs and root._storage is not None:
            root = self._by_memory.get(memory_key(root), root)
        index = self._inputs.get(id(root))
        return index is not None and (index in self.written or index in self.changing)

    def _adopt(self, tensor: Tensor, value: Value) -> None:
        self._inputs[id(tensor)] = len(self.captures)
        if self.inner:
            self._tokens.append((tensor, tensor._token))
        self.captures.append(tensor)  # also keeps the id alive
        self._values[id(tensor)] = value

    def value_of(self, tensor: Tensor) -> Value:
        """The value that stands for a tensor now."""
        if type(tensor) is TracedTensor and tensor.trace is self:
            view = tensor._view
            if view is not None and view.seen != view.root._token:
                with dispatch.interpreting(self):
                    tensor.value = apply_chain(self._plain(view.root), view.chain).value
                view.seen = view.root._token
            return tensor.value
        if isinstance(tensor, Tensor):
            return self.capture(tensor)
        raise TypeError(
            f"a graph's operands must be tensors. Received: {tensor!r} (of type {type(tensor).__name__})"
        )

    def _plain(self, tensor: Tensor) -> TracedTensor:
        """A tensor with the current value and no history of views."""
        return TracedTensor(self, self.value_of(tensor))

    def snapshot(self, tensor: Tensor, token: int) -> TracedTensor:
        """A tensor with another's present value and identity, which later writes to that one do not
        change."""
        twin = TracedTensor(self, self.value_of(tensor))
        twin._token = token
        return twin

    # -- the interpreter -----------------------------------------------------------------------------------
    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        values = [self.value_of(x) for x in inputs]
        for name, setting in attrs.items():
            if isinstance(setting, Tensor):  # e.g. a number that became an input of the graph
                raise TypeError(
                    f"{op.name}: {name} must be known when the graph is traced. Received: a traced tensor"
                )
        node = self.graph.add(op, *values, loc=user_location(2), **attrs)
        outputs = tuple(TracedTensor(self, v) for v in node.outputs)
        if inputs and all(getattr(x, "weak", False) for x in inputs):
            _follow_numbers(op, inputs, outputs[0])
        if op.name in VIEW_OPERATORS:
            source = inputs[0]
            root, chain = (source, ()) if source._view is None else (source._view.root, source._view.chain)
            if root._token is None:
                root._token = new_token()
            outputs[0]._view = View(root, (*chain, (op, attrs)), root._token)
        return outputs[0] if op.num_outputs == 1 else outputs

    def write(self, target: Tensor, value: Tensor) -> None:
        new = self.value_of(value)
        view = target._view
        root = target if view is None else view.root
        if view is not None and view.chain:
            with dispatch.interpreting(self):
                new = scatter_chain(self._plain(root), view.chain, TracedTensor(self, new)).value
        self._set_root(root, new)
        if view is not None and type(target) is TracedTensor:
            target.value, view.seen = self.value_of(value), root._token

    def _set_root(self, root: Tensor, new: Value) -> None:
        if type(root) is TracedTensor and root.trace is self and id(root) not in self._inputs:
            if root._view is not None and not root._view.chain:
                self._set_root(root._view.root, new)
            root.value = new
        else:
            self.capture(root)
            owner = root if id(root) in self._inputs else self._by_memory[memory_key(root)]
            self._values[id(owner)] = new
            self.written[self._inputs[id(owner)]] = owner
        root._token = new_token()

    def constant(self, array: np.ndarray) -> TracedTensor:
        return TracedTensor(self, self.graph.constant(array, loc=user_location(2)))

    def forget_writes(self) -> None:
        """Gives captured tensors their identity back: what a subgraph writes happens outside only after its
        node."""
        for tensor, token in self._tokens:
            tensor._token = token

    # -- the end -------------------------------------------------------------------------------------------
    def finish(self, outputs: Sequence[Tensor]) -> Graph:
        """Sets the graph's outputs, and what written inputs hold at the end. No ``Assign`` node says
        when they were: a gradient may still ask for the value before."""
        self.graph.outputs = [self.value_of(x) for x in outputs]
        self.graph.writes = {index: self._values[id(owner)] for index, owner in self.written.items()}
        return self.graph


def _input_name(tensor: Tensor, index: int) -> str:
    name = getattr(tensor, "name", None)
    return name if isinstance(name, str) and name.replace(".", "_").isidentifier() else f"x{index}"


def current_trace() -> Trace | None:
    """The trace that operators applied now end up in, below any tape; None when they are carried out at
    once."""
    interpreter: Any = dispatch.current() if dispatch.is_tracing() else None
    while interpreter is not None and not isinstance(interpreter, Trace):
        interpreter = getattr(interpreter, "below", None)
    return interpreter


def constant(array: Any) -> Tensor:
    """A tensor of fixed elements: a Constant node inside a trace, an ordinary tensor outside."""
    interpreter = dispatch.current()
    make = getattr(interpreter, "constant", None)
    array = np.asarray(array)
    return make(array) if make is not None else Tensor.from_numpy(array)
