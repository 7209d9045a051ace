"""Callbacks of `Model.train`, `fit` and `eval`."""

from mycelia.train.callback.base import (
    Callback,
    CallbackList,
    CallbackParam,
    LambdaCallback,
    RunContext,
)
from mycelia.train.callback.checkpoint import CheckpointConfig, ModelCheckpoint
from mycelia.train.callback.history import History
from mycelia.train.callback.interruption import BackupAndRestore, OnRequestExit
from mycelia.train.callback.monitored import EarlyStopping, ReduceLROnPlateau
from mycelia.train.callback.monitors import LossMonitor, TimeMonitor
from mycelia.train.callback.progress import PlainProgress, Progress, StepTimes
from mycelia.train.callback.schedules import LearningRateScheduler
from mycelia.train.callback.summary_collector import SummaryCollector

_InternalCallbackParam, _CallbackManager = CallbackParam, CallbackList  # MindSpore's spellings

__all__ = [
    "BackupAndRestore",
    "Callback",
    "CallbackList",
    "CallbackParam",
    "CheckpointConfig",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "OnRequestExit",
    "PlainProgress",
    "Progress",
    "ReduceLROnPlateau",
    "RunContext",
    "StepTimes",
    "SummaryCollector",
    "TimeMonitor",
]
