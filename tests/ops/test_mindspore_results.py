"""The public interface against results recorded from MindSpore 2.10 on the CPU."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from tests.ops.mindspore_cases import expressions, refused
from tests.ops.record_mindspore import DATA, RECORDS, compare, load

RECORD = {which: load(DATA / file) for which, (_, file) in RECORDS.items()}


def _differs(cases):
    return getattr(cases, "DIFFERS", {})


@pytest.mark.parametrize(
    ("cases", "which", "text"),
    [
        pytest.param(cases, which, text, id=text)
        for which, (cases, _) in RECORDS.items()
        for text in expressions(cases.EXPRESSIONS)
        if text in RECORD[which][0] and text not in _differs(cases)
    ],
)
def test_same_as_mindspore(cases, which, text):
    compare(text, cases.names(ms), RECORD[which][0][text])


@pytest.mark.parametrize(
    ("cases", "which", "text"),
    [
        pytest.param(cases, which, text, id=text)
        for which, (cases, _) in RECORDS.items()
        for text in _differs(cases)
    ],
)
def test_what_is_said_to_differ_does(cases, which, text):
    with pytest.raises(AssertionError):
        compare(text, cases.names(ms), RECORD[which][0][text])


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        pytest.param(RECORDS[which][0], text, id=text)
        for which in ("methods", "programs")
        for text in RECORD[which][1]
    ],
)
def test_what_mindspore_has_no_kernel_for_works(cases, text):
    assert refused(lambda: eval(text, cases.names(ms))) in ("no error", *REFUSED.get(text, ()))


# Both refuse.
REFUSED: dict[str, tuple[str, ...]] = {}


def test_most_calls_are_recorded():
    for which, (cases, _) in RECORDS.items():
        assert len(RECORD[which][0]) > 0.75 * len(expressions(cases.EXPRESSIONS)), which


def test_compare_tells_values_dtypes_and_shapes():
    one = [np.array([1.0, 2.0], np.float32)]
    compare("T([1.0, 2.0])", {"T": ms.Tensor}, one)
    for text in ("T([1.0, 2.1])", "T([1, 2])", "T([[1.0, 2.0]])", "(T([1.0, 2.0]), 1)"):
        with pytest.raises(AssertionError):
            compare(text, {"T": ms.Tensor}, one)
