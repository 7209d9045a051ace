"""Training (`mindspore.train`)."""
from typing import Any

from mycelia.train.callback import (
    BackupAndRestore,
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    ModelCheckpoint,
    OnRequestExit,
    ReduceLROnPlateau,
    RunContext,
    SummaryCollector,
    TimeMonitor,
    _CallbackManager,
    _InternalCallbackParam,
)
from mycelia.train.loss_scale_manager import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)
from mycelia.train.metrics import *  # noqa: F403
from mycelia.train.metrics import __all__ as _metrics
from mycelia.train.model import Model
from mycelia.train.serialization import (
    async_ckpt_thread_status,
    load_checkpoint,
    load_param_into_net,
    save_checkpoint,
)
from mycelia.train.summary import SummaryRecord

_LATER = {"build_train_network": "amp", "data_sink": "data_sink", "DatasetHelper": "dataset_helper",
          "connect_network_with_dataset": "dataset_helper"}

__all__ = ["BackupAndRestore", "Callback", "CheckpointConfig", "DynamicLossScaleManager", "EarlyStopping",
           "FixedLossScaleManager", "History", "LambdaCallback", "LearningRateScheduler", "LossMonitor",
           "LossScaleManager", "Model", "ModelCheckpoint", "OnRequestExit", "ReduceLROnPlateau", "RunContext",
           "SummaryCollector", "SummaryRecord", "TimeMonitor", "_CallbackManager", "_InternalCallbackParam",
           "async_ckpt_thread_status", "load_checkpoint", "load_param_into_net", "save_checkpoint", *_LATER,
           *_metrics]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        module = import_module(f"mycelia.train.{_LATER[name]}")
        value = globals()[name] = getattr(module, name)
        return value
    raise AttributeError(f"module 'mycelia.train' has no attribute {name!r}")
