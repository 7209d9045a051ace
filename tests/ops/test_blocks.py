"""Blocks between space and batch, batched products over axes, slices below a norm."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

RNG = np.random.default_rng(0)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
BATCH = np.arange(16, dtype=np.float32).reshape(4, 1, 2, 2)
SLICES = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
A, B = RNG.standard_normal((2, 3, 4, 5)).astype("f4"), RNG.standard_normal((2, 4, 6)).astype("f4")

# What MindSpore 2.10 gives for the first four.
CASES = {
    "space_to_batch_nd": (
        lambda x: ops.space_to_batch_nd(x, [2, 2], [[0, 0], [2, 0]]), (IMAGE,),
        [[[[0, 0, 2], [0, 8, 10]]], [[[0, 1, 3], [0, 9, 11]]],
         [[[0, 4, 6], [0, 12, 14]]], [[[0, 5, 7], [0, 13, 15]]]],
    ),
    "batch_to_space_nd": (
        lambda x: ops.batch_to_space_nd(x, [2, 2], [[0, 0], [1, 0]]), (BATCH,),
        [[[[4, 1, 5], [12, 9, 13], [6, 3, 7], [14, 11, 15]]]],
    ),
    "renorm": (
        lambda x: ops.renorm(x, 2, 1, 5.0), (SLICES,),
        [[[0.0, 0.53916389], [0.79555726, 1.19333601], [1.23560405, 1.54450512]],
         [[3.23498297, 3.77414703], [3.18222904, 3.58000779], [3.08901024, 3.39791107]]],
    ),
    "batch_dot": (
        ops.batch_dot, (SLICES.reshape(2, 2, 3), SLICES + 1),
        [[[13, 16], [40, 52]], [[193, 214], [274, 304]]],
    ),
    "batch_dot over axes": (
        lambda x, y: ops.batch_dot(x, y, (2, -2)), (A, B), np.einsum("nakb,nkc->nabc", A, B),
    ),
    "batch_dot of rows": (ops.batch_dot, (A[:, 0, 0], A[:, 1, 1]),
                          np.einsum("nk,nk->n", A[:, 0, 0], A[:, 1, 1])[:, None]),
    "renorm of slices within": (lambda x: ops.renorm(x, 1, 0, 1e3), (SLICES,), SLICES),
    "there and back": (
        lambda x: ops.batch_to_space_nd(
            ops.space_to_batch_nd(x, [2, 1, 3], [[1, 0], [0, 0], [0, 1]]),
            [2, 1, 3], [[1, 0], [0, 0], [0, 1]]),
        (A,), A,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [ms.float32, ms.float64, ms.float16])
def test_values_in_both_modes(name, dtype):
    function, inputs, expected = CASES[name]
    given = [Tensor(x).astype(dtype) for x in inputs]
    tolerance = 1e-2 if dtype is ms.float16 else 1e-5
    for run in (function, ms.jit(function)):
        found = run(*given)
        assert found.dtype is dtype
        np.testing.assert_allclose(found.asnumpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("name", CASES)
def test_gradients_against_differences(name):
    function, inputs, _ = CASES[name]
    given = [RNG.standard_normal(x.shape) + 3 for x in inputs]
    weights = RNG.standard_normal(function(*map(Tensor, given)).shape)
    loss = lambda *xs: (function(*xs) * Tensor(weights)).sum()  # noqa: E731
    found = ms.grad(loss, tuple(range(len(given))))(*map(Tensor, given))
    for i, got in enumerate(found if isinstance(found, tuple) else (found,)):
        step = RNG.standard_normal(given[i].shape)
        near = [float(loss(*(Tensor(x + sign * 1e-5 * step) if j == i else Tensor(x)
                             for j, x in enumerate(given)))) for sign in (1, -1)]
        np.testing.assert_allclose((got.asnumpy() * step).sum(), (near[0] - near[1]) / 2e-5, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ops.space_to_batch_nd(Tensor(IMAGE), [3, 3], [[0, 0], [0, 0]]), ValueError, "divide the"),
        (lambda: ops.space_to_batch_nd(Tensor(IMAGE), [2, 2], [[0, 0]]), ValueError, "a pair of"),
        (lambda: ops.batch_to_space_nd(Tensor(IMAGE), 2, [[0, 0], [0, 0]]), ValueError, "multiple of the"),
        (lambda: ops.batch_to_space_nd(Tensor(BATCH), 2, [[2, 2], [0, 0]]), ValueError, "leave something"),
        (lambda: ops.batch_dot(Tensor(A), Tensor(B), 0), ValueError, "not the batch's"),
        (lambda: ops.batch_dot(Tensor(A), Tensor(B[:1])), ValueError, "batches of one size"),
        (lambda: ops.batch_dot(Tensor(A), Tensor(B), "a"), TypeError, "axes must be"),
        (lambda: ops.renorm(Tensor(SLICES), 0, 0, 1.0), ValueError, "p must be positive"),
        (lambda: ops.renorm(Tensor([1, 2]), 2, 0, 1.0), TypeError, "of floats"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
