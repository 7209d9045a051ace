"""``mint`` where it differs from ``ops``: parameters named as in PyTorch, results as PyTorch gives them."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, mint, ops

F = mint.nn.functional
A = np.random.default_rng(3).uniform(-1, 1, (2, 3, 4)).astype(np.float32)


def same(tensor, expected, dtype=None):
    np.testing.assert_allclose(tensor.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert dtype is None or tensor.dtype is dtype


def test_axes_are_called_dim():
    x = Tensor(A)
    same(mint.cat((x, x), dim=1), np.concatenate((A, A), 1))
    same(mint.stack((x, x), dim=-1), np.stack((A, A), -1))
    same(mint.transpose(x, 0, 2), A.swapaxes(0, 2))
    same(mint.sum(x, dim=(0, 1), keepdim=True), A.sum((0, 1), keepdims=True))
    same(mint.mean(x, dim=-1), A.mean(-1))
    same(mint.flatten(x, 1), A.reshape(2, 12))
    same(mint.select(x, 1, 2), A[:, 2])
    same(mint.split(x, [1, 2], dim=1)[1], A[:, 1:])
    same(mint.squeeze(x[:, :1], 1), A[:, 0])
    same(mint.gather(x, 2, Tensor([[[0, 3]] * 3] * 2)), A[:, :, [0, 3]])


def test_extrema():
    x = Tensor(A)
    same(mint.max(x), A.max())
    values, indices = mint.max(x, dim=1)
    same(values, A.max(1))
    same(indices, A.argmax(1), ms.int64)
    same(mint.min(x, x * 0), np.minimum(A, 0))
    same(mint.argmin(x, dim=1), A.argmin(1), ms.int64)
    values, indices = mint.topk(x, 2)
    same(values, -np.sort(-A, -1)[..., :2])
    assert indices.dtype is ms.int64
    same(mint.argsort(x, descending=True), np.argsort(-A, -1), ms.int64)


def test_spread_is_unbiased_unless_told():
    same(mint.var(Tensor(A)), A.var(ddof=1))
    same(mint.std(Tensor(A), dim=1, correction=0), A.std(1))


def test_drawing_from_a_generator():
    first = mint.randn(3, generator=ops.Generator(5)).asnumpy()
    np.testing.assert_array_equal(mint.randn(3, generator=ops.Generator(5)).asnumpy(), first)
    assert set(mint.randint(2, (50,)).tolist()) == {0, 1}
    assert mint.bernoulli(Tensor([0.0, 1.0])).tolist() == [0.0, 1.0]


def test_functional():
    x = Tensor(A)
    same(F.softmax(x, dim=-1), ops.softmax(x).asnumpy())
    same(F.leaky_relu(Tensor([-1.0, 2.0])), [-0.01, 2.0])
    same(F.one_hot(Tensor([1, 0])), [[0, 1], [1, 0]], ms.int64)
    same(F.pad(x, (1, 0)), np.pad(A, ((0, 0), (0, 0), (1, 0))))
    image, weight = Tensor(np.ones((1, 1, 4, 4), np.float32)), Tensor(np.ones((1, 1, 3, 3), np.float32))
    assert F.conv2d(image, weight, padding=1).shape == (1, 1, 4, 4)
    assert F.conv2d(image, weight, padding="same").shape == (1, 1, 4, 4)
    same(F.avg_pool2d(image, 2), np.ones((1, 1, 2, 2)))
    same(F.smooth_l1_loss(Tensor([0.0, 3.0]), Tensor([0.0, 0.0])), 1.25)


def test_embedding_leaves_the_padding_alone():
    table = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2))
    g = ms.grad(lambda t: F.embedding(Tensor([0, 1, 1]), t, padding_idx=0).sum())(table)
    assert g.tolist() == [[0, 0], [2, 2], [0, 0]]
    with pytest.raises(NotImplementedError, match="max_norm must be None"):
        F.embedding(Tensor([0]), table, max_norm=1.0)
