"""Functions that draw from other distributions than the uniform and the normal one, and that draw elements of
tensors. As in `mycelia.ops.function.drawing`, without a seed they move the default generator on."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import bool_, float32, int32, int64
from mycelia.ops import indexing
from mycelia.ops.constants import like, scalar
from mycelia.ops.distributions import RandomGamma, RandomPoisson
from mycelia.ops.function import elementwise
from mycelia.ops.function.drawing import multinomial, rand, randint, randn, randperm
from mycelia.ops.function.shaping import extents, narrow, reshape
from mycelia.ops.generator import generator_of
from mycelia.ops.inference import broadcast_shapes
from mycelia.ops.promotion import as_tensor, cast, require_tensor, resolve_dtype
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = [
    "bernoulli_", "choice_with_mask", "exponential_", "gamma", "laplace",
    "multinomial_with_replacement", "normal_", "poisson", "random_", "random_categorical",
    "random_gamma", "random_poisson", "shuffle", "standard_laplace", "uniform_",
]


def _parameter(name: str, value: Any, what: str) -> Tensor:
    x = as_tensor(name, value, what)
    return x if x.dtype.is_float else cast(x, float32)


def _spread(name: str, shape: Any, *parameters: Tensor) -> tuple:
    """The shape to which a shape and parameters broadcast."""
    from mycelia.ir.types import TensorType
    wanted = TensorType(float32, extents(name, shape))
    return broadcast_shapes(name, [wanted, *(p.type for p in parameters)])


def gamma(shape: Any, alpha: Any, beta: Any, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution with shapes ``alpha`` and rates ``beta``; their shapes and ``shape``
    broadcast together. float32."""
    a, b = _parameter("gamma", alpha, "alpha"), _parameter("gamma", beta, "beta")
    drawn = generator_of(seed).draw(RandomGamma, a, shape=_spread("gamma", shape, a, b), dtype=float32)
    return drawn / cast(b, float32)


def random_gamma(shape: Any, alpha: Any, seed: int | None = None) -> Tensor:
    """Numbers of the gamma distribution with scale 1: ``shape`` of them for each of ``alpha``."""
    a = _parameter("random_gamma", alpha, "alpha")
    whole = (*extents("random_gamma", shape), *a.shape)
    return generator_of(seed).draw(RandomGamma, a, shape=whole, dtype=a.dtype)


def poisson(shape: Any, mean: Any, seed: int | None = None) -> Tensor:
    """Numbers of the Poisson distribution; ``shape`` and the means broadcast together. int32."""
    rate = _parameter("poisson", mean, "mean")
    return generator_of(seed).draw(RandomPoisson, rate, shape=_spread("poisson", shape, rate), dtype=int32)


def random_poisson(shape: Any, rate: Any, seed: int | None = None, dtype: Any = float32) -> Tensor:
    """Numbers of the Poisson distribution: ``shape`` of them for each rate."""
    r = _parameter("random_poisson", rate, "rate")
    whole = (*extents("random_poisson", shape), *r.shape)
    kind = resolve_dtype("random_poisson", dtype)
    return generator_of(seed).draw(RandomPoisson, r, shape=whole, dtype=kind)


def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1, float32."""
    u = rand(*extents("standard_laplace", shape), seed=seed) - 0.5
    # 1 - 2 |u| is at least the distance of neighbouring float32 numbers below 1
    size = elementwise.log(elementwise.maximum(1.0 - elementwise.abs(u) * 2.0, scalar(2.0**-24, float32)))
    return -elementwise.sign(u) * size


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Tensor:
    """Numbers of the Laplace distribution with means and scales; all broadcast together. float32."""
    m, scale = _parameter("laplace", mean, "mean"), _parameter("laplace", lambda_param, "lambda_param")
    drawn = standard_laplace(_spread("laplace", shape, m, scale), seed)
    return drawn * cast(scale, float32) + cast(m, float32)


def exponential(shape: Any, rate: Any = 1.0, seed: int | None = None, dtype: Any = float32) -> Tensor:
    """Numbers of the exponential distribution."""
    u = rand(*extents("exponential", shape), dtype=dtype, seed=seed)
    return -elementwise.log1p(-u) / rate


def cauchy(shape: Any, median: float = 0.0, sigma: float = 1.0, dtype: Any = float32) -> Tensor:
    """Numbers of the Cauchy distribution."""
    return elementwise.tan((rand(*extents("cauchy", shape), dtype=dtype) - 0.5) * math.pi) * sigma + median


def log_normal(shape: Any, mean: float = 1.0, std: float = 2.0, dtype: Any = float32) -> Tensor:
    """Numbers whose logarithms are normal."""
    return elementwise.exp(randn(*extents("log_normal", shape), dtype=dtype) * std + mean)


def truncated_normal(shape: Any, seed: int | None = None, dtype: Any = float32) -> Tensor:
    """Standard normal numbers within two standard deviations, by inverting their distribution."""
    edge = math.erf(2 / math.sqrt(2))
    u = rand(*extents("truncated_normal", shape), dtype=dtypes.float64, seed=seed)
    drawn = elementwise.erfinv((u * 2.0 - 1.0) * edge) * math.sqrt(2.0)
    return cast(drawn, resolve_dtype("truncated_normal", dtype))


# -- elements ------------------------------------------------------------------------------------------------
def shuffle(x: Any, seed: int | None = None) -> Tensor:
    """The slices along the first axis in random order."""
    x = require_tensor("shuffle", x)
    return x if x.ndim == 0 else indexing.Gather(x, randperm(int(x.shape[0]), seed), axis=0)


def random_categorical(logits: Any, num_sample: int, seed: int = 0, dtype: Any = int64) -> Tensor:
    """Classes drawn with probabilities in proportion to ``exp(logits)``, ``num_sample`` for each row."""
    x = require_tensor("random_categorical", logits)
    if x.ndim != 2:
        raise ValueError(f"random_categorical: logits must be a matrix. Received: shape {x.shape}")
    top = x - x.max(axis=-1, keepdims=True)
    drawn = multinomial(elementwise.exp(top), int(num_sample), True, seed or None)
    return cast(drawn, resolve_dtype("random_categorical", dtype))


def multinomial_with_replacement(x: Any, seed: int, offset: int, numsamples: int,
                                 replacement: bool = False) -> Tensor:
    """Classes drawn with probabilities in proportion to the last axis, int64; ``seed`` and ``offset`` name
    the place in the sequence of random numbers (both 0: the default generator's)."""
    given = (int(seed) << 32 | int(offset)) or None
    return cast(multinomial(x, int(numsamples), True, given), int64)


def choice_with_mask(input_x: Any, count: int = 256, seed: int | None = None) -> tuple[Tensor, Tensor]:
    """Places of ``count`` elements drawn among those that hold, ``[count, ndim]`` (int32), and which of the
    rows are places: all but those that are left over."""
    x = require_tensor("choice_with_mask", input_x)
    if x.dtype is not bool_:
        raise TypeError(f"choice_with_mask: the input must be bool. Received: {x.type}. Compare it")
    keys = rand(x.size, seed=seed)
    flat = reshape(x, (-1,))
    order = indexing.Sort(Select(flat, keys, like(2.0, keys)), axis=0, descending=False)[1]
    found = indexing.Gather(flat, order, axis=0)
    if x.size < count:
        from mycelia.ops.movement import Pad
        order = Pad(order, paddings=((0, count - x.size),), value=0)
        found = Pad(found, paddings=((0, count - x.size),), value=0)
    order, found = narrow(order, 0, 0, count), narrow(found, 0, 0, count)
    order = Select(found, order, like(0, order))
    places, rest = [], order
    for extent in reversed(x.shape):
        places.append(reshape(rest % extent, (-1, 1)))
        rest = rest // extent
    from mycelia.ops.function.shaping import cat
    return cast(cat(places[::-1], 1), int32), found


# -- in place ------------------------------------------------------------------------------------------------
def _drawn_from(generator: Any, function: Any, *args: Any, **kwargs: Any) -> Tensor:
    from mycelia.ops.generator import drawing_from
    if generator is None:
        return function(*args, **kwargs)
    with drawing_from(generator):
        return function(*args, **kwargs)


def uniform_(input: Tensor, from_: Any = 0, to: Any = 1, *, generator: Any = None) -> Tensor:
    """Fills a tensor with uniform numbers of [from_, to)."""
    drawn = _drawn_from(generator, rand, *input.shape, dtype=input.dtype)
    return _take_over(input, drawn * (to - from_) + from_)


def normal_(input: Tensor, mean: Any = 0, std: Any = 1, *, generator: Any = None) -> Tensor:
    """Fills a tensor with normal numbers."""
    return _take_over(input, _drawn_from(generator, randn, *input.shape, dtype=input.dtype) * std + mean)


def exponential_(input: Tensor, lambd: Any = 1, *, generator: Any = None) -> Tensor:
    """Fills a tensor with numbers of the exponential distribution."""
    return _take_over(input, _drawn_from(generator, exponential, input.shape, lambd, dtype=input.dtype))


def random_(input: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fills a tensor with whole numbers of [from_, to); without ``to`` of [0, from_) if that is positive,
    else up to what the dtype holds exactly."""
    if to is None:
        bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
        dtype = input.dtype
        most = 2 ** bits[dtype.name] if dtype.is_float else 2 ** (dtype.bits - (dtype.kind == "i"))
        from_, to = (0, from_) if from_ > 0 else (0, min(most, 2**63 - 1))
    return _take_over(input, _drawn_from(generator, randint, from_, to, input.shape))


def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fills a tensor with 1 with probability ``p``, else 0."""
    from mycelia.ops.function.drawing import bernoulli
    return _take_over(input, _drawn_from(generator, bernoulli, input, p))


def _take_over(target: Tensor, value: Tensor) -> Tensor:
    from mycelia.ops import inplace
    return inplace.write(target, cast(value, target.dtype))
