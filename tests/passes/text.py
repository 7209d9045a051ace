"""Pass tests in the text form: a graph before, the graph that is expected, and the same numbers from both."""
from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.ir.graph import Graph
from mycelia.ir.interpreter import interpret
from mycelia.ir.parser import parse
from mycelia.ir.printer import to_text
from mycelia.ir.verifier import verify
from mycelia.passes.dead_code import dead_code


def normalised(graph: Graph) -> str:
    return to_text(graph, full=True, canonical=True)


def check_pass(step: Callable[[Graph], Any], before: str, expected: str | None = None, *, equal: bool = True,
               rtol: float = 0.0, inputs: Sequence[np.ndarray] | None = None, seed: int = 0) -> Graph:
    """Runs a pass and dead code, compares with the expected text, and interprets both graphs on random
    inputs.

    Args:
        expected: None checks the numbers only.
        equal: bits must be the same; otherwise within ``rtol``.
    """
    original = parse(textwrap.dedent(before))
    verify(original)
    graph = original.clone()
    result = step(graph)
    graph = result if isinstance(result, Graph) else graph
    dead_code(graph)
    verify(graph, getattr(step, "__name__", "pass"))
    if expected is not None:
        wanted = parse(textwrap.dedent(expected))
        verify(wanted)
        assert normalised(graph) == normalised(wanted), (
            f"\n{to_text(graph)}\n-- expected --\n{to_text(wanted)}"
        )
    check_numbers(original, graph, inputs or random_inputs(original, seed), equal, rtol)
    return graph


def random_inputs(graph: Graph, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = []
    for value in graph.inputs:
        shape = tuple(d if isinstance(d, int) else max(d.lo, 3) for d in value.shape)
        kind = value.dtype.kind
        if kind == "f":
            arrays.append(rng.uniform(-2, 2, shape).astype(value.dtype.numpy))
        elif kind == "b":
            arrays.append(rng.integers(0, 2, shape).astype(bool))
        else:
            arrays.append(rng.integers(0 if kind == "u" else -5, 6, shape).astype(value.dtype.numpy))
    return arrays


def check_numbers(before: Graph, after: Graph, inputs: Sequence[np.ndarray], equal: bool = True,
                  rtol: float = 0.0) -> None:
    wanted, wanted_writes = interpret(before, inputs)
    found, found_writes = interpret(after, inputs)
    assert wanted_writes.keys() == found_writes.keys()
    pairs = [*zip(wanted, found, strict=True), *((wanted_writes[i], found_writes[i]) for i in wanted_writes)]
    for a, b in pairs:
        assert a.dtype == b.dtype and a.shape == b.shape
        if equal:
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        else:
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=rtol)
