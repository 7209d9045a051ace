"""What a traced function read from outside, and whether it is still so. (First form: nothing is recorded.)"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Guards:
    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    @contextmanager
    def recording(self, trace: Any) -> Iterator[None]:
        yield

    def effects(self) -> list[Any]:
        return []

    def apply_effects(self, values: list[Any]) -> None:
        pass

    def hold(self) -> bool:
        return True
