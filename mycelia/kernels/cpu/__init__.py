"""Native kernels of the CPU. Each file of this folder registers its own when it is imported; `register`
imports them all."""
from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache


@lru_cache(1)
def register() -> None:
    """Imports every file of the folder, so that selection sees all kernels."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
