"""Attention, products and distances against their formulas written out in NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

RNG = np.random.default_rng(9)
Q, K, V = (RNG.uniform(-1, 1, (2, 4, n, 8)).astype(np.float32) for n in (5, 6, 6))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, scale, hidden=None, shift=0.0):
    scores = q @ k.swapaxes(-1, -2) * scale + shift
    return softmax(scores if hidden is None else np.where(hidden, -np.inf, scores)) @ v


def close(tensor, expected, tolerance=2e-5):
    assert tensor.shape == expected.shape
    np.testing.assert_allclose(tensor.asnumpy(), expected, rtol=tolerance, atol=tolerance)


def test_scaled_dot_product_attention():
    q, k, v = map(Tensor, (Q, K, V))
    close(ops.scaled_dot_product_attention(q, k, v), attention(Q, K, V, 8 ** -0.5))
    seen = RNG.uniform(size=(5, 6)) > 0.3
    seen[:, 0] = True
    close(ops.scaled_dot_product_attention(q, k, v, Tensor(seen), scale=0.3), attention(Q, K, V, 0.3, ~seen))
    shift = RNG.uniform(-1, 1, (4, 5, 6)).astype(np.float32)
    shifted = attention(Q, K, V, 8 ** -0.5, None, shift)
    close(ops.scaled_dot_product_attention(q, k, v, Tensor(shift)), shifted)
    late = np.arange(6) > np.arange(5)[:, None]
    close(ops.scaled_dot_product_attention(q, k, v, is_causal=True), attention(Q, K, V, 8 ** -0.5, late))
    with pytest.raises(ValueError, match="attn_mask must be None"):
        ops.scaled_dot_product_attention(q, k, v, Tensor(seen), is_causal=True)


@pytest.mark.parametrize(
    ("layout", "order"),
    [("BNSD", (0, 1, 2, 3)), ("BSND", (0, 2, 1, 3)), ("BSH", (0, 2, 1, 3)), ("SBH", (2, 0, 1, 3))],
)
def test_flash_attention_in_every_layout(layout, order):
    def laid(x):
        y = x.transpose(order)
        return y.reshape(*y.shape[:2], -1) if layout.endswith("H") else y
    inputs = (Tensor(laid(x)) for x in (Q, K, V))
    y = ops.flash_attention_score(*inputs, 4, scalar_value=0.4, input_layout=layout)
    close(y, laid(attention(Q, K, V, 0.4)))


@pytest.mark.parametrize(
    ("settings", "hidden"),
    [
        ({"next_tokens": 0}, lambda i, j: j > i),
        ({"pre_tokens": 1, "next_tokens": 2}, lambda i, j: (j > i + 2) | (j < i - 1)),
        ({"sparse_mode": 2}, lambda i, j: j > i),
        ({"sparse_mode": 3}, lambda i, j: j > i + 1),
        ({"sparse_mode": 4, "pre_tokens": 2, "next_tokens": 0}, lambda i, j: (j > i + 1) | (j < i - 1)),
    ],
)
def test_flash_attention_hides_by_place(settings, hidden):
    i, j = np.ogrid[:5, :6]
    y = ops.flash_attention_score(
        *map(Tensor, (Q, K, V)), 4, scalar_value=0.4, input_layout="BNSD", **settings
    )
    close(y, attention(Q, K, V, 0.4, hidden(i, j)))


def test_flash_attention_with_masks_shared_heads_and_gradients():
    hidden = np.zeros((2, 1, 5, 6), bool)
    hidden[..., 4:] = True
    shift = RNG.uniform(-1, 1, (2, 4, 5, 6)).astype(np.float32)
    k, v = K[:, :2], V[:, :2]
    def score(q):
        return ops.flash_attention_score(
            q, Tensor(k), Tensor(v), 4, Tensor(shift), attn_mask=Tensor(hidden), scalar_value=0.4,
            input_layout="BNSD",
        )
    expected = attention(Q, k.repeat(2, 1), v.repeat(2, 1), 0.4, hidden, shift)
    close(score(Tensor(Q)), expected)
    close(ms.jit(score)(Tensor(Q)), expected)
    g = ms.grad(lambda q: (score(q) ** 2).sum())(Tensor(Q)).asnumpy()
    step = np.zeros_like(Q)
    step[0, 1, 2, 3] = 1e-2
    f = lambda q: (attention(q.astype(float), k.repeat(2, 1), v.repeat(2, 1), 0.4, hidden, shift) ** 2).sum()
    np.testing.assert_allclose(g[0, 1, 2, 3], (f(Q + step) - f(Q - step)) / 2e-2, rtol=1e-2, atol=1e-4)


def test_multi_head_attention_is_projection_attention_projection():
    x, e, heads = RNG.uniform(-1, 1, (5, 2, 8)).astype(np.float32), 8, 2
    w, b = RNG.uniform(-1, 1, (3 * e, e)).astype(np.float32), RNG.uniform(-1, 1, 3 * e).astype(np.float32)
    wo, bo = RNG.uniform(-1, 1, (e, e)).astype(np.float32), RNG.uniform(-1, 1, e).astype(np.float32)
    padding = np.zeros((2, 5), bool)
    padding[1, 3:] = True
    y, weights = ops.multi_head_attention_forward(
        *(Tensor(x),) * 3, e, heads, Tensor(w), Tensor(b), None, None, False, 0.0, Tensor(wo), Tensor(bo),
        key_padding_mask=Tensor(padding),
    )
    q, k, v = (
        (x @ w[i * e:(i + 1) * e].T + b[i * e:(i + 1) * e]).reshape(5, 2, heads, 4).transpose(1, 2, 0, 3)
        for i in range(3)
    )
    inner = attention(q, k, v, 0.5, padding[:, None, None]).transpose(2, 0, 1, 3).reshape(5, 2, e)
    close(y, inner @ wo.T + bo)
    assert weights.shape == (2, 5, 5)
    np.testing.assert_allclose(weights.asnumpy().sum(-1), 1, rtol=1e-5)
    assert not weights.asnumpy()[1, :, 3:].any()


def test_rotary_positions_keep_lengths():
    x = RNG.uniform(-1, 1, (2, 3, 8)).astype(np.float32)
    angle = RNG.uniform(0, 3, (3, 4)).astype(np.float32)
    for mode, spread in ((0, np.concatenate((angle, angle), -1)), (1, angle.repeat(2, -1))):
        y = ops.rotary_position_embedding(Tensor(x), Tensor(np.cos(spread)), Tensor(np.sin(spread)), mode)
        np.testing.assert_allclose((y.asnumpy() ** 2).sum(-1), (x ** 2).sum(-1), rtol=1e-5)
    with pytest.raises(ValueError, match="even in number"):
        ops.rotary_position_embedding(Tensor(x[..., :3]), 1.0, 0.0)


def test_distances():
    a, b = RNG.uniform(-1, 1, (2, 4, 3)).astype(np.float32), RNG.uniform(-1, 1, (2, 5, 3)).astype(np.float32)
    gaps = np.abs(a[:, :, None] - b[:, None])
    for p in (0.0, 1.0, 1.5, 2.0, np.inf):
        expected = np.linalg.norm(gaps, p, -1)
        close(ops.cdist(Tensor(a), Tensor(b), p), expected)
    grad = ms.grad(lambda t: ops.cdist(t, t).sum())(Tensor(a))
    assert np.isfinite(grad.asnumpy()).all(), "the distance from itself has derivative 0"
    with pytest.raises(ValueError, match="p not negative"):
        ops.cdist(Tensor(a), Tensor(b), -1.0)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: ops.flash_attention_score(x, x, x, 4, input_layout="TND"), "input_layout must be one of"),
        (lambda x: ops.tensor_dot(x, x, 5), "axes must be from 0 to 4"),
        (lambda x: ops.tensor_dot(x, x, ([0], [1])), "equal extents"),
        (lambda x: ops.cross(x, x), "the axis must have extent 3"),
        (lambda x: ops.roi_align(x, x, 2, 2, 1.0), r"rois \[n, 5\]"),
        (lambda x: ops.nms_with_mask(x[0, 0]), r"must be \[n, 5\]"),
        (lambda x: ops.iou(x, x), r"\[n, 4\] and \[m, 4\]"),
        (lambda x: ops.ctc_loss(x[0], Tensor([[1]]), [1], [1], 99), "blank must be one of 8 classes"),
    ],
)
def test_refuses(call, match):
    with pytest.raises(ValueError, match=match):
        call(Tensor(Q))
