"""The public interface against results recorded from MindSpore 2.10 on the CPU."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from tests.ops import mindspore_cases, network_cases
from tests.ops.mindspore_cases import expressions, flat


def _record(file: str) -> dict[str, list[np.ndarray]]:
    data = np.load(Path(__file__).parent / "data" / file)
    results: dict[str, dict[int, np.ndarray]] = {}
    for i, key in enumerate(data["keys"]):
        text, _, number = str(key).rpartition("#")
        results.setdefault(text, {})[int(number)] = data[f"a{i}"]
    return {text: [parts[i] for i in range(len(parts))] for text, parts in results.items()}


RECORD = {
    mindspore_cases: _record("mindspore_2_10.npz"), network_cases: _record("mindspore_2_10_networks.npz")
}
# MindSpore keeps float32 in its vector functions to about 1e-5, float16 to a unit in the last place.
TOLERANCE = {"float32": 2e-5, "float16": 2e-3, "float64": 1e-6}


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        pytest.param(cases, text, id=text)
        for cases, record in RECORD.items()
        for text in expressions(cases.EXPRESSIONS)
        if text in record
    ],
)
def test_same_as_mindspore(cases, text):
    found, expected = flat(eval(text, cases.names(ms))), RECORD[cases][text]
    assert len(found) == len(expected)
    for y, want in zip(found, expected, strict=True):
        assert (str(y.dtype), y.shape) == (str(want.dtype), want.shape) or want.dtype.kind == "U"
        if want.dtype.kind == "f":
            scale = max(1.0, float(np.abs(want).max(initial=0.0)))
            tolerance = TOLERANCE[str(want.dtype)]
            np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(y, want)


def test_most_calls_are_recorded():
    assert len(RECORD[mindspore_cases]) > 0.9 * len(expressions())
    assert len(RECORD[network_cases]) > 0.8 * len(expressions(network_cases.EXPRESSIONS))
