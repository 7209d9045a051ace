"""Inputs at the edge: NaN among what is ordered, no axis, no step, more bytes than memory has addresses."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_median_of_a_row_with_nan_is_nan(axis, keepdims):
    x = np.array([[1, np.nan, 3, 2], [5, 0, np.nan, np.nan], [7, 4, 6, 5]], np.float32)
    values, indices = ops.median(Tensor(x), axis, keepdims)
    middle = (x.shape[axis] - 1) // 2
    expected = np.take(np.sort(x, axis), [middle], axis)
    expected = np.where(np.isnan(x).any(axis, keepdims=True), np.nan, expected)
    if not keepdims:
        expected = expected.squeeze(axis)
    np.testing.assert_array_equal(values.asnumpy(), expected)
    at = indices.asnumpy() if keepdims else np.expand_dims(indices.asnumpy(), axis)
    found = np.take_along_axis(x, at, axis)
    np.testing.assert_array_equal(found if keepdims else found.squeeze(axis), expected)


@pytest.mark.parametrize(
    "layer, shape, says",
    [
        (nn.LayerNorm((4,)), (), r"LayerNorm: .*shape \(\)"),
        (nn.GroupNorm(1, 3), (), r"group_norm: input must be \[n, c, ...\].*shape \(\)"),
        (nn.LSTM(4, 2), (0, 2, 4), r"LSTM: the input must have one step at least.*\(0, 2, 4\)"),
        (nn.GRU(4, 2, batch_first=True), (2, 0, 4), r"GRU: the input must have one step at least"),
    ],
)
def test_a_layer_names_the_shape_that_it_cannot_take(layer, shape, says):
    with pytest.raises(ValueError, match=says):
        layer(Tensor(np.zeros(shape, np.float32)))


@pytest.mark.parametrize("shape", [(2**62, 8), (2**40,)])
def test_more_elements_than_memory_is_a_memory_error(shape):
    with pytest.raises(MemoryError):
        ops.zeros(shape, ms.float32)
