"""Vectorising maps: `vmap` runs a function once over tensors that carry a hidden batch axis.

`Batch` is an interpreter: pointwise operators align the hidden axes and broadcast, every other operator has
a batch rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.ir import operator as registry
from mycelia.ir.operator import Operator
from mycelia.ops import dispatch
from mycelia.ops.dispatch import Interpreter
from mycelia.tensor.tensor import Tensor


class BatchedTensor(Tensor):
    """A tensor that looks like one element of a batch.

    Attributes:
        inner: the tensor with the batch axis.
        axis: where it is.
        level: the `Batch` it belongs to.
    """

    __slots__ = ("inner", "axis", "level")

    def __init__(self, inner: Tensor, axis: int, level: Batch) -> None:
        self.inner, self.axis, self.level = inner, axis, level
        self._shape = inner.shape[:axis] + inner.shape[axis + 1 :]
        self._dtype, self._storage = inner.dtype, None
        self._token = self._view = None

    def again(self) -> BatchedTensor:
        """Another object for the same value."""
        return BatchedTensor(self.inner, self.axis, self.level)

    def is_contiguous(self) -> bool:
        return True

    def asnumpy(self) -> Any:
        raise RuntimeError(
            f"asnumpy() inside vmap: a tensor of shape {self._shape} stands for {self.level.size} of "
            f"them; return it from the function and read it outside"
        )

    numpy = asnumpy

    def __repr__(self) -> str:
        return f"BatchedTensor({self.type}, batch of {self.level.size})"

    __str__ = __repr__


class Batch:
    """Interpreter of one `vmap` over an axis of ``size``."""

    def __init__(self, size: Any, below: Interpreter | None = None) -> None:
        self.size = size
        self.below = below or dispatch.current()

    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        axes: list[Any] = [x.axis if type(x) is BatchedTensor and x.level is self else None for x in inputs]
        if all(axis is None for axis in axes):
            return self.below.bind(op, inputs, attrs)
        plain = [x.inner if axis is not None else x for x, axis in zip(inputs, axes)]  # type: ignore[attr-defined]
        outputs: Any
        out_axes: Any
        with dispatch.interpreting(self.below):
            if op.pointwise:
                outputs, out_axes = self._pointwise(op, plain, axes, attrs)
            elif op.batch is not None:
                outputs, out_axes = op.batch(axes, *plain, **attrs)
            else:
                raise NotImplementedError(
                    f"vmap: operator {op.name} has no batch rule; loop over the axis instead"
                )
        if op.num_outputs == 1:
            return outputs if out_axes is None else BatchedTensor(outputs, out_axes, self)
        return tuple(
            y if axis is None else BatchedTensor(y, axis, self) for y, axis in zip(outputs, out_axes)
        )

    def _pointwise(
        self, op: Operator, inputs: list[Tensor], axes: Sequence[int | None], attrs: dict[str, Any]
    ) -> tuple[Any, int]:
        rank = max(x.ndim - (axis is not None) for x, axis in zip(inputs, axes))
        aligned = []
        for x, axis in zip(inputs, axes):
            if axis is not None:
                x = move_axis(x, axis, 0)
                missing = rank - (x.ndim - 1)
                if missing:
                    x = registry.get("Reshape")(x, shape=(x.shape[0], *(1,) * missing, *x.shape[1:]))
            aligned.append(x)
        return op(*aligned, **attrs), 0

    def write(self, target: Any, value: Any) -> None:
        mine = type(target) is BatchedTensor and target.level is self
        if not mine:
            if type(value) is BatchedTensor and value.level is self:
                raise RuntimeError(
                    "vmap: a batched value cannot be written into a tensor from outside the function; "
                    "write to a tensor made inside, e.g. ops.zeros_like of a mapped argument"
                )
            self.below.write(target, value)
            return
        if type(value) is BatchedTensor and value.level is self:
            inner = move_axis(value.inner, value.axis, target.axis)
        else:
            with dispatch.interpreting(self.below):
                lead = registry.get("Reshape")(value, shape=(1, *value.shape))
                wide = registry.get("BroadcastTo")(lead, shape=(self.size, *value.shape))
                inner = move_axis(wide, 0, target.axis)
        self.below.write(target.inner, inner)

    @property
    def constant(self) -> Any:
        return getattr(self.below, "constant", None)


def move_axis(x: Tensor, source: int, destination: int) -> Tensor:
    """The tensor with one axis moved; itself when that changes nothing."""
    if source == destination:
        return x
    order = [i for i in range(x.ndim) if i != source]
    order.insert(destination, source)
    return registry.get("Transpose")(x, perm=tuple(order))


def unbatch(y: Tensor, axis: int, level: Batch) -> Tensor:
    """The tensor of all elements of a batch, which one that is the same for all is repeated for."""
    if type(y) is BatchedTensor and y.level is level:
        return move_axis(y.inner, y.axis, axis % y.inner.ndim)
    lead = registry.get("Reshape")(y, shape=(1, *y.shape))
    return move_axis(registry.get("BroadcastTo")(lead, shape=(level.size, *y.shape)), 0, axis % (y.ndim + 1))
