"""Gradients of operators against central differences, in float64, and gradients of gradients."""
from __future__ import annotations

import numpy as np
import pytest

from mycelia.ops import dispatch
from mycelia.tensor.tensor import Tensor
from mycelia.tools.operator_checks import (
    PLACES,
    REFERENCE,
    STEP,
    as_tuple,
    attrs_in_float64,
    check_gradient,
    has_gradient,
    in_float64,
    is_float,
    noise,
    pullback,
    random_cotangents,
    tensors,
)
from tests.ops.harness import cases


@pytest.mark.parametrize(("op", "sample"), cases(has_gradient))
def test_gradient_agrees_with_differences(op, sample):
    if not check_gradient(op, sample):
        pytest.skip("no float output")


# The derivative of these is constant between kinks.
_LINEAR = {"Sign", "Floor", "Ceil", "Rint", "Trunc", "StopGradient"}


@pytest.mark.parametrize(
    ("op", "sample"),
    cases(
        lambda op, sample: (
            has_gradient(op, sample)
            and op.name not in _LINEAR
            and 0 < sum(a.size for a in sample.inputs) < 300
        ),
        most=6,
    ),
)
def test_second_gradient_agrees_with_differences(op, sample):
    inputs, attrs = in_float64(sample), attrs_in_float64(sample)
    cotangents = random_cotangents(op, inputs, attrs)
    if all(c is None for c in cotangents):
        pytest.skip("no float output")
    moving = [
        i
        for i, x in enumerate(inputs)
        if is_float(x) and not (op.name in PLACES and i < 2)
    ]
    weights = [noise(x, 11 + i) for i, x in enumerate(inputs)]
    fixed_cotangents = tensors(cotangents)

    def first(*xs):
        """<weights, gradient>, a scalar function of the inputs."""
        grads = pullback(lambda *ys: op(*ys, **attrs), xs, fixed_cotangents)
        total = Tensor(np.array(0.0))
        for i in moving:
            if grads[i] is not None:
                total = total + (grads[i] * Tensor(weights[i])).sum()
        return total

    with dispatch.interpreting(REFERENCE):
        found = pullback(first, tensors(inputs), [Tensor(np.array(1.0))])
        for i in moving:
            direction = noise(inputs[i], 5 + i)
            difference = 0.0
            for sign in (1, -1):
                moved = [x + sign * STEP * direction if j == i else x for j, x in enumerate(inputs)]
                difference += sign * float(as_tuple(first(*tensors(moved)))[0].asnumpy())
            expected = difference / (2 * STEP)
            got = 0.0 if found[i] is None else float((found[i].asnumpy() * direction).sum())
            np.testing.assert_allclose(
                got, expected, rtol=2e-5, atol=2e-6 * max(1.0, np.abs(direction).sum()), err_msg=f"input {i}"
            )
