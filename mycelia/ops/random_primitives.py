"""Primitive classes that draw random numbers: more of the table in `mycelia.ops.primitives`.

Their two seeds name a place in the sequence of random numbers; both 0 mean the default generator.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.ir.dtypes import float32, int32, int64
from mycelia.ops.function import distributions, drawing
from mycelia.ops.primitive import primitive
from mycelia.ops.promotion import cast
from mycelia.tensor.tensor import Tensor


def _seed(seed: int, seed2: int) -> int | None:
    return (seed << 32 | seed2) or None


def _draws(name: str, function: Callable[..., Tensor]) -> None:
    """A class whose constructor takes the two seeds, and whose instances take what the function takes."""
    def call(*inputs: Any, seed: int = 0, seed2: int = 0) -> Tensor:
        return function(*inputs, seed=_seed(seed, seed2))

    call.__name__, call.__doc__ = name, function.__doc__
    primitive(call)


for _name, _function in (
    ("Gamma", distributions.gamma),
    ("Poisson", distributions.poisson),
    ("RandomGamma", distributions.random_gamma),
    ("RandomShuffle", distributions.shuffle),
    ("StandardLaplace", distributions.standard_laplace),
):
    _draws(_name, _function)


@primitive
def Bernoulli(x: Any, p: Any, *, seed: int = -1, offset: int = 0) -> Tensor:
    return drawing.bernoulli(x, p, None if seed == -1 else seed)


@primitive
def Multinomial(x: Any, num_samples: int, *, seed: int = 0, seed2: int = 0, dtype: Any = int32) -> Tensor:
    return cast(drawing.multinomial(x, num_samples, True, _seed(seed, seed2)), dtype)


@primitive
def RandomCategorical(logits: Any, num_sample: int, seed: int = 0, *, dtype: Any = int64) -> Tensor:
    return distributions.random_categorical(logits, num_sample, seed, dtype)


@primitive
def RandomChoiceWithMask(
    input_x: Any, *, count: int = 256, seed: int = 0, seed2: int = 0
) -> tuple[Tensor, Tensor]:
    return distributions.choice_with_mask(input_x, count, _seed(seed, seed2))


@primitive
def RandomPoisson(shape: Any, rate: Any, *, seed: int = 0, seed2: int = 0, dtype: Any = int64) -> Tensor:
    return distributions.random_poisson(shape, rate, _seed(seed, seed2), dtype)


@primitive
def Randperm(n: Any, *, max_length: int = 1, pad: int = -1, dtype: Any = int32) -> Tensor:
    """0, 1, ... n - 1 in random order, then ``pad`` up to ``max_length`` elements."""
    from mycelia.ops.movement import Pad
    count = int(n.asnumpy().reshape(())) if isinstance(n, Tensor) else int(n)
    if count > max_length:
        raise ValueError(f"Randperm: n must be at most max_length={max_length}. Received: n={count}")
    order = drawing.randperm(count, dtype=dtype)
    return Pad(order, paddings=((0, max_length - count),), value=pad)


@primitive
def TruncatedNormal(shape: Any, *, seed: int = 0, seed2: int = 0, dtype: Any = float32) -> Tensor:
    return distributions.truncated_normal(shape, _seed(seed, seed2), dtype)


@primitive
def UniformInt(shape: Any, minval: Any, maxval: Any, *, seed: int = 0, seed2: int = 0) -> Tensor:
    return drawing.randint(minval, maxval, shape, _seed(seed, seed2), dtype=int32)
