"""Buffers, state dicts, containers by key, and optimizers written by users."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia.nn.optim.optimizer import Optimizer, opt_init_args_register


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 2)
        self.register_buffer("mask", Tensor(np.ones(2, np.float32)))
        self.register_buffer("scratch", Tensor(np.zeros(1, np.float32)), persistent=False)

    def construct(self, x):
        return self.dense(x) * self.mask


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_buffers_take_part_and_are_kept(mode):
    ms.set_context(mode=mode)
    try:
        net, x = Net(), Tensor(np.ones((1, 2), np.float32))
        assert [name for name, _ in net.named_buffers()] == ["mask", "scratch"]
        assert sorted(net.state_dict()) == ["dense.bias", "dense.weight", "mask"]
        assert "mask" not in net.parameters_dict()
        before = net(x).asnumpy()
        net.load_state_dict({"mask": np.full(2, 3.0, np.float32)}, strict=False)
        np.testing.assert_allclose(net(x).asnumpy(), 3 * before, rtol=1e-6)
        twin = Net()
        twin.load_state_dict(net.state_dict())
        np.testing.assert_array_equal(twin(x).asnumpy(), net(x).asnumpy())
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_what_does_not_fit_is_named():
    net = Net()
    with pytest.raises(RuntimeError, match=r"without \['mask', .*'dense.bias'\], with unknown \['x'\]"):
        net.load_state_dict({"x": np.ones(1)})
    with pytest.raises(ValueError, match=r"mask must have shape \(2,\). Received: \(3,\)"):
        net.load_state_dict({"mask": np.ones(3)}, strict=False)
    with pytest.raises(KeyError, match="already"):
        net.register_buffer("dense", None)
    with pytest.raises(AttributeError, match="no buffer 'weight'"):
        net.get_buffer("dense.weight")


def test_hooks_around_state():
    net, seen = Net(), []
    handle = net.register_state_dict_post_hook(lambda cell, state, prefix: state.pop("mask"))
    net.register_load_state_dict_post_hook(lambda cell, found: seen.extend(found.missing_keys))
    state = net.state_dict()
    assert "mask" not in state
    net.load_state_dict(state, strict=False)
    assert seen == ["mask"]
    handle.remove()
    assert "mask" in net.state_dict()


def test_cells_by_key():
    class Branches(nn.Cell):
        def __init__(self):
            super().__init__()
            self.branches = nn.CellDict({"wide": nn.Dense(2, 3), "flat": nn.Flatten()})
            self.branches["deep"] = nn.Dense(2, 3)

        def construct(self, x):
            return self.branches["wide"](x) + self.branches["deep"](x)

    net = Branches()
    assert list(net.branches.keys()) == ["wide", "flat", "deep"]
    assert "flat" in net.branches and len(net.branches) == 3
    names = [p.name for p in net.get_parameters()]
    assert names == [f"branches.{key}.{part}" for key in ("wide", "deep") for part in ("weight", "bias")]
    assert net(Tensor(np.ones((1, 2), np.float32))).shape == (1, 3)
    assert isinstance(net.branches.pop("flat"), nn.Flatten)
    for bad, error in (
        ({1: nn.ReLU()}, TypeError),
        ({"a.b": nn.ReLU()}, ValueError),
        ({"keys": nn.ReLU()}, KeyError),
    ):
        with pytest.raises(error):
            nn.CellDict(bad)


def test_optimizers_written_by_users():
    class Plain(Optimizer):
        @opt_init_args_register
        def __init__(self, params, learning_rate=0.1, weight_decay=0.0, loss_scale=1.0):
            super().__init__(learning_rate, params, weight_decay, loss_scale)
            self.moments = self._parameters.clone(prefix="moments", init="zeros")

        def construct(self, gradients):
            gradients = self.flatten_gradients(gradients)
            gradients = self.decay_weight(gradients)
            gradients = self.gradients_centralization(gradients)
            gradients = self.scale_grad(gradients)
            rate = self.get_lr()
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            for p, g, m in zip(self._parameters, gradients, self.moments):
                ops.assign(m, m * 0.9 + g)
                ops.assign(p, p - rate * m)
            return True

    mine, theirs = (Parameter(np.ones(3, np.float32), name="w") for _ in range(2))
    own, known = Plain([mine], 0.5, 0.1, 4.0), nn.Momentum([theirs], 0.5, 0.9, 0.1, 4.0)
    for _ in range(3):
        for optimizer in (own, known):
            optimizer((Tensor(np.array([1.0, -2.0, 4.0], np.float32)),))
    np.testing.assert_allclose(mine.asnumpy(), theirs.asnumpy(), rtol=1e-6)
    assert own.global_step.asnumpy().tolist() == [3]
    assert own.init_args == {"learning_rate": 0.5, "weight_decay": 0.1, "loss_scale": 4.0}


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_jacobian_products(mode):
    class Two(nn.Cell):
        def construct(self, x, y):
            return x**2 * y, x + y

    x, y, v = (Tensor(np.array(a, np.float32)) for a in ([1, 2], [3, 4], [1, 1]))
    ms.set_context(mode=mode)
    try:
        (_, _), (first, second) = nn.Jvp(Two())(x, y, (v, v))
        np.testing.assert_allclose(first.asnumpy(), [7, 20])
        np.testing.assert_allclose(second.asnumpy(), [2, 2])
        outputs, (dx, dy) = nn.Vjp(Two())(x, y, (v, v))
        np.testing.assert_allclose(outputs[0].asnumpy(), [3, 16])
        np.testing.assert_allclose(dx.asnumpy(), [7, 17])
        np.testing.assert_allclose(dy.asnumpy(), [2, 5])
        np.testing.assert_allclose(nn.Vjp(nn.ReLU())(x, v)[1].asnumpy(), [1, 1])
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_networks_without_initial_values():
    with nn.no_init_parameters():
        dense, norm = nn.Dense(2, 3), nn.BatchNorm2d(2)
    assert not dense.weight.asnumpy().any()
    assert norm.gamma.asnumpy().all()
    assert nn.Dense(2, 3).weight.asnumpy().any()
