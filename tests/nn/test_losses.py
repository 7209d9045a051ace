"""Losses against their formulas in NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn

rng = np.random.default_rng(5)
A, B, C = (rng.standard_normal((3, 4)).astype(np.float32) for _ in range(3))
SIGNS = np.array([[1, -1, 1, 1], [-1, -1, 1, -1], [1, 1, 1, -1]], np.float32)


def norms(x):
    return np.sqrt((x.astype(np.float64) ** 2).sum(1))


def softmax(x):
    e = np.exp(x.astype(np.float64))
    return e / e.sum(1, keepdims=True)


CASES = {
    "RMSELoss": (nn.RMSELoss, (A, B), np.sqrt(((A - B) ** 2).mean())),
    "KLDivLoss": (
        lambda: nn.KLDivLoss("batchmean"),
        (A, softmax(B).astype(np.float32)),
        (softmax(B) * (np.log(softmax(B)) - A)).sum() / 3,
    ),
    "DiceLoss": (nn.DiceLoss, (abs(A), abs(B)), 1 - 2 * abs(A * B).sum() / ((A**2).sum() + (B**2).sum())),
    "PoissonNLLLoss": (nn.PoissonNLLLoss, (A, abs(B)), (np.exp(A) - abs(B) * A).mean()),
    "SoftMarginLoss": (nn.SoftMarginLoss, (A, SIGNS), np.log(1 + np.exp(-SIGNS * A)).mean()),
    "HingeEmbeddingLoss": (
        nn.HingeEmbeddingLoss,
        (A, SIGNS),
        np.where(SIGNS > 0, A, np.maximum(0, 1 - A)).mean(),
    ),
    "MarginRankingLoss": (
        lambda: nn.MarginRankingLoss(0.5),
        (A, B, SIGNS),
        np.maximum(0, -SIGNS * (A - B) + 0.5).mean(),
    ),
    "CosineEmbeddingLoss": (
        nn.CosineEmbeddingLoss,
        (A, B, np.ones(3, np.int32)),
        (1 - (A * B).sum(1) / norms(A) / norms(B)).mean(),
    ),
    "MultiMarginLoss": (
        nn.MultiMarginLoss,
        (A, np.array([1, 0, 3], np.int64)),
        sum(max(0, 1 - A[i, y] + A[i, j]) for i, y in enumerate((1, 0, 3)) for j in range(4) if j != y) / 12,
    ),
    "TripletMarginLoss": (
        nn.TripletMarginLoss,
        (A, B, C),
        np.maximum(norms(A - B) - norms(A - C) + 1, 0).mean(),
    ),
    "TripletMarginWithDistanceLoss": (
        lambda: nn.TripletMarginWithDistanceLoss(swap=True, reduction="sum"),
        (A, B, C),
        np.maximum(norms(A - B) - np.minimum(norms(A - C), norms(B - C)) + 1, 0).sum(),
    ),
    "FocalLoss": (
        nn.FocalLoss,
        (A, np.array([[1], [0], [3]], np.int32)),
        np.mean([-((1 - p) ** 2) * np.log(p) for p in softmax(A)[[0, 1, 2], [1, 0, 3]]]),
    ),
    "GaussianNLLLoss": (
        nn.GaussianNLLLoss,
        (A, B, abs(C)),
        (0.5 * (np.log(abs(C)) + (A - B) ** 2 / abs(C))).mean(),
    ),
    "MultiClassDiceLoss": (
        lambda: nn.MultiClassDiceLoss(activation=None),
        (abs(A), abs(B)),
        np.mean(
            [1 - 2 * abs(A * B)[:, i].sum() / ((A**2)[:, i].sum() + (B**2)[:, i].sum()) for i in range(4)]
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_values(name, mode):
    make, inputs, expected = CASES[name]
    ms.set_context(mode=mode)
    try:
        loss = make()(*map(Tensor, inputs))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert float(loss.asnumpy()) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)


def ctc_by_listing(log_p, target, steps):
    """Adds up all alignments; blank is 0."""
    total = 0.0
    for path in product(range(log_p.shape[1]), repeat=steps):
        kept = [c for i, c in enumerate(path) if c and (i == 0 or c != path[i - 1])]
        if kept == list(target):
            total += np.exp(sum(log_p[t, c] for t, c in enumerate(path)))
    return -np.log(total)


def test_ctc():
    logits = rng.standard_normal((5, 2, 3)).astype(np.float32)
    log_p = np.log(np.stack([softmax(x) for x in logits]))
    targets, steps, lengths = np.array([[1, 1], [2, 1]], np.int32), np.array([5, 4]), np.array([2, 1])
    expected = [ctc_by_listing(log_p[:, i], targets[i, : lengths[i]], steps[i]) for i in range(2)]

    def loss(x, reduction="sum"):
        tensors = (Tensor(a.astype(np.int32)) for a in (targets, steps, lengths))
        return nn.CTCLoss(reduction=reduction)(nn.LogSoftmax()(x), *tensors)

    np.testing.assert_allclose(loss(Tensor(logits), "none").asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(
        float(loss(Tensor(logits), "mean").asnumpy()), (expected[0] / 2 + expected[1]) / 2, rtol=1e-5
    )
    gradient = ms.grad(loss)(Tensor(logits)).asnumpy()
    for at in ((0, 0, 1), (2, 1, 2), (4, 0, 0)):
        bump = np.zeros_like(logits)
        bump[at] = 1e-2
        up, down = (float(loss(Tensor(logits + s * bump)).asnumpy()) for s in (1, -1))
        assert gradient[at] == pytest.approx((up - down) / 2e-2, abs=2e-3)
    impossible = nn.CTCLoss(zero_infinity=True, reduction="sum")
    short = impossible(
        Tensor(log_p[:1, :1].astype(np.float32)),
        Tensor(targets[:1]),
        Tensor(np.array([1], np.int32)),
        Tensor(np.array([2], np.int32)),
    )
    assert float(short.asnumpy()) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.MarginRankingLoss(reduction="other"),
        lambda: nn.CosineEmbeddingLoss(reduction="other"),
        lambda: nn.MultiMarginLoss(p=3),
        lambda: nn.DiceLoss(0),
        lambda: nn.PoissonNLLLoss(eps=0),
        lambda: nn.FocalLoss(weight=Tensor(A)),
        lambda: nn.FocalLoss()(Tensor(A), Tensor(A[:, :2])),
        lambda: nn.MultiClassDiceLoss()(Tensor(A), Tensor(A[:2])),
        lambda: nn.CTCLoss()(Tensor(A[None, None]), Tensor(SIGNS), 1, 1),
    ],
)
def test_wrong_arguments(make):
    with pytest.raises(ValueError, match="Received"):
        make()


def _sampled():
    draw = np.random.default_rng(0)
    weights, biases, logits = (draw.normal(size=s).astype(np.float32) for s in ((7, 4), (7,), (3, 4)))
    return weights, biases, np.array([[0, 3], [1, 2], [5, 6]], np.int32), logits


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_sampled_softmax_with_given_samples(mode):
    """What MindSpore 2.10 gives for these inputs."""
    inputs = [Tensor(x) for x in _sampled()]
    given = (
        Tensor(np.array([4, 1, 0], np.int32)),
        Tensor(np.full((3, 2), 0.3, np.float32)),
        Tensor(np.array([0.5, 0.6, 0.7], np.float32)),
    )
    ms.set_context(mode=mode)
    try:
        found = nn.SampledSoftmaxLoss(3, 7, 2, given)(*inputs).asnumpy()
        mean = nn.SampledSoftmaxLoss(3, 7, 2, given, reduction="mean")(*inputs)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    np.testing.assert_allclose(found, [1.9590635, 2.4454951, 1.4174819], rtol=1e-6)
    np.testing.assert_allclose(mean.asnumpy(), found.mean(), rtol=1e-6)


def test_sampled_softmax_of_all_classes_is_cross_entropy():
    weights, biases, labels, logits = (Tensor(x) for x in _sampled())
    loss = nn.SampledSoftmaxLoss(7, 7, reduction="mean")
    labels = labels[:, 0]
    expected = ms.ops.cross_entropy(logits @ weights.T + biases, labels)
    value = loss(weights, biases, labels, logits)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-6)
    found = ms.grad(lambda w: loss(w, biases, labels, logits))(weights)
    wanted = ms.grad(lambda w: ms.ops.cross_entropy(logits @ w.T + biases, labels))(weights)
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_sampled_softmax_refuses():
    with pytest.raises(ValueError, match="num_classes=3"):
        nn.SampledSoftmaxLoss(4, 3)
    with pytest.raises(TypeError, match="int32 or int64"):
        nn.SampledSoftmaxLoss(2, 7)(*(Tensor(x.astype(np.float32)) for x in _sampled()))
