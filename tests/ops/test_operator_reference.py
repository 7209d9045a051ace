"""Operators on their own: type rules, references and scalar bodies agree."""
from __future__ import annotations

import numpy as np
import pytest

from mycelia.ir.operator import REGISTRY
from tests.ops.harness import WITHOUT_BATCH, assert_close, by_reference, cases
from tests.ops.numpy_scalars import NumpyScalars


@pytest.mark.parametrize(("op", "sample"), cases())
def test_infer_agrees_with_reference(op, sample):
    by_reference(op, sample.inputs, sample.attrs)  # the engine compares types


@pytest.mark.parametrize(("op", "sample"), cases(lambda op, sample: op.body is not None))
def test_body_agrees_with_reference(op, sample):
    expected, = by_reference(op, sample.inputs, sample.attrs)
    m = NumpyScalars()
    with np.errstate(all="ignore"):
        found = m.result(op.body(m, *map(m.scalar, sample.inputs), **sample.attrs), expected.dtype)
    assert_close(np.broadcast_to(found, expected.shape), expected, 4.0)


def test_every_operator_is_complete():
    """A definition without samples or reference would never be tested."""
    for op in REGISTRY.values():
        module = op.definition.__module__ if op.definition is not None else ""
        if not module.startswith("mycelia.ops.") or module.endswith(("conv_layouts", "internal")):
            continue
        assert op.reference is not None, op.name
        assert op.samples is not None or op.name in ("Print",), op.name
        assert (op.definition.__doc__ or "").strip(), op.name
        assert op.vjp is not None or op.name in ("Cond", "While", "PyCall", "BatchNormTrainGrad"), op.name
        assert (
            op.pointwise or op.batch is not None or op.effects or not op.samples or op.name in WITHOUT_BATCH
        ), op.name
