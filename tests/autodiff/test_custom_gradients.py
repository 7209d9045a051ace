"""``bprop`` of Cells and functions, hooks on tensors and Cells, in both modes, under `vmap`, twice."""
import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops


@pytest.fixture(params=["pynative", "jit"])
def mode(request):
    return ms.jit if request.param == "jit" else lambda function: function


def x():
    return Tensor(np.array([1.0, 2.0]))


@ms.custom_bprop(lambda x, out, dout: dout * 10 * x)
def double(x):
    return x * 2


def check(tensor, expected):
    np.testing.assert_allclose(tensor.asnumpy(), expected)


def test_of_functions(mode):
    check(mode(double)(x()), [2, 4])
    check(mode(ms.grad(double))(x()), [10, 20])
    check(mode(ms.grad(lambda x: ms.grad(double)(x).sum()))(x()), [10, 10])


def test_under_vmap(mode):
    check(mode(ops.vmap(ms.grad(double)))(x()), [10, 20])
    check(mode(ms.grad(lambda x: ops.vmap(double)(x).sum()))(x()), [10, 20])

    @ms.custom_bprop(lambda x, w, out, dout: (dout * w, dout * x * 100))
    def product(x, w):
        return x * w

    # one w for the whole batch: its gradients are summed
    total = lambda w: ops.vmap(product, (0, None))(x(), w).sum()  # noqa: E731
    check(mode(ms.grad(total))(Tensor(3.0)), 300)


def test_in_a_branch_and_in_a_loop(mode):
    def branch(x):
        if x.sum() > 0:
            return double(x)
        else:
            return x * x

    check(mode(ms.grad(branch))(x()), [10, 20])
    check(mode(ms.grad(branch))(-x()), [-2, -4])

    def loop(x, n):
        i = n * 0
        while i < n:
            x = double(x)
            i = i + 1
        return x

    check(mode(ms.grad(loop))(x(), Tensor(2)), [10 * 20, 10 * 2 * 20 * 2])


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0]), name="w")

    def construct(self, x, y):
        return x * y * self.w

    def bprop(self, x, y, out, dout):
        return dout * 10, dout * 20


class Weighted(Scaled):
    def bprop(self, x, y, out, dout):
        return (dout * 10, dout * 20), {self.w: dout * 7}


@pytest.mark.parametrize("graph", [False, True])
def test_of_cells(graph):
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)
    try:
        a, b = Tensor([1.0]), Tensor([3.0])
        cell = Scaled()
        check(cell(a, b), [6])
        by_position, by_weight = ms.grad(cell, (0, 1), cell.trainable_params())(a, b)
        check(by_position[0], [10])
        check(by_position[1], [20])
        check(by_weight[0], [0])
        cell = Weighted()
        check(ms.grad(cell, None, cell.trainable_params())(a, b)[0], [7])
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_wrong_bprops():
    class TooFew(Scaled):
        def bprop(self, x, y, out, dout):
            return dout * 10

    class TooManyArguments(Scaled):
        def bprop(self, x, y, z, out, dout):
            return dout, dout

    a, b = Tensor([1.0]), Tensor([3.0])
    with pytest.raises(ValueError, match=r"each of the 2 argument\(s\). Received: 1"):
        ms.grad(TooFew())(a, b)
    with pytest.raises(TypeError, match=r"4 in all. Received: bprop\(x, y, z, out, dout\)"):
        ms.grad(TooManyArguments())(a, b)
    with pytest.raises(ValueError, match=r"must have its shape \(2,\)"):
        ms.grad(ms.custom_bprop(lambda x, out, dout: dout.sum())(lambda x: x * 2))(x())


def test_hooks_of_tensors(mode):
    def function(x, y):
        z = x * y
        z.register_hook(lambda g: g * 2)
        return z * y

    dx, dy = mode(ms.grad(function, (0, 1)))(x(), Tensor(np.array([3.0, 4.0])))
    check(dx, [18, 32])
    check(dy, [9, 24])
    check(mode(ms.grad(lambda x: ops.InsertGradientOf(lambda d: d * 7)(x) * x))(x()), [8, 16])
    check(mode(ms.grad(lambda x: ops.HookBackward(lambda d: (d[0] * 7,))(x) * x))(x()), [8, 16])


def test_hooks_that_stay_with_a_tensor():
    w = Parameter(Tensor([3.0]), name="w")
    handle = w.register_hook(lambda g: g * 2)
    check(ms.grad(lambda x: x * w, None, w)(Tensor([3.0])), [6])
    handle.remove()
    check(ms.grad(lambda x: x * w, None, w)(Tensor([3.0])), [3])
    with pytest.raises(TypeError, match="must be callable"):
        w.register_hook(3)


@pytest.mark.parametrize("graph", [False, True])
def test_hooks_of_cells(graph):
    seen = []

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def construct(self, x):
            return self.relu(x + x)

    net = Net()
    first = net.relu.register_backward_pre_hook(lambda cell, grads: seen.append("pre"))
    second = net.relu.register_backward_hook(lambda cell, inputs, outputs: (inputs[0] * 10,))
    if graph:
        ms.set_context(mode=ms.GRAPH_MODE)
    try:
        check(ms.grad(net)(Tensor([1.0])), [20])
        assert seen == ["pre"]
        first.remove()
        second.remove()
        assert net.relu._plain
        check(ms.grad(net)(Tensor([1.0])), [2])
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_a_hook_runs_though_nothing_below_needs_a_gradient():
    dense = nn.Dense(2, 1)
    seen = []
    dense.register_backward_hook(lambda cell, inputs, outputs: seen.append(outputs[0].shape))
    ms.grad(dense, None, dense.trainable_params())(Tensor([[1.0, 2.0]]))
    assert seen == [(1, 1)]


def test_no_grad_makes_constants(mode):
    def function(x):
        with ms.no_grad():
            c = x * x
        return c * x

    check(mode(ms.grad(function))(x()), [1, 4])
    check(mode(ms.grad(ms.no_grad()(lambda x: x * 2)))(x()), [0, 0])
    check(mode(ms.grad(lambda x: ms.no_grad()(lambda x: x * 2)(x) + x))(x()), [1, 1])
