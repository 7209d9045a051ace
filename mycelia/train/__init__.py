"""Training (`mindspore.train`)."""
from mycelia.train.callback import (
    Callback,
    CheckpointConfig,
    LambdaCallback,
    LossMonitor,
    ModelCheckpoint,
    RunContext,
    TimeMonitor,
)
from mycelia.train.metrics import (
    MAE,
    MSE,
    Accuracy,
    Loss,
    Metric,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
    get_metric_fn,
    names,
)
from mycelia.train.model import Model
from mycelia.train.serialization import (
    async_ckpt_thread_status,
    load_checkpoint,
    load_param_into_net,
    save_checkpoint,
)

__all__ = ["MAE", "MSE", "Accuracy", "Callback", "CheckpointConfig", "LambdaCallback", "Loss", "LossMonitor",
           "Metric",
           "Model", "ModelCheckpoint", "RunContext", "TimeMonitor", "Top1CategoricalAccuracy",
           "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "async_ckpt_thread_status", "get_metric_fn",
           "load_checkpoint", "load_param_into_net", "names", "save_checkpoint"]
