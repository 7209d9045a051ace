"""MindSpore's implicit dtype conversion: what two operands become before an operator that wants one dtype."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType, bool_, float32, float64, int64
from mycelia.ops.constants import constant, scalar
from mycelia.ops.selection import Cast
from mycelia.tensor.tensor import Tensor

_SHORT = {
    "b1": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "bf": "bfloat16",
}

# Rows and columns in the order of the header; "--" where MindSpore refuses to choose.
_TABLE = """
    b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 bf
b1  b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 bf
i1  i1 i1 i2 i4 i8 i2 -- -- -- f2 f4 f8 bf
i2  i2 i2 i2 i4 i8 i2 -- -- -- f2 f4 f8 bf
i4  i4 i4 i4 i4 i8 i4 -- -- -- f2 f4 f8 bf
i8  i8 i8 i8 i8 i8 i8 -- -- -- f2 f4 f8 bf
u1  u1 i2 i2 i4 i8 u1 -- -- -- f2 f4 f8 bf
u2  u2 -- -- -- -- -- u2 -- -- -- -- -- --
u4  u4 -- -- -- -- -- -- u4 -- -- -- -- --
u8  u8 -- -- -- -- -- -- -- u8 -- -- -- --
f2  f2 f2 f2 f2 f2 f2 -- -- -- f2 f4 f8 f4
f4  f4 f4 f4 f4 f4 f4 -- -- -- f4 f4 f8 f4
f8  f8 f8 f8 f8 f8 f8 -- -- -- f8 f8 f8 f8
bf  bf bf bf bf bf bf -- -- -- f4 f4 f8 bf
"""


def _read() -> dict[tuple[DType, DType], DType | None]:
    header, *rows = [line.split() for line in _TABLE.strip().splitlines()]
    named = {short: dtypes.BY_NAME[name] for short, name in _SHORT.items()}
    return {
        (named[row[0]], named[column]): named.get(cell)
        for row in rows
        for column, cell in zip(header, row[1:])
    }


PROMOTED = _read()


def promote(name: str, a: DType, b: DType) -> DType:
    """The dtype to which tensors of two dtypes are converted.

    Raises:
        TypeError: an unsigned type wider than 8 bits meets another one than bool.
    """
    if a.kind == "c" or b.kind == "c":
        double = any(d in (dtypes.complex128, dtypes.float64) for d in (a, b))
        return dtypes.complex128 if double else dtypes.complex64
    found = PROMOTED[a, b]
    if found is None:
        raise TypeError(
            f"{name}: must convert both operands to one dtype, but there is none for {a.name} and {b.name}. "
            "Received: "
            f"tensors of {a.name} and {b.name}. Convert one of them with astype"
        )
    return found


def promote_scalar(name: str, tensor: DType, number: Any) -> DType:
    """The dtype of an operation between a tensor and a Python number: the tensor's own if it can hold the
    number's kind."""
    if tensor.kind in "fc" or type(number) is bool:
        return tensor
    if isinstance(number, float):
        if tensor in (dtypes.uint16, dtypes.uint32, dtypes.uint64):
            raise TypeError(
                f"{name}: must convert both operands to one dtype, but there is none for {tensor.name} and a "
                "float. "
                f"Received: a tensor of {tensor.name} and {number!r}. Convert the tensor with astype"
            )
        return float32
    return int64 if tensor is bool_ else tensor


def cast(x: Tensor, dtype: DType) -> Tensor:
    """The tensor itself where it has that dtype already."""
    return x if x.dtype is dtype else Cast(x, dtype=dtype)


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, np.bool_, np.integer, np.floating))


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def refuse(
    name: str, what: str, value: Any, expected: str = "a Tensor, a number or a list of numbers"
) -> TypeError:
    cure = ". Wrap it in mindspore.Tensor" if isinstance(value, np.ndarray) else ""
    return TypeError(
        f"{name}: {what} must be {expected}. Received: {what}={value!r} (of type "
        f"{type(value).__name__}){cure}"
    )


def as_tensor(name: str, x: Any, what: str = "input") -> Tensor:
    """A tensor from a tensor, a number, or a list or tuple of numbers.

    Raises:
        TypeError: anything else; NumPy arrays too, as in MindSpore.
    """
    if isinstance(x, Tensor):
        return x
    if is_number(x):
        x = _plain(x)
        return scalar(x, bool_ if isinstance(x, bool) else int64 if isinstance(x, int) else float32)
    if isinstance(x, (list, tuple)):
        if any(isinstance(item, Tensor) for item in x):
            from mycelia.ops.function.shaping import stack
            return stack([as_tensor(name, item, what) for item in x])
        array = np.asarray(x)
        if array.dtype.kind in "bif" and array.dtype != object:
            return constant(array.astype(np.float32) if array.dtype == np.float64 else array)
    raise refuse(name, what, x)


def require_tensor(name: str, x: Any, what: str = "input") -> Tensor:
    if not isinstance(x, Tensor):
        raise refuse(name, what, x, "a Tensor")
    return x


def promote_weakly(name: str, x: Tensor, y: Tensor) -> DType:
    """The common dtype of two tensors, where one that stands for a Python number counts as that number."""
    if getattr(y, "weak", False) and not getattr(x, "weak", False):
        return promote_scalar(name, x.dtype, 0.5 if y.dtype.is_float else 1)
    if getattr(x, "weak", False) and not getattr(y, "weak", False):
        return promote_scalar(name, y.dtype, 0.5 if x.dtype.is_float else 1)
    return promote(name, x.dtype, y.dtype)


def _numbers(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two tensors that stand for Python numbers, as Python would convert them; so do the results."""
    fixable = getattr(x, "fixable", False) or getattr(y, "fixable", False)
    if x.dtype is not y.dtype:
        x, y = cast(x, float64), cast(y, float64)
    x.weak = y.weak = True
    x.fixable = y.fixable = fixable
    return x, y


def operands(name: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors of one dtype by MindSpore's rules.

    Args:
        name: the function's name, for errors.
        x: a tensor, a number, or a list of numbers.
        y: likewise.

    Raises:
        TypeError: neither is a tensor or number, or the dtypes have no common one.

    Example:
        >>> [t.dtype for t in operands("add", Tensor([1, 2]), 0.5)]
        [mindspore.float32, mindspore.float32]
    """
    if isinstance(x, Tensor):
        if isinstance(y, Tensor):
            if x.dtype is y.dtype:
                return x, y
            if getattr(x, "weak", False) and getattr(y, "weak", False):
                return _numbers(x, y)
            dtype = promote_weakly(name, x, y)
            return cast(x, dtype), cast(y, dtype)
        if is_number(y):
            y = _plain(y)
            if getattr(x, "weak", False):
                return _numbers(x, scalar(y, float64 if isinstance(y, float) else int64))
            dtype = promote_scalar(name, x.dtype, y)
            return cast(x, dtype), scalar(y, dtype)
        return operands(name, x, as_tensor(name, y, "other"))
    if isinstance(y, Tensor):
        if is_number(x):
            x = _plain(x)
            if getattr(y, "weak", False):
                return _numbers(scalar(x, float64 if isinstance(x, float) else int64), y)
            dtype = promote_scalar(name, y.dtype, x)
            return scalar(x, dtype), cast(y, dtype)
        return operands(name, as_tensor(name, x), y)
    return operands(name, as_tensor(name, x), as_tensor(name, y, "other"))


def float_operands(name: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """`operands`, with integers and booleans converted to float32."""
    x, y = (
        operands(name, x, y)
        if not (isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype is y.dtype)
        else (x, y)
    )
    if x.dtype.kind in "fc":
        return x, y
    if getattr(x, "weak", False) and getattr(y, "weak", False):
        return _numbers(Cast(x, dtype=float64), Cast(y, dtype=float64))
    return Cast(x, dtype=float32), Cast(y, dtype=float32)


def floating(name: str, x: Any) -> Tensor:
    """A tensor of floats: integers and booleans become float32."""
    x = as_tensor(name, x)
    return x if x.dtype.kind in "fc" else Cast(x, dtype=float32)


_PYTHON = {bool: bool_, int: int64, float: float32}


def resolve_dtype(name: str, dtype: Any) -> DType:
    """An element type from a DType, its name, a NumPy dtype, or Python's bool, int, float.

    Raises:
        TypeError: anything else.
    """
    if isinstance(dtype, DType):
        return dtype
    if dtype in _PYTHON:
        return _PYTHON[dtype]
    if isinstance(dtype, str):
        key = dtype.lower().removesuffix("_")
        if key in dtypes.BY_NAME:
            return dtypes.BY_NAME[key]
    elif isinstance(dtype, (np.dtype, type)):
        return dtypes.from_numpy_dtype(dtype)
    raise TypeError(
        f"{name}: dtype must be an element type such as mindspore.float32. Received: dtype={dtype!r} (of "
        "type "
        f"{type(dtype).__name__})"
    )

