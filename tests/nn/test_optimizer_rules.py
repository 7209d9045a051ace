"""Optimizers step by step against NumPy in float64, from the formulas of the papers that the rules name."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from mycelia.experimental import optim as changeable

STEPS = 4
W = np.linspace(-1.0, 1.5, 6).reshape(2, 3)


def gradient(step):
    return np.linspace(-0.5, 0.8, 6).reshape(2, 3) * np.cos(1.3 * step) + 0.1 * step


def adamax(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g))
    return w - 0.01 / (1 - 0.9**t) * s["m"] / (s["u"] + 1e-8)


def adagrad(w, g, s, t):
    s["a"] = s.get("a", 0.1) + g * g
    return w - 0.01 * g / np.sqrt(s["a"])


def proximal_adagrad(w, g, s, t):
    s["a"] = s.get("a", 0.1) + g * g
    rate = 0.01 / np.sqrt(s["a"])
    z = w - rate * g
    return np.sign(z) * np.maximum(np.abs(z) - rate * 0.2, 0) / (1 + rate * 0.3)


def adadelta(w, g, s, t):
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
    step = np.sqrt(s.get("d", 0) + 1e-6) / np.sqrt(s["a"] + 1e-6) * g
    s["d"] = 0.9 * s.get("d", 0) + 0.1 * step * step
    return w - step


def ftrl(w, g, s, t):
    old = s.get("n", 0.1)
    s["n"] = old + g * g
    s["z"] = s.get("z", 0) + g - (np.sqrt(s["n"]) - np.sqrt(old)) / 0.1 * w
    closed = (np.sign(s["z"]) * 0.05 - s["z"]) / (np.sqrt(s["n"]) / 0.1 + 2 * 0.1)
    return np.where(np.abs(s["z"]) > 0.05, closed, 0)


def rmsprop(w, g, s, t):
    s["s"] = 0.9 * s.get("s", 1) + 0.1 * g * g
    s["m"] = 0.5 * s.get("m", 0) + 0.01 * g / np.sqrt(s["s"] + 1e-10)
    return w - s["m"]


def rmsprop_centered(w, g, s, t):
    s["s"] = 0.9 * s.get("s", 1) + 0.1 * g * g
    s["g"] = 0.9 * s.get("g", 0) + 0.1 * g
    return w - 0.01 * g / np.sqrt(s["s"] - s["g"] ** 2 + 1e-10)


def rprop(w, g, s, t):
    agreement = g * s.get("p", 0)
    factor = np.where(agreement > 0, 1.2, np.where(agreement < 0, 0.5, 1))
    s["d"] = np.clip(s.get("d", 0.01) * factor, 1e-6, 50)
    s["p"] = np.where(agreement < 0, 0, g)
    return w - np.sign(s["p"]) * s["d"]


def asgd(w, g, s, t):
    eta = s.get("eta", 0.1)
    s["eta"] = 0.1 / (1 + 0.01 * 0.1 * t) ** 0.75
    return w * (1 - 0.01 * eta) - eta * g


def lamb(w, g, s, t):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    update = s["m"] / (1 - 0.9**t) / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-6) + 0.1 * w
    return w - 0.01 * np.linalg.norm(w) / np.linalg.norm(update) * update


def lars(w, g, s, t):
    trust = 0.02 * np.linalg.norm(w) / (np.linalg.norm(g) + 0.05 * np.linalg.norm(w) + 1e-5)
    s["v"] = 0.9 * s.get("v", 0) + trust * (g + 0.05 * w)
    return w - 0.1 * s["v"]


def adafactor(w, g, s, t):
    b2 = 1 - t**-0.8
    square = g * g + 1e-30
    s["r"] = b2 * s.get("r", 0) + (1 - b2) * square.mean(-1)
    s["c"] = b2 * s.get("c", 0) + (1 - b2) * square.mean(-2)
    u = g / np.sqrt(np.outer(s["r"] / s["r"].mean(), s["c"]))
    u = u / max(1, np.sqrt((u * u).mean())) * min(0.01, t**-0.5) * max(1e-3, np.sqrt((w * w).mean()))
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * u
    return w - s["m"]


def corrected_adam(w, g, s, t, decay=0.0):
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    root = np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8
    return w * (1 - 0.01 * decay) - 0.01 * s["m"] / (1 - 0.9**t) / root


def nadam(w, g, s, t):
    mu, after = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.004)) for k in (t, t + 1))
    s["p"] = s.get("p", 1.0) * mu
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    ahead = (1 - mu) / (1 - s["p"]) * g + after / (1 - s["p"] * after) * s["m"]
    return w - 0.002 * ahead / (np.sqrt(s["v"] / (1 - 0.999**t)) + 1e-8)


def radam(w, g, s, t):
    b1, b2 = 0.5, 0.6
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    longest = 2 / (1 - b2) - 1
    length = longest - 2 * t * b2**t / (1 - b2**t)
    m = s["m"] / (1 - b1**t)
    if length <= 5:
        return w - 0.01 * m
    r = np.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return w - 0.01 * m * r * np.sqrt(1 - b2**t) / (np.sqrt(s["v"]) + 1e-8)


CASES = {
    "AdaMax": (lambda p: nn.AdaMax(p, 0.01), adamax),
    "Adagrad": (lambda p: nn.Adagrad(p, learning_rate=0.01), adagrad),
    "ProximalAdagrad": (lambda p: nn.ProximalAdagrad(p, 0.1, 0.01, 0.2, 0.3), proximal_adagrad),
    "Adadelta": (lambda p: nn.Adadelta(p), adadelta),
    "FTRL": (lambda p: nn.FTRL(p, 0.1, 0.1, -0.5, 0.05, 0.1), ftrl),
    "RMSProp": (lambda p: nn.RMSProp(p, 0.01, momentum=0.5), rmsprop),
    "RMSProp centered": (lambda p: nn.RMSProp(p, 0.01, centered=True), rmsprop_centered),
    "Rprop": (lambda p: nn.Rprop(p, 0.01), rprop),
    "ASGD": (lambda p: nn.ASGD(p, 0.1, 0.01), asgd),
    "Lamb": (lambda p: nn.Lamb(p, 0.01, weight_decay=0.1), lamb),
    "LARS": (lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9, 0.05), coefficient=0.02), lars),
    "AdaFactor": (lambda p: nn.AdaFactor(p), adafactor),
    "experimental Rprop": (lambda p: changeable.Rprop(p), rprop),
    "experimental ASGD": (lambda p: changeable.ASGD(p, 0.1, 0.01), asgd),
    "experimental AdamW": (
        lambda p: changeable.AdamW(p, 0.01, weight_decay=0.3),
        lambda *a: corrected_adam(*a, decay=0.3),
    ),
    "experimental NAdam": (lambda p: changeable.NAdam(p), nadam),
    "experimental RAdam": (lambda p: changeable.RAdam(p, 0.01, (0.5, 0.6)), radam),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_follow_the_formula(case, dtype):
    make, formula = CASES[case]
    p = [Parameter(W.astype(dtype), name="w")]
    optimizer, w, state = make(p), W, {}
    for t in range(1, STEPS + 1):
        w = formula(w, gradient(t), state, t)
        optimizer((Tensor(gradient(t).astype(dtype)),))
    assert p[0].asnumpy().dtype == dtype
    np.testing.assert_allclose(p[0].asnumpy(), w, rtol=2e-5, atol=2e-6)


def test_whole_step_is_one_graph_with_every_optimizer():
    for make, _ in CASES.values():
        net = nn.Dense(3, 2)
        optimizer = make([net.weight])
        gradient_of = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, optimizer.parameters)

        @ms.jit
        def step(x, gradient_of=gradient_of, optimizer=optimizer):
            loss, gradients = gradient_of(x)
            optimizer(gradients)
            return loss

        x = Tensor(np.array([[1.0, -2.0, 0.5]], np.float32))
        losses = [float(step(x).asnumpy()) for _ in range(3)]
        assert losses[2] < losses[0]


def test_groups_of_changeable_optimizers():
    a, b = (Parameter(np.ones(2, np.float32), name=n) for n in "ab")
    optimizer = changeable.SGD([{"params": [a], "lr": 0.5}, {"params": [b], "weight_decay": 1.0}], lr=0.1)
    ones = Tensor(np.ones(2, np.float32))
    optimizer((ones, ones))
    np.testing.assert_allclose(a.asnumpy(), 0.5)
    np.testing.assert_allclose(b.asnumpy(), 0.8)
    optimizer.param_groups[0]["lr"] = 0.25
    optimizer.param_groups[1]["weight_decay"] = 0.0
    optimizer((ones, ones))
    np.testing.assert_allclose(a.asnumpy(), 0.25)
    np.testing.assert_allclose(b.asnumpy(), 0.7)
    c = Parameter(np.ones(2, np.float32), name="c")
    optimizer.add_param_group({"params": [c], "lr": 1.0})
    optimizer((ones, ones, ones))
    np.testing.assert_allclose(c.asnumpy(), 0.0)
    with pytest.raises(ValueError, match="one group only"):
        optimizer.add_param_group({"params": [c]})


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: nn.FTRL(p, lr_power=0.1), ValueError),
        (lambda p: nn.FTRL(p, learning_rate=[0.1, 0.2]), ValueError),
        (lambda p: nn.Rprop(p, etas=(0.5, 0.9)), ValueError),
        (lambda p: nn.Rprop(p, etas=[0.5, 1.2]), TypeError),
        (lambda p: nn.Rprop(p, step_sizes=(2.0, 1.0)), ValueError),
        (lambda p: nn.AdaFactor(p, 0.1), ValueError),
        (lambda p: nn.LARS(nn), TypeError),
        (lambda p: nn.Adadelta(p, rho=1.5), ValueError),
        (lambda p: changeable.Adam(p, betas=(1.0, 0.9)), ValueError),
        (lambda p: changeable.SGD(p, -0.1), ValueError),
        (lambda p: changeable.SGD(p, "fast"), TypeError),
        (lambda p: changeable.SGD([{"params": {*p}}], 0.1), TypeError),
        (lambda p: changeable.SGD(p, 0.1, nesterov=True), ValueError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error, match="Received|order"):
        make([Parameter(np.ones(2, np.float32), name="w")])
