"""Gathers, writes by index and gradients: rows of any length, indices out of range, results that do not
depend on the order of chunks; for every target."""

from __future__ import annotations

import harness
import numpy as np
import pytest

from mycelia.codegen.target import ALL, Target
from mycelia.ir import dtypes
from mycelia.kernels import api
from mycelia.kernels.cpu import register
from mycelia.ops.indexing import ScatterUpdate
from mycelia.runtime.compile import emit
from mycelia.runtime.elf import undefined_symbols

register()


def _case(name: str, indices: np.ndarray, dtype: type = np.float32) -> tuple[list[np.ndarray], dict]:
    """Inputs and attributes of an operator that has these indices into an axis of 3; inner is 2."""
    spread = np.stack([indices, indices], 1)
    grown = np.ones((indices.size, 2), dtype)
    return {
        "Gather": ([np.ones((3, 2), dtype), indices], {"axis": 0}),
        "GatherD": ([np.ones((3, 2), dtype), spread], {"axis": 0}),
        "GatherGrad": ([indices, grown], {"axis": 0, "shape": (3, 2)}),
        "GatherDGrad": ([spread, grown], {"axis": 0, "shape": (3, 2)}),
        "ScatterUpdate": ([np.ones((3, 2), dtype), indices, grown], {"axis": 0}),
    }[name]


NAMES = ["Gather", "GatherD", "GatherGrad", "GatherDGrad", "ScatterUpdate"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "bad", [np.int64(3), np.int64(-4), np.int8(-128), np.uint8(255), np.uint64(2**64 - 1)], ids=repr
)
def test_an_index_out_of_range_stops_the_kernel(name: str, bad: np.integer) -> None:
    inputs, attrs = _case(name, np.array([0, bad], bad.dtype))
    with pytest.raises(AssertionError, match="status 1"):
        harness.apply(name, inputs, **attrs)


def test_an_index_out_of_range_counts_even_where_rows_are_empty() -> None:
    with pytest.raises(AssertionError, match="status 1"):
        harness.apply("Gather", [np.zeros((3, 0), np.float32), np.array([3])], axis=0)
    with pytest.raises(AssertionError, match="status 1"):
        harness.apply("Gather", [np.zeros((0, 3), np.float32), np.array([0])], axis=0)


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_rows_of_every_length_are_copied_whole_and_nothing_beside_them(itemsize: int) -> None:
    rng = np.random.default_rng(3)
    for inner in (*range(1, 70), 127, 128, 129, 300):
        x = rng.integers(0, 256, (2, 5, inner * itemsize), np.uint8).view(f"u{itemsize}")
        indices = rng.integers(-5, 5, 7)
        np.testing.assert_array_equal(
            harness.apply("Gather", [x, indices], axis=1), np.take(x, indices, 1), f"{inner}"
        )
        value = rng.integers(0, 256, (2, 7, inner * itemsize), np.uint8).view(f"u{itemsize}")
        np.testing.assert_array_equal(
            harness.apply("ScatterUpdate", [x, indices, value], axis=1),
            ScatterUpdate.reference(x, indices, value, axis=1),
            f"{inner}",
        )


@pytest.mark.parametrize("shape", [(1000, 64), (40, 20_000), (3, 90, 700)], ids=str)
def test_the_last_of_repeated_writes_wins_in_any_order_of_chunks(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    axis = len(shape) - 2
    count = 3 * shape[axis]
    base, indices = rng.standard_normal(shape), rng.integers(-shape[axis], shape[axis], count)
    value = rng.standard_normal((*shape[:axis], count, shape[-1]))
    node = harness.node_of("ScatterUpdate", [base, indices, value], axis=axis)
    calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
    assert calls[-1].chunks > 1
    for backwards in (False, True):
        out = harness.aligned(shape, "f8", 7)
        harness.run(calls, [base, indices, value], [out], reverse=backwards)
        np.testing.assert_array_equal(out, ScatterUpdate.reference(base, indices, value, axis=axis))


@pytest.mark.parametrize(
    ("shape", "axis"), [((500, 768), 0), ((3, 70, 50), 1), ((4000, 10), 1), ((90_000,), 0)]
)
def test_gradient_of_many_repeated_indices(shape: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(0)
    indices = rng.integers(-shape[axis], shape[axis], 3000).astype(np.int32)
    dy = rng.standard_normal((*shape[:axis], indices.size, *shape[axis + 1 :])).astype(np.float32)
    node = harness.node_of("GatherGrad", [indices, dy], axis=axis, shape=shape)
    calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
    outs = [harness.aligned(shape, "f4", 7) for _ in range(2)]
    for out, reverse in zip(outs, (False, True)):
        harness.run(calls[:1], [indices, dy], [out])
        harness.run(calls[1:], [indices, dy], [out], reverse=reverse)
    expected = np.zeros(shape)
    np.add.at(np.moveaxis(expected, axis, 0), indices, np.moveaxis(dy, axis, 0))
    np.testing.assert_allclose(outs[0], expected, atol=1e-4)
    np.testing.assert_array_equal(outs[0], outs[1])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_along_each_axis(axis: int) -> None:
    x = np.random.default_rng(1).standard_normal((20, 30, 40)).astype(np.float64)
    indices = np.random.default_rng(2).integers(-20, 20, (7, 11))
    np.testing.assert_array_equal(harness.apply("Gather", [x, indices], axis=axis), np.take(x, indices, axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements_along_each_axis_and_back(axis: int) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((6, 50, 70))
    indices = rng.integers(-x.shape[axis], x.shape[axis], x.shape)
    np.testing.assert_array_equal(
        harness.apply("GatherD", [x, indices], axis=axis), np.take_along_axis(x, indices, axis)
    )
    grid = list(np.ogrid[tuple(map(slice, x.shape))])
    grid[axis] = indices
    expected = np.zeros_like(x)
    np.add.at(expected, tuple(grid), x)
    got = harness.apply("GatherDGrad", [indices, x], axis=axis, shape=x.shape)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("name", ["GatherGrad", "GatherDGrad"])
def test_half_precision_is_added_up_in_float32(name: str, dtype: dtypes.DType) -> None:
    """4096 + 1 + 1... stays at 4096 in either half type."""
    indices = np.zeros(1025, np.int32)
    dy = np.ones(1025, dtype.numpy)
    dy[0] = 4096
    got = harness.apply(name, [indices, dy], axis=0, shape=(2,))
    np.testing.assert_array_equal(got.astype(np.float32), [5120, 0])


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("name", NAMES)
def test_compiles_for_every_target_and_asks_for_nothing(name: str, target: Target) -> None:
    for dtype in (d for d in dtypes.ALL if d.kind != "b" or "Grad" not in name):
        for index in (np.int32, np.int64, np.uint8):
            inputs, attrs = _case(name, np.zeros(4, index), dtype.numpy)
            node = harness.node_of(name, inputs, **attrs)
            for call in api.select(node, "CPU", target).kernel.lower(node, target):
                assert undefined_symbols(emit(call.code, target)) <= {"memcpy", "memset", "memmove"}


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
def test_rows_of_every_length_compile_for_every_target(target: Target) -> None:
    for nbytes in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 1000):
        x, indices = np.zeros((3, nbytes), np.uint8), np.zeros(2, np.int32)
        for name, inputs in (
            ("Gather", [x, indices]),
            ("ScatterUpdate", [x, indices, np.zeros((2, nbytes), np.uint8)]),
        ):
            node = harness.node_of(name, inputs, axis=0)
            for call in api.select(node, "CPU", target).kernel.lower(node, target):
                assert undefined_symbols(emit(call.code, target)) <= {"memcpy", "memset", "memmove"}
