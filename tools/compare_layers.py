"""Layers and losses side by side with MindSpore: values, shapes, dtypes, and the parameters' names.

Run with real MindSpore to write what it gives, then with Mycelia to compare:

    python tools/compare_layers.py --module mindspore --save tests/nn/mindspore_layers.json
    python tools/compare_layers.py --module mycelia --against tests/nn/mindspore_layers.json

The file holds for each output its dtype, its shape and two sums, one of them with weights that tell
elements apart.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def filled(cell: Any, ms: Any) -> Any:
    """Gives the parameters values that both sides agree on."""
    for p in cell.get_parameters():
        values = np.cos(np.arange(int(np.prod(p.shape))) * 1.7) * 0.3
        if "gamma" in p.name or "variance" in p.name:
            values = values + 1
        p.set_data(ms.Tensor(values.astype(np.float32).reshape(p.shape)))
    return cell


def cases(ms: Any) -> dict[str, tuple[Callable[[], Any], list[tuple[int, ...]]]]:
    """By name: what makes a cell, or a function of its inputs, and the inputs' shapes."""
    nn, T = ms.nn, ms.Tensor

    def ints(*values: Any) -> Any:
        return T(np.array(values, np.int32))

    def floats(*values: Any) -> Any:
        return T(np.array(values, np.float32))

    def with_more(cell: Any, *more: Any) -> Any:
        """The cell called with further inputs of fixed values."""
        made = filled(cell, ms)
        return lambda *xs: made(*xs, *more)

    def only(cell: Any, *inputs: Any) -> Any:
        """The cell called with inputs of fixed values alone."""
        made = filled(cell, ms)
        return lambda _: made(*inputs)

    def ctc(cell: Any, targets: Any) -> Any:
        return lambda x: cell(nn.LogSoftmax()(x), targets, ints(6, 5), ints(2, 3))

    return {
        "Conv1d": (lambda: nn.Conv1d(4, 6, 3, 2, has_bias=True, group=2), [(2, 4, 9)]),
        "Conv1d pad": (lambda: nn.Conv1d(4, 6, 3, 2, "pad", 2, has_bias=True), [(2, 4, 9)]),
        "Conv3d": (lambda: nn.Conv3d(4, 6, 3, 2, has_bias=True), [(2, 4, 5, 6, 7)]),
        "Conv3d pad": (lambda: nn.Conv3d(4, 6, (1, 2, 3), (1, 2, 1), "pad", 1, group=2), [(2, 4, 5, 6, 7)]),
        "Conv3d valid": (lambda: nn.Conv3d(4, 6, (1, 2, 3), pad_mode="valid"), [(2, 4, 5, 6, 7)]),
        "Conv1dT": (lambda: nn.Conv1dTranspose(4, 6, 3, 2, has_bias=True, group=2), [(2, 4, 9)]),
        "Conv1dT pad": (lambda: nn.Conv1dTranspose(4, 6, 3, 2, "pad", 1), [(2, 4, 9)]),
        "Conv2dT": (lambda: nn.Conv2dTranspose(4, 6, 3, 2, has_bias=True), [(2, 4, 5, 6)]),
        "Conv2dT valid": (lambda: nn.Conv2dTranspose(4, 6, (3, 2), 2, "valid", group=2), [(2, 4, 5, 6)]),
        "Conv2dT pad": (lambda: nn.Conv2dTranspose(4, 6, 4, 2, "pad", 1, dilation=2), [(2, 4, 5, 6)]),
        "Conv2dT out": (lambda: nn.Conv2dTranspose(4, 6, 3, 2, "pad", 1, output_padding=1), [(2, 4, 5, 6)]),
        "Conv3dT": (lambda: nn.Conv3dTranspose(4, 6, 3, 2, has_bias=True), [(2, 4, 3, 5, 6)]),
        "Conv3dT pad": (lambda: nn.Conv3dTranspose(4, 6, 3, 2, "pad", 1), [(2, 4, 3, 5, 6)]),
        "MaxPool1d": (lambda: nn.MaxPool1d(3, 2, "same"), [(2, 3, 8)]),
        "MaxPool1d pad": (lambda: nn.MaxPool1d(3, 2, "pad", 1), [(2, 3, 8)]),
        "MaxPool3d": (lambda: nn.MaxPool3d(2, 2), [(2, 3, 5, 6, 7)]),
        "MaxPool3d pad": (lambda: nn.MaxPool3d(3, 2, "pad", 1, ceil_mode=True), [(2, 3, 5, 6, 7)]),
        "AvgPool1d": (lambda: nn.AvgPool1d(3, 2, "same"), [(2, 3, 8)]),
        "AvgPool1d pad": (lambda: nn.AvgPool1d(3, 2, "pad", 1), [(2, 3, 8)]),
        "AvgPool3d": (lambda: nn.AvgPool3d(2, 2), [(2, 3, 5, 6, 7)]),
        "AvgPool3d pad": (lambda: nn.AvgPool3d(3, 2, "pad", 1), [(2, 3, 5, 6, 7)]),
        "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(3), [(2, 3, 9)]),
        "AdaptiveAvgPool3d": (lambda: nn.AdaptiveAvgPool3d((2, None, 3)), [(2, 3, 4, 5, 6)]),
        "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(3), [(2, 3, 9)]),
        "AdaptiveMaxPool3d": (lambda: nn.AdaptiveMaxPool3d((2, 2, 3)), [(2, 3, 4, 4, 6)]),
        "LPPool1d": (lambda: nn.LPPool1d(2, 3, 2), [(2, 3, 9)]),
        "LPPool2d": (lambda: nn.LPPool2d(2.0, 3, 2), [(2, 3, 9, 8)]),
        "MaxPool2d indices": (lambda: nn.MaxPool2d(2, 2, "pad", return_indices=True), [(2, 3, 6, 6)]),
        "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3), [(2, 3, 5)]),
        "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3), [(2, 3, 5, 4)]),
        "InstanceNorm3d": (lambda: nn.InstanceNorm3d(3), [(2, 3, 5, 4, 2)]),
        "GroupNorm": (lambda: nn.GroupNorm(2, 4), [(2, 4, 5, 4)]),
        "BatchNorm3d": (lambda: nn.BatchNorm3d(3), [(2, 3, 5, 4, 2)]),
        "LayerNormExt": (lambda: nn.LayerNormExt((4,)), [(2, 3, 4)]),
        "Pad": (lambda: nn.Pad(((1, 2), (0, 1))), [(2, 3)]),
        "Pad reflect": (lambda: nn.Pad(((1, 1), (2, 1)), "REFLECT"), [(3, 4)]),
        "Pad symmetric": (lambda: nn.Pad(((1, 1), (2, 1)), "SYMMETRIC"), [(3, 4)]),
        "ConstantPad1d": (lambda: nn.ConstantPad1d((1, 2), 0.5), [(2, 3, 4)]),
        "ConstantPad2d": (lambda: nn.ConstantPad2d((1, -1, 0, 2), 0.5), [(2, 3, 4)]),
        "ConstantPad3d": (lambda: nn.ConstantPad3d(1, 0.5), [(2, 3, 4, 2)]),
        "ReflectionPad1d": (lambda: nn.ReflectionPad1d((1, 2)), [(2, 3, 4)]),
        "ReflectionPad2d": (lambda: nn.ReflectionPad2d((1, 2, 0, 1)), [(2, 3, 4, 5)]),
        "ReflectionPad3d": (lambda: nn.ReflectionPad3d(1), [(2, 3, 4, 5, 3)]),
        "ReplicationPad1d": (lambda: nn.ReplicationPad1d((1, 2)), [(2, 3, 4)]),
        "ReplicationPad2d": (lambda: nn.ReplicationPad2d((1, 2, 0, 1)), [(2, 3, 4, 5)]),
        "ReplicationPad3d": (lambda: nn.ReplicationPad3d(1), [(2, 3, 4, 5, 3)]),
        "ZeroPad2d": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), [(2, 3, 4, 5)]),
        "ClipByNorm": (lambda: with_more(nn.ClipByNorm(), T(np.float32(1.0))), [(2, 3)]),
        "Norm": (lambda: nn.Norm(axis=1, keep_dims=True), [(2, 3)]),
        "Norm all": (lambda: nn.Norm(), [(2, 3)]),
        "L1Regularizer": (lambda: nn.L1Regularizer(0.5), [(2, 3)]),
        "Linear": (lambda: nn.Linear(3, 4), [(2, 3)]),
        "BiDense": (lambda: nn.BiDense(3, 4, 5), [(2, 3), (2, 4)]),
        "Roll": (lambda: nn.Roll([1, 2], [0, 1]), [(3, 4)]),
        "Tril": (lambda: nn.Tril(), [(3, 4)]),
        "Triu": (lambda: nn.Triu(), [(3, 4)]),
        "Unflatten": (lambda: nn.Unflatten(1, (2, 3)), [(2, 6)]),
        "Unfold": (lambda: nn.Unfold([1, 2, 2, 1], [1, 1, 2, 1], [1, 1, 1, 1]), [(2, 3, 5, 6)]),
        "Unfold same": (lambda: nn.Unfold([1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 2, 1], "same"), [(2, 3, 5, 6)]),
        "Upsample": (lambda: nn.Upsample(scale_factor=2.0, recompute_scale_factor=True), [(2, 3, 5, 6)]),
        "Upsample bi": (
            lambda: nn.Upsample(size=(7, 9), mode="bilinear", align_corners=True),
            [(2, 3, 5, 6)],
        ),
        "PixelShuffle": (lambda: nn.PixelShuffle(2), [(2, 8, 3, 4)]),
        "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), [(2, 2, 6, 4)]),
        "ChannelShuffle": (lambda: nn.ChannelShuffle(2), [(2, 4, 3, 3)]),
        "Conv2dBnAct": (
            lambda: nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation="relu", has_bias=True),
            [(2, 3, 5, 5)],
        ),
        "Conv2dBnAct leaky": (
            lambda: nn.Conv2dBnAct(3, 4, 3, activation="leakyrelu", alpha=0.3),
            [(2, 3, 5, 5)],
        ),
        "DenseBnAct": (lambda: nn.DenseBnAct(3, 4, has_bn=True, activation="relu"), [(2, 3)]),
        "CentralCrop": (lambda: nn.CentralCrop(0.5), [(3, 8, 9)]),
        "ImageGradients": (lambda: nn.ImageGradients(), [(1, 1, 4, 4)]),
        "PSNR": (lambda: nn.PSNR(), [(2, 3, 4, 4), (2, 3, 4, 4)]),
        "SSIM": (lambda: nn.SSIM(), [(1, 3, 16, 16), (1, 3, 16, 16)]),
        "MSSSIM": (
            lambda: nn.MSSSIM(power_factors=(0.033, 0.033, 0.033), filter_size=5),
            [(1, 3, 48, 48), (1, 3, 48, 48)],
        ),
        "CELU": (lambda: nn.CELU(2.0), [(2, 3)]),
        "FastGelu": (lambda: nn.FastGelu(), [(2, 3)]),
        "GLU": (lambda: nn.GLU(), [(2, 4)]),
        "HShrink": (lambda: nn.HShrink(), [(2, 3)]),
        "Hardtanh": (lambda: nn.Hardtanh(-0.5, 0.6), [(2, 3)]),
        "LRN": (lambda: nn.LRN(), [(2, 7, 3, 3)]),
        "LRN2": (lambda: nn.LRN(2, 2.0, 0.5, 0.7), [(2, 7, 3, 3)]),
        "PReLU": (lambda: nn.PReLU(3), [(2, 3, 4)]),
        "SoftShrink": (lambda: nn.SoftShrink(), [(2, 3)]),
        "Softmax2d": (lambda: nn.Softmax2d(), [(2, 3, 2, 2)]),
        "Softmin": (lambda: nn.Softmin(), [(2, 3)]),
        "Tanhshrink": (lambda: nn.Tanhshrink(), [(2, 3)]),
        "Threshold": (lambda: nn.Threshold(0.1, 20.0), [(2, 3)]),
        "OneHot": (lambda: only(nn.OneHot(depth=4), ints(0, 2, 1)), [(1,)]),
        "OneHot axis": (lambda: only(nn.OneHot(0, 3, 2.0, -1.0), ints([0, 2], [1, 1])), [(1,)]),
        "Moments": (lambda: nn.Moments(axis=1, keep_dims=True), [(2, 3, 4)]),
        "Range": (lambda: only(nn.Range(1, 8, 2)), [(1,)]),
        "ReduceLogSumExp": (lambda: nn.ReduceLogSumExp(1), [(2, 3)]),
        "MatMul": (lambda: nn.MatMul(False, True), [(2, 3), (4, 3)]),
        "MatrixDiag": (lambda: nn.MatrixDiag(), [(2, 3)]),
        "MatrixDiagPart": (lambda: nn.MatrixDiagPart(), [(2, 3, 4)]),
        "MatrixSetDiag": (lambda: nn.MatrixSetDiag(), [(2, 3, 3), (2, 3)]),
        "TimeDistributed": (
            lambda: nn.TimeDistributed(nn.Dense(3, 4), time_axis=1, reshape_with_axis=0),
            [(2, 5, 3)],
        ),
        "EmbeddingLookup": (lambda: only(nn.EmbeddingLookup(4, 3), ints([0, 2], [1, 1])), [(1,)]),
        "MultiheadAttention": (lambda: nn.MultiheadAttention(8, 2), [(3, 2, 8), (4, 2, 8), (4, 2, 8)]),
        "MultiheadAttention bf": (
            lambda: nn.MultiheadAttention(8, 2, batch_first=True, kdim=6, vdim=4, add_bias_kv=True),
            [(2, 3, 8), (2, 4, 6), (2, 4, 4)],
        ),
        "EncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16), [(3, 2, 8)]),
        "EncoderLayer nf": (
            lambda: nn.TransformerEncoderLayer(
                8, 2, 16, norm_first=True, batch_first=True, activation="gelu"
            ),
            [(2, 3, 8)],
        ),
        "DecoderLayer": (lambda: nn.TransformerDecoderLayer(8, 2, 16), [(3, 2, 8), (4, 2, 8)]),
        "Encoder": (
            lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, norm=nn.LayerNorm((8,))),
            [(3, 2, 8)],
        ),
        "Decoder": (
            lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2),
            [(3, 2, 8), (4, 2, 8)],
        ),
        "Transformer": (lambda: nn.Transformer(8, 2, 1, 2, 16), [(3, 2, 8), (4, 2, 8)]),
        "RNN": (lambda: nn.RNN(4, 5, 2, has_bias=True, batch_first=True, bidirectional=True), [(2, 6, 4)]),
        "GRU": (lambda: nn.GRU(4, 5, 2, has_bias=True, batch_first=False, bidirectional=True), [(6, 2, 4)]),
        "LSTM": (lambda: nn.LSTM(4, 5, 2, has_bias=True, batch_first=True, bidirectional=True), [(2, 6, 4)]),
        "LSTM nobias": (
            lambda: nn.LSTM(4, 5, 1, has_bias=False),
            [
                (6, 2, 4),
            ],
        ),
        "RNN relu": (lambda: nn.RNN(4, 5, 1, nonlinearity="relu"), [(6, 2, 4), (1, 2, 5)]),
        "GRU seq": (
            lambda: with_more(nn.GRU(4, 5, 1, batch_first=True, bidirectional=True), None, ints(3, 6)),
            [(2, 6, 4)],
        ),
        "LSTM seq": (lambda: with_more(nn.LSTM(4, 5, 2, batch_first=True), None, ints(3, 6)), [(2, 6, 4)]),
        "GRUCell": (lambda: nn.GRUCell(4, 5), [(2, 4), (2, 5)]),
        "RNNCell": (lambda: nn.RNNCell(4, 5), [(2, 4), (2, 5)]),
        "LSTMCell": (
            lambda: (lambda cell: lambda x, h, c: cell(x, (h, c)))(filled(nn.LSTMCell(4, 5), ms)),
            [(2, 4), (2, 5), (2, 5)],
        ),
        # losses
        "KLDivLoss": (lambda: nn.KLDivLoss(), [(2, 3), (2, 3)]),
        "RMSELoss": (lambda: nn.RMSELoss(), [(2, 3), (2, 3)]),
        "MAELoss": (lambda: nn.MAELoss(), [(2, 3), (2, 3)]),
        "DiceLoss": (lambda: nn.DiceLoss(), [(2, 3), (2, 3)]),
        "MultiClassDiceLoss": (lambda: nn.MultiClassDiceLoss(), [(2, 3), (2, 3)]),
        "FocalLoss": (
            lambda: with_more(nn.FocalLoss(weight=floats(0.2, 0.3, 0.5)), ints([1], [0], [2])),
            [(3, 3)],
        ),
        "FocalLoss plain": (
            lambda: with_more(nn.FocalLoss(gamma=1.0, reduction="none"), ints([1], [0], [2])),
            [(3, 3)],
        ),
        "FocalLoss 4d": (
            lambda: with_more(nn.FocalLoss(), T(np.ones((2, 1, 2, 2), np.int32))),
            [(2, 3, 2, 2)],
        ),
        "CosineEmbeddingLoss": (
            lambda: with_more(nn.CosineEmbeddingLoss(margin=0.1), ints(1, -1)),
            [(2, 3), (2, 3)],
        ),
        "MarginRankingLoss": (lambda: with_more(nn.MarginRankingLoss(), floats(1, -1, 1)), [(3,), (3,)]),
        "HingeEmbeddingLoss": (
            lambda: with_more(nn.HingeEmbeddingLoss(), floats([1, -1, 1], [1, 1, -1])),
            [(2, 3)],
        ),
        "SoftMarginLoss": (lambda: with_more(nn.SoftMarginLoss(), floats([1, -1, 1], [1, 1, -1])), [(2, 3)]),
        "GaussianNLLLoss": (
            lambda: with_more(nn.GaussianNLLLoss(full=True), floats([1, 0.5, 1], [1, 1, 0.2])),
            [(2, 3), (2, 3)],
        ),
        "PoissonNLLLoss": (lambda: nn.PoissonNLLLoss(), [(2, 3), (2, 3)]),
        "MultiMarginLoss": (lambda: with_more(nn.MultiMarginLoss(), T(np.array([1, 0], np.int64))), [(2, 3)]),
        "MultilabelMarginLoss": (
            lambda: with_more(nn.MultilabelMarginLoss(), ints([1, 2, 0, 3], [2, 3, -1, 1])),
            [(2, 4)],
        ),
        "MultiLabelSoftMarginLoss": (
            lambda: with_more(nn.MultiLabelSoftMarginLoss(), floats([1, 0, 1], [0, 1, 1])),
            [(2, 3)],
        ),
        "TripletMarginLoss": (
            lambda: with_more(nn.TripletMarginLoss(), T(np.float32(1.0))),
            [(2, 3), (2, 3), (2, 3)],
        ),
        "TripletMarginWithDistanceLoss": (
            lambda: nn.TripletMarginWithDistanceLoss(swap=True, margin=0.5),
            [(2, 3), (2, 3), (2, 3)],
        ),
        "CTCLoss": (lambda: ctc(nn.CTCLoss(), ints([1, 2, 1], [2, 2, 1])), [(6, 2, 4)]),
        "CTCLoss sum": (
            lambda: ctc(nn.CTCLoss(blank=3, reduction="sum"), ints([0, 2, 1], [2, 2, 1])),
            [(6, 2, 4)],
        ),
    }


def leaves(result: Any) -> Iterator[np.ndarray]:
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from leaves(item)
    else:
        yield result.asnumpy()


def digest(array: np.ndarray) -> list[Any]:
    values = array.astype(np.float64).ravel()
    weights = np.sin(np.arange(values.size) + 1.0)
    return [str(array.dtype), list(array.shape), float(values.sum()), float(values @ weights)]


def outcome(ms: Any, name: str) -> dict[str, Any]:
    """The parameters of a case as ``[name, shape, requires_grad]``, and digests of its outputs."""
    make, shapes = cases(ms)[name]
    draws = np.random.RandomState(sum(map(ord, name)))
    cell, parameters = make(), None
    if isinstance(cell, ms.nn.Cell):
        filled(cell, ms).set_train(False)
        parameters = [[p.name, list(p.shape), p.requires_grad] for p in cell.get_parameters()]
    inputs = [ms.Tensor(draws.standard_normal(shape).astype(np.float32)) for shape in shapes]
    return {"parameters": parameters, "outputs": [digest(a) for a in leaves(cell(*inputs))]}


def differences(got: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """What is not the same, in words; sums may differ by float32's rounding."""
    found = []
    if expected["parameters"] != got["parameters"]:
        found.append(f"parameters {got['parameters']} instead of {expected['parameters']}")
    if len(got["outputs"]) != len(expected["outputs"]):
        return [*found, f"{len(got['outputs'])} outputs instead of {len(expected['outputs'])}"]
    for i, (a, b) in enumerate(zip(got["outputs"], expected["outputs"])):
        tolerance = 2e-5 * max(1, np.prod(b[1]) ** 0.5) + 2e-5 * abs(b[2])
        if a[:2] != b[:2]:
            found.append(f"output {i} is {a[:2]} instead of {b[:2]}")
        elif not np.allclose(a[2:], b[2:], rtol=0, atol=tolerance):
            found.append(f"output {i} has sums {a[2:]} instead of {b[2:]}")
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--module", choices=("mindspore", "mycelia"), default="mycelia")
    options.add_argument("--save")
    options.add_argument("--against")
    chosen = options.parse_args()
    ms = importlib.import_module(chosen.module)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    results = {}
    for name in cases(ms):
        try:
            results[name] = outcome(ms, name)
        except Exception as error:  # noqa: BLE001  (the table shows it)
            print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:120]}", file=sys.stderr)
    if chosen.save:
        with open(chosen.save, "w", encoding="utf-8") as file:
            file.write(
                "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in results.items()) + "\n}\n"
            )
    failures = 0
    if chosen.against:
        with open(chosen.against, encoding="utf-8") as file:
            expected = json.load(file)
        for name, want in expected.items():
            found = differences(results[name], want) if name in results else ["nothing came of it"]
            failures += bool(found)
            for difference in found:
                print(f"{name}: {difference}")
        print(f"{len(expected)} compared, {failures} differ")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
