"""Optimizers of `mycelia.mint`: those of `mycelia.experimental.optim` with eps outside the corrected root."""

from __future__ import annotations

from typing import Any

from mycelia.experimental.optim import SGD as _SGD
from mycelia.experimental.optim.adaptive import AdamW as _AdamW
from mycelia.experimental.optim.adaptive import CorrectedAdam
from mycelia.ir.dtypes import float32


class Adam(CorrectedAdam):
    """Adam (Kingma and Ba 2014, algorithm 1); arguments as of `mycelia.experimental.optim.Adam`, and
    ``amsgrad`` is the largest second moment so far."""

    counter = ("state_step", float32, (1,), 0)


class AdamW(_AdamW):
    """Adam with decoupled weight decay; arguments as of `mycelia.experimental.optim.AdamW`."""

    counter = ("state_step", float32, (1,), -1)


class FusedAdamW(AdamW):
    """`AdamW`: every step is one fused plan."""


class SGD(_SGD):
    """Gradient descent; arguments as of `mycelia.experimental.optim.SGD`."""

    states: dict[str, Any] = {"momentum_buf": "zeros", "stat": "ones"}


__all__ = ["SGD", "Adam", "AdamW", "FusedAdamW"]
