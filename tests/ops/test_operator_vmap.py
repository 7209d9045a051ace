"""Batch rules against a loop over the items."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from mycelia.autodiff.batching import Batch, BatchedTensor, move_axis
from mycelia.ops import dispatch
from mycelia.ops.samples import values
from mycelia.tensor.tensor import Tensor
from tests.ops.harness import REFERENCE, as_tuple, assert_close, by_reference, cases
from tests.ops.test_operator_reference import WITHOUT_BATCH

SIZE = 3


def _mappable(op, sample):
    return (
        bool(sample.inputs)
        and op.name not in WITHOUT_BATCH
        and not op.name.startswith("Random")
        and not op.effects
    )


DOMAIN_OF_MATRICES = {"Cholesky"}  # whose domain a permutation of elements leaves


def _items(array, seed, scaled):
    """Different items like the array, within its domain: permuted copies, or scaled ones."""
    if scaled:
        return np.stack([array * (i + 1) for i in range(SIZE)])
    rng = np.random.default_rng(seed)
    return np.stack(
        [array if i == 0 else rng.permutation(array.ravel()).reshape(array.shape) for i in range(SIZE)]
    )


@pytest.mark.parametrize(("op", "sample"), cases(_mappable, most=12))
def test_batch_rule_agrees_with_a_loop(op, sample):
    count = len(sample.inputs)
    patterns = [p for p in itertools.product((False, True), repeat=min(count, 3)) if any(p)]
    for pattern in patterns:
        mapped = [pattern[min(i, 2)] for i in range(count)]
        batches = [
            _items(np.array(a), i, op.name in DOMAIN_OF_MATRICES) if on else np.array(a)
            for i, (a, on) in enumerate(zip(sample.inputs, mapped, strict=True))
        ]
        expected = [
            by_reference(op, [b[k] if on else b for b, on in zip(batches, mapped, strict=True)], sample.attrs)
            for k in range(SIZE)
        ]
        with dispatch.interpreting(REFERENCE):
            level = Batch(SIZE)
            tensors = []
            for i, (b, on) in enumerate(zip(batches, mapped, strict=True)):
                axis = i % b.ndim if on else None  # also an axis that is not the first
                tensors.append(
                    BatchedTensor(Tensor(np.ascontiguousarray(np.moveaxis(b, 0, axis))), axis, level)
                    if on
                    else Tensor(b)
                )
            with dispatch.interpreting(level):
                outputs = as_tuple(op(*tensors, **sample.attrs))
            found = [
                move_axis(y.inner, y.axis, 0).asnumpy()
                if isinstance(y, BatchedTensor)
                else np.stack([y.asnumpy()] * SIZE)
                for y in outputs
            ]
        for k, y in enumerate(found):
            assert_close(
                y, np.stack([e[k] for e in expected]), 8.0 * sample.tolerance, f"output {k}, mapped {mapped}"
            )


def test_values_are_reproducible():
    assert np.array_equal(values((2, 3)), values((2, 3)))
