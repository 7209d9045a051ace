"""The table of equivalents: each row runs, equals what NumPy says, and is quoted by the error of the name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import mycelia as mindspore
from mycelia import Tensor, compat, nn, ops
from mycelia.ops.equivalents import EQUIVALENTS

ROOT = Path(__file__).parents[2]
OWNERS = {"ops": ops, "nn": nn, "Tensor": Tensor}

A = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], np.float32)
B = A[::-1] + 1
V, INDEX, ROWS = A[1], np.array([[2, 0, 1], [0, 0, 1]], np.int32), np.array([1, 0], np.int32)
IMAGES = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2)
BATCH = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
SQUARE = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]], np.float32)



def names():
    return {
        "np": np, "mindspore": mindspore, "ops": ops, "nn": nn, "Tensor": Tensor, "array": A, "x": Tensor(A),
        "y": Tensor(B), "v": Tensor(V), "images": Tensor(IMAGES), "batch": Tensor(BATCH),
        "square": Tensor(SQUARE), "index": Tensor(INDEX), "rows": Tensor(ROWS),
        "places": Tensor(np.zeros((2, 2, 2), np.int32)), "net": nn.Dense(3, 2),
    }  # fmt: skip


def _six(x):
    return np.clip(x / 6 + 0.5, 0, 1)


# What each name means, in NumPy's words; a shape where weights are drawn, a class for what computes nothing.
MEANING = {
    "allclose": np.array(False), "as_tensor": A, "asarray": A, "bilinear": (2, 2), "clone": A, "detach": A,
    "broadcast_tensors": [np.stack([V, V]), A], "chain_matmul": A @ B.T @ A, "clamp_max": np.minimum(A, 2),
    "clamp_min": np.maximum(A, 2), "concatenate": np.concatenate([A, B]), "fill_": np.full_like(A, 2),
    "frobenius_norm": np.linalg.norm(A), "instance_norm": (2, 2, 2, 2), "logspace": [1.0, 10.0, 100.0],
    "masked_scatter": np.array([[0, 1, 2], B.ravel()[:3]], np.float32), "cat": np.concatenate([A, B]),
    "normalize": A / np.linalg.norm(A, axis=1, keepdims=True),
    "pairwise_distance": np.linalg.norm(A - B, axis=1), "poisson_nll_loss": np.mean(np.exp(A) - B * A),
    "relu_": A, "relu": A, "rsub": B - A, "scalar_tensor": np.float32(3), "sigmoid_": 1 / (1 + np.exp(-A)),
    "split_with_sizes": [A[:, :1], A[:, 1:]], "take_along_dim": np.take_along_axis(A, INDEX, 1),
    "tensor": [1.0, 2.0], "tensordot": A @ B.T, "trapezoid": np.array([2.0, 8.0]),
    "unflatten": A[:, :, None], "upsample_bilinear": (2, 2, 4, 4), "view": A.reshape(3, 2),
    "upsample_nearest": IMAGES.repeat(2, 2).repeat(2, 3), "zero_": np.zeros_like(A), "adjoint": A.T,
    "baddbmm_ext": BATCH + BATCH @ BATCH, "bidense": (2, 2), "deepcopy": A,
    "diff_ext": np.diff(A), "dyn_shape": [2, 3], "einsum_ext": A @ B.T, "fills": np.full_like(A, 2),
    "isnan_ext": np.isnan(A), "matrix_diag": np.diag(V), "matrix_diag_part": np.diag(SQUARE),
    "mse_loss_ext": np.mean((A - B) ** 2), "scalar_add": np.array(5), "scalar_mul": np.array(6),
    "shape_": [2, 3], "tanh_": np.tanh(A), "tensor_slice": A[0:1, 1:3], "Adam": nn.Adam,
    "ApplyMomentum": nn.Momentum, "CountNonZero": np.array(5), "DepthwiseConv2dNative": (2, 2, 2, 2),
    "EmbeddingLookup": A[ROWS], "EuclideanNorm": np.linalg.norm(A), "FillV2": np.full_like(A, 2),
    "Fills": np.full_like(A, 2), "Pack": np.stack([A, B]), "ReduceStd": np.std(A, 1, ddof=1),
    "Roll": np.roll(A, 1, 0), "SGD": nn.SGD, "SplitV": [A[:, :1], A[:, 1:]],
    "SquareSumAll": [np.sum(A * A), np.sum(B * B)], "TensorShape": [2, 3], "Unpack": [A[0], A[1]],
    "AdamW": nn.AdamWeightDecay, "Adamax": nn.AdaMax, "Bilinear": (2, 2), "ConvTranspose1d": (2, 4, 3),
    "ConvTranspose2d": (2, 4, 2, 2), "ConvTranspose3d": (2, 4, 1, 2, 2),
    "Hardshrink": np.where(abs(A) > 0.5, A, 0), "Hardsigmoid": _six(A), "Hardswish": A * _six(A),
    "LocalResponseNorm": (2, 2, 2, 2), "Module": nn.Cell, "ModuleDict": nn.CellDict,
    "ModuleList": nn.CellList, "NLLLoss2d": -IMAGES[:, 0].mean(), "Parameter": A, "ParameterList": [A],
    "PairwiseDistance": np.linalg.norm(A - B, axis=1), "RMSprop": nn.RMSProp,
    "SELU": 1.0507009873554805 * A, "Sequential": np.tanh(A), "Softplus": np.log1p(np.exp(A)),
    "Softshrink": np.maximum(A - 0.5, 0), "UpsamplingBilinear2d": (2, 2, 4, 4),
    "UpsamplingNearest2d": IMAGES.repeat(2, 2).repeat(2, 3), "ZeroPad1d": np.pad(A, ((0, 0), (1, 1))),
    "cpu": A, "cuda": A, "detach_": A, "dist": np.linalg.norm(A - B), "element_size": np.array(4),
    "exp2": np.exp2(A), "move_to": A, "mv": A @ V, "ndimension": np.array(2), "round_": A, "squeeze_": A,
    "log_softmax": A - np.log(np.exp(A).sum(1, keepdims=True)), "stride": [12, 4], "unsqueeze_": A[None],
    "zeros": np.zeros((2, 3)), "device": type(None), "from_numpy": A, "manual_seed": type(None),
}  # fmt: skip
DECOMPOSITIONS = {
    "Qr": lambda parts: parts[0] @ parts[1],
    "Svd": lambda parts: parts[1] @ np.diag(parts[0]) @ parts[2].T,
}


def host(value):
    if isinstance(value, Tensor):
        return value.asnumpy()
    return [host(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize(("where", "name"), [(w, n) for w, rows in EQUIVALENTS.items() for n in rows])
def test_a_row_means_the_same(where, name):
    value = eval(EQUIVALENTS[where][name], names())
    if name in DECOMPOSITIONS:
        return np.testing.assert_allclose(DECOMPOSITIONS[name](host(value)), SQUARE, rtol=1e-4, atol=1e-4)
    if name == "LSTM":
        return np.testing.assert_equal(value[0].shape, (2, 3, 4))
    meaning = MEANING[name]
    if isinstance(meaning, type):
        assert isinstance(value, meaning)
    elif isinstance(meaning, tuple):
        assert value.shape == meaning
    else:
        pairs = zip(host(value), meaning) if isinstance(meaning, list) else [(host(value), meaning)]
        for got, wanted in pairs:
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5, atol=1e-5)
    return None


@pytest.mark.parametrize(("where", "name"), [(w, n) for w, rows in EQUIVALENTS.items() for n in rows])
def test_the_error_of_a_name_quotes_its_row(where, name):
    if where == "mindspore":
        compat.install()
        import mindspore as owner
    else:
        owner = Tensor([1.0]) if where == "Tensor" else OWNERS[where]
    assert not hasattr(owner, name)
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert f"no attribute {name!r}" in str(caught.value)
    assert f"here it is written {EQUIVALENTS[where][name]}" in str(caught.value)


def test_the_document_is_printed_from_the_table():
    spec = importlib.util.spec_from_file_location("equivalents", ROOT / "tools" / "equivalents.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.DOCUMENT.read_text() == tool.text()
