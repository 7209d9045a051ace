"""Guards on containers that a function reads from outside."""
import numpy as np

import mycelia as ms

OPTIONS = {"scale": 2.0, "shape": (2, 3)}
FACTORS = [1, 2.0]


def test_a_global_dict_or_list_that_stays_is_compiled_once():
    @ms.jit
    def function(x):
        return x * OPTIONS["scale"] + FACTORS[1]

    x = ms.Tensor(np.ones((2, 3), np.float32))
    for _ in range(3):
        np.testing.assert_array_equal(function(x).asnumpy(), np.full((2, 3), 4, np.float32))
    assert [len(v) for v in function.specialisations.values()] == [1, 1]
    OPTIONS["scale"] = 3.0
    try:
        np.testing.assert_array_equal(function(x).asnumpy(), np.full((2, 3), 5, np.float32))
    finally:
        OPTIONS["scale"] = 2.0
