"""Cells that differentiate a network."""

from mycelia.nn.grad.cell_grad import Jvp, Vjp

__all__ = ["Jvp", "Vjp"]
