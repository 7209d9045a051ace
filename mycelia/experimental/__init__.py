"""Experimental names: optimizers with parameter groups that can be changed between steps."""

from mycelia.experimental import optim

__all__ = ["optim"]
