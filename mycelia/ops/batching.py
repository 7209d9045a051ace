"""What the batch rules share: a batch rule gets inputs that carry the batch on some axis, or not at all."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia.tensor.tensor import Tensor

Axes = Sequence["int | None"]


def at_front(x: Tensor, axis: int) -> Tensor:
    """The tensor with its batch axis moved to the front."""
    if axis == 0:
        return x
    from mycelia.ops.movement import Transpose
    return Transpose(x, perm=(axis, *(i for i in range(x.ndim) if i != axis)))


def batch_size(axes: Axes, inputs: Sequence[Tensor]) -> Any:
    return next(x.shape[axis] for x, axis in zip(inputs, axes) if axis is not None)


def repeated(x: Tensor, size: Any) -> Tensor:
    """The tensor repeated along a new leading axis."""
    from mycelia.ops.movement import BroadcastTo
    return BroadcastTo(x, shape=(size, *x.shape))


def all_at_front(axes: Axes, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Every input with the batch in front; those without one are repeated."""
    size = batch_size(axes, inputs)
    return [repeated(x, size) if axis is None else at_front(x, axis) for x, axis in zip(inputs, axes)]


def reshape(x: Tensor, *shape: Any) -> Tensor:
    from mycelia.ops.movement import Reshape
    return x if x.shape == shape else Reshape(x, shape=shape)


def fold(x: Tensor) -> Tensor:
    """Merges the batch axis in front with the next one."""
    return reshape(x, x.shape[0] * x.shape[1], *x.shape[2:])


def unfold(x: Tensor, size: Any) -> Tensor:
    """Undoes `fold`."""
    return reshape(x, size, x.shape[0] // size, *x.shape[1:])


def folded(apply: Callable[..., Any]) -> Callable[..., Any]:
    """The batch rule of an operator that treats the leading axis of every input and output as independent
    items."""
    def batch(axes: Axes, *inputs: Tensor, **attrs: Any) -> tuple[Tensor, int]:
        size = batch_size(axes, inputs)
        merged = [fold(x) for x in all_at_front(axes, inputs)]
        return unfold(apply(*merged, **attrs), size), 0
    return batch
