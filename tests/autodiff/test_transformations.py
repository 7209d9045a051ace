"""The public transformations: what they return, and what they refuse."""
import logging

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops


@pytest.fixture(params=["pynative", "jit"])
def mode(request):
    return ms.jit if request.param == "jit" else lambda function: function


A, B = np.array([1.0, 2.0]), np.array([3.0, 4.0])


def two(x, y):
    return x * x * y, y.sum()


def test_jvp_against_the_formula(mode):
    outputs, derivative = mode(lambda x, y: ms.jvp(two, (x, y), (y, x)))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(outputs[0].asnumpy(), A * A * B)
    np.testing.assert_allclose(derivative[0].asnumpy(), 2 * A * B * B + A * A * A)
    np.testing.assert_allclose(derivative[1].asnumpy(), A.sum())
    out, d, aux = ms.jvp(two, (Tensor(A), Tensor(B)), (Tensor(A), Tensor(B)), has_aux=True)
    np.testing.assert_allclose(d.asnumpy(), 3 * A * A * B)
    np.testing.assert_allclose(aux.asnumpy(), 7)


@pytest.mark.parametrize("jacobian", [ms.jacfwd, ms.jacrev])
def test_jacobians(mode, jacobian):
    (to_x, to_y), (sum_x, sum_y) = mode(jacobian(two, (0, 1)))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(to_x.asnumpy(), np.diag(2 * A * B))
    np.testing.assert_allclose(to_y.asnumpy(), np.diag(A * A))
    np.testing.assert_allclose(sum_x.asnumpy(), [0, 0])
    np.testing.assert_allclose(sum_y.asnumpy(), [1, 1])
    one, aux = mode(jacobian(two, 0, has_aux=True))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(one.asnumpy(), np.diag(2 * A * B))
    np.testing.assert_allclose(aux.asnumpy(), 7)
    m = Tensor(np.arange(6.0).reshape(2, 3))
    found = mode(jacobian(lambda m: ops.matmul(m, m.swapaxes(0, 1))))(m)
    assert found.shape == (2, 2, 2, 3)
    hessian = mode(jacobian(ms.jacrev(lambda x: (x**3).sum())))(Tensor(A))
    np.testing.assert_allclose(hessian.asnumpy(), np.diag(6 * A))


def test_pull_backs_return_a_tuple(mode):
    pulled = mode(lambda x: ms.vjp(lambda x: x * x, x)[1](x))(Tensor(A))
    assert type(pulled) is tuple
    np.testing.assert_allclose(pulled[0].asnumpy(), 2 * A * A)
    outputs, pull, aux = ms.vjp(two, Tensor(A), Tensor(B), has_aux=True)
    np.testing.assert_allclose(pull(Tensor(B))[1].asnumpy(), A * A * B)
    np.testing.assert_allclose(aux.asnumpy(), 7)


def test_identifiers(mode):
    w = Parameter(Tensor(A), name="w")
    pairs = mode(ms.grad(lambda x, y: x * y * w, (0, 1), w, return_ids=True))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(ms.get_grad(pairs, 1).asnumpy(), A * A)
    np.testing.assert_allclose(ms.get_grad(pairs, w).asnumpy(), A * B)
    with pytest.raises(RuntimeError, match="no gradient for 5"):
        ms.get_grad(pairs, 5)
    with pytest.raises(TypeError, match="int or a Parameter"):
        ms.get_grad(pairs, "w")


def test_cotangents_from_the_caller(mode):
    np.testing.assert_allclose(
        mode(ms.grad(lambda x: x * x, sens_param=True))(Tensor(A), Tensor(B)).asnumpy(), 2 * A * B
    )
    with pytest.raises(ValueError, match="shape"):
        ms.grad(lambda x: x * x, sens_param=True)(Tensor(A), Tensor(1.0))


def test_grad_operation(mode):
    x, y = Tensor(A), Tensor(B)
    product = lambda x, y: x * y  # noqa: E731
    np.testing.assert_allclose(mode(ops.GradOperation()(product))(x, y).asnumpy(), B)
    by_all = mode(ops.GradOperation(get_all=True)(product))(x, y)
    np.testing.assert_allclose([g.asnumpy() for g in by_all], [B, A])
    np.testing.assert_allclose(mode(ops.GradOperation(sens_param=True)(product))(x, y, y).asnumpy(), B * B)
    net = nn.Dense(2, 1)
    inputs, weights = mode(ops.GradOperation(get_all=True, get_by_list=True)(net))(Tensor([[1.0, 2.0]]))
    assert inputs[0].shape == (1, 2)
    assert [g.shape for g in weights] == [(1, 2), (1,)]
    with_label = ops.GradOperation(get_all=True)(lambda x, label: x * label)(x, Tensor([1, 2]))
    assert with_label[1].dtype is ms.int64
    assert ops.GradOperation(get_all=True)(lambda x, n: x * n)(x, 3.0)[0].shape == (2,)
    with pytest.raises(TypeError, match="must be a bool"):
        ops.GradOperation(get_all=1)


def test_parameters_without_influence_are_named(caplog):
    used, unused = Parameter(Tensor([1.0]), name="used"), Parameter(Tensor([1.0]), name="unused")
    step = ms.value_and_grad(lambda x: (x * used).sum(), None, [used, unused])
    with caplog.at_level(logging.WARNING, "mycelia"):
        _, grads = step(Tensor([1.0]))
        step(Tensor([1.0]))
    assert [r.getMessage().partition("get no update: ")[2] for r in caplog.records] == ["unused"]
    np.testing.assert_allclose(grads[1].asnumpy(), [0])


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: ms.grad(3), TypeError, "callable"),
        (lambda: ms.grad(lambda x: x, None), ValueError, "nothing to differentiate by"),
        (lambda: ms.grad(lambda x: x, 5)(Tensor(A)), ValueError, "out of range"),
        (lambda: ms.grad(lambda x: x, "0")(Tensor(A)), TypeError, "grad_position"),
        (lambda: ms.grad(lambda x: x * 2)(Tensor([1])), TypeError, "floating dtype"),
        (lambda: ms.grad(lambda x: x > 2)(Tensor(A)), TypeError, "the result"),
        (lambda: ms.grad(lambda x: x, has_aux=True)(Tensor(A)), ValueError, "at least one more"),
        (lambda: ms.grad(lambda x: x, None, [3])(Tensor(A)), TypeError, "Parameters"),
        (lambda: ms.jvp(lambda x: x, Tensor(A), Tensor(1.0)), ValueError, "structure and shapes"),
        (lambda: ms.vjp(lambda x: x, Tensor(A))[1](Tensor(1.0)), ValueError, "output's shape"),
        (lambda: ms.vmap(lambda x, y: x, (0, 0))(Tensor(A), Tensor([1.0])), ValueError, "one size"),
        (lambda: ms.vmap(lambda x: x, 3)(Tensor(A)), ValueError, "axis 3"),
        (lambda: ms.vmap(lambda x: x, None)(Tensor(A)), ValueError, "None"),
    ],
)
def test_errors(act, error, message):
    with pytest.raises(error, match=message):
        act()


def test_vmap_axes_and_nesting(mode):
    m = np.arange(6.0).reshape(2, 3)
    out = mode(ms.vmap(lambda x, y: x * y, (0, None), 1))(Tensor(m), Tensor(np.ones(3)))
    np.testing.assert_allclose(out.asnumpy(), m.T)
    pairs = mode(ms.vmap(ms.vmap(lambda x, y: x * y, (None, 0)), (0, None)))(Tensor(A), Tensor(B))
    np.testing.assert_allclose(pairs.asnumpy(), np.outer(A, B))
    d = mode(ms.vmap(lambda d: d["a"] * d["b"][0], ({"a": 0, "b": (None,)},)))(
        {"a": Tensor(A), "b": (Tensor(3.0),)}
    )
    np.testing.assert_allclose(d.asnumpy(), 3 * A)
    several = mode(ms.vmap(lambda x: (x, x * 2), 0, (0, -1)))(Tensor(m))
    np.testing.assert_allclose(several[1].asnumpy(), 2 * m.T)
