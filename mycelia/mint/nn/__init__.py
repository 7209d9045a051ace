"""``mint.nn``: functions; its layers are those of `mycelia.nn` with PyTorch's parameters."""
from mycelia.mint.nn import functional

__all__ = ["functional"]
