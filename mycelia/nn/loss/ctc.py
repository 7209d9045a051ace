"""Connectionist temporal classification. Graves et al., ICML 2006, section 4.1: the forward variables, in
logarithms."""

from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import bool_, int32
from mycelia.ops.arithmetic import Maximum
from mycelia.ops.comparison import Greater, NotEqual
from mycelia.ops.constants import like
from mycelia.ops.creation import Full, Iota
from mycelia.ops.exponential import Exp, Log
from mycelia.ops.function.reducing import amax
from mycelia.ops.function.shaping import gather_elements, reshape, stack
from mycelia.ops.indexing import OneHot
from mycelia.ops.logic import LogicalAnd
from mycelia.ops.movement import BroadcastTo, Concat, StridedSlice
from mycelia.ops.promotion import as_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

NEVER = -1e30  # the logarithm of the probability of what cannot be; finite, so that gradients are


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int
) -> Tensor:
    """Minus the log-probability of each of ``n`` targets.

    Args:
        log_probs: ``[steps, n, classes]``.
        targets: ``[n, labels]``, of which ``target_lengths`` count.
        input_lengths, target_lengths: ``[n]``.
        blank: the class between labels.

    Raises:
        ValueError: shapes that do not go together.
    """
    if log_probs.ndim != 3 or targets.ndim != 2 or targets.shape[0] != log_probs.shape[1]:
        raise ValueError(
            "CTCLoss: log_probs must be [steps, n, classes] and targets [n, labels]. Received: "
            f"{log_probs.shape} and {targets.shape}"
        )
    steps, n, classes = log_probs.shape
    labels = targets.shape[1]
    states = 2 * labels + 1  # blanks around and between the labels
    ends, lengths = (
        reshape(as_tensor("CTCLoss", x), (n, 1)).astype(int32) for x in (input_lengths, target_lengths)
    )
    blanks = Full(shape=(n, labels), value=blank, dtype=int32)
    targets = targets.astype(int32)
    path = reshape(stack([blanks, targets], 2), (n, 2 * labels))
    path = Concat(path, StridedSlice(path, begin=(0, 0), end=(n, 1), strides=(1, 1)), axis=1)
    # a label may follow the label before it directly if they differ
    may_skip = LogicalAnd(
        NotEqual(path, like(blank, path)), NotEqual(path, shifted(path, 2, like(blank, path)))
    )
    may_skip = LogicalAnd(may_skip, Greater(position(n, states), like(1, path)))
    never = like(NEVER, log_probs)
    scores = [gather_elements(log_probs[t], 1, path) for t in range(steps)]
    alpha = Select(Greater(like(2, path), position(n, states)), scores[0], never)
    for t in range(1, steps):
        skipped = Select(may_skip, shifted(alpha, 2, never), never)
        reached = log_sum(alpha, shifted(alpha, 1, never), skipped) + scores[t]
        alpha = Select(Greater(ends, like(t, ends)), reached, alpha)
    last = OneHot(reshape(lengths * 2, (n,)), depth=states, on=True, off=False, dtype=bool_)
    before = OneHot(reshape(lengths * 2 - 1, (n,)), depth=states, on=True, off=False, dtype=bool_)
    final, other = (amax(Select(hot, alpha, never), 1) for hot in (last, before))
    return -log_sum(final, other)


def position(n: int, states: int) -> Tensor:
    """The index of each state, ``[n, states]``."""
    return BroadcastTo(reshape(Iota(size=states, dtype=int32), (1, states)), shape=(n, states))


def shifted(x: Tensor, by: int, fill: Tensor) -> Tensor:
    """The states' values moved towards the end."""
    n, states = x.shape
    if states <= by:
        return BroadcastTo(fill, shape=x.shape)
    kept = StridedSlice(x, begin=(0, 0), end=(n, states - by), strides=(1, 1))
    return Concat(BroadcastTo(fill, shape=(n, by)), kept, axis=1)


def log_sum(*xs: Tensor) -> Tensor:
    """log(sum(exp(xs)))."""
    top = xs[0]
    for x in xs[1:]:
        top = Maximum(top, x)
    total = Exp(xs[0] - top)
    for x in xs[1:]:
        total = total + Exp(x - top)
    return top + Log(total)
