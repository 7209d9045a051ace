"""Cells around networks."""

from mycelia.nn.wrap.cell_wrapper import (
    ForwardValueAndGrad,
    MicroBatchInterleaved,
    ParameterUpdate,
    TrainOneStepCell,
    WithEvalCell,
    WithGradCell,
    WithLossCell,
)
from mycelia.nn.wrap.grad_accumulation import GradAccumulationCell, PipelineCell
from mycelia.nn.wrap.grad_reducer import DistributedGradReducer, PipelineGradReducer
from mycelia.nn.wrap.loss_scale import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepWithLossScaleCell,
)

__all__ = [
    "DistributedGradReducer",
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "ForwardValueAndGrad",
    "GradAccumulationCell",
    "MicroBatchInterleaved",
    "ParameterUpdate",
    "PipelineCell",
    "PipelineGradReducer",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "WithEvalCell",
    "WithGradCell",
    "WithLossCell",
]
