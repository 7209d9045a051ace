"""Graphs with data-dependent extents, cut and run in parts."""
import numpy as np
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.graph import Graph
from mycelia.ir.interpreter import apply, interpret
from mycelia.ir.parser import parse
from mycelia.ir.printer import to_text
from mycelia.ir.verifier import verify
from mycelia.passes.segments import cut
from mycelia.passes.specialise import specialise

TEXT = """graph[u0: 0..6 bounded, u1: 0..6 bounded](%x: float32[2, 3], %w: float32[2, 3]) {
  %a = Neg(%x)
  %n: int64[u0, 2] = NonZero(%x)
  %m: int64[u0, 2] = Add(%n, %n)
  %b = Mul(%a, %w)
  %k: int64[u1, 2] = NonZero(%b)
  write %w = %b
  return %m, %a, %k, %x
}"""


def run(graph: Graph, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    parts = cut(graph)
    if parts is None:
        return interpret(specialise(graph, [a.shape for a in inputs]), inputs)
    verify(parts.before)
    verify(parts.after)
    found, _ = interpret(parts.before, inputs)
    count = len(parts.node.inputs)
    return run(parts.after, [*inputs, *apply(parts.node, found[:count]), *found[count:]])


@pytest.mark.parametrize("x", [[[1, 0, 2], [0, 0, 3]], [[0, 0, 0], [0, 0, 0]], [[1, 1, 1], [1, 1, 1]]])
def test_parts_give_what_numpy_gives(x):
    graph = parse(TEXT)
    text = to_text(graph)
    x = np.array(x, np.float32)
    w = np.array([[1, 2, 3], [4, 5, 0]], np.float32)
    (m, a, k, same), writes = run(graph, [x, w])
    np.testing.assert_array_equal(m, 2 * np.argwhere(x))
    np.testing.assert_array_equal(a, -x)
    np.testing.assert_array_equal(k, np.argwhere(-x * w))
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(writes[1], -x * w)
    assert to_text(graph) == text, "the graph is left as it is"


def test_a_static_graph_is_not_cut():
    assert cut(parse("graph(%x: float32[2]) { %y = Neg(%x)\n return %y }")) is None
