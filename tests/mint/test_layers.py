"""``mint.nn``: settings, parameters, modes and names of layers; what they compute is tested with
`functional`."""
from __future__ import annotations

import inspect

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, mint

nn, F = mint.nn, mint.nn.functional
RNG = np.random.default_rng(6)


def drawn(*shape):
    return Tensor(RNG.uniform(-1, 1, shape).astype(np.float32))


IMAGES, VOLUMES, ROWS = drawn(2, 4, 6, 6), drawn(1, 4, 3, 4, 5), drawn(3, 4)

# layer, input, and the function that it stands for
LAYERS = [
    (nn.ReLU(), ROWS, F.relu),
    (nn.ReLU6(), ROWS, F.relu6),
    (nn.ELU(0.5), ROWS, lambda x: F.elu(x, 0.5)),
    (nn.SELU(), ROWS, F.selu),
    (nn.GELU(), ROWS, F.gelu),
    (nn.GELU(approximate="tanh"), ROWS, lambda x: F.gelu(x, approximate="tanh")),
    (nn.SiLU(), ROWS, F.silu),
    (nn.Mish(), ROWS, F.mish),
    (nn.GLU(1), ROWS, lambda x: F.glu(x, 1)),
    (nn.Sigmoid(), ROWS, F.sigmoid),
    (nn.Tanh(), ROWS, F.tanh),
    (nn.LogSigmoid(), ROWS, F.logsigmoid),
    (nn.Softmax(dim=0), ROWS, lambda x: F.softmax(x, 0)),
    (nn.LogSoftmax(1), ROWS, lambda x: F.log_softmax(x, 1)),
    (nn.Hardshrink(0.2), ROWS, lambda x: F.hardshrink(x, 0.2)),
    (nn.Softshrink(0.2), ROWS, lambda x: F.softshrink(x, 0.2)),
    (nn.Hardsigmoid(), ROWS, F.hardsigmoid),
    (nn.Hardswish(), ROWS, F.hardswish),
    (nn.Hardtanh(-0.5, 0.5), ROWS, lambda x: F.hardtanh(x, -0.5, 0.5)),
    (nn.Threshold(0.1, 5.0), ROWS, lambda x: F.threshold(x, 0.1, 5.0)),
    (nn.Flatten(), IMAGES, lambda x: F.flatten(x, 1)),
    (nn.Unfold(3, stride=2), IMAGES, lambda x: F.unfold(x, 3, stride=2)),
    (nn.PixelShuffle(2), IMAGES, lambda x: F.pixel_shuffle(x, 2)),
    (nn.AvgPool1d(2), ROWS, lambda x: F.avg_pool1d(x, 2)),
    (nn.AvgPool2d(2, 1), IMAGES, lambda x: F.avg_pool2d(x, 2, 1)),
    (nn.AvgPool3d(2), VOLUMES, lambda x: F.avg_pool3d(x, 2)),
    (nn.MaxPool2d(3, 2, 1), IMAGES, lambda x: F.max_pool2d(x, 3, 2, 1)),
    (nn.AdaptiveAvgPool1d(2), ROWS, lambda x: F.adaptive_avg_pool1d(x, 2)),
    (nn.AdaptiveAvgPool2d((2, 3)), IMAGES, lambda x: F.adaptive_avg_pool2d(x, (2, 3))),
    (nn.AdaptiveAvgPool3d(2), VOLUMES, lambda x: F.adaptive_avg_pool3d(x, 2)),
    (nn.AdaptiveMaxPool1d(2), ROWS, lambda x: F.adaptive_max_pool1d(x, 2)),
    (nn.AdaptiveMaxPool2d(2), IMAGES, lambda x: F.adaptive_max_pool2d(x, 2)),
    (nn.Upsample(scale_factor=2), IMAGES, lambda x: F.interpolate(x, None, 2)),
    (nn.UpsamplingNearest2d((3, 9)), IMAGES, lambda x: F.interpolate(x, (3, 9))),
    (nn.UpsamplingBilinear2d((3, 9)), IMAGES,
     lambda x: F.interpolate(x, (3, 9), None, "bilinear", True)),
    (nn.ConstantPad2d(1, 3.0), IMAGES, lambda x: F.pad(x, (1, 1, 1, 1), "constant", 3.0)),
    (nn.ZeroPad1d((1, 2)), IMAGES, lambda x: F.pad(x, (1, 2))),
    (nn.ReflectionPad2d((1, 0, 2, 1)), IMAGES, lambda x: F.pad(x, (1, 0, 2, 1), "reflect")),
    (nn.ReplicationPad3d(1), VOLUMES, lambda x: F.pad(x, (1,) * 6, "replicate")),
    (nn.Identity("anything", at=1), IMAGES, lambda x: x),
]


@pytest.mark.parametrize(("layer", "x", "function"), LAYERS, ids=lambda v: getattr(v, "cls_name", ""))
def test_layers_are_their_functions(layer, x, function):
    np.testing.assert_array_equal(layer(x).asnumpy(), function(x).asnumpy())


@pytest.mark.parametrize(("layer", "x", "function"), LAYERS[:8:3] + LAYERS[24:30:3])
def test_layers_in_graph_mode(layer, x, function):
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        np.testing.assert_allclose(layer(x).asnumpy(), function(x).asnumpy(), rtol=1e-5, atol=1e-6)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


LOGITS, LABELS, SIGNS = drawn(4, 3), Tensor([0, 2, 1, 1]), Tensor(np.sign(RNG.uniform(-1, 1, (4, 3))))
SHARES = F.sigmoid(LOGITS)


@pytest.mark.parametrize(
    ("loss", "inputs", "function"),
    [
        (nn.CrossEntropyLoss(label_smoothing=0.1), (LOGITS, LABELS),
         lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1)),
        (nn.NLLLoss(reduction="sum"), (LOGITS, LABELS), lambda x, y: F.nll_loss(x, y, reduction="sum")),
        (nn.MSELoss("none"), (LOGITS, SHARES), lambda x, y: F.mse_loss(x, y, "none")),
        (nn.L1Loss(), (LOGITS, SHARES), F.l1_loss),
        (nn.SmoothL1Loss(beta=0.5), (LOGITS, SHARES), lambda x, y: F.smooth_l1_loss(x, y, beta=0.5)),
        (nn.BCELoss(), (SHARES, SHARES), F.binary_cross_entropy),
        (nn.BCEWithLogitsLoss(pos_weight=Tensor([1.0, 2.0, 3.0])), (LOGITS, SHARES),
         lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=Tensor([1.0, 2.0, 3.0]))),
        (nn.KLDivLoss("batchmean"), (LOGITS, SHARES), lambda x, y: F.kl_div(x, y, "batchmean")),
        (nn.SoftMarginLoss(), (LOGITS, SIGNS.astype(ms.float32)), F.soft_margin_loss),
        (nn.CosineEmbeddingLoss(0.2), (LOGITS, SHARES, Tensor([1.0, -1.0, 1.0, -1.0])),
         lambda x, y, t: F.cosine_embedding_loss(x, y, t, 0.2)),
    ],
)
def test_losses_are_their_functions(loss, inputs, function):
    np.testing.assert_array_equal(loss(*inputs).asnumpy(), function(*inputs).asnumpy())


@pytest.mark.parametrize(
    ("layer", "x", "shape", "parameters"),
    [
        (nn.Linear(4, 5), ROWS, (3, 5), {"weight": (5, 4), "bias": (5,)}),
        (nn.Linear(4, 5, bias=False), ROWS, (3, 5), {"weight": (5, 4)}),
        (nn.Embedding(9, 5), Tensor([[1, 2]]), (1, 2, 5), {"weight": (9, 5)}),
        (nn.Conv1d(6, 2, 3), IMAGES[0], (4, 2, 4), {"weight": (2, 6, 3), "bias": (2,)}),
        (nn.Conv2d(4, 2, 3, 2, 1), IMAGES, (2, 2, 3, 3), {"weight": (2, 4, 3, 3), "bias": (2,)}),
        (nn.Conv2d(4, 8, (3, 1), padding="same", groups=2, bias=False), IMAGES, (2, 8, 6, 6),
         {"weight": (8, 2, 3, 1)}),
        (nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"), IMAGES, (2, 2, 6, 6),
         {"weight": (2, 4, 3, 3), "bias": (2,)}),
        (nn.Conv3d(4, 2, 2), VOLUMES, (1, 2, 2, 3, 4), {"weight": (2, 4, 2, 2, 2), "bias": (2,)}),
        (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2), IMAGES, (2, 6, 12, 12),
         {"weight": (4, 3, 3, 3), "bias": (6,)}),
        (nn.BatchNorm2d(4), IMAGES, (2, 4, 6, 6),
         {"weight": (4,), "bias": (4,), "running_mean": (4,), "running_var": (4,),
          "num_batches_tracked": ()}),
        (nn.BatchNorm1d(4, affine=False, track_running_stats=False), ROWS, (3, 4), {}),
        (nn.LayerNorm((4,)), ROWS, (3, 4), {"weight": (4,), "bias": (4,)}),
        (nn.LayerNorm(4, bias=False), ROWS, (3, 4), {"weight": (4,)}),
        (nn.GroupNorm(2, 4), IMAGES, (2, 4, 6, 6), {"weight": (4,), "bias": (4,)}),
        (nn.PReLU(4), IMAGES, (2, 4, 6, 6), {"weight": (4,)}),
    ],
)
def test_parameters_and_shapes(layer, x, shape, parameters):
    assert layer(x).shape == shape
    assert {p.name: p.shape for p in layer.get_parameters()} == parameters


def test_initial_values():
    ms.set_seed(1)
    layer = nn.Linear(100, 50)
    weight, bias = layer.weight.asnumpy(), layer.bias.asnumpy()
    assert 0.08 < np.abs(weight).max() <= 0.1 and np.abs(bias).max() <= 0.1
    assert 0.9 < nn.Embedding(100, 100).weight.asnumpy().std() < 1.1
    padded = nn.Embedding(4, 3, padding_idx=-1)
    assert padded.padding_idx == 3 and not padded.weight.asnumpy()[3].any()
    assert nn.Conv2d(2, 2, 3, dtype=ms.float16).weight.dtype is ms.float16


def test_batch_norm_tracks_statistics():
    layer, x = nn.BatchNorm2d(4, momentum=0.5), IMAGES
    layer.set_train(True)
    layer(x)
    a = x.asnumpy()
    np.testing.assert_allclose(layer.running_mean.asnumpy(), 0.5 * a.mean((0, 2, 3)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(layer.running_var.asnumpy(), 0.5 + 0.5 * a.var((0, 2, 3), ddof=1), rtol=1e-4)
    assert int(layer.num_batches_tracked) == 1
    averaging = nn.BatchNorm2d(4, momentum=None).set_train(True)
    averaging(x)
    averaging(x * 3)
    np.testing.assert_allclose(averaging.running_mean.asnumpy(), 2 * a.mean((0, 2, 3)), rtol=1e-3, atol=1e-5)
    frozen = nn.BatchNorm2d(4, track_running_stats=False).set_train(False)
    np.testing.assert_allclose(frozen(x).asnumpy().mean((0, 2, 3)), 0, atol=1e-5)


def test_dropout_follows_the_mode():
    for layer in (nn.Dropout(0.5), nn.Dropout2d(0.5)):
        assert (layer.set_train(False)(IMAGES) == IMAGES).all()
        y = layer.set_train(True)(IMAGES * 0 + 1).asnumpy()
        assert set(np.unique(y)) <= {0.0, 2.0}
    assert all(len(np.unique(c)) == 1 for c in y.reshape(8, -1)), "whole channels"


def test_in_place_forms():
    x = drawn(5)
    before = x.asnumpy().copy()
    assert F.relu_(x) is not None
    np.testing.assert_array_equal(x.asnumpy(), np.maximum(before, 0))
    y = drawn(5)
    expected = F.silu(y).asnumpy()
    F.silu(y, inplace=True)
    np.testing.assert_array_equal(y.asnumpy(), expected)


def test_a_network_trains():
    ms.set_seed(2)
    net = ms.nn.SequentialCell(
        nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 3),
    ).set_train(True)
    loss, labels = nn.CrossEntropyLoss(), Tensor([0, 2])
    step = ms.value_and_grad(lambda x: loss(net(x), labels), None, net.trainable_params())
    optimizer = ms.nn.Adam(net.trainable_params(), 0.05)
    losses = []
    for _ in range(12):
        value, grads = step(IMAGES)
        optimizer(grads)
        losses.append(float(value))
    assert losses[-1] < 0.3 * losses[0]


def test_signatures_and_texts():
    assert list(inspect.signature(nn.GELU).parameters) == ["approximate"]
    assert repr(nn.Softmax(dim=1)) == "Softmax(dim=1)"
    assert "kernel_size=(3, 3)" in repr(nn.Conv2d(1, 1, 3))
    assert all(hasattr(nn, name) for name in nn.__all__)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: nn.Linear(0, 3), ValueError, "positive int"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "groups must divide"),
        (lambda: nn.Conv2d(3, 4, 3, padding="full"), ValueError, "'same', 'valid' or ints"),
        (lambda: nn.Conv2d(3, 4, 3, padding_mode="x"), ValueError, "padding_mode must be"),
        (lambda: nn.Conv2d(3, 4, "3"), TypeError, "kernel_size must be an int"),
        (lambda: nn.ConvTranspose2d(2, 2, 3, padding_mode="reflect"), ValueError, "must be 'zeros'"),
        (lambda: nn.BatchNorm2d(3)(IMAGES), ValueError, "with 3 channels on axis 1"),
        (lambda: nn.BatchNorm1d(4)(IMAGES), ValueError, "2 or 3 axes"),
        (lambda: nn.LayerNorm(4.0), TypeError, "an int or a tuple of ints"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "must divide num_channels"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError, r"in \[-3, 3\)"),
        (lambda: nn.GELU(nothing=1), TypeError, "must be constructed with"),
        (lambda: nn.ReflectionPad2d((1, 2)), ValueError, "an int or 4 of them"),
        (lambda: nn.SyncBatchNorm(3, process_group="g"), NotImplementedError, "must be None"),
        (lambda: nn.Dropout(1.5).set_train(True)(ROWS), ValueError, r"p must be in \[0, 1\]"),
        (lambda: mint.summ, AttributeError, "did you mean sum"),
    ],
)
def test_refuses(call, error, match):
    with pytest.raises(error, match=match):
        made = call()
        made(IMAGES)
