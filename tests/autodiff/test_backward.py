"""`Tensor.backward`, ``requires_grad`` and ``grad``: the semantics of leaves, as in PyTorch."""
import copy
import gc
import weakref

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops


def leaf(values=(1.0, 2.0)):
    return Tensor(np.array(values, np.float32)).requires_grad_()


def test_gradients_add_up_in_leaves():
    x, y = leaf(), Tensor([3.0, 4.0])
    z = (x * x * y).sum()
    assert (x.is_leaf, z.is_leaf, z.requires_grad, y.requires_grad) == (True, False, True, False)
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [6, 16])
    (x * y).sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [9, 20])
    assert y.grad is None
    x.grad = None
    assert x.grad is None


def test_a_record_is_used_once_unless_retained():
    x = leaf()
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [4, 8])
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        z.backward()


def test_higher_orders_by_create_graph():
    x = leaf()
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [6, 12])


def test_writes_and_views():
    x = leaf()
    w = x * 2
    w[0:1] = x[1:2] * 5
    w.mul_(w)
    w.sum().backward()  # w is [5 x1, 2 x1] squared
    np.testing.assert_allclose(x.grad.asnumpy(), [0, 2 * 10 * 5 + 2 * 4 * 2])
    x = leaf()
    v = x * 2
    first = v[0:1]
    v.mul_(3.0)
    first.sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [6, 0])


def test_leaves_are_not_overwritten_but_within_no_grad():
    x = leaf()
    with pytest.raises(RuntimeError, match="requires a gradient"):
        x.add_(1.0)
    with ms.no_grad():
        x.add_(1.0)
        assert not (x * 2).requires_grad
    (x * x).sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [4, 6])


def test_hooks_and_retained_gradients():
    x = leaf()
    handle = x.register_hook(lambda g: g * 10)
    h = x * x
    h.retain_grad()
    h.register_hook(lambda g: g * 3)
    h.sum().backward()
    np.testing.assert_allclose(h.grad.asnumpy(), [3, 3])
    np.testing.assert_allclose(x.grad.asnumpy(), [60, 120])
    handle.remove()
    x.grad = None
    (x * x).sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [2, 4])


def test_a_network_in_training_mode_is_recorded():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))
    x = Tensor([[1.0, 2.0], [0.5, -1.0]])
    expected = ms.grad(lambda x: net(x).mean(), None, net.trainable_params())(x)
    with pytest.raises(RuntimeError, match="set_train"):
        net(x).mean().backward()
    net.set_train()
    net(x).mean().backward()
    for p, g in zip(net.trainable_params(), expected):
        np.testing.assert_allclose(p.grad.asnumpy(), g.asnumpy(), rtol=1e-6)


def test_enable_grad_records_parameters_and_assignments_do_not():
    p = Parameter(Tensor([2.0]), name="p")
    with ms.enable_grad():
        y = p * p
        ops.assign(p, Tensor([5.0]))
        z = p * 3
    assert p.is_leaf
    z.sum().backward()
    np.testing.assert_allclose(p.grad.asnumpy(), [3])
    with pytest.raises(RuntimeError, match="overwritten in place"):
        y.sum().backward()


def test_compiled_functions_let_gradients_through():
    x = leaf()
    ms.jit(lambda x: (x * x).sum())(x).backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [2, 4])


def test_transformations_over_tracked_tensors():
    x = leaf()
    g = ms.grad(lambda x: (x**3).sum())(x)
    assert g.requires_grad
    g.sum().backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [6, 12])


def test_what_nobody_can_differentiate_is_freed():
    x = leaf()
    y = (x * x).sum()
    entry = weakref.ref(y._gradient.source)
    gc.disable()
    try:
        del y
        assert entry() is None
    finally:
        gc.enable()


def test_constants():
    x = leaf()
    assert not x.detach().requires_grad
    assert not (x > 1).requires_grad
    assert not copy.deepcopy(x).requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: Tensor([1.0]).backward(), RuntimeError, "asked for a gradient"),
        (lambda: (leaf() * 2).backward(), ValueError, r"needs its cotangent"),
        (lambda: (leaf() * 2).backward(Tensor([1.0])), ValueError, r"shape \(2,\)"),
        (lambda: Tensor([1]).requires_grad_(), TypeError, "floating"),
        (lambda: setattr(leaf(), "requires_grad", 1), TypeError, "must be a bool"),
        (lambda: setattr(leaf() * 2, "requires_grad", False), RuntimeError, "detach"),
        (lambda: ms.jit(lambda x: x.sum().backward())(Tensor([1.0])), RuntimeError, "value_and_grad"),
    ],
)
def test_errors(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_compiled_functions_over_parameters_let_gradients_through():
    w = Parameter(Tensor([3.0]), name="w")
    product = ms.jit(lambda x: (x * w).sum())
    for _ in range(2):
        w.grad = None
        with ms.enable_grad():
            loss = product(Tensor([2.0]))
        loss.backward()
        np.testing.assert_allclose(w.grad.asnumpy(), [2])


def test_a_training_step_of_a_cell_records_nothing_of_its_own():
    net = nn.Dense(2, 1)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()
    before = net.weight.asnumpy().copy()
    loss = step(Tensor([[1.0, 2.0]]), Tensor([[1.0]]))
    assert not loss.requires_grad
    assert (net.weight.asnumpy() != before).any()
    assert "_compiled_construct" in vars(optimizer)
    made = [s for family in vars(optimizer)["_compiled_construct"].specialisations.values() for s in family]
    assert made and not made[0].learns
