"""Backward passes of PyNative mode that repeat: one plan after the first few, with the same results."""

import threading

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia.engine import repeated_backward
from mycelia.engine.eager import ENGINE
from mycelia.engine.repeated_backward import REPEATS, RepeatedBackward

ENOUGH = REPEATS + 3


@pytest.fixture(autouse=True)
def pynative():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ENGINE._passes = RepeatedBackward()
    yield
    ms.set_context(pynative_synchronize=False)
    ENGINE._passes = None


def plans():
    return [p for p in ENGINE._passes._known.values() if isinstance(p, repeated_backward._Plan)]


def tensor(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


class Net(nn.Cell):
    """Convolution, norm, pooling, a view, a branch that joins again."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2, 2)
        self.dense = nn.Dense(64, 3)
        self.unused = nn.Dense(3, 3)

    def construct(self, x):
        y = ops.relu(self.norm(self.conv(x)))
        y = self.pool(y + y * ops.sigmoid(y))
        return self.dense(y.reshape(y.shape[0], -1))


def train(steps, synchronous):
    ms.set_context(pynative_synchronize=synchronous)
    ms.set_seed(3)
    net = Net()
    net.set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    x, labels = tensor(5, 2, 8, 8), Tensor(np.array([0, 1, 2, 1, 0], np.int32))
    loss_of = nn.CrossEntropyLoss()
    step = ms.value_and_grad(lambda: loss_of(net(x), labels), None, optimizer.parameters)
    losses = []
    for _ in range(steps):
        loss, gradients = step()
        optimizer(gradients)
        losses.append(float(loss))
    return losses, [p.asnumpy() for p in net.get_parameters()]


def test_training_goes_on_as_operator_by_operator():
    losses, parameters = train(ENOUGH, synchronous=False)
    assert len(plans()) == 1
    expected_losses, expected = train(ENOUGH, synchronous=True)
    assert len(plans()) == 1, "synchronous: nothing is compiled as a whole"
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for a, b in zip(parameters, expected):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_the_plan_follows_the_values_and_not_those_it_was_made_from():
    gradient = ms.grad(lambda x, w: (ops.tanh(x @ w) * x).sum(), (0, 1))
    for i in range(ENOUGH):
        x, w = tensor(4, 4, seed=i), tensor(4, 4, seed=100 + i)
        got = [g.asnumpy() for g in gradient(x, w)]
        t = np.tanh(x.asnumpy() @ w.asnumpy())
        inner = (1 - t * t) * x.asnumpy()
        np.testing.assert_allclose(got[0], t + inner @ w.asnumpy().T, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got[1], x.asnumpy().T @ inner, rtol=1e-4, atol=1e-5)
    assert len(plans()) == 1


def test_other_shapes_attributes_and_positions_have_plans_of_their_own():
    def loss(x, axis):
        return (ops.softmax(x, axis) * x).sum()

    for shape, axis in [((3, 4), 0), ((3, 4), 1), ((4, 3), 0)]:
        x = tensor(*shape)
        results = [ms.grad(loss)(x, axis).asnumpy() for _ in range(ENOUGH)]
        np.testing.assert_allclose(results[-1], results[0], rtol=1e-5, atol=1e-6)
    assert len(plans()) == 3


def test_an_operand_that_was_overwritten_is_refused_as_before():
    gradient = ms.grad(lambda x: ops.exp(x * 2).sum())
    x = tensor(3)
    for _ in range(ENOUGH):
        gradient(x)
    (plan,) = plans()
    run = plan.run

    def run_after_a_write(records, cotangents):
        (exp,) = [r for r in records if not isinstance(r, tuple) and r.op.name == "Exp"]
        exp.outputs[0]._storage.version += 1  # as a write that the tape could not see
        return run(records, cotangents)

    plan.run = run_after_a_write
    with pytest.raises(RuntimeError, match="gradient of Exp .*overwritten in place"):
        gradient(x)


def test_writes_in_the_forward_pass():
    def loss(x):
        y = x * 2
        y[1] = x[0] * x[2]
        return (y * y).sum()

    x = Tensor(np.array([1.0, 2.0, 3.0], np.float32))
    for _ in range(ENOUGH):
        np.testing.assert_allclose(ms.grad(loss)(x).asnumpy(), [8 + 18, 0, 24 + 6], rtol=1e-6)


def test_hooks_and_gradients_of_the_users_own_run_every_time():
    calls = []

    class Double(nn.Cell):
        def construct(self, x):
            return x * 2

        def bprop(self, x, out, dout):
            calls.append("bprop")
            return (dout * 3,)

    cell = Double()
    x = tensor(4)
    for _ in range(ENOUGH):
        np.testing.assert_allclose(ms.grad(lambda x: cell(x).sum())(x).asnumpy(), 3.0)
    assert calls == ["bprop"] * ENOUGH

    w = Parameter(tensor(4), name="w")
    handle = w.register_hook(lambda g: calls.append("hook") or g * 10)
    gradient = ms.grad(lambda x: (x * w).sum(), None, w)
    for _ in range(ENOUGH):
        np.testing.assert_allclose(gradient(x).asnumpy(), 10 * x.asnumpy(), rtol=1e-6)
    assert calls.count("hook") == ENOUGH
    handle.remove()
    np.testing.assert_allclose(gradient(x).asnumpy(), x.asnumpy(), rtol=1e-6)


def test_second_order():
    def cubic(x):
        return (x * x * x).sum()

    second = ms.grad(lambda x: ms.grad(cubic)(x).sum())
    for i in range(ENOUGH):
        x = tensor(5, seed=i)
        np.testing.assert_allclose(second(x).asnumpy(), 6 * x.asnumpy(), rtol=1e-5)


def test_sizes_that_depend_on_elements():
    def loss(x):
        return (ops.masked_select(x, x > 0) ** 2).sum()

    for i in range(2 * ENOUGH):
        x = tensor(8, seed=i)
        expected = np.where(x.asnumpy() > 0, 2 * x.asnumpy(), 0)
        np.testing.assert_allclose(ms.grad(loss)(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_views_as_operands():
    def loss(x):
        return (ops.exp(x.swapaxes(0, 1)[1:]) @ x[:, :2]).sum()

    gradients = [ms.grad(loss)(tensor(3, 4)).asnumpy() for _ in range(ENOUGH)]
    np.testing.assert_allclose(gradients[-1], gradients[0], rtol=1e-4, atol=1e-5)
    assert plans()


def test_tensor_backward_repeats_too():
    w = tensor(3, 3)
    w.requires_grad = True
    for i in range(ENOUGH):
        w.grad = None
        x = tensor(2, 3, seed=i)
        ops.tanh(x @ w).sum().backward()
        t = np.tanh(x.asnumpy() @ w.asnumpy())
        np.testing.assert_allclose(w.grad.asnumpy(), x.asnumpy().T @ (1 - t * t), rtol=1e-4, atol=1e-5)
    assert plans()


def test_an_empty_batch_and_one_of_float16():
    for x in (tensor(0, 3), tensor(4, 3).astype(ms.float16)):
        gradient = ms.grad(lambda x: ops.sigmoid(x).sum())
        for _ in range(ENOUGH):
            g = gradient(x)
        s = 1 / (1 + np.exp(-x.asnumpy().astype(np.float64)))
        assert g.shape == x.shape and g.dtype == x.dtype
        np.testing.assert_allclose(g.asnumpy(), s * (1 - s), atol=2e-3)


def test_two_threads():
    gradient = ms.grad(lambda x, y: (ops.exp(x) * y).sum())
    failures = []

    def work(seed):
        x, y = tensor(6, seed=seed), tensor(6, seed=seed + 50)
        for _ in range(3 * ENOUGH):
            got = gradient(x, y).asnumpy()
            if not np.allclose(got, np.exp(x.asnumpy()) * y.asnumpy(), rtol=1e-5):
                failures.append((seed, got))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
