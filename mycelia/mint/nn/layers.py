"""Layers with parameters under PyTorch's names: ``weight``, ``bias``, ``running_mean``..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.common.initializer import HeUniform, Normal, Uniform, initializer
from mycelia.ir.dtypes import DType, float32, int64
from mycelia.mint.nn import functional as F
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.ops.function.effects import assign
from mycelia.ops.function.sliding import several
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "Embedding",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "PReLU",
    "SyncBatchNorm",
]


def _drawn(
    shape: tuple[int, ...],
    fan_in: int,
    bias: int | None,
    dtype: DType | None,
    weight_init: Any = None,
    bias_init: Any = None,
) -> tuple[Parameter, Parameter | None]:
    """A weight and a bias, uniform within 1 / sqrt(fan_in) unless told otherwise."""
    dtype = dtype or float32
    weight = initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype)
    if bias is None:
        return Parameter(weight, name="weight"), None
    start = Uniform(1 / math.sqrt(fan_in)) if bias_init is None else bias_init
    return Parameter(weight, name="weight"), Parameter(initializer(start, (bias,), dtype), name="bias")


class Linear(Cell):
    """``x @ weight.T + bias`` over the last axis of ``[..., in_features]``.

    Args:
        in_features, out_features: extents of the last axis before and after.
        bias: whether to add one.
        weight_init, bias_init: initializers, their names, or tensors; default: uniform within 1 /
            sqrt(in_features).
        dtype: of the parameters; float32 unless given.

    Raises:
        ValueError: numbers that are not positive.

    Example:
        >>> Linear(3, 4)(Tensor(numpy.ones((2, 3), "f"))).shape
        (2, 4)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        positive_int("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight, self.bias = _drawn(
            (out_features, in_features), in_features, out_features if bias else None, dtype, weight_init,
            bias_init,
        )

    def construct(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extend_repr(self) -> str:
        return (
            f"input_features={self.in_features}, output_features={self.out_features}, "
            f"has_bias={self.bias is not None}"
        )


class Embedding(Cell):
    """The rows of ``weight`` that integer ids name: ids ``[...]`` give ``[..., embedding_dim]``.

    Args:
        num_embeddings, embedding_dim: rows and columns of the table.
        padding_idx: a row that starts at zero and gets no gradient.
        max_norm, norm_type, scale_grad_by_freq: must be left as they are.
        sparse: accepted; gradients are dense either way.
        dtype: of the table; float32 unless given.

    Raises:
        ValueError: numbers out of range.
        NotImplementedError: max_norm or scale_grad_by_freq.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        positive_int("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        shape = (num_embeddings, embedding_dim)
        if padding_idx is not None:
            if type(padding_idx) is not int or not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"Embedding: padding_idx must be an int in [-{num_embeddings}, {num_embeddings}). "
                    f"Received: padding_idx={padding_idx!r}"
                )
            padding_idx %= num_embeddings
        if _weight is None:
            rows = np.array(initializer(Normal(1.0, 0.0), shape, dtype or float32).asnumpy())
            if padding_idx is not None:
                rows[padding_idx] = 0
            _weight = Tensor.from_numpy(rows)
        elif tuple(_weight.shape) != shape:
            raise ValueError(f"Embedding: _weight must have the shape {shape}. Received: {_weight.shape}")
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.weight = Parameter(_weight, name="weight", requires_grad=not _freeze)

    def construct(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )

    def extend_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"padding_idx={self.padding_idx}"
        )


class PReLU(Cell):
    """The input, times a trained weight for its channel (or one for all) where it is negative."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: DType | None = None) -> None:
        super().__init__()
        positive_int("PReLU", num_parameters=num_parameters)
        self.num_parameters = num_parameters
        start = np.full((num_parameters,), init, np.float32)
        self.weight = Parameter(Tensor(start, dtype or float32), name="weight")

    def construct(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


# -- convolutions --------------------------------------------------------------------------------------------
class _Convolution(Cell):
    """Convolution of ``[n, in_channels, ...]``.

    Args:
        in_channels, out_channels: numbers of channels.
        kernel_size, stride, dilation: an int, or one for each axis.
        padding: an int, one for each axis, ``"same"`` or ``"valid"``.
        groups: groups of channels that do not mix.
        bias: whether to add one for each output channel.
        padding_mode: what is padded: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        dtype: of the parameters; float32 unless given.

    Raises:
        ValueError: a number out of range, or channels that the groups do not divide.
        TypeError: arguments of other types.
    """

    axes = 0
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        name = self.cls_name
        positive_int(name, in_channels=in_channels, out_channels=out_channels, groups=groups)
        self.kernel_size, self.stride, self.dilation = (
            several(name, value, what, self.axes)
            for value, what in ((kernel_size, "kernel_size"), (stride, "stride"), (dilation, "dilation"))
        )
        if min(*self.kernel_size, *self.stride, *self.dilation) < 1:
            raise ValueError(
                f"{name}: kernel_size, stride and dilation must be positive. Received: {kernel_size}, "
                f"{stride}, {dilation}"
            )
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: groups must divide in_channels and out_channels. Received: groups={groups}, "
                f"in_channels={in_channels}, out_channels={out_channels}"
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f"{name}: padding_mode must be 'zeros', 'reflect', 'replicate' or 'circular'. Received: "
                f"padding_mode={padding_mode!r}"
            )
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{name}: padding must be 'same', 'valid' or ints. Received: {padding!r}")
        self.padding = padding if isinstance(padding, str) else several(name, padding, "padding", self.axes)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        self.weight, self.bias = _drawn(
            shape, math.prod(shape[1:]), out_channels if bias else None, dtype
        )

    def _margins(self) -> tuple[int, ...]:
        """The padding as `functional.pad` takes it: last axis first."""
        if self.padding == "valid":
            return (0,) * (2 * self.axes)
        if self.padding == "same":
            totals = [d * (k - 1) for k, d in zip(self.kernel_size, self.dilation)]
            pairs = [(t // 2, t - t // 2) for t in totals]
        else:
            pairs = [(p, p) for p in self.padding]
        return tuple(n for pair in reversed(pairs) for n in pair)

    def construct(self, input: Tensor) -> Tensor:
        function = getattr(F, f"conv{self.axes}d")
        if self.padding_mode == "zeros":
            return function(
                input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
            )
        padded = F.pad(input, self._margins(), self.padding_mode)
        return function(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}"
        )


class Conv1d(_Convolution):
    __doc__ = _Convolution.__doc__
    axes = 1


class Conv2d(_Convolution):
    __doc__ = _Convolution.__doc__
    axes = 2


class Conv3d(_Convolution):
    __doc__ = _Convolution.__doc__
    axes = 3


class ConvTranspose2d(_Convolution):
    """The adjoint of `Conv2d`: images grow by the stride; ``output_padding`` adds rows and columns at the
    end. Other arguments as of `Conv2d`, padding in zeros only."""

    axes = 2
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f"ConvTranspose2d: padding_mode must be 'zeros'. Received: padding_mode={padding_mode!r}"
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype=dtype
        )
        self.output_padding = several("ConvTranspose2d", output_padding, "output_padding", 2)

    def construct(self, input: Tensor) -> Tensor:
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups,
            self.dilation,
        )


# -- normalisation -------------------------------------------------------------------------------------------
def _ones_and_zeros(shape: tuple[int, ...], dtype: DType | None, affine: bool,
                    bias: bool = True) -> tuple[Parameter | None, Parameter | None]:
    if not affine:
        return None, None
    weight = Parameter(initializer("ones", shape, dtype or float32), name="weight")
    return weight, Parameter(initializer("zeros", shape, dtype or float32), name="bias") if bias else None


class _BatchNorm(Cell):
    """Normalises each channel of ``[n, num_features, ...]`` by its mean and variance, then scales and shifts
    it (Ioffe and Szegedy 2015).

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics; None: all batches count alike.
        affine: whether to scale by ``weight`` and shift by ``bias``.
        track_running_stats: whether to keep running statistics for the time after training.
        dtype: of the parameters; float32 unless given.

    Raises:
        ValueError: inputs with another number of axes or channels.
    """

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        positive_int(self.cls_name, num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_features,)
        self.weight, self.bias = _ones_and_zeros(shape, dtype, affine)
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            kept = (("running_mean", "zeros"), ("running_var", "ones"))
            self.running_mean, self.running_var = (
                Parameter(initializer(start, shape, dtype or float32), name=name, requires_grad=False)
                for name, start in kept
            )
            self.num_batches_tracked = Parameter(
                Tensor(0, int64), name="num_batches_tracked", requires_grad=False
            )

    def construct(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks or input.shape[1] != self.num_features:
            raise ValueError(
                f"{self.cls_name}: the input must have {' or '.join(map(str, self.ranks))} axes, with "
                f"{self.num_features} channels on axis 1. Received: a tensor of shape {input.shape}"
            )
        momentum: Any = self.momentum
        if self.training and self.track_running_stats:
            assign(self.num_batches_tracked, self.num_batches_tracked + 1)
            if momentum is None:
                momentum = 1.0 / self.num_batches_tracked.astype(float32)
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or self.running_mean is None, momentum, self.eps,
        )

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm2d` whose statistics are those of all processes together; of one process they are its own.

    Raises:
        NotImplementedError: a process group.
    """

    ranks = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if process_group is not None:
            raise NotImplementedError(
                f"SyncBatchNorm: process_group must be None. Received: process_group={process_group!r}. "
                "There is one process"
            )
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)


class LayerNorm(Cell):
    """Normalises over the last axes, whose extents are ``normalized_shape``, then scales and shifts (Ba,
    Kiros and Hinton 2016).

    Args:
        normalized_shape: an int, a tuple or a list.
        eps: added to the variance.
        elementwise_affine: whether to scale by ``weight`` and shift by ``bias``.
        bias: whether to shift.
        dtype: of the parameters; float32 unless given.

    Raises:
        TypeError: another kind of shape.
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        if not isinstance(shape, (tuple, list)) or any(type(d) is not int for d in shape):
            raise TypeError(
                "LayerNorm: normalized_shape must be an int or a tuple of ints. Received: normalized_shape="
                f"{normalized_shape!r} (of type {type(normalized_shape).__name__})"
            )
        self.normalized_shape, self.eps, self.elementwise_affine = tuple(shape), eps, elementwise_affine
        self.weight, self.bias = _ones_and_zeros(self.normalized_shape, dtype, elementwise_affine, bias)

    def construct(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Cell):
    """Normalises each of ``num_groups`` groups of channels of ``[n, num_channels, ...]``, then scales and
    shifts channels (Wu and He 2018).

    Raises:
        ValueError: channels that the groups do not divide.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        positive_int("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_groups must divide num_channels. Received: num_groups={num_groups}, "
                f"num_channels={num_channels}"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight, self.bias = _ones_and_zeros((num_channels,), dtype, affine)

    def construct(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (
            f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}, "
            f"affine={self.affine}"
        )


class Identity(Cell):
    """The input itself; arguments of any kind are accepted."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input
