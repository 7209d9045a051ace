"""Vector math against NumPy in the next wider precision: dense samples, special values, denormals; at most
4 ulp."""

from __future__ import annotations

import math

import harness
import numpy as np
import pytest

from mycelia.codegen.program import from_function
from mycelia.codegen.target import Target
from mycelia.ir.dtypes import from_numpy_dtype
from mycelia.kernels.api import In, Out
from mycelia.kernels.cpu.fused import pointwise_call

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    1e-5,
    -1e-5,
    1e-30,
    1e30,
    -1e30,
    np.inf,
    -np.inf,
    np.nan,
]


def evaluate(name: str, *arrays: np.ndarray) -> np.ndarray:
    dtype = from_numpy_dtype(arrays[0].dtype)
    program = from_function(
        f"test.{name}", [dtype] * len(arrays), [dtype], lambda m, *xs: getattr(m, name)(*xs)
    )
    out = harness.aligned(arrays[0].shape, arrays[0].dtype)
    calls = pointwise_call(
        program,
        arrays[0].shape,
        [(1,)] * len(arrays),
        [In(i) for i in range(len(arrays))],
        [Out(0)],
        Target.host(),
    )
    harness.run(calls, arrays, [out])
    return out


def ulps(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Error in units of the last place of the expected value; special values must agree, infinity near
    overflow counts as one."""
    dtype = got.dtype
    rounded = expected.astype(dtype)
    unit = np.spacing(np.abs(rounded)).astype(expected.dtype)
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(expected.dtype) - expected) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    error = np.where(same, np.where(np.isfinite(rounded), error, 0), error)
    return np.where(np.isnan(error), np.inf, error)


def samples(dtype: str, lo: float, hi: float, seed: int = 0) -> np.ndarray:
    """Uniform and log-spaced numbers of [lo, hi], both signs where the interval allows, special values,
    denormals."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    info = np.finfo(kind)
    uniform = rng.uniform(max(lo, -1e4), min(hi, 1e4), 200_000)
    uniform = np.concatenate([uniform, rng.uniform(max(lo, -2), min(hi, 2), 100_000)])
    scale = np.exp2(
        rng.uniform(np.log2(float(info.smallest_subnormal)) + 1, np.log2(float(info.max)) - 1, 200_000)
    )
    signed = scale * rng.choice([-1.0, 1.0], scale.size)
    extra = [
        *SPECIAL,
        lo,
        hi,
        float(info.tiny),
        float(info.max),
        float(info.smallest_subnormal),
        -float(info.max),
    ]
    with np.errstate(over="ignore"):
        x = np.concatenate([uniform, signed, extra]).astype(kind)
    keep = ~(x < lo) & ~(x > hi) | np.isinf(x)
    return x[keep]


def wider(name: str, *arrays: np.ndarray) -> np.ndarray:
    """The reference: NumPy in float64 for float32, in extended precision for float64."""
    own = {
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "erf": np.vectorize(math.erf),
        "erfc": np.vectorize(math.erfc),
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        "atan2": np.arctan2,
        "pow": np.power,
        "rsqrt": lambda x: 1 / np.sqrt(x),
    }
    wide = np.float64 if arrays[0].dtype == np.float32 else np.longdouble
    if name in ("erf", "erfc"):
        wide = np.float64
    with np.errstate(all="ignore"):
        return own.get(name, getattr(np, name, None))(*(a.astype(wide) for a in arrays))


DOMAINS = {
    "exp": (-800, 800),
    "exp2": (-1200, 1200),
    "expm1": (-800, 800),
    "sigmoid": (-800, 800),
    "log": (-1, np.inf),
    "log2": (-1, np.inf),
    "log10": (-1, np.inf),
    "log1p": (-2, np.inf),
    "sin": (-np.inf, np.inf),
    "cos": (-np.inf, np.inf),
    "tan": (-np.inf, np.inf),
    "asin": (-1.5, 1.5),
    "acos": (-1.5, 1.5),
    "atan": (-np.inf, np.inf),
    "sinh": (-800, 800),
    "cosh": (-800, 800),
    "tanh": (-np.inf, np.inf),
    "asinh": (-np.inf, np.inf),
    "acosh": (0, np.inf),
    "atanh": (-1.5, 1.5),
    "erf": (-30, 30),
    "erfc": (-30, 30),
    "sqrt": (-1, np.inf),
    "rsqrt": (0, np.inf),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DOMAINS)
def test_unary(name: str, dtype: str) -> None:
    x = samples(dtype, *DOMAINS[name])
    if name in ("sin", "cos", "tan") and dtype == "float32":
        # float64's own reduction is good for all float32
        expected = wider(name, x.astype(np.float64)).astype(np.float64)
    else:
        expected = wider(name, x)
    error = ulps(evaluate(name, x), expected)
    worst = int(error.argmax())
    assert error[worst] <= 4, (
        f"{name}({x[worst]!r}) is {evaluate(name, x)[worst]!r}, "
        f"not {expected[worst]!r}: {error[worst]:.2f} ulp"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_binary(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    n = 100_000
    a = np.concatenate(
        [rng.lognormal(0, 3, n), rng.uniform(0.9, 1.1, n), rng.normal(0, 5, n), rng.integers(-9, 9, n)]
    )
    b = np.concatenate(
        [rng.normal(0, 10, n), rng.normal(0, 1000, n), rng.normal(0, 5, n), rng.integers(-9, 9, n)]
    )
    grid = [*SPECIAL, 1e300, 4.0, 5.0, 1e-300, 2.0**53]
    u, v = np.meshgrid(grid, grid)
    with np.errstate(over="ignore"):
        a, b = (np.concatenate([p, q.ravel()]).astype(dtype) for p, q in ((a, u), (b, v)))
    expected = wider(name, a, b)
    with np.errstate(all="ignore"):
        got = evaluate(name, a, b)
        error = ulps(got, expected)
    worst = int(error.argmax())
    assert error[worst] <= 4, (
        f"{name}({a[worst]!r}, {b[worst]!r}) is {got[worst]!r}, not {expected[worst]!r}: "
        f"{error[worst]:.2f} ulp"
    )


@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "floor", "log"])
def test_signed_zero_is_kept(name: str) -> None:
    x = np.array([-0.0, 0.0], np.float32)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    np.testing.assert_array_equal(np.signbit(evaluate(name, x)), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_division_and_remainder(dtype: str) -> None:
    rng = np.random.default_rng(2)
    n = 50_000
    a = np.concatenate(
        [
            rng.normal(0, 100, n),
            rng.integers(-50, 50, n),
            rng.normal(0, 1, n) * 10.0 ** rng.integers(-30, 30, n),
        ]
    )
    b = np.concatenate(
        [rng.normal(0, 10, n), rng.integers(-5, 5, n), rng.normal(0, 1, n) * 10.0 ** rng.integers(-30, 30, n)]
    )
    u, v = np.meshgrid(SPECIAL, SPECIAL)
    a, b = (np.concatenate([p, q.ravel()]).astype(dtype) for p, q in ((a, u), (b, v)))
    with np.errstate(all="ignore"):
        rest, quotient = np.mod(a, b), np.floor_divide(a, b)
    np.testing.assert_array_equal(evaluate("mod", a, b), rest)
    got = evaluate("floordiv", a, b)
    with np.errstate(all="ignore"):
        close = (
            (got == quotient)
            | (np.isnan(got) & np.isnan(quotient))
            | (np.abs(got - quotient) <= np.spacing(np.abs(quotient)))
        )
    assert close.all(), (a[~close][:5], b[~close][:5], got[~close][:5], quotient[~close][:5])


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "name",
    [
        "floordiv",
        "mod",
        "add",
        "sub",
        "mul",
        "maximum",
        "minimum",
        "shift_left",
        "shift_right",
        "bitwise_and",
        "bitwise_xor",
        "pow",
        "sign",
        "abs",
        "neg",
        "bitwise_not",
    ],
)
def test_integers(name: str, dtype: str) -> None:
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    a = np.concatenate(
        [
            rng.integers(info.min, info.max, 1000, dtype, endpoint=True),
            np.array([info.min, info.max, 0, 1], dtype),
        ]
    )
    b = np.concatenate(
        [
            rng.integers(max(info.min, -20), 20, 1000).astype(dtype),
            np.array([info.max, info.min, 0, 1], dtype),
        ]
    )
    if info.min < 0:
        a[:2], b[:2] = info.min, -1
    functions = {
        "floordiv": np.floor_divide,
        "shift_left": np.left_shift,
        "shift_right": np.right_shift,
        "neg": np.negative,
        "sub": np.subtract,
        "mul": np.multiply,
        "pow": np.power,
    }
    if name == "pow":
        b = np.abs(b % 7).astype(dtype)
    if name.startswith("shift"):
        b = np.abs(b.astype(np.int64)).astype(dtype) % np.array(info.bits + 3, dtype)
    arrays = (a,) if name in ("sign", "abs", "neg", "bitwise_not") else (a, b)
    with np.errstate(all="ignore"):
        expected = functions.get(name, getattr(np, name, None))(*arrays)
    np.testing.assert_array_equal(evaluate(name, *arrays), expected.astype(dtype))
