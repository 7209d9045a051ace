"""Initializers: how parameters get their first values.

All draws come from one generator, which `mycelia.set_seed` starts anew: a script with a seed builds the same
network every time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mycelia.common.seed import on_seed
from mycelia.ir.dtypes import DType, float32, from_numpy_dtype
from mycelia.tensor.tensor import Tensor

_generator: np.random.Generator | None = None


@on_seed
def _restart(seed: int) -> None:
    global _generator
    _generator = np.random.default_rng(seed)


def generator() -> np.random.Generator:
    """The generator of all initial values; without a seed it starts from the system's entropy."""
    global _generator
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


class Initializer:
    """Base of initializers; a subclass gives the values in ``draw(shape)``, calling it fills an array in
    place."""

    def draw(self, shape: tuple[int, ...]) -> np.ndarray | float:
        raise NotImplementedError(f"{type(self).__name__} does not say what values it gives (draw)")

    def __call__(self, arr: np.ndarray) -> None:
        arr[...] = self.draw(arr.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self.__dict__.items())})"


def _normal(shape: tuple[int, ...], sigma: float, mean: float = 0.0) -> np.ndarray:
    values = generator().standard_normal(shape, dtype=np.float32)
    values *= np.float32(sigma)
    return values if mean == 0 else values + np.float32(mean)


def _uniform(shape: tuple[int, ...], bound: float) -> np.ndarray:
    values = generator().random(shape, dtype=np.float32)
    values -= np.float32(0.5)
    values *= np.float32(2 * bound)
    return values


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many inputs an output has and how many outputs an input has, for a weight ``[out, in, *window]``.

    Raises:
        ValueError: fewer than two axes.
    """
    if len(shape) < 2:
        raise ValueError(
            "this initializer needs a shape of at least two axes, (out, in, ...). Received: "
            f"shape={tuple(shape)}; use Normal, "
            f"Uniform or Zero for vectors"
        )
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class Zero(Initializer):
    def draw(self, shape: tuple[int, ...]) -> float:
        return 0.0


class One(Initializer):
    def draw(self, shape: tuple[int, ...]) -> float:
        return 1.0


class Constant(Initializer):
    """Every element is ``value``."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def draw(self, shape: tuple[int, ...]) -> Any:
        return self.value


class Normal(Initializer):
    """Normal with standard deviation ``sigma`` and mean ``mean``."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma, self.mean = sigma, mean

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return _normal(shape, self.sigma, self.mean)


class TruncatedNormal(Initializer):
    """Normal with standard deviation ``sigma`` and mean ``mean``, restricted to the interval from ``a`` to
    ``b``.

    Raises:
        ValueError: the interval lies so far out that it holds next to nothing of the distribution.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        values = _normal(shape, self.sigma, self.mean)
        for _ in range(1000):
            outside = (values < self.a) | (values > self.b)
            count = int(outside.sum())
            if not count:
                return values
            values[outside] = _normal((count,), self.sigma, self.mean)
        raise ValueError(
            f"TruncatedNormal: hardly any value of sigma={self.sigma}, mean={self.mean} lies between "
            f"a={self.a} and b={self.b}"
        )


class Uniform(Initializer):
    """Uniform from -scale to scale."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return _uniform(shape, self.scale)


class XavierUniform(Initializer):
    """Uniform within ``gain * sqrt(6 / (fan_in + fan_out))``. Glorot and Bengio, AISTATS 2010, equation
    16."""

    def __init__(self, gain: float = 1) -> None:
        self.gain = gain

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return _uniform(shape, self.gain * math.sqrt(6.0 / sum(fans(shape))))


class XavierNormal(Initializer):
    """Normal with standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``."""

    def __init__(self, gain: float = 1) -> None:
        self.gain = gain

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return _normal(shape, self.gain * math.sqrt(2.0 / sum(fans(shape))))


_GAINS: dict[str, Callable[[float], float]] = {
    "linear": lambda slope: 1.0,
    "conv1d": lambda slope: 1.0,
    "conv2d": lambda slope: 1.0,
    "conv3d": lambda slope: 1.0,
    "sigmoid": lambda slope: 1.0,
    "tanh": lambda slope: 5.0 / 3.0,
    "relu": lambda slope: math.sqrt(2.0),
    "leaky_relu": lambda slope: math.sqrt(2.0 / (1.0 + slope**2)),
}


class _He(Initializer):
    """He et al., "Delving Deep into Rectifiers", ICCV 2015, equations 10 and 14.

    Args:
        negative_slope: of the leaky ReLU that follows.
        mode: ``"fan_in"`` keeps the variance of the forward pass, ``"fan_out"`` that of the backward pass.
        nonlinearity: what follows the layer.
    """

    def __init__(
        self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(
                f"{type(self).__name__}: mode must be 'fan_in' or 'fan_out'. Received: mode={mode!r}"
            )
        if nonlinearity not in _GAINS:
            raise ValueError(
                f"{type(self).__name__}: nonlinearity must be one of {', '.join(_GAINS)}. Received: "
                f"{nonlinearity!r}"
            )
        self.negative_slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def deviation(self, shape: tuple[int, ...]) -> float:
        fan = fans(shape)[0 if self.mode == "fan_in" else 1]
        return _GAINS[self.nonlinearity](self.negative_slope) / math.sqrt(fan)


class HeNormal(_He):
    """Normal with standard deviation gain / sqrt(fan)."""

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return _normal(shape, self.deviation(shape))


class HeUniform(_He):
    """Uniform within gain * sqrt(3 / fan)."""

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        return _uniform(shape, math.sqrt(3.0) * self.deviation(shape))


class Identity(Initializer):
    """Ones on the diagonal of a matrix."""

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) != 2:
            raise ValueError(f"Identity: needs a shape of two axes. Received: shape={shape}")
        return np.eye(*shape, dtype=np.float32)


class Orthogonal(Initializer):
    """Orthogonal rows or columns (the fewer), times ``gain``; axes after the first count as one. Saxe et al.
    2013."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        fans(shape)
        rows, columns = shape[0], math.prod(shape[1:])
        tall = generator().standard_normal((max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(tall)
        q *= np.sign(np.diag(r))
        return (self.gain * (q if rows >= columns else q.T)).reshape(shape)


class Dirac(Initializer):
    """Weights ``[out, in, window...]`` of a convolution that passes on as many channels as it can, in each of
    ``groups`` groups.

    Raises:
        ValueError: other than one to three axes of the window, or groups that do not divide the outputs.
    """

    def __init__(self, groups: int = 1) -> None:
        self.groups = groups

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        if not 3 <= len(shape) <= 5:
            raise ValueError(f"Dirac: needs a shape of three to five axes. Received: shape={shape}")
        if type(self.groups) is not int or self.groups < 1 or shape[0] % self.groups:
            raise ValueError(
                f"Dirac: groups must be positive and divide the outputs. Received: groups={self.groups!r}, "
                f"shape={shape}"
            )
        values = np.zeros(shape, np.float32)
        outputs = shape[0] // self.groups
        middle = tuple(extent // 2 for extent in shape[2:])
        for group in range(self.groups):
            for channel in range(min(outputs, shape[1])):
                values[(group * outputs + channel, channel, *middle)] = 1.0
        return values


class Sparse(Initializer):
    """A matrix whose columns are 0 in a share ``sparsity`` of the rows, else normal with deviation ``sigma``.
    Martens, "Deep learning via Hessian-free optimization", ICML 2010, section 5."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        self.sparsity, self.sigma = sparsity, sigma

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) != 2:
            raise ValueError(f"Sparse: needs a shape of two axes. Received: shape={shape}")
        values = _normal(shape, self.sigma)
        zeros = math.ceil(self.sparsity * shape[0])
        for column in range(shape[1]):
            values[generator().permutation(shape[0])[:zeros], column] = 0.0
        return values


_DEVIATION_IN_TWO_SIGMA = 0.87962566103423978  # of a standard normal that is cut off at -2 and 2


class VarianceScaling(Initializer):
    """Values of variance ``scale`` over the number of inputs, of outputs, or the mean of both.

    Args:
        scale: see there.
        mode: ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``.
        distribution: ``"uniform"``, ``"untruncated_normal"`` or ``"truncated_normal"`` (cut off at two
            deviations).
    """

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
    ) -> None:
        if scale <= 0:
            raise ValueError(f"VarianceScaling: scale must be positive. Received: scale={scale}")
        for name, value, known in (
            ("mode", mode, ("fan_in", "fan_out", "fan_avg")),
            ("distribution", distribution, ("uniform", "untruncated_normal", "truncated_normal")),
        ):
            if value not in known:
                raise ValueError(
                    f"VarianceScaling: {name} must be one of {known}. Received: {name}={value!r}"
                )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def draw(self, shape: tuple[int, ...]) -> np.ndarray:
        inputs, outputs = fans(shape)
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            return _uniform(shape, math.sqrt(3.0 * variance))
        if self.distribution == "untruncated_normal":
            return _normal(shape, math.sqrt(variance))
        sigma = math.sqrt(variance) / _DEVIATION_IN_TWO_SIGMA
        return TruncatedNormal(sigma, 0.0, -2 * sigma, 2 * sigma).draw(shape)


_BY_NAME: dict[str, type[Initializer]] = {
    "zero": Zero,
    "zeros": Zero,
    "one": One,
    "ones": One,
    "normal": Normal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "xavier_uniform": XavierUniform,
    "xavieruniform": XavierUniform,
    "xavier_normal": XavierNormal,
    "xaviernormal": XavierNormal,
    "he_uniform": HeUniform,
    "heuniform": HeUniform,
    "he_normal": HeNormal,
    "henormal": HeNormal,
    "identity": Identity,
    "orthogonal": Orthogonal,
    "dirac": Dirac,
    "variance_scaling": VarianceScaling,
    "variancescaling": VarianceScaling,
}


_drawing = True


@contextmanager
def no_init_parameters() -> Iterator[None]:
    """Within it no initial values are drawn: what networks are made of is zeros, until a checkpoint is
    loaded.

    Example:
        >>> with no_init_parameters():
        ...     net = Net()
        >>> load_param_into_net(net, load_checkpoint("net.ckpt"))
    """
    global _drawing
    before, _drawing = _drawing, False
    try:
        yield
    finally:
        _drawing = before


def initializer(init: Any, shape: Any = None, dtype: DType | None = float32) -> Tensor:
    """A tensor of initial values.

    Args:
        init: an `Initializer`, its name such as ``"he_uniform"`` or ``"zeros"``, a number, or a Tensor of
            that shape.
        shape: an int or a sequence of ints.
        dtype: element type.

    Raises:
        TypeError: ``init`` is of another type.
        ValueError: an unknown name, a negative extent, or a Tensor of another shape.

    Example:
        >>> initializer("ones", [2, 3]).shape
        (2, 3)
    """
    dtype = float32 if dtype is None else dtype
    extents = _extents(init, shape)
    if isinstance(init, Tensor):
        if init.shape != extents:
            raise ValueError(
                f"initializer: a Tensor must have the shape asked for, {extents}. Received: init of shape "
                f"{init.shape}"
            )
        return init if init.dtype is dtype else Tensor(init, dtype)
    rule = _rule(init)
    if not isinstance(dtype, DType):
        dtype = from_numpy_dtype(dtype)
    if not _drawing and not isinstance(rule, (Zero, One, Constant)):
        return Tensor.from_numpy(np.zeros(extents, dtype.numpy))
    return Tensor.from_numpy(
        np.asarray(np.broadcast_to(rule.draw(extents), extents)).astype(dtype.numpy, order="C")
    )


def _rule(init: Any) -> Initializer:
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        rule = _BY_NAME.get(init.lower())
        if rule is None:
            import difflib

            near = difflib.get_close_matches(init.lower(), _BY_NAME, 3)
            raise ValueError(
                f"initializer: no initializer is named {init!r}"
                + (f"; did you mean {', '.join(near)}?" if near else f"; known: {', '.join(_BY_NAME)}")
            )
        return rule()
    if isinstance(init, (int, float, np.number)) and not isinstance(init, bool):
        return Constant(init)
    raise TypeError(
        f"initializer: init must be an Initializer, a name, a number or a Tensor. Received: {init!r:.80} (of "
        "type "
        f"{type(init).__name__})"
    )


def _extents(init: Any, shape: Any) -> tuple[int, ...]:
    if shape is None:
        if isinstance(init, Tensor):
            return init.shape
        raise ValueError(f"initializer: shape is needed with init={init!r}")
    extents = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)) or extent < 0:
            raise ValueError(f"initializer: shape must hold ints of at least 0. Received: shape={shape!r}")
    return tuple(int(e) for e in extents)


__all__ = [
    "Constant",
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "initializer",
]
