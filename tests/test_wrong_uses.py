"""Errors are for who reads them: the table in ``wrong_uses.py`` against what the code says."""

from __future__ import annotations

import linecache
import traceback

import pytest

import mycelia
from mycelia import compat
from tests.wrong_uses import CLASSES, PRELUDE

INTERNAL = ("NoneType' object", "object has no attribute '_", "substring not found", "index out of range")


def failure(code, folder):
    """The error that a program ends with, run in PyNative mode."""
    compat.install()
    code = code.replace("{folder}", str(folder))
    scope = {"__name__": "__main__"}
    exec(PRELUDE, scope)
    file = str(folder / "case.py")
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    mycelia.set_context(mode=mycelia.PYNATIVE_MODE)
    mycelia.set_seed(0)
    try:
        exec(compile(code, file, "exec"), scope)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        pytest.param(
            *case, id=f"{name}-{i}", marks=[pytest.mark.synchronous] if name == "at the call" else []
        )
        for name, rows in CLASSES.items()
        for i, case in enumerate(rows)
    ],
)
def test_the_message_helps(code, kind, words, tmp_path):
    error = failure(code, tmp_path)
    assert error is not None, "nothing was raised"
    message = str(error)
    assert type(error).__name__ == kind, traceback.format_exception(error)
    for word in words:
        assert word in message, (word, message)
    assert not any(piece in message for piece in INTERNAL)
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert str(tmp_path / "case.py") in files, "the user's line is not in the traceback"


def test_there_are_enough():
    assert sum(map(len, CLASSES.values())) >= 80


@pytest.mark.synchronous
def test_the_line_is_that_of_the_call_and_not_of_the_first(tmp_path):
    wrong = "ops.cross_entropy(f32(2, 5), Tensor([0, 7])).asnumpy()"
    for number in (1, 3):
        error = failure("\n" * (number - 1) + wrong, tmp_path)
        assert str(error).endswith(f"case.py:{number}"), str(error)
