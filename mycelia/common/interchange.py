"""Tensors from the memory of other libraries."""

from __future__ import annotations

from typing import Any

from mycelia.tensor.dlpack import from_dlpack
from mycelia.tensor.tensor import Tensor


def from_numpy(array: Any) -> Tensor:
    """A tensor over a NumPy array's memory: a write to either is seen by both.

    Args:
        array: copied where it is not in row-major order, may not be written, or begins at an address that is
            no multiple of 16.

    Raises:
        TypeError: no NumPy array, or an element type that there is not.

    Example:
        >>> array = numpy.zeros(3, "f")
        >>> tensor = from_numpy(array)
        >>> array[0] = 1
        >>> tensor.tolist()
        [1.0, 0.0, 0.0]
    """
    return Tensor.from_numpy(array)


__all__ = ["from_dlpack", "from_numpy"]
