"""Batch norm folded into weights, epilogues of convolutions, and what is hoisted."""
import numpy as np
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.graph import Graph
from mycelia.ir.interpreter import interpret
from mycelia.ir.parser import parse
from mycelia.ir.verifier import verify
from mycelia.passes.dead_code import dead_code
from mycelia.passes.epilogue import epilogue
from mycelia.passes.fold_batch_norm import fold_batch_norm
from mycelia.passes.hoist import hoist
from mycelia.passes.layout import layout
from mycelia.passes.simplify import simplify
from tests.passes.text import check_pass, random_inputs

HOW = "stride=(1, 1), pads=(1, 1, 1, 1), dilation=(1, 1), groups=1"
SHAPE = "{shape=(1, 4, 1, 1)}"
BLOCK = f"""
graph(%x: float32[2, 4, 6, 6], %w: float32[4, 4, 3, 3], %gamma: float32[4], %beta: float32[4],
      %mean: float32[4], %var: float32[4], %r: float32[2, 4, 6, 6]) {{
  %c = Conv2D(%x, %w) {{{HOW}}}
  %m4 = Reshape(%mean) {SHAPE}
  %a = Sub(%c, %m4)
  %eps = Constant() {{value=array(float32[], 5.0)}}
  %v = Add(%var, %eps)
  %rs = Rsqrt(%v)
  %rs4 = Reshape(%rs) {SHAPE}
  %b = Mul(%a, %rs4)
  %g4 = Reshape(%gamma) {SHAPE}
  %d = Mul(%b, %g4)
  %b4 = Reshape(%beta) {SHAPE}
  %e = Add(%d, %b4)
  %f = Add(%r, %e)
  %y = ReLU(%f)
  return %y
}}"""


def operators(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.nodes]


def test_inference_batch_norm_becomes_weights_and_bias():
    graph = check_pass(fold_batch_norm, BLOCK, equal=False, rtol=1e-4)
    conv = next(n for n in graph.nodes if n.op.name == "Conv2D")
    assert conv.inputs[1].node.op.name == "Mul" and conv.inputs[1].node.inputs[0] is graph.inputs[1]
    image = [n.op.name for n in graph.nodes if n.output.shape == (2, 4, 6, 6)]
    assert image == ["Conv2D", "Add", "Add", "ReLU"]


@pytest.mark.parametrize("chain", [
    "%e = Div(%c, %g4)", "%a = Neg(%c)\n%e = Add(%a, %g4)", "%a = Sub(%g4, %c)\n%e = Mul(%a, %g4)",
    "%k = Constant() {value=array(float32[], 3.0)}\n%a = Mul(%c, %k)\n%e = Sub(%a, %g4)",
    "%a = Add(%c, %g4)\n%e = Div(%a, %g4)"])
def test_other_chains(chain):
    graph = check_pass(fold_batch_norm, f"""
    graph(%x: float32[2, 3, 5, 5], %w: float32[4, 3, 3, 3], %g: float32[4, 1, 1]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %g4 = Reshape(%g) {SHAPE}
      {chain}
      return %e
    }}""", equal=False, rtol=1e-3)
    image = [n.op.name for n in graph.nodes if n.output.shape == (2, 4, 5, 5)]
    assert image in (["Conv2D", "Add"], ["Conv2D"])


def test_nothing_is_folded_that_somebody_else_reads_or_that_depends_on_the_image():
    for text in (f"""graph(%x: float32[1, 4, 5, 5], %w: float32[4, 4, 3, 3], %g: float32[1, 4, 1, 1]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %y = Mul(%c, %g)
      return %y, %c
    }}""", f"""graph(%x: float32[1, 4, 5, 5], %w: float32[4, 4, 3, 3]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %m = ReduceMean(%c) {{axes=(2, 3), keepdims=True}}
      %d = Conv2D(%c, %w) {{{HOW}}}
      %y = Mul(%d, %m)
      return %y
    }}"""):
        check_pass(fold_batch_norm, text, text)


def compiled(graph: Graph) -> Graph:
    for step in (fold_batch_norm, layout, simplify, dead_code, epilogue, simplify):
        step(graph)
    return graph


def test_a_whole_block_is_one_convolution():
    graph = check_pass(compiled, BLOCK, equal=False, rtol=1e-4)
    conv = next(n for n in graph.nodes if n.op.name == "ConvNHWC")
    assert (conv.attrs["has_bias"], conv.attrs["has_residual"], conv.attrs["epilogue"]) == (
        True,
        True,
        "relu",
    )
    assert "ReLU" not in operators(graph)


def test_of_two_convolutions_in_a_sum_the_later_takes_the_other_as_residual():
    graph = check_pass(compiled, f"""
    graph(%x: float32[2, 4, 6, 6], %w: float32[4, 4, 3, 3], %v: float32[4, 4, 3, 3]) {{
      %a = Conv2D(%x, %w) {{{HOW}}}
      %b = Conv2D(%x, %v) {{{HOW}}}
      %c = Add(%a, %b)
      %y = ReLU(%c)
      return %y
    }}""", equal=False, rtol=1e-4)
    first, second = [n for n in graph.nodes if n.op.name == "ConvNHWC"]
    assert (
        not first.attrs["has_residual"] and second.attrs["has_residual"] and second.inputs[2] is first.output
    )


def test_hoisting_splits_off_what_depends_on_parameters():
    graph = parse(BLOCK)
    compiled(graph)
    prologue, main = hoist(graph, range(1, 6))
    verify(prologue, "hoist")
    verify(main, "hoist")
    assert "PackConvWeights" in operators(prologue) and "PackConvWeights" not in operators(main)
    assert operators(main).count("ConvNHWC") == 1 and "Rsqrt" not in operators(main)
    inputs = random_inputs(graph)
    inputs[5] = np.abs(inputs[5])
    hoisted, _ = interpret(prologue, inputs)
    found, _ = interpret(main, [*inputs, *hoisted])
    wanted, _ = interpret(graph, inputs)
    np.testing.assert_array_equal(found[0], wanted[0])


def test_hoisting_leaves_reshapes_and_refuses_written_parameters():
    graph = parse("""graph(%x: float32[2, 4], %w: float32[4]) {
      %r = Reshape(%w) {shape=(1, 4)}
      %y = Add(%x, %r)
      return %y
    }""")
    assert hoist(graph, [1]) == (None, graph)
    graph.writes[1] = graph.inputs[1]
    with pytest.raises(ValueError, match="written by the graph"):
        hoist(graph, [1])
