"""Cells made from functions: ``mint.nn.GELU(approximate="tanh")`` holds the settings of
``functional.gelu``."""

from __future__ import annotations

from functools import partial

from mycelia.nn import function_cell

cell = partial(function_cell.cell, module="mycelia.mint.nn")
