"""Batch and layer normalisation with their statistics, and their gradients.

Statistics of float16 and bfloat16 are float32, and so may the scale and shift be. With ``n = (x - mean) * r``
and ``r = 1 / sqrt(var + epsilon)`` over N elements, the gradient of ``y = n * gamma + beta`` is ``dx = gamma
* r * (dy - mean(dy) - n * mean(dy * n))`` (Ioffe and Szegedy 2015, section 3).
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front, at_front, reshape
from mycelia.ops.definition import operator
from mycelia.ops.exponential import Rsqrt
from mycelia.ops.inference import HALVES, require_dtypes, wide, wrong_dtype, wrong_shape
from mycelia.ops.movement import Reshape, Transpose
from mycelia.ops.reduction import ReduceSum
from mycelia.ops.reference import is_half
from mycelia.ops.samples import ErrorCase, Sample, tensor, values
from mycelia.ops.selection import Cast
from mycelia.tensor.tensor import Tensor


def _in(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype is dtype else Cast(x, dtype=dtype)


def _require_scale(
    name: str, types: tuple[TensorType, ...], x: TensorType, gamma: TensorType, shape: tuple
) -> None:
    require_dtypes(name, (x,), dtypes.FLOATS)
    if gamma.dtype not in (x.dtype, wide(x.dtype)):
        raise wrong_dtype(
            name,
            types,
            f"gamma and beta must be {wide(x.dtype).name} or the input's dtype",
            "Convert with astype",
        )
    if gamma.shape != shape:
        raise wrong_shape(
            name, types, f"gamma and beta must have the shape {shape}", "Check the layer's size"
        )


def _per_channel(v: Tensor, x: Tensor) -> Tensor:
    return Reshape(v, shape=(1, v.shape[0], *(1,) * (x.ndim - 2)))


def _channel_sum(x: Tensor, keepdims: bool = False) -> Tensor:
    return ReduceSum(x, axes=(0, *range(2, x.ndim)), keepdims=keepdims)


def _channel_count(x: Tensor) -> float:
    count = x.shape[0]
    for d in x.shape[2:]:
        count = count * d
    return float(count) or 1.0


def _bn_train(x, gamma, beta, *, epsilon):
    axes, shape = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    exact = x.astype(np.float64)
    with np.errstate(all="ignore"):
        mean = exact.sum(axes) / np.float64(x.size // max(x.shape[1], 1))
        var = np.square(exact - mean.reshape(shape)).sum(axes) / np.float64(x.size // max(x.shape[1], 1))
    y = (exact - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + epsilon) * gamma.astype(
        np.float64
    ).reshape(shape) + beta.astype(np.float64).reshape(shape)
    kept = np.float32 if is_half(x) else x.dtype
    return y.astype(x.dtype), mean.astype(kept), var.astype(kept)


def _bn_train_grad(dy, x, gamma, mean, var, *, epsilon):
    axes, shape = (0, *range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    g, a = dy.astype(np.float64), x.astype(np.float64)
    r = 1 / np.sqrt(var.astype(np.float64) + epsilon)
    n = (a - mean.astype(np.float64).reshape(shape)) * r.reshape(shape)
    dbeta, dgamma = g.sum(axes), (g * n).sum(axes)
    count = np.float64(max(x.size // max(x.shape[1], 1), 1))
    inner = g - (dbeta / count).reshape(shape) - n * (dgamma / count).reshape(shape)
    dx = (gamma.astype(np.float64) * r).reshape(shape) * inner
    return dx.astype(x.dtype), dgamma.astype(gamma.dtype), dbeta.astype(gamma.dtype)


_BN_SHAPES = ((4, 3), (2, 3, 4, 5), (3, 17, 2, 2), (2, 2, 7))


def _bn_samples() -> Iterator[Sample]:
    for dtype in dtypes.FLOATS:
        for shape in _BN_SHAPES if dtype not in HALVES else _BN_SHAPES[:2]:
            for scale in dict.fromkeys((dtype, wide(dtype))):
                c = (shape[1],)
                yield Sample(
                    (values(shape, dtype), values(c, scale, 0.5, 2.0, "g"), values(c, scale, key="b")),
                    {"epsilon": 1e-3},
                    tolerance=8.0,
                )


def _bn_grad_samples() -> Iterator[Sample]:
    for sample in _bn_samples():
        x, gamma, _ = sample.inputs
        _, mean, var = _bn_train(x, gamma, gamma, epsilon=1e-3)
        dy = values(x.shape, dtypes.from_numpy_dtype(x.dtype), key="dy")
        yield Sample((dy, x, gamma, mean, var), sample.attrs, tolerance=16.0)


_F32 = dtypes.float32


def _or_zeros(cotangent: Any, like: Any) -> Any:
    from mycelia.ops.creation import Full
    return Full(shape=like.shape, value=0.0, dtype=like.dtype) if cotangent is None else cotangent


@operator("BatchNormTrain", num_outputs=3, tags=("optional_cotangents",))
class BatchNormTrain:
    """Normalises each channel (axis 1) by its statistics over all other axes; gives y, the mean and the
    biased variance."""

    def infer(
        x: TensorType, gamma: TensorType, beta: TensorType, *, epsilon: float
    ) -> tuple[TensorType, ...]:
        types = (x, gamma, beta)
        if x.ndim < 2:
            raise wrong_shape(
                "BatchNormTrain",
                types,
                "the input must have a batch and a channel axis",
                "Reshape it to [n, c, ...]",
            )
        for v in (gamma, beta):
            _require_scale("BatchNormTrain", types, x, v, (x.shape[1],))
        kept = TensorType(wide(x.dtype), (x.shape[1],))
        return x, kept, kept

    def vjp(g, x, gamma, beta, y, mean, var, *, epsilon):
        gy, gmean, gvar = g
        dx, dgamma, dbeta = BatchNormTrainGrad(gy, x, gamma, mean, var, epsilon=epsilon)
        if gmean is None and gvar is None:  # nobody read the statistics: the usual case, and all of dx
            return dx, dgamma, dbeta
        gmean, gvar = (_or_zeros(v, like) for v, like in ((gmean, mean), (gvar, var)))
        centred = _in(x, mean.dtype) - _per_channel(mean, x)
        through = (_per_channel(gmean, x) + _per_channel(2.0 * gvar, x) * centred) * (1.0 / _channel_count(x))
        return dx + _in(through, x.dtype), dgamma, dbeta

    def batch(axes, x, gamma, beta, *, epsilon):
        x, gamma, beta = all_at_front(axes, (x, gamma, beta))
        size, c = gamma.shape
        y, mean, var = BatchNormTrain(
            _to_channels(x), reshape(gamma, size * c), reshape(beta, size * c), epsilon=epsilon
        )
        return (_from_channels(y, size), reshape(mean, size, c), reshape(var, size, c)), (1, 0, 0)

    reference = _bn_train
    samples = _bn_samples
    errors = [
        ErrorCase(
            (tensor(_F32, 3), tensor(_F32, 3), tensor(_F32, 3)), ValueError, "channel axis", {"epsilon": 1e-5}
        ),
        ErrorCase(
            (tensor(_F32, 2, 3), tensor(_F32, 2), tensor(_F32, 2)),
            ValueError,
            r"the shape \(3,\)",
            {"epsilon": 1e-5},
        ),
        ErrorCase(
            (tensor(dtypes.int32, 2, 3), tensor(_F32, 3), tensor(_F32, 3)),
            TypeError,
            "float16",
            {"epsilon": 1e-5},
        ),
        ErrorCase(
            (tensor(_F32, 2, 3), tensor(dtypes.float16, 3), tensor(dtypes.float16, 3)),
            TypeError,
            "gamma",
            {"epsilon": 1e-5},
        ),
    ]


def _to_channels(x: Any) -> Any:
    """[batch, n, c, ...] -> [n, batch * c, ...]."""
    x = Transpose(x, perm=(1, 0, *range(2, x.ndim)))
    return reshape(x, x.shape[0], x.shape[1] * x.shape[2], *x.shape[3:])


def _from_channels(x: Any, size: Any) -> Any:
    return reshape(x, x.shape[0], size, x.shape[1] // size, *x.shape[2:])


@operator("BatchNormTrainGrad", num_outputs=3)
class BatchNormTrainGrad:
    """The cotangents of `BatchNormTrain`'s inputs, of which mean and variance are taken as functions."""

    def infer(
        dy: TensorType, x: TensorType, gamma: TensorType, mean: TensorType, var: TensorType, *, epsilon: float
    ) -> tuple:
        types = (dy, x, gamma, mean, var)
        if dy != x:
            raise wrong_shape(
                "BatchNormTrainGrad", types, "dy must have the input's type", "Check the inputs' order"
            )
        _require_scale("BatchNormTrainGrad", types, x, gamma, (x.shape[1],))
        return x, gamma, gamma

    def vjp(g, dy, x, gamma, mean, var, dx, dgamma, dbeta, *, epsilon):
        kind = mean.dtype
        gx, ggamma, gbeta = (_in(v, kind) for v in g)
        d, a, scale = _in(dy, kind), _in(x, kind), _in(gamma, kind)
        share = 1.0 / _channel_count(x)
        r = Rsqrt(var + epsilon)
        centred = a - _per_channel(mean, x)
        n = centred * _per_channel(r, x)
        sum_d, sum_dn = _channel_sum(d), _channel_sum(d * n)
        inner = d - _per_channel(sum_d * share, x) - n * _per_channel(sum_dn * share, x)
        u = gx * _per_channel(scale * r, x)                      # cotangent of inner
        c_gamma = ggamma - _channel_sum(u * n) * share           # of dgamma, whole
        c_beta = gbeta - _channel_sum(u) * share                 # of dbeta, whole
        c_factor = _channel_sum(gx * inner)                      # of gamma * r
        c_n = d * _per_channel(c_gamma, x) - u * _per_channel(sum_dn * share, x)
        c_dy = u + _per_channel(c_beta, x) + n * _per_channel(c_gamma, x)
        c_x = c_n * _per_channel(r, x)
        c_r = _channel_sum(c_n * centred) + c_factor * scale
        return (_in(c_dy, dy.dtype), _in(c_x, x.dtype), _in(c_factor * r, gamma.dtype), -_channel_sum(c_x),
                c_r * (r * r * r) * -0.5)

    def batch(axes, dy, x, gamma, mean, var, *, epsilon):
        dy, x, gamma, mean, var = all_at_front(axes, (dy, x, gamma, mean, var))
        size, c = gamma.shape
        flat = (reshape(v, size * c) for v in (gamma, mean, var))
        dx, dgamma, dbeta = BatchNormTrainGrad(_to_channels(dy), _to_channels(x), *flat, epsilon=epsilon)
        return (_from_channels(dx, size), reshape(dgamma, size, c), reshape(dbeta, size, c)), (1, 0, 0)

    reference = _bn_train_grad
    samples = _bn_grad_samples
    errors = [
        ErrorCase(
            (tensor(_F32, 2, 3), tensor(_F32, 3, 3), *(tensor(_F32, 3),) * 3),
            ValueError,
            "dy must have",
            {"epsilon": 1e-5},
        )
    ]


def _row_axes(x: Any, begin_axis: int) -> tuple[int, ...]:
    return tuple(range(begin_axis, x.ndim))


def _row_sum(x: Tensor, begin_axis: int) -> Tensor:
    return ReduceSum(x, axes=_row_axes(x, begin_axis), keepdims=True)


def _over_rows(x: Tensor, begin_axis: int) -> Tensor:
    return ReduceSum(x, axes=tuple(range(begin_axis)), keepdims=False) if begin_axis else x


def _row_count(x: Tensor, begin_axis: int) -> float:
    count = 1
    for d in x.shape[begin_axis:]:
        count = count * d
    return float(count) or 1.0


def _ln(x, gamma, beta, *, begin_axis, epsilon):
    axes = _row_axes(x, begin_axis)
    exact = x.astype(np.float64)
    with np.errstate(all="ignore"):
        mean = exact.mean(axes, keepdims=True)
        rstd = 1 / np.sqrt(np.square(exact - mean).mean(axes, keepdims=True) + epsilon)
    y = (exact - mean) * rstd * gamma.astype(np.float64) + beta.astype(np.float64)
    kept = np.float32 if is_half(x) else x.dtype
    return y.astype(x.dtype), mean.astype(kept), rstd.astype(kept)


def _ln_grad(dy, x, gamma, mean, rstd, *, begin_axis):
    axes, rows = _row_axes(x, begin_axis), tuple(range(begin_axis))
    g, r = dy.astype(np.float64), rstd.astype(np.float64)
    n = (x.astype(np.float64) - mean.astype(np.float64)) * r
    d = g * gamma.astype(np.float64)
    with np.errstate(all="ignore"):
        dx = r * (d - d.mean(axes, keepdims=True) - n * (d * n).mean(axes, keepdims=True))
    return dx.astype(x.dtype), (g * n).sum(rows).astype(gamma.dtype), g.sum(rows).astype(gamma.dtype)


def _ln_samples() -> Iterator[Sample]:
    for dtype in dtypes.FLOATS:
        for shape, begin in (((3, 5), 1), ((2, 3, 17), 2), ((2, 3, 4), 1), ((0, 4), 1), ((7,), 0)):
            for scale in dict.fromkeys((dtype, wide(dtype))):
                yield Sample(
                    (
                        values(shape, dtype),
                        values(shape[begin:], scale, 0.5, 2.0, "g"),
                        values(shape[begin:], scale, key="b"),
                    ),
                    {"begin_axis": begin, "epsilon": 1e-3},
                    tolerance=8.0,
                )


def _ln_grad_samples() -> Iterator[Sample]:
    for sample in _ln_samples():
        x, gamma, beta = sample.inputs
        _, mean, rstd = _ln(x, gamma, beta, **sample.attrs)
        dy = values(x.shape, dtypes.from_numpy_dtype(x.dtype), key="dy")
        yield Sample((dy, x, gamma, mean, rstd), {"begin_axis": sample.attrs["begin_axis"]}, tolerance=16.0)


@operator("LayerNorm", num_outputs=3, tags=("optional_cotangents",))
class LayerNorm:
    """Normalises over the axes from ``begin_axis`` on; gives y, and mean and 1 / sqrt(variance + epsilon)
    with those axes kept as 1. ``gamma`` and ``beta`` have the shape ``x.shape[begin_axis:]``."""

    def infer(
        x: TensorType, gamma: TensorType, beta: TensorType, *, begin_axis: int, epsilon: float
    ) -> tuple[TensorType, ...]:
        types = (x, gamma, beta)
        if not 0 <= begin_axis < x.ndim:
            raise wrong_shape(
                "LayerNorm",
                types,
                f"begin_axis must be within {x.ndim} dimensions, not {begin_axis}",
                "Normalise it first",
            )
        for v in (gamma, beta):
            _require_scale("LayerNorm", types, x, v, x.shape[begin_axis:])
        kept = TensorType(wide(x.dtype), (*x.shape[:begin_axis], *(1,) * (x.ndim - begin_axis)))
        return x, kept, kept

    def vjp(g, x, gamma, beta, y, mean, rstd, *, begin_axis, epsilon):
        gy, gmean, grstd = g
        dx, dgamma, dbeta = LayerNormGrad(gy, x, gamma, mean, rstd, begin_axis=begin_axis)
        if gmean is None and grstd is None:
            return dx, dgamma, dbeta
        gmean, grstd = (_or_zeros(v, like) for v, like in ((gmean, mean), (grstd, rstd)))
        centred = _in(x, mean.dtype) - mean
        # d rstd / dx = -rstd^3 (x - mean) / N
        through = (gmean - grstd * (rstd * rstd * rstd) * centred) * (1.0 / _row_count(x, begin_axis))
        return dx + _in(through, x.dtype), dgamma, dbeta

    def batch(axes, x, gamma, beta, *, begin_axis, epsilon):
        if axes[1] is None and axes[2] is None:
            return LayerNorm(at_front(x, axes[0]), gamma, beta, begin_axis=begin_axis + 1, epsilon=epsilon), (
                0,
                0,
                0,
            )
        x, gamma, beta = all_at_front(axes, (x, gamma, beta))
        ones, zeros = _flat_scale(x, begin_axis + 1)
        n, mean, rstd = LayerNorm(x, ones, zeros, begin_axis=begin_axis + 1, epsilon=epsilon)
        scale, shift = (
            _in(reshape(v, v.shape[0], *(1,) * begin_axis, *v.shape[1:]), x.dtype) for v in (gamma, beta)
        )
        return (n * scale + shift, mean, rstd), (0, 0, 0)

    reference = _ln
    samples = _ln_samples
    errors = [
        ErrorCase(
            (tensor(_F32, 2, 3), tensor(_F32, 2), tensor(_F32, 2)),
            ValueError,
            r"the shape \(3,\)",
            {"begin_axis": 1, "epsilon": 1e-5},
        ),
        ErrorCase(
            (tensor(_F32, 2, 3), tensor(_F32, 3), tensor(_F32, 3)),
            ValueError,
            "begin_axis must be",
            {"begin_axis": 2, "epsilon": 1e-5},
        ),
        ErrorCase(
            (tensor(dtypes.int32, 2, 3), tensor(_F32, 3), tensor(_F32, 3)),
            TypeError,
            "float16",
            {"begin_axis": 1, "epsilon": 1e-5},
        ),
    ]


def _flat_scale(x: Tensor, begin_axis: int) -> tuple[Tensor, Tensor]:
    from mycelia.ops.creation import Full
    shape = x.shape[begin_axis:]
    return Full(shape=shape, value=1.0, dtype=x.dtype), Full(shape=shape, value=0.0, dtype=x.dtype)


@operator("LayerNormGrad", num_outputs=3)
class LayerNormGrad:
    """The cotangents of `LayerNorm`'s inputs, of which mean and rstd are taken as functions."""

    def infer(
        dy: TensorType,
        x: TensorType,
        gamma: TensorType,
        mean: TensorType,
        rstd: TensorType,
        *,
        begin_axis: int,
    ) -> tuple:
        types = (dy, x, gamma, mean, rstd)
        if dy != x:
            raise wrong_shape(
                "LayerNormGrad", types, "dy must have the input's type", "Check the inputs' order"
            )
        _require_scale("LayerNormGrad", types, x, gamma, x.shape[begin_axis:])
        return x, gamma, gamma

    def vjp(g, dy, x, gamma, mean, rstd, dx, dgamma, dbeta, *, begin_axis):
        kind, share = mean.dtype, 1.0 / _row_count(x, begin_axis)
        gx, ggamma, gbeta = (_in(v, kind) for v in g)
        d, a, scale = _in(dy, kind), _in(x, kind), _in(gamma, kind)

        def mean_of(v: Tensor) -> Tensor:
            return _row_sum(v, begin_axis) * share

        centred = a - mean
        n, e = centred * rstd, d * scale
        mean_en = mean_of(e * n)
        inner = e - mean_of(e) - n * mean_en
        u = gx * rstd                                            # cotangent of inner
        mean_un = mean_of(u * n)
        c_e = u - mean_of(u) - n * mean_un
        c_n = d * ggamma - u * mean_en - e * mean_un
        c_dy = c_e * scale + n * ggamma + gbeta
        c_x = c_n * rstd
        c_rstd = _row_sum(c_n * centred + gx * inner, begin_axis)
        return (_in(c_dy, dy.dtype), _in(c_x, x.dtype), _in(_over_rows(c_e * d, begin_axis), gamma.dtype),
                -_row_sum(c_x, begin_axis), c_rstd)

    def batch(axes, dy, x, gamma, mean, rstd, *, begin_axis):
        dy, x, gamma, mean, rstd = all_at_front(axes, (dy, x, gamma, mean, rstd))
        ones, _ = _flat_scale(x, begin_axis + 1)
        scale = reshape(gamma, gamma.shape[0], *(1,) * begin_axis, *gamma.shape[1:])
        dx, _, _ = LayerNormGrad(dy * _in(scale, dy.dtype), x, ones, mean, rstd, begin_axis=begin_axis + 1)
        d = _in(dy, mean.dtype)
        n = (_in(x, mean.dtype) - mean) * rstd
        rows = tuple(range(1, begin_axis + 1))
        dgamma, dbeta = (ReduceSum(v, axes=rows, keepdims=False) if rows else v for v in (d * n, d))
        return (dx, _in(dgamma, gamma.dtype), _in(dbeta, gamma.dtype)), (0, 0, 0)

    reference = _ln_grad
    samples = _ln_grad_samples
    errors = [
        ErrorCase(
            (tensor(_F32, 2, 3), tensor(_F32, 3, 3), tensor(_F32, 3), tensor(_F32, 2, 1), tensor(_F32, 2, 1)),
            ValueError,
            "dy must have",
            {"begin_axis": 1},
        )
    ]
