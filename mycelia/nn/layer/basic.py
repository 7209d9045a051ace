"""Dropout, shapes, norms of tensors and other small layers without weights."""

from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.function_cell import cell
from mycelia.ops.arithmetic import Abs, Maximum, Square
from mycelia.ops.constants import like
from mycelia.ops.exponential import Sqrt
from mycelia.ops.function import dropouts, reducing, resizing, shaping
from mycelia.ops.function.drawing import dropout
from mycelia.ops.function.shaping import flatten
from mycelia.ops.function.sliding import window_pads, windows
from mycelia.ops.indexing import OneHot as _OneHot
from mycelia.ops.movement import Pad as _Pad
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor


class Dropout(Cell):
    """While training each element is 0 with probability ``p``, and the others grow by 1 / (1 - p); else
    nothing changes.

    Args:
        keep_prob: 1 - p, the older spelling; counts where ``p`` is None.
        p: share of elements to drop, in [0, 1).
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = float32) -> None:
        super().__init__()
        for name, value in (("keep_prob", keep_prob), ("p", p)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
                raise TypeError(
                    f"Dropout: {name} must be a number. Received: {name}={value!r} (of type "
                    f"{type(value).__name__})"
                )
        if p is not None and not 0 <= p < 1:
            raise ValueError(f"Dropout: p must be in [0, 1). Received: p={p}")
        if p is None and not 0 < keep_prob <= 1:
            raise ValueError(f"Dropout: keep_prob must be in (0, 1]. Received: keep_prob={keep_prob}")
        self.keep_prob, self.p = keep_prob, p
        self.share = float(1 - keep_prob if p is None else p)

    def construct(self, x: Tensor) -> Tensor:
        return dropout(x, self.share) if self.training and self.share else x

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class Flatten(Cell):
    """Merges the axes from ``start_dim`` to ``end_dim`` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        return flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """Gives back its input; takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, x: Any) -> Any:
        return x


def _channel_dropout(name: str, axes: int) -> type[Cell]:
    compute = getattr(dropouts, f"dropout{axes}d")
    return cell(name, compute, only="p")


Dropout1d, Dropout2d, Dropout3d = (_channel_dropout(f"Dropout{n}d", n) for n in (1, 2, 3))


class DropoutExt(Dropout):
    """`Dropout` with its share ``p`` first; ``inplace`` is accepted."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p=p)


class Dropout2dExt(Dropout2d):  # type: ignore[misc, valid-type]
    """`Dropout2d`; ``inplace`` is accepted."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p)


class Unflatten(Cell):
    """One axis split into several.

    Args:
        axis: the axis.
        unflattened_size: the extents that it becomes.
    """

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, x: Tensor) -> Tensor:
        axis = self.axis % x.ndim
        return shaping.reshape(x, (*x.shape[:axis], *self.unflattened_size, *x.shape[axis + 1 :]))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, unflattened_size={self.unflattened_size}"


class Norm(Cell):
    """The Euclidean norm along axes.

    Args:
        axis: an int, several, or () for all.
        keep_dims: whether the axes stay, with extent 1.
    """

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Tensor) -> Tensor:
        return Sqrt(reducing.sum(Square(x), self.axis if self.axis != () else None, self.keep_dims))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class ClipByNorm(Cell):
    """``construct(x, clip_norm)``: x, scaled down where its norm along ``axis`` (all axes if None) is above
    clip_norm."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Any) -> Tensor:
        require_tensor("ClipByNorm", x)
        norm = Sqrt(reducing.sum(Square(x), self.axis, True))
        limit = clip_norm.astype(x.dtype) if isinstance(clip_norm, Tensor) else float(clip_norm)
        return x * limit / Maximum(norm, limit if isinstance(limit, Tensor) else like(limit, x))


class L1Regularizer(Cell):
    """``scale`` times the sum of the absolute values."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        if isinstance(scale, bool) or not isinstance(scale, (int, float)):
            raise TypeError(f"L1Regularizer: scale must be a number. Received: scale={scale!r}")
        if not 0 < scale < float("inf"):
            raise ValueError(f"L1Regularizer: scale must be positive. Received: scale={scale}")
        self.scale = float(scale)

    def construct(self, weights: Tensor) -> Tensor:
        return Abs(weights).sum() * self.scale


class OneHot(Cell):
    """``on_value`` at each index along a new axis, ``off_value`` elsewhere.

    Args:
        axis: where the new axis stands.
        depth: its extent.
        on_value, off_value: the two numbers.
        dtype: of the result.
    """

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int("OneHot", depth=depth)
        self.axis, self.depth, self.on_value, self.off_value, self.dtype = (
            axis,
            depth,
            on_value,
            off_value,
            dtype,
        )

    def construct(self, indices: Tensor) -> Tensor:
        hot = _OneHot(
            require_tensor("OneHot", indices, "indices"),
            depth=self.depth,
            on=self.on_value,
            off=self.off_value,
            dtype=self.dtype,
        )
        return hot if self.axis == -1 else shaping.moveaxis(hot, -1, self.axis)


class Roll(Cell):
    """Elements moved along axes, those pushed over the end coming in at the start.

    Args:
        shift: an int, or one for each axis.
        axis: an int or several.
    """

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x: Tensor) -> Tensor:
        shift = tuple(self.shift) if isinstance(self.shift, (tuple, list)) else self.shift
        axis = tuple(self.axis) if isinstance(self.axis, (tuple, list)) else self.axis
        return shaping.roll(input_x, shift, axis)


class Tril(Cell):
    """``construct(x, k=0)``: the elements on and below diagonal k, 0 above."""

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return shaping.tril(x, k)


class Triu(Cell):
    """``construct(x, k=0)``: the elements on and above diagonal k, 0 below."""

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return shaping.triu(x, k)


class Unfold(Cell):
    """Patches of images ``[n, c, h, w]``, side by side in the channels: ``[n, kh * kw * c, out_h, out_w]``.

    Args:
        ksizes, strides, rates: ``[1, rows, columns, 1]``: extent of a patch, distance of patches and of the
            elements of one.
        padding: ``"valid"`` or ``"same"``.
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            form = isinstance(value, (tuple, list)) and len(value) == 4 and value[0] == value[3] == 1
            if not form or any(type(v) is not int or v < 1 for v in value):
                raise ValueError(f"Unfold: {name} must be [1, rows, columns, 1]. Received: {name}={value!r}")
        if str(padding).lower() not in ("valid", "same"):
            raise ValueError(f"Unfold: padding must be 'valid' or 'same'. Received: padding={padding!r}")
        self.kernel, self.stride, self.rate = tuple(ksizes[1:3]), tuple(strides[1:3]), tuple(rates[1:3])
        self.padding = str(padding).lower()

    def construct(self, input_x: Tensor) -> Tensor:
        pads = window_pads("Unfold", self.padding, 0, input_x.shape[2:], self.kernel, self.stride, self.rate)
        parts = windows("Unfold", input_x, self.kernel, self.stride, pads, self.rate)
        n, c, h, w, kh, kw = parts.shape
        return shaping.reshape(shaping.transpose(parts, (0, 4, 5, 1, 2, 3)), (n, kh * kw * c, h, w))


Upsample = cell(
    "Upsample", resizing.interpolate, only="size scale_factor mode align_corners recompute_scale_factor"
)


class MatrixDiag(Cell):
    """Vectors ``[..., n]`` on the diagonals of matrices ``[..., n, n]``, zeros elsewhere."""

    def construct(self, input_x: Tensor) -> Tensor:
        return shaping.expand_dims(input_x, -1) * _diagonal(
            input_x.shape[-1], input_x.shape[-1], input_x.dtype
        )


class MatrixDiagPart(Cell):
    """The main diagonals of matrices ``[..., m, n]``."""

    def construct(self, input_x: Tensor) -> Tensor:
        m, n = input_x.shape[-2:]
        least = min(m, n)
        square = input_x[..., :least, :least]
        return reducing.sum(square * _diagonal(least, least, input_x.dtype), -1)


class MatrixSetDiag(Cell):
    """``construct(x, diagonal)``: matrices with other main diagonals."""

    def construct(self, input_x: Tensor, diagonal: Tensor) -> Tensor:
        m, n = input_x.shape[-2:]
        if diagonal.shape != (*input_x.shape[:-2], min(m, n)):
            raise ValueError(
                f"MatrixSetDiag: the diagonal must have shape {(*input_x.shape[:-2], min(m, n))}. Received: "
                f"{diagonal.shape}"
            )
        on = _diagonal(m, n, input_x.dtype)
        rows = _Pad(diagonal, paddings=((0, 0),) * (diagonal.ndim - 1) + ((0, m - min(m, n)),), value=0)
        return input_x * (1.0 - on) + shaping.expand_dims(rows, -1) * on


def _diagonal(rows: int, columns: int, dtype: DType) -> Tensor:
    from mycelia.ops.function.creating import eye

    return eye(rows, columns, dtype)
