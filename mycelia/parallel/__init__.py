"""Parallel training (`mindspore.parallel`): what scripts ask for in one process."""

from mycelia.common.parallel_context import (
    ParallelMode,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from mycelia.parallel.algo_parameters import get_algo_parameters, reset_algo_parameters, set_algo_parameters

__all__ = [
    "ParallelMode",
    "get_algo_parameters",
    "get_auto_parallel_context",
    "reset_algo_parameters",
    "reset_auto_parallel_context",
    "set_algo_parameters",
    "set_auto_parallel_context",
]
