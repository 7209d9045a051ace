"""Recurrent layers against the formulas step by step in NumPy, and their names as MindSpore writes them."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(gx, h, w, b, act=np.tanh):
    return act(gx + h @ w.T + b)


def gru(gx, h, w, b):
    gh = h @ w.T + b
    rx, zx, nx = np.split(gx, 3, -1)
    rh, zh, nh = np.split(gh, 3, -1)
    z = sigmoid(zx + zh)
    n = np.tanh(nx + sigmoid(rx + rh) * nh)
    return (1 - z) * n + z * h


def lstm(gx, state, w, b):
    h, c = state
    i, f, g, o = np.split(gx + h @ w.T + b, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


STEPS = {"RNN": rnn, "GRU": gru, "LSTM": lstm}


def reference(layer, kind, x, lengths=None):
    """Outputs and last states of a batch-first layer with zeros at the start."""
    p = {q.name: q.asnumpy().astype(np.float64) for q in layer.get_parameters()}
    batch, steps = x.shape[:2]
    lengths = [steps] * batch if lengths is None else lengths
    last = []
    for level in range(layer.num_layers):
        outputs = np.zeros((batch, steps, layer.directions * layer.hidden_size))
        for direction, suffix in enumerate(("", "_reverse")[: layer.directions]):
            name = f"_l{level}{suffix}"
            zero = np.zeros(layer.hidden_size)
            for item in range(batch):
                state = (zero, zero) if kind == "LSTM" else zero
                order = range(lengths[item])
                for t in order if direction == 0 else reversed(order):
                    bias = p.get(f"bias_ih{name}", 0)
                    gx = x[item, t] @ p[f"weight_ih{name}"].T + bias
                    state = STEPS[kind](gx, state, p[f"weight_hh{name}"], p.get(f"bias_hh{name}", 0))
                    h = state[0] if kind == "LSTM" else state
                    outputs[item, t, direction * layer.hidden_size :][: layer.hidden_size] = h
                last.append((level * layer.directions + direction, item, state))
        x = outputs
    return x, last


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
@pytest.mark.parametrize(
    ("layers", "bidirectional", "bias", "lengths"),
    [(1, False, True, None), (2, True, True, None), (2, True, True, [2, 5, 3]), (1, False, False, [5, 1, 4])],
)
def test_layers_follow_the_formulas(kind, mode, layers, bidirectional, bias, lengths):
    ms.set_context(mode=mode)
    try:
        layer = getattr(nn, kind)(4, 3, layers, bias, batch_first=True, bidirectional=bidirectional)
        x = np.random.default_rng(1).standard_normal((3, 5, 4)).astype(np.float32)
        seq = None if lengths is None else Tensor(np.array(lengths, np.int32))
        y, states = layer(Tensor(x), None, seq)
        expected, last = reference(layer, kind, x, lengths)
        np.testing.assert_allclose(y.asnumpy(), expected, atol=2e-5)
        for index, item, state in last:
            pairs = zip(states, state) if kind == "LSTM" else [(states, state)]
            for got, want in pairs:
                np.testing.assert_allclose(got.asnumpy()[index, item], want, atol=2e-5)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("kind", STEPS)
def test_gradients_against_differences(kind):
    layer = getattr(nn, kind)(2, 3)
    for p in layer.get_parameters():
        p.set_data(Tensor(p.asnumpy() * 2))
    x = np.random.default_rng(2).standard_normal((4, 2, 2)).astype(np.float32)

    def loss(x):
        return (layer(x)[0] ** 2).sum()

    _, (dx, dw) = ms.value_and_grad(loss, 0, [layer.w_hh_list[0]])(Tensor(x))
    dw = dw[0] if isinstance(dw, (tuple, list)) else dw
    for at in ((0, 0, 1), (2, 1, 0), (3, 0, 0)):
        bump = np.zeros_like(x)
        bump[at] = 1e-2
        slope = (float(loss(Tensor(x + bump)).asnumpy()) - float(loss(Tensor(x - bump)).asnumpy())) / 2e-2
        assert dx.asnumpy()[at] == pytest.approx(slope, abs=2e-3)
    w = layer.w_hh_list[0].asnumpy().copy()
    for at in ((0, 1), (2, 2)):
        values = []
        for step in (1e-2, -1e-2):
            moved = w.copy()
            moved[at] += step
            layer.w_hh_list[0].set_data(Tensor(moved))
            values.append(float(loss(Tensor(x)).asnumpy()))
        layer.w_hh_list[0].set_data(Tensor(w))
        assert dw.asnumpy()[at] == pytest.approx((values[0] - values[1]) / 2e-2, abs=2e-3)


def test_cells_are_steps_of_layers():
    x = Tensor(np.random.default_rng(3).standard_normal((2, 4)).astype(np.float32))
    h = Tensor(np.full((2, 3), 0.5, np.float32))
    for kind in STEPS:
        cell, layer = getattr(nn, f"{kind}Cell")(4, 3), getattr(nn, kind)(4, 3)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            layer.parameters_dict()[f"{name}_l0"].set_data(Tensor(getattr(cell, name).asnumpy()))
        first = h.expand_dims(0)
        state = (h, h) if kind == "LSTM" else h
        y, _ = layer(x.expand_dims(0), (first, first) if kind == "LSTM" else first)
        got = cell(x, state)
        np.testing.assert_allclose((got[0] if kind == "LSTM" else got).asnumpy(), y.asnumpy()[0], atol=1e-6)


def test_names_in_checkpoints():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(4, 3, 2, bidirectional=True)
            self.cell = nn.LSTMCell(3, 3)

        def construct(self, x):
            return self.rnn(x)[0]

    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    names = [f"rnn.{k}_l{i}{s}" for k in kinds for i in (0, 1) for s in ("", "_reverse")]
    assert [p.name for p in Net().get_parameters()] == [*names, *(f"cell.{k}" for k in kinds)]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: nn.GRU(0, 3), ValueError),
        (lambda: nn.GRU(2, 3, bidirectional=1), TypeError),
        (lambda: nn.GRU(2, 3, dropout=1.5), ValueError),
        (lambda: nn.RNN(2, 3, nonlinearity="sigmoid"), ValueError),
        (lambda: nn.GRU(2, 3)(Tensor(np.ones((2, 3, 4), np.float32))), ValueError),
        (lambda: nn.GRU(2, 3)(Tensor(np.ones((2, 3, 2), np.int32))), TypeError),
        (lambda: nn.LSTM(2, 3)(Tensor(np.ones((2, 3, 2), np.float32)), 3), TypeError),
        (
            lambda: nn.GRU(2, 3)(Tensor(np.ones((2, 3, 2), np.float32)), None, Tensor(np.ones(2, np.int32))),
            ValueError,
        ),
        (lambda: nn.GRU(2, 3)(Tensor(np.ones((2, 1, 2), np.float32)), seq_length=[2]), TypeError),
    ],
)
def test_wrong_arguments(make, error):
    with pytest.raises(error, match="Received"):
        make()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize(
    ("x", "h", "words"), [((2, 5), (2, 3), "x must be .batch, 4., as input_size"),
                          ((2, 4), (2, 5), "hx must be .batch, 3., as hidden_size"),
                          ((4,), (2, 3), "x must be .batch, 4.")],
)
def test_a_cell_names_the_argument_that_does_not_fit(kind, x, h, words):
    state = Tensor(np.ones(h, np.float32))
    with pytest.raises(ValueError, match=f"{kind}Cell: {words}"):
        getattr(nn, f"{kind}Cell")(4, 3)(
            Tensor(np.ones(x, np.float32)), (state, state) if kind == "LSTM" else state
        )


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_float64_inputs_are_computed_in_float64(kind):
    layer = getattr(nn, kind)(4, 3)
    x = np.random.default_rng(5).standard_normal((6, 2, 4))
    y = layer(Tensor(x))[0]
    assert y.dtype is ms.float64
    single = layer(Tensor(x.astype(np.float32)))[0].asnumpy()
    assert 0 < np.abs(y.asnumpy() - single).max() < 1e-6
    if kind != "RNN":
        return  # their formulas are held in float32 above
    weights = [getattr(layer, f"{part}_list")[0].asnumpy() for part in ("w_ih", "w_hh", "b_ih", "b_hh")]
    w_ih, w_hh, b_ih, b_hh = (w.astype(np.float64) for w in weights)
    h = np.zeros((2, 3))
    for t in range(6):
        h = np.tanh(x[t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh)
        np.testing.assert_allclose(y.asnumpy()[t], h, rtol=1e-13, atol=1e-14)
