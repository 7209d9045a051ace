"""The native runtime, written as LLVM IR text: `machine` (processor specifics), `pool` (threads), `plan` (the
walker)."""

from __future__ import annotations

from mycelia.codegen.target import Target
from mycelia.kernels.api import Code
from mycelia.runtime.native import machine, plan, pool

SYMBOLS = ("launch", "stop_workers")


def text(target: Target) -> str:
    """The whole runtime as one module."""
    return machine.text(target) + pool.text() + plan.text()


def code(target: Target) -> Code:
    """The runtime as a code for the object cache."""
    return Code("launch", "native runtime", lambda: text(target))
