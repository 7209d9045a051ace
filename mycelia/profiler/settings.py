"""Settings that programs pass to profilers. Those that steer an accelerator's counters are kept, and change
nothing on the CPU."""

from __future__ import annotations

from enum import Enum
from typing import Any


class ProfilerLevel(Enum):
    """How much is collected."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(Enum):
    """Which devices are looked at."""

    CPU = "CPU"
    NPU = "NPU"
    GPU = "GPU"


class AicoreMetrics(Enum):
    """Counters of an accelerator's cores."""

    AiCoreNone = "None"
    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"


class ExportType(Enum):
    """Forms of the result."""

    Text = "text"
    Db = "db"


class HostSystem(Enum):
    """What of the host is looked at."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class _ExperimentalConfig:
    """Further settings, by name."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
