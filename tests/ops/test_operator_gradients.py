"""Gradients of operators against central differences, in float64, and gradients of gradients."""
from __future__ import annotations

import numpy as np
import pytest

from mycelia.ops import dispatch
from mycelia.tensor.tensor import Tensor
from tests.ops.harness import REFERENCE, as_tuple, by_reference, cases, in_float64, is_float, noise, pullback

STEP = 1e-6


def _smooth(op, sample):
    """Has float inputs and outputs; half precision would only repeat what float64 says."""
    return (
        sample.gradient
        and op.vjp is not None
        and any(a.dtype in (np.float32, np.float64) for a in sample.inputs)
    )


def _along(op, inputs, attrs, directions, cotangents):
    """The derivative of <cotangents, op(inputs)> along directions, by central differences."""
    total = 0.0
    for sign in (1, -1):
        moved = [x if d is None else x + sign * STEP * d for x, d in zip(inputs, directions, strict=True)]
        outputs = by_reference(op, moved, attrs)
        total += sign * sum(
            float((c * y).sum()) for c, y in zip(cotangents, outputs, strict=True) if c is not None
        )
    return total / (2 * STEP)


def _cotangents(op, inputs, attrs):
    outputs = by_reference(op, inputs, attrs)
    return [noise(y, 7 + i) if is_float(y) else None for i, y in enumerate(outputs)]


def _tensors(arrays):
    return [None if a is None else Tensor(np.array(a)) for a in arrays]


@pytest.mark.parametrize(("op", "sample"), cases(_smooth))
def test_gradient_agrees_with_differences(op, sample):
    inputs, attrs = in_float64(sample), _attrs(sample)
    cotangents = _cotangents(op, inputs, attrs)
    if all(c is None for c in cotangents):
        pytest.skip("no float output")
    with dispatch.interpreting(REFERENCE):
        found = pullback(lambda *xs: op(*xs, **attrs), _tensors(inputs), _tensors(cotangents))
    for i, (x, g) in enumerate(zip(inputs, found, strict=True)):
        if not is_float(x) or op.name in ("MaxPoolGrad", "MaxPoolGradGrad") and i < 2:
            continue
        direction = noise(x, 3 + i)
        directions = [direction if j == i else None for j in range(len(inputs))]
        expected = _along(op, inputs, attrs, directions, cotangents)
        if g is None:
            assert abs(expected) < 1e-6, f"input {i} has a gradient, but the rule gives none"
            continue
        assert g.shape == x.shape
        np.testing.assert_allclose(
            float((g.asnumpy() * direction).sum()),
            expected,
            rtol=2e-6,
            atol=2e-7 * max(1.0, np.abs(direction).sum()),
        )


def _attrs(sample):
    """A cast's gradient is tested between float64 and itself."""
    from mycelia.ir import dtypes
    attrs = dict(sample.attrs)
    if isinstance(attrs.get("dtype"), dtypes.DType) and attrs["dtype"].is_float:
        attrs["dtype"] = dtypes.float64
    return attrs


# The derivative of these is constant between kinks.
_LINEAR = {"Sign", "Floor", "Ceil", "Rint", "Trunc", "StopGradient"}


@pytest.mark.parametrize(
    ("op", "sample"),
    cases(
        lambda op, sample: (
            _smooth(op, sample) and op.name not in _LINEAR and 0 < sum(a.size for a in sample.inputs) < 300
        ),
        most=6,
    ),
)
def test_second_gradient_agrees_with_differences(op, sample):
    inputs, attrs = in_float64(sample), _attrs(sample)
    cotangents = _cotangents(op, inputs, attrs)
    if all(c is None for c in cotangents):
        pytest.skip("no float output")
    moving = [
        i
        for i, x in enumerate(inputs)
        if is_float(x) and not (op.name in ("MaxPoolGrad", "MaxPoolGradGrad") and i < 2)
    ]
    weights = [noise(x, 11 + i) for i, x in enumerate(inputs)]
    fixed_cotangents = _tensors(cotangents)

    def first(*xs):
        """<weights, gradient>, a scalar function of the inputs."""
        grads = pullback(lambda *ys: op(*ys, **attrs), xs, fixed_cotangents)
        total = Tensor(np.array(0.0))
        for i in moving:
            if grads[i] is not None:
                total = total + (grads[i] * Tensor(weights[i])).sum()
        return total

    with dispatch.interpreting(REFERENCE):
        found = pullback(first, _tensors(inputs), [Tensor(np.array(1.0))])
        for i in moving:
            direction = noise(inputs[i], 5 + i)
            difference = 0.0
            for sign in (1, -1):
                moved = [x + sign * STEP * direction if j == i else x for j, x in enumerate(inputs)]
                difference += sign * float(as_tuple(first(*_tensors(moved)))[0].asnumpy())
            expected = difference / (2 * STEP)
            got = 0.0 if found[i] is None else float((found[i].asnumpy() * direction).sum())
            np.testing.assert_allclose(
                got, expected, rtol=2e-5, atol=2e-6 * max(1.0, np.abs(direction).sum()), err_msg=f"input {i}"
            )
