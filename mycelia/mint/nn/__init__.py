"""``mint.nn``: layers with PyTorch's names and parameters, thin over `functional`."""

from __future__ import annotations

from typing import Any

from mycelia.mint.nn import functional
from mycelia.mint.nn.cells import cell
from mycelia.mint.nn.layers import *  # noqa: F403
from mycelia.nn.cell import Cell

F = functional

ReLU = cell("ReLU", F.relu, only="")
ReLU6 = cell("ReLU6", F.relu6)
ELU = cell("ELU", F.elu)
SELU = cell("SELU", F.selu)
GELU = cell("GELU", F.gelu)
SiLU = cell("SiLU", F.silu)
Mish = cell("Mish", F.mish)
GLU = cell("GLU", F.glu)
Sigmoid = cell("Sigmoid", F.sigmoid)
Tanh = cell("Tanh", F.tanh)
LogSigmoid = cell("LogSigmoid", F.logsigmoid)
Softmax = cell("Softmax", F.softmax, only="dim")
LogSoftmax = cell("LogSoftmax", F.log_softmax, only="dim")
Hardshrink = cell("Hardshrink", F.hardshrink)
Softshrink = cell("Softshrink", F.softshrink)
Hardsigmoid = cell("Hardsigmoid", F.hardsigmoid)
Hardswish = cell("Hardswish", F.hardswish)
Hardtanh = cell("Hardtanh", F.hardtanh)
Threshold = cell("Threshold", F.threshold)

Dropout = cell("Dropout", F.dropout)
Dropout2d = cell("Dropout2d", F.dropout2d)
Flatten = cell("Flatten", F.flatten, start_dim=1)
Fold = cell("Fold", F.fold)
Unfold = cell("Unfold", F.unfold)
PixelShuffle = cell("PixelShuffle", F.pixel_shuffle)

AvgPool1d = cell("AvgPool1d", F.avg_pool1d, only="kernel_size stride padding ceil_mode count_include_pad")
AvgPool2d = cell("AvgPool2d", F.avg_pool2d)
AvgPool3d = cell("AvgPool3d", F.avg_pool3d)
MaxPool2d = cell(
    "MaxPool2d", F.max_pool2d, only="kernel_size stride padding dilation return_indices ceil_mode",
    kernel_size=1,
)
MaxUnpool2d = cell("MaxUnpool2d", F.max_unpool2d, 2, only="kernel_size stride padding")
AdaptiveAvgPool1d = cell("AdaptiveAvgPool1d", F.adaptive_avg_pool1d)
AdaptiveAvgPool2d = cell("AdaptiveAvgPool2d", F.adaptive_avg_pool2d)
AdaptiveAvgPool3d = cell("AdaptiveAvgPool3d", F.adaptive_avg_pool3d)
AdaptiveMaxPool1d = cell("AdaptiveMaxPool1d", F.adaptive_max_pool1d)
AdaptiveMaxPool2d = cell("AdaptiveMaxPool2d", F.adaptive_max_pool2d)

BCELoss = cell("BCELoss", F.binary_cross_entropy, 2)
BCEWithLogitsLoss = cell("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, 2)
CosineEmbeddingLoss = cell("CosineEmbeddingLoss", F.cosine_embedding_loss, 3)
CrossEntropyLoss = cell("CrossEntropyLoss", F.cross_entropy, 2)
KLDivLoss = cell("KLDivLoss", F.kl_div, 2)
L1Loss = cell("L1Loss", F.l1_loss, 2)
MSELoss = cell("MSELoss", F.mse_loss, 2)
NLLLoss = cell("NLLLoss", F.nll_loss, 2, only="weight ignore_index reduction")
SmoothL1Loss = cell("SmoothL1Loss", F.smooth_l1_loss, 2)
SoftMarginLoss = cell("SoftMarginLoss", F.soft_margin_loss, 2)

Upsample = cell("Upsample", F.upsample, only="size scale_factor mode align_corners recompute_scale_factor")
UpsamplingNearest2d = cell("UpsamplingNearest2d", F.upsample, only="size scale_factor", mode="nearest")
UpsamplingBilinear2d = cell(
    "UpsamplingBilinear2d", F.upsample, only="size scale_factor", mode="bilinear", align_corners=True
)


def _padding(kind: str, axes: int, mode: str) -> type[Cell]:
    """``ReflectionPad2d(padding)`` and its like: an int, or (before, after) of the last axis, then of the one
    before it."""
    name = f"{kind}Pad{axes}d"

    def padded(input: Any, padding: Any, value: Any = None) -> Any:
        pads = (padding,) * (2 * axes) if isinstance(padding, int) else tuple(padding)
        if len(pads) != 2 * axes:
            raise ValueError(
                f"{name}: padding must be an int or {2 * axes} of them. Received: padding={padding!r}"
            )
        return F.pad(input, pads, mode, value)

    padded.__name__ = "pad"
    padded.__doc__ = f"Pads the last {axes} axes."
    return cell(name, padded, only="padding value" if kind == "Constant" else "padding", value=None)


for _kind, _mode in {
    "Constant": "constant", "Zero": "constant", "Reflection": "reflect", "Replication": "replicate"
}.items():
    for _axes in (1, 2, 3):
        globals()[f"{_kind}Pad{_axes}d"] = _padding(_kind, _axes, _mode)

__all__ = [
    "functional",
    *(name for name, value in globals().items() if isinstance(value, type) and issubclass(value, Cell)),
]
