"""`mycelia.passes.functionalise`: writes through views against NumPy's own aliasing, which the interpreter
has.
"""
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
from mycelia.passes.dead_code import dead_code
from mycelia.passes.functionalise import WriteError, functionalise
from tests.passes.text import check_numbers, check_pass


def test_a_write_of_an_input():
    check_pass(functionalise, """graph(%w: float32[3], %g: float32[3]) {
      %n = Sub(%w, %g)
      %a = Assign(%w, %n)
      %y = Mul(%w, %a)
      return %y
    }""", """graph(%w: float32[3], %g: float32[3]) {
      %n = Sub(%w, %g)
      %y = Mul(%n, %n)
      write %w = %n
      return %y
    }""")


def test_a_write_through_a_slice_of_a_transpose():
    check_pass(functionalise, """graph(%x: float32[3, 4], %v: float32[2, 3]) {
      %t = Transpose(%x) {perm=(1, 0)}
      %s = StridedSlice(%t) {begin=(1, 0), end=(3, 3), strides=(1, 1)}
      %a = Assign(%s, %v)
      %y = Neg(%t)
      return %y, %s
    }""", """graph(%x: float32[3, 4], %v: float32[2, 3]) {
      %t = Transpose(%x) {perm=(1, 0)}
      %n = SliceScatter(%t, %v) {begin=(1, 0), end=(3, 3), strides=(1, 1)}
      %b = Transpose(%n) {perm=(1, 0)}
      %u = Transpose(%b) {perm=(1, 0)}
      %y = Neg(%u)
      %s = StridedSlice(%u) {begin=(1, 0), end=(3, 3), strides=(1, 1)}
      write %x = %b
      return %y, %s
    }""")


def test_a_write_to_a_local_value_is_no_write_of_the_graph():
    graph = check_pass(functionalise, """graph(%x: float32[3]) {
      %a = Neg(%x)
      %h = StridedSlice(%a) {begin=(0,), end=(1,), strides=(1,)}
      %one = Constant() {value=array(float32[1], [1.0])}
      %b = Assign(%h, %one)
      return %a
    }""")
    assert not graph.writes


def test_a_reshape_of_memory_that_is_not_dense_copies():
    graph = check_pass(functionalise, """graph(%x: float32[2, 3], %v: float32[6]) {
      %t = Transpose(%x) {perm=(1, 0)}
      %r = Reshape(%t) {shape=(6,)}
      %a = Assign(%r, %v)
      return %x, %r
    }""")
    assert not graph.writes


def test_results_are_dense_whatever_their_operands_were():
    graph = check_pass(functionalise, """graph(%x: float32[2, 3], %v: float32[3, 2]) {
      %t = Transpose(%x) {perm=(1, 0)}
      %n = Neg(%t)
      %r = Reshape(%n) {shape=(6,)}
      %a = Assign(%n, %v)
      return %r
    }""")
    assert graph.outputs[0].node.inputs[0] is graph.inputs[1]


def test_a_write_through_a_broadcast_names_the_line():
    graph = parse("""graph(%x: float32[3], %v: float32[2, 3]) {
      %b = BroadcastTo(%x) {shape=(2, 3)}
      %a = Assign(%b, %v)  # net.py:7
      return %a
    }""")
    with pytest.raises(WriteError, match=r"BroadcastTo.*net.py:7"):
        functionalise(graph)


def test_a_write_in_a_branch_names_the_operand():
    graph = parse("""graph(%p: bool[], %x: float32[3]) {
      %y = Cond(%p, %x) {
        then=graph then(%a: float32[3]) {
          %n = Neg(%a)
          %w = Assign(%a, %n)  # net.py:9
          return %w
        },
        orelse=graph orelse(%a: float32[3]) { return %a }
      }
      return %y
    }""")
    with pytest.raises(WriteError, match=r"then writes to its operand 0"):
        functionalise(graph)


@st.composite
def programs(draw) -> Graph:
    graph = Graph()
    kind = TensorType(dtypes.float64, (2, 3))
    values = [graph.input(kind) for _ in range(2)]
    for _ in range(draw(st.integers(1, 14))):
        x = draw(st.sampled_from(values))
        step = draw(st.integers(0, 6))
        if step == 0:
            values.append(graph.add("Neg", x).output)
        elif step == 1:
            values.append(
                graph.add("Transpose", x, perm=tuple(draw(st.permutations(range(len(x.shape)))))).output
            )
        elif step == 2 and x.type.size:
            shapes = {
                6: ((6,), (2, 3), (3, 2), (1, 6)),
                3: ((3,), (1, 3), (3, 1)),
                2: ((2,), (1, 2)),
                4: ((2, 2), (4,)),
            }
            values.append(
                graph.add(
                    "Reshape", x, shape=draw(st.sampled_from(shapes.get(x.type.size, (x.shape,))))
                ).output
            )
        elif step == 3:
            begin, end, strides = [], [], []
            for extent in x.shape:
                if draw(st.booleans()) and extent > 1:
                    begin.append(extent - 1), end.append(-1), strides.append(-1)
                else:
                    first = draw(st.integers(0, max(extent - 1, 0)))
                    begin.append(first), end.append(extent), strides.append(draw(st.integers(1, 2)))
            values.append(
                graph.add(
                    "StridedSlice", x, begin=tuple(begin), end=tuple(end), strides=tuple(strides)
                ).output
            )
        else:
            same = [v for v in values if v.shape == x.shape]
            y = draw(st.sampled_from(same))
            if step == 4:
                values.append(graph.add("Add", x, y).output)
            else:
                values.append(
                    graph.add("Assign", x, graph.add("Mul", y, graph.constant(np.float64(2))).output).output
                )
    graph.outputs = [draw(st.sampled_from(values)) for _ in range(2)]
    return graph


@settings(max_examples=200, deadline=None)
@given(programs())
def test_random_writes_mean_what_numpy_means(graph):
    pure = graph.clone()
    functionalise(pure)
    dead_code(pure)
    verify(pure, "functionalise")
    assert not any(n.op.name == "Assign" for n in pure.nodes)
    rng = np.random.default_rng(1)
    check_numbers(graph, pure, [rng.uniform(-1, 1, v.shape) for v in graph.inputs])
