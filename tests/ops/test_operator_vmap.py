"""Batch rules against a loop over the items."""
from __future__ import annotations

import numpy as np
import pytest

from mycelia.ops.samples import values
from mycelia.tools.operator_checks import check_batch, mappable
from tests.ops.harness import cases


@pytest.mark.parametrize(("op", "sample"), cases(mappable, most=12))
def test_batch_rule_agrees_with_a_loop(op, sample):
    check_batch(op, sample)


def test_values_are_reproducible():
    assert np.array_equal(values((2, 3)), values((2, 3)))
