"""The text form: what is printed reads back to the same graph, and errors say where they are."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia.ops  # noqa: F401
from mycelia.ir import dtypes
from mycelia.ir.graph import Graph, Location
from mycelia.ir.operator import REGISTRY, Operator, register
from mycelia.ir.parser import ParseError, parse
from mycelia.ir.printer import array_text, to_text
from mycelia.ir.types import Sym, TensorType

if "TestAny" not in REGISTRY:  # takes any attributes, so that each kind can be printed
    register(Operator("TestAny", infer=lambda *types, **attrs: types[0], subgraphs=("body",)))
F32 = dtypes.float32


def again(graph: Graph, **how) -> Graph:
    text = to_text(graph, full=True, **how)
    read = parse(text)
    assert to_text(read, full=True, **how) == text
    return read


def test_the_whole_form():
    inputs = "%x: float32[s0, 3], %y: int8[(2*s0), s1], %z: bool[u0]"
    text = f"graph net[s0: 1..64, s1: 0.., u0: 0..100 bounded]({inputs}) {{" + """
  %a: float32[s0, 3] = Add(%x, %x)  # net.py:12 in construct [simplify: x + x]
  %0: float32[s0, 3] = Neg(%a)  # "my net.py":3
  %1: float32[s0, 3] = TestAny(%0) {shape=(s0, (s0*s1)), pair=(1,), none=None, flag=True}
  write %x = %0
  return %0, %1
}"""
    graph = parse(text)
    assert to_text(graph) == text
    assert graph.nodes[0].loc == Location("net.py", 12, "construct")
    assert graph.nodes[0].origin == "simplify: x + x"
    assert graph.nodes[1].loc == Location("my net.py", 3)
    assert (graph.inputs[0].shape[0].lo, graph.inputs[0].shape[0].hi) == (1, 64)
    assert graph.inputs[2].shape[0].bounded
    assert graph.writes == {0: graph.nodes[1].output}


attributes = st.recursive(
    st.none() | st.booleans() | st.integers(-2**70, 2**70) | st.floats() | st.text(max_size=8)
    | st.sampled_from(dtypes.ALL) | st.just(TensorType(F32, (2, Sym("s0", 1, 9)))) | st.just(Sym("s0", 1, 9))
    | st.just(Sym("s0", 1, 9) * 3 + 1),
    lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=8)


def same(a, b) -> bool:
    if isinstance(a, float):
        return isinstance(b, float) and (a == b and str(a) == str(b) or a != a and b != b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True), attributes, max_size=3))
def test_attributes_read_back(attrs):
    graph = Graph()
    x = graph.input(TensorType(F32, (2,)))
    try:
        graph.outputs = [graph.add("TestAny", x, **attrs).output]
    except TypeError:  # a keyword that is a parameter of add itself
        return
    read = again(graph)
    assert all(same(value, read.nodes[0].attrs[key]) for key, value in attrs.items())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(dtypes.ALL), st.lists(st.integers(0, 3), max_size=3),
       st.binary(min_size=8, max_size=8))
def test_constants_read_back_bit_for_bit(dtype, shape, seed):
    count = int(np.prod(shape, dtype=int)) * dtype.itemsize
    limit = 2 if dtype.kind == "b" else 256
    raw = np.random.default_rng(list(seed)).integers(0, limit, count).astype(np.uint8)
    array = raw.view(dtype.numpy).reshape(shape)
    graph = Graph()
    graph.outputs = [graph.constant(array)]
    found = again(graph).nodes[0].attrs["value"]
    assert found.dtype == array.dtype and found.shape == array.shape and found.tobytes() == array.tobytes()


def test_floats_are_written_short_and_exact():
    assert array_text(np.float32(0.1)) == "array(float32[], 0.1)"
    assert array_text(np.array([1, np.inf, -0.0], np.float16)) == "array(float16[3], [1.0, inf, -0.0])"
    assert array_text(np.arange(20), full=False).startswith("array(int64[20], sha256 '")


def test_a_digest_cannot_be_read_back():
    graph = Graph()
    graph.outputs = [graph.constant(np.arange(100.0))]
    with pytest.raises(ParseError, match="digest.*full=True"):
        parse(to_text(graph))


def test_nested_graphs_and_scopes():
    graph = parse("""graph(%p: bool[], %x: float32[2]) {
      %y = TestAny(%x) {k=1, body=graph inner(%x: float32[2]) {
          %y = Neg(%x)  # inner.py:1
          return %y
      }}  # outer.py:2
      return %y
    }""")
    read = again(graph)
    node = read.nodes[0]
    assert (str(node.loc), str(node.attrs["body"].nodes[0].loc)) == ("outer.py:2", "inner.py:1")


def test_python_objects_print_but_do_not_parse():
    graph = Graph()
    graph.outputs = [graph.add("TestAny", graph.input(TensorType(F32, ())), function=len).output]
    with pytest.raises(ParseError, match="Python object"):
        parse(to_text(graph))


def test_equal_structure_has_equal_canonical_text():
    one = parse("graph a(%x: float32[2]) { %y = Neg(%x)  # a.py:1\n return %y }")
    two = parse("graph b(%in: float32[2]) { %out = Neg(%in)\n return %out }")
    assert to_text(one, canonical=True) == to_text(two, canonical=True)


def test_odd_names():
    graph = Graph("my graph")
    x = graph.input(TensorType(F32, (2,)), 'a "b" c')
    y = graph.input(TensorType(F32, (2,)), 'a "b" c')
    graph.outputs = [graph.add("Add", x, y).output]
    read = again(graph)
    assert (read.name, read.inputs[0].name) == ("my graph", 'a "b" c')
    assert read.inputs[0] is not read.inputs[1]


@pytest.mark.parametrize("text, line, column, message", [
    ("graph(%x: float32[2]) {\n  %y = Ad(%x, %x)\n  return %y\n}", 2, 8,
     "no operator named 'Ad'; did you mean Add"),
    ("graph(%x: float32[2]) {\n  %y = Add(%x, %z)\n  return %y\n}", 2, 16, "%z is used before it is defined"),
    ("graph(%x: float[2]) { return %x }", 1, 11, "no element type 'float'"),
    ("graph(%x: float32[2]) {\n  %x = Neg(%x)\n return %x }", 2, 3, "%x is defined twice"),
    ("graph(%x: float32[2]) { return %x", 1, 34, "expected '}'"),
    ("graph(%x: float32[2]) {\n %y = Neg(%x)\n write %y = %x\n return %y }", 3, 8,
     "only inputs can be written"),
    ("graph(%x: float32[2], %x: float32[2]) { return %x }", 1, 23, "there twice"),
    ("graph(%x: float32[n]) { return %x }", 1, 19, "unknown word 'n'"),
    ("graph(%x: float32[2]) { %y = Add(%x) return %y }", 1, 30, "Add"),
    ("graph(%x: float32[2]) { ? }", 1, 25, "unexpected character"),
])
def test_errors_name_line_and_column(text, line, column, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert f"line {line}, column {column}: " in str(caught.value) and message in str(caught.value)
