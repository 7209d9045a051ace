"""MindSpore's generated names (``AddExt``, ``SumExt``, ``reshape_ext``...): each is the operator that the
name without its ending stands for. A class that has no settings is made from the function of its name."""
from __future__ import annotations

import re
from typing import Any

from mycelia.ops.primitive import Primitive, primitive_class

_ENDINGS = ("", "Ext", "_ext", "ExtView", "View", "_view", "Scalar", "Tensor")
# classes whose functions have other names
_FUNCTIONS = {"SplitWithSize": "split", "OneHotExt": "one_hot", "Swiglu": "swiglu", "TopkExt": "topk",
              "BatchMatMulExt": "bmm"}
_made: dict[str, type[Primitive]] = {}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def __getattr__(name: str) -> Any:
    from mycelia import ops

    if name in ("gen_ops_def", "gen_ops_prim"):
        import sys

        return sys.modules[__name__]
    if name in _made:
        return _made[name]
    if not name.startswith("__"):
        for ending in _ENDINGS:
            plain = name[: len(name) - len(ending)]
            if not name.endswith(ending) or not plain:
                continue
            if name not in _FUNCTIONS and hasattr(ops, plain):
                return getattr(ops, plain)
            function = getattr(ops, _FUNCTIONS.get(name) or _snake(plain), None)
            if name[0].isupper() and callable(function):
                made = _made[name] = primitive_class(function, name)
                return made
    raise AttributeError(f"module 'mycelia.ops.auto_generate' has no attribute {name!r}")
