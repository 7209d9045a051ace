"""Layers and losses against sums and values that MindSpore 2.10 gave for the same inputs."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn


@pytest.fixture
def x():
    return Tensor(np.arange(2 * 3 * 7 * 8).reshape(2, 3, 7, 8).astype(np.float32) / 100)


def total(y):
    return float(y.asnumpy().astype(np.float64).sum())


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (lambda: nn.Conv2d(3, 4, 3, 2, weight_init="ones"), (2, 4, 4, 4), 4425.6),
        (lambda: nn.Conv2d(3, 4, (3, 5), (2, 1), dilation=2, weight_init="ones"), (2, 4, 4, 8), 11256.0),
        (lambda: nn.Conv2d(3, 4, (2, 4), (1, 3), weight_init="ones"), (2, 4, 7, 3), 5283.6),
        (
            lambda: nn.Conv2d(3, 4, 3, pad_mode="pad", padding=(1, 2, 0, 1), weight_init="ones"),
            (2, 4, 8, 7),
            16224.0,
        ),
        (lambda: nn.MaxPool2d(2, 2), (2, 3, 3, 4), 120.96),
        (lambda: nn.MaxPool2d(3, 2, "same"), (2, 3, 4, 4), 167.76),
        (lambda: nn.MaxPool2d((2, 3), (1, 2), "same"), (2, 3, 7, 4), 295.02),
        (lambda: nn.MaxPool2d(3, 2, "pad", 1), (2, 3, 4, 4), 167.04),
        (lambda: nn.MaxPool2d(3, 2, "pad", 1, ceil_mode=True), (2, 3, 4, 5), 209.52),
        (lambda: nn.MaxPool2d(3, 2, "pad", (1, 0)), (2, 3, 4, 3), 125.28),
        (lambda: nn.AvgPool2d(2, 2), (2, 3, 3, 4), 117.72),
        (lambda: nn.AvgPool2d(3, 2, "same"), (2, 3, 4, 4), 161.16),
        (lambda: nn.AvgPool2d((2, 3), (1, 2), "same"), (2, 3, 7, 4), 287.79),
        (lambda: nn.AvgPool2d(3, 2, "pad", 1), (2, 3, 4, 4), 122.7333),
        (lambda: nn.AvgPool2d(3, 2, "pad", 1, ceil_mode=True), (2, 3, 4, 5), 139.8333),
        (lambda: nn.AvgPool2d(3, 2, "pad", (1, 0), count_include_pad=False), (2, 3, 4, 3), 120.24),
        (lambda: nn.AvgPool2d(2, 2, "pad", divisor_override=3), (2, 3, 3, 4), 156.96),
        (lambda: nn.AdaptiveAvgPool2d((2, 3)), (2, 3, 2, 3), 60.3),
        (lambda: nn.Flatten(), (2, 168), 562.8),
        (lambda: nn.Flatten(0), (336,), 562.8),
        (lambda: nn.Flatten(1, 2), (2, 21, 8), 562.8),
        (lambda: nn.Identity("anything"), (2, 3, 7, 8), 562.8),
    ],
)
def test_shapes_and_sums(x, layer, shape, expected):
    y = layer()(x)
    assert y.shape == shape
    assert total(y) == pytest.approx(expected, rel=1e-5)


def test_batch_norm_trains_and_infers(x):
    bn = nn.BatchNorm2d(3).set_train()
    y = bn(x)
    np.testing.assert_allclose(y.asnumpy()[0, 0, 0, :3], [-1.3034607, -1.2917705, -1.2800803], atol=1e-5)
    np.testing.assert_allclose(bn.moving_mean.asnumpy(), [0.1115, 0.1675, 0.2235], atol=1e-6)
    np.testing.assert_allclose(bn.moving_variance.asnumpy(), [0.9738317] * 3, atol=1e-6)
    bn.set_train(False)
    np.testing.assert_allclose(
        bn(x).asnumpy()[0, 0, 0, :3], [-0.11298757, -0.10285416, -0.09272074], atol=1e-5
    )


def test_batch_norm_statistics_by_argument(x):
    fixed = nn.BatchNorm2d(3, use_batch_statistics=False).set_train()
    np.testing.assert_allclose(fixed(x).asnumpy()[0, 0, 0, :3], [0, 0.00999995, 0.0199999], atol=1e-6)
    assert fixed.moving_mean.asnumpy().tolist() == [0, 0, 0]
    batch = nn.BatchNorm2d(3, use_batch_statistics=True)
    np.testing.assert_allclose(
        batch(x).asnumpy()[0, 0, 0, :3], [-1.3034607, -1.2917705, -1.2800803], atol=1e-5
    )
    assert not nn.BatchNorm2d(3, affine=False).trainable_params()


def test_batch_norm_1d():
    bn = nn.BatchNorm1d(4).set_train()
    y = bn(Tensor(np.arange(12).reshape(3, 4).astype(np.float32)))
    np.testing.assert_allclose(y.asnumpy(), np.repeat([[-1.2247443], [0], [1.2247443]], 4, 1), atol=1e-5)
    np.testing.assert_allclose(bn.moving_variance.asnumpy(), [2.5] * 4, atol=1e-6)


@pytest.mark.parametrize("arguments", [((8,),), ((7, 8), 2, 2)])
def test_layer_norm(x, arguments):
    norm = nn.LayerNorm(*arguments)
    axes = (3,) if len(arguments[0]) == 1 else (2, 3)
    a = x.asnumpy()
    expected = (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-7)
    np.testing.assert_allclose(norm(x).asnumpy(), expected, atol=2e-4)


def test_group_norm(x):
    a = x.asnumpy()
    expected = (a - a.mean((2, 3), keepdims=True)) / np.sqrt(a.var((2, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.GroupNorm(3, 3)(x).asnumpy(), expected, atol=1e-4)


def test_dense(x):
    layer = nn.Dense(8, 5, activation="relu")
    w, b = layer.weight.asnumpy(), layer.bias.asnumpy()
    np.testing.assert_allclose(layer(x).asnumpy(), np.maximum(x.asnumpy() @ w.T + b, 0), atol=1e-5)
    assert nn.Dense(8, 5, has_bias=False)(Tensor(np.ones(8, np.float32))).shape == (5,)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (lambda: nn.GELU(), [-0.04540229, -0.154286, 0, 0.841192, 2.9963627]),
        (lambda: nn.GELU(False), [-0.04550028, -0.15426877, 0, 0.8413447, 2.9959502]),
    ],
)
def test_gelu(layer, expected):
    np.testing.assert_allclose(
        layer()(Tensor(np.array([-2, -0.5, 0, 1, 3], np.float32))).asnumpy(), expected, atol=1e-6
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Softmax", [7.4975891e-04, 2.4828626e-02, 4.0935483e-02, 1.1127422e-01, 8.2221192e-01]),
        ("LogSoftmax", [-7.195757, -3.695757, -3.195757, -2.195757, -0.195757]),
        ("LeakyReLU", [-0.8, -0.1, 0, 1, 3]),
        ("ReLU", [0, 0, 0, 1, 3]),
        ("ReLU6", [0, 0, 0, 1, 3]),
        ("SiLU", [-0.07194477, -0.18877032, 0, 0.7310589, 2.8577223]),
        ("HSwish", [0, -0.20833333, 0, 0.6666667, 3]),
        ("HSigmoid", [0, 0.41666666, 0.5, 0.6666667, 1]),
        ("ELU", [-0.9816844, -0.3934695, 0, 1, 3]),
        ("Sigmoid", [0.01798619, 0.37754065, 0.5, 0.7310589, 0.95257413]),
        ("Tanh", [-0.9993293, -0.46211717, 0, 0.7615942, 0.9950548]),
    ],
)
def test_activations(name, expected):
    y = getattr(nn, name)()(Tensor(np.array([-4, -0.5, 0, 1, 3], np.float32)))
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=2e-6, atol=1e-6)


def test_dropout():
    ms.set_seed(0)
    ones = Tensor(np.ones((100, 100), np.float32))
    layer = nn.Dropout(p=0.25)
    assert layer(ones) is ones
    dropped = layer.set_train()(ones).asnumpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert dropped.mean() == pytest.approx(1, abs=0.03)
    assert set(np.unique(nn.Dropout(keep_prob=0.8).set_train()(ones).asnumpy())) == {0, 1.25}


def test_embedding():
    layer = nn.Embedding(5, 3, padding_idx=2)
    table = layer.embedding_table.asnumpy()
    assert (table[2] == 0).all() and (table[1] != 0).any()
    ids = np.array([[1, 2], [3, 4]], np.int32)
    np.testing.assert_array_equal(layer(Tensor(ids)).asnumpy(), table[ids])


LOGITS = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
PROBABILITIES = np.random.default_rng(1).dirichlet(np.ones(5), 4).astype(np.float32)


@pytest.mark.parametrize(
    ("settings", "ignored", "plain"),
    [
        ({}, 1.2724, 1.3646),
        ({"reduction": "sum"}, 3.8171, 5.4582),
        ({"label_smoothing": 0.1}, 1.3295, 1.4137),
        ({"weight": True}, 1.1139, 1.1618),
        ({"weight": True, "label_smoothing": 0.1}, 1.1722, 1.2542),
        ({"weight": True, "label_smoothing": 0.1, "reduction": "sum"}, 11.7217, 13.7965),
    ],
)
def test_cross_entropy(settings, ignored, plain):
    if settings.get("weight"):
        settings = settings | {"weight": Tensor(np.arange(1, 6).astype(np.float32))}
    loss = nn.CrossEntropyLoss(**settings)
    for labels, expected in (([1, 2, -100, 4], ignored), ([1, 2, 0, 4], plain)):
        assert float(loss(Tensor(LOGITS), Tensor(labels, ms.int32)).asnumpy()) == pytest.approx(
            expected, abs=1e-4
        )


def test_cross_entropy_of_probabilities():
    loss = nn.CrossEntropyLoss()(Tensor(LOGITS), Tensor(PROBABILITIES))
    assert float(loss.asnumpy()) == pytest.approx(1.7285107, abs=1e-5)
    smoothed = nn.CrossEntropyLoss(label_smoothing=0.1)(Tensor(LOGITS), Tensor(PROBABILITIES))
    assert float(smoothed.asnumpy()) == pytest.approx(1.7412881, abs=1e-5)


def test_softmax_cross_entropy_with_logits():
    labels = Tensor([1, 2, 0, 4], ms.int32)
    sparse = nn.SoftmaxCrossEntropyWithLogits(sparse=True)(Tensor(LOGITS), labels)
    np.testing.assert_allclose(sparse.asnumpy(), [1.8554757, 1.189998, 1.641156, 0.7715852], atol=2e-6)
    mean = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")(Tensor(LOGITS), labels)
    assert float(mean.asnumpy()) == pytest.approx(1.3645539, abs=1e-5)
    dense = nn.SoftmaxCrossEntropyWithLogits()(Tensor(LOGITS), Tensor(PROBABILITIES))
    np.testing.assert_allclose(dense.asnumpy(), [1.2380137, 1.9078, 2.4286828, 1.3395692], atol=1e-4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MSELoss", (3.0833333, 9.25, [0.25, 0, 9])),
        ("L1Loss", (1.1666666, 3.5, [0.5, 0, 3])),
        ("SmoothL1Loss", (0.875, 2.625, [0.125, 0, 2.5])),
        ("HuberLoss", (0.875, 2.625, [0.125, 0, 2.5])),
    ],
)
def test_distances(name, expected):
    a, b = Tensor([1.0, 2.0, 4.0]), Tensor([1.5, 2.0, 1.0])
    for reduction, value in zip(("mean", "sum", "none"), expected):
        np.testing.assert_allclose(getattr(nn, name)(reduction=reduction)(a, b).asnumpy(), value, atol=1e-6)


def test_binary_cross_entropy():
    q, t, a = Tensor([0.2, 0.7, 0.9]), Tensor([0.0, 1.0, 1.0]), Tensor([1.0, 2.0, 4.0])
    assert float(nn.BCELoss()(q, t).asnumpy()) == pytest.approx(0.22839302, abs=1e-6)
    np.testing.assert_allclose(
        nn.BCELoss(reduction="none")(q, t).asnumpy(), [0.22314353, 0.35667497, 0.10536055], atol=1e-6
    )
    assert float(nn.BCEWithLogitsLoss()(a, t).asnumpy()) == pytest.approx(0.48611322, abs=1e-6)
    weighted = nn.BCEWithLogitsLoss("none", Tensor([1.0, 2.0, 3.0]), Tensor([2.0, 2.0, 2.0]))(a, t)
    np.testing.assert_allclose(weighted.asnumpy(), [1.3132616, 0.5077122, 0.10889976], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (
            lambda: nn.Conv2d(3, 4, 3, padding=1),
            ValueError,
            r"padding counts only with pad_mode='pad'.*Write Conv2d\(..., pad_mode='pad', padding=1\)",
        ),
        (
            lambda: nn.MaxPool2d(3, 2, padding=1),
            ValueError,
            r"padding counts only with pad_mode='pad'.*Write MaxPool2d",
        ),
        (lambda: nn.Conv2d(3, 4, 0), ValueError, "kernel_size must be at least 1"),
        (lambda: nn.Conv2d(3, 4, 3, group=2), ValueError, "group must divide"),
        (lambda: nn.Conv2d(3, 4, 3, data_format="NHWC"), ValueError, "data_format must be 'NCHW'"),
        (
            lambda: nn.Conv2d(3, 4, 3, pad_mode="full"),
            ValueError,
            "pad_mode must be 'same', 'valid' or 'pad'",
        ),
        (lambda: nn.Dense(0, 2), ValueError, "in_channels must be a positive int"),
        (lambda: nn.Dense(1, 2, activation="foo"), KeyError, "no activation is named 'foo'"),
        (lambda: nn.Dropout(2.0), ValueError, r"keep_prob must be in \(0, 1\]"),
        (lambda: nn.Dropout(p=1.0), ValueError, r"p must be in \[0, 1\)"),
        (lambda: nn.BatchNorm2d(3, momentum=2.0), ValueError, "momentum"),
        (lambda: nn.LayerNorm(8), TypeError, r"write \(8,\)"),
        (lambda: nn.CrossEntropyLoss(reduction="max"), ValueError, "reduction must be"),
        (lambda: nn.MaxPool2d(2, 2, "pad", padding=2), ValueError, "at most half of kernel_size"),
        (lambda: nn.Softmaxx, AttributeError, "did you mean Softmax"),
        (lambda: nn.BatchNorm2d(3)(Tensor(np.ones((2, 3), np.float32))), ValueError, "must have 4 axes"),
        (
            lambda: nn.LayerNorm((9,))(Tensor(np.ones((2, 3), np.float32))),
            ValueError,
            r"normalized_shape \(9,\)",
        ),
        (lambda: nn.Conv2d(3, 4, 3)(Tensor(np.ones((1, 4, 5, 5), np.float32))), ValueError, "channels"),
        (lambda: nn.Conv2d(3, 4, 3)(np.ones((1, 3, 5, 5), np.float32)), TypeError, "Tensor"),
    ],
)
def test_refusals(make, error, match):
    with pytest.raises(error, match=match):
        make()
