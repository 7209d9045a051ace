"""Tensors of other libraries without a copy: DLPack (https://dmlc.github.io/dlpack/latest), both ways."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.tensor.storage import _Memory
from mycelia.tensor.tensor import Tensor, dense_strides

_CPU = 1  # kDLCPU
# Capsules point at their names, so these must stay.
_USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}
_HOST = (_CPU, 3, 11, 13)  # and memory of the host that accelerators see too
_READ_ONLY = 1
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6, "c": 5}
_BFLOAT = 4
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


def _api(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_get_pointer = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_set_name = _api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_is_valid = _api("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


def capsule(tensor: Tensor, **arguments: Any) -> Any:
    """What `Tensor.__dlpack__` returns: a capsule over the tensor's memory, which it keeps alive."""
    array = tensor.asnumpy()
    if tensor.dtype is not dtypes.bfloat16:
        return array.__dlpack__(**arguments)
    # NumPy does not export bfloat16: the same bytes as integers, with the type told right.
    made = array.view(np.uint16).__dlpack__()
    managed = _Managed.from_address(_get_pointer(made, b"dltensor"))
    managed.tensor.code = _BFLOAT
    return made


class _Lease:
    """Memory that another library owns; given back when the last array over it goes."""

    def __init__(self, managed: Any) -> None:
        self._managed = managed

    def __del__(self) -> None:
        if self._managed.deleter:
            self._managed.deleter(ctypes.addressof(self._managed))


def from_dlpack(x: Any) -> Tensor:
    """A tensor over another library's memory: a write to either is seen by both.

    Args:
        x: has ``__dlpack__`` and ``__dlpack_device__`` (a PyTorch, NumPy or JAX array on the host), or is a
            capsule. Copied where its memory may not be written, or is not in row-major order.

    Raises:
        TypeError: x offers no DLPack, or an element type that there is not.
        ValueError: its memory is not the host's, or a capsule that was used before.

    Example:
        >>> from_dlpack(numpy.arange(3.0)).shape
        (3,)
    """
    if type(x).__name__ == "PyCapsule":
        capsule = x
    else:
        if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
            raise TypeError(
                f"from_dlpack: x must offer __dlpack__ and __dlpack_device__. Received: {x!r:.80} (of type "
                f"{type(x).__name__})"
            )
        kind, number = x.__dlpack_device__()
        if int(kind) not in _HOST:
            raise ValueError(
                f"from_dlpack: x must lie in the host's memory; copy it there first. Received: device "
                f"({int(kind)}, {number})"
            )
        try:
            capsule = x.__dlpack__(max_version=(1, 0))
        except TypeError:  # older than version 1
            capsule = x.__dlpack__()
    array, writeable = _array(capsule)
    return Tensor.from_numpy(array if writeable else array.copy())


def _array(capsule: Any) -> tuple[np.ndarray, bool]:
    """The capsule's memory as an array that keeps it, and whether it may be written."""
    for name, structure in ((b"dltensor_versioned", _ManagedVersioned), (b"dltensor", _Managed)):
        if _is_valid(capsule, name):
            managed = structure.from_address(_get_pointer(capsule, name))
            break
    else:
        raise ValueError("from_dlpack: the capsule was used before; ask for another with __dlpack__()")
    t = managed.tensor
    dtype = _numpy_dtype(t.code, t.bits, t.lanes)
    if t.device_type not in _HOST:
        raise ValueError(f"from_dlpack: x must lie in the host's memory. Received: device ({t.device_type})")
    _set_name(capsule, _USED[name])
    lease = _Lease(managed)
    shape = tuple(t.shape[i] for i in range(t.ndim))
    if 0 in shape:
        return np.empty(shape, dtype), True
    given = [t.strides[i] for i in range(t.ndim)] if t.strides else dense_strides(shape)
    strides = tuple(stride * dtype.itemsize for stride in given)
    writeable = not (structure is _ManagedVersioned and managed.flags & _READ_ONLY)
    low = sum(min((n - 1) * s, 0) for n, s in zip(shape, strides))
    high = sum(max((n - 1) * s, 0) for n, s in zip(shape, strides)) + dtype.itemsize
    memory = np.asarray(_Memory(lease, t.data + t.byte_offset + low, high - low))  # type: ignore[arg-type]
    return np.ndarray(shape, dtype, memory, -low, strides), writeable  # type: ignore[arg-type]


def _numpy_dtype(code: int, bits: int, lanes: int) -> np.dtype:
    if lanes == 1 and code == _BFLOAT and bits == 16:
        return dtypes.bfloat16.numpy
    for dtype in dtypes.ALL:
        same = _CODES.get(dtype.numpy.kind) == code and dtype.numpy.itemsize * 8 == bits
        if same and lanes == 1 and dtype is not dtypes.bfloat16:
            return dtype.numpy
    raise TypeError(
        f"from_dlpack: there is no element type of code {code} with {bits} bits and {lanes} lanes"
    )
