"""Initial values: distributions, reproducibility, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.common.initializer import (
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Normal,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    initializer,
)

SHAPE = (256, 128, 3, 3)


@pytest.mark.parametrize(
    ("rule", "deviation", "bound"),
    [  # as MindSpore 2.10 measured
        (HeNormal(), 0.0416667, None),
        (HeUniform(), 0.0416667, 0.0721688),
        (HeNormal(1, "fan_out", "relu"), 0.0294628, None),
        (XavierUniform(2), 0.0481125, 0.0833333),
        (XavierNormal(2), 0.0481125, None),
        (Normal(0.3), 0.3, None),
        (Uniform(2.0), 2 / math.sqrt(3), 2.0),
        ("he_uniform", 0.0416667, 0.0721688),
        ("normal", 0.01, None),
        ("uniform", 0.0404145, 0.07),
    ],
)
def test_distributions(rule, deviation, bound):
    ms.set_seed(0)
    values = initializer(rule, SHAPE).asnumpy()
    assert values.std() == pytest.approx(deviation, rel=0.01)
    assert abs(values.mean()) < deviation * 0.01
    if bound is not None:
        assert np.abs(values).max() <= bound * (1 + 1e-6) and np.abs(values).max() > bound * 0.999


def test_truncated_normal_keeps_its_bounds():
    values = initializer(TruncatedNormal(2.0, 1.0, -1, 1), (1000, 100)).asnumpy()
    assert values.min() >= -1 and values.max() <= 1
    assert values.mean() == pytest.approx(0.0796, abs=0.01)


def test_exact_values():
    assert (initializer("ones", [2, 3]).asnumpy() == 1).all() and (initializer(0.5, 3).asnumpy() == 0.5).all()
    assert (initializer(Constant(3), (), ms.int32).asnumpy() == 3).all()
    np.testing.assert_array_equal(initializer(Identity(), (3, 4)).asnumpy(), np.eye(3, 4))
    q = initializer(Orthogonal(2.0), (6, 4)).asnumpy()
    np.testing.assert_allclose(q.T @ q, 4 * np.eye(4), atol=1e-5)


def test_default_weights_are_within_the_fan_in():
    conv, dense = nn.Conv2d(64, 32, 3, has_bias=True), nn.Dense(400, 120)
    for parameter, fan in ((conv.weight, 576), (conv.bias, 576), (dense.weight, 400), (dense.bias, 400)):
        largest = np.abs(parameter.asnumpy()).max()
        assert 0.8 / math.sqrt(fan) < largest <= 1 / math.sqrt(fan) * (1 + 1e-6)


def test_a_seed_repeats_the_network():
    def weights():
        ms.set_seed(7)
        return [
            p.asnumpy().copy() for p in nn.SequentialCell(nn.Dense(5, 4), nn.Dense(4, 3)).get_parameters()
        ]

    first, second = weights(), weights()
    assert all((a == b).all() for a, b in zip(first, second))
    assert not np.array_equal(first[0][:3, :3], first[2][:3, :3])


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (("foo", [2]), ValueError, "no initializer is named 'foo'"),
        (("he_norm", [2, 2]), ValueError, "did you mean he_normal"),
        (("normal",), ValueError, "shape is needed"),
        (("normal", [-1]), ValueError, "at least 0"),
        ((Tensor([1.0]), [2]), ValueError, "shape asked for"),
        (([1], [2]), TypeError, "init must be"),
        (("he_normal", [3]), ValueError, "two axes"),
    ],
)
def test_refusals(arguments, error, match):
    with pytest.raises(error, match=match):
        initializer(*arguments)


def test_dirac_passes_channels_on():
    w = initializer(Dirac(2), (4, 3, 3, 3)).asnumpy()
    assert w.sum() == 4
    for out, channel in ((0, 0), (1, 1), (2, 0), (3, 1)):
        assert w[out, channel, 1, 1] == 1


def test_sparse_columns():
    w = initializer(Sparse(0.3, 2.0), (500, 20)).asnumpy()
    assert ((w == 0).sum(0) == 150).all()
    assert abs(w[w != 0].std() - 2.0) < 0.1


@pytest.mark.parametrize(
    ("mode", "distribution", "fan"),
    [("fan_in", "truncated_normal", 50), ("fan_out", "untruncated_normal", 200), ("fan_avg", "uniform", 125)],
)
def test_variance_scaling(mode, distribution, fan):
    w = initializer(VarianceScaling(2.0, mode, distribution), (200, 50)).asnumpy()
    deviation = (2.0 / fan) ** 0.5
    assert abs(w.std() / deviation - 1) < 0.05
    assert abs(w.mean()) < deviation / 20
    limit = {"truncated_normal": 2 / 0.87962566, "uniform": 3**0.5, "untruncated_normal": 6}[distribution]
    assert abs(w).max() <= limit * deviation * 1.0001


@pytest.mark.parametrize(
    ("rule", "shape"),
    [
        (lambda: Dirac(3), (4, 3, 3)),
        (lambda: Dirac(), (4, 3)),
        (lambda: Sparse(0.5), (4, 3, 2)),
        (lambda: VarianceScaling(0.0), (4, 3)),
        (lambda: VarianceScaling(1.0, "fan_max"), (4, 3)),
    ],
)
def test_what_new_rules_refuse(rule, shape):
    with pytest.raises(ValueError, match="Received"):
        initializer(rule(), shape)
