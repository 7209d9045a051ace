"""Embedding: rows of a table by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.common.initializer import initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.ops.indexing import Gather
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Embedding(Cell):
    """The rows of a table that integer ids name: ids ``[...]`` give ``[..., embedding_size]``.

    Args:
        vocab_size: rows of the table.
        embedding_size: columns.
        use_one_hot: accepted; the rows are looked up either way.
        embedding_table: initial values.
        dtype: of the table.
        padding_idx: a row that starts at zero.

    Raises:
        ValueError: a number out of range.
        TypeError: ids that are no integers.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: DType = float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        positive_int("Embedding", vocab_size=vocab_size, embedding_size=embedding_size)
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            if type(padding_idx) is not int or not 0 <= padding_idx < vocab_size:
                raise ValueError(
                    f"Embedding: padding_idx must be an int from 0 to vocab_size - 1 = {vocab_size - 1}. "
                    f"Received: {padding_idx!r}"
                )
            rows = np.array(table.asnumpy())
            rows[padding_idx] = 0
            table = Tensor.from_numpy(rows)
        self.vocab_size, self.embedding_size, self.use_one_hot = vocab_size, embedding_size, bool(use_one_hot)
        self.padding_idx = padding_idx
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids: Tensor) -> Tensor:
        return Gather(self.embedding_table, require_tensor("Embedding", ids, "ids"), axis=0)

    def extend_repr(self) -> str:
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
            f"use_one_hot={self.use_one_hot}, "
            f"embedding_table={self.embedding_table}, dtype={self.embedding_table.dtype}, "
            f"padding_idx={self.padding_idx}"
        )
