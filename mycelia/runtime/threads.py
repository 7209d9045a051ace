"""The number of threads that run a plan, and the native thread pool that they form.

    set_num_threads(n); get_num_threads()

Unless set: ``MYCELIA_NUM_THREADS``, else ``OMP_NUM_THREADS``, else the CPUs of the affinity mask. Results
have the same bits with any number. Workers start with the first plan that has work to share, and never
survive a fork: the pool's memory reads as zero in the child.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.runtime import pages
from mycelia.runtime.fork import ForkLock, after_fork_in_child
from mycelia.runtime.native import plan, pool

_lock = ForkLock()
_pool_address = 0
_runtime_block: np.ndarray | None = None


def default_num_threads() -> int:
    """What the environment asks for.

    Raises:
        ValueError: a variable is set to something that is no positive number.
    """
    for name in ("MYCELIA_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").strip()
        if text:
            # OMP_NUM_THREADS may be a list, one number for each level of nesting
            first = text.split(",")[0].strip() if name.startswith("OMP") else text
            if not first.isdigit() or int(first) < 1:
                raise ValueError(f"{name} must be a positive integer. Received: {name}={text!r}")
            return int(first)
    return len(os.sched_getaffinity(0))


def runtime_block() -> np.ndarray:
    """The words that all plans share (see `mycelia.runtime.native.plan.RUNTIME`)."""
    global _runtime_block, _pool_address
    if _runtime_block is None:
        with _lock:
            if _runtime_block is None:
                _pool_address = pages.map_pages(pool.BYTES)
                if not pages.advise(_pool_address, pool.BYTES, pages.WIPE_ON_FORK):
                    after_fork_in_child(_wipe)
                block = np.zeros(len(plan.RUNTIME), np.int64)
                block[plan.RUNTIME.index("pool")] = _pool_address
                block[plan.RUNTIME.index("threads")] = default_num_threads()
                block[plan.RUNTIME.index("none")] = id(None)
                _runtime_block = block
    return _runtime_block


def get_num_threads() -> int:
    """Threads that run a plan, the calling one included."""
    return int(runtime_block()[plan.RUNTIME.index("threads")])


def set_num_threads(n: int | None) -> None:
    """Sets the number of threads; None: back to what the environment asks for.

    Raises:
        ValueError: n is not a positive integer.
    """
    n = default_num_threads() if n is None else n
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ValueError(
            f"set_num_threads: n must be a positive integer. Received: n={n!r} (of type {type(n).__name__})"
        )
    block = runtime_block()
    with _lock:
        fewer = n < block[plan.RUNTIME.index("threads")]
        block[plan.RUNTIME.index("threads")] = n
        if fewer and pool_field("started"):
            _stop_workers()  # those still wanted start again with the next plan


def pool_field(name: str) -> int:
    """A field of the pool, for reports and tests: ``started``, ``sleepers``, ``helped`` (chunks run by
    workers), ``waits`` (joins that took too long)..."""
    runtime_block()
    return int(_pool_view()[name])


def _pool_view() -> np.void:
    import ctypes

    kinds = {
        "done": "<i8",
        "function": "<i8",
        "arguments": "<i8",
        "total": "<i8",
        "status": "<i8",
        "ticket": "<i8",
        "alone_until": "<i8",
        "alone_for": "<i8",
        "waits": "<i8",
        "helped": "<i8",
    }
    layout = np.dtype(
        {
            "names": list(pool.FIELDS),
            "formats": [kinds.get(n, "<i4") for n in pool.FIELDS],
            "offsets": list(pool.FIELDS.values()),
            "itemsize": pool.BYTES,
        }
    )
    block: Any = (ctypes.c_char * pool.BYTES).from_address(_pool_address)
    return np.frombuffer(block, layout)[0]


@lru_cache(1)
def native_symbols() -> dict[str, int]:
    """Addresses of the native runtime's functions, compiled or from the cache."""
    from mycelia.codegen.target import Target
    from mycelia.runtime import native
    from mycelia.runtime.compile import compile_module

    return compile_module(native.code(Target.host()))


def _stop_workers() -> None:
    import ctypes

    stop: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native_symbols()["stop_workers"])
    stop(_pool_address)


def _wipe() -> None:
    import ctypes

    ctypes.memset(_pool_address, 0, pool.BYTES)
