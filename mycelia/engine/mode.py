"""Whether an outermost Cell call compiles (GRAPH_MODE) or runs operator by operator (PYNATIVE_MODE)."""

from __future__ import annotations

GRAPH_MODE = 0
PYNATIVE_MODE = 1

current: int = PYNATIVE_MODE
