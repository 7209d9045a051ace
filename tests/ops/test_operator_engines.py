"""Every sample in PyNative and Graph mode against the reference, and gradients of both modes against the
reference's."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia.ops import dispatch
from mycelia.tensor.tensor import Tensor
from mycelia.tools.operator_checks import check_mode
from tests.ops.harness import (
    REFERENCE,
    WITHOUT_BATCH,
    assert_close,
    by_reference,
    cases,
    dtypes_and_layout,
    eagerly,
    in_a_graph,
    in_float64,
    is_float,
    noise,
    pullback,
)


def _not_assign(op, sample):
    return op.name != "Assign"  # it overwrites its input: tests of effects


@pytest.mark.parametrize(("op", "sample"), cases(_not_assign))
def test_pynative_agrees_with_reference(op, sample):
    check_mode(eagerly, op, sample)


@pytest.mark.parametrize(("op", "sample"), cases(_not_assign, one_of=dtypes_and_layout))
def test_graph_agrees_with_reference(op, sample):
    check_mode(in_a_graph, op, sample)


def _smooth(op, sample):
    return (sample.gradient and op.vjp is not None and op.name not in WITHOUT_BATCH and op.name != "Assign"
            and any(a.dtype == np.float64 for a in sample.inputs))


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize(("op", "sample"), cases(_smooth, most=2))
def test_gradient_agrees_with_reference(op, sample, mode):
    inputs = in_float64(sample)
    outputs = by_reference(op, inputs, sample.attrs)
    cotangents = [noise(y, 7 + i) if is_float(y) else None for i, y in enumerate(outputs)]

    def gradient(*tensors):
        count = len(inputs)
        given = list(tensors[count:])
        found = pullback(
            lambda *xs: op(*xs, **sample.attrs),
            tensors[:count],
            [None if c is None else given.pop(0) for c in cotangents],
        )
        return tuple(g for x, g in zip(inputs, found, strict=True) if is_float(x) and g is not None)

    arrays = [*inputs, *(c for c in cotangents if c is not None)]
    with dispatch.interpreting(REFERENCE):
        expected = [g.asnumpy() for g in gradient(*map(Tensor, map(np.array, arrays)))]
    run = ms.jit(gradient) if mode == "graph" else gradient
    found = [g.asnumpy() for g in run(*map(Tensor, map(np.array, arrays)))]
    for y, want in zip(found, expected, strict=True):
        assert_close(y, want, sample.tolerance * 50)
