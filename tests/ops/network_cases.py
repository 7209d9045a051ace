"""Calls for networks whose results were recorded from MindSpore 2.10: more expressions over the names of
`mindspore_cases` and those added here."""
from __future__ import annotations

from typing import Any

import numpy as np

try:
    from tests.ops.mindspore_cases import names as common_names
except ImportError:  # run by MindSpore, without the project
    from mindspore_cases import names as common_names  # type: ignore[no-redef]


def names(ms: Any) -> dict[str, Any]:
    """The variables of the expressions."""
    rng = np.random.default_rng(11)

    def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> Any:
        return ms.Tensor(rng.uniform(low, high, shape).astype(np.float32))

    from importlib import import_module
    return {
        **common_names(ms),
        "mint": import_module(f"{ms.__name__}.mint"),
        "mnp": import_module(f"{ms.__name__}.numpy"),
        "seq": floats(2, 3, 9),
        "k1": floats(4, 3, 3),
        "vol": floats(2, 2, 4, 5, 6),
        "k3": floats(3, 2, 2, 3, 3),
        "grid": floats(2, 4, 5, 2, low=-1.3, high=1.3),
        "theta": floats(2, 2, 3),
        "deep": floats(2, 8, 3, 4),
        "one": ms.Tensor(np.sign(rng.uniform(-1, 1, (4, 3))).astype(np.float32)),
        "many": ms.Tensor(np.array([[1, 0, -1], [2, -1, -1], [0, 1, 2], [1, -1, 0]], np.int32)),
        "boxes": ms.Tensor(np.array([[0, 0, 3, 3], [1, 1, 6, 4], [2, 0, 4, 9]], np.float32)),
        "truth": ms.Tensor(np.array([[1, 0, 4, 4], [0, 0, 5, 5], [3, 3, 8, 6]], np.float32)),
        "j": ms.Tensor(np.array([[6, 3, -4], [5, 6, 10]], np.int32)),
        "sq": floats(4, 4),
        "logs": ms.ops.log_softmax(floats(6, 2, 4), -1),
        "words": ms.Tensor(np.array([[1, 1], [3, 2]], np.int32)),
        "frames": ms.Tensor(np.array([6, 5], np.int32)),
        "spelt": ms.Tensor(np.array([2, 1], np.int32)),
        "rois": ms.Tensor(np.array([[0, 0.2, 0.3, 3.1, 4.2], [1, 1, 1, 5, 4]], np.float32)),
        "scored": ms.Tensor(np.array([[0, 0, 4, 4, 0.5], [1, 1, 4, 5, 0.9], [6, 6, 9, 9, 0.3]], np.float32)),
        "parts": ms.Tensor(
            np.array([[0, 0, 1, 1], [0.1, 0.2, 0.8, 1.2], [0.8, 0.12, 0.2, 0.72]], np.float32)
        ),
    }


EXPRESSIONS = """
ops.conv1d(seq, k1); ops.conv1d(seq, k1, None, 2, "same")
ops.conv1d(seq, k1, ops.ones((4,)), 1, "pad", 1, 2); ops.conv3d(vol, k3)
ops.conv3d(vol, k3, None, 2, "same"); ops.conv3d(vol, k3, None, 1, "pad", 1)
ops.Conv3D(3, (2, 3, 3))(vol, k3); ops.Conv3DTranspose(2, 2, (2, 3, 3))(vol, k3[:2])
ops.max_pool3d(vol, 2, 2); ops.avg_pool1d(seq, 3, 2, 1); ops.avg_pool3d(vol, 2, 2)
ops.avg_pool3d(vol, 2, 2, 1); ops.MaxPool3D(2, 2)(vol); ops.AvgPool3D(2, 2)(vol)
ops.MaxPoolWithArgmax(3, 2, "same")(img); ops.max_pool2d(img, 3, 2, 1, return_indices=True)
ops.adaptive_avg_pool1d(seq, 4); ops.adaptive_avg_pool3d(vol, (2, 3, 4)); ops.adaptive_max_pool1d(seq, 3)
ops.adaptive_max_pool2d(img, (2, 4), True); ops.adaptive_max_pool3d(vol, (2, 3, 4), True)
ops.lp_pool1d(seq, 2, 3); ops.lp_pool2d(abs(img), 2, 2, 2)
ops.max_unpool2d(*ops.max_pool2d(img, 2, 2, return_indices=True), 2); ops.unfold(img, 3)
ops.unfold(img, 3, 2, 1, 2); ops.fold(ops.unfold(img, 2, 1, 1, 2), T([6, 6], ms.int32), 2, 1, 1, 2)
ops.interpolate(seq, 13, mode="linear"); ops.interpolate(seq, 5, mode="linear", align_corners=True)
ops.interpolate(seq, 5)
ops.interpolate(img, scale_factor=(2.0, 1.5), mode="bilinear", recompute_scale_factor=True)
ops.interpolate(img, (4, 3), mode="area"); ops.interpolate(vol, (3, 7, 4), mode="trilinear")
ops.interpolate(vol, (3, 7, 4), mode="trilinear", align_corners=True)
ops.interpolate(img, (4, 9), mode="nearest-exact"); ops.grid_sample(img, grid, align_corners=False)
ops.grid_sample(img, grid, align_corners=True); ops.grid_sample(img, grid, "nearest", "border", False)
ops.grid_sample(img, grid, "bilinear", "reflection", True); ops.affine_grid(theta, (2, 3, 4, 5))
ops.affine_grid(theta, (2, 3, 4, 5), True); ops.pixel_shuffle(deep, 2); ops.pixel_unshuffle(img, 2)
ops.channel_shuffle(deep, 4); ops.DepthToSpace(2)(deep); ops.SpaceToDepth(2)(img)
ops.ResizeBilinearV2()(img, (4, 9)); ops.ResizeBilinearV2(True)(img, (4, 9))
ops.ResizeBilinearV2(False, True)(img, (4, 9)); ops.ResizeNearestNeighborV2()(img, (4, 9))
ops.ResizeNearestNeighborV2(True)(img, (4, 9)); ops.ResizeNearestNeighborV2(False, True)(img, (4, 9))
ops.ResizeNearestNeighbor((4, 9))(img); ops.pad(img, (1, 2, 0, 1), "circular")
ops.pad(img, (1, 2, 3, 1), "reflect"); ops.pad(vol, (1, 1, 1, 1, 1, 1), "replicate")
ops.pad(img, (-1, 1), value=2.0); ops.MirrorPad("REFLECT")(m, T([[1, 1], [2, 0]]))
ops.MirrorPad("SYMMETRIC")(m, T([[1, 1], [2, 0]])); ops.mirror_pad(m, T([[1, 1], [2, 0]]), "REFLECT")
ops.padding(m[:, :1], 4); ops.celu(v); ops.celu(v, 0.5); ops.hardshrink(v); ops.softshrink(v, 0.3)
ops.tanhshrink(v); ops.threshold(v, 0.5, 7.0); ops.logit(p); ops.logit(p, 0.2); ops.fast_gelu(v)
ops.CeLU(0.5)(v); ops.HShrink(0.3)(v); ops.SoftShrink()(v); ops.GLU()(m)
ops.margin_ranking_loss(v, w, ops.sign(v)); ops.margin_ranking_loss(v, w, ops.sign(v), 0.5, "none")
ops.hinge_embedding_loss(logits, one); ops.hinge_embedding_loss(logits, one, 0.5, "sum")
ops.soft_margin_loss(logits, one); ops.soft_margin_loss(logits, one, "none")
ops.triplet_margin_loss(m, m + 1, p, 0.5); ops.gaussian_nll_loss(m, m + 1, p)
ops.gaussian_nll_loss(m, m + 1, p, True, 1e-3, "sum"); ops.multi_margin_loss(logits, labels.astype(ms.int64))
ops.multi_margin_loss(logits, labels.astype(ms.int64), 2); ops.multilabel_margin_loss(logits, many)
ops.multilabel_margin_loss(logits, many, "none"); ops.multilabel_soft_margin_loss(logits, (one + 1) / 2)
ops.multilabel_soft_margin_loss(logits, (one + 1) / 2, reduction="none")
ops.cosine_embedding_loss(logits, logits * 2 + 1, ops.sign(v[:4])); ops.lrn(img, 2, 1.0, 0.5, 0.75)
ops.iou(boxes, truth); ops.iou(boxes, truth, "iof"); ops.bounding_box_encode(boxes, truth)
ops.bounding_box_decode(boxes, m[:3] * 0.3, (7, 9)); ops.IOU()(boxes, truth); ops.intopk(logits, labels, 1)
ops.InTopK(2)(logits, labels); ops.top_k(m, 2); ops.LpNorm([1], 2, True)(m); ops.LpNorm([0, 1], 1)(m)
ops.mixed_precision_cast(ms.float16, m); ops.frac(v); ops.copysign(v, w); ops.signbit(v); ops.heaviside(v, w)
ops.isneginf(v); ops.isposinf(v); ops.deg2rad(v); ops.rad2deg(v); ops.logaddexp2(v, w); ops.sinc(v)
ops.float_power(p, 2.0); ops.ldexp(v, w); ops.gcd(i, j); ops.lcm(i, j); ops.truncate_div(i, j)
ops.truncate_mod(i, j); ops.xdivy(v, w); ops.positive(v); ops.hstack((v, w)); ops.vstack((v, w))
ops.dstack((m, m)); ops.column_stack((v, w)); ops.atleast_1d(v); ops.atleast_2d(v); ops.atleast_3d(v)
ops.hsplit(m, 2); ops.vsplit(m, 3); ops.tensor_split(m, 3, 1); ops.tensor_split(v, [1, 3]); ops.ravel(m)
ops.expand_as(v, ops.ones((2, 5))); ops.view_as(m, ops.ones((4, 3))); ops.type_as(i, v)
ops.swapdims(x, 0, 2); ops.movedim(x, 0, 2); ops.movedim(x, (0, 1), (2, 0)); ops.fliplr(m); ops.flipud(m)
ops.rot90(m, 1, (0, 1)); ops.rot90(m, 3, (0, 1)); ops.diagonal(m); ops.diagonal(x, 1, 1, 2)
ops.diag_embed(m); ops.diag_embed(v, 1); ops.diag(v); ops.diagflat(v, 1); ops.trace(sq)
ops.block_diag(m, sq); ops.cartesian_prod(v, w); ops.combinations(v, 3); ops.sequence_mask(T([1, 3, 2]), 4)
ops.vander(v, 3); ops.tril_indices(3, 4, 1); ops.triu_indices(3, 4, -1); ops.tensor_dot(m, n, 1)
ops.tensor_dot(x, y, ((1, 2), (1, 2))); ops.inner(m, m); ops.kron(m, n); ops.cross(c, d, 0); ops.vecdot(x, y)
ops.addbmm(sq[:3, :3], x, y.swapaxes(1, 2)); ops.addmv(c, m, m[0]); ops.addr(n, m[0], v); ops.cdist(x, y)
ops.cdist(x, y, 1.0); ops.dist(m, m + 1); ops.pdist(m); ops.einsum("ij,jk->ik", m, n)
ops.dropout2d(img, 0.0); ops.rrelu(abs(v)); mint.nn.Linear(4, 2, weight_init="ones", bias_init="ones")(m)
mint.nn.Identity()(m); mint.nn.Softmax(1)(m); mint.nn.Flatten()(x); mint.nn.LogSoftmax(0)(m)
mint.nn.Hardshrink()(v); mint.nn.ReLU()(v); mint.nn.LayerNorm(4)(m); mint.nn.GroupNorm(1, 3)(img)
mint.cat((m, m), dim=1); mint.stack((m, m), dim=1); mint.split(m, 2, dim=1); mint.cumprod(m, 1)
mint.sum(m, dim=0); mint.max(m, 1); mint.where(m > 0, m, 0.0); mint.isclose(m, m); mint.matmul(m, n)
mint.transpose(m, 0, 1); mint.arange(5); mint.hstack((v, w)); mint.nn.functional.one_hot(labels)
mint.nn.functional.softmax(m, dim=1); mnp.arange(5); mnp.arange(0, 1, 0.25); mnp.where(m > 0, m, 0.0)
mnp.tile(v, (2, 2)); mnp.ones((2,)); mnp.split(m, 2, 1); mnp.roll(v, 2); mnp.sum(m, 1)
mnp.tensordot(m, n, 1); mnp.zeros((2, 2)); mnp.argmin(m); mnp.mean(m, 0); mnp.max(m, 1)
mnp.concatenate((m, m), 1); mnp.linspace(0, 1, 5); mnp.full((2, 2), 3); mnp.pad(m, 1); mnp.norm(m)
mnp.interp(v, T([-2.0, 0.0, 2.0]), T([1.0, 2.0, 4.0])); mnp.cov(m); mnp.std(m); mnp.var(m, 0)
mnp.histogram(v, 4); mnp.diff(v); mnp.cumsum(m); mnp.trapz(m); mnp.average(m, 0); mnp.array([1, 2])
mnp.eye(3); mnp.meshgrid(v, w); mnp.dot(m, n); mnp.outer(v, w)
ms.grad(lambda t: (ops.conv3d(t, k3) ** 2).sum())(vol)
ms.grad(lambda t: (ops.conv1d(seq, t) ** 2).sum())(k1)
ms.grad(lambda t: (ops.max_pool3d(t, 2, 2) ** 2).sum())(vol)
ms.grad(lambda t: (ops.grid_sample(t, grid, align_corners=False) ** 2).sum())(img)
ms.grad(lambda t: (ops.interpolate(t, (4, 9), mode="bilinear") ** 2).sum())(img)
ms.grad(lambda t: ops.cdist(t, y).sum())(x)
ms.grad(lambda t: (ops.pad(t, (1, 2, 0, 1), "circular") ** 2).sum())(img)
ms.grad(lambda t: ops.triplet_margin_loss(t, m + 1, p))(m); ms.grad(lambda t: ops.celu(t).sum())(v)
ms.grad(lambda t: ops.softshrink(t).sum())(v); ms.grad(lambda t: ops.kron(t, n).sum())(m)
ops.ctc_loss(logs, words, frames, spelt); ops.ctc_loss(logs, words, frames, spelt, 0, "none")
ops.ctc_loss(logs, words, frames, spelt, 0, "sum", True)
ms.grad(lambda t: ops.ctc_loss(ops.log_softmax(t, -1), words, frames, spelt)[0])(logs * 2)
ops.ROIAlign(2, 2, 0.5, 2)(img, rois); ops.ROIAlign(2, 3, 1.0, 2, 0)(img, rois); ops.NMSWithMask(0.1)(scored)
ops.NMSWithMask(0.6)(scored); ops.CropAndResize("bilinear", 0.5)(img, parts, T([0, 1, 1], ms.int32), (2, 3))
ops.CropAndResize("nearest", 0.5)(img, parts, T([0, 1, 1], ms.int32), (2, 3))
ops.CheckValid()(boxes, T([8.0, 8.0, 1.0])); ops.Meshgrid()((v, w)); ops.fmax(v, w); ops.fmin(v, w)
ops.sgn(v); ops.approximate_equal(v, v + 1e-7); ops.is_floating_point(v); ops.accumulate_n([v, w])
ops.floordiv(i, 2); v.copysign(w); m.top_k(2); v.frac(); i.gcd(j); v.positive(); v.sinc(); v.hardshrink()
v.heaviside(w); ops.hann_window(5); ops.hann_window(5, False); ops.hamming_window(6)
ops.hamming_window(6, False, 0.5, 0.5); ops.kaiser_window(5); ops.blackman_window(T(4))
ops.bartlett_window(T(4)); ops.Addcdiv()(v, w, abs(w) + 1, T(0.5)); ops.Addcmul()(v, w, w, T(0.5))
ops.Dense()(m, n.T, v); ops.DivNoNan()(v, T([0.0, 1.0, 2.0, 0.0, 1.0]))
ops.MulNoNan()(v, T([0.0, 1.0, 2.0, 0.0, 1.0])); ops.SquaredDifference()(v, w); ops.Heaviside()(v, w)
ops.TruncateDiv()(i, j); ops.TruncateMod()(i, j); ops.Xdivy()(v, w); ops.Trace()(sq); ops.Hypot()(v, w)
ops.ApproximateEqual(0.5)(v, w); ops.Cdist(1.0)(m, m + 1); ops.Cross(0)(c, d); ops.IsClose()(v, v + 1e-9)
ops.Logit(0.1)(p); ops.NanToNum(1.0)(v); ops.Gcd()(i, j); ops.Lcm()(i, j); ops.Invert()(i); ops.Fmax()(v, w)
ops.embedding(labels, m); ops.embedding(T([[0, 2]]), m, 1); mnp.copy(m); mnp.size(m); mnp.shape(m)
"""
