"""``save_graphs``: every stage of a compilation as text, and the memory plan, in a folder for each graph."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

from mycelia.ir.graph import Graph

folder: Path | None = None  # where to write; None: nowhere. Set by the context.
_numbers = itertools.count()


class GraphFiles:
    """The files of one compilation: ``0007_step/02_dead_code.ir`` and so on, then ``plan.txt``."""

    def __init__(self, base: Path, name: str) -> None:
        self.path = base / f"{next(_numbers):04d}_{re.sub(r'[^A-Za-z0-9_.]', '_', name)}"

    def write(self, name: str, text: str) -> None:
        """Writes one file.

        Raises:
            OSError: the folder cannot be written; the message names it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        except OSError as error:
            raise OSError(
                error.errno,
                f"save_graphs: cannot write {self.path / name}: {error.strerror}; choose another "
                f"folder with set_context(save_graphs_path=...)",
            ) from None

    def stage(self, name: str, graph: Graph) -> None:
        """A pass's result, as `mycelia.passes.pipeline` hands it over."""
        from mycelia.ir.printer import to_text

        self.write(f"{name}.ir", to_text(graph) + "\n")


def begin(name: str) -> GraphFiles | None:
    """The files for a compilation that starts now, or None when graphs are not saved."""
    return None if folder is None else GraphFiles(folder, name)


Dump = Callable[[str, Graph], None]
