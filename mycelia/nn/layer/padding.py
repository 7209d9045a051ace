"""Padding: elements added around."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.ops.function import padding as pads
from mycelia.ops.movement import Pad as _Pad
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor


class Pad(Cell):
    """Elements added before and after each axis.

    Args:
        paddings: (before, after) for each axis.
        mode: ``"CONSTANT"`` adds zeros, ``"REFLECT"`` mirrors without the edge, ``"SYMMETRIC"`` with it.

    Raises:
        ValueError: another mode, or paddings of another form.
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        rows = paddings if isinstance(paddings, (tuple, list)) else ()
        if not rows or any(not isinstance(r, (tuple, list)) or len(r) != 2 for r in rows):
            raise ValueError(f"Pad: paddings must be (before, after) for each axis. Received: {paddings!r}")
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ValueError(
                f"Pad: mode must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC'. Received: mode={mode!r}"
            )
        self.paddings, self.mode = tuple((int(a), int(b)) for a, b in rows), mode

    def construct(self, x: Tensor) -> Tensor:
        require_tensor("Pad", x)
        if len(self.paddings) != x.ndim:
            raise ValueError(
                f"Pad: the input must have one axis for each of the {len(self.paddings)} paddings. Received: "
                f"a "
                f"tensor of shape {x.shape}"
            )
        if self.mode == "CONSTANT":
            return _Pad(x, paddings=self.paddings, value=0)
        return pads.mirror_pad(x, self.paddings, self.mode)

    def extend_repr(self) -> str:
        return f"paddings={self.paddings}, mode={self.mode!r}"


class _EdgePad(Cell):
    """Elements added around the last axes.

    Args:
        padding: an int, or (before, after) of the last axis, then of the one before it. Where elements are a
            constant, a negative number takes elements away.
        value: the constant.
    """

    axes = 1
    mode = "constant"

    def __init__(self, padding: Any, value: Any = None) -> None:
        super().__init__()
        numbers = (padding,) * (2 * self.axes) if type(padding) is int else padding
        if not isinstance(numbers, (tuple, list)) or any(type(n) is not int for n in numbers):
            raise TypeError(
                f"{self.cls_name}: padding must be an int or a tuple of ints. Received: {padding!r} (of type "
                f"{type(padding).__name__})"
            )
        if len(numbers) % 2 or not 2 <= len(numbers) <= 2 * self.axes:
            raise ValueError(
                f"{self.cls_name}: padding must be an int or {2 * self.axes} ints. Received: {padding!r}"
            )
        if self.mode != "constant" and min(numbers) < 0:
            raise ValueError(f"{self.cls_name}: padding must be at least 0. Received: {padding!r}")
        self.padding, self.value = tuple(numbers), value

    def construct(self, x: Tensor) -> Tensor:
        return pads.pad(x, self.padding, self.mode, self.value)

    def extend_repr(self) -> str:
        return f"padding={self.padding}" + (f", value={self.value}" if self.value is not None else "")


def _edge(name: str, axes: int, mode: str) -> type[_EdgePad]:
    def constant(self: _EdgePad, padding: Any, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(
                f"{name}: value must be a number. Received: {value!r} (of type {type(value).__name__})"
            )
        _EdgePad.__init__(self, padding, value)

    def without_value(self: _EdgePad, padding: Any) -> None:
        _EdgePad.__init__(self, padding)

    members = {
        "axes": axes,
        "mode": mode,
        "__doc__": _EdgePad.__doc__,
        "__module__": "mycelia.nn",
        "__init__": constant if name.startswith("Constant") else without_value,
    }
    return type(name, (_EdgePad,), members)


ConstantPad1d, ConstantPad2d, ConstantPad3d = (_edge(f"ConstantPad{n}d", n, "constant") for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (
    _edge(f"ReflectionPad{n}d", n, "reflect") for n in (1, 2, 3)
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _edge(f"ReplicationPad{n}d", n, "replicate") for n in (1, 2, 3)
)
ZeroPad2d = _edge("ZeroPad2d", 2, "constant")
