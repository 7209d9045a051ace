"""A compiled function that writes into its arguments, when views and shared memory are involved, does what
the same lines do one by one."""
import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor


def table(*shape):
    return Tensor(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


WEIGHT = Parameter(table(4), name="weight")
MIDDLE = WEIGHT[1:3]
MATRIX = table(3, 4)
FLIPPED = MATRIX.T


def increment(x):
    x.add_(1)
    return x.sum()


def increment_and_add(x, y):
    x.add_(1)
    return x + y


def exchange(x, y):
    y[0] = x[1]
    y[1] = x[0] * 2
    return x * 1, y * 1


def write_captured(x):
    WEIGHT.add_(1.0)
    return x * 1, MIDDLE * 1, WEIGHT * 1


def write_captured_view(x):
    MIDDLE.mul_(2.0)
    return x * 1, MIDDLE * 1, WEIGHT * 1


def write_view_of_captured_view(x):
    FLIPPED[0].mul_(x)
    return MATRIX * 1, FLIPPED * 1, FLIPPED[0] * 1


CASES = [
    (increment, lambda b: (b.T,)),
    (increment, lambda b: (b[0:2],)),
    (increment, lambda b: (b[::2],)),
    (increment, lambda b: (b[::-1],)),
    (increment, lambda b: (b.T.reshape(-1)[:3],)),
    (increment_and_add, lambda b: (b * 1, b * 1)),
    (increment_and_add, lambda b: (b[0:2], b[1:3])),
    (increment_and_add, lambda b: (b, b[1:2])),
    (increment_and_add, lambda b: (b[1:2], b)),
    (increment_and_add, lambda b: (b[1:2], b[1:2])),
    (increment_and_add, lambda b: (b, b.T.T)),
    (increment_and_add, lambda b: (b[:, 0], b[0, :3])),
    (exchange, lambda b: (b, b)),
    (exchange, lambda b: (b[:2], b[1:])),
    (exchange, lambda b: (b[::-1], b)),
    (write_captured, lambda b: (WEIGHT[0:2],)),
    (write_captured, lambda b: (b[0],)),
    (write_captured, lambda b: (WEIGHT,)),
    (write_captured_view, lambda b: (WEIGHT[0:2],)),
    (write_captured_view, lambda b: (b[0],)),
    (write_captured_view, lambda b: (WEIGHT,)),
    (write_view_of_captured_view, lambda b: (2.0,)),
    (write_view_of_captured_view, lambda b: (FLIPPED[0],)),
]


def outcome(function, arguments):
    """Results, and every memory that may have been written."""
    WEIGHT.set_data(table(4))
    MATRIX[...] = table(3, 4)
    base = table(3, 4)
    result = function(*arguments(base))
    results = result if isinstance(result, tuple) else (result,)
    return [np.array(t.asnumpy()) for t in (*results, base, WEIGHT, MATRIX)]


COMPILED = {function: ms.jit(function) for function, _ in CASES}


@pytest.mark.parametrize("index", range(len(CASES)))
def test_one_compiled_function_with_all_kinds_of_views(index):
    """The compiled function is the same for all cases: what one call compiled must not serve another."""
    function, arguments = CASES[index]
    expected = outcome(function, arguments)
    for _ in range(2):
        for got, wanted in zip(outcome(COMPILED[function], arguments), expected):
            np.testing.assert_array_equal(got, wanted)


def test_bfloat16_from_lists():
    assert Tensor([1, 2], ms.bfloat16).tolist() == [1, 2]
    with pytest.raises(TypeError, match="numbers"):
        Tensor(["a"], ms.bfloat16)
