"""Functions that draw random numbers. Without a seed of its own a draw comes from the default generator,
which `mindspore.set_seed` seeds, and moves it on; with one it is the same each time."""
from __future__ import annotations

from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import float32, int64
from mycelia.ops.composite import composite
from mycelia.ops.constants import scalar
from mycelia.ops.function.shaping import extents
from mycelia.ops.generator import generator_of
from mycelia.ops.promotion import as_tensor, cast, require_tensor, resolve_dtype
from mycelia.ops.random import RandomBernoulli, RandomBits, RandomNormal, RandomUniform
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor


def _size(name: str, size: tuple) -> tuple:
    if len(size) == 1 and isinstance(size[0], (tuple, list, Tensor)):
        return extents(name, size[0], "size")
    return extents(name, size, "size")


def _float_dtype(name: str, dtype: Any) -> dtypes.DType:
    return float32 if dtype is None else resolve_dtype(name, dtype)


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Uniform numbers of [0, 1), float32 unless told otherwise."""
    return generator_of(seed).draw(
        RandomUniform, shape=_size("rand", size), dtype=_float_dtype("rand", dtype)
    )


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Standard normal numbers, float32 unless told otherwise."""
    return generator_of(seed).draw(
        RandomNormal, shape=_size("randn", size), dtype=_float_dtype("randn", dtype)
    )


def rand_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """`rand` with the input's shape and dtype."""
    return rand(*require_tensor("rand_like", input).shape, dtype=dtype or input.dtype, seed=seed)


def randn_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """`randn` with the input's shape and dtype."""
    return randn(*require_tensor("randn_like", input).shape, dtype=dtype or input.dtype, seed=seed)


def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Standard normal numbers, float32."""
    return randn(*extents("standard_normal", shape), seed=seed)


def uniform_real(shape: Any, seed: int | None = None) -> Tensor:
    """Uniform numbers of [0, 1), float32."""
    return rand(*extents("uniform_real", shape), seed=seed)


def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Tensor:
    """Normal numbers with the given mean and standard deviation, float32."""
    return randn(*extents("normal", shape), seed=seed) * stddev + mean


def uniform(shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = float32) -> Tensor:
    """Uniform numbers of [minval, maxval); of an integer dtype whole numbers."""
    kind = resolve_dtype("uniform", dtype)
    if kind.is_integer:
        return randint(minval, maxval, extents("uniform", shape), seed, dtype=kind)
    return rand(*extents("uniform", shape), dtype=kind, seed=seed) * (maxval - minval) + minval


def randint(low: Any, high: Any, size: Any, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """Whole numbers of [low, high), int64 unless told otherwise.

    Raises:
        ValueError: an empty range.
    """
    low, high = (int(v.asnumpy()) if isinstance(v, Tensor) else v for v in (low, high))
    if high <= low:
        raise ValueError(f"randint: high must be above low. Received: low={low}, high={high}")
    bits = generator_of(seed).draw(RandomBits, shape=extents("randint", size, "size"), dtype=dtypes.uint64)
    from mycelia.ops.arithmetic import FloorMod
    inside = cast(FloorMod(bits, scalar(high - low, dtypes.uint64)), int64) + low
    return cast(inside, int64 if dtype is None else resolve_dtype("randint", dtype))


def randint_like(input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """`randint` with the input's shape and dtype."""
    return randint(low, high, input.shape, seed, dtype=dtype or input.dtype)


def randperm(n: int, seed: int | None = None, offset: int = 0, dtype: Any = int64) -> Tensor:
    """0, 1, ... n - 1 in random order."""
    from mycelia.ops.indexing import Sort
    keys = generator_of(seed or None).draw(RandomUniform, shape=(int(n),), dtype=dtypes.float64)
    return cast(Sort(keys, axis=0, descending=False)[1], resolve_dtype("randperm", dtype))


def bernoulli(input: Any, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability ``p``, else 0, with the input's shape and dtype."""
    x = as_tensor("bernoulli", input)
    chance = p if isinstance(p, Tensor) else scalar(p, float32)
    return generator_of(seed).draw(RandomBernoulli, chance, shape=x.shape, dtype=x.dtype)


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Tensor:
    """Indices drawn with the probabilities of the last axis (any positive scale), int32.

    Without replacement an index is drawn at most once (the Gumbel trick: Efraimidis and Spirakis 2006).
    """
    from mycelia.ops.function.elementwise import log
    from mycelia.ops.function.reducing import argmax, topk
    from mycelia.ops.function.shaping import expand_dims
    x = as_tensor("multinomial", input)
    if replacement:
        shape = (*x.shape[:-1], int(num_samples), x.shape[-1])
        noise = -log(-log(rand(*shape, seed=seed) + 1e-20))
        return cast(argmax(expand_dims(log(x), -2) + noise, -1), dtypes.int32)
    noise = -log(-log(rand(*x.shape, seed=seed) + 1e-20))
    return topk(log(x) + noise, int(num_samples))[1]


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Tensor:
    """While training each element is 0 with probability ``p``, and the others grow by ``1 / (1 - p)``.

    Raises:
        ValueError: p outside [0, 1].

    Example:
        >>> dropout(Tensor([1.0, 2.0]), 0.0)
        Tensor(shape=[2], dtype=Float32, value= [1., 2.])
    """
    x = as_tensor("dropout", input)
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be in [0, 1]. Received: p={p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    keep = generator_of(seed).draw(
        RandomBernoulli, scalar(1.0 - p, float32), shape=x.shape, dtype=dtypes.bool_
    )
    return _dropped(x, keep, float(p))


@composite
def _dropped(x: Tensor, keep: Tensor, p: float) -> Tensor:
    return Select(keep, x * (1.0 / (1.0 - p)), scalar(0, x.dtype))
