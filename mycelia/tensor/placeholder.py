"""Tensors that only describe what is to come: ``Tensor(shape=[None, 3], dtype=ms.float32)`` and `Symbol`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.tensor.tensor import Tensor


class Symbol:
    """A dimension of a `Tensor` that describes an input of a compiled function.

    Args:
        max: the largest extent; 0 for no bound.
        min: the smallest.
        divisor, remainder: the extent is ``divisor * n + remainder``.
        unique: whether each use of this symbol is a dimension of its own; else all uses have one extent.

    Raises:
        TypeError: not ints (``unique``: not a bool).
        ValueError: a divisor or ``min`` that is not positive, or ``max`` below ``min``.

    Example:
        >>> Tensor(shape=[Symbol(divisor=8), 3], dtype=ms.float32)
    """

    def __init__(
        self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0, unique: bool = False, **_: Any
    ) -> None:
        for name, value in (("max", max), ("min", min), ("divisor", divisor), ("remainder", remainder)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"Symbol: {name} must be an int. Received: {name}={value!r}")
        if not isinstance(unique, bool):
            raise TypeError(f"Symbol: unique must be a bool. Received: unique={unique!r}")
        if divisor < 1 or min < 1:
            raise ValueError(
                f"Symbol: divisor and min must be positive. Received: divisor={divisor}, min={min}"
            )
        if max and max < min:
            raise ValueError(f"Symbol: max must be 0 or at least min. Received: max={max}, min={min}")
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique

    def admits(self, extent: int) -> bool:
        """Whether a tensor may have this extent."""
        return (
            self.min <= extent
            and (not self.max or extent <= self.max)
            and (extent - self.remainder) % self.divisor == 0
        )

    def __repr__(self) -> str:
        given = [f"{k}={v}" for k, v in vars(self).items() if v != _DEFAULTS[k]]
        return f"Symbol({', '.join(given)})"


_DEFAULTS = {"max": 0, "min": 1, "divisor": 1, "remainder": 0, "unique": False}


class Placeholder(Tensor):
    """A tensor without elements.

    Attributes:
        dims: an int, a `Symbol`, or None where the extent is open. ``shape`` shows -1 there.
    """

    __slots__ = ("dims",)

    def __init__(
        self, input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None, **_: Any
    ) -> None:
        if input_data is not None or init is not None or dtype is None:
            raise ValueError(
                "Tensor: a shape with None or a Symbol in it describes an input: it needs dtype, and neither "
                f"input_data nor init. Received: shape={shape!r}, dtype={dtype!r}, init={init!r}"
            )
        self.dims = tuple(shape)
        for d in self.dims:
            if not (d is None or isinstance(d, (Symbol, int)) and not isinstance(d, bool)):
                raise TypeError(
                    f"Tensor: shape must hold ints, None or Symbols. Received: {d!r} (of type "
                    f"{type(d).__name__}) in {list(self.dims)!r}"
                )
        self._storage = None
        self._shape = tuple([d if isinstance(d, int) else -1 for d in self.dims])
        self._dtype = dtype if isinstance(dtype, DType) else dtypes.from_numpy_dtype(dtype)
        self._token = self._view = None

    def is_contiguous(self) -> bool:
        return True

    def asnumpy(self) -> Any:
        raise ValueError(
            f"{self!r} describes an input and has no elements; it is for Cell.set_inputs and for jit's "
            "input_signature"
        )

    numpy = asnumpy

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self._shape)}, dtype={self._dtype}, value=)"

    __str__ = __repr__


def is_open(shape: Any) -> bool:
    """Whether a shape leaves an extent open."""
    return isinstance(shape, Sequence) and any(d is None or isinstance(d, Symbol) for d in shape)
