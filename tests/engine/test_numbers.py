"""Python numbers among the arguments of compiled functions: inputs of the graph once they change, themselves
where the function needs to know them."""
from __future__ import annotations

import math

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia.engine.jit import MAX_SPECIALISATIONS

X = np.array([-1.0, 0.25, 3.0], np.float32)


def test_arithmetic_of_numbers_keeps_the_tensors_dtype():
    @ms.jit
    def step(x, rate, count):
        return x * (1 - rate) - rate / count + (-count)

    for dtype in (np.float16, np.float32, np.float64):
        for rate, count in ((0.5, 1), (0.25, 2), (0.125, 4), (2, 0.5)):
            y = step(Tensor(X.astype(dtype)), rate, count)
            assert y.asnumpy().dtype == dtype
            np.testing.assert_allclose(y.asnumpy(), X * (1 - rate) - rate / count - count, rtol=2e-3)


def test_changing_numbers_do_not_compile_anew(caplog):
    @ms.jit
    def scaled(x, rate):
        return x * rate

    for rate in np.linspace(0.1, 1, 10).tolist():
        np.testing.assert_allclose(scaled(Tensor(X), rate).asnumpy(), X * np.float32(rate))
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "the number in argument 1 changed; it is an input of the graph from now on"
    ]


def test_another_kind_of_argument_in_a_changing_numbers_place():
    @ms.jit
    def scaled(x, rate=None):
        return x if rate is None else x * rate

    x = Tensor(X)
    for rate in (2.0, 3.0, 4.0, None, True, False, Tensor(2.0, ms.float64), 5.0, 7):
        expected = X if rate is None else X * (rate.asnumpy() if isinstance(rate, Tensor) else rate)
        y = scaled(x, rate).asnumpy()
        np.testing.assert_array_equal(y, expected)
        assert (y.dtype == np.float64) == isinstance(rate, Tensor)


@pytest.mark.parametrize("convert", [
    lambda x, n: (x + n, n + 1),
    lambda x, n: ops.exp(n) + x,
    lambda x, n: ops.clamp(x, n),
    lambda x, n: x * (2 if isinstance(n, float) else 3),
    lambda x, n: ops.full((3,), n) + x,
    lambda x, n: x + (10 if n > 1 else 20),
])
def test_where_python_needs_the_number_it_has_it(convert):
    compiled = ms.jit(convert)
    for a in (X, X.astype(np.int32)):
        for n in (0.5, 1.5, 1, 2, 2.5, 3):
            found, expected = compiled(Tensor(a), n), convert(Tensor(a), n)
            for y, want in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected))):
                assert type(y) is type(want)
                if isinstance(want, Tensor):
                    assert y.dtype is want.dtype
                    y, want = y.asnumpy(), want.asnumpy()
                np.testing.assert_allclose(y, want, rtol=1e-6)


def test_zeros_of_either_sign_are_different_numbers():
    @ms.jit
    def signed(x, n):
        return x * 0 + math.copysign(1, n)

    assert [signed(Tensor(X), n).asnumpy()[0] for n in (0.0, -0.0, 0.0)] == [1, -1, 1]


def test_bounds_of_every_kind_in_any_order():
    rng = np.random.default_rng(1)
    bounds = [0, 1, -1, 2, 0.0, 0.5, -0.5, math.nan, math.inf, None]
    for _ in range(200):
        a = rng.normal(0, 3, rng.integers(1, 7, rng.integers(0, 3))).astype(rng.choice(["f4", "f8", "i4"]))
        low, high = bounds[rng.integers(10)], bounds[rng.integers(10)]
        if low is None and high is None:
            continue
        expected = a
        if a.dtype.kind == "i" and float in (type(low), type(high)):
            expected = a.astype(np.float32)
        for function, bound in ((np.maximum, low), (np.minimum, high)):
            if bound is not None:
                expected = function(expected, np.asarray(bound, expected.dtype))
        y = ops.clamp(Tensor(a), low, high).asnumpy()
        np.testing.assert_array_equal(y, expected, err_msg=f"{a.dtype} {a.shape} {low} {high}")
        assert y.dtype == expected.dtype


def test_a_composite_with_ever_new_numbers_is_not_compiled_each_time():
    function = ops.clip_by_value
    for n in range(2 * MAX_SPECIALISATIONS):
        y = function(Tensor(np.arange(5, dtype=np.float16)), n / 7)
        np.testing.assert_array_equal(y.asnumpy(), np.maximum(np.arange(5), np.float16(n / 7)))


def test_an_integer_too_large_for_an_input():
    scaled = ms.jit(lambda x, n: x * n)
    for n in (2, 3, 10**20, 4, 10**20):
        np.testing.assert_allclose(scaled(Tensor(X), n).asnumpy(), X * np.float32(n))


def test_sizes_among_the_results_are_numbers():
    @ms.jit
    def sizes(x):
        return x * 1, x.shape, {"twice": x.shape[0] * 2}, [x.size]

    for n in (2, 3, 5, 3, 1, 0):
        _, shape, twice, size = sizes(Tensor(np.ones((n, 2), np.float32)))
        assert (shape, twice, size) == ((n, 2), {"twice": 2 * n}, [2 * n])
        assert all(type(v) is int for v in (*shape, *twice.values(), *size))
