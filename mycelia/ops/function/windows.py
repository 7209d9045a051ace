"""Window functions of signal processing (Harris 1978)."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.dtypes import DType, float32, float64
from mycelia.ops.constants import constant
from mycelia.ops.promotion import resolve_dtype
from mycelia.tensor.tensor import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _points(name: str, window_length: Any, periodic: bool) -> tuple[int, int]:
    """How many points to compute, and how many of them to give: a period leaves the last out."""
    length = int(window_length.asnumpy()) if isinstance(window_length, Tensor) else window_length
    if isinstance(length, bool) or not isinstance(length, int):
        raise TypeError(
            f"{name}: window_length must be an int. Received: window_length={window_length!r} (of type "
            f"{type(window_length).__name__})"
        )
    if length < 0:
        raise ValueError(f"{name}: window_length must not be negative. Received: {length}")
    return length + 1 if periodic and length > 1 else length, length


def _given(name: str, points: np.ndarray, length: int, dtype: Any, usual: DType) -> Tensor:
    return constant(points[:length].astype((usual if dtype is None else resolve_dtype(name, dtype)).numpy))


def _window(name: str, make: Any, usual: DType = float32) -> Any:
    def function(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Tensor:
        count, length = _points(name, window_length, periodic)
        return _given(name, make(count), length, dtype, usual)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name.removesuffix('_window').capitalize()} window, or one period of it.

    Args:
        window_length: how many points.
        periodic: leave out the last point of one more.
        dtype: {usual.name} unless given, as in MindSpore.

    Raises:
        TypeError: no int.
        ValueError: a negative length.
    """
    return function


bartlett_window = _window("bartlett_window", np.bartlett)
blackman_window = _window("blackman_window", np.blackman)
hann_window = _window("hann_window", np.hanning, float64)


def hamming_window(
    window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None
) -> Tensor:
    """``alpha - beta * cos(2 pi n / (length - 1))``, or one period of it."""
    count, length = _points("hamming_window", window_length, periodic)
    turn = 2 * np.pi * np.arange(count) / max(count - 1, 1)
    points = alpha - beta * np.cos(turn) if count > 1 else np.ones(count)
    return _given("hamming_window", points, length, dtype, float32)


def kaiser_window(
    window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None
) -> Tensor:
    """The Kaiser window, or one period of it."""
    count, length = _points("kaiser_window", window_length, periodic)
    return _given("kaiser_window", np.kaiser(count, beta), length, dtype, float64)
