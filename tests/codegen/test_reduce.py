"""Reductions over rows, columns, middle axes and everything, against NumPy in float64."""

from __future__ import annotations

import harness
import ml_dtypes
import numpy as np
import pytest

from mycelia.codegen.program import from_function
from mycelia.codegen.strided import broadcast_strides
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import from_numpy_dtype
from mycelia.kernels.api import In, Out
from mycelia.kernels.cpu.reduce import reduction_calls

CASES = [
    ((7,), (0,)),
    ((1000,), (0,)),
    ((300_000,), (0,)),
    ((5, 37), (1,)),
    ((5, 37), (0,)),
    ((1000, 10), (0,)),
    ((100_000, 3), (0,)),
    ((40_000, 10), (1,)),
    ((6, 5, 4, 3), (0, 2)),
    ((6, 5, 4, 3), (1, 3)),
    ((6, 5, 40, 30), (0, 2, 3)),
    ((2, 300, 2000), (1,)),
    ((300, 2000), (0,)),
    ((2, 3, 5), ()),
    ((1, 3, 1), (0, 2)),
    ((3, 1), (0, 1)),
    ((0, 4), (0,)),
    ((0, 4), (1,)),
    ((4, 0), (1,)),
    ((3, 200_000), (1,)),
    ((200_000, 65), (0,)),
    ((2, 7, 2, 7, 2, 7), (1, 3, 5)),
    ((2, 7, 2, 7, 2, 7), (0, 2, 4)),
]
NUMPY = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "all": np.all,
    "any": np.any,
}


def reduce(
    x: np.ndarray, kind: str, axes: tuple[int, ...], out_dtype: np.dtype | None = None, reverse: bool = False
) -> np.ndarray:
    dtype = from_numpy_dtype(x.dtype)
    program = from_function("test.itself", [dtype], [dtype], lambda m, v: v)
    shape = tuple(e for d, e in enumerate(x.shape) if d not in axes)
    out = harness.aligned(shape, x.dtype)
    out.reshape(-1).view(np.uint8)[:] = 0xCD
    calls = reduction_calls(
        program,
        [kind],
        x.shape,
        [broadcast_strides(x.shape, x.shape)],
        axes,
        [In(0)],
        [Out(0)],
        Target.host(),
    )
    harness.run(calls, [x], [out], reverse=reverse)
    return out


@pytest.mark.parametrize(("shape", "axes"), CASES)
@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats(shape: tuple, axes: tuple, kind: str, dtype: str) -> None:
    if kind in ("max", "min") and any(shape[d] == 0 for d in axes):
        pytest.skip("not defined")
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    got = reduce(x, kind, axes)
    with np.errstate(all="ignore"):
        expected = NUMPY[kind](x.astype(np.float64), axis=axes)
        size = np.sum(np.abs(x.astype(np.float64)), axis=axes) / (
            x.size / max(got.size, 1) if kind == "mean" else 1
        )
    if kind in ("max", "min"):
        np.testing.assert_array_equal(got, expected)
    else:
        close = np.abs(got - expected) <= 2 * np.finfo(dtype).eps * size + np.spacing(
            np.abs(expected).astype(dtype)
        )
        assert (close | np.isnan(expected)).all(), np.abs(got - expected).max()
    np.testing.assert_array_equal(got, reduce(x, kind, axes, reverse=True))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((5, 37), (1,)), ((50_000, 3), (0,)), ((300_000,), (0,)), ((4, 5, 6), (1,))]
)
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
def test_integers(dtype: str, shape: tuple, axes: tuple, kind: str) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(1).integers(info.min, info.max, shape, dtype)
    options = {"dtype": dtype} if kind in ("sum", "prod") else {}
    np.testing.assert_array_equal(reduce(x, kind, axes), NUMPY[kind](x, axis=axes, **options))


@pytest.mark.parametrize("kind", ["all", "any"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_booleans(kind: str, axes: tuple) -> None:
    rng = np.random.default_rng(2)
    for chance in (0.01, 0.5, 0.99):
        x = rng.random((70, 91)) < chance
        np.testing.assert_array_equal(reduce(x, kind, axes), NUMPY[kind](x, axis=axes))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_half_precision_accumulates_wider(dtype: object, axes: tuple, kind: str) -> None:
    x = np.random.default_rng(3).standard_normal((300, 501)).astype(dtype)
    expected = NUMPY[kind](x.astype(np.float64), axis=axes)
    got = reduce(x, kind, axes).astype(np.float64)
    unit = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(got, expected, rtol=unit, atol=1e-5 * 300)


@pytest.mark.parametrize("axes", [(0,), (1,)])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_nan_propagates(axes: tuple, kind: str) -> None:
    x = np.random.default_rng(4).standard_normal((33, 45)).astype(np.float32)
    x[7, 9] = np.nan
    np.testing.assert_array_equal(reduce(x, kind, axes), NUMPY[kind](x, axis=axes))


def test_two_results_of_broadcast_inputs() -> None:
    rng = np.random.default_rng(5)
    x, shift = rng.standard_normal((4000, 33)).astype("f4"), rng.standard_normal(33).astype("f4")
    f = from_numpy_dtype("f4")
    program = from_function("test.moments", [f, f], [f, f], lambda m, a, b: (a - b, (a - b) * (a - b)))
    outs = [harness.aligned((33,), "f4") for _ in range(2)]
    calls = reduction_calls(
        program,
        ["mean", "mean"],
        x.shape,
        [broadcast_strides(a.shape, x.shape) for a in (x, shift)],
        (0,),
        [In(0), In(1)],
        [Out(0), Out(1)],
        Target.host(),
    )
    harness.run(calls, [x, shift], outs)
    d = x.astype("f8") - shift
    np.testing.assert_allclose(outs[0], d.mean(0), atol=1e-6)
    np.testing.assert_allclose(outs[1], (d * d).mean(0), rtol=1e-6)
