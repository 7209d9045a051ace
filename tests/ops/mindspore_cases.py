"""Calls of MindSpore's public interface whose results were recorded from MindSpore 2.10 itself (see
`record_mindspore.py`).

Each is an expression over the names of `names`; its value is a tensor, a number, or a tuple of them.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def names(ms: Any) -> dict[str, Any]:
    """The variables of the expressions, made with a module that is MindSpore or stands for it."""
    rng = np.random.default_rng(5)

    def floats(*shape: int) -> Any:
        return ms.Tensor(rng.uniform(-2, 2, shape).astype(np.float32))

    return {
        "__name__": __name__,
        "refused": refused,
        "ms": ms,
        "ops": ms.ops,
        "np": np,
        "T": ms.Tensor,
        "v": floats(5),
        "w": floats(5),
        "x": floats(2, 3, 4),
        "y": floats(2, 3, 4),
        "m": floats(3, 4),
        "n": floats(4, 5),
        "p": ms.Tensor(rng.uniform(0.1, 0.9, (3, 4)).astype(np.float32)),
        "i": ms.Tensor(np.array([[3, -7, 4], [0, 9, -2]], np.int32)),
        "b": ms.Tensor(np.array([True, False, True])),
        "img": floats(2, 3, 6, 6),
        "k": floats(4, 3, 3, 3),
        "c": floats(3),
        "d": ms.Tensor(rng.uniform(0.5, 2, 3).astype(np.float32)),
        "logits": floats(4, 3),
        "labels": ms.Tensor(np.array([0, 2, 1, 1], np.int32)),
        "h": ms.Tensor(rng.uniform(-2, 2, 5).astype(np.float16)),
    }


EXPRESSIONS = """
v + w; v - 1; 2 - v; v * w; v / w; v // w; v % w; v ** 2; abs(v) ** 0.5; 2 ** v; -v; abs(v); i // 2; i % 3
i / 2; i + 1.5; i * i; b + 1
v < w; v >= 0; i == 4; i != 4; i > 1.5; v == v; i & 3; i | 1; i ^ 2; m @ n; v @ w; x @ n
ops.add(v, w); ops.sub(v, w); ops.mul(v, 2); ops.div(v, w); ops.div(v, w, rounding_mode="floor")
ops.div(v, w, rounding_mode="trunc")
ops.exp(v); ops.log(p); ops.log1p(p); ops.sqrt(p); ops.rsqrt(p); ops.square(v); ops.reciprocal(v)
ops.sin(v); ops.cos(v); ops.tan(v)
ops.tanh(v); ops.sinh(v); ops.cosh(v); ops.asin(p); ops.acos(p); ops.atan(v); ops.atan2(v, w); ops.asinh(v)
ops.acosh(p + 1); ops.atanh(p)
ops.erf(v); ops.erfc(v); ops.expm1(v); ops.log2(p); ops.log10(p); ops.floor(v); ops.ceil(v); ops.round(v)
ops.trunc(v); ops.sign(v)
ops.maximum(v, w); ops.minimum(v, w); ops.maximum(v, 0); ops.floor_div(i, 2); ops.floor_mod(i, 3)
ops.pow(p, 3); ops.pow(p, -1)
ops.fmod(v, w); ops.hypot(v, w); ops.lerp(v, w, 0.3); ops.addcmul(v, w, w, 0.5)
ops.addcdiv(v, w, abs(w) + 1, 0.5); ops.xlogy(p, p)
ops.isnan(v); ops.isinf(v); ops.isfinite(v); ops.logical_and(b, b); ops.logical_not(b); ops.logical_or(b, b)
ops.logical_xor(b, b)
ops.where(v > 0, v, w); ops.where(v > 0, v, 0.5); ops.select(v > 0, v, w); ops.masked_fill(m, m > 0, -1.0)
ops.clip_by_value(v, -1, 1)
ops.clamp(v, -0.5, 0.5); ops.clamp(v, min=0); ops.cast(v, ms.int32); ops.cast(i, ms.float16)
ops.isclose(v, v + 1e-9); ops.addn([v, w, v])
ops.relu(v); ops.relu6(v * 4); ops.gelu(v); ops.gelu(v, approximate="tanh"); ops.silu(v); ops.sigmoid(v)
ops.softplus(v); ops.mish(v)
ops.elu(v); ops.selu(v); ops.leaky_relu(v); ops.leaky_relu(v, 0.01); ops.hardsigmoid(v); ops.hardswish(v)
ops.hardtanh(v); ops.logsigmoid(v)
ops.softmax(m); ops.softmax(m, 0); ops.log_softmax(m); ops.log_softmax(x, 1); ops.softmin(m)
ops.softsign(v); ops.glu(m); ops.prelu(img, c)
ops.sum(x); ops.sum(x, 1); ops.sum(x, (0, 2), True); ops.sum(i); ops.sum(b); ops.mean(x)
ops.mean(x, (1, 2)); ops.mean(x, -1, True); ops.mean(i)
ops.prod(m); ops.prod(m, 1); ops.max(m); ops.max(m, 1); ops.min(m, 0, keepdims=True); ops.amax(x, (0, 1))
ops.amin(x, 2); ops.argmax(m); ops.argmax(m, 1)
ops.argmin(m); ops.argmin(m, 0); ops.all(b); ops.any(m > 1, 0); ops.var(x); ops.var(x, 1, 1)
ops.std(x, (0, 1)); ops.std(x, 2, 1, True)
ops.logsumexp(m, 1); ops.norm(m); ops.norm(m, dim=1); ops.norm(v, 1); ops.norm(v, float("inf"))
ops.cumsum(m, 0); ops.cumsum(m, 1); ops.topk(m, 2)
ops.sort(m); ops.sort(m, 0, True); ops.argsort(m); ops.median(m); ops.count_nonzero(i); ops.reduce_sum(x, 1)
ops.reduce_mean(x, 1); ops.reduce_max(x)
x.sum(); x.sum(1); x.sum((0, 1), keepdims=True); x.mean(); x.mean((1, 2)); x.mean(1, keep_dims=True)
x.max(); x.max(axis=1); x.min(2); x.argmax(1)
x.argmax(-1, keepdims=True); x.argmin(); i.sum(); i.mean(); x.std(); x.var(); x.var(ddof=1); x.prod()
b.all(); b.any(); x.max(axis=1, return_indices=True); x.max(1); x.min(1, True); x.sum(1, True); x.max(dim=0)
ops.matmul(m, n); ops.matmul(x, n); ops.matmul(x, y.swapaxes(1, 2)); ops.matmul(v, w)
ops.matmul(m, n[:, 0]); ops.matmul(m[0], n); ops.bmm(x, y.swapaxes(1, 2))
ops.outer(v, w); ops.ger(v, w); ops.addmm(m @ n, m, n, beta=0.5, alpha=2); ops.dense(m, n.T, v)
ops.mm(m, n)
ops.cosine_similarity(m, m * 2 + 1); ops.bias_add(m, m[0])
ops.baddbmm(x @ y.swapaxes(1, 2), x, y.swapaxes(1, 2)); ops.mv(m, m[0])
ops.reshape(x, (4, -1)); ops.reshape(x, (-1,)); ops.transpose(x, (2, 0, 1)); ops.permute(x, (2, 0, 1))
ops.swapaxes(x, 0, 2); ops.expand_dims(v, 0)
ops.expand_dims(v, -1); ops.squeeze(x[:, :1]); ops.squeeze(x[:, :1], 1); ops.flatten(x)
ops.flatten(x, start_dim=0, end_dim=1); ops.broadcast_to(v, (2, 5))
ops.broadcast_to(v, (2, -1)); ops.cat((m, m)); ops.cat((m, m), 1); ops.concat((x, y), -1); ops.stack((m, m))
ops.stack((m, m), -1); ops.split(x, 2, 1)
ops.split(m, [1, 3], 1); ops.chunk(m, 3, 1); ops.unstack(m); ops.unbind(m, 1); ops.tile(v, (2, 2))
ops.tile(m, (2,)); ops.repeat_interleave(v, 2)
ops.repeat_interleave(m, 2, 1); ops.repeat_elements(m, 2, 1); ops.flip(m, (0,)); ops.moveaxis(x, 0, 2)
ops.narrow(v, 0, 1, 3)
ops.gather(m, T([2, 0]), 0); ops.gather(m, T([[2, 0], [1, 1]]), 1)
ops.gather_elements(m, 1, T([[0, 1], [3, 3], [2, 0]])); ops.index_select(m, 1, T([0, 2]))
ops.gather_nd(m, T([[0, 1], [2, 3]])); ops.one_hot(labels, 3, T(1.0), T(0.0)); ops.one_hot(labels, 3)
ops.one_hot(labels, 4, 5, 2); ops.one_hot(labels, 3, 1, 0, 0)
ops.tril(m); ops.triu(m, 1); ops.tril(x, -1); ops.meshgrid(v, w); ops.meshgrid(v, w, indexing="ij")
ops.nonzero(i); ops.pad(x, (1, 2)); ops.pad(x, (1, 2, 0, 1), value=3)
ops.pad(x, (1, 2), mode="replicate"); ops.pad(x, (1, 2), mode="reflect"); ops.slice(m, (1, 0), (2, 3))
ops.strided_slice(m, (0, 1), (3, 4), (2, 1)); ops.unsqueeze(v, 1)
x.view(6, 4); x.view((-1, 4)); x.reshape(4, 6); x.reshape((4, -1)); x.transpose(); x.transpose(0, 2, 1)
x.permute(2, 0, 1); x.swapaxes(0, 1); m.T; x.flatten()
x.expand_dims(1); x.squeeze(); x.broadcast_to((2, 3, 4)); x.split(2, axis=1); x.astype(ms.float16)
x.float(); x.int(); x.half(); x.shape; x.ndim; x.size
m.tile((2, 1)); m.tril(); v.clip(-1, 1); v.abs(); v.exp(); m.matmul(n); m.masked_fill(m > 0, 0.0); v.isnan()
x.unsqueeze(0); len(v)
ops.zeros((2, 3)); ops.ones((2,), ms.int32); ops.full((2, 2), 3); ops.full((2,), 1.5, dtype=ms.float32)
ops.zeros_like(i); ops.ones_like(v); ops.full_like(v, 3); ops.arange(5); ops.arange(1, 6, 2)
ops.arange(0, 1, 0.25); ops.eye(3); ops.eye(2, 4, ms.int32); ops.linspace(0, 1, 5)
ops.fill(ms.float32, (2,), 3); ops.scalar_to_tensor(2); ops.arange(5, 0, -2)
ops.cross_entropy(logits, labels); ops.cross_entropy(logits, labels, reduction="sum")
ops.cross_entropy(logits, labels, reduction="none")
ops.cross_entropy(logits, labels, weight=d); ops.cross_entropy(logits, labels, label_smoothing=0.1)
ops.cross_entropy(logits, labels, ignore_index=1)
ops.cross_entropy(logits, ops.softmax(logits * 2)); ops.nll_loss(logits, labels)
ops.nll_loss(logits, labels, weight=d, ignore_index=2)
ops.mse_loss(v, w); ops.mse_loss(v, w, "none"); ops.l1_loss(v, w); ops.smooth_l1_loss(v, w)
ops.smooth_l1_loss(v, w, 0.5, "mean"); ops.kl_div(ops.log(p), p)
ops.huber_loss(v, w); ops.binary_cross_entropy(p, p); ops.clip_by_global_norm((v, w), 1.0)
ops.clip_by_global_norm([v, w], 100.0); ops.kl_div(ops.log(p), p, "sum")
ops.binary_cross_entropy_with_logits(logits, ops.sigmoid(logits), logits * 0 + 1, logits * 0 + 1)
ops.conv2d(img, k); ops.conv2d(img, k, stride=2, pad_mode="same")
ops.conv2d(img, k, pad_mode="pad", padding=1); ops.conv2d(img, k, ops.ones((4,)), 1, "pad", (1, 2))
ops.max_pool2d(img, 2); ops.max_pool2d(img, 3, 2, 1); ops.max_pool2d(img, 4, 3, ceil_mode=True)
ops.avg_pool2d(img, 2, 2); ops.avg_pool2d(img, 3, 2, 1)
ops.avg_pool2d(img, 3, 2, 1, count_include_pad=False); ops.avg_pool2d(img, 4, 3, 0, True)
ops.adaptive_avg_pool2d(img, 1); ops.adaptive_avg_pool2d(img, (2, 4))
ops.adaptive_max_pool2d(img, 3); ops.batch_norm(img, c, d, d, c); ops.group_norm(img, 3)
ops.group_norm(img, 1, d, c); ops.interpolate(img, size=(3, 9), mode="nearest")
ops.interpolate(img, size=(3, 9), mode="bilinear")
ops.interpolate(img, size=(3, 9), mode="bilinear", align_corners=True)
ops.Add()(v, w); ops.MatMul(transpose_b=True)(m, n.T); ops.BatchMatMul(transpose_b=True)(x, y)
ops.ReLU()(v); ops.Softmax()(m); ops.Softmax(0)(m); ops.LogSoftmax()(m)
ops.Cast()(v, ms.int32); ops.Reshape()(x, (4, 6)); ops.Transpose()(x, (1, 0, 2)); ops.ReduceMean(True)(x, 1)
ops.ReduceSum()(x, (0, 1)); ops.ReduceSum()(x); ops.ReduceMax()(x, 2)
ops.ReduceMin(keep_dims=True)(x, 0); ops.ReduceProd()(m, 0); ops.ReduceAll()(b); ops.ReduceAny(True)(b)
ops.Argmax()(m); ops.Argmax(0)(m)
ops.ArgMaxWithValue(1)(m); ops.ArgMinWithValue(0, True)(m); ops.Concat(1)((m, m)); ops.Stack(1)([m, m])
ops.Split(1, 2)(m); ops.Unstack(1)(m); ops.Squeeze()(x[:, :1])
ops.ExpandDims()(v, 0); ops.Flatten()(x); ops.Tile()(v, (2,)); ops.Shape()(x); ops.Rank()(x); ops.DType()(x)
ops.Size()(x); ops.BroadcastTo((2, 5))(v); ops.Select()(v > 0, v, w)
ops.Gather()(m, T([0, 2]), 0); ops.GatherD()(m, 1, T([[0], [1], [2]]))
ops.OneHot()(labels, 3, T(1.0), T(0.0)); ops.Pad(((1, 0), (0, 2)))(m); ops.Slice()(m, (0, 1), (2, 2))
ops.StridedSlice()(m, (0, 1), (3, 4), (1, 2)); ops.ReverseV2([1])(m); ops.CumSum()(m, 1)
ops.CumSum(True, True)(m, 1); ops.TopK()(m, 2); ops.Sort()(m); ops.Neg()(v); ops.Pow()(p, 2.0)
ops.GeLU()(v); ops.Elu()(v); ops.HSwish()(v); ops.HSigmoid()(v); ops.Softplus()(v); ops.Mish()(v)
ops.SeLU()(v); ops.ReLU6()(v); ops.L2Normalize(1)(m); ops.L2Loss()(v)
ops.LayerNorm(-1, -1, 1e-5)(m, m[0], m[1]); ops.LayerNorm(1, 1, 1e-5)(x, x[0], x[1])
ops.BatchNorm(False)(img, d, c, c, d)[0]; ops.BiasAdd()(m, m[0])
ops.Conv2D(4, 3)(img, k); ops.Conv2D(4, 3, pad_mode="same", stride=2)(img, k)
ops.MaxPool(3, 2, "same")(img); ops.MaxPool(2, 2)(img); ops.AvgPool(3, 2, "same")(img)
ops.SoftmaxCrossEntropyWithLogits()(logits, ops.softmax(logits * 2))
ops.SparseSoftmaxCrossEntropyWithLogits()(logits, labels); ops.Fill()(ms.int32, (2,), 3)
ops.SigmoidCrossEntropyWithLogits()(logits, ops.sigmoid(logits)); ops.SmoothL1Loss()(v, w)
ops.Ones()((2,), ms.float32); ops.ZerosLike()(v); ops.Eye()(2, 3, ms.float32)
ops.AddN()((v, w)); ops.Identity()(v); ops.Equal()(v, w); ops.LogicalNot()(b); ops.Maximum()(v, w)
ops.RealDiv()(v, w); ops.FloorDiv()(i, 2); ops.Mod()(v, w); ops.Tril()(m); ops.Triu(1)(m)
ms.grad(lambda t: ops.gelu(t).sum())(v); ms.grad(lambda t: ops.gelu(t, approximate="tanh").sum())(v)
ms.grad(lambda t: ops.softmax(t)[0].sum())(m)
ms.grad(lambda t: ops.cross_entropy(t, labels))(logits)
ms.grad(lambda t: ops.cross_entropy(t, labels, weight=d, label_smoothing=0.2))(logits)
ms.grad(lambda t: ops.maximum(t, 0).sum())(T([1.0, 0.0, -1.0]))
ms.grad(lambda t: ops.abs(t).sum())(T([1.0, 0.0, -1.0]))
ms.grad(lambda t: ops.relu(t).sum())(T([1.0, 0.0, -1.0]))
ms.grad(lambda t: t.max())(T([1.0, 2.0, 2.0])); ms.grad(lambda t: ops.conv2d(t, k).sum())(img)
ms.grad(lambda t: ops.conv2d(img, t, stride=2, pad_mode="same").sum())(k)
ms.grad(lambda t: (ops.max_pool2d(t, 3, 2, 1) * 2).sum())(img)
ms.grad(lambda t: ops.avg_pool2d(t, 2, 2).sum())(img); ms.grad(lambda t: t.std())(x)
ms.grad(lambda t: ops.norm(t))(v)
ms.grad(lambda t: (ops.LayerNorm(-1, -1, 1e-5)(t, m[0], m[1])[0] * m).sum())(m + 0)
ms.grad(lambda t: t.prod())(v); ms.grad(lambda t: (t ** 3).sum())(v); ms.grad(lambda t: (2 ** t).sum())(v)
ms.grad(lambda t: ops.cumsum(t, 0)[2].sum())(m); ms.grad(lambda t: ops.gather(t, T([2, 0, 2]), 0).sum())(m)
ms.grad(lambda t: ops.cat((t, t * 2)).sum())(v); ms.grad(lambda t: t[1:, ::2].sum())(m)
ms.grad(lambda t: ops.logsumexp(t, 1).sum())(m); ms.grad(lambda t: ops.softplus(t).sum())(v)
ms.grad(lambda t: ops.elu(t).sum())(v); ms.grad(lambda t: ops.silu(t).sum())(v)
ms.grad(lambda t: ops.clip_by_value(t, -1, 1).sum())(T([-2.0, 0.5, 2.0]))
ms.grad(lambda t: ops.where(t > 0, t * t, -t).sum())(v); ms.grad(lambda t: ops.mse_loss(t, w))(v)
h + 1.5; h * h; h / 3; h.sum(); h + v; ops.exp(h); ops.softmax(h); ops.gelu(h); h @ h; h.mean()
ops.sqrt(ops.abs(h)); ops.cast(h, ms.float32) * 2
"""


def refused(call: Callable[[], Any]) -> str:
    """The kind of error that a call ends in: the built-in class, whatever is derived from it."""
    try:
        flat(call())  # what runs later runs now
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return "no error"


def expressions(text: str = EXPRESSIONS) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";") if part.strip()]


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a result: of tensors, numbers, element types, and tuples of them."""
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in flat(item)]
    if hasattr(value, "asnumpy"):
        return [np.array(value.asnumpy())]
    if isinstance(value, (bool, int, float)):
        return [np.array(value)]
    return [np.array(str(value))]
