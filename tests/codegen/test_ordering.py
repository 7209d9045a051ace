"""Sorting and the k first: stable, NaN largest, equal zeros, long and short axes, in any order of chunks; for
every target."""

from __future__ import annotations

import harness
import numpy as np
import pytest

from mycelia.codegen.target import ALL, Target
from mycelia.ir import dtypes
from mycelia.kernels import api
from mycelia.kernels.cpu import register
from mycelia.ops.indexing import Sort, TopK
from mycelia.runtime.compile import emit
from mycelia.runtime.elf import undefined_symbols

register()


def drawn(shape: tuple[int, ...], dtype: dtypes.DType) -> np.ndarray:
    """Many ties, and of floats also NaN of both signs, infinities and zeros of both signs."""
    rng = np.random.default_rng(0)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_float:
        x = rng.integers(-50, 50, shape).astype(dtype.numpy)
        special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32).astype(dtype.numpy)
        return np.where(rng.random(shape) < 0.2, special[rng.integers(0, 6, shape)], x)
    info = np.iinfo(dtype.numpy)
    wide = rng.integers(info.min, info.max, shape, dtype=dtype.numpy, endpoint=True)
    return np.where(rng.random(shape) < 0.5, wide, wide % 5).astype(dtype.numpy)


def same(got: list[np.ndarray], expected: tuple[np.ndarray, ...]) -> None:
    np.testing.assert_array_equal(got[1], expected[1])
    assert got[0].tobytes() == np.ascontiguousarray(expected[0]).tobytes()


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda d: d.name)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype: dtypes.DType, descending: bool) -> None:
    for shape, axis in (((7, 13), 1), ((200, 3), 0), ((3, 1000), 1), ((2, 65, 4), 1), ((1, 40_000), 1)):
        x = drawn(shape, dtype)
        attrs = {"axis": axis, "descending": descending}
        same(harness.apply("Sort", [x], **attrs), Sort.reference(x, **attrs))


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda d: d.name)
@pytest.mark.parametrize("largest", [False, True])
def test_top_k(dtype: dtypes.DType, largest: bool) -> None:
    for shape, k in (((7, 13), 13), ((3, 1000), 5), ((2, 999), 128), ((2, 2000), 129), ((40_000,), 64)):
        x = drawn(shape, dtype)
        attrs = {"k": k, "largest": largest}
        same(harness.apply("TopK", [x], **attrs), TopK.reference(x, **attrs))


def test_chunks_run_in_any_order() -> None:
    x = np.random.default_rng(1).standard_normal((300, 5_000), np.float32)
    for op, attrs in (("Sort", {"axis": 1, "descending": False}), ("TopK", {"k": 9, "largest": True})):
        node = harness.node_of(op, [x], **attrs)
        calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
        assert calls[0].chunks > 1
        outs = [
            [harness.aligned(v.shape, v.dtype.numpy, 0) for v in node.outputs] for _ in range(2)
        ]
        for out, backwards in zip(outs, (False, True)):
            harness.run(calls, [x], out, reverse=backwards)
        for a, b in zip(*outs):
            np.testing.assert_array_equal(a, b)


def test_ascending_runs_are_the_hardest_for_a_list() -> None:
    x = np.arange(100_000, dtype=np.float32)
    same(harness.apply("TopK", [x], k=100, largest=True), TopK.reference(x, k=100, largest=True))


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda d: d.name)
def test_compiles_for_every_target_and_asks_for_nothing(dtype: dtypes.DType, target: Target) -> None:
    for op, shape, attrs in (
        ("Sort", (5, 9), {"axis": 1, "descending": True}),
        ("Sort", (5, 90, 2), {"axis": 1, "descending": False}),
        ("TopK", (5, 900), {"k": 3, "largest": True}),
        ("TopK", (5, 900), {"k": 300, "largest": False}),
    ):
        node = harness.node_of(op, [np.zeros(shape, dtype.numpy)], **attrs)
        for call in api.select(node, "CPU", target).kernel.lower(node, target):
            assert undefined_symbols(emit(call.code, target)) <= {"memcpy", "memset", "memmove"}
