"""`mycelia.passes.layout`: where Transposes are, and equal numbers."""
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.graph import Graph
from mycelia.passes.dead_code import dead_code
from mycelia.passes.layout import layout
from mycelia.passes.simplify import simplify
from tests.passes.text import check_pass

HOW = "stride=(1, 1), pads=(1, 1, 1, 1), dilation=(1, 1), groups=1"
POOL = "kernel_size=(2, 2), stride=(2, 2), pads=(0, 0, 0, 0)"


def channels_last(graph: Graph) -> Graph:
    layout(graph)
    simplify(graph)
    dead_code(graph)
    return graph


def counts(graph: Graph, *names: str) -> list[int]:
    operators = [n.op.name for n in graph.nodes]
    return [operators.count(name) for name in names]


def test_one_convolution():
    check_pass(layout, f"""graph(%x: float32[2, 3, 6, 5], %w: float32[4, 3, 3, 3]) {{
      %y = Conv2D(%x, %w) {{{HOW}}}
      return %y
    }}""", f"""graph(%x: float32[2, 3, 6, 5], %w: float32[4, 3, 3, 3]) {{
      %a = Transpose(%x) {{perm=(0, 2, 3, 1)}}
      %p = PackConvWeights(%w) {{groups=1, form='forward', stride=(1, 1), dilation=(1, 1)}}
      %c = ConvNHWC(%a, %p) {{kernel_size=(3, 3), {HOW}, out_channels=4, epilogue='',
                          has_bias=False, has_residual=False}}
      %y = Transpose(%c) {{perm=(0, 3, 1, 2)}}
      return %y
    }}""", equal=False, rtol=1e-5)


def test_a_residual_block_has_one_transpose_at_each_end():
    graph = check_pass(channels_last, f"""
    graph(%x: float32[2, 4, 6, 6], %w: float32[4, 4, 3, 3], %v: float32[4, 4, 3, 3], %b: float32[4],
          %g: float32[4, 1, 1]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %b4 = Reshape(%b) {{shape=(1, 4, 1, 1)}}
      %d = Add(%c, %b4)
      %r = ReLU(%d)
      %e = Conv2D(%r, %v) {{{HOW}}}
      %s = Mul(%e, %g)
      %t = Add(%s, %x)
      %u = ReLU(%t)
      %m = MaxPool(%u) {{{POOL}}}
      return %m
    }}""", equal=False, rtol=1e-5)
    assert counts(graph, "Transpose", "ConvNHWC", "MaxPoolNHWC", "Conv2D") == [2, 2, 1, 0]


def test_global_mean_runs_on_channels_last():
    graph = check_pass(channels_last, f"""
    graph(%x: float32[2, 3, 6, 6], %w: float32[4, 3, 3, 3], %f: float32[4, 5]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %m = ReduceMean(%c) {{axes=(2, 3), keepdims=False}}
      %y = MatMul(%m, %f) {{transpose_a=False, transpose_b=False}}
      return %y
    }}""", equal=False, rtol=1e-5)
    assert counts(graph, "Transpose") == [1]
    assert next(n for n in graph.nodes if n.op.name == "ReduceMean").attrs["axes"] == (1, 2)


def test_flatten_keeps_the_transpose_unless_the_image_is_a_point():
    for size, expected in ((6, 2), (2, 1)):
        graph = check_pass(channels_last, f"""
        graph(%x: float32[2, 3, {size}, {size}], %w: float32[4, 3, 3, 3]) {{
          %c = Conv2D(%x, %w) {{{HOW}}}
          %p = AvgPool(%c) {{{POOL}, count_include_pad=False}}
          %y = Reshape(%p) {{shape=(2, {4 * (size // 2) ** 2})}}
          return %y
        }}""", equal=False, rtol=1e-5)
        assert counts(graph, "Transpose") == [expected]


@pytest.mark.parametrize("axes, keepdims", [
    ((0, 2, 3), False), ((1,), False), ((2,), False), ((3,), True), ((2, 3), True)])
def test_reductions(axes, keepdims):
    check_pass(channels_last, f"""graph(%x: float32[2, 3, 6, 5], %w: float32[4, 3, 3, 3]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %y = ReduceMax(%c) {{axes={axes}, keepdims={keepdims}}}
      return %y
    }}""", equal=False, rtol=1e-5)


def test_what_follows_its_operands():
    graph = check_pass(channels_last, f"""
    graph(%x: float32[2, 3, 6, 6], %w: float32[4, 3, 3, 3], %s: float32[6]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %d = Concat(%c, %c) {{axis=1}}
      %p = Pad(%d) {{paddings=((0, 0), (1, 1), (0, 1), (0, 0)), value=1.0}}
      %l = StridedSlice(%p) {{begin=(0, 2, 0, 0), end=(2, 8, 7, 6), strides=(1, 2, 1, 1)}}
      %a = Add(%l, %s)
      %m = Softmax(%a) {{axis=1}}
      %b = BroadcastTo(%s) {{shape=(2, 3, 7, 6)}}
      %y = Mul(%m, %b)
      return %y
    }}""", equal=False, rtol=1e-5)
    assert counts(graph, "Transpose")[0] <= 3


def test_a_training_step_of_a_small_network():
    graph = check_pass(channels_last, f"""
    graph(%x: float32[2, 3, 6, 6], %w: float32[4, 3, 3, 3], %g: float32[4], %b: float32[4],
          %dy: float32[2, 4, 3, 3]) {{
      %c = Conv2D(%x, %w) {{{HOW}}}
      %y, %mean, %var = BatchNormTrain(%c, %g, %b) {{epsilon=1e-05}}
      %r = ReLU(%y)
      %p = MaxPool(%r) {{{POOL}}}
      %dr = MaxPoolGrad(%r, %p, %dy) {{{POOL}}}
      %zero = Constant() {{value=array(float32[], 0.0)}}
      %t = Greater(%r, %zero)
      %d0 = Select(%t, %dr, %zero)
      %dc, %dg, %db = BatchNormTrainGrad(%d0, %c, %g, %mean, %var) {{epsilon=1e-05}}
      %dw = Conv2DWeightGrad(%x, %dc) {{weight_shape=(4, 3, 3, 3), {HOW}}}
      %dx = Conv2DInputGrad(%dc, %w) {{input_shape=(2, 3, 6, 6), {HOW}}}
      return %p, %dw, %dg, %db, %mean, %var, %dx
    }}""", equal=False, rtol=1e-3)
    assert counts(graph, "Transpose", "BatchNormTrain") == [4, 1]
    images = counts(graph, "ConvNHWC", "ConvInputGradNHWC", "ConvWeightGradNHWC", "MaxPoolGradNHWC")
    assert images == [1, 1, 1, 1]


def test_graphs_without_images_are_left_alone():
    text = "graph(%x: float32[2, 3, 4, 4]) { %y = ReLU(%x)\n return %y }"
    check_pass(layout, text, text)
