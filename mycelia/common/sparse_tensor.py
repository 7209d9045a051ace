"""RowTensor: rows of a matrix by their indices; what gradients of embeddings may be kept as."""

from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import DType
from mycelia.tensor.tensor import Tensor


class RowTensor:
    """Some rows of a tensor whose other rows are zero.

    Args:
        indices: ``[n]``, integers: which rows.
        values: ``[n, ...]``: their elements.
        shape: of the whole tensor.

    Raises:
        TypeError: arguments of other types.
        ValueError: shapes that do not fit together.

    Example:
        >>> RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2)).dense_shape
        (3, 2)
    """

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, row_tensor: RowTensor | None = None
    ) -> None:
        if row_tensor is not None:
            if not isinstance(row_tensor, RowTensor) or not (indices is values is shape is None):
                raise TypeError("RowTensor: give row_tensor alone, or indices, values and shape")
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        if not isinstance(indices, Tensor) or not isinstance(values, Tensor) or not isinstance(shape, tuple):
            raise TypeError(
                "RowTensor: indices and values must be Tensors and shape a tuple. Received: "
                f"{type(indices).__name__}, {type(values).__name__}, {type(shape).__name__}"
            )
        if indices.ndim != 1 or values.shape != (indices.shape[0], *shape[1:]):
            raise ValueError(
                f"RowTensor: indices must be [n] and values [n, *shape[1:]]. Received: indices of shape "
                f"{indices.shape}, values of shape {values.shape}, shape={shape}"
            )
        self._indices, self._values, self._shape = indices, values, shape

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    def __repr__(self) -> str:
        return (
            f"RowTensor(shape={list(self._shape)}, dtype={self.dtype}, indices={self._indices!r}, "
            f"values={self._values!r})"
        )


RowTensorInner = RowTensor
