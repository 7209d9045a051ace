"""Random functions: distributions, seeds, and the same numbers in both modes."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops


@pytest.fixture(autouse=True)
def seeded():
    ms.set_seed(7)


def test_a_seed_repeats_the_numbers():
    first = [ops.randn(5).asnumpy(), ops.rand(5).asnumpy()]
    ms.set_seed(7)
    again = [ops.randn(5).asnumpy(), ops.rand(5).asnumpy()]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(ops.randn(5).asnumpy(), ops.randn(5).asnumpy())


def test_both_modes_draw_the_same_numbers():
    def draw(x):
        return ops.dropout(x, 0.5) + ops.randn(8) * ops.rand(8)
    x = Tensor(np.ones(8, np.float32))
    eager = [draw(x).asnumpy() for _ in range(3)]
    ms.set_seed(7)
    compiled = ms.jit(draw)
    graph = [compiled(x).asnumpy() for _ in range(3)]
    np.testing.assert_allclose(eager, graph, rtol=1e-6)
    assert not np.array_equal(graph[0], graph[1])


def test_distributions():
    n = 20000
    uniform = ops.uniform((n,), Tensor(-1.0), Tensor(3.0)).asnumpy()
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    normal = ops.normal((n,), 2.0, 0.5).asnumpy()
    assert abs(normal.mean() - 2) < 0.02 and abs(normal.std() - 0.5) < 0.02
    whole = ops.randint(3, 9, (n,)).asnumpy()
    assert whole.dtype == np.int64 and set(whole) == {3, 4, 5, 6, 7, 8}
    assert abs(ops.bernoulli(ops.zeros((n,)), 0.3).asnumpy().mean() - 0.3) < 0.02
    assert sorted(ops.randperm(50).tolist()) == list(range(50))
    drawn = ops.multinomial(Tensor([0.0, 1.0, 3.0]), n).asnumpy()
    assert (drawn > 0).all() and abs((drawn == 2).mean() - 0.75) < 0.02
    assert sorted(ops.multinomial(Tensor([1.0, 1.0, 1.0]), 3, replacement=False).tolist()) == [0, 1, 2]


def test_dropout():
    x = Tensor(np.ones(10000, np.float32))
    y = ops.dropout(x, 0.25).asnumpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.02
    assert ops.dropout(x, 0.5, training=False) is x
    assert not ops.dropout(x, 1.0).asnumpy().any()
    kept, mask = ops.Dropout(0.75)(x)
    np.testing.assert_array_equal(kept.asnumpy() > 0, mask.asnumpy() > 0)
    with pytest.raises(ValueError, match=r"p must be in \[0, 1\]"):
        ops.dropout(x, 1.5)


def test_the_gradient_of_dropout_has_its_mask():
    x = Tensor(np.full(100, 2.0, np.float32))
    y, pull = ms.vjp(lambda t: ops.dropout(t, 0.5), x)
    g = pull(Tensor(np.ones(100, np.float32)))
    g = g[0] if isinstance(g, tuple) else g
    np.testing.assert_array_equal(g.asnumpy(), y.asnumpy() / 2)


def test_a_generator_of_its_own():
    a, b = ops.Generator(3), ops.Generator(3)
    state = a.get_state()
    first = a.draw(ms.ir.operator.get("RandomNormal"), shape=(4,), dtype=ms.float32).asnumpy()
    np.testing.assert_array_equal(
        b.draw(ms.ir.operator.get("RandomNormal"), shape=(4,), dtype=ms.float32).asnumpy(), first
    )
    a.set_state(state)
    np.testing.assert_array_equal(
        a.draw(ms.ir.operator.get("RandomNormal"), shape=(4,), dtype=ms.float32).asnumpy(), first
    )
    assert (a.manual_seed(9).seed, a.offset) == (9, 0)
    with pytest.raises(TypeError, match="seed must be an int"):
        a.manual_seed(0.5)


def test_a_seed_of_one_draw():
    np.testing.assert_array_equal(ops.randn(3, seed=4).asnumpy(), ops.randn(3, seed=4).asnumpy())


def _moments(draw):
    ms.set_seed(5)
    return draw().asnumpy().astype(np.float64)


@pytest.mark.parametrize(("draw", "mean", "variance"), [
    (lambda: ops.gamma((40_000,), Tensor(2.5), Tensor(2.0)), 1.25, 0.625),
    (lambda: ops.random_gamma((40_000,), Tensor(0.4)), 0.4, 0.4),
    (lambda: ops.poisson((40_000,), Tensor(3.0)), 3.0, 3.0),
    (lambda: ops.random_poisson((40_000,), Tensor(60.0)), 60.0, 60.0),
    (lambda: ops.laplace((40_000,), Tensor(1.0), Tensor(2.0)), 1.0, 8.0),
    (lambda: ops.TruncatedNormal()((40_000,)), 0.0, 0.7737),
    (lambda: ops.zeros((40_000,)).exponential_(2.0), 0.5, 0.25),
    (lambda: ops.zeros((40_000,)).uniform_(-1, 3), 1.0, 16 / 12),
    (lambda: ops.zeros((40_000,)).normal_(2, 3), 2.0, 9.0),
    (lambda: ops.zeros((40_000,)).random_(0, 10), 4.5, 99 / 12),
    (lambda: ops.zeros((40_000,)).bernoulli_(0.3), 0.3, 0.21),
    (lambda: ops.random_categorical(Tensor([[0.0, float(np.log(3.0))]]), 40_000)[0], 0.75, 0.1875),
])
def test_moments_and_seeds(draw, mean, variance):
    x = _moments(draw)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / x.size)
    assert abs(x.var() - variance) < 0.06 * variance
    np.testing.assert_array_equal(_moments(draw), x)
    assert not np.array_equal(draw().asnumpy(), x)  # the next draw is another one


def test_draws_agree_in_both_modes():
    draws = (lambda: ops.random_gamma((50,), Tensor(2.0)), lambda: ops.random_poisson((50,), Tensor(4.0)))
    for draw in draws:
        ms.set_seed(3)
        eager = draw().asnumpy()
        ms.set_seed(3)
        np.testing.assert_array_equal(ms.jit(draw)().asnumpy(), eager)


def test_shuffles_and_choices():
    ms.set_seed(1)
    x = np.arange(20).reshape(10, 2)
    got = ops.shuffle(Tensor(x)).asnumpy()
    assert not np.array_equal(got, x)
    np.testing.assert_array_equal(got[np.argsort(got[:, 0])], x)
    mask = np.array([[True, False], [True, True]])
    places, found = (t.asnumpy() for t in ops.choice_with_mask(Tensor(mask), 5))
    assert places.shape == (5, 2) and found.tolist() == [True] * 3 + [False] * 2
    assert sorted(map(tuple, places[found])) == [(0, 0), (1, 0), (1, 1)]
    assert ops.Randperm(max_length=6)(Tensor([4], ms.int32)).asnumpy()[4:].tolist() == [-1, -1]
    with pytest.raises(TypeError, match="must be bool"):
        ops.choice_with_mask(Tensor(x))
