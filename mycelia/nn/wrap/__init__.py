"""Cells around networks."""

from mycelia.nn.wrap.cell_wrapper import TrainOneStepCell, WithEvalCell, WithGradCell, WithLossCell

__all__ = ["TrainOneStepCell", "WithEvalCell", "WithGradCell", "WithLossCell"]
