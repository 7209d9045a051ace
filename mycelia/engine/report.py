"""Says once why a function was compiled again. (First form.)"""
from __future__ import annotations

from typing import Any


def report_recompilation(function: Any, family: list[Any], types: list[Any]) -> None:
    pass
