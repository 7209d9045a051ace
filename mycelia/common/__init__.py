"""MindSpore's ``mindspore.common``: tensors, parameters, initializers, the seed, settings."""

from __future__ import annotations

from typing import Any

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

_LATER = {
    "set_seed": "seed",
    "get_seed": "seed",
    "dtype_to_nptype": "dtype",
    "dtype_to_pytype": "dtype",
    "pytype_to_dtype": "dtype",
}

# MindSpore has these here too.
_OF_THE_PACKAGE = (
    "JitConfig",
    "RowTensor",
    "jit",
    "jit_class",
    "lazy_inline",
    "mutable",
    "no_inline",
    "tensor",
)

__all__ = [
    "Parameter",
    "ParameterTuple",
    "Tensor",
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    *_LATER,
    *_OF_THE_PACKAGE,
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _OF_THE_PACKAGE:
        return getattr(import_module("mycelia"), name)
    if name in _LATER:
        return getattr(import_module(f"mycelia.common.{_LATER[name]}"), name)
    if name in ("dtype", "initializer", "seed", "context", "device_context"):
        return import_module(f"mycelia.common.{name}")
    raise AttributeError(f"module 'mycelia.common' has no attribute {name!r}")
