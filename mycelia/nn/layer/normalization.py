"""Batch, layer and group normalisation."""

from __future__ import annotations

from typing import Any

from mycelia.common.initializer import initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import nchw, positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.explanations import refusal_of_channels
from mycelia.ops.function.images import batch_norm, group_norm, layer_norm, layer_norm_with_statistics
from mycelia.ops.function.shaping import reshape
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class _BatchNorm(Cell):
    """Normalises each channel of ``[n, num_features, ...]`` by its mean and variance, then scales and shifts
    it.

    Ioffe and Szegedy, "Batch Normalization", 2015.

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: the share of the moving statistics that stays at each training step.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init, moving_mean_init, moving_var_init: initial values.
        use_batch_statistics: None: the batch's statistics while training, the moving ones else. True, False:
            always the former, the latter.
        data_format: ``"NCHW"``.
        dtype: of the parameters.

    Raises:
        ValueError: a number out of range, or inputs with another number of axes or channels.
    """

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int(self.cls_name, num_features=num_features)
        nchw(self.cls_name, data_format)
        if not 0 <= momentum <= 1:
            raise ValueError(f"{self.cls_name}: momentum must be in [0, 1]. Received: momentum={momentum!r}")
        if not isinstance(eps, float) or eps <= 0:
            raise ValueError(f"{self.cls_name}: eps must be a positive float. Received: eps={eps!r}")
        if use_batch_statistics not in (None, True, False):
            raise ValueError(
                f"{self.cls_name}: use_batch_statistics must be True, False or None. Received: "
                f"{use_batch_statistics!r}"
            )
        self.num_features, self.eps, self.momentum = num_features, eps, float(momentum)
        self.use_batch_statistics = use_batch_statistics
        shape = (num_features,)
        self.moving_mean = Parameter(
            initializer(moving_mean_init, shape, dtype), name="mean", requires_grad=False
        )
        self.moving_variance = Parameter(
            initializer(moving_var_init, shape, dtype), name="variance", requires_grad=False
        )
        self.gamma = Parameter(
            initializer(gamma_init, shape, dtype), name="gamma", requires_grad=bool(affine)
        )
        self.beta = Parameter(initializer(beta_init, shape, dtype), name="beta", requires_grad=bool(affine))

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in self.ranks:
            raise ValueError(
                f"{self.cls_name}: the input must have {' or '.join(map(str, self.ranks))} axes, with "
                f"{self.num_features} channels "
                f"on axis 1. Received: a tensor of shape {x.shape}"
            )
        training = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        return batch_norm(
            x,
            self.moving_mean,
            self.moving_variance,
            self.gamma,
            self.beta,
            training,
            1.0 - self.momentum,
            self.eps,
        )

    def refusal(self, *inputs: Any) -> str | None:
        return refusal_of_channels(self, inputs[0], self.num_features) if inputs else None

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, "
            f"moving_mean={self.moving_mean}, moving_variance={self.moving_variance}"
        )


def _described(like: type[Cell]) -> Any:
    def decorate(cls: type[Cell]) -> type[Cell]:
        cls.__doc__ = f"{cls.__doc__}\n\n{like.__doc__}"
        return cls

    return decorate


@_described(_BatchNorm)
class BatchNorm1d(_BatchNorm):
    """Batch normalisation of ``[n, c]`` or ``[n, c, length]``."""

    ranks = (2, 3)


@_described(_BatchNorm)
class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images ``[n, c, h, w]``."""

    ranks = (4,)


class BatchNorm3d(Cell):
    """Batch normalisation of volumes ``[n, c, d, h, w]``; arguments as of `BatchNorm2d`, whose parameters
    it has
    under ``bn2d``, as checkpoints name them."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.bn2d = BatchNorm2d(
            num_features,
            eps,
            momentum,
            affine,
            gamma_init,
            beta_init,
            moving_mean_init,
            moving_var_init,
            use_batch_statistics,
            "NCHW",
            dtype,
        )

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != 5:
            raise ValueError(
                f"BatchNorm3d: the input must have 5 axes, with {self.bn2d.num_features} channels on axis 1. "
                f"Received: a tensor of shape {x.shape}"
            )
        n, c, d, h, w = x.shape
        return reshape(self.bn2d(reshape(x, (n, c, d * h, w))), x.shape)


class LayerNorm(Cell):
    """Normalises over the axes from ``begin_norm_axis``, then scales and shifts over those from
    ``begin_params_axis``.

    Ba, Kiros and Hinton, "Layer Normalization", 2016.

    Args:
        normalized_shape: a tuple or list, the shape of gamma and beta.
        begin_norm_axis, begin_params_axis: first axes of the statistics and of the parameters.
        gamma_init, beta_init: initial values.
        epsilon: added to the variance.
        dtype: of the parameters.
    """

    def __init__(
        self,
        normalized_shape: Any,
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)) or not normalized_shape:
            raise TypeError(
                "LayerNorm: normalized_shape must be a non-empty tuple or list. Received: "
                f"{normalized_shape!r} (of type "
                f"{type(normalized_shape).__name__}); for one axis write ({normalized_shape!r},)"
            )
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis, self.begin_params_axis, self.epsilon = (
            begin_norm_axis,
            begin_params_axis,
            float(epsilon),
        )
        self.gamma = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")

    def construct(self, x: Tensor) -> Tensor:
        inner = x.shape[self.begin_params_axis % x.ndim :] if x.ndim else ()
        if inner != self.normalized_shape:
            raise ValueError(
                f"LayerNorm: the input's axes from begin_params_axis={self.begin_params_axis} must be "
                "normalized_shape "
                f"{self.normalized_shape}. Received: a tensor of shape {x.shape}, where they are {inner}"
            )
        return layer_norm_with_statistics(
            x, self.gamma, self.beta, self.begin_norm_axis, self.begin_params_axis, self.epsilon
        )[0]

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma={self.gamma}, beta={self.beta}"
        )


class GroupNorm(Cell):
    """Normalises each group of channels of each item of ``[n, num_channels, ...]``. Wu and He, "Group
    Normalization", 2018."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_groups must divide num_channels. Received: num_groups={num_groups}, "
                f"num_channels={num_channels}"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, float(eps)
        self.gamma = Parameter(
            initializer(gamma_init, (num_channels,), dtype), name="gamma", requires_grad=bool(affine)
        )
        self.beta = Parameter(
            initializer(beta_init, (num_channels,), dtype), name="beta", requires_grad=bool(affine)
        )

    def construct(self, x: Tensor) -> Tensor:
        return group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes; with one process, over its own.

    Args:
        num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init,
            use_batch_statistics, dtype: as of `BatchNorm2d`.
        process_groups: None; there is one process.
    """

    ranks = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        process_groups: Any = None,
        dtype: DType = float32,
    ) -> None:
        if process_groups not in (None, 0, [[0]]):
            raise ValueError(
                f"SyncBatchNorm: process_groups must be None; there is one process. Received: "
                f"{process_groups!r}"
            )
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            gamma_init,
            beta_init,
            moving_mean_init,
            moving_var_init,
            use_batch_statistics,
            "NCHW",
            dtype,
        )


class _InstanceNorm(Cell):
    """Normalises each channel of each item by its own mean and variance, then scales and shifts it. Ulyanov,
    Vedaldi and Lempitsky, "Instance Normalization", 2016.

    Args:
        num_features: channels.
        eps: added to the variance.
        momentum: accepted; there are no moving statistics.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init: initial values.
        dtype: of the parameters.
    """

    rank = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int(self.cls_name, num_features=num_features)
        if not 0 <= momentum <= 1:
            raise ValueError(f"{self.cls_name}: momentum must be in [0, 1]. Received: momentum={momentum!r}")
        self.num_features, self.eps, self.momentum = num_features, float(eps), float(momentum)
        shape = (num_features,)
        # checkpoints hold moving statistics, which nothing uses
        self.moving_mean = Parameter(initializer("zeros", shape, dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(
            initializer("ones", shape, dtype), name="variance", requires_grad=False
        )
        self.gamma = Parameter(
            initializer(gamma_init, shape, dtype), name="gamma", requires_grad=bool(affine)
        )
        self.beta = Parameter(initializer(beta_init, shape, dtype), name="beta", requires_grad=bool(affine))

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != self.rank or x.shape[1] != self.num_features:
            raise ValueError(
                f"{self.cls_name}: the input must have {self.rank} axes, with {self.num_features} channels "
                f"on "
                f"axis 1. Received: a tensor of shape {x.shape}"
            )
        return group_norm(x, self.num_features, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}"
        )


@_described(_InstanceNorm)
class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of ``[n, c, length]``."""

    rank = 3


@_described(_InstanceNorm)
class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of images ``[n, c, h, w]``."""

    rank = 4


@_described(_InstanceNorm)
class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes ``[n, c, d, h, w]``."""

    rank = 5


class LayerNormExt(Cell):
    """Normalises over the last axes, whose extents are ``normalized_shape``, then scales and shifts.

    Args:
        normalized_shape: an int or several.
        eps: added to the variance.
        elementwise_affine: whether there is a trained weight.
        bias: whether there is a trained bias too.
        dtype: of the parameters.
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
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, float(eps), bool(elementwise_affine)
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = Parameter(initializer("ones", shape, dtype), name="weight")
            if bias:
                self.bias = Parameter(initializer("zeros", shape, dtype), name="bias")

    def construct(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}"
        )
