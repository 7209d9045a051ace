"""Assignment, printing, stopped gradients, in both modes."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, ops


@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_assignment(run):
    p = Parameter(Tensor([1.0, 2.0]), name="p")

    def step(x):
        ops.assign_add(p, x)
        before = p * 1
        ops.assign(p, p * 2)
        ops.assign_sub(p, Tensor([1.0, 1.0]))
        return before

    before = run(step)(Tensor([1.0, 1.0]))
    np.testing.assert_array_equal(before.asnumpy(), [2, 3])
    np.testing.assert_array_equal(p.asnumpy(), [3, 5])


def test_assignment_converts_numbers_and_dtypes():
    p = Parameter(Tensor([1.0, 2.0]))
    assert ops.assign(p, 3) is p
    np.testing.assert_array_equal(p.asnumpy(), [3, 3])
    ops.Assign()(p, Tensor([4, 5], ms.int32))
    assert p.dtype is ms.float32 and p.tolist() == [4, 5]
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        ops.assign(p, Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="variable must be a Tensor"):
        ops.assign(3, 4)


def test_methods_that_write():
    x = Tensor([1.0, 2.0])
    view = x[1:]
    assert x.add_(1) is x
    x.mul_(2)
    assert view.tolist() == [6.0]
    view.zero_()
    assert x.tolist() == [4.0, 0.0]
    x.fill_(7)
    x.copy_(Tensor([1, 2]))
    assert x.tolist() == [1.0, 2.0] and x.dtype is ms.float32


def test_stop_gradient():
    g = ms.grad(lambda t: (t * ops.stop_gradient(t)).sum())(Tensor([2.0, 3.0]))
    assert g.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("run", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_print(run, capfd):
    def show(x):
        ops.print_("x = {", x, 3)
        return x + 1
    run(show)(Tensor([1.5, 2.5])).asnumpy()
    out = capfd.readouterr().out
    assert out == "x = {\n[1.5 2.5]\n3\n"


def test_depend_gives_its_value():
    x = Tensor([1.0])
    assert ops.depend(x, ops.print_) is x
