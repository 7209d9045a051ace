"""Element types by MindSpore's names: ``from mindspore import dtype as mstype``."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_numpy_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

Type = DType
byte, short, intc, long, int_, intp = int8, int16, int32, int64, int64, int64
ubyte, ushort, uintc, uint, uintp = uint8, uint16, uint32, uint64, uint64
half, single, double, float_ = float16, float32, float64, float64
cfloat, cdouble = complex64, complex128

int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
signed_type = (
    int8,
    byte,
    int16,
    short,
    int32,
    intc,
    int64,
    intp,
    float16,
    half,
    float32,
    single,
    float64,
    double,
    bfloat16,
)
float_type = dtypes.FLOATS
number_type = (*int_type, *uint_type, *float_type)
all_types = (bool_, *number_type)

_PYTHON: dict[type, DType] = {bool: bool_, int: int64, float: float64}


def dtype_to_nptype(type_: DType) -> Any:
    """The NumPy scalar type of an element type.

    Example:
        >>> dtype_to_nptype(int8)
        <class 'numpy.int8'>
    """
    _require(type_, "dtype_to_nptype")
    return type_.numpy.type


def dtype_to_pytype(type_: DType) -> type:
    """bool, int or float."""
    _require(type_, "dtype_to_pytype")
    return bool if type_ is bool_ else int if type_.is_integer else float


def pytype_to_dtype(obj: Any) -> DType:
    """The element type of a Python or NumPy type.

    Raises:
        NotImplementedError: there is none.
    """
    if isinstance(obj, DType):
        return obj
    if obj in _PYTHON:
        return _PYTHON[obj]
    try:
        return from_numpy_dtype(np.dtype(obj))
    except TypeError:
        raise NotImplementedError(f"pytype_to_dtype: no element type for {obj!r}") from None


def type_size_in_bytes(dtype: DType) -> int:
    """Bytes of one element."""
    _require(dtype, "type_size_in_bytes")
    return dtype.itemsize


def _require(dtype: Any, function: str) -> None:
    if not isinstance(dtype, DType):
        raise TypeError(
            f"{function}: must be an element type such as mindspore.float32. Received: {dtype!r} (of type "
            f"{type(dtype).__name__})"
        )


_SPELT_AS_BUILTINS = {"bool": bool_, "int": int32, "float": float32}  # as globals they would hide Python's


def __getattr__(name: str) -> DType:
    if name in _SPELT_AS_BUILTINS:
        return _SPELT_AS_BUILTINS[name]
    raise AttributeError(f"module 'mycelia.common.dtype' has no attribute {name!r}")


__all__ = [
    "Type",
    "all_types",
    "bfloat16",
    "bool_",
    "byte",
    "cdouble",
    "cfloat",
    "complex128",
    "complex64",
    "double",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "float16",
    "float32",
    "float64",
    "float_",
    "float_type",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "int_",
    "int_type",
    "intc",
    "intp",
    "long",
    "number_type",
    "pytype_to_dtype",
    "short",
    "signed_type",
    "single",
    "type_size_in_bytes",
    "ubyte",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uint_type",
    "uintc",
    "uintp",
    "ushort",
]
