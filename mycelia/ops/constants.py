"""Tensors of fixed elements made from Python numbers: a Constant node inside a trace, an ordinary tensor
outside."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.ir.dtypes import DType
from mycelia.ops import dispatch
from mycelia.tensor.device import default_device
from mycelia.tensor.tensor import Tensor

_arrays: dict[tuple, np.ndarray] = {}
_tensors: dict[tuple, Tensor] = {}
_LIMIT = 4096


def constant(array: Any) -> Tensor:
    """A tensor with the elements of a NumPy array."""
    array = np.asarray(array)
    make = getattr(dispatch.current(), "constant", None)
    return make(array) if make is not None else Tensor.from_numpy(array)


def scalar(value: Any, dtype: DType) -> Tensor:
    """A 0-d tensor of a Python number, kept for the next time (nothing writes to it)."""
    key = (value, dtype.code, math.copysign(1.0, value) if value == 0 else 0.0)
    make = getattr(dispatch.current(), "constant", None)
    if make is None:
        key = (*key, default_device().name)
        known = _tensors.get(key)
        if known is None:
            if len(_tensors) >= _LIMIT:
                _tensors.clear()
            known = _tensors[key] = Tensor.from_numpy(np.array(value).astype(dtype.numpy))
        return known
    array = _arrays.get(key)
    if array is None:
        if len(_arrays) >= _LIMIT:
            _arrays.clear()
        array = _arrays[key] = np.array(value).astype(dtype.numpy)
        array.flags.writeable = False
    return make(array)


def like(value: Any, x: Tensor) -> Tensor:
    """A 0-d tensor of a Python number with the dtype of ``x``."""
    return scalar(value, x.dtype)
