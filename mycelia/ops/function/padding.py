"""Padding: elements added around the axes of a tensor."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ops import movement
from mycelia.ops.constants import constant
from mycelia.ops.function.shaping import extents, narrow
from mycelia.ops.indexing import Gather
from mycelia.ops.promotion import as_tensor
from mycelia.tensor.tensor import Tensor

__all__ = ["mirror_pad", "pad", "padding"]

# MindSpore's modes under NumPy's names.
_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "symmetric": "symmetric"}

Pairs = Sequence[tuple[int, int]]


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Elements added around the last axes, or taken away by negative numbers.

    Args:
        input_x: a tensor.
        padding: (before, after) of the last axis, then of the one before it, and so on.
        mode: ``"constant"``, ``"reflect"`` (mirrored without the edge), ``"replicate"`` (the edge) or
            ``"circular"`` (from the other end).
        value: the constant; 0 unless given.

    Raises:
        ValueError: an odd number of paddings, another mode, or more elements than there are to mirror.

    Example:
        >>> pad(Tensor([1, 2, 3]), (1, 2), "circular")
        Tensor(shape=[6], dtype=Int64, value= [3, 1, 2, 3, 1, 2])
    """
    x = as_tensor("pad", input_x)
    counts = extents("pad", padding, "padding")
    if len(counts) % 2 or len(counts) > 2 * x.ndim:
        raise ValueError(
            f"pad: padding must hold a pair for each of at most {x.ndim} axes. Received: padding={counts}"
        )
    pairs = [(0, 0)] * (x.ndim - len(counts) // 2) + [
        (counts[i], counts[i + 1]) for i in range(len(counts) - 2, -1, -2)
    ]
    if mode == "constant":
        return _constant(x, pairs, 0 if value is None else value)
    if mode not in _MODES or mode == "symmetric":
        raise ValueError(
            "pad: mode must be 'constant', 'reflect', 'replicate' or 'circular'. Received: "
            f"mode={mode!r}"
        )
    if value not in (None, 0, 0.0):
        raise ValueError(
            f"pad: value only goes with mode='constant'. Received: mode={mode!r}, value={value!r}"
        )
    return mirrored("pad", x, pairs, mode)


def _constant(x: Tensor, pairs: Pairs, value: Any) -> Tensor:
    for axis, (lo, hi) in enumerate(pairs):
        cut = (-lo if lo < 0 else 0, -hi if hi < 0 else 0)
        if cut != (0, 0):
            x = narrow(x, axis, cut[0], x.shape[axis] - cut[0] - cut[1])
    grown = tuple((lo if lo > 0 else 0, hi if hi > 0 else 0) for lo, hi in pairs)
    if all(pair == (0, 0) for pair in grown):
        return x
    value = value.asnumpy().item() if isinstance(value, Tensor) else value
    return movement.Pad(x, paddings=grown, value=value)


def mirrored(name: str, x: Tensor, pairs: Pairs, mode: str) -> Tensor:
    for axis, (lo, hi) in enumerate(pairs):
        if not (lo or hi):
            continue
        extent = x.shape[axis]
        most = {"reflect": extent - 1, "circular": extent, "symmetric": extent}.get(mode)
        if lo < 0 or hi < 0 or extent < 1 or most is not None and max(lo, hi) > most:
            raise ValueError(
                f"{name}: with mode={mode!r} padding must not be negative"
                f"{'' if most is None else f' and at most {most}'} on axis {axis} of extent {extent}. "
                f"Received: {(lo, hi)}"
            )
        places = np.pad(np.arange(extent), (lo, hi), mode=_MODES[mode])  # type: ignore[call-overload]
        x = Gather(x, constant(places), axis=axis)
    return x


def mirror_pad(input_x: Any, paddings: Any, mode: str) -> Tensor:
    """Each axis mirrored at its ends.

    Args:
        input_x: a tensor.
        paddings: (before, after) for each axis: pairs, or a tensor of them.
        mode: ``"REFLECT"`` (without the edge) or ``"SYMMETRIC"`` (with it).

    Raises:
        ValueError: another mode, or more elements than there are to mirror.
    """
    x = as_tensor("mirror_pad", input_x)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mirror_pad: mode must be 'REFLECT' or 'SYMMETRIC'. Received: mode={mode!r}")
    rows = paddings.asnumpy().tolist() if isinstance(paddings, Tensor) else paddings
    return mirrored("mirror_pad", x, [(int(lo), int(hi)) for lo, hi in rows], mode.lower())


def padding(x: Any, pad_dim_size: int = 8) -> Tensor:
    """The last axis, of extent 1, filled up with zeros to ``pad_dim_size``.

    Raises:
        ValueError: another last extent, or a size that is not positive.
    """
    x = as_tensor("padding", x)
    if x.ndim < 2 or x.shape[-1] != 1 or pad_dim_size < 1:
        raise ValueError(
            "padding: the input must end in an axis of extent 1 and pad_dim_size be positive. Received: a "
            f"tensor of shape {x.shape}, pad_dim_size={pad_dim_size}"
        )
    return _constant(x, [(0, 0)] * (x.ndim - 1) + [(0, pad_dim_size - 1)], 0)
