"""Boxes of detectors: overlaps, offsets, and drawing samples of anchors."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir.dtypes import bool_, float32, int32
from mycelia.ops.arithmetic import Maximum, Minimum
from mycelia.ops.comparison import Greater, GreaterEqual, Less, LessEqual
from mycelia.ops.composite import composite
from mycelia.ops.constants import constant, like
from mycelia.ops.creation import Iota
from mycelia.ops.exponential import Exp, Log
from mycelia.ops.function.drawing import rand
from mycelia.ops.function.padding import pad
from mycelia.ops.function.shaping import broadcast_to, expand_dims, reshape, stack, transpose
from mycelia.ops.indexing import Gather
from mycelia.ops.logic import LogicalAnd, LogicalOr
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.reduction import ReduceMean
from mycelia.ops.rounding import Floor
from mycelia.ops.selection import Select
from mycelia.ops.suppression import GreedyKeep
from mycelia.tensor.tensor import Tensor

__all__ = [
    "bounding_box_decode", "bounding_box_encode", "check_valid", "choice_with_mask", "crop_and_resize", "iou",
    "nms_with_mask", "roi_align",
]


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


# -- regions of interest -------------------------------------------------------------------------------------
def _sampled(x: Tensor, image: Tensor, ys: Tensor, xs: Tensor, margin: float, outside: float) -> Tensor:
    """Bilinear samples ``[n, count, c]`` of images ``[b, c, h, w]``: of image ``image[n]`` at ``ys, xs [n,
    count]``; ``outside`` where a place lies more than ``margin`` beyond the elements."""
    b, c, h, w = (int(d) for d in x.shape)
    rows = reshape(transpose(x, (0, 2, 3, 1)), (b * h * w, c))
    far = None
    taps = []
    for at, extent in ((ys, h), (xs, w)):
        beyond = LogicalOr(Less(at, like(-margin, at)), Greater(at, like(extent - 1 + margin, at)))
        far = beyond if far is None else LogicalOr(far, beyond)
        at = Minimum(Maximum(at, like(0, at)), like(extent - 1, at))
        low = Floor(at)
        high = Minimum(low + 1.0, like(extent - 1, at))
        taps.append(((low, 1.0 - (at - low)), (high, at - low)))
    first = reshape(cast(image, int32), (-1, 1)) * (h * w)
    total: Any = None
    for y, y_share in taps[0]:
        for x_at, x_share in taps[1]:
            place = first + cast(y, int32) * w + cast(x_at, int32)
            part = Gather(rows, place, axis=0) * expand_dims(y_share * x_share, -1)
            total = part if total is None else total + part
    return Select(expand_dims(far, -1), like(outside, total), total)


def _lines(starts: Tensor, steps: Tensor, offsets: Any) -> Tensor:
    """``starts[n] + offsets[i] * steps[n]``."""
    line = cast(constant(list(offsets)), starts.dtype)
    return reshape(starts, (-1, 1)) + reshape(steps, (-1, 1)) * reshape(line, (1, -1))


def _crossed(ys: Tensor, xs: Tensor) -> tuple[Tensor, Tensor]:
    """All pairs of rows and columns, row by row."""
    n, high, wide = ys.shape[0], ys.shape[1], xs.shape[1]
    return (
        reshape(broadcast_to(expand_dims(ys, 2), (n, high, wide)), (n, -1)),
        reshape(broadcast_to(expand_dims(xs, 1), (n, high, wide)), (n, -1)),
    )


@composite
def roi_align(
    features: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sample_num: int = 2,
    roi_end_mode: int = 1,
) -> Tensor:
    """The means of samples on a grid over regions of interest (He et al. 2017).

    Args:
        features: ``[b, c, h, w]``.
        rois: ``[n, 5]``: the image, x0, y0, x1, y1.
        pooled_height, pooled_width: cells of the grid.
        spatial_scale: of the features to the coordinates.
        sample_num: samples along each axis of a cell, positive.
        roi_end_mode: 1: the last elements of regions count (x1 + 1, y1 + 1), 0: they do not.

    Returns:
        ``[n, c, pooled_height, pooled_width]``.

    Raises:
        ValueError: other shapes, no samples.
    """
    x, boxes = require_tensor("roi_align", features), require_tensor("roi_align", rois, "rois")
    if x.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 5 or sample_num < 1:
        raise ValueError(
            "roi_align: features must be [b, c, h, w], rois [n, 5] and sample_num positive. Received: "
            f"{x.type}, {boxes.type}, sample_num={sample_num}"
        )
    spots = []
    for low, high, cells in ((2, 4, pooled_height), (1, 3, pooled_width)):
        start = boxes[:, low] * spatial_scale
        step = (boxes[:, high] + float(roi_end_mode)) * spatial_scale - start
        count = cells * sample_num
        spots.append(_lines(start, step, [(i + 0.5) / count for i in range(count)]))
    y = _sampled(x, boxes[:, 0], *_crossed(*spots), 1.0, 0.0)
    cells = reshape(y, (y.shape[0], pooled_height, sample_num, pooled_width, sample_num, x.shape[1]))
    return transpose(ReduceMean(cells, axes=(2, 4), keepdims=False), (0, 3, 1, 2))


@composite
def crop_and_resize(
    image: Any, boxes: Any, box_indices: Any, crop_size: Any, method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Crops of images, resized to one size.

    Args:
        image: ``[b, h, w, c]``.
        boxes: ``[n, 4]``: y0, x0, y1, x1, 0 and 1 being the centres of the first and last elements.
        box_indices: ``[n]``, the image of each box.
        crop_size: (height, width).
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: beyond the image.

    Returns:
        ``[n, *crop_size, c]``.

    Raises:
        ValueError: another method, other shapes.
    """
    x, boxes = require_tensor("crop_and_resize", image), require_tensor("crop_and_resize", boxes, "boxes")
    if method not in ("bilinear", "nearest") or x.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(
            "crop_and_resize: image must be [b, h, w, c], boxes [n, 4], method 'bilinear' or 'nearest'. "
            f"Received: {x.type}, {boxes.type}, method={method!r}"
        )
    spots = []
    for low, high, cells, extent in ((0, 2, crop_size[0], x.shape[1]), (1, 3, crop_size[1], x.shape[2])):
        offsets = [i / (cells - 1) for i in range(cells)] if cells > 1 else [0.5]
        spots.append(_lines(boxes[:, low], boxes[:, high] - boxes[:, low], offsets) * (extent - 1.0))
    wide = cast(transpose(x, (0, 3, 1, 2)), float32)
    ys, xs = _crossed(*spots)
    if method == "nearest":
        inside = [LogicalAnd(GreaterEqual(at, like(0, at)), LessEqual(at, like(d - 1, at)))
                  for at, d in ((ys, x.shape[1]), (xs, x.shape[2]))]
        y = _sampled(wide, box_indices, *(Floor(at + 0.5) for at in (ys, xs)), 1.0, 0.0)
        y = Select(expand_dims(LogicalAnd(*inside), -1), y, like(extrapolation_value, y))
    else:
        y = _sampled(wide, box_indices, ys, xs, 0.0, float(extrapolation_value))
    return reshape(y, (y.shape[0], *crop_size, x.shape[3]))


def check_valid(bboxes: Any, img_metas: Any) -> Tensor:
    """Which boxes ``[n, 4]`` lie within an image of (height, width) times a ratio: the three of
    ``img_metas``."""
    limits = img_metas * img_metas[2]
    zero = like(0, bboxes)
    inside = LogicalAnd(GreaterEqual(bboxes[:, 0], zero), GreaterEqual(bboxes[:, 1], zero))
    right = LessEqual(bboxes[:, 2], cast(limits[1] - 1, bboxes.dtype))
    return LogicalAnd(LogicalAnd(inside, right), LessEqual(bboxes[:, 3], cast(limits[0] - 1, bboxes.dtype)))


def nms_with_mask(bboxes: Any, iou_threshold: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
    """Greedy suppression: of boxes that overlap by more than the threshold, the one with the highest score
    stays.

    Args:
        bboxes: ``[n, 5]``: x0, y0, x1, y1, score.
        iou_threshold: from 0 to 1.

    Returns:
        The boxes by falling score, their numbers in that order (0, 1, ..., int32), and which stay (bool).

    Raises:
        ValueError: other shapes, a threshold outside [0, 1].
    """
    from mycelia.ops.function.reducing import argsort
    x = require_tensor("nms_with_mask", bboxes)
    if x.ndim != 2 or x.shape[1] != 5 or not 0 <= iou_threshold <= 1:
        raise ValueError(
            "nms_with_mask: the boxes must be [n, 5] and iou_threshold in [0, 1]. Received: "
            f"{x.type}, iou_threshold={iou_threshold}"
        )
    ordered = Gather(x, argsort(x[:, 4], -1, True), axis=0)
    first, second = expand_dims(ordered, 0), expand_dims(ordered, 1)

    def side(low: Tensor, high: Tensor) -> Tensor:
        return Maximum(high - low, like(0, low))

    common = side(Maximum(first[..., 0], second[..., 0]), Minimum(first[..., 2], second[..., 2])) * side(
        Maximum(first[..., 1], second[..., 1]), Minimum(first[..., 3], second[..., 3])
    )
    area = side(ordered[:, 0], ordered[:, 2]) * side(ordered[:, 1], ordered[:, 3])
    joint = expand_dims(area, 0) + expand_dims(area, 1) - common
    overlaps = Greater(common, joint * iou_threshold)
    return ordered, Iota(size=x.shape[0], dtype=int32), GreedyKeep(overlaps)
