"""Ways to train faster or in less memory (`mindspore.boost`)."""

from mycelia.boost.grad_accumulation import GradientAccumulation

__all__ = ["GradientAccumulation"]
