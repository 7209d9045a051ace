"""Optimizers and learning rates against numbers that MindSpore 2.10 gave for the same parameters and
gradients."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from mycelia.nn.learning_rate_schedule import LearningRateSchedule

# Two parameters after three steps (two with a list of two rates) of gradients that grow with the step.
# The second one's name has "gamma" in it, which weight decay spares.
EXPECTED = {
    "sgd": ([-1.0599999, -0.4533333, 0.1533333, 0.76], [0.6799999, 1.28, 1.8800001]),
    "sgd_dampened": ([-1.0699266, -0.4810816, 0.1077636, 0.6966087], [0.7241, 1.2873499, 1.8506]),
    "sgd_nesterov": ([-1.1373798, -0.6214848, -0.1055897, 0.4103054], [0.93677, 1.322795, 1.70882]),
    "sgd_scaled": ([-1.023775, -0.3808833, 0.2620083, 0.9049], [0.5713249, 1.2618876, 1.95245]),
    "momentum": ([-1.0951, -0.5235333, 0.0480333, 0.6196], [0.7853, 1.29755, 1.8098]),
    "momentum_decay": ([-1.0668801, -0.5136438, 0.0395925, 0.5928288], [0.7853, 1.29755, 1.8098]),
    "momentum_list": ([-1.068, -0.4693334, 0.1293333, 0.728], [0.704, 1.284, 1.8640001]),
    "momentum_schedule": ([-1.0585561, -0.4504456, 0.157665, 0.7657756], [0.6756683, 1.279278, 1.8828878]),
    "momentum_decay_schedule": ([-1.0495003, -0.5077851, 0.0339301, 0.5756453], [0.7853, 1.29755, 1.8098]),
    "momentum_groups": ([-0.9927058, -0.346723, 0.2992599, 0.9452428], [0.7557525, 1.2277342, 1.6997161]),
    "momentum_ordered_groups": (
        [-0.9849365, -0.3675701, 0.2497963, 0.8671627],
        [0.6981035, 1.0916756, 1.4852479],
    ),
    "adam": ([-1.0029231, -0.3362565, 0.3304102, 0.9970769], [0.5029231, 1.2529231, 1.9970767]),
    "adam_decay": ([-1.0158397, -0.3621895, 0.3040574, 0.9705741], [0.5291626, 1.2783128, 1.9709255]),
    "adam_nesterov": ([-1.0480878, -0.3814212, 0.2852454, 0.9519121], [0.5480879, 1.2980878, 1.9519122]),
    "adam_amsgrad": ([-1.0292317, -0.3625651, 0.3041016, 0.9707683], [0.5292317, 1.2792317, 1.9707683]),
    "adam_weight_decay": ([-1.1200434, -0.4533866, 0.2132767, 0.8799418], [0.6200566, 1.3700236, 1.8799467]),
    "adam_weight_decay_full": (
        [-1.0199733, -0.3554944, 0.3091102, 0.9737466],
        [0.5232447, 1.2726225, 1.9768196],
    ),
}


def build(case, p):
    return {
        "sgd": lambda: nn.SGD(p, 0.1),
        "sgd_dampened": lambda: nn.SGD(p, 0.1, 0.9, 0.3, 0.01),
        "sgd_nesterov": lambda: nn.SGD(p, 0.1, 0.9, 0.0, 0.01, True),
        "sgd_scaled": lambda: nn.SGD(p, 0.1, 0.9, loss_scale=4.0),
        "momentum": lambda: nn.Momentum(p, 0.1, 0.9),
        "momentum_decay": lambda: nn.Momentum(p, 0.1, 0.9, 0.05),
        "momentum_list": lambda: nn.Momentum(p, [0.1, 0.2], 0.9),
        "momentum_schedule": lambda: nn.Momentum(p, nn.ExponentialDecayLR(0.1, 0.5, 2), 0.9),
        "momentum_decay_schedule": lambda: nn.Momentum(
            p, 0.1, 0.9, weight_decay=nn.ExponentialDecayLR(0.1, 0.5, 2)
        ),
        "momentum_groups": lambda: nn.Momentum(
            [{"params": p[:1], "lr": 0.01}, {"params": p[1:], "weight_decay": 0.1}], 0.1, 0.9, 0.3
        ),
        "momentum_ordered_groups": lambda: nn.Momentum(
            [{"params": p[:1], "lr": [0.01, 0.02, 0.03]}, {"params": p[1:]}, {"order_params": [p[1], p[0]]}],
            0.1,
            0.9,
            0.3,
        ),
        "adam": lambda: nn.Adam(p),
        "adam_decay": lambda: nn.Adam(p, 0.01, 0.8, 0.9, 1e-3, weight_decay=0.1),
        "adam_nesterov": lambda: nn.Adam(p, 0.01, use_nesterov=True),
        "adam_amsgrad": lambda: nn.Adam(p, 0.01, use_amsgrad=True),
        "adam_weight_decay": lambda: nn.AdamWeightDecay(p, 0.01),
        "adam_weight_decay_full": lambda: nn.AdamWeightDecay(p, 0.01, 0.8, 0.9, 1e-3, 0.1),
    }[case]()


def parameters(dtype=np.float32):
    return [
        Parameter(np.linspace(-1, 1, 4).astype(dtype), name="w"),
        Parameter(np.linspace(0.5, 2, 3).astype(dtype), name="gamma"),
    ]


def gradients(step, dtype=np.float32):
    return Tensor(np.linspace(0.1, 0.4, 4).astype(dtype) * dtype(step)), Tensor(
        np.linspace(-0.3, 0.2, 3).astype(dtype) * dtype(step)
    )


@pytest.mark.parametrize("case", EXPECTED)
def test_steps_match_mindspore(case):
    p = parameters()
    optimizer = build(case, p)
    steps = 2 if case == "momentum_list" else 3
    for step in range(1, steps + 1):
        g = gradients(step)
        optimizer(g[::-1] if "ordered" in case else g)
    for parameter, expected in zip(p, EXPECTED[case]):
        np.testing.assert_allclose(parameter.asnumpy(), expected, rtol=0, atol=2e-6)
    assert optimizer.global_step.asnumpy().tolist() == [steps]


@pytest.mark.parametrize("case", ["momentum", "adam_decay", "sgd_nesterov", "adam_weight_decay_full"])
def test_float64_parameters_stay_float64(case):
    p = parameters(np.float64)
    optimizer = build(case, p)
    for step in (1, 2, 3):
        optimizer(gradients(step, np.float64))
    for parameter, expected in zip(p, EXPECTED[case]):
        assert parameter.dtype is ms.float64
        np.testing.assert_allclose(parameter.asnumpy(), expected, rtol=0, atol=2e-6)


def test_nesterov_momentum_by_its_formula():
    p, w, v = parameters()[:1], np.linspace(-1, 1, 4), np.zeros(4)
    optimizer = nn.Momentum(p, 0.1, 0.9, use_nesterov=True)
    for step in (1, 2, 3):
        g = np.linspace(0.1, 0.4, 4) * step
        v = 0.9 * v + g
        w = w - 0.1 * (g + 0.9 * v)
        optimizer(gradients(step)[:1])
    np.testing.assert_allclose(p[0].asnumpy(), w, atol=1e-6)


def test_names_of_the_state_are_those_of_checkpoints():
    names = {
        case: [q.name for q in build(case, parameters()).get_parameters()]
        for case in (
            "momentum",
            "sgd",
            "adam_amsgrad",
            "adam_weight_decay",
            "momentum_list",
            "momentum_groups",
        )
    }
    assert names["momentum"] == [
        "global_step",
        "learning_rate",
        "w",
        "gamma",
        "momentum",
        "moments.w",
        "moments.gamma",
    ]
    assert names["sgd"] == [
        "global_step",
        "learning_rate",
        "w",
        "gamma",
        "momentum",
        "accum.w",
        "accum.gamma",
        "stat.w",
        "stat.gamma",
    ]
    assert names["adam_amsgrad"] == [
        "global_step",
        "learning_rate",
        "w",
        "gamma",
        "beta1_power",
        "beta2_power",
        "moment1.w",
        "moment1.gamma",
        "moment2.w",
        "moment2.gamma",
        "vhat.w",
        "vhat.gamma",
    ]
    assert names["adam_weight_decay"] == [
        "global_step",
        "learning_rate",
        "w",
        "gamma",
        "adam_m.w",
        "adam_m.gamma",
        "adam_v.w",
        "adam_v.gamma",
    ]
    assert names["momentum_list"] == [
        "global_step",
        "w",
        "gamma",
        "momentum",
        "moments.w",
        "moments.gamma",
        "learning_rate",
    ]
    assert names["momentum_groups"][:3] == ["global_step", "learning_rate_group_0", "learning_rate"]


def test_a_learning_rate_may_be_assigned():
    p = parameters()
    optimizer = nn.SGD(p, 0.1)
    optimizer.learning_rate.set_data(Tensor(0.0, ms.float32))
    before = p[0].asnumpy().copy()
    optimizer(gradients(1))
    np.testing.assert_array_equal(p[0].asnumpy(), before)


def test_beyond_its_list_the_last_rate_stays():
    p = parameters()
    optimizer = nn.SGD(p, [0.1, 0.0])
    optimizer(gradients(1))
    before = p[0].asnumpy().copy()
    for step in (2, 3, 4):
        optimizer(gradients(step))
    np.testing.assert_array_equal(p[0].asnumpy(), before)


def test_gradient_centralization():
    p = [Parameter(np.zeros((2, 3), np.float32), name="w")]
    nn.SGD([{"params": p, "grad_centralization": True}], 1.0)(
        (Tensor(np.array([[1.0, 2, 6], [0, 0, 3]], np.float32)),)
    )
    np.testing.assert_allclose(p[0].asnumpy(), [[2, 1, -3], [1, 1, -2]], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda p: nn.SGD(p, 0.1, 0.0, nesterov=True), ValueError, "nesterov needs momentum > 0"),
        (lambda p: nn.Momentum(p, -0.1, 0.9), ValueError, "learning_rate must be at least 0"),
        (lambda p: nn.Momentum(p, "x", 0.9), TypeError, "learning_rate must be a number"),
        (lambda p: nn.Momentum(p, 0.1, 0.9, weight_decay=-1.0), ValueError, "weight_decay must be"),
        (lambda p: nn.Momentum(p, 0.1, -0.9), ValueError, "momentum must be at least 0"),
        (lambda p: nn.Adam(p, beta1=1.0), ValueError, "beta1 must lie between"),
        (lambda p: nn.Adam(p, eps=0.0), ValueError, "eps must be greater than 0"),
        (lambda p: nn.Momentum([{"params": p, "foo": 1}], 0.1, 0.9), KeyError, "foo"),
        (lambda p: nn.Momentum([{"lr": 0.1}], 0.1, 0.9), ValueError, "needs 'params'"),
        (lambda p: nn.Momentum(p + p, 0.1, 0.9), ValueError, "two parameters are named 'w'"),
        (lambda p: nn.Momentum([1], 0.1, 0.9), TypeError, "all Parameters or all dicts"),
        (lambda p: nn.Momentum([], 0.1, 0.9), ValueError, "must not be empty"),
        (
            lambda p: nn.Momentum(p, 0.1, 0.9)((Tensor([1.0]),)),
            ValueError,
            "one gradient for each of its 2 parameters",
        ),
        (
            lambda p: nn.Momentum(p, 0.1, 0.9)((Tensor([1.0]), Tensor([1.0]))),
            ValueError,
            r"gradient of 'w' must have its shape \(4,\)",
        ),
        (lambda p: nn.Momentum(p, [0.1], 0.9), ValueError, "at least two entries"),
    ],
)
def test_refusals(make, error, match):
    with pytest.raises(error, match=match):
        make(parameters())


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        (lambda: nn.cosine_decay_lr(0.0, 0.01, 6, 2, 3), [0.01, 0.01, 0.0075, 0.0075, 0.0025, 0.0025]),
        (lambda: nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1), [0.1, 0.1, 0.09, 0.09, 0.081, 0.081]),
        (lambda: nn.exponential_decay_lr(0.1, 0.9, 6, 2, 2, True), [0.1, 0.1, 0.1, 0.1, 0.09, 0.09]),
        (
            lambda: nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2),
            [0.1, 0.1, 0.04065697, 0.04065697, 0.01652989, 0.01652989],
        ),
        (
            lambda: nn.inverse_decay_lr(0.1, 0.5, 6, 1, 1, True),
            [0.1, 0.06666667, 0.05, 0.04, 0.03333333, 0.02857143],
        ),
        (
            lambda: nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5),
            [0.1, 0.1, 0.07363961, 0.07363961, 0.01, 0.01],
        ),
        (
            lambda: nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5, True),
            [0.1, 0.1, 0.07363961, 0.07363961, 0.01, 0.01],
        ),
        (
            lambda: nn.piecewise_constant_lr([2, 5, 10], [0.1, 0.05, 0.01]),
            [0.1] * 2 + [0.05] * 3 + [0.01] * 5,
        ),
        (lambda: nn.warmup_lr(0.1, 6, 2, 2), [0.0, 0.0, 0.05, 0.05, 0.1, 0.1]),
    ],
)
def test_lists_of_rates(rates, expected):
    np.testing.assert_allclose(rates(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [  # at steps 0, 1, 3, 4, 6
        (lambda: nn.CosineDecayLR(0.01, 0.1, 4), [0.1, 0.08681981, 0.02318019, 0.01, 0.01]),
        (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4), [0.1, 0.09740037, 0.09240211, 0.09, 0.0853815]),
        (lambda: nn.ExponentialDecayLR(0.1, 0.9, 4, True), [0.1, 0.1, 0.1, 0.09, 0.09]),
        (lambda: nn.NaturalExpDecayLR(0.1, 0.9, 4), [0.1, 0.04065697, 0.00672055, 0.00273237, 0.00045166]),
        (lambda: nn.InverseDecayLR(0.1, 0.9, 4), [0.1, 0.08163265, 0.0597015, 0.05263158, 0.04255319]),
        (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5), [0.1, 0.08794229, 0.055, 0.01, 0.01]),
        (lambda: nn.PolynomialDecayLR(0.1, 0.01, 4, 0.5, True), [0.1, 0.08794229, 0.055, 0.01, 0.055]),
        (lambda: nn.WarmUpLR(0.1, 4), [0.0, 0.025, 0.075, 0.1, 0.1]),
    ],
)
def test_schedules(schedule, expected):
    rate = schedule()
    got = [float(rate(Tensor(step, ms.int32)).asnumpy()) for step in (0, 1, 3, 4, 6)]
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-8)


def test_a_schedule_of_ones_own():
    class Halving(LearningRateSchedule):
        def construct(self, global_step):
            return ms.ops.pow(Tensor(0.5, ms.float32), global_step.astype(ms.float32))

    p = parameters()[:1]
    optimizer = nn.SGD(p, Halving())
    for _ in range(3):
        optimizer((Tensor(np.ones(4, np.float32)),))
    np.testing.assert_allclose(p[0].asnumpy(), np.linspace(-1, 1, 4) - 1.75, atol=1e-6)


def test_a_large_parameter_may_lie_anywhere():
    """Stores around the caches need aligned addresses, which memory shared with NumPy need not have."""
    buffer = np.zeros(13_000_016, np.float32)
    start = next(i for i in range(16) if (buffer.ctypes.data + 4 * i) % 64 == 16)
    parameter = Parameter(np.zeros(1, np.float32), name="w")
    shared = Tensor.from_numpy(buffer[start : start + 13_000_000])
    parameter.set_data(shared, slice_shape=True)
    target = ms.jit(lambda g: ms.ops.assign(shared, shared - g * 0.5))
    target(Tensor(np.ones(13_000_000, np.float32)))
    assert shared.asnumpy().min() == shared.asnumpy().max() == -0.5
    nn.SGD([parameter], 0.25)((Tensor(np.ones(13_000_000, np.float32)),))
    assert parameter.asnumpy().min() == parameter.asnumpy().max() == -0.25
