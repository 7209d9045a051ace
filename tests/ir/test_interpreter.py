"""The NumPy interpreter: rounding, control flow, writes, errors."""
import ml_dtypes
import numpy as np
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.interpreter import interpret
from mycelia.ir.parser import parse


@pytest.mark.parametrize("name, dtype", [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_halves_compute_in_float32_and_round_after_each_operator(name, dtype):
    graph = parse(
        f"graph(%x: {name}[64], %y: {name}[64]) {{ %a = Mul(%x, %y)\n %b = Add(%a, %y)\n return %b }}"
    )
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(-3, 3, 64).astype(dtype) for _ in range(2))
    product = (x.astype(np.float32) * y.astype(np.float32)).astype(dtype)
    wanted = (product.astype(np.float32) + y.astype(np.float32)).astype(dtype)
    (found,), writes = interpret(graph, [x, y])
    assert found.dtype == dtype and found.tobytes() == wanted.tobytes() and not writes


def test_cond_and_while():
    graph = parse("""graph(%n: int32[], %x: float64[]) {
      %zero = Constant() {value=array(int32[], 0)}
      %i, %y, %m = While(%zero, %x, %n) {
        cond=graph cond(%i: int32[], %y: float64[], %n: int32[]) { %t = Less(%i, %n)  return %t },
        body=graph body(%i: int32[], %y: float64[], %n: int32[]) {
          %one = Constant() {value=array(int32[], 1)}
          %j = Add(%i, %one)
          %z = Add(%y, %y)
          return %j, %z, %n
        },
        n_state=3
      }
      %p = Greater(%i, %zero)
      %r = Cond(%p, %y) {
        then=graph then(%y: float64[]) { %n = Neg(%y)  return %n },
        orelse=graph orelse(%y: float64[]) { return %y }
      }
      return %r
    }""")
    assert interpret(graph, [np.int32(5), np.float64(3)])[0][0] == -96
    assert interpret(graph, [np.int32(0), np.float64(3)])[0][0] == 3


def test_inputs_are_not_modified():
    graph = parse("graph(%x: float32[3], %y: float32[3]) { %a = Assign(%x, %y)\n return %x }")
    x, y = np.zeros(3, np.float32), np.ones(3, np.float32)
    (out,), writes = interpret(graph, [x, y])
    assert not x.any() and out.all() and writes.keys() == {0} and writes[0].all()


def test_symbols_take_the_sizes_of_the_inputs():
    graph = parse("""graph[s0: 1..8](%x: float32[s0, 2], %y: float32[s0, 2]) {
      %r = Reshape(%x) {shape=((s0*2),)}
      return %r
    }""")
    assert interpret(graph, [np.zeros((4, 2), np.float32)] * 2)[0][0].shape == (8,)
    with pytest.raises(ValueError, match="already 4"):
        interpret(graph, [np.zeros((4, 2), np.float32), np.zeros((5, 2), np.float32)])
    with pytest.raises(ValueError, match=r"must be float32\[s0, 2\]. Received: float32\[9, 2\]"):
        interpret(graph, [np.zeros((9, 2), np.float32)] * 2)


def test_wrong_inputs():
    graph = parse("graph(%x: float32[3]) { return %x }")
    with pytest.raises(ValueError, match="takes 1 inputs. Received: 0"):
        interpret(graph, [])
    with pytest.raises(ValueError, match=r"input x must be float32\[3\]. Received: float64\[3\]"):
        interpret(graph, [np.zeros(3)])
