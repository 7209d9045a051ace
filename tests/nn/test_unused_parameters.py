"""Parameters that a loss does not depend on keep their values, whatever an optimizer does besides."""
import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda ps: nn.Momentum(ps, 0.1, 0.9, weight_decay=0.1),
        lambda ps: nn.SGD(ps, 0.1, weight_decay=0.1),
        lambda ps: nn.AdamWeightDecay(ps, 0.1, weight_decay=0.1),
    ],
)
def test_they_get_no_update(optimizer, compiled):
    used, unused = Parameter(Tensor([1.0, 2.0]), name="used"), Parameter(Tensor([1.0, 2.0]), name="unused")
    update = optimizer([used, unused])
    gradient = ms.value_and_grad(lambda x, both: (x * used + (x * unused if both else 0)).sum(), None, [used,
    unused])

    def step(x, both):
        loss, grads = gradient(x, both)
        update(grads)
        return loss

    if compiled:
        step = ms.jit(step)
    x = Tensor([1.0, 1.0])
    step(x, False)
    np.testing.assert_array_equal(unused.asnumpy(), [1, 2])
    assert (used.asnumpy() != [1, 2]).all()
    step(x, True)
    assert (unused.asnumpy() != [1, 2]).all()
    before = unused.asnumpy().copy()
    step(x, False)
    np.testing.assert_array_equal(unused.asnumpy(), before)
