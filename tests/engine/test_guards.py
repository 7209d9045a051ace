"""What a compiled function read from outside: it is looked at before each run."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops

SCALE = 2.0
X = np.ones((2, 3), np.float32)


def first(result):
    return float(result.asnumpy().ravel()[0])


def families(function):
    return [s for key, group in function.specialisations.items() if key[0] == "family" for s in group]


def test_a_global_number(monkeypatch, caplog):
    @ms.jit
    def scaled(x):
        return x * SCALE

    assert first(scaled(Tensor(X))) == 2
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with caplog.at_level(logging.WARNING, "mycelia"):
        assert first(scaled(Tensor(X))) == 3
        assert first(scaled(Tensor(X))) == 3
    assert len(caplog.records) == 1
    assert "SCALE was 2.0 and is 3.0 now" in caplog.text and "test_guards.py:" in caplog.text


def test_a_closure_variable():
    factor = 2.0

    @ms.jit
    def scaled(x):
        return x * factor

    assert first(scaled(Tensor(X))) == 2
    factor = 5.0
    assert first(scaled(Tensor(X))) == 5
    factor = 2.0
    assert first(scaled(Tensor(X))) == 2
    assert len(families(scaled)) == 2


def test_a_captured_tensor_is_read_anew_and_may_be_replaced():
    bias = Tensor(X)

    @ms.jit
    def shifted(x):
        return x + bias

    assert first(shifted(Tensor(X))) == 2
    bias[0] = 10.0
    assert first(shifted(Tensor(X))) == 11
    bias = Tensor(X * 5)
    assert first(shifted(Tensor(X))) == 6


def test_a_list_that_grows():
    factors = [2.0]

    @ms.jit
    def scaled(x):
        for f in factors:
            x = x * f
        return x

    assert first(scaled(Tensor(X))) == 2
    factors.append(3.0)
    assert first(scaled(Tensor(X))) == 6


def test_training_and_inference_are_graphs_of_their_own():
    net = nn.SequentialCell(nn.Dropout(p=0.5), nn.ReLU())
    compiled = ms.jit(net)
    net.set_train(False)
    np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X)
    net.set_train(True)
    dropped = compiled(Tensor(np.ones((100, 100), np.float32))).asnumpy()
    assert set(np.unique(dropped)) == {0.0, 2.0}
    net.set_train(False)
    np.testing.assert_array_equal(compiled(Tensor(X)).asnumpy(), X)


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.state = None
        self.offset = 0.5

    def construct(self, x):
        self.count += 1
        self.state = x if self.state is None else self.state + x
        return x * self.count + self.offset


@pytest.mark.parametrize("compiled", [False, True])
def test_attributes_that_construct_writes(compiled):
    net = Counter()
    call = ms.jit(net) if compiled else net
    for i in range(1, 6):
        assert first(call(Tensor(X))) == i + 0.5
        assert net.count == i and type(net.count) is int
        assert first(net.state) == i
    net.offset = 10.0
    assert first(call(Tensor(X))) == 16.0


def test_a_number_that_changes_becomes_an_input():
    @ms.jit
    def step(x, rate):
        return x * rate

    for rate in (0.1, 0.2, 0.3, 0.4):
        result = step(Tensor(X), rate)
        assert result.dtype is ms.float32
        assert first(result) == np.float32(rate)
    assert len(families(step)) == 2


def test_a_number_that_python_needs_stays_a_constant():
    @ms.jit
    def repeated(x, n):
        parts = [x] * n
        return ops.concat(parts)

    for n in (1, 2, 3, 2):
        assert repeated(Tensor(X), n).shape == (2 * n, 3)


def test_a_second_batch_size_makes_one_graph_for_all():
    @ms.jit
    def function(x, y):
        return ops.tanh(x) @ y + x.shape[1]

    y = Tensor(np.ones((3, 2), np.float32))
    for batch in (2, 4, 7, 9, 3):
        x = np.random.default_rng(batch).standard_normal((batch, 3)).astype(np.float32)
        np.testing.assert_allclose(function(Tensor(x), y).asnumpy(), np.tanh(x) @ y.asnumpy() + 3, rtol=1e-5)
    assert len(families(function)) == 2


def test_an_argument_that_is_written():
    @ms.jit
    def increment(x):
        x[0] = x[0] + 1
        return x.sum()

    x = Tensor(np.zeros((2, 3), np.float32))
    view = x[0]
    assert float(increment(x).asnumpy()) == 3
    assert float(increment(x).asnumpy()) == 6
    np.testing.assert_array_equal(x.asnumpy(), [[2, 2, 2], [0, 0, 0]])
    np.testing.assert_array_equal(view.asnumpy(), [2, 2, 2])


def test_one_tensor_given_twice():
    @ms.jit
    def difference(x, y):
        x[0] = 5.0
        return y - x

    x = Tensor(np.zeros((2, 2), np.float32))
    np.testing.assert_array_equal(difference(x, x).asnumpy(), np.zeros((2, 2)))
    np.testing.assert_array_equal(
        difference(Tensor(np.zeros((2, 2), np.float32)), Tensor(np.ones((2, 2), np.float32))).asnumpy(),
        [[-4, -4], [1, 1]],
    )
