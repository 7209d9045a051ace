"""Operations on arrays of any kind of data: parts, padding, comparison."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from mycelia.dataset.block import Column, as_array, column_of, describe
from mycelia.dataset.transforms.operation import Operation
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType


class Relational(IntEnum):
    """A comparison, for `Mask`."""

    EQ = 0
    NE = 1
    GT = 2
    GE = 3
    LT = 4
    LE = 5


_COMPARE = {
    Relational.EQ: np.equal,
    Relational.NE: np.not_equal,
    Relational.GT: np.greater,
    Relational.GE: np.greater_equal,
    Relational.LT: np.less,
    Relational.LE: np.less_equal,
}


class Mask(Operation):
    """Where a comparison with a constant holds.

    Args:
        operator: of `Relational`.
        constant: what is compared with.
        dtype: element type of the result: bool (default) or a number type.

    Example:
        >>> Mask(Relational.GT, 1)(np.array([0, 1, 2]))
        array([False, False,  True])
    """

    def __init__(self, operator: Relational, constant: Any, dtype: Any = dtypes.bool_) -> None:
        if not isinstance(operator, Relational):
            raise TypeError(f"Mask: operator must be of Relational. Received: operator={operator!r}")
        if not isinstance(constant, (str, int, float, bool)):
            raise TypeError(f"Mask: constant must be a number or text. Received: constant={constant!r}")
        self.operator, self.constant = operator, constant
        self.dtype = dtype.numpy if isinstance(dtype, DType) else np.dtype(dtype)

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if (x.dtype.kind in "US") != isinstance(self.constant, str):
            raise TypeError(f"Mask: text is compared with text. Received: {x.dtype} and {self.constant!r}")
        return _COMPARE[self.operator](x, self.constant).astype(self.dtype)


class PadEnd(Operation):
    """Longer (or cut off) at the end of each axis.

    Args:
        pad_shape: the extent of each axis; None leaves it as it is.
        pad_value: what fills; default: 0, or empty text.

    Example:
        >>> PadEnd([4], -1)(np.array([1, 2]))
        array([ 1,  2, -1, -1])
    """

    def __init__(self, pad_shape: Sequence[int | None], pad_value: Any = None) -> None:
        if not isinstance(pad_shape, list):
            raise TypeError(
                f"PadEnd: pad_shape must be a list. Received: pad_shape={pad_shape!r} (of type "
                f"{type(pad_shape).__name__})"
            )
        for extent in pad_shape:
            if extent is not None and (type(extent) is not int or extent < 1):
                raise ValueError(
                    f"PadEnd: pad_shape must be positive integers or None. Received: {pad_shape!r}"
                )
        self.pad_shape, self.pad_value = pad_shape, pad_value

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if x.ndim - 1 != len(self.pad_shape):
            raise RuntimeError(
                f"PadEnd: pad_shape must have an extent for each axis. Received: {self.pad_shape} for "
                f"{describe(x[0])}"
            )
        text = x.dtype.kind in "US"
        value = ("" if text else 0) if self.pad_value is None else self.pad_value
        if text != isinstance(value, str):
            raise RuntimeError(
                f"PadEnd: text is padded with text, numbers with numbers. Received: {x.dtype} and {value!r}"
            )
        kind = np.promote_types(x.dtype, f"U{len(str(value))}") if text else x.dtype
        extents = [old if new is None else new for new, old in zip(self.pad_shape, x.shape[1:])]
        result = np.full((len(x), *extents), value, kind)
        kept = tuple(slice(min(new, old)) for new, old in zip(extents, x.shape[1:]))
        result[(slice(None), *kept)] = x[(slice(None), *kept)]
        return result


class Slice(Operation):
    """A part of an array.

    Args:
        slices: for each axis a slice, an index, a list of indices, or None or ``...`` for all.

    Example:
        >>> Slice(slice(1, 3))(np.array([1, 2, 3, 4]))
        array([2, 3])
    """

    def __init__(self, *slices: Any) -> None:
        for part in slices:
            listed = isinstance(part, list) and part and all(type(i) is int for i in part)
            if not (
                listed or part is None or part is Ellipsis or type(part) is int or isinstance(part, slice)
            ):
                raise TypeError(
                    "Slice: slices must be slices, integers, non-empty lists of them, None or .... Received: "
                    f"{part!r}"
                )
        self.slices = slices

    def stack(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if len(self.slices) > x.ndim - 1:
            raise RuntimeError(f"Slice: has {len(self.slices)} parts for {describe(x[0])}")
        for axis, part in enumerate(self.slices, 1):
            if part is None or part is Ellipsis:
                continue
            index = [part] if type(part) is int else part
            try:
                x = x[(slice(None),) * axis + (index,)]
            except IndexError as error:
                raise RuntimeError(
                    f"Slice: {part!r} lies outside of axis {axis - 1} of {describe(x[0])}"
                ) from error
            if not x.shape[axis]:
                raise RuntimeError(f"Slice: nothing is left of axis {axis - 1} by {part!r}")
        return x


class Concatenate(Operation):
    """Several columns, and perhaps constants, one after another.

    Args:
        axis: along which; only 0 (or -1), of arrays of one axis.
        prepend: a constant that comes first.
        append: a constant that comes last.
    """

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        if type(axis) is not int:
            raise TypeError(f"Concatenate: axis must be an integer. Received: axis={axis!r}")
        if axis not in (0, -1):
            raise ValueError(f"Concatenate: only 1D concatenation is supported. Received: axis={axis}")
        self.axis = axis
        self.prepend = None if prepend is None else np.atleast_1d(as_array(prepend))
        self.append = None if append is None else np.atleast_1d(as_array(append))

    def __call__(self, *columns: Any) -> np.ndarray:  # type: ignore[override]
        return self._joined([as_array(x) for x in columns])

    def _joined(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        parts = [part for part in (self.prepend, *arrays, self.append) if part is not None]
        if any(part.ndim != 1 for part in parts):
            raise RuntimeError(
                "Concatenate: arrays must have one axis. Received: "
                f"{', '.join(describe(part) for part in parts)}"
            )
        return np.concatenate(parts)

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        return [column_of([self._joined([np.asarray(x) for x in row]) for row in zip(*columns)])]


class Unique(Operation):
    """The different elements in the order in which they come first, the place of each element among them,
    and how
    often each occurs: three results."""

    def __call__(self, x: Any) -> tuple[np.ndarray, ...]:  # type: ignore[override]
        array = as_array(x).reshape(-1)
        values, first, inverse, counts = np.unique(
            array, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return values[order], place[inverse.reshape(-1)].astype(np.int32), counts[order].astype(np.int32)

    def on_columns(self, columns: list[Column], rng: np.random.Generator) -> list[Column]:
        if len(columns) != 1:
            raise TypeError(f"Unique takes one column. Received: {len(columns)} columns")
        return [column_of(list(part)) for part in zip(*(self(np.asarray(row)) for row in columns[0]))]
