"""Helpers by their module in MindSpore."""
from mycelia.dataset.vision.operation import is_pil

__all__ = ["is_pil"]
