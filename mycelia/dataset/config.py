"""Settings of data pipelines (`mindspore.dataset.config`)."""
from __future__ import annotations

import os

from mycelia.dataset import randomness

_DEFAULT_SEED = 5489  # what get_seed answers before any seed was set, as MindSpore's does
_settings = {"prefetch_size": 2, "num_parallel_workers": 0}


def set_seed(seed: int) -> None:
    """Sets the seed of pipelines alone; `mindspore.set_seed` sets it too. Every pipeline's epochs start anew.

    Raises:
        TypeError: the seed is not an integer.
        ValueError: it is not from 0 to 2**32 - 1.
    """
    randomness.set_seed(_integer("set_seed", "seed", seed, 0, 2**32 - 1))


def get_seed() -> int:
    """The seed of pipelines; 5489 before any was set, when each run draws differently."""
    seed = randomness.get_seed()
    return _DEFAULT_SEED if seed is None else seed


def set_prefetch_size(size: int) -> None:
    """How many batches a background thread may prepare ahead of the program (see
    `mycelia.dataset.prefetch`)."""
    _settings["prefetch_size"] = _integer("set_prefetch_size", "size", size, 1, 2**31 - 1)


def get_prefetch_size() -> int:
    return _settings["prefetch_size"]


def set_num_parallel_workers(num: int) -> None:
    """Accepted for compatibility: operations work on whole blocks of rows instead of on many threads."""
    _settings["num_parallel_workers"] = _integer("set_num_parallel_workers", "num", num, 1, 2**31 - 1)


def get_num_parallel_workers() -> int:
    return _settings["num_parallel_workers"] or min(8, os.cpu_count() or 1)


def _integer(function: str, name: str, value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{function}: {name} must be an integer. Received: {name}={value!r} "
                        f"(of type {type(value).__name__})")
    if not low <= value <= high:
        raise ValueError(f"{function}: {name} must be from {low} to {high}. Received: {name}={value}")
    return value
