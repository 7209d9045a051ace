"""Element types: one object each, shared by every layer."""

from __future__ import annotations

from typing import Any

import numpy as np


class DType:
    """An element type.

    Attributes:
        name: MindSpore's spelling in lower case, e.g. ``"float32"``, ``"bool"``.
        numpy: the NumPy dtype that holds it on the host.
        itemsize: bytes of one element.
        kind: ``"b"`` bool, ``"i"`` signed, ``"u"`` unsigned, ``"f"`` floating, ``"c"``
            complex.
    """

    __slots__ = ("name", "numpy", "itemsize", "kind", "code")

    def __init__(self, name: str, numpy_type: Any, kind: str, code: int) -> None:
        self.name = name
        if numpy_type is not None:
            self.numpy = np.dtype(numpy_type)
        self.itemsize = self.numpy.itemsize if numpy_type is not None else 2
        self.kind = kind
        self.code = code

    def __getattr__(self, name: str) -> Any:
        if name == "numpy":  # not set yet: to import ml_dtypes takes up to a second
            import ml_dtypes

            self.numpy = np.dtype(ml_dtypes.bfloat16)
            _BY_NUMPY[self.numpy] = self
            return self.numpy
        raise AttributeError(f"an element type has no attribute {name}")

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def bits(self) -> int:
        return self.itemsize * 8

    def __repr__(self) -> str:
        return "mindspore." + (self.name + "_" if self.kind == "b" else self.name)

    def __str__(self) -> str:
        stem = self.name.rstrip("0123456789")
        names = {"bool": "Bool", "int": "Int", "uint": "UInt", "float": "Float", "bfloat": "BFloat",
                 "complex": "Complex"}
        return names[stem] + self.name[len(stem) :]

    def __reduce__(self) -> tuple:
        return _by_name, (self.name,)


bool_ = DType("bool", np.bool_, "b", 0)
int8 = DType("int8", np.int8, "i", 1)
int16 = DType("int16", np.int16, "i", 2)
int32 = DType("int32", np.int32, "i", 3)
int64 = DType("int64", np.int64, "i", 4)
uint8 = DType("uint8", np.uint8, "u", 5)
uint16 = DType("uint16", np.uint16, "u", 6)
uint32 = DType("uint32", np.uint32, "u", 7)
uint64 = DType("uint64", np.uint64, "u", 8)
float16 = DType("float16", np.float16, "f", 9)
float32 = DType("float32", np.float32, "f", 10)
float64 = DType("float64", np.float64, "f", 11)
bfloat16 = DType("bfloat16", None, "f", 12)
complex64 = DType("complex64", np.complex64, "c", 13)
complex128 = DType("complex128", np.complex128, "c", 14)

COMPLEX = (complex64, complex128)  # run by NumPy, in the operators that say so
ALL = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, bfloat16)
FLOATS = (float16, float32, float64, bfloat16)
INTEGERS = tuple(d for d in ALL if d.is_integer)
BY_NAME = {d.name: d for d in (*ALL, *COMPLEX)}
_BY_NUMPY = {d.numpy: d for d in BY_NAME.values() if d is not bfloat16}


def _by_name(name: str) -> DType:
    return BY_NAME[name]


def from_numpy_dtype(dtype: object) -> DType:
    """The DType of a NumPy dtype (or anything ``np.dtype`` takes).

    Raises:
        TypeError: the dtype has no counterpart, e.g. strings or objects.
    """
    if isinstance(dtype, str) and dtype == "bfloat16":
        return bfloat16
    try:
        found = _BY_NUMPY.get(np.dtype(dtype))  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(
            f"no element type is named {dtype!r} (of type {type(dtype).__name__}). Give one such as "
            f"mindspore.float32; there are {', '.join(BY_NAME)}"
        ) from None
    if found is None and np.dtype(dtype) == bfloat16.numpy:  # type: ignore[call-overload]
        found = bfloat16
    if found is None:
        raise TypeError(
            f"no tensor element type for NumPy dtype {np.dtype(dtype)!r}; "  # type: ignore[call-overload]
            f"supported: {', '.join(BY_NAME)}"
        )
    return found
