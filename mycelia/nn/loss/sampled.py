"""Sampled softmax: the loss over many classes by a few of them. Jean et al., ACL 2015, "On using very large
target vocabulary", section 3.1."""

from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import bool_, float32, int32, int64
from mycelia.nn.loss.loss import LossBase
from mycelia.ops.function.activations import log_softmax
from mycelia.ops.function.drawing import randperm
from mycelia.ops.function.elementwise import log, masked_fill
from mycelia.ops.function.shaping import cat, expand_dims, gather, reshape
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor

_NEVER = -1e30  # the score of a class that does not take part; finite, so that gradients are


class SampledSoftmaxLoss(LossBase):
    """Cross-entropy over the true classes and a few drawn ones.

    Args:
        num_sampled: how many classes are drawn for a batch, each at most once.
        num_classes: how many there are.
        num_true: how many true classes a row has.
        sampled_values: ``(classes [s], expected counts of the true ones [n, num_true], of the drawn ones
            [s])`` to be used instead of drawing.
        remove_accidental_hits: whether a drawn class is left out of the rows of which it is a true class.
        seed: of the draws; 0 follows `mindspore.set_seed`.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    ``construct(weights [c, d], biases [c], labels [n, num_true] or [n], logits [n, d])`` gives ``[n]``, or a
    number.

    Raises:
        TypeError: sampled_values is no tuple or list; labels are no int32 or int64.
        ValueError: more drawn or true classes than there are; sampled_values are not three.
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Any = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ) -> None:
        super().__init__(reduction)
        if not 1 <= num_true <= num_classes or not 1 <= num_sampled <= num_classes or seed < 0:
            raise ValueError(
                "SampledSoftmaxLoss: num_true and num_sampled must be in [1, num_classes], seed at least 0. "
                f"Received: num_true={num_true}, num_sampled={num_sampled}, num_classes={num_classes}, "
                f"seed={seed}"
            )
        if sampled_values is not None and not isinstance(sampled_values, (tuple, list)):
            raise TypeError(
                "SampledSoftmaxLoss: sampled_values must be a tuple. Received: "
                f"{type(sampled_values).__name__}"
            )
        if sampled_values is not None and len(sampled_values) != 3:
            raise ValueError(
                f"SampledSoftmaxLoss: sampled_values must be three tensors. Received: {len(sampled_values)}"
            )
        self.num_sampled, self.num_classes, self.num_true = num_sampled, num_classes, num_true
        self.sampled_values, self.seed = sampled_values, seed
        self.remove_accidental_hits = remove_accidental_hits

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        for name, x in (("weights", weights), ("biases", biases), ("labels", labels), ("logits", logits)):
            require_tensor("SampledSoftmaxLoss", x, name)
        if labels.dtype not in (int32, int64):
            raise TypeError(f"SampledSoftmaxLoss: labels must be int32 or int64. Received: {labels.dtype}")
        labels = reshape(labels, (-1, self.num_true)).astype(int32)
        true = (expand_dims(logits, 1) * gather(weights, labels, 0)).sum(-1) + gather(biases, labels, 0)
        if self.sampled_values is None:
            drawn = randperm(self.num_classes, self.seed or None, dtype=int32)[: self.num_sampled]
            expected = math.log(self.num_sampled / self.num_classes)  # drawn without replacement
            shift_true, shift_drawn = expected, expected
        else:
            drawn, of_true, of_drawn = self.sampled_values
            drawn = drawn.astype(int32)
            shift_true, shift_drawn = log(of_true), log(of_drawn)
        others = logits @ gather(weights, drawn, 0).T + gather(biases, drawn, 0)
        true, others = true - shift_true, others - shift_drawn
        if self.sampled_values is None and self.remove_accidental_hits:
            hit = (expand_dims(labels, 2) == drawn).astype(bool_).any(1)
            others = masked_fill(others, hit, _NEVER)
        chances = log_softmax(cat((true, others), 1).astype(float32), 1)
        return self.get_loss(-chances[:, : self.num_true].mean(1).astype(logits.dtype))
