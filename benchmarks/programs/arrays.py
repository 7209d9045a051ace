"""What is computed: the sizes of each case, and the weights and inputs that all frameworks share.

With ``BENCH_ARRAYS`` naming a folder, an array is drawn and written there by the first process that asks for
it, and read by all later ones: every framework computes with the very same numbers, whatever its NumPy draws.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

QUICK = bool(os.environ.get("BENCH_QUICK"))

RESNET_INFER = (("r50 b1", 1), ("r50 b8", 8))
RESNET_TRAIN = (("r50 train b8 224", 8, 224, 1000), ("r50 train b32 32x32", 32, 32, 10))
RESNET_FLOPS = 2 * 4.089e9  # of one image at 224x224
RESNET_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first
BERT_FLOPS = 2 * 128 * 12 * (4 * 768**2 + 8 * 768**2 + 2 * 128 * 768)  # of one sequence
GEMM = (
    ("gemm 1024^3", 1024, 1024, 1024),
    ("gemm 4096x768x3072", 4096, 768, 3072),
    ("gemv 4096x4096", 4096, 4096, 1),
)
POINTWISE = (
    ("gelu 16M", (16 << 20,)),
    ("softmax 4096x1024", (4096, 1024)),
    ("layernorm 4096x1024", (4096, 1024)),
)
WIDTH, HEADS, LAYERS, VOCABULARY, CONTEXT, PROMPT, NEW = 768, 12, 12, 50257, 96, 32, 64  # GPT-2 small
MEAN, DEVIATION = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)  # of CIFAR-10, in 0..255


def _shared(name: str, draw: Callable[[], np.ndarray]) -> np.ndarray:
    """The array of this name, drawn only if no process of this run did so before."""
    folder = os.environ.get("BENCH_ARRAYS")
    if folder is None:
        return draw()
    path = Path(folder) / f"{name}.npy"
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}")
        with partial.open("wb") as file:
            np.save(file, draw())
        partial.replace(path)
    return np.load(path)


def _named(kind: str, seed: int, shape: tuple[int, ...]) -> str:
    return "-".join([kind, str(seed), "x".join(map(str, shape))])


# -- inputs --
def normal(*shape: int, seed: int = 0) -> np.ndarray:
    def draw() -> np.ndarray:
        return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)

    return _shared(_named("normal", seed, shape), draw)


def integers(high: int, *shape: int, seed: int = 1) -> np.ndarray:
    def draw() -> np.ndarray:
        return np.random.default_rng(seed).integers(0, high, shape).astype(np.int32)

    return _shared(_named(f"integers{high}", seed, shape), draw)


def matrices() -> Iterator[tuple[str, np.ndarray, np.ndarray, int, int | None]]:
    """Name, a, b, floating-point operations, bytes to read (where reading is what takes the time)."""
    for name, m, k, n in GEMM:
        b = normal(k, seed=1) if n == 1 else normal(k, n, seed=1)
        yield name, normal(m, k), b, 2 * m * k * n, 4 * m * k if n == 1 else None


def photographs() -> tuple[np.ndarray, np.ndarray]:
    """Images of 32x32 with three channels in 0..255, and labels: a data set of CIFAR-10's size."""
    count = 5000 if QUICK else 50000
    images = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    return images, integers(10, count)


# -- weights --
_KINDS = {
    "gamma": "scale",
    "beta": "shift",
    "moving_mean": "mean",
    "moving_variance": "variance",
    "running_mean": "mean",
    "running_var": "variance",
    "bias": "shift",
    "embedding_table": "table",
}


def weight(path: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a parameter, from its path such as ``l.0.c1.weight``.

    PyTorch's and MindSpore's names of one parameter give one array. A vector called weight is the scale of a
    norm; a matrix called weight whose owner is named like the networks' embeddings is a table.
    """
    owner, _, last = path.rpartition(".")
    kind = _KINDS.get(last, "weight" if len(shape) > 1 else "scale")
    if kind == "weight" and owner in ("w", "p", "pe", "t") and shape[1:] == (WIDTH,):
        kind = "table"
    name = _named(f"{owner}.{kind}", 0, shape)
    return _shared(name, lambda: _drawn_weight(name, kind, shape))


def _drawn_weight(name: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if kind == "variance":
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    values = rng.standard_normal(shape, dtype=np.float32)
    if kind == "scale":
        return 1 + np.float32(0.05) * values
    if kind in ("shift", "mean"):
        return np.float32(0.05) * values
    if kind == "table":
        return np.float32(0.02) * values
    return values * np.float32(np.prod(shape[1:]) ** -0.5)
