"""Samples: the inputs on which an operator is tested. One record per operator expands into all of its
    tests."""
from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ir.types import TensorType


@dataclass(frozen=True)
class Sample:
    """One set of inputs and attributes.

    Attributes:
        inputs: NumPy arrays, perhaps not contiguous.
        attrs: the operator's attributes.
        gradient: whether the function is smooth around these inputs, so that finite differences hold.
        tolerance: factor on the tolerances of the tests, for long sums.
    """

    inputs: tuple[np.ndarray, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    gradient: bool = True
    tolerance: float = 1.0

    @property
    def label(self) -> str:
        shapes = ",".join("x".join(map(str, a.shape)) or "0d" for a in self.inputs)
        kinds = "/".join(dict.fromkeys(str(a.dtype) for a in self.inputs))
        contiguous = "" if all(a.flags.c_contiguous for a in self.inputs) else "-strided"
        attrs = ",".join(
            f"{k}={getattr(v, 'name', v)}".replace(" ", "") for k, v in self.attrs.items() if not callable(v)
        )
        return f"{kinds}-{shapes}{contiguous}" + (f"-{attrs}" if attrs else "")


@dataclass(frozen=True)
class ErrorCase:
    """Types and attributes that an operator must refuse, and what it must say."""

    types: tuple[TensorType, ...]
    error: type[Exception]
    match: str
    attrs: dict[str, Any] = field(default_factory=dict)


Samples = Callable[[], Iterator[Sample]]


def tensor(dtype: DType, *shape: int) -> TensorType:
    return TensorType(dtype, shape)


def values(shape: Sequence[int], dtype: DType = dtypes.float32, low: float = -2.0, high: float = 2.0,
           key: str = "", away_from: Sequence[float] = ()) -> np.ndarray:
    """Reproducible elements in [low, high]; floats keep 0.1 away from the points ``away_from``."""
    seed = zlib.crc32(repr((tuple(shape), dtype.name, low, high, key)).encode())
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        first = max(int(low), 0) if dtype.kind == "u" else int(np.ceil(low))
        return np.asarray(rng.integers(first, int(np.floor(high)) + 1, shape)).astype(dtype.numpy)
    array = np.asarray(rng.uniform(low, high, shape))
    for point in away_from:
        near = np.abs(array - point) < 0.1
        array = np.where(near, point + np.where(array < point, -0.1, 0.1) + (array - point), array)
    return array.astype(dtype.numpy)


def distinct(
    shape: Sequence[int], dtype: DType = dtypes.float32, step: float = 0.25, key: str = ""
) -> np.ndarray:
    """Elements in random order that differ by at least ``step``: no ties, no kinks for finite differences."""
    count = int(np.prod(shape, dtype=int))
    rng = np.random.default_rng(zlib.crc32(repr((tuple(shape), key)).encode()))
    return ((rng.permutation(count) - count // 2) * step + step / 3).reshape(shape).astype(dtype.numpy)


def strided(array: np.ndarray) -> np.ndarray:
    """The same elements in memory that is not contiguous: every second one of a transposed buffer."""
    if array.ndim == 0:
        return array
    buffer = np.zeros(tuple(2 * d for d in array.shape[::-1]), array.dtype)
    view = buffer.T[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


UNARY_SHAPES = ((), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 17))
BINARY_SHAPES = (((), ()), ((3,), ()), ((), (2, 3)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((0, 3), (1, 3)),
                 ((5, 1), (1, 0)), ((17,), (17,)), ((33, 9), (33, 9)))


def unary(takes: Sequence[DType], low: float = -2.0, high: float = 2.0, away_from: Sequence[float] = (),
          gradient: bool = True) -> Samples:
    """Samples of a pointwise operator of one input, over the domain [low, high]."""
    def samples() -> Iterator[Sample]:
        for dtype in takes:
            full = dtype in (dtypes.float32, dtypes.float64)
            for shape in UNARY_SHAPES if full else ((), (0,), (3, 5)):
                yield Sample((values(shape, dtype, low, high, "x", away_from),), gradient=gradient)
            yield Sample((strided(values((4, 6), dtype, low, high, "x", away_from)),), gradient=gradient)
    return samples


def binary(takes: Sequence[DType], low: float = -2.0, high: float = 2.0, *, low2: float | None = None,
           high2: float | None = None, away_from: Sequence[float] = (), gradient: bool = True) -> Samples:
    """Samples of a pointwise operator of two inputs; ``low2``, ``high2``, ``away_from`` bound the second
    one."""
    def second(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        array = values(
            shape, dtype, low if low2 is None else low2, high if high2 is None else high2, "y", away_from
        )
        if away_from and dtype.is_integer:  # integers keep away by stepping aside
            array = np.where(array == 0, np.ones_like(array), array)
        return array

    def samples() -> Iterator[Sample]:
        for dtype in takes:
            full = dtype in (dtypes.float32, dtypes.float64)
            for a, b in BINARY_SHAPES if full else (((), ()), ((2, 3), (3,)), ((0,), (1,))):
                yield Sample((values(a, dtype, low, high, "x"), second(b, dtype)), gradient=gradient)
            yield Sample((strided(values((4, 6), dtype, low, high, "x")), strided(second((4, 6), dtype))),
                         gradient=gradient)
    return samples


def unary_errors(refused: DType | None) -> list[ErrorCase]:
    return (
        []
        if refused is None
        else [ErrorCase((tensor(refused, 3),), TypeError, r"dtype must be .*Received: \(")]
    )


def binary_errors(refused: DType | None = None) -> list[ErrorCase]:
    f32 = dtypes.float32 if refused is not dtypes.float32 else dtypes.int32
    cases = [ErrorCase((tensor(f32, 3), tensor(f32, 2)), ValueError, r"must broadcast.*3 and 2"),
             ErrorCase((tensor(f32, 3), tensor(dtypes.int8, 3)), TypeError, r"one dtype.*int8")]
    if refused is not None:
        cases.append(ErrorCase((tensor(refused, 3),) * 2, TypeError, r"dtype must be "))
    return cases
