"""Layers, losses and the names of their parameters against what MindSpore 2.10 gave
(`tools/compare_layers.py`), and
those that MindSpore's CPU lacks against their formulas."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn

HERE = Path(__file__).parent
EXPECTED = json.loads((HERE / "mindspore_layers.json").read_text(encoding="utf-8"))
_spec = importlib.util.spec_from_file_location(
    "compare_layers", HERE.parents[1] / "tools" / "compare_layers.py"
)
compare_layers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compare_layers)
rng = np.random.default_rng(7)


@pytest.mark.parametrize("name", EXPECTED)
def test_as_mindspore(name):
    assert compare_layers.differences(compare_layers.outcome(ms, name), EXPECTED[name]) == []


@pytest.mark.parametrize(
    "name", ["Conv3d", "Conv2dT", "MaxPool3d pad", "EncoderLayer", "LRN", "Unfold same", "SSIM"]
)
def test_graph_mode_agrees(name):
    eager = compare_layers.outcome(ms, name)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert compare_layers.differences(compare_layers.outcome(ms, name), eager) == []
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_instance_norm():
    x = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
    layer = nn.InstanceNorm2d(3, gamma_init=Tensor(np.array([1.0, 2.0, 3.0], np.float32)))
    mean, var = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    expected = (x - mean) / np.sqrt(var + 1e-5) * np.array([1, 2, 3]).reshape(1, 3, 1, 1)
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), expected, atol=1e-5)
    with pytest.raises(ValueError, match="3 channels"):
        layer(Tensor(x[:, :2]))


def test_patches():
    x = np.arange(2 * 2 * 4 * 4, dtype=np.float32).reshape(2, 2, 4, 4)
    y = nn.Unfold([1, 2, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1])(Tensor(x)).asnumpy()
    assert y.shape == (2, 8, 2, 2)
    for i in range(2):
        for j in range(2):
            patch = x[:, :, 2 * i : 2 * i + 2, j : j + 3 : 2].transpose(0, 2, 3, 1).reshape(2, 8)
            np.testing.assert_array_equal(y[:, :, i, j], patch)


def test_diagonals():
    m = rng.standard_normal((2, 3, 4)).astype(np.float32)
    d = nn.MatrixDiagPart()(Tensor(m)).asnumpy()
    np.testing.assert_array_equal(d, np.diagonal(m, axis1=1, axis2=2))
    np.testing.assert_array_equal(
        nn.MatrixDiag()(Tensor(d)).asnumpy(), d[:, None, :] * np.eye(3, dtype=np.float32)
    )
    changed = m.copy()
    changed[:, range(3), range(3)] = 5
    np.testing.assert_array_equal(
        nn.MatrixSetDiag()(Tensor(m), Tensor(np.full((2, 3), 5, np.float32))).asnumpy(), changed
    )


def test_likeness_of_images():
    a = rng.random((2, 1, 16, 16)).astype(np.float32)
    noise = np.clip(a + 0.1 * rng.standard_normal(a.shape), 0, 1).astype(np.float32)
    np.testing.assert_allclose(nn.SSIM()(Tensor(a), Tensor(a)).asnumpy(), [1, 1], atol=1e-5)
    ssim, expected = nn.SSIM(filter_size=3)(Tensor(a), Tensor(noise)).asnumpy(), []
    row = np.exp(-0.5 * (np.arange(-1, 2) / 1.5) ** 2)
    window = np.outer(row, row) / row.sum() ** 2
    for x, y in zip(a[:, 0].astype(np.float64), noise[:, 0].astype(np.float64)):
        total = []
        for i in range(14):
            for j in range(14):
                p, q = x[i : i + 3, j : j + 3], y[i : i + 3, j : j + 3]
                mp, mq = (window * p).sum(), (window * q).sum()
                cov = (window * p * q).sum() - mp * mq
                var = (window * (p * p + q * q)).sum() - mp**2 - mq**2
                total.append((2 * mp * mq + 1e-4) * (2 * cov + 9e-4) / (mp**2 + mq**2 + 1e-4) / (var + 9e-4))
        expected.append(np.mean(total))
    np.testing.assert_allclose(ssim, expected, atol=1e-4)
    error = ((a - noise) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(
        nn.PSNR()(Tensor(a), Tensor(noise)).asnumpy(), 10 * np.log10(1 / error), rtol=1e-4
    )


def test_a_resize():
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    y = nn.ResizeBilinear()(Tensor(x), size=(3, 3), align_corners=True).asnumpy()
    np.testing.assert_allclose(y[0, 0], [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]])
    assert nn.ResizeBilinear()(Tensor(x), scale_factor=3).shape == (1, 1, 6, 6)


def test_dropout_of_channels():
    x = Tensor(np.ones((8, 16, 3, 3), np.float32))
    layer = nn.Dropout2d(0.5)
    np.testing.assert_array_equal(layer(x).asnumpy(), 1)
    y = layer.set_train()(x).asnumpy().reshape(8, 16, 9)
    assert set(np.unique(y)) == {0.0, 2.0}
    assert (y.min(-1) == y.max(-1)).all()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.Conv3d(3, 4, 3, padding=1), ValueError),
        (lambda: nn.Conv3d(3, 4, (3, 3)), TypeError),
        (lambda: nn.Conv2dTranspose(3, 4, 3, output_padding=1), ValueError),
        (lambda: nn.Conv1d(3, 4, (3, 3)), TypeError),
        (lambda: nn.Pad(((1, 2),), "OTHER"), ValueError),
        (lambda: nn.Pad(((1, 2),))(Tensor(np.ones((2, 2), np.float32))), ValueError),
        (lambda: nn.ConstantPad2d((1, 2, 3), 0.0), ValueError),
        (lambda: nn.ConstantPad2d("1", 0.0), TypeError),
        (lambda: nn.ReflectionPad1d(-1), ValueError),
        (lambda: nn.MaxPool1d(2, 1, "same", dilation=2), ValueError),
        (lambda: nn.OneHot(depth=0), ValueError),
        (lambda: nn.Unfold([2, 2], [1, 1], [1, 1]), ValueError),
        (lambda: nn.MultiheadAttention(6, 4), ValueError),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="other"), ValueError),
        (lambda: nn.SyncBatchNorm(3, process_groups=[[0, 1]]), ValueError),
        (lambda: nn.CentralCrop(2.0), ValueError),
        (lambda: nn.LRN(norm_region="WITHIN"), ValueError),
        (lambda: nn.Softmin(1, 2), TypeError),
        (lambda: nn.ResizeBilinear()(Tensor(np.ones((1, 1, 2, 2), np.float32))), ValueError),
        (lambda: nn.EmbeddingLookup(3, 2, target="moon"), ValueError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error, match="Received"):
        make()
