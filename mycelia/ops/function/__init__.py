"""MindSpore's functional interface: thin functions over the operators, by subject.

MindSpore divides its own functions among modules ``nn_func``, ``math_func``...; those names stand for
`mycelia.ops` here, and ``ops.function.silu`` for ``ops.silu``.
"""
from __future__ import annotations

from typing import Any

_MODULES = frozenset(
    ["array_func", "clip_func", "debug_func", "grad", "image_func", "linalg_func", "math_func", "nn_func",
     "other_func", "parameter_func", "random_func", "sparse_func", "spectral_func"]
)


def __getattr__(name: str) -> Any:
    from mycelia import ops

    if name in _MODULES:
        return ops
    if name.startswith("__"):
        raise AttributeError(f"module 'mycelia.ops.function' has no attribute {name!r}")
    return getattr(ops, name)
