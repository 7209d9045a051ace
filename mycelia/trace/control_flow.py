"""Control flow over traced values. (First form: functions run as they are.)"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def stage(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn
