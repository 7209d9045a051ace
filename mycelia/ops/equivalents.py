"""Names that programs for MindSpore or PyTorch look for and that are spelt otherwise here.

An unknown name's AttributeError quotes the row, and ``docs/equivalents.md`` is printed from this table
(``python tools/equivalents.py``); a test computes every row and compares it with NumPy.
"""

from __future__ import annotations

from typing import Any

EQUIVALENTS: dict[str, dict[str, str]] = {
    "ops": {
        # PyTorch's functions
        "allclose": "ops.isclose(x, y).all()",
        "as_tensor": "Tensor(array)",
        "asarray": "Tensor(array)",
        "bilinear": "nn.BiDense(3, 3, 2)(x, y)",
        "broadcast_tensors": "[ops.broadcast_to(v, x.shape), x]",
        "chain_matmul": "ops.matmul(ops.matmul(x, y.T), x)",
        "clamp_max": "ops.clamp(x, max=2.0)",
        "clamp_min": "ops.clamp(x, min=2.0)",
        "clone": "x.copy()",
        "concatenate": "ops.cat((x, y), 0)",
        "detach": "ops.stop_gradient(x)",
        "fill_": "x.fill_(2.0)",
        "frobenius_norm": "ops.norm(x)",
        "from_numpy": "Tensor.from_numpy(array)",
        "instance_norm": "nn.InstanceNorm2d(2)(images)",
        "logspace": "10.0 ** ops.linspace(0.0, 2.0, 3)",
        "masked_scatter": "x.masked_scatter(x > 2.0, y)",
        "normalize": "x / ops.norm(x, dim=1, keepdim=True)",
        "pairwise_distance": "ops.norm(x - y, dim=1)",
        "poisson_nll_loss": "nn.PoissonNLLLoss()(x, y)",
        "relu_": "ops.relu(x)",
        "rsub": "y - x",
        "scalar_tensor": "Tensor(3.0)",
        "sigmoid_": "ops.sigmoid(x)",
        "split_with_sizes": "ops.split(x, [1, 2], 1)",
        "take_along_dim": "ops.gather_elements(x, 1, index)",
        "tensor": "Tensor([1.0, 2.0])",
        "tensordot": "ops.einsum('ij,kj->ik', x, y)",
        "trapezoid": "ops.trapz(x, dx=1.0)",
        "unflatten": "x.reshape(2, 3, 1)",
        "upsample_bilinear": "ops.interpolate(images, size=(4, 4), mode='bilinear', align_corners=True)",
        "upsample_nearest": "ops.interpolate(images, size=(4, 4), mode='nearest')",
        "view": "x.view(3, 2)",
        "zero_": "x.zero_()",
        # MindSpore's functions
        "adjoint": "x.swapaxes(-1, -2)",
        "baddbmm_ext": "ops.baddbmm(batch, batch, batch)",
        "bidense": "nn.BiDense(3, 3, 2)(x, y)",
        "deepcopy": "x.copy()",
        "diff_ext": "ops.diff(x)",
        "dyn_shape": "x.shape",
        "einsum_ext": "ops.einsum('ij,kj->ik', x, y)",
        "fills": "ops.full_like(x, 2.0)",
        "isnan_ext": "ops.isnan(x)",
        "matrix_diag": "ops.diag_embed(v)",
        "matrix_diag_part": "ops.diagonal(square)",
        "mse_loss_ext": "ops.mse_loss(x, y)",
        "scalar_add": "2 + 3",
        "scalar_mul": "2 * 3",
        "shape_": "x.shape",
        "tanh_": "ops.tanh(x)",
        "tensor_slice": "x[0:1, 1:3]",
        # MindSpore's primitives
        "Adam": "nn.Adam(net.trainable_params(), 0.1)",
        "ApplyMomentum": "nn.Momentum(net.trainable_params(), 0.1, 0.9)",
        "CountNonZero": "ops.count_nonzero(x)",
        "DepthwiseConv2dNative": "nn.Conv2d(2, 2, 3, group=2)(images)",
        "EmbeddingLookup": "ops.gather(x, rows, 0)",
        "EuclideanNorm": "ops.norm(x)",
        "FillV2": "ops.full((2, 3), 2.0)",
        "Fills": "ops.full_like(x, 2.0)",
        "LSTM": "nn.LSTM(3, 4)(batch)",
        "Pack": "ops.stack((x, y))",
        "Qr": "ops.qr(square)",
        "ReduceStd": "ops.std(x, 1, ddof=1)",
        "Roll": "ops.roll(x, 1, 0)",
        "SGD": "nn.SGD(net.trainable_params(), 0.1)",
        "SplitV": "ops.split(x, [1, 2], 1)",
        "SquareSumAll": "(ops.square(x).sum(), ops.square(y).sum())",
        "Svd": "ops.svd(square)",
        "TensorShape": "x.shape",
        "Unpack": "ops.unstack(x, 0)",
    },
    "nn": {
        "AdamW": "nn.AdamWeightDecay(net.trainable_params(), 0.1)",
        "Adamax": "nn.AdaMax(net.trainable_params(), 0.1)",
        "Bilinear": "nn.BiDense(3, 3, 2)(x, y)",
        "ConvTranspose1d": "nn.Conv1dTranspose(3, 4, 3)(batch.swapaxes(1, 2))",
        "ConvTranspose2d": "nn.Conv2dTranspose(2, 4, 3)(images)",
        "ConvTranspose3d": "nn.Conv3dTranspose(2, 4, 3)(images.expand_dims(2))",
        "Hardshrink": "nn.HShrink()(x)",
        "Hardsigmoid": "nn.HSigmoid()(x)",
        "Hardswish": "nn.HSwish()(x)",
        "LocalResponseNorm": "nn.LRN()(images)",
        "Module": "nn.Cell()",
        "ModuleDict": "nn.CellDict({'a': nn.ReLU()})",
        "ModuleList": "nn.CellList([nn.ReLU()])",
        "NLLLoss2d": "nn.NLLLoss()(images, places)",
        "PairwiseDistance": "ops.norm(x - y, dim=1)",
        "Parameter": "mindspore.Parameter(x, name='w')",
        "ParameterList": "mindspore.ParameterTuple([mindspore.Parameter(x, name='w')])",
        "RMSprop": "nn.RMSProp(net.trainable_params(), 0.1)",
        "SELU": "nn.SeLU()(x)",
        "Sequential": "nn.SequentialCell(nn.ReLU(), nn.Tanh())(x)",
        "Softplus": "ops.softplus(x)",
        "Softshrink": "nn.SoftShrink()(x)",
        "UpsamplingBilinear2d": "ops.interpolate(images, size=(4, 4), mode='bilinear', align_corners=True)",
        "UpsamplingNearest2d": "ops.interpolate(images, size=(4, 4), mode='nearest')",
        "ZeroPad1d": "nn.ConstantPad1d((1, 1), 0.0)(x)",
    },
    "Tensor": {
        "allclose": "ops.isclose(x, y).all()",
        "clamp_max": "x.clamp(max=2.0)",
        "clamp_min": "x.clamp(min=2.0)",
        "cpu": "x.asnumpy()",
        "cuda": "x",
        "detach_": "x.detach()",
        "dist": "ops.norm(x - y)",
        "element_size": "x.itemsize",
        "exp2": "ops.exp2(x)",
        "log_softmax": "ops.log_softmax(x, -1)",
        "move_to": "x",
        "mv": "ops.mv(x, v)",
        "ndimension": "x.ndim",
        "relu": "ops.relu(x)",
        "relu_": "ops.relu(x)",
        "round_": "x.round()",
        "split_with_sizes": "x.split([1, 2], 1)",
        "squeeze_": "x.squeeze()",
        "stride": "x.strides",
        "take_along_dim": "ops.gather_elements(x, 1, index)",
        "unflatten": "x.reshape(2, 3, 1)",
        "unsqueeze_": "x.unsqueeze(0)",
    },
    "mindspore": {
        "as_tensor": "Tensor(array)",
        "cat": "ops.cat((x, y), 0)",
        "device": "mindspore.set_device('CPU')",
        "manual_seed": "mindspore.set_seed(1)",
        "zeros": "ops.zeros((2, 3))",
    },
}


def equivalent(where: str, name: str) -> str:
    """What an AttributeError for a missing name adds: the spelling here, or nothing."""
    code = EQUIVALENTS[where].get(name)
    return f"; here it is written {code}" if code else ""


class Elsewhere:
    """An attribute that a class does not have, whose AttributeError names the equivalent."""

    def __init__(self, owner: str, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, _: Any, __: Any = None) -> Any:
        text = f"{self.owner!r} object has no attribute {self.name!r}{equivalent(self.owner, self.name)}"
        raise AttributeError(text)
