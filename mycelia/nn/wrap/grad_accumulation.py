"""Large batches in small pieces: the loss of a batch as the sum over its micro batches."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor


class GradAccumulationCell(Cell):
    """Runs a network over equal pieces of its inputs and adds up its losses, so that gradients add up too.

    Args:
        network: takes the inputs and returns the loss.
        micro_size: number of pieces that axis 0 of every input is cut into.

    Raises:
        TypeError: network is no Cell, or micro_size no integer.
        ValueError: micro_size is below 1, or axis 0 of an input is not divisible by it.

    Example:
        >>> step = TrainOneStepCell(GradAccumulationCell(WithLossCell(net, loss), 4), optimizer)
    """

    def __init__(self, network: Cell, micro_size: int) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise TypeError(
                f"{self.cls_name}: network must be a Cell. Received: {network!r:.80} (of type "
                f"{type(network).__name__})"
            )
        if isinstance(micro_size, bool) or not isinstance(micro_size, int):
            raise TypeError(
                f"{self.cls_name}: micro_size must be an int. Received: micro_size={micro_size!r}"
            )
        if micro_size < 1:
            raise ValueError(f"{self.cls_name}: micro_size must be at least 1. Received: {micro_size}")
        self.network, self.micro_size = network, micro_size

    def construct(self, *inputs: Any) -> Any:
        total = None
        for piece in range(self.micro_size):
            loss = self.network(*(self._piece(x, piece) for x in inputs))
            total = loss if total is None else total + loss
        return total

    def _piece(self, x: Any, piece: int) -> Any:
        if not isinstance(x, Tensor) or not x.ndim:
            return x
        if x.shape[0] % self.micro_size:
            raise ValueError(
                f"{self.cls_name}: axis 0 of every input must be divisible by micro_size={self.micro_size}. "
                f"Received: an input of shape {x.shape}"
            )
        length = x.shape[0] // self.micro_size
        return x[piece * length : (piece + 1) * length]  # type: ignore[index]


class PipelineCell(GradAccumulationCell):
    """As `GradAccumulationCell`: in one process a pipeline has one stage."""

    def __init__(
        self, network: Cell, micro_size: int, stage_config: Any = None, segment_config: Any = None
    ) -> None:
        super().__init__(network, micro_size)
        stages = set((stage_config or {}).values())
        if stages - {0}:
            raise ValueError(
                f"PipelineCell: pipelines over several processes are not built yet; every stage must be 0. "
                f"Received: stage_config={stage_config!r}"
            )
