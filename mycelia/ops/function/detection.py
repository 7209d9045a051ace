"""Boxes of detectors: overlaps, offsets, and drawing samples of anchors."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import bool_, float32, int32
from mycelia.ops.arithmetic import Maximum, Minimum
from mycelia.ops.comparison import GreaterEqual
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.exponential import Exp, Log
from mycelia.ops.function.drawing import rand
from mycelia.ops.function.padding import pad
from mycelia.ops.function.shaping import expand_dims, reshape, stack
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = ["bounding_box_decode", "bounding_box_encode", "choice_with_mask", "iou"]


@composite
def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Tensor:
    """How much boxes overlap: common area over joint area, or over that of the second with ``mode="iof"``.

    Args:
        anchor_boxes: ``[n, 4]``, (x0, y0, x1, y1), the last elements counting (widths are x1 - x0 + 1).
        gt_boxes: ``[m, 4]``.
        mode: ``"iou"`` or ``"iof"``.

    Returns:
        ``[m, n]``.

    Raises:
        ValueError: another mode, or other shapes.
    """
    a, b = require_tensor("iou", anchor_boxes), require_tensor("iou", gt_boxes, "gt_boxes")
    if mode not in ("iou", "iof"):
        raise ValueError(f"iou: mode must be 'iou' or 'iof'. Received: mode={mode!r}")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != 4 or b.shape[1] != 4:
        raise ValueError(f"iou: the boxes must be [n, 4] and [m, 4]. Received: {a.type} and {b.type}")
    first, second = expand_dims(a, 0), expand_dims(b, 1)

    def side(low: Any, high: Any) -> Tensor:
        extent = high - low + 1.0
        return Maximum(extent, like(0, extent))

    common = side(Maximum(first[..., 0], second[..., 0]), Minimum(first[..., 2], second[..., 2])) * side(
        Maximum(first[..., 1], second[..., 1]), Minimum(first[..., 3], second[..., 3])
    )
    area_a, area_b = (side(t[..., 0], t[..., 2]) * side(t[..., 1], t[..., 3]) for t in (first, second))
    return common / (area_b if mode == "iof" else area_a + area_b - common)


def _centred(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    wide, high = boxes[..., 2] - boxes[..., 0] + 1.0, boxes[..., 3] - boxes[..., 1] + 1.0
    return (boxes[..., 0] + boxes[..., 2]) * 0.5, (boxes[..., 1] + boxes[..., 3]) * 0.5, wide, high


@composite
def bounding_box_encode(
    anchor_box: Any, groundtruth_box: Any, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)
) -> Tensor:
    """The offsets ``[n, 4]`` that take anchors to boxes (Girshick et al. 2014): of the centre over the
    anchor's size, and the logarithm of the ratio of sizes; less means, over stds."""
    ax, ay, aw, ah = _centred(anchor_box)
    gx, gy, gw, gh = _centred(groundtruth_box)
    offsets = stack([(gx - ax) / aw, (gy - ay) / ah, Log(gw / aw), Log(gh / ah)], -1)
    means, stds = (cast(constant(list(v)), offsets.dtype) for v in (means, stds))
    return (offsets - means) / stds


@composite
def bounding_box_decode(
    anchor_box: Any,
    deltas: Any,
    max_shape: Any,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """The boxes ``[n, 4]`` that offsets take anchors to, within an image of ``max_shape`` (height, width):
    undoes `bounding_box_encode`."""
    means, stds = (cast(constant(list(v)), deltas.dtype) for v in (means, stds))
    d = deltas * stds + means
    bound = abs(math.log(wh_ratio_clip))
    ax, ay, aw, ah = _centred(anchor_box)
    wide, high = (
        size * Exp(Minimum(Maximum(d[..., i], like(-bound, d)), like(bound, d)))
        for i, size in ((2, aw), (3, ah))
    )
    x, y = ax + aw * d[..., 0], ay + ah * d[..., 1]
    corners = (
        (x - wide * 0.5 + 0.5, max_shape[1]), (y - high * 0.5 + 0.5, max_shape[0]),
        (x + wide * 0.5 - 0.5, max_shape[1]), (y + high * 0.5 - 0.5, max_shape[0]),
    )
    return stack([Minimum(Maximum(c, like(0, c)), like(float(m) - 1.0, c)) for c, m in corners], -1)


def choice_with_mask(input_x: Any, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Draws ``count`` of the elements that hold, without repetition.

    Args:
        input_x: booleans of one to five axes.
        count: how many.
        seed: starts a sequence of its own.

    Returns:
        The places (int32, ``[count, axes]``) and whether each was drawn (bool): rows beyond the elements that
        hold are 0 and False.

    Raises:
        TypeError: no booleans.
        ValueError: a 0-d tensor, or a count that is not positive.
    """
    from mycelia.ops.function.reducing import topk
    x = require_tensor("choice_with_mask", input_x)
    if x.dtype is not bool_:
        raise TypeError(f"choice_with_mask: the input must be booleans. Received: {x.type}")
    if x.ndim < 1 or count < 1:
        raise ValueError(
            "choice_with_mask: the input must have at least one axis and count be positive. Received: "
            f"{x.type}, count={count}"
        )
    flat = reshape(x, (-1,))
    drawn = rand(flat.shape[0], seed=seed) if seed else rand(flat.shape[0])
    order = Select(flat, drawn, like(-1, drawn))
    number = min(count, int(flat.shape[0]))
    keys, places = topk(order, number)
    valid = GreaterEqual(keys, like(0, keys))
    places = Select(valid, places, like(0, places))
    columns = []
    for extent in reversed(x.shape):
        columns.append(places % extent)
        places = places // extent
    rows = cast(stack(columns[::-1], -1), int32)
    if number == count:
        return rows, valid
    more = cast(pad(cast(valid, float32), (0, count - number)), bool_)
    return pad(rows, (0, 0, 0, count - number)), more
