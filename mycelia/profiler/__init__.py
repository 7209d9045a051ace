"""Where the time goes (`mindspore.profiler`)."""

from mycelia.profiler.profiler import Profiler, profile, schedule, tensorboard_trace_handler
from mycelia.profiler.ranges import mstx
from mycelia.profiler.settings import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
)

tensor_board_trace_handler = tensorboard_trace_handler  # an older spelling

__all__ = [
    "AicoreMetrics",
    "ExportType",
    "HostSystem",
    "Profiler",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "mstx",
    "profile",
    "schedule",
    "tensor_board_trace_handler",
    "tensorboard_trace_handler",
]
