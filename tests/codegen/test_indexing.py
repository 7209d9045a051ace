"""Gathers and their gradients: large cases, indices out of range, sums independent of the order of chunks."""

from __future__ import annotations

import harness
import numpy as np
import pytest

from mycelia.codegen.target import Target
from mycelia.kernels import api
from mycelia.kernels.cpu import register

register()


@pytest.mark.parametrize("name", ["Gather", "GatherD"])
@pytest.mark.parametrize("bad", [3, -4])
def test_an_index_out_of_range_stops_the_kernel(name: str, bad: int) -> None:
    x = np.zeros((3, 2), np.float32)
    indices = np.array([[0, 1], [2, bad]]) if name == "GatherD" else np.array([0, bad])
    with pytest.raises(AssertionError, match="status 1"):
        harness.apply(name, [x, indices], axis=0)


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
