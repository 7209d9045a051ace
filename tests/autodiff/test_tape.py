"""Gradients of gradients, and gradients through views and writes, in both modes."""
import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, ops


@pytest.fixture(params=["pynative", "jit"])
def mode(request):
    return ms.jit if request.param == "jit" else lambda function: function


def x():
    return Tensor(np.array([1.0, 2.0]))


def cube(x):
    return (x**3).sum()


def test_gradients_of_gradients(mode):
    np.testing.assert_allclose(mode(ms.grad(ms.grad(cube)))(x()).asnumpy(), [6, 12])
    np.testing.assert_allclose(mode(ms.grad(ms.grad(ms.grad(cube))))(x()).asnumpy(), [6, 6])


def test_the_inner_function_may_read_the_outer_argument(mode):
    function = ms.grad(lambda x: ms.grad(lambda y: (x * y * y).sum())(x).sum())
    np.testing.assert_allclose(mode(function)(x()).asnumpy(), 4 * np.array([1, 2]))


def test_a_pull_back_is_differentiable(mode):
    def pulled(x):
        _, pull = ms.vjp(lambda x: x * x * x, x)
        return pull(ops.ones_like(x))

    np.testing.assert_allclose(mode(ms.grad(pulled))(x()).asnumpy(), [6, 12])


def test_hessian_by_vmap_and_its_gradient(mode):
    def hessian(x):
        row = lambda v: ms.grad(lambda x: (ms.grad(cube)(x) * v).sum())(x)  # noqa: E731
        return ops.vmap(row)(Tensor(np.eye(2)))

    np.testing.assert_allclose(mode(hessian)(x()).asnumpy(), [[6, 0], [0, 12]])
    np.testing.assert_allclose(mode(ms.grad(lambda x: hessian(x).sum()))(x()).asnumpy(), [6, 6])


def test_a_parameter_in_a_gradient(mode):
    p = Parameter(x(), name="p")
    function = ms.grad(lambda x: ms.grad(lambda x: (x * x * p).sum())(x).sum(), None, p)
    np.testing.assert_allclose(mode(function)(x()).asnumpy(), [2, 4])


def test_a_view_returned_after_its_root_was_written(mode):
    def function(x):
        y = x * 2
        first = y[0:1]
        y.mul_(3.0)
        return first

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [6, 0])


def test_a_view_written_elsewhere_after_its_root_was_written(mode):
    def function(x):
        y = x * 2
        first = y[0:1]
        y.mul_(3.0)
        z = ops.zeros_like(x)
        z[1:] = first
        return z * z

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [72, 0])


def test_an_in_place_product_keeps_its_operand(mode):
    def function(x):  # 2 a b, and its square
        y = x * 2
        first = y[0:1]
        first.mul_(x[1:])
        return first * first

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [32, 16])


def test_second_order_through_writes(mode):
    def function(x):  # (a^2 + b) (1 + b)
        y = x * x
        y[0:1].add_(x[1:])
        first = y[0:1].copy()
        y[1:] = first * x[1:]
        return y * 1.0

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [6, 6])
    np.testing.assert_allclose(mode(ms.grad(ms.grad(function)))(x()).asnumpy(), [8, 4])


def test_what_a_rule_needs_may_be_overwritten(mode):
    def function(x):
        y = x * 2
        z = y * y
        y.add_(1.0)
        return z

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [8, 16])


@pytest.mark.parametrize("order", [1, 2])
def test_rules_read_what_was_there_before_a_write(mode, order):
    """Results, operands, views, several records of one tensor, and writes in a loop."""

    def of_own_view(x):  # a, ab
        y = x * 1.0
        y[1:] = y[0:1] * x[1:]
        return y

    def of_results(x):  # e^x twice, then overwritten
        y = ops.exp(x)
        z = y * y + y
        y[0] = 7.0
        return z * x + y

    def in_a_loop(x):
        y = x * x
        total = y * 0.0
        for i in range(3):
            total = total + y * y * x
            y.mul_(x)
            y[i % 2 : i % 2 + 1] = y[0:1] * y[1:2]
        return total

    def written(x):
        def as_values(x):
            y = [x[0:1] * x[0:1], x[1:2] * x[1:2]]
            total = 0.0
            for i in range(3):
                total = total + ops.concat([y[0] * y[0] * x[0:1], y[1] * y[1] * x[1:2]])
                y = [y[0] * x[0:1], y[1] * x[1:2]]
                y[i % 2] = y[0] * y[1]
            return total

        return as_values(x)

    pairs = [
        (of_own_view, lambda x: ops.concat([x[0:1], x[0:1] * x[1:]])),
        (of_results, lambda x: (ops.exp(x) * ops.exp(x) + ops.exp(x)) * x + ops.exp(x) * Tensor([0.0, 1.0])),
        (in_a_loop, written),
    ]
    for function, reference in pairs:
        for _ in range(order):
            function, reference = ms.grad(function), ms.grad(reference)
        np.testing.assert_allclose(
            mode(function)(x()).asnumpy(), reference(x()).asnumpy(), rtol=1e-5, err_msg=str(function)
        )


def test_an_update_within_no_grad_leaves_the_records_alone(mode):
    def function(x):
        y = x * 2
        z = y * y
        with ms.no_grad():
            y.add_(1.0)
        return z

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [8, 16])


def _element(x):
    x[0] = x[1] * x[1]
    return (x * x).sum()


def _whole(x):
    x.mul_(x)
    return (x * x).sum()


def _view(x):
    x[1:].mul_(x[0:1])
    return (x * x).sum()


@pytest.mark.parametrize(
    "function, expected",
    [(_element, [0, 36]), (_whole, [4, 32]), (_view, [10, 4])],
    ids=["one", "all", "view"],
)
def test_gradients_by_an_argument_that_is_written_are_by_what_was_passed(mode, function, expected):
    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), expected)


def test_a_rule_reads_a_parameter_as_it_was(mode):
    p = Parameter(Tensor(np.array([3.0, 4.0])), name="p")

    def function(x):
        y = x * p
        p.mul_(2.0)
        return y.sum()

    np.testing.assert_allclose(mode(ms.grad(function))(x()).asnumpy(), [3, 4])
    np.testing.assert_allclose(p.asnumpy(), [6, 8])
