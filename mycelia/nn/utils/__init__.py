"""Helps around cells."""

from mycelia.nn.utils.init import no_init_parameters

__all__ = ["no_init_parameters"]
