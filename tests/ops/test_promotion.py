"""Implicit conversion of operands, as MindSpore 2.10 does it."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia.ir import dtypes
from mycelia.ops.promotion import PROMOTED, resolve_dtype


def ones(dtype):
    return Tensor(np.ones((2,)), dtype)


def test_the_table_is_symmetric_and_whole():
    assert len(PROMOTED) == 13 * 13
    for (a, b), result in PROMOTED.items():
        assert PROMOTED[b, a] is result
        assert PROMOTED[a, a] is a


# What `ones(a) + ones(b)` gives in MindSpore 2.10 on the CPU, row by row.
MINDSPORE = {
    "int8": "int8 int8 int16 int32 int64 int16 - - - float16 float32 float64 bfloat16",
    "uint8": "uint8 int16 int16 int32 int64 uint8 - - - float16 float32 float64 bfloat16",
    "uint32": "uint32 - - - - - - uint32 - - - - -",
    "float16": "float16 float16 float16 float16 float16 float16 - - - float16 float32 float64 float32",
    "bfloat16": 6 * "bfloat16 " + "- - - float32 float32 float64 bfloat16",
}


@pytest.mark.parametrize("row", MINDSPORE)
def test_pairs_of_tensors(row):
    for other, expected in zip(dtypes.ALL, MINDSPORE[row].split(), strict=True):
        x, y = ones(dtypes.BY_NAME[row]), ones(other)
        if expected == "-":
            with pytest.raises(TypeError, match="must convert both operands"):
                x + y
        else:
            assert (x + y).dtype.name == expected
            assert (y * x).dtype.name == expected
            assert (x < y).dtype is ms.bool_


@pytest.mark.parametrize(
    ("dtype", "with_bool", "with_int", "with_float"),
    [
        (ms.bool_, "bool", "int64", "float32"),
        (ms.int8, "int8", "int8", "float32"),
        (ms.int32, "int32", "int32", "float32"),
        (ms.uint8, "uint8", "uint8", "float32"),
        (ms.float16, "float16", "float16", "float16"),
        (ms.bfloat16,) + ("bfloat16",) * 3,
        (ms.float64,) + ("float64",) * 3,
    ],
)
def test_tensors_with_numbers(dtype, with_bool, with_int, with_float):
    x = ones(dtype)
    for number, expected in ((True, with_bool), (2, with_int), (2.5, with_float)):
        assert (x + number).dtype.name == (number + x).dtype.name == expected
        assert (x == number).dtype is ms.bool_


def test_division_of_integers_is_float32():
    for dtype in (ms.bool_, ms.int8, ms.int32, ms.int64, ms.uint8):
        assert (ones(dtype) / ones(dtype)).dtype is ms.float32
        assert (ones(dtype) / 2).dtype is ms.float32
        assert (2 / ones(dtype)).dtype is ms.float32
    assert (ones(ms.float16) / 2).dtype is ms.float16


def test_numbers_and_lists_are_operands_but_arrays_are_not():
    x = Tensor([1.0, 2.0])
    np.testing.assert_array_equal((x + [1, 2]).asnumpy(), [2, 4])
    with pytest.raises(TypeError, match=r"ndarray.*Wrap it in mindspore\.Tensor"):
        ops.add(x, np.ones(2))
    with pytest.raises(TypeError, match="Received: other=None"):
        x * None


def test_comparison_with_what_is_no_tensor():
    x = Tensor([1.0])
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        (ms.float16, "float16"),
        ("float32", "float32"),
        ("bool_", "bool"),
        (np.int32, "int32"),
        (np.dtype("u1"), "uint8"),
        (float, "float32"),
        (int, "int64"),
        (bool, "bool"),
    ],
)
def test_spellings_of_dtypes(spelling, expected):
    assert resolve_dtype("cast", spelling).name == expected


def test_an_unknown_dtype_is_refused():
    with pytest.raises(TypeError, match=r"cast: dtype must be an element type.*'flaot32'"):
        ops.cast(Tensor([1.0]), "flaot32")
