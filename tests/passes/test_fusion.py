"""Clusters of `mycelia.passes.fusion`: expected graphs, and random programs against the interpreter."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia.ops  # noqa: F401
from mycelia.ir import dtypes
from mycelia.ir.graph import Graph
from mycelia.ir.parser import parse
from mycelia.ir.types import TensorType
from mycelia.ir.verifier import verify
from mycelia.passes.fusion import MAX_INPUTS, MAX_NODES, fusion
from mycelia.plan.build import build
from tests.passes.text import check_numbers, check_pass


def operators(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.nodes]


def test_a_chain_is_one_node():
    check_pass(fusion, """graph(%x: float32[4, 8], %b: float32[8]) {
      %a = Add(%x, %b)
      %t = Tanh(%a)
      %y = Mul(%t, %x)
      return %y
    }""", """graph(%x: float32[4, 8], %b: float32[8]) {
      %y = Fused(%x, %b) {body=graph(%0: float32[4, 8], %1: float32[8]) {
        %2 = Add(%0, %1)
        %3 = Tanh(%2)
        %4 = Mul(%3, %0)
        return %4
      }}
      return %y
    }""")


def test_values_read_outside_become_further_outputs():
    check_pass(fusion, """graph(%x: float32[8, 8]) {
      %a = Neg(%x)
      %t = Tanh(%a)
      %m = MatMul(%a, %t) {transpose_a=False, transpose_b=False}
      return %m
    }""", """graph(%x: float32[8, 8]) {
      %a, %t = Fused(%x) {body=graph(%0: float32[8, 8]) {
        %1 = Neg(%0)
        %2 = Tanh(%1)
        return %1, %2
      }}
      %m = MatMul(%a, %t) {transpose_a=False, transpose_b=False}
      return %m
    }""")


def test_no_cycle_through_another_node():
    graph = check_pass(fusion, """graph(%x: float32[8, 8]) {
      %a = Neg(%x)
      %b = Exp(%a)
      %m = MatMul(%b, %b) {transpose_a=False, transpose_b=False}
      %c = Add(%a, %m)
      %y = Tanh(%c)
      return %y
    }""")
    assert operators(graph) == ["Fused", "MatMul", "Fused"]


def test_a_single_node_and_a_small_operand_stay():
    text = """graph(%x: float32[4, 8], %v: float32[8]) {
      %r = Rsqrt(%v)
      %y = Mul(%x, %r)
      return %y
    }"""
    check_pass(fusion, text, text)


def test_scalars_are_computed_inside():
    graph = check_pass(fusion, """graph(%x: float32[4, 8], %s: float32[]) {
      %c = Constant() {value=array(float32[], 0.5)}
      %h = Mul(%s, %c)
      %y = Mul(%x, %h)
      return %y
    }""")
    assert operators(graph) == ["Fused"] and len(graph.nodes[0].inputs) == 2


def test_a_cluster_read_by_a_reduction_alone_is_computed_in_it():
    check_pass(fusion, """graph(%x: float32[4, 8], %y: float32[4, 8]) {
      %d = Sub(%x, %y)
      %s = Square(%d)
      %r = ReduceSum(%s) {axes=(0, 1), keepdims=False}
      return %r
    }""", """graph(%x: float32[4, 8], %y: float32[4, 8]) {
      %r = FusedReduce(%x, %y) {body=graph(%0: float32[4, 8], %1: float32[4, 8]) {
        %2 = Sub(%0, %1)
        %3 = Square(%2)
        return %3
      }, reduce='sum', axes=(0, 1), keepdims=False}
      return %r
    }""")


def test_a_broadcast_that_makes_the_shape_is_read_through():
    graph = check_pass(fusion, """graph(%x: float32[8], %y: float32[8]) {
      %a = BroadcastTo(%x) {shape=(4, 8)}
      %b = BroadcastTo(%y) {shape=(4, 8)}
      %z = Mul(%a, %b)
      return %z
    }""")
    assert operators(graph) == ["Fused"]


def test_a_scalar_that_its_cluster_computes_for_itself_and_others_read():
    check_pass(fusion, """graph(%x: float32[4, 6]) {
      %a = Neg(%x)
      %r = ReduceSum(%a) {axes=(0,), keepdims=True}
      %c = Constant() {value=array(float32[], 1.0)}
      %n = Neg(%c)
      %b = Add(%a, %n)
      return %n, %r, %b
    }""")


def test_effects_keep_their_order():
    from mycelia.ir.operator import REGISTRY
    if "Print" not in REGISTRY:
        pytest.skip("Print is not defined")
    graph = parse("""graph(%x: float32[4]) {
      %a = Neg(%x)
      Print(%x) {format='first {}'}
      %b = Exp(%a)
      Print(%b) {format='second {}'}
      %c = Tanh(%a)
      return %c
    }""")
    fusion(graph)
    verify(graph)
    assert [n.attrs["format"][0] for n in graph.nodes if n.op.name == "Print"] == ["f", "s"]


UNARY = ("Neg", "Abs", "Square", "Tanh", "ReLU")
BINARY = ("Add", "Sub", "Mul", "Maximum")
SHAPES = ((4, 6), (6,), (4, 1), (), (1, 1))


@st.composite
def programs(draw) -> Graph:
    graph = Graph()
    values = [
        graph.input(TensorType(dtypes.float64, draw(st.sampled_from(SHAPES))))
        for _ in range(draw(st.integers(1, 4)))
    ]
    for _ in range(draw(st.integers(1, 24))):
        pick = st.sampled_from(values)
        kind = draw(st.integers(0, 9))
        x = draw(pick)
        if kind < 3:
            node = graph.add(draw(st.sampled_from(UNARY)), x)
        elif kind < 7:
            node = graph.add(draw(st.sampled_from(BINARY)), x, draw(pick))
        elif kind == 7 and len(x.shape) == 2:
            node = graph.add(
                draw(st.sampled_from(("ReduceSum", "ReduceMax"))),
                x,
                axes=(draw(st.integers(0, 1)),),
                keepdims=True,
            )
        elif kind == 8:
            node = graph.add("BroadcastTo", x, shape=(4, 6)) if len(x.shape) < 2 else graph.add("Neg", x)
        else:
            values.append(graph.constant(np.float64(draw(st.integers(-2, 2)))))
            continue
        values.append(node.output)
    graph.outputs = [draw(st.sampled_from(values)) for _ in range(draw(st.integers(1, 3)))]
    return graph


@settings(max_examples=150, deadline=None)
@given(programs())
def test_random_programs_keep_their_numbers(graph):
    fused = graph.clone()
    fusion(fused)
    verify(fused, "fusion")
    for node in fused.nodes:
        if node.op.name in ("Fused", "FusedReduce"):
            assert len(node.inputs) <= MAX_INPUTS and len(node.attrs["body"].nodes) <= MAX_NODES + MAX_INPUTS
    rng = np.random.default_rng(0)
    check_numbers(graph, fused, [rng.uniform(-1, 1, v.shape) for v in graph.inputs])
    build(fused)
