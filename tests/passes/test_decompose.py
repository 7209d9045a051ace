"""`mycelia.passes.decompose`: the samples of each operator, written as pointwise operators and reductions."""
import numpy as np
import pytest

import mycelia.ops  # noqa: F401
from mycelia.ir.dtypes import from_numpy_dtype
from mycelia.ir.graph import Graph
from mycelia.ir.interpreter import interpret
from mycelia.ir.operator import get
from mycelia.ir.types import TensorType
from mycelia.ir.verifier import verify
from mycelia.passes.decompose import decompose
from mycelia.passes.pipeline import optimise


def samples():
    for name in ("OneHot", "ArgMax", "ArgMin"):
        for number, sample in enumerate(get(name).samples()):
            yield pytest.param(name, sample, id=f"{name}-{number}")


@pytest.mark.parametrize("name, sample", list(samples()))
def test_samples(name, sample):
    graph = Graph()
    arrays = [np.ascontiguousarray(a).reshape(a.shape) for a in sample.inputs]
    inputs = [graph.input(TensorType(from_numpy_dtype(a.dtype), a.shape)) for a in arrays]
    graph.outputs = [graph.add(name, *inputs, **sample.attrs).output]
    (wanted,), _ = interpret(graph, arrays)
    assert decompose(graph)
    verify(graph, "decompose")
    assert name not in [n.op.name for n in graph.nodes]
    (found,), _ = interpret(graph, arrays)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_a_loss_by_one_hot_labels_never_makes_them():
    graph = Graph()
    logits = graph.input(TensorType(from_numpy_dtype(np.float32), (32, 10)))
    labels = graph.input(TensorType(from_numpy_dtype(np.int32), (32,)))
    hot = graph.add("OneHot", labels, depth=10, on=1.0, off=0.0, dtype=logits.dtype).output
    product = graph.add("Mul", logits, hot).output
    graph.outputs = [graph.add("ReduceSum", product, axes=(0, 1), keepdims=False).output]
    names = [n.op.name for n in optimise(graph, check=True).main.nodes]
    assert [n for n in names if n not in ("Constant", "Reshape")] == ["FusedReduce"]
