"""`vmap` over functions whose tests differ from one element of the batch to the next."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

X = np.array([-3.0, 0.5, 2.0, 40.0, 0.0], np.float32)


def halved(x):
    count = ops.zeros((), ms.int32)
    while ops.abs(x) > 1:
        x = x / 2
        count = count + 1
    return x, count


def signed(x):
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def rows(x, limit):
    total = x.sum()
    while total < limit:
        x = x * 2
        total = x.sum()
    if total > 20:
        x = x - 1
    return x


def test_each_element_has_its_own_number_of_iterations():
    values, counts = ms.jit(lambda x: ms.vmap(halved)(x))(Tensor(X))
    np.testing.assert_array_equal(values.asnumpy(), [-0.75, 0.5, 1.0, 0.625, 0.0])
    np.testing.assert_array_equal(counts.asnumpy(), [2, 0, 1, 6, 0])


def test_each_element_has_its_own_branch():
    y = ms.jit(lambda x: ms.vmap(signed)(x))(Tensor(X))
    np.testing.assert_array_equal(y.asnumpy(), np.where(X > 0, X * 2, X - 1))


@pytest.mark.parametrize("axes", [(0, None), (1, 0), (None, 0)])
def test_rows_and_what_is_the_same_for_all(axes):
    a = np.random.default_rng(1).uniform(0.5, 2, (3, 3)).astype(np.float32)
    x = a if axes[0] is not None else a[0]
    limit = np.float32(9) if axes[1] is None else np.array([3, 9, 30], np.float32)
    found = ms.jit(lambda x, limit: ms.vmap(rows, axes)(x, limit))(Tensor(x), Tensor(limit)).asnumpy()
    for i, y in enumerate(found):
        v = x if axes[0] is None else x[i] if axes[0] == 0 else x[:, i]
        top = limit if axes[1] is None else limit[i]
        while v.sum() < top:
            v = v * 2
        np.testing.assert_allclose(y, v - 1 if v.sum() > 20 else v, rtol=1e-6)


@pytest.mark.parametrize("order", ["gradient of a batch", "batch of gradients"])
def test_gradients(order):
    def loss(x):
        return signed(halved(x)[0])

    if order == "gradient of a batch":
        gradient = ms.jit(ms.grad(lambda x: ms.vmap(loss)(x).sum()))
    else:
        gradient = ms.jit(ms.vmap(ms.grad(loss)))
    factors = np.array([0.25, 1, 0.5, 1 / 64, 1], np.float32) * np.where(X > 0, 2, 1)
    np.testing.assert_allclose(gradient(Tensor(X)).asnumpy(), factors, rtol=1e-6)


def test_a_batch_of_batches():
    grid = np.stack([X, X[::-1] * 3])
    values, _ = ms.jit(ms.vmap(ms.vmap(halved)))(Tensor(grid))
    expected = [[halved_value(v) for v in row] for row in grid]
    np.testing.assert_array_equal(values.asnumpy(), expected)


def halved_value(v: float) -> float:
    while abs(v) > 1:
        v /= 2
    return v


def test_effects_in_a_branch_are_refused():
    @ms.jit
    def shown(x):
        def one(v):
            if v > 0:
                ops.print_(v)
                v = v + 1
            return v

        return ms.vmap(one)(x)

    with pytest.raises(NotImplementedError, match="vmap: if contains Print"):
        shown(Tensor(X))
