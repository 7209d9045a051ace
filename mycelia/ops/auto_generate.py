"""MindSpore's generated names (``AddExt``, ``reshape_ext``...): each is the operator that the name without
its ending stands for."""
from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from mycelia import ops

    for ending in ("", "Ext", "_ext", "ExtView", "View", "_view"):
        plain = name[: len(name) - len(ending)]
        if name.endswith(ending) and hasattr(ops, plain):
            return getattr(ops, plain)
    raise AttributeError(f"module 'mycelia.ops.auto_generate' has no attribute {name!r}")
