"""Mathematical functions as cells."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia.nn.cell import Cell
from mycelia.nn.function_cell import cell
from mycelia.ops.function import linear, reducing
from mycelia.ops.function.creating import arange
from mycelia.tensor.tensor import Tensor

ReduceLogSumExp = cell("ReduceLogSumExp", reducing.logsumexp, only="dim keepdim")


class MatMul(Cell):
    """``construct(x1, x2)``: their matrix product.

    Args:
        transpose_x1, transpose_x2: whether the last two axes of each are exchanged before.
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1, self.transpose_x2 = bool(transpose_x1), bool(transpose_x2)

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        x1 = x1.swapaxes(-1, -2) if self.transpose_x1 and x1.ndim > 1 else x1
        x2 = x2.swapaxes(-1, -2) if self.transpose_x2 and x2.ndim > 1 else x2
        return linear.matmul(x1, x2)


class Moments(Cell):
    """The mean and the variance along axes.

    Args:
        axis: an int, several, or None for all.
        keep_dims: whether the axes stay, with extent 1.
    """

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, bool(keep_dims)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        axes = None if self.axis in (None, ()) else self.axis
        return reducing.mean(x, axes, self.keep_dims), reducing.var(x, axes, 0, self.keep_dims)


class Range(Cell):
    """``construct()``: the numbers from ``start`` (0 with one argument) up to before ``limit``."""

    def __init__(self, start: Any, limit: Any = None, delta: Any = 1) -> None:
        super().__init__()
        if delta == 0:
            raise ValueError("Range: delta must not be 0. Received: delta=0")
        self.start, self.limit, self.delta = (0, start, delta) if limit is None else (start, limit, delta)

    def construct(self) -> Tensor:
        from mycelia.ir.dtypes import float32, int32

        whole = all(isinstance(v, int) for v in (self.start, self.limit, self.delta))
        return arange(self.start, self.limit, self.delta, dtype=int32 if whole else float32)


def _of(name: str, function: str, description: str, inputs: int = 1) -> type[Cell]:
    """A cell of a function of `mycelia.ops`, looked up when it is called."""

    def construct(self: Cell, *tensors: Tensor) -> Tensor:
        if len(tensors) != inputs:
            raise TypeError(f"{name}: must be called with {inputs} tensors. Received: {len(tensors)}")
        return getattr(ops, function)(*tensors)

    return type(name, (Cell,), {"construct": construct, "__doc__": description, "__module__": "mycelia.nn"})


DiGamma = _of("DiGamma", "digamma", "The derivative of log(gamma(x)).")
LGamma = _of("LGamma", "lgamma", "log(|gamma(x)|).")
IGamma = _of("IGamma", "igamma", "The regularised lower incomplete gamma function of (a, x).", 2)
MatDet = _of("MatDet", "det", "Determinants of matrices ``[..., n, n]``.")
MatInverse = _of("MatInverse", "inverse", "Inverses of matrices ``[..., n, n]``.")


class LBeta(Cell):
    """``construct(x, y)``: log(beta(x, y)) = lgamma(x) + lgamma(y) - lgamma(x + y)."""

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)
