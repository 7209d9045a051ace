"""Dropout of whole channels."""
from __future__ import annotations

from typing import Any

from mycelia.ops.function.creating import ones
from mycelia.ops.function.drawing import dropout
from mycelia.ops.function.shaping import reshape
from mycelia.ops.promotion import require_tensor
from mycelia.tensor.tensor import Tensor

__all__ = ["dropout1d", "dropout2d", "dropout3d"]


def _channels(axes: int) -> Any:
    name = f"dropout{axes}d"

    def function(input: Any, p: float = 0.5, training: bool = True) -> Tensor:
        x = require_tensor(name, input)
        if x.ndim not in (axes + 1, axes + 2):
            raise ValueError(
                f"{name}: the input must have {axes + 1} or {axes + 2} axes. Received: a tensor of shape "
                f"{x.shape}"
            )
        if not 0 <= p <= 1:
            raise ValueError(f"{name}: p must be in [0, 1]. Received: p={p}")
        if not training or p == 0:
            return x
        lead = x.shape[:x.ndim - axes]
        kept = dropout(ones(lead, x.dtype), p)
        return x * reshape(kept, (*lead, *(1,) * axes))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""While training each channel ``[n, c, ...]`` of {axes} more axes is 0 with \
probability ``p``, and the others grow by ``1 / (1 - p)``.

    Raises:
        ValueError: p outside [0, 1], or another number of axes.
    """
    return function


dropout1d, dropout2d, dropout3d = _channels(1), _channels(2), _channels(3)
