"""Two-dimensional pooling in NCHW and its gradients. ``pads`` are (top, bottom, left, right)."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.types import Dim, TensorType
from mycelia.ops.batching import at_front, batch_size, fold, folded, unfold
from mycelia.ops.convolution import Pads, Pair, patches, unpatch, window_extent
from mycelia.ops.definition import operator
from mycelia.ops.inference import require_dtypes, require_rank, wrong_shape
from mycelia.ops.reference import widened
from mycelia.ops.samples import ErrorCase, Sample, distinct, strided, tensor, values


def pooled_shape(
    name: str, types: tuple[TensorType, ...], x: tuple[Dim, ...], kernel_size: Pair, stride: Pair, pads: Pads
) -> tuple[Dim, ...]:
    high = window_extent(x[2], kernel_size[0], stride[0], pads[0], pads[1])
    wide = window_extent(x[3], kernel_size[1], stride[1], pads[2], pads[3])
    if any(isinstance(d, int) and d < 1 for d in (high, wide)):
        raise wrong_shape(
            name,
            types,
            f"the window {kernel_size} must fit into the padded image",
            "Pad the image or use a smaller one",
        )
    return x[0], x[1], high, wide


def _require_output(
    name: str, types: tuple[TensorType, ...], dy: TensorType, expected: tuple[Dim, ...]
) -> None:
    if dy.shape != expected:
        raise wrong_shape(
            name, types, f"dy must have the shape of the pooling's output, {expected}", "Check the attributes"
        )


_CASES: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 6, 6), {"kernel_size": (2, 2), "stride": (2, 2), "pads": (0, 0, 0, 0)}),
    ((1, 2, 7, 8), {"kernel_size": (3, 3), "stride": (2, 2), "pads": (1, 1, 1, 1)}),
    ((2, 1, 5, 9), {"kernel_size": (3, 2), "stride": (1, 3), "pads": (0, 1, 1, 0)}),
    ((1, 17, 4, 4), {"kernel_size": (4, 4), "stride": (4, 4), "pads": (0, 0, 0, 0)}),
    ((0, 3, 6, 6), {"kernel_size": (2, 2), "stride": (2, 2), "pads": (0, 0, 0, 0)}),
]


def _cases() -> Iterator[tuple[dtypes.DType, tuple[int, ...], dict[str, Any], tuple[int, ...]]]:
    for number, (shape, attrs) in enumerate(_CASES):
        for dtype in dtypes.FLOATS if number < 2 else (dtypes.float32, dtypes.float64):
            yield dtype, shape, attrs, pooled_shape("", (), shape, **attrs)  # type: ignore[misc]


def _first_hits(x: np.ndarray, kernel_size: Pair, stride: Pair, pads: Pads) -> np.ndarray:
    """Booleans ``[n, c, high, wide, kh, kw]``: the first largest element of each window (the first NaN if
    there is one)."""
    windows = patches(x, kernel_size, stride, pads, fill=-np.inf)
    flat = windows.reshape(*windows.shape[:4], kernel_size[0] * kernel_size[1])
    first = np.argmax(flat, -1)
    return (np.arange(flat.shape[-1]) == first[..., None]).reshape(windows.shape)


def _max_pool(x, *, kernel_size, stride, pads):
    return patches(x, kernel_size, stride, pads, fill=-np.inf).max((-1, -2))


def _max_pool_grad(x, y, dy, *, kernel_size, stride, pads):
    hits = _first_hits(x, kernel_size, stride, pads)
    return unpatch(np.where(hits, dy[..., None, None], dy.dtype.type(0)), x.shape, stride, pads)


def _max_pool_grad_grad(x, y, g, *, kernel_size, stride, pads):
    hits = _first_hits(x, kernel_size, stride, pads)
    return np.where(hits, patches(g, kernel_size, stride, pads), g.dtype.type(0)).sum((-1, -2))


_WINDOW = _CASES[0][1]
_F32 = dtypes.float32


@operator("MaxPool")
class MaxPool:
    """The largest element of each window; padding never counts. The gradient goes to the first of equal
    elements."""

    def infer(x: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads) -> TensorType:
        require_rank("MaxPool", (x,), 4)
        require_dtypes("MaxPool", (x,), dtypes.FLOATS)
        return x.with_shape(*pooled_shape("MaxPool", (x,), x.shape, kernel_size, stride, pads))

    def vjp(g, x, y, **window): return MaxPoolGrad(x, y, g, **window)
    batch = folded(lambda *xs, **window: MaxPool(*xs, **window))
    reference = widened(_max_pool)

    def samples():
        for dtype, shape, attrs, _ in _cases():
            yield Sample((distinct(shape, dtype),), attrs)
        yield Sample((strided(distinct((2, 3, 6, 6))),), _WINDOW)
        yield Sample((np.zeros((1, 1, 4, 4), np.float32),), _WINDOW, gradient=False)

    errors = [ErrorCase((tensor(_F32, 3, 6, 6),), ValueError, "4-D", _WINDOW),
              ErrorCase((tensor(dtypes.bool_, 1, 3, 6, 6),), TypeError, "float16", _WINDOW)]


def _grad_samples(hits: bool) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        for dtype, shape, attrs, out in _cases():
            x = distinct(shape, dtype)
            y = MaxPool.reference(x, **attrs)
            yield Sample((x, y, values(out if hits else shape, dtype, key="g")), attrs, tolerance=2.0)
    return samples


@operator("MaxPoolGrad")
class MaxPoolGrad:
    """The cotangent of a max pooling's image, from the image, the output and the output's cotangent."""

    def infer(
        x: TensorType, y: TensorType, dy: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads
    ) -> TensorType:
        require_dtypes("MaxPoolGrad", (x, y, dy), dtypes.FLOATS)
        _require_output(
            "MaxPoolGrad",
            (x, y, dy),
            dy,
            pooled_shape("MaxPoolGrad", (x, y, dy), x.shape, kernel_size, stride, pads),
        )
        return x

    def vjp(g, x, y, dy, dx, **window): return None, None, MaxPoolGradGrad(x, y, g, **window)
    batch = folded(lambda *xs, **window: MaxPoolGrad(*xs, **window))
    reference = widened(_max_pool_grad)
    samples = _grad_samples(hits=True)
    errors = [
        ErrorCase(
            (tensor(_F32, 1, 1, 4, 4), tensor(_F32, 1, 1, 2, 2), tensor(_F32, 1, 1, 3, 3)),
            ValueError,
            "pooling's output",
            _WINDOW,
        )
    ]


@operator("MaxPoolGradGrad")
class MaxPoolGradGrad:
    """The elements of ``g`` where each window of ``x`` has its first largest element: the adjoint of
    `MaxPoolGrad`."""

    def infer(
        x: TensorType, y: TensorType, g: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads
    ) -> TensorType:
        require_dtypes("MaxPoolGradGrad", (x, y, g), dtypes.FLOATS)
        if g.shape != x.shape:
            raise wrong_shape(
                "MaxPoolGradGrad", (x, y, g), "g must have the image's shape", "Check the inputs' order"
            )
        return y

    def vjp(h, x, y, g, out, **window): return None, None, MaxPoolGrad(x, y, h, **window)
    batch = folded(lambda *xs, **window: MaxPoolGradGrad(*xs, **window))
    reference = widened(_max_pool_grad_grad)
    samples = _grad_samples(hits=False)
    errors = [
        ErrorCase(
            (tensor(_F32, 1, 1, 4, 4), tensor(_F32, 1, 1, 2, 2), tensor(_F32, 1, 1, 2, 2)),
            ValueError,
            "image's shape",
            _WINDOW,
        )
    ]


def _divisors(
    shape: tuple[int, ...], kernel_size: Pair, stride: Pair, pads: Pads, count_include_pad: bool
) -> np.ndarray:
    """The number of elements that each window's mean counts, ``[high, wide]``."""
    ones = np.ones((1, 1, *shape[2:]))
    return patches(ones, kernel_size, stride, pads, fill=float(count_include_pad)).sum((-1, -2))[0, 0]


def _avg_pool(x, *, kernel_size, stride, pads, count_include_pad):
    total = patches(x.astype(np.float64), kernel_size, stride, pads).sum((-1, -2))
    return (total / _divisors(x.shape, kernel_size, stride, pads, count_include_pad)).astype(x.dtype)


def _avg_pool_grad(dy, *, input_shape, kernel_size, stride, pads, count_include_pad):
    share = dy / _divisors(input_shape, kernel_size, stride, pads, count_include_pad)
    windows = np.broadcast_to(share[..., None, None], (*share.shape, *kernel_size))
    return unpatch(windows, input_shape, stride, pads).astype(dy.dtype)


@operator("AvgPool")
class AvgPool:
    """The mean of each window; zeros of the padding count in the divisor if ``count_include_pad``."""

    def infer(
        x: TensorType, *, kernel_size: Pair, stride: Pair, pads: Pads, count_include_pad: bool
    ) -> TensorType:
        require_rank("AvgPool", (x,), 4)
        require_dtypes("AvgPool", (x,), dtypes.FLOATS)
        return x.with_shape(*pooled_shape("AvgPool", (x,), x.shape, kernel_size, stride, pads))

    def vjp(g, x, y, **window): return AvgPoolGrad(g, input_shape=x.shape, **window)
    batch = folded(lambda *xs, **window: AvgPool(*xs, **window))
    reference = widened(_avg_pool)

    def samples():
        for dtype, shape, attrs, _ in _cases():
            for include in (False, True):
                yield Sample((values(shape, dtype),), {**attrs, "count_include_pad": include}, tolerance=2.0)

    errors = [ErrorCase((tensor(_F32, 3, 6, 6),), ValueError, "4-D", {**_WINDOW, "count_include_pad": True})]


@operator("AvgPoolGrad")
class AvgPoolGrad:
    """The cotangent of an average pooling's image."""

    def infer(
        dy: TensorType,
        *,
        input_shape: tuple,
        kernel_size: Pair,
        stride: Pair,
        pads: Pads,
        count_include_pad: bool,
    ) -> TensorType:
        require_dtypes("AvgPoolGrad", (dy,), dtypes.FLOATS)
        _require_output(
            "AvgPoolGrad",
            (dy,),
            dy,
            pooled_shape("AvgPoolGrad", (dy,), input_shape, kernel_size, stride, pads),
        )
        return dy.with_shape(*input_shape)

    def vjp(g, dy, dx, *, input_shape, **window): return AvgPool(g, **window)

    def batch(axes, dy, *, input_shape, **window):
        size, dy = batch_size(axes, (dy,)), at_front(dy, axes[0])
        whole = (size * input_shape[0], *input_shape[1:])
        return unfold(AvgPoolGrad(fold(dy), input_shape=whole, **window), size), 0

    reference = widened(_avg_pool_grad)

    def samples():
        for dtype, shape, attrs, out in _cases():
            for include in (False, True):
                yield Sample(
                    (values(out, dtype),),
                    {"input_shape": shape, **attrs, "count_include_pad": include},
                    tolerance=2.0,
                )

    errors = [ErrorCase((tensor(_F32, 1, 1, 3, 3),), ValueError, "pooling's output",
                        {"input_shape": (1, 1, 4, 4), **_WINDOW, "count_include_pad": True})]
