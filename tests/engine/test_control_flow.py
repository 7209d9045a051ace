"""Control flow on traced tensors: the compiled function does what Python does, gradients too."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops


def branch(x):
    if x.sum() > 3:
        y = x * 2
    else:
        y = x - 1
    return y


def early_return(x):
    if x.sum() > 100:
        return x * 2
    z = x + 1
    if z.mean() > 0 and not (x.sum() < 0):
        return z * z
    return z - 100


def loop(x):
    count = 0
    while x.sum() < 100:
        x = x * 1.5 + 0.5
        count += 1
    return x * count


def nested(x):
    total = x * 0
    while total.sum() < 40:
        if total.max() > 5:
            total = total + x
        else:
            total = total * 1.5 + 1
    return total


def write_in_branch(x):
    y = x * 1
    if x.sum() > 0:
        y[0] = 7.0
    return y * y


def write_in_loop(x):
    y = x * 1
    while y.sum() < 50:
        y[0] = y[0] + y.mean()
    return y


def expression(x):
    return (x * 2 if x.max() > 3 else x).sum() + (x.min() if x.min() < 0 or x.max() < 0 else x.max())


def helper_inside(x):
    return branch(x) + branch(x - 10)


def counted(x):
    total = x * 0
    for i in range(3):
        if i == 1:
            continue
        total = total + x * i
    return total


FUNCTIONS = [
    branch,
    early_return,
    loop,
    nested,
    write_in_branch,
    write_in_loop,
    expression,
    helper_inside,
    counted,
]
INPUTS = {"positive": np.arange(6.0).reshape(2, 3), "negative": -np.arange(1.0, 7.0).reshape(2, 3) / 7}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_same_as_python(function, name):
    if name == "negative" and function in (loop, write_in_loop):
        pytest.skip("would not end")
    x = Tensor(INPUTS[name])
    np.testing.assert_allclose(ms.jit(function)(x).asnumpy(), function(x).asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(function):
    data = INPUTS["positive"] + 0.1

    def loss(x):
        y = function(x)
        return (y * y).sum()

    eager = ms.grad(loss)(Tensor(data)).asnumpy()
    compiled = ms.jit(ms.grad(loss))(Tensor(data)).asnumpy()
    step = 1e-6
    expected = np.zeros_like(data)
    for index in np.ndindex(data.shape):
        shift = np.zeros_like(data)
        shift[index] = step
        high, low = (float(loss(Tensor(data + s)).asnumpy()) for s in (shift, -shift))
        expected[index] = (high - low) / (2 * step)
    np.testing.assert_allclose(eager, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(compiled, eager, rtol=1e-9, atol=1e-9)


def test_a_range_whose_bound_is_a_tensor():
    @ms.jit
    def total(x, n):
        result = ops.zeros_like(x)
        for i in range(n):
            result = result + x * i
        return result

    x = Tensor(np.ones((2, 2)))
    for n in (0, 1, 4):
        np.testing.assert_array_equal(total(x, Tensor(n)).asnumpy(), sum(range(n)) * np.ones((2, 2)))
    assert len([k for k in total.specialisations if k[0] == "family"]) == 1


def test_a_cells_construct_is_rewritten():
    class Net(nn.Cell):
        def construct(self, x):
            if x.sum() > 3:
                return x * 2
            return x

    compiled = ms.jit(Net())
    for data in (np.ones((2, 3)), np.zeros((2, 3))):
        np.testing.assert_array_equal(compiled(Tensor(data)).asnumpy(), data * (2 if data.sum() > 3 else 1))


def test_branches_of_different_shapes_are_shown_side_by_side():
    def function(x):
        if x.sum() > 0:
            y = x
        else:
            y = x.sum()
        return y

    with pytest.raises(
        ValueError,
        match=r"(?s)both branches must give equal shapes.*y .*float64\[2, 3\].*float64\[\].*differ",
    ):
        ms.jit(function)(Tensor(np.ones((2, 3))))


def test_branches_of_different_dtypes():
    def function(x):
        if x.sum() > 0:
            y = x
        else:
            y = x.astype(ms.float32)
        return y

    with pytest.raises(TypeError, match=r"float64\[2, 3\].*float32\[2, 3\]"):
        ms.jit(function)(Tensor(np.ones((2, 3))))


def test_a_loop_keeps_its_types():
    def function(x):
        while x.sum() < 10:
            x = ops.concat((x, x))
        return x

    with pytest.raises(ValueError, match=r"keep its type.*float64\[2, 3\].*float64\[4, 3\]"):
        ms.jit(function)(Tensor(np.ones((2, 3))))


def test_a_name_that_one_branch_leaves_undefined():
    def function(x):
        if x.sum() > 0:
            y = x
        else:
            z = x
        return y, z

    with pytest.raises(UnboundLocalError, match="'[yz]'"):
        y, _ = ms.jit(function)(Tensor(np.ones(2)))
        y + 1


def test_reading_a_traced_tensor_says_why_not():
    def function(x):
        return float(x.sum().asnumpy())

    with pytest.raises(
        RuntimeError, match=r"(?s)asnumpy\(\) of a traced tensor.*test_control_flow.py:\d+.*outside"
    ):
        ms.jit(function)(Tensor(np.ones(2)))


# -- writes in branches and loops, seen through every name of the memory
def of_an_argument_by_index(x, n):
    i = Tensor(0)
    while i < n:
        x[i] = x[i] * 2 + i
        i = i + 1
    return x * 1


def before_and_after_in_a_branch(x, n):
    before = after = x.sum()
    if before > 0:
        before = x.sum()
        x[0] = 10.0
        after = x.sum()
    return before * 1000 + after * n


def of_a_view_in_a_branch(x, n):
    y = x * n
    v = y[1:]
    total = y.sum()
    if total > 0:
        v.mul_(2.0)
        total = y.sum()
    return total + v.sum() * 100


def of_a_view_in_a_loop(x, n):
    y = x * 1
    v = y[1:]
    i = Tensor(0)
    while i < n:
        y[0:1] = y[0:1] + v[0:1]
        v.mul_(2.0)
        i = i + 1
    return y * 1 + v.sum() * 100


@pytest.mark.parametrize(
    "function",
    [of_an_argument_by_index, before_and_after_in_a_branch, of_a_view_in_a_branch, of_a_view_in_a_loop],
)
def test_writes_in_branches_and_loops_are_seen_by_later_reads_there(function):
    results, arguments = [], []
    for f in (function, ms.jit(function)):
        x = Tensor(np.array([1.0, 2.0, 3.0]))
        results.append(f(x, Tensor(2)).asnumpy())
        arguments.append(x.asnumpy())
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(arguments[1], arguments[0])
    if function is of_an_argument_by_index:
        np.testing.assert_array_equal(results[1], [2, 5, 3])


def _element_in_a_branch(x):
    if x.sum() > 0:
        x[0] = x[1] * x[1]
    return (x * x).sum()


def _elements_in_a_loop(x):
    i = Tensor(0)
    while i < 2:
        x[i] = x[i] * x[2]
        i = i + 1
    return (x * x).sum()


@pytest.mark.parametrize(
    "function, expected", [(_element_in_a_branch, [0, 36, 6]), (_elements_in_a_loop, [18, 36, 36])]
)
def test_gradients_by_an_argument_written_in_branches_and_loops(function, expected):
    for f in (ms.grad(function), ms.jit(ms.grad(function))):
        np.testing.assert_allclose(f(Tensor(np.array([1.0, 2.0, 3.0]))).asnumpy(), expected)


def test_a_tensor_that_left_its_trace_is_refused_by_another():
    kept = []

    def keeper(x):
        kept.append(x + 1)
        return x

    ms.jit(keeper)(Tensor([1.0]))
    with pytest.raises(RuntimeError, match="no longer being traced"):
        ms.jit(lambda x: x + kept[0])(Tensor([1.0]))
