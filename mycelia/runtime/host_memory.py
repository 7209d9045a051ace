"""NumPy views of memory that is known by its address only."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class _Span:
    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, nbytes: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}


def view(address: int, dtype: Any, shape: Sequence[int]) -> np.ndarray:
    """A dense array over memory at ``address``. It is valid as long as the memory is: for the length of a host call."""
    dtype, shape = np.dtype(dtype), tuple(shape)
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return np.empty(shape, dtype)
    return np.asarray(_Span(address, count * dtype.itemsize)).view(dtype).reshape(shape)
