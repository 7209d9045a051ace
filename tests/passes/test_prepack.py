"""`mycelia.passes.prepack`: products with weights that stay the same."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.ir.parser import parse
from mycelia.passes.pipeline import optimise
from mycelia.passes.prepack import Prepack
from tests.passes.text import check_pass


def test_a_product_with_a_parameter_takes_it_packed():
    check_pass(Prepack([1]), """graph(%x: float32[16, 64], %w: float32[96, 64]) {
      %y = MatMul(%x, %w) {transpose_a=False, transpose_b=True}
      %z = Tanh(%y)
      return %z
    }""", """graph(%x: float32[16, 64], %w: float32[96, 64]) {
      %k = Reshape(%w) {shape=(96, 64, 1, 1)}
      %p = PackConvWeights(%k) {form="forward", groups=1, stride=(1, 1), dilation=(1, 1)}
      %i = Reshape(%x) {shape=(16, 1, 1, 64)}
      %c = ConvNHWC(%i, %p) {kernel_size=(1, 1), pads=(0, 0, 0, 0), out_channels=96, epilogue="", has_bias=False, has_residual=False, groups=1, stride=(1, 1), dilation=(1, 1)}
      %y = Reshape(%c) {shape=(16, 96)}
      %z = Tanh(%y)
      return %z
    }""", equal=False, rtol=1e-5)  # noqa: E501


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_operands_stored_either_way(transposed):
    a, b = transposed
    check_pass(Prepack([1]), f"""graph(%x: float64[{"64, 20" if a else "20, 64"}],
                                       %w: float64[{"70, 64" if b else "64, 70"}]) {{
      %y = MatMul(%x, %w) {{transpose_a={a}, transpose_b={b}}}
      return %y
    }}""", equal=False, rtol=1e-12)


@pytest.mark.parametrize("text", [
    "graph(%x: float32[8, 64], %w: float32[96, 64])",  # few rows
    "graph[s0: 2..99](%x: float32[s0, 64], %w: float32[96, 64])",
    "graph(%x: float32[32, 8], %w: float32[8, 8])",  # small weights
    "graph(%x: int32[32, 64], %w: int32[96, 64])",
])
def test_other_products_stay(text):
    graph = parse(text + """ {
      %y = MatMul(%x, %w) {transpose_a=False, transpose_b=True}
      return %y
    }""")
    assert not Prepack([1])(graph)
    assert not Prepack([])(graph)


def test_the_prologue_packs():
    graph = parse("""graph(%x: float32[16, 64], %w: float32[96, 64]) {
      %y = MatMul(%x, %w) {transpose_a=False, transpose_b=True}
      return %y
    }""")
    made = optimise(graph, [1], check=True)
    assert [n.op.name for n in made.prologue.nodes] == ["Reshape", "PackConvWeights"]
    assert "PackConvWeights" not in [n.op.name for n in made.main.nodes]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-3), ("float32", 1e-5), ("float64", 1e-12)])
def test_written_parameters_are_packed_anew(dtype, tolerance):
    net = nn.Dense(70, 130, dtype=getattr(ms, dtype))
    step = ms.jit(net.construct)
    x = np.random.default_rng(1).normal(size=(33, 70)).astype(dtype)
    for _ in range(3):
        w, b = net.weight.asnumpy().astype(np.float64), net.bias.asnumpy().astype(np.float64)
        expected = x.astype(np.float64) @ w.T + b
        found = step(Tensor(x)).asnumpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())
        net.weight.set_data(Tensor(-2 * net.weight.asnumpy()))
