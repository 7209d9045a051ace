"""Philox-4x32-10 random numbers in NumPy: the definition that the native kernels follow (Salmon et al.
2011, "Parallel random
numbers: as easy as 1, 2, 3").

A generator's state is ``int64[2]``: seed and offset. Block ``j`` of a draw encrypts the counter ``offset +
j`` under the seed and
gives four 32-bit words; element ``i`` of the draw uses word ``i % 4`` of block ``i // 4`` (types of 64
bits: words ``2 (i % 2)`` and the
next of block ``i // 2``, low word first). So a value depends on (seed, offset, i) only, and the offset
grows by the number of blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10


def words_per_element(dtype: DType) -> int:
    return 2 if dtype.itemsize == 8 else 1


def blocks(size: int, dtype: DType) -> int:
    """Blocks that a draw of ``size`` elements uses; normal numbers are drawn in pairs, which a block never
    splits."""
    return -(-size * words_per_element(dtype) // 4)


def random_words(state: np.ndarray, count: int) -> np.ndarray:
    """``uint32[count, 4]``: the words of the next ``count`` blocks."""
    seed, offset = (int(v) & 0xFFFFFFFFFFFFFFFF for v in state)
    with np.errstate(over="ignore"):
        counter = np.uint64(offset) + np.arange(count, dtype=np.uint64)
    low = np.uint64(0xFFFFFFFF)
    c = [counter & low, counter >> np.uint64(32), np.zeros_like(counter), np.zeros_like(counter)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(ROUNDS):
        a, b = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]),
            b & low,
            (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]),
            a & low,
        ]
        key = [(k + w) & 0xFFFFFFFF for k, w in zip(key, WEYL)]
    return np.stack([w.astype(np.uint32) for w in c], 1)


def advanced(state: np.ndarray, count: int) -> np.ndarray:
    """The state after ``count`` blocks."""
    offset = (int(state[1]) + count) & 0xFFFFFFFFFFFFFFFF
    return np.array([state[0], np.uint64(offset).astype(np.int64)], np.int64)


def bits(state: np.ndarray, *, shape: Sequence[int], dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Integers whose bits are all random; types narrower than 32 bits take the low ones, bool the lowest."""
    size = math.prod(shape)
    count = blocks(size, dtype)
    words = random_words(state, count).reshape(-1)
    if dtype.itemsize == 8:
        words = words.view("<u8")
    words = words[:size]
    values = (
        (words & 1).astype(np.bool_)
        if dtype.kind == "b"
        else words.astype(f"u{dtype.itemsize}").view(dtype.numpy)
    )
    return advanced(state, count), values.reshape(shape)


# bits of a uniform number: as many as the type's significand holds
PRECISION = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def uniform(state: np.ndarray, *, shape: Sequence[int], dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Uniform numbers of [0, 1): the leading bits of each word, as many as the type represents exactly."""
    wide = dtype is dtypes.float64
    state, words = bits(state, shape=shape, dtype=dtypes.uint64 if wide else dtypes.uint32)
    kept, have = PRECISION[dtype.name], 64 if wide else 32
    leading = words >> words.dtype.type(have - kept)
    return state, (leading.astype(np.float64) * 2.0**-kept).astype(dtype.numpy)


def normal(state: np.ndarray, *, shape: Sequence[int], dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal numbers in pairs (Box and Muller): elements 2k and 2k + 1 are ``r cos t`` and ``r sin
    t`` with
    ``r = sqrt(-2 ln u)``, ``t = 2 pi v`` from words (draws of 64 bits) 2k and 2k + 1. u is in the middle of a
    step of 23 (52) bits, so that it is exact and never 0."""
    wide = dtype is dtypes.float64
    size = math.prod(shape)
    state, words = bits(state, shape=(size + size % 2,), dtype=dtypes.uint64 if wide else dtypes.uint32)
    first, second = words[0::2], words[1::2]
    if wide:
        u = ((first >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        v = (second >> np.uint64(11)).astype(np.float64) * 2.0**-53
    else:
        u = ((first >> np.uint32(9)).astype(np.float64) + 0.5) * 2.0**-23
        v = (second >> np.uint32(8)).astype(np.float64) * 2.0**-24
    r = np.sqrt(-2 * np.log(u))
    pairs = np.stack([r * part for part in _turns(v)], 1)
    return state, pairs.reshape(-1)[:size].astype(dtype.numpy).reshape(shape)


def _turns(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of ``2 pi v``; the quarter is taken off exactly."""
    quarter = np.rint(4 * v)
    angle = (v - quarter / 4) * (2 * np.pi)
    c, s = np.cos(angle), np.sin(angle)
    turn = quarter.astype(np.int64) % 4
    return np.choose(turn, [c, -s, -c, s]), np.choose(turn, [s, c, -s, -c])


def bernoulli(
    state: np.ndarray, p: np.ndarray, *, shape: Sequence[int], dtype: DType
) -> tuple[np.ndarray, np.ndarray]:
    """1 with probability ``p`` (one number, or an array that broadcasts to ``shape``), else 0."""
    state, values = uniform(state, shape=shape, dtype=dtypes.float32)
    return state, (values < np.asarray(p, np.float32)).astype(dtype.numpy)
