"""Plans in the runtime: native calls, calls into Python, control flow, constants, written inputs."""
import numpy as np
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.interpreter import interpret
from mycelia.ir.operator import REGISTRY, Operator, register
from mycelia.ir.parser import parse
from mycelia.passes.pipeline import optimise
from mycelia.plan.build import build
from mycelia.runtime.load import load
from tests.passes.text import random_inputs
from tests.plan.test_build import CONTROL

MIXED = """graph(%x: float32[4, 6], %w: float32[4, 6]) {
  %t = Constant() {value=array(float32[6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])}
  %a = Mul(%x, %t)
  %b = TestCube(%a)
  %c = Tanh(%b)
  %n = Sub(%w, %c)
  %s = ReduceSum(%n) {axes=(0, 1), keepdims=False}
  write %w = %n
  return %c, %s
}"""


def launch(graph, inputs):
    plan = build(graph)
    executable = load(plan)
    given = [np.array(a, order="C") for a in inputs]
    outputs = [np.empty(t.shape, t.dtype.numpy) for t in plan.outputs]
    executable.launch([a.ctypes.data for a in (*given, *outputs)])
    return outputs, given


@pytest.mark.parametrize("optimised", [False, True])
def test_native_and_host_calls_in_one_plan(optimised):
    if "TestCube" not in REGISTRY:
        register(Operator("TestCube", infer=lambda x: x, reference=lambda x: x ** 3))
    graph = parse(MIXED)
    inputs = random_inputs(graph)
    wanted, writes = interpret(graph, inputs)
    found, left = launch(optimise(graph).main if optimised else graph, inputs)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(left[1], writes[1], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(left[0], inputs[0])


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_control_flow_runs_plans_of_its_own(count):
    graph = parse(CONTROL)
    inputs = [np.array(count, np.int32), np.linspace(-1, 1, 5, dtype=np.float32)]
    found, _ = launch(optimise(graph).main, inputs)
    np.testing.assert_allclose(found[0], interpret(graph, inputs)[0][0], rtol=1e-5)


def test_an_exception_in_a_host_call_reaches_the_caller():
    def fail(x):
        raise LookupError("asked to fail")
    if "TestFail" not in REGISTRY:
        register(Operator("TestFail", infer=lambda x: x, reference=fail))
    with pytest.raises(LookupError, match="asked to fail"):
        launch(parse("graph(%x: float32[3]) { %y = TestFail(%x)\n return %y }"), [np.zeros(3, np.float32)])
