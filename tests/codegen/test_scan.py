"""Running sums: along each axis, in parts, rounded once, in any order of chunks; for every target."""

from __future__ import annotations

import harness
import numpy as np
import pytest

from mycelia.codegen.target import ALL, Target
from mycelia.ir import dtypes
from mycelia.ir import operator as registry
from mycelia.kernels import api
from mycelia.kernels.cpu import register
from mycelia.ops.cumulative import CumSum
from mycelia.runtime.compile import emit
from mycelia.runtime.elf import undefined_symbols

register()
WAYS = [(False, False), (True, False), (False, True), (True, True)]


def expected(x: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
    return CumSum.reference(x, axis=axis, exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d.kind != "b"], ids=lambda d: d.name)
@pytest.mark.parametrize(("exclusive", "reverse"), WAYS)
def test_each_axis_of_each_type(dtype: dtypes.DType, exclusive: bool, reverse: bool) -> None:
    x = np.random.default_rng(0).integers(0, 100, (5, 7, 83)).astype(dtype.numpy)
    for axis in range(3):
        attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
        got = harness.apply("CumSum", [x], **attrs)
        # sums of integers are exact in float64, so that rounding once gives the very bits
        np.testing.assert_array_equal(got, expected(x, **attrs))


@pytest.mark.parametrize("shape", [(1_000_003,), (300_001, 3), (2, 100_003, 17)], ids=str)
@pytest.mark.parametrize(("exclusive", "reverse"), WAYS)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_long_axes_go_in_parts_in_any_order(
    shape: tuple[int, ...], exclusive: bool, reverse: bool, dtype: str
) -> None:
    rng = np.random.default_rng(1)
    if dtype == "int32":  # sums wrap
        x = rng.integers(-(2**31), 2**31, shape, dtype=np.int32)
    else:
        x = rng.standard_normal(shape, np.float32)
    attrs = {"axis": max(len(shape) - 2, 0), "exclusive": exclusive, "reverse": reverse}
    node = harness.node_of("CumSum", [x], **attrs)
    calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
    assert len(calls) == 2 and all(call.chunks > 1 for call in calls)
    outs = [harness.aligned(shape, dtype, 7) for _ in range(2)]
    for out, backwards in zip(outs, (False, True)):
        harness.run(calls, [x], [out], reverse=backwards)
    np.testing.assert_array_equal(outs[0], outs[1])
    if dtype == "int32":
        np.testing.assert_array_equal(outs[0], expected(x, **attrs))
    else:
        np.testing.assert_allclose(outs[0], expected(x, **attrs), rtol=1e-6, atol=1e-6)


def test_infinities_and_nans_stay_after_their_place() -> None:
    x = np.ones(600_000, np.float32)
    x[300_000], x[500_000] = np.inf, np.nan
    got = harness.apply("CumSum", [x], axis=0, exclusive=False, reverse=False)
    assert np.isfinite(got[:300_000]).all()
    assert np.isposinf(got[300_000:500_000]).all()
    assert np.isnan(got[500_000:]).all()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), (1,), (1, 1)], ids=str)
def test_empty_and_single(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    for exclusive in (False, True):
        got = harness.apply("CumSum", [x], axis=0, exclusive=exclusive, reverse=False)
        np.testing.assert_array_equal(got, expected(x, 0, exclusive, False))


@pytest.mark.parametrize("op", ["CumProd", "CumulativeLogsumexp"])
@pytest.mark.parametrize(("exclusive", "reverse"), WAYS)
def test_other_long_axes(op: str, exclusive: bool, reverse: bool) -> None:
    rng = np.random.default_rng(2)
    attrs = {"axis": 0, "exclusive": exclusive, "reverse": reverse}
    for shape in ((400_003,), (300_001, 3)):
        x = rng.uniform(0.9999, 1.0001, shape) if op == "CumProd" else rng.standard_normal(shape)
        node = harness.node_of(op, [x], **attrs)
        calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
        assert len(calls) == 2 and all(call.chunks > 1 for call in calls)
        outs = [harness.aligned(shape, "float64", 7) for _ in range(2)]
        for out, backwards in zip(outs, (False, True)):
            harness.run(calls, [x], [out], reverse=backwards)
        np.testing.assert_array_equal(outs[0], outs[1])
        np.testing.assert_allclose(outs[0], node.op.reference(x, **attrs), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("op", ["CumMax", "CumMin"])
def test_extrema_and_their_latest_places(op: str) -> None:
    x = np.random.default_rng(3).integers(0, 1000, (3, 5_000, 21)).astype(np.float32)
    x[1, 2_000, 5] = np.nan
    for axis in range(3):
        got = harness.apply(op, [x], axis=axis)
        for a, b in zip(got, registry.get(op).reference(x, axis=axis)):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("op", ["CumProd", "CumulativeLogsumexp", "CumMax", "CumMin"])
def test_the_others_compile_for_every_target(op: str, target: Target) -> None:
    for dtype in dtypes.FLOATS if op == "CumulativeLogsumexp" else [d for d in dtypes.ALL if d.kind != "b"]:
        for shape in ((600_000,), (40, 90)):
            how = {} if op in ("CumMax", "CumMin") else {"exclusive": True, "reverse": True}
            node = harness.node_of(op, [np.zeros(shape, dtype.numpy)], axis=0, **how)
            for call in api.select(node, "CPU", target).kernel.lower(node, target):
                assert undefined_symbols(emit(call.code, target)) <= {"memcpy", "memset", "memmove"}


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d.kind != "b"], ids=lambda d: d.name)
def test_compiles_for_every_target_and_asks_for_nothing(dtype: dtypes.DType, target: Target) -> None:
    for shape in ((600_000,), (40, 90)):
        node = harness.node_of("CumSum", [np.zeros(shape, dtype.numpy)], axis=0, exclusive=True, reverse=True)
        for call in api.select(node, "CPU", target).kernel.lower(node, target):
            assert undefined_symbols(emit(call.code, target)) <= {"memcpy", "memset", "memmove"}
