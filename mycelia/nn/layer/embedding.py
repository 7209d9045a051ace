"""Embedding: rows of a table by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.common.initializer import Normal, initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.ops.arithmetic import Maximum, Square
from mycelia.ops.constants import like
from mycelia.ops.exponential import Sqrt
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


class EmbeddingExt(Cell):
    """The rows of a table that integer ids name; the table is ``weight``.

    Args:
        num_embeddings, embedding_dim: extents of the table.
        padding_idx: a row that starts at zero; negative ones count from the end.
        max_norm, scale_grad_by_freq, sparse: not supported; must stay at their defaults.
        norm_type: of max_norm.
        dtype: of the table.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        positive_int("EmbeddingExt", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise ValueError("EmbeddingExt: max_norm, scale_grad_by_freq and sparse are not supported")
        table = initializer(
            Normal(1.0) if _weight is None else _weight, (num_embeddings, embedding_dim), dtype
        )
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"EmbeddingExt: padding_idx must name one of {num_embeddings} rows. Received: "
                    f"{padding_idx}"
                )
            rows = np.array(table.asnumpy())
            rows[padding_idx] = 0
            table = Tensor.from_numpy(rows)
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.weight = Parameter(table, name="weight", requires_grad=not _freeze)

    def construct(self, input: Tensor) -> Tensor:
        return Gather(self.weight, require_tensor("EmbeddingExt", input, "input"), axis=0)

    def extend_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"padding_idx={self.padding_idx}"
        )


class EmbeddingLookup(Cell):
    """The rows of a table that integer ids name, with a limit on the rows' norms.

    Args:
        vocab_size, embedding_size: extents of the table.
        param_init: initial values.
        target, slice_mode, manual_shapes, sparse: accepted; one process looks rows up in its memory.
        max_norm: rows that are longer are scaled down to it; None for no limit.
        dtype: of the table.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int("EmbeddingLookup", vocab_size=vocab_size, embedding_size=embedding_size)
        if target not in ("CPU", "DEVICE"):
            raise ValueError(
                f"EmbeddingLookup: target must be 'CPU' or 'DEVICE'. Received: target={target!r}"
            )
        self.vocab_size, self.embedding_size, self.max_norm = vocab_size, embedding_size, max_norm
        table = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, indices: Tensor) -> Tensor:
        rows = Gather(self.embedding_table, require_tensor("EmbeddingLookup", indices, "indices"), axis=0)
        if self.max_norm is None:
            return rows
        norms = Sqrt(Square(rows).sum(-1, keepdims=True))
        return rows * float(self.max_norm) / Maximum(norms, like(self.max_norm, norms))
