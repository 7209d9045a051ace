"""Every operator with a kernel of its own here, on its samples, against its NumPy reference."""

from __future__ import annotations

import importlib
import pkgutil

import harness
import numpy as np
import pytest

import mycelia.kernels.cpu as cpu
import mycelia.ops as ops
from mycelia.codegen.target import Target
from mycelia.ir import operator as registry
from mycelia.ir.dtypes import from_numpy_dtype
from mycelia.kernels import api

for package in (ops, cpu):
    for found in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{found.name}")

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-22, "float64": 2.0**-51}
OURS = ("fused", "reduce", "movement", "indexing", "normalisation", "random", "scan", "ordering")


def operators() -> list[str]:
    names = []
    for name, op in registry.REGISTRY.items():
        own = api.candidates(name, "CPU") or op.pointwise and op.body
        if (
            own
            and op.samples
            and all(type(k).__module__.split(".")[-1] in OURS for k in api.candidates(name, "CPU"))
        ):
            names.append(name)
    return names


@pytest.mark.parametrize("name", operators())
def test_samples(name: str) -> None:
    op = registry.get(name)
    for sample in op.samples():
        inputs = [np.array(x, order="C") for x in sample.inputs]
        with np.errstate(all="ignore"):
            expected = op.reference(*inputs, **sample.attrs)
        got = harness.apply(name, inputs, **sample.attrs)
        for a, e in zip(
            got if isinstance(got, list) else [got], expected if isinstance(expected, tuple) else [expected]
        ):
            e = np.asarray(e)
            assert a.dtype == e.dtype and a.shape == e.shape, (
                sample.label,
                a.dtype,
                e.dtype,
                a.shape,
                e.shape,
            )
            unit = EPS.get(from_numpy_dtype(e.dtype).name)
            if unit is None:
                np.testing.assert_array_equal(a, e, err_msg=sample.label)
            else:
                np.testing.assert_allclose(
                    a.astype(np.float64),
                    e.astype(np.float64),
                    rtol=2 * unit * sample.tolerance,
                    atol=unit * sample.tolerance,
                    err_msg=sample.label,
                )


def test_every_chunk_order_gives_the_same() -> None:
    x = np.random.default_rng(0).standard_normal((700, 300)).astype(np.float32)
    node = harness.node_of("Transpose", [x], perm=(1, 0))
    calls = api.select(node, "CPU", Target.host()).kernel.lower(node, Target.host())
    outs = [harness.aligned((300, 700), "f4", 0) for _ in range(2)]
    for out, reverse in zip(outs, (False, True)):
        harness.run(calls, [x], [out], reverse=reverse)
        np.testing.assert_array_equal(out, x.T)
