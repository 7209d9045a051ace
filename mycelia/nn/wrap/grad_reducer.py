"""Averaging of gradients over devices. There is one device in one process, so gradients are their own
mean."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell


class DistributedGradReducer(Cell):
    """Gives each gradient averaged over the devices of a group; with one device the gradients themselves.

    Args:
        parameters: of the optimizer.
        mean, fusion_type, group: as MindSpore has them.
        degree: number of devices; default: those of the process group, 1.

    Raises:
        ValueError: a degree other than 1: training over several processes is not built yet.

    Example:
        >>> gradients = DistributedGradReducer(optimizer.parameters)(gradients)
    """

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = "hccl_world_group",
    ) -> None:
        super().__init__(auto_prefix=False)
        if degree not in (None, 1):
            raise ValueError(
                f"{self.cls_name}: training over several devices is not built yet; degree must be 1. "
                f"Received: "
                f"degree={degree!r}"
            )
        self.mean, self.degree, self.group = mean, 1, group

    def construct(self, grads: Any) -> Any:
        return grads


class PipelineGradReducer(DistributedGradReducer):
    """As `DistributedGradReducer`, for the stages of a pipeline; with one stage gradients stay as they
    are."""

    def __init__(self, parameters: Any, scale_sense: float = 1.0, opt_shard: Any = None) -> None:
        super().__init__(parameters)
        self.scale_sense = scale_sense

    def construct(self, grads: Any) -> Any:
        return grads if self.scale_sense == 1.0 else tuple(g / self.scale_sense for g in grads)
