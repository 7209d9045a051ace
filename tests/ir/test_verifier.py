"""Broken graphs and what the verifier says of them."""
import numpy as np
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir import dtypes
from mycelia.ir.graph import Graph, Node
from mycelia.ir.parser import parse
from mycelia.ir.types import TensorType
from mycelia.ir.verifier import VerificationError, compare_branches, verify

F32 = dtypes.float32


def chain() -> Graph:
    return parse("""graph(%x: float32[2, 3]) {
      %a = Neg(%x)  # net.py:4
      %b = Exp(%a)  # net.py:5
      return %b
    }""")


def broken(change) -> str:
    graph = chain()
    change(graph)
    with pytest.raises(VerificationError) as caught:
        verify(graph, "some_pass")
    assert (
        "after pass 'some_pass'" in str(caught.value)
        or "output" in str(caught.value)
        or "input" in str(caught.value)
    )
    return str(caught.value)


def test_a_sound_graph_passes():
    verify(chain())


def test_order():
    message = broken(lambda g: g.nodes.reverse())
    assert "operand 0 of Exp is read before it is defined" in message and "net.py:5" in message


def test_a_value_of_another_graph():
    def change(g):
        g.nodes[1].inputs = [chain().nodes[0].output]
    assert "belongs to no node or input of this graph" in broken(change)


def test_a_type_that_the_rule_does_not_give():
    def change(g):
        g.nodes[0].output.type = TensorType(F32, (2, 4))
    assert "Neg gives (float32[2, 3]) by its rule, the node says (float32[2, 4])" in broken(change)


def test_attributes():
    def unhashable(g):
        g.nodes[0].attrs["axes"] = [1]
    assert "not hashable" in broken(unhashable)

    def nested(g):
        g.nodes[0].attrs["axes"] = (1, [2])
    assert "not hashable" in broken(nested)

    def array(g):
        g.nodes[0].attrs["table"] = np.zeros(3)
    assert "only Constant may hold one" in broken(array)

    def graph(g):
        g.nodes[0].attrs["body"] = chain()
    assert "does not declare" in broken(graph)


def test_writes():
    def change(g):
        g.writes[0] = g.add("Reshape", g.inputs[0], shape=(6,)).output
    assert "is written with a value of type float32[6]" in broken(change)

    def absent(g):
        g.writes[3] = g.inputs[0]
    assert "writes input 3" in broken(absent)


def test_branches_are_shown_side_by_side():
    def branch(name: str, kind: TensorType) -> Graph:
        graph = Graph(name)
        graph.outputs = [graph.input(kind)]
        return graph

    kind = TensorType(F32, (2,))
    graph = Graph()
    predicate, x = graph.input(TensorType(dtypes.bool_, ())), graph.input(kind)
    from mycelia.ir.operator import get
    then, orelse = branch("then", kind), branch("orelse", kind)
    orelse.outputs = [orelse.add("Cast", orelse.inputs[0], dtype=dtypes.float16).output]
    graph.nodes.append(Node(get("Cond"), [predicate, x], {"then": then, "orelse": orelse}, (kind,)))
    graph.outputs = [graph.nodes[0].output]
    with pytest.raises(VerificationError) as caught:
        verify(graph)
    assert "0       float32[2]  float16[2]  <- differs" in str(caught.value)
    assert compare_branches([kind], [kind]) == ""
    assert "-" in compare_branches([kind], [])
