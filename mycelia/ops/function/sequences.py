"""Losses of sequences."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ops.arithmetic import Maximum
from mycelia.ops.comparison import IsInf
from mycelia.ops.constants import constant, like
from mycelia.ops.ctc import CTC
from mycelia.ops.function.losses import reduced
from mycelia.ops.function.shaping import reshape
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """The loss of connectionist temporal classification (Graves et al. 2006).

    Args:
        log_probs: log-probabilities ``[time, batch, classes]`` or ``[time, classes]``.
        targets: labels ``[batch, labels]``, or all labels one after the other.
        input_lengths, target_lengths: how many frames and labels of each count (tensors or sequences).
        blank: the class of the blank.
        reduction: ``"none"``, ``"sum"`` or ``"mean"`` (of the losses over their numbers of labels).
        zero_infinity: count labellings that cannot be as 0.

    Returns:
        The loss, and the log-likelihoods of prefixes ``[batch, time, 2 * labels + 1]``.

    Raises:
        TypeError: labels or lengths that are no integers.
        ValueError: shapes that do not match.
    """
    x = require_tensor("ctc_loss", log_probs, "log_probs")
    single = x.ndim == 2
    x = reshape(x, (x.shape[0], 1, x.shape[1])) if single else x
    lengths = [
        reshape(v if isinstance(v, Tensor) else constant(np.asarray(v, np.int64)), (-1,))
        for v in (input_lengths, target_lengths)
    ]
    if not 0 <= blank < x.shape[-1]:
        raise ValueError(f"ctc_loss: blank must be one of {x.shape[-1]} classes. Received: blank={blank}")
    labels = require_tensor("ctc_loss", targets, "targets")
    if labels.ndim == 1:
        labels = reshape(labels, (1, -1)) if single else _rows(labels, lengths[1])
    loss, prefixes = CTC(x, labels, *lengths, blank=int(blank))
    if zero_infinity:
        loss = Select(IsInf(loss), like(0, loss), loss)
    if single:
        loss, prefixes = reshape(loss, ()), reshape(prefixes, prefixes.shape[1:])
    if reduction == "mean":
        counted = cast(lengths[1], loss.dtype)
        counted = reshape(counted, loss.shape)
        loss = loss / Maximum(counted, like(1, counted))
    return reduced("ctc_loss", loss, reduction), prefixes


def _rows(labels: Tensor, lengths: Tensor) -> Tensor:
    """Labels that stand one after the other, as rows of the longest's length."""
    flat, counts = labels.asnumpy(), lengths.asnumpy()
    rows = np.zeros((len(counts), max(int(counts.max(initial=0)), 1)), flat.dtype)
    start = 0
    for row, count in zip(rows, counts):
        row[:count] = flat[start:start + count]
        start += int(count)
    return constant(rows)
