"""Settings of parallel training: `ParallelMode`, `set_auto_parallel_context` and its sisters.

Every key of MindSpore 2.10 is known and checked. One process trains stand-alone; what asks for more than one
is
an error, not a silent no-op.
"""

from __future__ import annotations

import copy
import difflib
from typing import Any


class ParallelMode:
    """How training is spread over devices."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


_FUSION: dict[str, Any] = {"mode": "auto", "config": None}
_SEARCH_MODES = ("recursive_programming", "sharding_propagation", "dynamic_programming")
_DEFAULTS: dict[str, Any] = {
    "parallel_mode": ParallelMode.STAND_ALONE,
    "device_num": 1,
    "global_rank": 0,
    "gradients_mean": False,
    "gradient_fp32_sync": True,
    "loss_repeated_mean": True,
    "search_mode": "recursive_programming",
    "auto_parallel_search_mode": "recursive_programming",
    "sharding_propagation": False,
    "parameter_broadcast": False,
    "strategy_ckpt_load_file": "",
    "strategy_ckpt_save_file": "",
    "strategy_ckpt_config": {"load_file": "", "save_file": "", "only_trainable_params": True},
    "group_ckpt_save_file": "",
    "full_batch": False,
    "full_batch_is_set": False,
    "dataset_strategy": "data_parallel",
    "enable_parallel_optimizer": False,
    "parallel_optimizer_config": {},
    "optimizer_weight_shard_size": -1,
    "optimizer_weight_shard_aggregated_save": False,
    "all_reduce_fusion_config": [],
    "comm_fusion": {"openstate": True, "allreduce": _FUSION, "allgather": _FUSION, "reducescatter": _FUSION},
    "communi_parallel_mode": "all_group_parallel",
    "pipeline_stages": 1,
    "pipeline_config": {},
    "pipeline_result_broadcast": False,
    "pipeline_segments": 1,
    "pipeline_interleave": False,
    "pipeline_scheduler": "1f1b",
    "auto_pipeline": False,
    "grad_accumulation_step": 1,
    "enable_alltoall": False,
    "force_fp32_communication": False,
    "dump_local_norm": False,
    "dump_local_norm_path": "",
    "dump_device_local_norm": False,
}
_NOT_BUILT = (
    "training over several devices is not built yet: this version of Mycelia trains in one process "
    "(parallel_mode='stand_alone', device_num=1)"
)
_values = copy.deepcopy(_DEFAULTS)


def set_auto_parallel_context(**kwargs: Any) -> None:
    """Sets how training is spread over devices.

    Args:
        **kwargs: MindSpore's keys. Kept as given: stand-alone training and whatever does not ask for a second
            device.

    Raises:
        ValueError: an unknown key (the nearest known one is named), or a value out of range.
        TypeError: a value of another type.
        NotImplementedError: what needs more than one device.

    Example:
        >>> set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE, gradients_mean=True)
        >>> get_auto_parallel_context("gradients_mean")
        True
    """
    for key, value in kwargs.items():
        _check(key, value)
    _values.update(kwargs)


def get_auto_parallel_context(attr_key: str) -> Any:
    """The value of a setting.

    Raises:
        ValueError: an unknown key.
    """
    _require_known("get_auto_parallel_context", attr_key)
    return _values[attr_key]


def reset_auto_parallel_context() -> None:
    """Gives every setting its value from the start."""
    _values.clear()
    _values.update(copy.deepcopy(_DEFAULTS))


def _require_known(function: str, key: str) -> None:
    if key not in _DEFAULTS:
        near = difflib.get_close_matches(key, _DEFAULTS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f". Known keys: {', '.join(sorted(_DEFAULTS))}"
        raise ValueError(f"{function}: unknown key {key!r}{hint}")


def _check(key: str, value: Any) -> None:
    function = "set_auto_parallel_context"
    _require_known(function, key)
    default = _DEFAULTS[key]
    expected: tuple[type, ...] = (type(default),)
    if key == "dataset_strategy":
        expected = (str, tuple)
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise TypeError(
            f"{function}: {key} must be {' or '.join(t.__name__ for t in expected)}. Received: "
            f"{key}={value!r} "
            f"(of type {type(value).__name__})"
        )
    if key == "parallel_mode":
        if value not in ParallelMode.MODE_LIST:
            raise ValueError(
                f"{function}: parallel_mode must be one of {', '.join(map(repr, ParallelMode.MODE_LIST))}. "
                f"Received: parallel_mode={value!r}"
            )
        if value != ParallelMode.STAND_ALONE:
            raise NotImplementedError(f"{function}: {_NOT_BUILT}. Received: parallel_mode={value!r}")
    elif key in ("search_mode", "auto_parallel_search_mode") and value not in _SEARCH_MODES:
        raise ValueError(
            f"{function}: {key} must be one of {', '.join(map(repr, _SEARCH_MODES))}. Received: "
            f"{key}={value!r}"
        )
    elif key in ("device_num", "pipeline_stages", "grad_accumulation_step"):
        if value < 1:
            raise ValueError(f"{function}: {key} must be positive. Received: {key}={value}")
        if value > 1 and key != "grad_accumulation_step":
            raise NotImplementedError(f"{function}: {_NOT_BUILT}. Received: {key}={value}")
    elif key == "global_rank":
        if not 0 <= value <= 4095:
            raise ValueError(f"{function}: global_rank must be from 0 to 4095. Received: global_rank={value}")
        if value:
            raise NotImplementedError(f"{function}: {_NOT_BUILT}. Received: global_rank={value}")
