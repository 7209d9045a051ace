"""Choosing between elements, and converting their type."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import ALL, DType, bool_
from mycelia.ir.types import TensorType
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.inference import broadcast_shapes, require_dtypes, wrong_dtype
from mycelia.ops.reference import is_float
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values


def _select_samples() -> Iterator[Sample]:
    for dtype in ALL:
        for c, a, b in (((), (), ()), ((2, 3), (3,), (2, 1)), ((3, 1), (4,), ()), ((0,), (1,), (0,))):
            yield Sample((values(c, bool_, key="c"), values(a, dtype, key="a"), values(b, dtype, key="b")))
    c, a, b = (
        values((4, 6), d, key=k) for d, k in ((bool_, "c"), (dtypes.float32, "a"), (dtypes.float32, "b"))
    )
    yield Sample((strided(c), strided(a), strided(b)))


@operator("Select", pointwise=True)
class Select:
    """``a`` where ``condition`` holds, else ``b``."""

    def infer(condition: TensorType, a: TensorType, b: TensorType) -> TensorType:
        types = (condition, a, b)
        if condition.dtype is not bool_:
            raise wrong_dtype("Select", types, "the condition must be bool", "Compare it, e.g. x != 0")
        require_dtypes("Select", types[1:], ALL)
        return TensorType(a.dtype, broadcast_shapes("Select", types))

    def vjp(g, condition, a, b, out):
        zero = like(0, g)
        return None, Select(condition, g, zero), Select(condition, zero, g)

    def body(m, condition, a, b): return m.select(condition, a, b)
    reference = np.where
    samples = _select_samples
    errors = [
        ErrorCase((tensor(dtypes.float32, 2),) * 3, TypeError, "condition must be bool"),
        ErrorCase(
            (tensor(bool_, 2), tensor(dtypes.float32, 2), tensor(dtypes.int8, 2)), TypeError, "one dtype"
        ),
        ErrorCase(
            (tensor(bool_, 2), tensor(dtypes.int8, 3), tensor(dtypes.int8, 3)), ValueError, "broadcast"
        ),
    ]


def _convert(x: np.ndarray, *, dtype: DType) -> np.ndarray:
    """Floats go to integers toward zero: NaN gives 0, what is out of range saturates at 32 (64) bits, then
    wraps."""
    if is_float(x.dtype) and dtype.is_integer:
        wide = np.dtype(np.uint64 if dtype is dtypes.uint64 else
                        np.int64 if dtype.itemsize == 8 or dtype is dtypes.uint32 else np.int32)
        info, exact = np.iinfo(wide), np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0)
        inside = (exact > float(info.min)) & (exact < float(info.max))
        whole = np.where(inside, exact, 0.0).astype(wide)
        whole = np.where(exact >= float(info.max), wide.type(info.max), whole)
        return np.where(exact <= float(info.min), wide.type(info.min), whole).astype(dtype.numpy)
    with np.errstate(all="ignore"):
        return x.astype(dtype.numpy)


def _cast_samples() -> Iterator[Sample]:
    for source in ALL:
        for target in ALL:
            smooth = source.is_float and target.is_float
            yield Sample((values((3, 5), source, -9.0, 99.0),), {"dtype": target}, gradient=smooth)
    for shape in ((), (0,)):
        yield Sample((values(shape),), {"dtype": dtypes.float16})
    yield Sample((strided(values((4, 6))),), {"dtype": dtypes.float64})
    edge = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 300.7, -1.5], np.float32)
    for target in (dtypes.uint8, dtypes.int32, dtypes.int64, bool_):
        yield Sample((edge,), {"dtype": target}, gradient=False)


@operator("Cast", pointwise=True)
class Cast:
    """The elements as another dtype."""

    def infer(x: TensorType, *, dtype: DType) -> TensorType:
        if not isinstance(dtype, DType):
            raise TypeError(
                f"Cast: dtype must be an element type such as mindspore.float32. Received: dtype={dtype!r} "
                f"(of type {type(dtype).__name__})"
            )
        if x.dtype.kind == "c" and dtype.kind not in "cb":
            cure = "Take ops.real or ops.abs of it"
            raise wrong_dtype("Cast", (x,), f"a complex number is no {dtype.name}", cure)
        return x.with_dtype(dtype)

    def vjp(g, x, y, *, dtype):
        if x.dtype.is_float and g.dtype.kind == "c":
            from mycelia.ops.complex_numbers import Real
            g = Real(g)
        return Cast(g, dtype=x.dtype) if x.dtype.kind in "fc" else None

    def body(m, x, *, dtype): return m.cast(x, dtype)
    reference = _convert
    samples = _cast_samples
    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2),), TypeError, "dtype must be an element type", {"dtype": "float"}
        )
    ]
