"""Rows of tables by index, and positions turned into rotations."""
from __future__ import annotations

from typing import Any

from mycelia.ops.comparison import Equal
from mycelia.ops.composite import composite
from mycelia.ops.constants import like
from mycelia.ops.control import StopGradient
from mycelia.ops.function.shaping import cat, chunk, expand_dims, reshape, stack
from mycelia.ops.indexing import Gather
from mycelia.ops.promotion import require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = ["embedding", "rotary_position_embedding"]


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """The rows of ``weight`` at each index; the row ``padding_idx`` gets no gradient.

    Args:
        input: integers ``[...]``.
        weight: ``[rows, features]``.
        padding_idx: see there; negative ones count from the end.
        max_norm, norm_type, scale_grad_by_freq: must be left as they are.

    Returns:
        ``[..., features]``.

    Raises:
        NotImplementedError: max_norm or scale_grad_by_freq.
    """
    ids, table = require_tensor("embedding", input), require_tensor("embedding", weight, "weight")
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError(
            "embedding: max_norm must be None and scale_grad_by_freq False. Received: "
            f"max_norm={max_norm}, scale_grad_by_freq={scale_grad_by_freq}. Scale the weight beforehand"
        )
    rows = Gather(table, ids, axis=0)
    if padding_idx is None:
        return rows
    padded = expand_dims(Equal(ids, like(padding_idx % table.shape[0], ids)), -1)
    return Select(padded, StopGradient(rows), rows)


@composite
def rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: int = 0) -> Tensor:
    """Pairs of features turned by angles (Su et al. 2021): ``x * cos + turned(x) * sin``.

    Args:
        x: ``[..., features]``.
        cos, sin: of the angles, broadcast to x.
        mode: 0: a pair is a feature of the first half with its like of the second; 1: two neighbours.

    Raises:
        ValueError: another mode, an odd number of features.
    """
    x = require_tensor("rotary_position_embedding", x)
    if mode not in (0, 1) or x.shape[-1] % 2:
        raise ValueError(
            "rotary_position_embedding: mode must be 0 or 1 and the features even in number. Received: "
            f"mode={mode!r}, {x.type}"
        )
    if mode == 0:
        first, second = chunk(x, 2, -1)
        turned = cat((-second, first), -1)
    else:
        pairs = reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        turned = reshape(stack([-pairs[..., 1], pairs[..., 0]], -1), x.shape)
    return x * cos + turned * sin
