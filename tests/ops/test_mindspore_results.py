"""The public interface against results recorded from MindSpore 2.10 on the CPU."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from tests.ops.mindspore_cases import expressions, flat, names


def _record():
    data = np.load(Path(__file__).parent / "data" / "mindspore_2_10.npz")
    results = {}
    for i, key in enumerate(data["keys"]):
        text, _, number = str(key).rpartition("#")
        results.setdefault(text, {})[int(number)] = data[f"a{i}"]
    return {text: [parts[i] for i in range(len(parts))] for text, parts in results.items()}


RECORD = _record()
# MindSpore keeps float32 in its vector functions to about 1e-5, float16 to a unit in the last place.
TOLERANCE = {"float32": 2e-5, "float16": 2e-3, "float64": 1e-6}


@pytest.mark.parametrize("text", [t for t in expressions() if t in RECORD])
def test_same_as_mindspore(text):
    found, expected = flat(eval(text, names(ms))), RECORD[text]
    assert len(found) == len(expected)
    for y, want in zip(found, expected, strict=True):
        assert (str(y.dtype), y.shape) == (str(want.dtype), want.shape) or want.dtype.kind == "U"
        if want.dtype.kind == "f":
            np.testing.assert_allclose(
                y, want, rtol=TOLERANCE[str(want.dtype)], atol=TOLERANCE[str(want.dtype)]
            )
        else:
            np.testing.assert_array_equal(y, want)


def test_most_calls_are_recorded():
    assert len(RECORD) > 0.9 * len(expressions())
