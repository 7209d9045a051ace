"""Data-dependent sizes in both modes."""
import numpy as np
import pytest

import mycelia as ms
from mycelia.ir.operator import get


def rows(x):
    return get("NonZero")(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_nonzero_and_what_follows(compiled):
    def function(x):
        y = x * 2
        found = rows(y)
        return found + 1, y, rows(x - 1)

    function = ms.jit(function) if compiled else function
    for data in ([[1, 0, 2], [0, 0, 3]], [[0, 0, 0], [0, 0, 0]], [[1, 1, 1], [1, 1, 1]]):
        x = np.array(data, np.float32)
        found, y, others = function(ms.Tensor(x))
        np.testing.assert_array_equal(found.asnumpy(), np.argwhere(x) + 1)
        np.testing.assert_array_equal(y.asnumpy(), x * 2)
        np.testing.assert_array_equal(others.asnumpy(), np.argwhere(x - 1))
