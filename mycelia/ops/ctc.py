"""Connectionist temporal classification (Graves et al. 2006): the likelihood of a labelling that is not
aligned with its frames, summed over all alignments."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front, fold
from mycelia.ops.definition import operator
from mycelia.ops.inference import require_dtypes, require_rank, wrong_dtype, wrong_shape
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, tensor, values

_FLOATS = (dtypes.float32, dtypes.float64)


def _infer(name: str, logs: TensorType, targets: TensorType, *lengths: TensorType) -> tuple[Any, ...]:
    types = (logs, targets, *lengths)
    require_rank(name, types, 3, 2, 1, 1)
    require_dtypes(name, (logs,), _FLOATS)
    for t in types[1:]:
        if not t.dtype.is_integer:
            raise wrong_dtype(name, types, "targets and lengths must be integers", "Convert with astype")
    if any(t.shape[0] != logs.shape[1] for t in types[1:]):
        raise wrong_shape(
            name, types, "the frames are [time, batch, classes], targets [batch, labels], lengths [batch]",
            "Transpose the frames",
        )
    return logs.dtype, logs.shape, targets.shape[1]


def _extended(targets: np.ndarray, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels with blanks around each, and where a step may skip the blank between two that differ."""
    n, s = targets.shape
    labels = np.full((n, 2 * s + 1), blank, np.int64)
    labels[:, 1::2] = targets
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, skips


def _shifted(alpha: np.ndarray, by: int) -> np.ndarray:
    moved = np.full_like(alpha, -np.inf)
    moved[:, by:] = alpha[:, :alpha.shape[1] - by]
    return moved


def _sum_of_exp(*terms: np.ndarray) -> np.ndarray:
    top = np.maximum.reduce(terms)
    safe = np.where(np.isfinite(top), top, 0)
    return np.log(sum(np.exp(t - safe) for t in terms)) + safe


def _forward(logs, targets, input_lengths, target_lengths, blank):
    """The log-likelihoods of all prefixes ``[n, time, 2 * labels + 1]``."""
    time, n, _ = logs.shape
    labels, skips = _extended(np.clip(targets, 0, logs.shape[2] - 1), blank)
    rows = np.arange(n)[:, None]
    alphas = np.full((n, time, labels.shape[1]), -np.inf)
    alphas[:, 0, :2] = logs[0, rows, labels[:, :2]]
    inside = np.arange(labels.shape[1]) <= 2 * target_lengths[:, None]
    alphas[:, 0] = np.where(inside, alphas[:, 0], -np.inf)
    for t in range(1, time):
        before = alphas[:, t - 1]
        two = np.where(skips, _shifted(before, 2), -np.inf)
        step = _sum_of_exp(before, _shifted(before, 1), two) + logs[t, rows, labels]
        alphas[:, t] = np.where(inside & (t < input_lengths[:, None]), step, -np.inf)
    return alphas


def _ends(alphas, input_lengths, target_lengths):
    rows = np.arange(len(alphas))
    last = alphas[rows, np.maximum(input_lengths, 1) - 1]
    final = last[rows, 2 * target_lengths]
    before = np.where(target_lengths > 0, last[rows, np.maximum(2 * target_lengths - 1, 0)], -np.inf)
    return _sum_of_exp(final, before)


def _loss(logs, targets, input_lengths, target_lengths, *, blank):
    alphas = _forward(logs.astype(np.float64), targets, input_lengths, target_lengths, blank)
    return -_ends(alphas, input_lengths, target_lengths).astype(logs.dtype), alphas.astype(logs.dtype)


def _gradient(g, logs, targets, input_lengths, target_lengths, *, blank):
    """Minus the posterior probability of each class at each frame, times ``g``."""
    wide, (time, n, classes) = logs.astype(np.float64), logs.shape
    alphas = _forward(wide, targets, input_lengths, target_lengths, blank)
    total = _ends(alphas, input_lengths, target_lengths)
    labels, skips = _extended(np.clip(targets, 0, classes - 1), blank)
    rows, width = np.arange(n)[:, None], labels.shape[1]
    place = np.arange(width)
    ends = (place == 2 * target_lengths[:, None]) | (
        (place == 2 * target_lengths[:, None] - 1) & (target_lengths[:, None] > 0)
    )
    beta = np.full((n, width), -np.inf)  # of what follows a frame, without the frame itself
    result = np.zeros(logs.shape)
    for t in reversed(range(time)):
        if t < time - 1:
            ahead = beta + wide[t + 1, rows, labels]
            two = np.full_like(ahead, -np.inf)
            two[:, :-2] = np.where(skips[:, 2:], ahead[:, 2:], -np.inf)
            one = np.full_like(ahead, -np.inf)
            one[:, :-1] = ahead[:, 1:]
            beta = _sum_of_exp(ahead, one, two)
        beta = np.where((t == input_lengths[:, None] - 1) & ends, 0.0, beta)
        share = np.exp(alphas[:, t] + beta - np.where(np.isfinite(total), total, np.inf)[:, None])
        np.add.at(result[t], (rows, labels), -np.nan_to_num(share))
    return (result * g[None, :, None]).astype(logs.dtype)


def _batch(op: Any, axis: int, outputs: int) -> Any:
    def batch(axes, *inputs, blank):
        from mycelia.ops.batching import reshape
        from mycelia.ops.movement import Transpose
        moved = all_at_front(axes, inputs)
        size = moved[0].shape[0]
        logs = moved[axis]
        moved[axis] = reshape(
            Transpose(logs, perm=(1, 0, 2, 3)), logs.shape[1], size * logs.shape[2], logs.shape[3]
        )
        results = op()(*(x if i == axis else fold(x) for i, x in enumerate(moved)), blank=blank)
        if outputs == 2:
            apart = tuple(reshape(y, size, y.shape[0] // size, *y.shape[1:]) for y in results)
            return apart, (0, 0)
        return reshape(results, results.shape[0], size, results.shape[1] // size, results.shape[2]), 1
    return batch


def _inputs(dtype: dtypes.DType) -> tuple[np.ndarray, ...]:
    logits = values((6, 3, 4), dtype, -1.0, 1.0).astype(np.float64)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    targets = np.array([[1, 1, 2], [3, 0, 0], [2, 3, 0]], np.int32)
    lengths = np.array([6, 5, 4], np.int32), np.array([3, 1, 2], np.int32)
    return logs.astype(dtype.numpy), targets, *lengths


_F32, _I32 = dtypes.float32, dtypes.int32
_WRONG = [
    ErrorCase((tensor(_F32, 5, 2, 3), tensor(_I32, 3, 1), tensor(_I32, 2), tensor(_I32, 2)), ValueError,
              "Transpose the frames", {"blank": 0}),
    ErrorCase((tensor(_F32, 5, 2, 3), tensor(_F32, 2, 1), tensor(_I32, 2), tensor(_I32, 2)), TypeError,
              "must be integers", {"blank": 0}),
]


@operator("CTC", num_outputs=2)
class CTC:
    """Minus the log-likelihood of each labelling, and those of all its prefixes at each frame.

    Inputs are log-probabilities ``[time, batch, classes]``, labels ``[batch, labels]``, and how many frames
    and labels of each count.
    """

    def infer(logs, targets, input_lengths, target_lengths, *, blank: int):
        dtype, (time, n, _), s = _infer("CTC", logs, targets, input_lengths, target_lengths)
        return TensorType(dtype, (n,)), TensorType(dtype, (n, time, 2 * s + 1))

    def vjp(g, logs, targets, input_lengths, target_lengths, loss, alphas, *, blank):
        return CTCGrad(g[0], logs, targets, input_lengths, target_lengths, blank=blank), None, None, None

    batch = _batch(lambda: CTC, 0, 2)
    reference = widened(_loss)

    def samples():
        for dtype in _FLOATS:
            yield Sample(_inputs(dtype), {"blank": 0}, tolerance=8.0, gradient=False)

    errors = _WRONG


@operator("CTCGrad")
class CTCGrad:
    """The cotangent of the log-probabilities of `CTC`."""

    def infer(g, logs, targets, input_lengths, target_lengths, *, blank: int):
        _infer("CTCGrad", logs, targets, input_lengths, target_lengths)
        if g.shape != (logs.shape[1],):
            raise wrong_shape("CTCGrad", (g, logs), "g must be [batch]", "Check the inputs' order")
        return logs

    def vjp(h, g, logs, targets, input_lengths, target_lengths, y, *, blank):
        raise NotImplementedError(
            "CTC: only first derivatives are there. Received: a request for the second. Differentiate once"
        )

    batch = _batch(lambda: CTCGrad, 1, 1)
    reference = widened(_gradient)

    def samples():
        for dtype in _FLOATS:
            yield Sample((values((3,), dtype), *_inputs(dtype)), {"blank": 0}, tolerance=8.0, gradient=False)

    errors = [ErrorCase(
        (tensor(_F32, 3), tensor(_F32, 5, 2, 3), tensor(_I32, 2, 1), tensor(_I32, 2), tensor(_I32, 2)),
        ValueError, r"g must be \[batch\]", {"blank": 0})]
