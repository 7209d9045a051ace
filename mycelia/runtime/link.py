"""From IR text to callable addresses, without cache or workers: for tests and tools. Plans go through
`mycelia.runtime.compile`."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.codegen.target import Target
from mycelia.runtime import image
from mycelia.runtime.emit import emit_object


def compile_object(text: str, target: Target) -> bytes:
    """Optimises IR text and returns an object file's bytes.

    Raises:
        RuntimeError: LLVM does not accept the text.
    """
    return emit_object(text, target.triple, target.cpu, target.features)


def load_object(object_file: bytes, symbols: Sequence[str]) -> dict[str, int]:
    """Links an object into the process for good (code is never unmapped) and returns the addresses of its
    symbols.

    Raises:
        SymbolError: the object refers to a symbol that the process lacks.
        KeyError: the object does not define one of ``symbols``.
    """
    (addresses,) = image.map_images([image.link(object_file)])
    return {symbol: addresses[symbol] for symbol in symbols}
