"""``mint.optim``: the optimizers whose step is called with gradients, under PyTorch's parameters."""
from mycelia.experimental.optim import SGD, Adam, AdamW

__all__ = ["SGD", "Adam", "AdamW"]
