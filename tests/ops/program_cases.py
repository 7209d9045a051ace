"""Calls that programs make of `ops`, `mint`, `nn`, `numpy` and the rest, with results recorded from MindSpore
2.10: over the names of `network_cases`."""
from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

try:
    from tests.ops.network_cases import names as common_names
except ImportError:  # run by MindSpore, without the project
    from network_cases import names as common_names  # type: ignore[no-redef]


def names(ms: Any) -> dict[str, Any]:
    """The variables of the expressions."""
    common = common_names(ms)

    def fixed(cell: Any) -> Any:
        """The cell with parameters that both sides agree on."""
        for parameter in cell.get_parameters():
            if parameter.dtype != ms.float32:  # a count of batches
                continue
            values = np.cos(np.arange(int(np.prod(parameter.shape))) * 1.7) * 0.3
            if "gamma" in parameter.name or "variance" in parameter.name:
                values = values + 1
            parameter.set_data(ms.Tensor(values.astype(np.float32).reshape(parameter.shape)))
        return cell

    def trained(make: Any, steps: int = 3) -> Any:
        """Two parameters after steps of the optimizer that is made of them."""
        parameters = [ms.Parameter(common["m"].copy(), name="a"), ms.Parameter(common["v"].copy(), name="b")]
        step = make(parameters)
        for count in range(steps):
            step((common["p"] * (count + 1), common["w"] * (count - 1)))
        return parameters

    def scored(metric: Any, *updates: Any) -> Any:
        """What a metric gives after updates; tables as their rows."""
        metric.clear()
        for update in updates:
            metric.update(*update)
        found = metric.eval()
        found = list(found.values()) if isinstance(found, dict) else found
        return ms.Tensor(np.array(found, np.float64))

    def rates(schedule: Any) -> Any:
        return [schedule(ms.Tensor(step, ms.int32)) for step in (0, 1, 5, 12)]

    def by_type(*inputs: Any) -> Any:
        """A function chosen by the types of its arguments."""
        chosen = ms.ops.MultitypeFuncGraph("chosen")

        @chosen.register("Tensor", "Tensor")
        def add(x: Any, y: Any) -> Any:
            return x + y

        @chosen.register("Number", "Tensor")
        def times(x: Any, y: Any) -> Any:
            return x * y

        return chosen(*inputs)

    def stepped(make: Any) -> Any:
        """The loss of a training step and the parameters after it."""
        net = fixed(ms.nn.Dense(4, 3))
        net_with_loss = ms.nn.WithLossCell(net, ms.nn.MSELoss())
        cell = make(net_with_loss, ms.nn.SGD(net.trainable_params(), 0.1)).set_train()
        return [cell(common["m"], common["n"][:3, :3]), *net.trainable_params()]

    return {
        **common,
        "by_type": by_type,
        "stepped": stepped,
        "nn": ms.nn,
        "F": import_module(f"{ms.__name__}.mint.nn.functional"),
        "train": import_module(f"{ms.__name__}.train"),
        "init": import_module(f"{ms.__name__}.common.initializer"),
        "eo": import_module(f"{ms.__name__}.experimental.optim"),
        "fixed": fixed, "trained": trained, "scored": scored, "rates": rates,
        "hot": ms.Tensor(np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]),
        "bits": ms.Tensor(np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]], np.float32)),
        "chance": ms.ops.softmax(common["logits"], -1),
    }


# MindSpore does otherwise, and why Mycelia does not follow; docs/differences.md has them too.
_LATE = "MindSpore's kernel refuses with a RuntimeError; ValueError, which it documents, names the shapes"
DIFFERS: dict[str, str] = {
    **dict.fromkeys(
        (
            "refused(lambda: ops.matmul(m, m))",
            "refused(lambda: mint.matmul(m, m))",
            "refused(lambda: ops.conv2d(img, k[:, :2]))",
            "refused(lambda: ops.dropout(v, 1.5))",
            "refused(lambda: ops.layer_norm(m, (3,), m[0], m[0]))",
        ),
        _LATE,
    ),
    'refused(lambda: ops.einsum("ij,jk->ik", m, m))': "MindSpore's message is broken: a UnicodeDecodeError",
    "refused(lambda: ops.relu(1))": "a number counts as a tensor without axes",
}

EXPRESSIONS = """
ops.Mul()(v, w); ops.Sub()(v, w); ops.Sqrt()(p); ops.Log()(p); ops.Exp()(v); ops.Abs()(v); ops.Square()(v)
ops.Sigmoid()(v); ops.Tanh()(v); ops.Cos()(v); ops.Sin()(v); ops.Floor()(v); ops.Sign()(v)
ops.Minimum()(v, w); ops.Reciprocal()(v); ops.Div()(v, w); ops.Greater()(v, w); ops.GreaterEqual()(v, w)
ops.Less()(v, w); ops.LessEqual()(v, w); ops.NotEqual()(v, w); ops.LogicalAnd()(b, b); ops.LogicalOr()(b, b)
ops.OnesLike()(v); ops.Zeros()((2, 3), ms.float32); ops.GatherNd()(m, T([[0, 1], [2, 3]])); ops.depend(v, w)
ops.Depend()(v, w); ops.stop_gradient(v); ops.identity(v); ops.is_tensor(v); ops.is_tensor(3); ops.shape(x)
ops.rank(x); ops.dtype(v); ops.size(x); ops.neg(v); ops.equal(v, w); ops.not_equal(v, w); ops.clip(v, -1, 1)
ops.tuple_to_array((1, 2, 3)); ops.tuple_to_array((1.5, 2.0)); ops.partial(ops.add, v)(w)
ops.Partial()(ops.add, v)(w); ops.HyperMap()(ops.add, (v, m), (w, p)); ops.Map()(ops.square, (v, m))
ops.HyperMap()(ops.partial(ops.mul, v), (w, v)); ops.GradOperation()(lambda t: (t ** 3).sum())(v)
ops.GradOperation(get_all=True)(lambda a, c: (a * c).sum())(v, w)
ops.GradOperation(sens_param=True)(lambda t: t * t)(v, w); ops.value_and_grad(lambda t: (t * w).sum())(v)
ops.assign(ms.Parameter(v.copy(), name="q"), w); ops.Assign()(ms.Parameter(v.copy(), name="q"), w)
ops.assign_add(ms.Parameter(v.copy(), name="q"), w); ops.assign_sub(ms.Parameter(v.copy(), name="q"), w)
ops.AssignAdd()(ms.Parameter(v.copy(), name="q"), w); ops.AssignSub()(ms.Parameter(v.copy(), name="q"), w)
ops.tensor_scatter_elements(m, T([[0], [1], [2]]), p[:, :1], 1); ops.randn(2, 3).shape
ops.normal((2, 3), T(0.0), T(1.0)).shape
ops.Conv2DTranspose(3, 3, pad_mode="valid")(img[:, :1] * v[0], k[:1], (2, 3, 8, 8))
ops.KLDivLoss("mean")(ops.log(p), p); ops.KLDivLoss("sum")(ops.log(p), p)
ops.KLDivLoss("none")(ops.log(p), p); ops.ResizeBilinearV2()(img, (9, 4)); ops.tensor_add(v, w)
ops.scatter_nd(T([[0], [2]], ms.int32), m[:2], (4, 4)); ops.tensor_scatter_add(m, T([[0], [2]]), p[:2])
ops.tensor_scatter_sub(m, T([[0], [2]]), p[:2]); ops.tensor_scatter_max(m, T([[0], [2]]), p[:2])
ops.tensor_scatter_min(m, T([[0], [2]]), p[:2]); ops.tensor_scatter_mul(m, T([[0], [2]]), p[:2])
ops.tensor_scatter_div(m, T([[0], [2]]), p[:2]); ops.ScatterNd()(T([[0], [2]], ms.int32), m[:2], (4, 4))
ops.ScatterNdUpdate()(ms.Parameter(m.copy(), name="q"), T([[0], [2]], ms.int32), p[:2])
ops.ScatterUpdate()(ms.Parameter(m.copy(), name="q"), T([0, 2], ms.int32), p[:2])
ops.ScatterAdd()(ms.Parameter(m.copy(), name="q"), T([0, 2], ms.int32), p[:2])
ops.TensorScatterUpdate()(m, T([[0], [2]], ms.int32), p[:2])
ops.unsorted_segment_sum(m, T([0, 1, 0], ms.int32), 2); ops.UnsortedSegmentSum()(m, T([0, 1, 0], ms.int32), 2)
ops.masked_select(m, m > 0); ops.MaskedFill()(m, m > 0, T(1.0)); ops.MaskedSelect()(m, m > 0)
ops.bincount(T([1, 1, 3])); ops.searchsorted(ops.sort(v)[0], w); ops.roll(m, 1, 0); ops.diff(v); ops.nansum(m)
ops.nanmean(m); ops.histc(v, 4, -2.0, 2.0); ops.trapz(v); ops.cov(m); ops.unfold(img, 2)
ops.ScalarToTensor()(3.0, ms.float32); ops.Range()(T(0), T(5), T(1)); ops.LinSpace()(T(0.0), T(1.0), 5)
ops.IsFinite()(v); ops.IsNan()(v); ops.IsInf()(v); ops.Round()(v); ops.Rint()(v); ops.Atan2()(v, w)
ops.Asin()(p); ops.ACos()(p); ops.Atan()(v); ops.Sinh()(v); ops.Cosh()(v); ops.Asinh()(v); ops.Acosh()(p + 1)
ops.Atanh()(p); ops.Erf()(v); ops.Erfc()(v); ops.Expm1()(v); ops.Log1p()(p); ops.Ceil()(v); ops.Rsqrt()(p)
ops.Tan()(v); ops.CumProd()(m, 1); ops.Cummax(0)(m); ops.Cummin(0)(m); ops.ReduceSum(True)(m, 1)
ops.Argmin()(m); ops.ResizeNearestNeighbor((3, 4))(img); ops.Lerp()(v, w, T(0.3)); ops.BitwiseAnd()(i, j)
ops.BitwiseOr()(i, j); ops.BitwiseXor()(i, j); ops.LogicalXor()(b, b); ops.FloorMod()(i, 3)
ops.NLLLoss()(ops.log_softmax(logits), labels, d); ops.BinaryCrossEntropy()(p, p); ops.PReLU()(img, c)
ops.BCEWithLogitsLoss()(logits, bits, logits * 0 + 1, logits * 0 + 1); ops.Dropout(0.9)(ops.zeros((3,)))[0]
ops.dropout(v, 0.0); ops.Einsum("ij,jk->ik")((m, n)); ops.Softsign()(v); ops.NonZero()(i)
ops.Unique()(T([3, 1, 3], ms.int32))[0].sum(); ops.Diag()(v); ops.DiagPart()(sq); ops.MatrixInverse()(sq)
ops.MatrixDeterminant()(sq); ops.Cholesky()(sq @ sq.T + ops.eye(4)); mint.zeros((2, 3))
mint.ones((2,), dtype=ms.int32); mint.zeros_like(v); mint.ones_like(i); mint.exp(v); mint.log(p)
mint.reshape(x, (4, 6)); mint.einsum("ij,jk->ik", m, n); mint.clamp(v, -1, 1); mint.clamp(v, min=0)
mint.bmm(x, y.swapaxes(1, 2)); mint.empty((2, 3)).shape; mint.concat((m, m), 1); mint.full((2, 2), 3.5)
mint.full((2,), 3); mint.rsqrt(p); mint.sin(v); mint.cos(v); mint.sqrt(p); mint.cumsum(m, 0)
mint.gather(m, 1, T([[0, 1], [3, 3], [2, 0]])); mint.mean(m); mint.mean(m, 1); mint.softmax(m, 1)
mint.linspace(0, 1, 5); mint.topk(m, 2); mint.triu(m, 1); mint.tril(m); mint.chunk(m, 2, 1); mint.mul(v, w)
mint.repeat_interleave(m, 2, 1); mint.div(v, w); mint.div(v, w, rounding_mode="trunc"); mint.min(m)
mint.min(m, 1); mint.full_like(v, 2.0); mint.permute(x, (2, 0, 1)); mint.unsqueeze(v, 0); mint.sigmoid(v)
mint.tanh(v); mint.norm(m); mint.abs(v); mint.add(v, w, alpha=2); mint.pow(p, 2); mint.all(b); mint.any(b)
mint.any(m > 1, 0); mint.sub(v, w, alpha=0.5); mint.argmax(m, 1); mint.argmin(m); mint.argsort(m)
mint.sort(m); mint.flatten(x, 1); mint.squeeze(x[:, :1], 1); mint.tile(v, (2, 2)); mint.eq(v, w)
mint.ne(v, w); mint.gt(v, w); mint.lt(v, w); mint.ge(v, w); mint.le(v, w); mint.logical_and(b, b)
mint.logical_not(b); mint.isfinite(v); mint.isinf(v); mint.floor(v); mint.ceil(v); mint.round(v)
mint.trunc(v); mint.maximum(v, w); mint.minimum(v, w); mint.masked_select(m, m > 0); mint.nonzero(i)
mint.index_select(m, 1, T([0, 2])); mint.prod(m, 1); mint.var(m, 1); mint.std(m); mint.median(m)
mint.square(v); mint.neg(v); mint.reciprocal(v); mint.sign(v); mint.erf(v); mint.expm1(v); mint.log1p(p)
mint.atan2(v, w); mint.logsumexp(m, 1); mint.roll(m, 1, 0); mint.flip(m, (0,)); mint.eye(3)
mint.meshgrid(v, w, indexing="ij"); mint.outer(v, w); mint.dot(v, w); mint.mv(m, m[0])
mint.addmm(m @ n, m, n); mint.baddbmm(x @ y.swapaxes(1, 2), x, y.swapaxes(1, 2)); mint.broadcast_to(v, (2, 5))
mint.narrow(v, 0, 1, 3); mint.scatter(m, 1, T([[0], [1], [2]]), p[:, :1]); mint.unbind(m)
mint.lerp(v, w, 0.3); mint.nn.Embedding(3, 4, _weight=m)(labels); mint.nn.Dropout(0.0)(v)
fixed(mint.nn.Conv2d(3, 4, 3))(img); fixed(mint.nn.Conv2d(3, 4, 3, 2, 1))(img)
mint.nn.CrossEntropyLoss()(logits, labels); mint.nn.SiLU()(v)
fixed(mint.nn.BatchNorm2d(3)).set_train(False)(img); mint.nn.BCEWithLogitsLoss()(logits, bits)
mint.nn.MSELoss()(v, w); fixed(mint.nn.Conv1d(3, 4, 3))(seq); fixed(mint.nn.Conv3d(2, 3, 2))(vol)
mint.nn.GELU()(v); mint.nn.Tanh()(v); mint.nn.GELU("tanh")(v); fixed(mint.nn.ConvTranspose2d(3, 4, 3, 2))(img)
mint.nn.L1Loss()(v, w); mint.nn.Sigmoid()(v); mint.nn.AvgPool2d(2)(img); mint.nn.MaxPool2d(2)(img)
mint.nn.ELU()(v); F.dropout(v, 0.0); F.pad(x, (1, 2)); F.pad(img, (1, 1, 2, 2), "reflect")
F.interpolate(img, size=(3, 9)); F.interpolate(img, scale_factor=2.0, mode="bilinear"); F.normalize(m)
F.normalize(m, 1.0, 0); F.relu(v); F.gelu(v); F.silu(v); F.linear(m, n.T, v); F.layer_norm(m, (4,))
F.batch_norm(img, c, d, d, c); F.embedding(labels, m); F.cross_entropy(logits, labels); F.mse_loss(v, w)
F.l1_loss(v, w); F.log_softmax(m, 1); F.conv2d(img, k); F.binary_cross_entropy_with_logits(logits, bits)
F.binary_cross_entropy(p, p); F.nll_loss(ops.log_softmax(logits), labels); F.leaky_relu(v); F.elu(v)
F.softplus(v); F.sigmoid(v); F.hardtanh(v); F.max_pool2d(img, 2); F.avg_pool2d(img, 2)
F.adaptive_avg_pool2d(img, 2); F.smooth_l1_loss(v, w); F.kl_div(ops.log(p), p); F.group_norm(img, 3)
F.unfold(img, 2); mnp.empty((2, 3)).shape; mnp.abs(v); mnp.add(v, w); mnp.matmul(m, n); mnp.maximum(v, w)
mnp.stack((v, w)); fixed(nn.Conv2d(3, 4, 3))(img); fixed(nn.Conv2d(3, 4, 3, 2, "pad", 1, has_bias=True))(img)
fixed(nn.Conv2d(3, 6, 3, group=3, pad_mode="valid", dilation=2))(img); fixed(nn.Dense(4, 5))(m); nn.ReLU()(v)
fixed(nn.Dense(4, 5, has_bias=False, activation="relu"))(m)
fixed(nn.SequentialCell(nn.Dense(4, 5), nn.ReLU()))(m)
fixed(nn.SequentialCell([nn.Conv2d(3, 4, 1), nn.ReLU()]))(img); fixed(nn.BatchNorm2d(3)).set_train(False)(img)
fixed(nn.BatchNorm2d(3)).set_train()(img); fixed(nn.BatchNorm2d(3, 1e-3, 0.8)).set_train()(img)
fixed(nn.BatchNorm1d(4)).set_train()(m); fixed(nn.BatchNorm1d(4)).set_train(False)(m)
nn.Dropout(p=0.5).set_train(False)(v); fixed(nn.SyncBatchNorm(3)).set_train(False)(img)
fixed(nn.LayerNorm((4,)))(m); nn.AvgPool2d(2, 2)(img); nn.AvgPool2d(3, 2, "same")(img)
nn.MaxPool2d(2, 2)(img); nn.MaxPool2d(3, 2, "pad", 1)(img)
nn.AvgPool2d(3, 2, "pad", 1, count_include_pad=False)(img); nn.AdaptiveAvgPool2d(2)(img)
nn.AdaptiveAvgPool2d((None, 3))(img); fixed(nn.Embedding(3, 4))(labels)
fixed(nn.Embedding(3, 4, True))(labels); nn.LeakyReLU()(v); nn.LeakyReLU(0.01)(v); nn.GELU()(v)
nn.GELU(False)(v); nn.Sigmoid()(v); nn.Softmax()(m); nn.Softmax(0)(m); nn.LogSoftmax()(m); nn.Flatten()(x)
nn.Flatten(0, 1)(x); nn.Identity()(v); nn.ReLU6()(v * 4); nn.Tanh()(v); nn.SiLU()(v); nn.HSwish()(v)
nn.HSigmoid()(v); nn.ELU()(v); nn.Mish()(v); nn.Softsign()(v); nn.get_activation("gelu")(v); nn.SeLU()(v)
nn.LogSigmoid()(v); nn.SoftmaxCrossEntropyWithLogits(sparse=True)(logits, labels)
nn.SoftmaxCrossEntropyWithLogits(reduction="mean")(logits, hot)
nn.SoftmaxCrossEntropyWithLogits(True, "sum")(logits, labels); nn.CrossEntropyLoss()(logits, labels)
nn.CrossEntropyLoss(d, 1, "sum", 0.1)(logits, labels); nn.CrossEntropyLoss()(logits, chance)
nn.MSELoss()(v, w); nn.MSELoss("none")(v, w); nn.L1Loss()(v, w); nn.L1Loss("sum")(v, w)
nn.SmoothL1Loss()(v, w); nn.BCELoss()(p, p); nn.SmoothL1Loss(0.5, "mean")(v, w)
nn.BCEWithLogitsLoss()(logits, bits); nn.BCELoss(reduction="mean")(p, p)
nn.BCEWithLogitsLoss("sum", bits, d)(logits, bits); nn.HuberLoss()(v, w)
nn.NLLLoss()(ops.log_softmax(logits), labels)
nn.WithLossCell(fixed(nn.Dense(4, 3)), nn.SoftmaxCrossEntropyWithLogits(True, "mean"))(m, labels[:3])
nn.WithEvalCell(fixed(nn.Dense(4, 3)), nn.CrossEntropyLoss())(m, labels[:3])
nn.CellList([nn.ReLU(), nn.Tanh()])[1](v); trained(lambda ps: nn.Momentum(ps, 0.1, 0.9))
trained(lambda ps: nn.Momentum(ps, 0.1, 0.9, 0.01, 2.0)); trained(lambda ps: nn.SGD(ps, 0.1))
trained(lambda ps: nn.SGD(ps, 0.1, 0.9, 0.1, 0.01, False))
trained(lambda ps: nn.SGD(ps, 0.1, 0.9, nesterov=True)); trained(lambda ps: nn.Adam(ps, 0.1))
trained(lambda ps: nn.Adam(ps, 0.1, 0.8, 0.9, 1e-4, use_nesterov=True, weight_decay=0.1))
trained(lambda ps: nn.AdamWeightDecay(ps, 0.1)); trained(lambda ps: nn.Adam(ps, 0.1, use_amsgrad=True))
trained(lambda ps: nn.AdamWeightDecay(ps, 0.1, weight_decay=0.1)); trained(lambda ps: nn.RMSProp(ps, 0.1))
trained(lambda ps: nn.RMSProp(ps, 0.1, 0.8, 0.5, 1e-4, centered=True)); trained(lambda ps: nn.Adagrad(ps))
trained(lambda ps: nn.Adadelta(ps)); trained(lambda ps: nn.AdaMax(ps)); trained(lambda ps: nn.ASGD(ps))
trained(lambda ps: nn.Rprop(ps)); trained(lambda ps: nn.LazyAdam(ps, 0.1))
trained(lambda ps: nn.ProximalAdagrad(ps)); trained(lambda ps: nn.AdamOffload(ps, 0.1))
trained(lambda ps: nn.AdaFactor(ps, 0.1, scale_parameter=False, relative_step=False, warmup_init=False))
trained(lambda ps: eo.Adam(ps, 0.1)); trained(lambda ps: eo.AdamW(ps, 0.1))
trained(lambda ps: eo.SGD(ps, 0.1, 0.9)); trained(lambda ps: eo.Adagrad(ps))
trained(lambda ps: eo.RMSprop(ps)); trained(lambda ps: eo.NAdam(ps)); trained(lambda ps: eo.RAdam(ps))
trained(lambda ps: eo.Adadelta(ps)); trained(lambda ps: eo.Adamax(ps)); trained(lambda ps: eo.ASGD(ps))
trained(lambda ps: eo.Rprop(ps)); nn.piecewise_constant_lr([2, 5], [0.1, 0.01])
nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1); nn.warmup_lr(0.1, 6, 2, 2)
nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 1, True); nn.inverse_decay_lr(0.1, 0.5, 6, 2, 1)
nn.cosine_decay_lr(0.01, 0.1, 6, 2, 3); nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5)
rates(nn.WarmUpLR(0.1, 4)); rates(nn.CosineDecayLR(0.01, 0.1, 6))
rates(nn.PolynomialDecayLR(0.1, 0.01, 6, 0.5)); rates(nn.ExponentialDecayLR(0.1, 0.9, 4, True))
rates(nn.ExponentialDecayLR(0.1, 0.9, 4)); rates(nn.InverseDecayLR(0.1, 0.5, 4))
rates(nn.NaturalExpDecayLR(0.1, 0.9, 4, True)); rates(nn.PolynomialDecayLR(0.1, 0.01, 6, 0.5, True))
scored(train.Accuracy(), (chance, labels)); scored(train.Accuracy("multilabel"), (bits, bits))
scored(train.MAE(), (v, w)); scored(train.MSE(), (v, w), (w, v)); scored(train.Loss(), (v[:1],), (w[:1],))
scored(train.Precision(), (chance, labels)); scored(train.Recall(), (chance, labels))
scored(train.F1(), (chance, labels)); scored(train.Fbeta(2), (chance, labels))
scored(train.Top1CategoricalAccuracy(), (chance, labels))
scored(train.TopKCategoricalAccuracy(2), (chance, labels)); scored(train.Dice(), (bits, bits))
scored(train.ConfusionMatrix(3), (chance, labels)); scored(train.Perplexity(), (chance, labels))
scored(train.Top5CategoricalAccuracy(), (m @ n, labels[:3]))
scored(train.CosineSimilarity(), (np.eye(3) + 1,))
train.auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.7, 1.0])); init.initializer("ones", (2, 3)).init_data()
init.initializer("zeros", (2,), ms.int32).init_data(); init.initializer(init.Constant(0.5), (2,)).init_data()
init.initializer(init.Dirac(), (3, 3, 3)).init_data(); init.initializer(init.Identity(), (3, 3)).init_data()
init.initializer(0.3, (2,)).init_data(); init.initializer("normal", (2, 3)).init_data().shape
init.initializer(init.XavierUniform(), (2, 3)).init_data().dtype; refused(lambda: ops.matmul(m, m))
refused(lambda: ops.relu(1)); refused(lambda: ops.reshape(m, (5, 5))); refused(lambda: ops.softmax(m, 5))
refused(lambda: ops.concat((m, x))); refused(lambda: ops.concat((m, m), 4))
refused(lambda: ops.stack((m, v))); refused(lambda: ops.expand_dims(m, 9))
refused(lambda: ops.transpose(m, (0, 0))); refused(lambda: ops.conv2d(img, k[:, :2]))
refused(lambda: ops.cross_entropy(m, labels)); refused(lambda: ops.split(m, 2, 7))
refused(lambda: ops.gather(m, T([0.5]), 0)); refused(lambda: ops.ones("a")); refused(lambda: ops.topk(m, 9))
refused(lambda: ops.one_hot(v, 3)); refused(lambda: ops.dropout(v, 1.5)); refused(lambda: ops.squeeze(m, 0))
refused(lambda: ops.arange(0, 5, 0)); refused(lambda: ops.broadcast_to(m, (2, 4)))
refused(lambda: ops.pad(m, (1,))); refused(lambda: ops.clamp(v)); refused(lambda: ops.mean(m, 5))
refused(lambda: ops.add("a", "b")); refused(lambda: ops.bmm(m, m)); refused(lambda: ops.where(m > 0, v, m))
refused(lambda: ops.max_pool2d(v, 2)); refused(lambda: ops.layer_norm(m, (3,), m[0], m[0]))
refused(lambda: ops.mse_loss(v, m)); refused(lambda: ops.kl_div(p, p, "nix"))
refused(lambda: ops.interpolate(img, size=2, mode="nix")); refused(lambda: ops.norm(m, 2, 7))
refused(lambda: ops.cumsum(m, 9)); refused(lambda: ops.einsum("ij,jk->ik", m, m))
refused(lambda: ops.full("a", 1)); refused(lambda: nn.Dense(3.5, 2)); refused(lambda: nn.Dense(0, 2))
refused(lambda: nn.Conv2d(3, 4, 3, pad_mode="nix")); refused(lambda: nn.Dense(4, 2)(v))
refused(lambda: nn.Conv2d(3, 4, 0)); refused(lambda: nn.Conv2d(3, 4, 3, group=2))
refused(lambda: nn.BatchNorm2d(0)); refused(lambda: nn.BatchNorm2d(3, momentum=2.0))
refused(lambda: nn.Dropout(p=1.5)); refused(lambda: nn.Embedding("a", 4))
refused(lambda: nn.SequentialCell(3)); refused(lambda: nn.LayerNorm(4.5)); refused(lambda: nn.MaxPool2d(0))
refused(lambda: nn.AvgPool2d(2, 1, "nix")); refused(lambda: nn.get_activation("nix"))
refused(lambda: nn.MSELoss("nix")); refused(lambda: trained(lambda ps: nn.Adam(ps, -0.1)))
refused(lambda: trained(lambda ps: nn.Adam(ps, 0.1, beta1=1.5))); refused(lambda: nn.Adam([], 0.1))
refused(lambda: trained(lambda ps: nn.Momentum(ps, 0.1, -0.9))); refused(lambda: nn.warmup_lr(0.1, 6, 0, 2))
refused(lambda: nn.CosineDecayLR(0.1, 0.01, 6))
refused(lambda: nn.piecewise_constant_lr([5, 2], [0.1, 0.01])); refused(lambda: nn.Flatten(2, 1)(x))
refused(lambda: init.initializer("nix", (2,))); refused(lambda: nn.LSTM(4, 0))
refused(lambda: nn.GRU(4, 3, 0)); refused(lambda: ms.Tensor("a")); refused(lambda: ms.Parameter("a"))
refused(lambda: ms.Tensor(object())); refused(lambda: mint.matmul(m, m)); refused(lambda: mint.cat((m, v)))
refused(lambda: mint.nn.Linear(0.5, 3)); refused(lambda: mint.sum(m, 4))
refused(lambda: mint.reshape(m, (7,))); mint.rand((2, 3)).sum() * 0; mint.randn((2, 3)).sum() * 0
fixed(nn.LayerNorm((3, 4), 1, 1))(x); refused(lambda: ops.tile(m, (-1,)))
refused(lambda: nn.BatchNorm2d(3.5)); refused(lambda: nn.LSTM(3.5, 2)); refused(lambda: nn.LayerNorm(3))
refused(lambda: nn.Dense(True, 2)); refused(lambda: nn.GroupNorm(3.5, 6))
refused(lambda: nn.SequentialCell([1])); refused(lambda: nn.Embedding(4, 3.5))
fixed(nn.BatchNorm3d(2)).set_train(False)(vol); nn.ClipByNorm()(m, T(1.0)); nn.ConstantPad2d(1, 0.5)(img)
fixed(nn.Conv1d(3, 4, 3))(seq); fixed(nn.Conv1dTranspose(3, 4, 3))(seq)
fixed(nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation="relu")).set_train(False)(img)
fixed(nn.Conv2dTranspose(3, 4, 3, 2))(img); fixed(nn.Conv3d(2, 3, 2))(vol)
fixed(nn.Conv3dTranspose(2, 3, 2))(vol); fixed(nn.GRUCell(4, 3))(m, m[:, :3])
fixed(nn.LSTMCell(4, 3))(m, (m[:, :3], p[:, :3])); fixed(nn.RNNCell(4, 3))(m, m[:, :3])
fixed(nn.RNN(4, 3))(x); fixed(nn.GRU(4, 3, 2))(x); fixed(nn.LSTM(4, 3, bidirectional=True))(x)
fixed(nn.LSTM(4, 3, batch_first=True))(x); fixed(nn.MultiheadAttention(4, 2))(x, x, x)
nn.OneHot(depth=4)(labels); fixed(nn.PReLU(3))(img); nn.Pad(((1, 0), (0, 2)))(m)
nn.Pad(((1, 0), (0, 2)), "REFLECT")(m); nn.Unfold([1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1])(img)
fixed(nn.Linear(4, 3))(m); stepped(lambda net, opt: nn.TrainOneStepCell(net, opt))
stepped(lambda net, opt: nn.TrainOneStepCell(net, opt, 2.0))
stepped(lambda net, opt: nn.TrainOneStepWithLossScaleCell(net, opt, T(2.0)))[:1]
trained(lambda ps: nn.Lamb(ps, 0.1)); scored(nn.Top1CategoricalAccuracy(), (chance, labels))
scored(nn.Top5CategoricalAccuracy(), (m @ n, labels[:3])); scored(nn.Loss(), (v[:1],), (w[:1],))
by_type(v, w); by_type(2, w); ops.constexpr(lambda k: k + 1)(2); ops.Print()("values", v[0]) is not None
ops.RandomChoiceWithMask(4)(m > 0)[0].shape; ops.grad(lambda t: (t * t).sum())(v); ops.vmap(ops.square)(m)
ops.jvp(ops.square, v, w); ops.vjp(ops.square, v)[1](w)
"""
