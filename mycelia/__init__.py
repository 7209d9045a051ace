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
from mycelia.autodiff import recording as _recording
from mycelia.autodiff.bprop import custom_bprop
from mycelia.autodiff.hooks import HookBackward, InsertGradientOf
from mycelia.autodiff.recording import enable_grad, no_grad
from mycelia.common.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context, set_device
from mycelia.engine import eager as _eager
from mycelia.engine.grad import get_grad, grad, value_and_grad, vjp
from mycelia.engine.grad_operation import GradOperation
from mycelia.engine.jacobian import jacfwd, jacrev, jvp
from mycelia.engine.jit import jit, ms_function
from mycelia.engine.jit_options import jit_class, lazy_inline, no_inline
from mycelia.engine.vmap import vmap
from mycelia.ir.dtypes import DType as Type
from mycelia.ir.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
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
from mycelia.tensor.placeholder import Symbol
from mycelia.tensor.tensor import Tensor, tensor  # the function takes the package's place as `ms.tensor`
from mycelia.trace.nesting import mutable

__version__ = "0.1.0"

_eager.install()
_recording.install()
# MindSpore has these there too; engine names cannot be set below the engine.
ops.grad, ops.value_and_grad, ops.vjp, ops.vmap = grad, value_and_grad, vjp, vmap
ops.jvp, ops.jacfwd, ops.jacrev, ops.get_grad = jvp, jacfwd, jacrev, get_grad
ops.GradOperation, ops.HookBackward, ops.InsertGradientOf = GradOperation, HookBackward, InsertGradientOf
constexpr = ops.constexpr
_no_grad = no_grad  # MindSpore's spelling
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
    "get_current_device": "common.context",
    "set_deterministic": "common.context",
    "ParallelMode": "common.parallel_context",
    "get_auto_parallel_context": "common.parallel_context",
    "reset_auto_parallel_context": "common.parallel_context",
    "set_auto_parallel_context": "common.parallel_context",
    "JitConfig": "common.jit_config",
    "RowTensor": "common.sparse_tensor",
    "build_train_network": "train.amp",
    "data_sink": "train.data_sink",
    "DatasetHelper": "train.dataset_helper",
    "connect_network_with_dataset": "train.dataset_helper",
    "async_ckpt_thread_status": "train.serialization",
    "ckpt_to_safetensors": "train.serialization",
    "safetensors_to_ckpt": "train.serialization",
    "load_checkpoint_async": "train.serialization",
    "export": "train.serialization",
    "SummaryCollector": "train",
    "SummaryRecord": "train",
    "Profiler": "profiler",
    "from_numpy": "common.interchange",
    "from_dlpack": "common.interchange",
    "set_recursion_limit": "common.recursion_limit",
    **dict.fromkeys(
        [
            "BackupAndRestore",
            "Callback",
            "CheckpointConfig",
            "DynamicLossScaleManager",
            "EarlyStopping",
            "FixedLossScaleManager",
            "History",
            "LambdaCallback",
            "LearningRateScheduler",
            "LossMonitor",
            "LossScaleManager",
            "ModelCheckpoint",
            "OnRequestExit",
            "ReduceLROnPlateau",
            "RunContext",
            "TimeMonitor",
        ],
        "train",
    ),
}
_LAZY |= dict.fromkeys(
    [
        "dispatch_threads_num",
        "empty_cache",
        "launch_blocking",
        "max_memory_allocated",
        "max_memory_reserved",
        "memory_allocated",
        "memory_reserved",
        "memory_stats",
        "memory_summary",
        "reset_max_memory_allocated",
        "reset_max_memory_reserved",
        "reset_peak_memory_stats",
        "set_cpu_affinity",
        "set_kernel_launch_capture",
        "set_kernel_launch_group",
        "set_memory",
        "synchronize",
    ],
    "runtime.settings",
)
_LAZY |= dict.fromkeys(
    [
        "Event",
        "Stream",
        "StreamCtx",
        "communication_stream",
        "current_stream",
        "default_stream",
        "set_cur_stream",
    ],
    "runtime.streams",
)
_LAZY |= dict.fromkeys(
    ["byte", "cdouble", "cfloat", "double", "half", "long", "short"],
    "common.dtype",
)
_SUBMODULES = frozenset(
    [
        "_checkparam",
        "amp",
        "benchmarks",
        "boost",
        "common",
        "communication",
        "dataset",
        "engine",
        "experimental",
        "ge",
        "hal",
        "log",
        "mindrecord",
        "mint",
        "nn",
        "numpy",
        "parallel",
        "profiler",
        "runtime",
        "train",
    ]
)


def __getattr__(name: str) -> Any:
    if name in ("bool", "int", "float"):  # not among what `import *` gives
        return getattr(importlib.import_module("mycelia.common.dtype"), name)
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
    "Symbol",
    "Tensor",
    "Type",
    "bfloat16",
    "bool_",
    "constexpr",
    "complex128",
    "complex64",
    "float16",
    "float32",
    "float64",
    "custom_bprop",
    "enable_grad",
    "get_context",
    "get_grad",
    "grad",
    "jacfwd",
    "jacrev",
    "jvp",
    "no_grad",
    "int16",
    "int32",
    "int64",
    "int8",
    "jit",
    "jit_class",
    "lazy_inline",
    "ms_function",
    "mutable",
    "no_inline",
    "ops",
    "set_context",
    "set_device",
    "tensor",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "value_and_grad",
    "vjp",
    "vmap",
    *_LAZY,
]
