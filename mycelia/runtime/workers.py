"""Compiles several codes at once: in this process and in worker processes beside it.

llvmlite holds one lock around every LLVM call, so threads do not help. A worker is a bare interpreter that runs
`mycelia.runtime.emit`, which imports llvmlite only, and takes one text at a time over pipes. A worker that dies or hangs is given up, and its
text compiled here: a worker can make things faster, never wrong.
"""
from __future__ import annotations

from collections.abc import Iterator

from mycelia.codegen.target import Target
from mycelia.kernels.api import Code


def compile_objects(codes: list[Code], target: Target) -> Iterator[tuple[Code, bytes]]:
    """Yields each code with its object file, in any order."""
    from mycelia.runtime.compile import emit

    for code in codes:
        yield code, emit(code, target)


def prestart() -> None:
    """Begins to start a worker, if there is a core for it."""
