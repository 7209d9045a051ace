"""Mycelia: a deep-learning framework in Python that runs MindSpore programs and compiles every graph
through LLVM.

`import mycelia as ms` offers MindSpore's names. Parts that a script may not need (networks, training,
datasets) are imported when
they are first named.
"""

from __future__ import annotations

import importlib
from typing import Any

from mycelia import ops
from mycelia.common.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context, set_device
from mycelia.engine import eager as _eager
from mycelia.engine.grad import grad, value_and_grad, vjp, vmap
from mycelia.engine.jit import jit
from mycelia.ir.dtypes import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor
from mycelia.trace.nesting import mutable

__version__ = "0.1.0"

_eager.install()
# MindSpore has these there too; engine names cannot be set below the engine.
ops.grad, ops.value_and_grad, ops.vjp, ops.vmap = grad, value_and_grad, vjp, vmap
ops.functional = ops.operations = ops

_LAZY = {
    "set_seed": "common.seed",
    "get_seed": "common.seed",
    "save_checkpoint": "train.serialization",
    "load_checkpoint": "train.serialization",
    "load_param_into_net": "train.serialization",
    "Model": "train",
    "device_context": "common.device_context",
    "dtype": "common.dtype",
    "context": "common.context",
}
_SUBMODULES = frozenset(["nn", "mint", "train", "dataset", "common", "runtime", "engine", "benchmarks"])


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        module = importlib.import_module(f"mycelia.{_LAZY[name]}")
        value = getattr(module, name, module)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"mycelia.{name}")
    raise AttributeError(f"module 'mycelia' has no attribute {name!r}")


__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float64",
    "get_context",
    "grad",
    "int16",
    "int32",
    "int64",
    "int8",
    "jit",
    "mutable",
    "ops",
    "set_context",
    "set_device",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "value_and_grad",
    "vjp",
    "vmap",
    *_LAZY,
]
