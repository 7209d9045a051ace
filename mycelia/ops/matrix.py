"""Matrix products. Both operands have one dtype; half precision accumulates in float32."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front, at_front, fold, unfold
from mycelia.ops.definition import operator
from mycelia.ops.inference import NUMBERS, require_dtypes, require_rank, wrong_shape
from mycelia.ops.movement import Transpose
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, strided, tensor, values


def _matrix_type(name: str, a: TensorType, b: TensorType, transpose_a: bool, transpose_b: bool) -> TensorType:
    dtype = require_dtypes(name, (a, b), NUMBERS)
    (m, k) = a.shape[-2:] if not transpose_a else a.shape[:-3:-1]
    (k2, n) = b.shape[-2:] if not transpose_b else b.shape[:-3:-1]
    if k != k2:
        how = "".join(f", {x} transposed" for x, t in (("a", transpose_a), ("b", transpose_b)) if t)
        raise wrong_shape(
            name,
            (a, b),
            f"the columns of a must be as many as the rows of b, but are {k} and {k2}{how}",
            "Transpose or reshape one of them",
        )
    return TensorType(dtype, (*a.shape[:-2], m, n))


def _vjp(
    op: Any, g: Any, a: Any, b: Any, transpose_a: bool, transpose_b: bool, needed: tuple[bool, bool]
) -> tuple[Any, Any]:
    da = db = None
    if needed[0]:
        da = op(b, g, transpose_a=transpose_b, transpose_b=True) if transpose_a else \
            op(g, b, transpose_a=False, transpose_b=not transpose_b)
    if needed[1]:
        db = op(g, a, transpose_a=True, transpose_b=transpose_a) if transpose_b else \
            op(a, g, transpose_a=not transpose_a, transpose_b=False)
    return da, db


def _product(a: np.ndarray, b: np.ndarray, *, transpose_a: bool, transpose_b: bool) -> np.ndarray:
    a = np.swapaxes(a, -1, -2) if transpose_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b else b
    return np.matmul(a, b)


def _transposes(
    lead: tuple[int, ...], m: int, k: int, n: int, dtype: dtypes.DType, stride: bool = False
) -> Iterator[Sample]:
    for ta in (False, True):
        for tb in (False, True):
            a = values((*lead, *((k, m) if ta else (m, k))), dtype, key="a")
            b = values((*lead, *((n, k) if tb else (k, n))), dtype, key="b")
            inputs = (strided(a), strided(b)) if stride else (a, b)
            yield Sample(inputs, {"transpose_a": ta, "transpose_b": tb}, tolerance=4.0)


_PLAIN = {"transpose_a": False, "transpose_b": False}


@operator("MatMul")
class MatMul:
    """The product of two matrices, either taken transposed: ``[m, k] x [k, n] -> [m, n]``."""

    def infer(a: TensorType, b: TensorType, *, transpose_a: bool, transpose_b: bool) -> TensorType:
        require_rank("MatMul", (a, b), 2, 2)
        return _matrix_type("MatMul", a, b, transpose_a, transpose_b)

    def vjp(g, a, b, y, *, needed=(True, True), transpose_a, transpose_b):
        return _vjp(MatMul, g, a, b, transpose_a, transpose_b, needed)

    def batch(axes, a, b, *, transpose_a, transpose_b):
        if axes[1] is None:  # one tall product
            a = at_front(a, axes[0])
            if transpose_a:
                a = Transpose(a, perm=(0, 2, 1))
            return unfold(MatMul(fold(a), b, transpose_a=False, transpose_b=transpose_b), a.shape[0]), 0
        return BatchMatMul(*all_at_front(axes, (a, b)), transpose_a=transpose_a, transpose_b=transpose_b), 0

    reference = widened(_product)

    def samples():
        for dtype in NUMBERS:
            yield from _transposes((), 3, 5, 4, dtype)
        for m, k, n in ((1, 1, 1), (0, 3, 2), (2, 0, 3), (17, 9, 33), (64, 1, 7)):
            yield from _transposes((), m, k, n, dtypes.float32)
        yield from _transposes((), 4, 6, 5, dtypes.float32, stride=True)

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2, 3), tensor(dtypes.float32, 2, 3)), ValueError, "3 and 2", _PLAIN
        ),
        ErrorCase((tensor(dtypes.float32, 3), tensor(dtypes.float32, 3, 2)), ValueError, "2-D", _PLAIN),
        ErrorCase(
            (tensor(dtypes.float32, 2, 3), tensor(dtypes.float16, 3, 2)), TypeError, "one dtype", _PLAIN
        ),
    ]


@operator("BatchMatMul")
class BatchMatMul:
    """A product of matrices for each item of equal leading axes: ``[..., m, k] x [..., k, n] -> [..., m,
    n]``."""

    def infer(a: TensorType, b: TensorType, *, transpose_a: bool, transpose_b: bool) -> TensorType:
        if a.ndim < 3 or a.ndim != b.ndim or a.shape[:-2] != b.shape[:-2]:
            raise wrong_shape(
                "BatchMatMul",
                (a, b),
                "the inputs must have equal leading axes, at least one, before the two of the matrices",
                "Use matmul, which broadcasts, or reshape",
            )
        return _matrix_type("BatchMatMul", a, b, transpose_a, transpose_b)

    def vjp(g, a, b, y, *, needed=(True, True), transpose_a, transpose_b):
        return _vjp(BatchMatMul, g, a, b, transpose_a, transpose_b, needed)

    def batch(axes, a, b, *, transpose_a, transpose_b):
        return BatchMatMul(*all_at_front(axes, (a, b)), transpose_a=transpose_a, transpose_b=transpose_b), 0

    reference = widened(_product)

    def samples():
        for dtype in NUMBERS:
            yield from _transposes((2,), 3, 5, 4, dtype)
        for lead, m, k, n in (((2, 3), 4, 5, 1), ((0,), 2, 3, 4), ((3,), 2, 0, 4), ((2,), 17, 9, 33)):
            yield from _transposes(lead, m, k, n, dtypes.float32)
        yield from _transposes((2,), 4, 6, 5, dtypes.float32, stride=True)

    errors = [
        ErrorCase(
            (tensor(dtypes.float32, 2, 2, 3), tensor(dtypes.float32, 3, 3, 2)),
            ValueError,
            "equal leading",
            _PLAIN,
        ),
        ErrorCase(
            (tensor(dtypes.float32, 2, 2, 3), tensor(dtypes.float32, 2, 2, 3)), ValueError, "3 and 2", _PLAIN
        ),
    ]
