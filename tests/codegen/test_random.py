"""Random numbers: the very bits of the NumPy generator, normal numbers within a few steps of it, whatever the
size and the order of chunks; for every target."""

from __future__ import annotations

from typing import Any

import harness
import numpy as np
import pytest

from mycelia.codegen.target import ALL, Target
from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.kernels import api
from mycelia.kernels.cpu import register
from mycelia.ops import philox
from mycelia.ops.inference import INTEGERS_AND_BOOL
from mycelia.runtime.compile import emit
from mycelia.runtime.elf import undefined_symbols

register()
STATES = [(7, 3), (-1, 2**40), (2**63 - 1, 2**32 - 5), (-(2**63), -9)]
SIZES = (0, 1, 3, 4, 5, 31, 32, 33, 1031, 100_003)
DRAWS = [
    *(("RandomBits", d) for d in INTEGERS_AND_BOOL),
    *((name, d) for name in ("RandomUniform", "RandomNormal") for d in dtypes.FLOATS),
]


def _id(value: Any) -> str | None:
    return value.name if isinstance(value, DType) else None


def words_of(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(f"u{array.dtype.itemsize}")


@pytest.mark.parametrize(("name", "dtype"), [d for d in DRAWS if d[0] != "RandomNormal"], ids=_id)
@pytest.mark.parametrize("state", STATES, ids=str)
def test_bits_are_those_of_the_definition(name: str, dtype: DType, state: tuple[int, int]) -> None:
    state_array = np.array(state, np.int64)
    define = {"RandomBits": philox.bits, "RandomUniform": philox.uniform}[name]
    for size in SIZES:
        after, values = harness.apply(name, [state_array], shape=(size,), dtype=dtype)
        expected_after, expected = define(state_array, shape=(size,), dtype=dtype)
        np.testing.assert_array_equal(after, expected_after)
        np.testing.assert_array_equal(words_of(values), words_of(expected), f"{size}")


@pytest.mark.parametrize("dtype", dtypes.FLOATS, ids=_id)
@pytest.mark.parametrize("state", STATES, ids=str)
def test_normal_numbers_are_within_a_few_steps(dtype: DType, state: tuple[int, int]) -> None:
    """Steps of the computing type; one of a half type, which rounds what float32 computes."""
    state_array = np.array(state, np.int64)
    for size in SIZES:
        after, values = harness.apply("RandomNormal", [state_array], shape=(size,), dtype=dtype)
        expected_after, expected = philox.normal(state_array, shape=(size,), dtype=dtype)
        np.testing.assert_array_equal(after, expected_after)
        # order as integers order: sign and magnitude to a line of numbers
        one, other = (words_of(x).astype(np.float64) for x in (values, expected))
        half = 2.0 ** (8 * dtype.itemsize - 1)
        one, other = (np.where(x >= half, half - x, x) for x in (one, other))
        steps = np.abs(one - other) if dtype.itemsize < 8 else _steps64(values, expected)
        assert steps.max(initial=0) <= (1 if dtype.itemsize == 2 else 4), (size, steps.max())


def _steps64(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a - b) / np.spacing(np.abs(b))


def test_published_vectors() -> None:
    """Philox-4x32-10 of a zero counter and key, as its authors publish it."""
    _, words = harness.apply("RandomBits", [np.zeros(2, np.int64)], shape=(4,), dtype=dtypes.uint32)
    assert [f"{w:08x}" for w in words] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


@pytest.mark.parametrize("name", ["RandomUniform", "RandomNormal"])
def test_any_order_of_chunks_gives_the_same(name: str) -> None:
    state = np.array([11, 5])
    node = harness.node_of(name, [state], shape=(200_001,), dtype=dtypes.float32)
    calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
    assert calls[0].chunks > 1
    results = []
    for backwards in (False, True):
        outs = [harness.aligned((2,), "i8", -1), harness.aligned((200_001,), "f4", -1)]
        harness.run(calls, [state], outs, reverse=backwards)
        results.append(outs)
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


def test_draws_that_follow_one_another_share_no_block() -> None:
    state = np.array([5, 0])
    _, whole = harness.apply("RandomUniform", [state], shape=(64,), dtype=dtypes.float32)
    after, first = harness.apply("RandomUniform", [state], shape=(32,), dtype=dtypes.float32)
    _, second = harness.apply("RandomUniform", [after], shape=(32,), dtype=dtypes.float32)
    np.testing.assert_array_equal(np.concatenate([first, second]), whole)


def test_moments() -> None:
    state, n = np.array([123, 0]), 1 << 20
    _, u = harness.apply("RandomUniform", [state], shape=(n,), dtype=dtypes.float32)
    assert u.min() >= 0 and u.max() < 1
    assert abs(u.mean(dtype="f8") - 0.5) < 5 * (1 / 12 / n) ** 0.5
    _, z = harness.apply("RandomNormal", [state], shape=(n,), dtype=dtypes.float32)
    assert np.isfinite(z).all()
    assert abs(z.mean(dtype="f8")) < 5 / n**0.5
    assert abs(z.var(dtype="f8") - 1) < 5 * (2 / n) ** 0.5
    assert abs((z.astype("f8") ** 4).mean() - 3) < 5 * (96 / n) ** 0.5


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=_id)
@pytest.mark.parametrize("p", [np.float32(0.3), np.float64(1.0), np.float16(0.0)], ids=repr)
def test_bernoulli_compares_the_uniform_numbers(dtype: DType, p: np.floating) -> None:
    state = np.array([9, 1])
    for shape in ((), (0,), (257, 33)):
        after, values = harness.apply("RandomBernoulli", [state, np.asarray(p)], shape=shape, dtype=dtype)
        expected_after, expected = philox.bernoulli(state, p, shape=shape, dtype=dtype)
        np.testing.assert_array_equal(after, expected_after)
        np.testing.assert_array_equal(values, expected)


def test_bernoulli_of_a_probability_for_each_column() -> None:
    state, p = np.array([9, 1]), np.linspace(0, 1, 33)
    _, values = harness.apply("RandomBernoulli", [state, p], shape=(257, 33), dtype=dtypes.int32)
    np.testing.assert_array_equal(
        values, philox.bernoulli(state, p, shape=(257, 33), dtype=dtypes.int32)[1]
    )


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize(
    ("name", "dtype"), [*DRAWS, *(("RandomBernoulli", d) for d in dtypes.ALL)], ids=_id
)
def test_compiles_for_every_target_and_asks_for_nothing(name: str, dtype: DType, target: Target) -> None:
    inputs = [np.zeros(2, np.int64), *([np.float32(0.5)] if name == "RandomBernoulli" else [])]
    node = harness.node_of(name, [np.asarray(x) for x in inputs], shape=(100,), dtype=dtype)
    for call in api.select(node, "CPU", target).kernel.lower(node, target):
        assert undefined_symbols(emit(call.code, target)) <= {"memcpy", "memset", "memmove"}
