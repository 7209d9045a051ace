"""Random small programs give the same in the interpreter, PyNative and Graph mode, with their gradients.

A program is Python text: chains with broadcasting, views, in-place writes, reductions, branches and loops.
Values stay of order one, and tests
and maxima keep away from ties and kinks, so that a difference is a fault and not a matter of rounding.
"""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia.ir.interpreter import interpret
from mycelia.ops import dispatch
from mycelia.trace.control_flow import stage
from mycelia.trace.tracer import Trace

ROWS, COLUMNS = 3, 4
TOLERANCE = {"float64": 1e-9, "float32": 1e-4}


class Writer:
    """Writes one program. Names ``a, b, ...`` are (3, 4) tensors; row, column and scalar operands broadcast
    against them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.names = ["x", "y"]
        self.count = 0

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def name(self) -> str:
        return str(self.pick(*self.names))

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def operand(self) -> str:
        name = self.name()
        return self.pick(
            name,
            name,
            f"{name}[0]",
            f"{name}[:, 1:2]",
            f"{name}.mean(1, True)",
            f"{name}.sum(0) * 0.3",
            "row",
            "0.7",
            f"{name}.mean()",
            f"{name}[::-1]",
            f"{name}.transpose(1, 0).reshape({ROWS}, {COLUMNS})",
            f"ops.concat(({name}[1:], {name}[:1]))",
        )

    def expression(self) -> str:
        a, b = self.name(), self.operand()
        return self.pick(
            f"ops.tanh({a} * {b})",
            f"{a} * 0.5 + {b}",
            f"ops.sin({a}) - {b}",
            f"ops.sigmoid({a}) * {b}",
            f"ops.exp(-ops.square({a}) - 0.1) + {b}",
            f"{a} / (1.5 + ops.square({b}))",
            f"ops.softmax({a} + {b}, 1)",
            f"({a} @ w) * 0.5 + {b} * 0.2",
            f"ops.where(mask, {a}, {b} * {a})",
        )

    def add(self, line: str, depth: int) -> None:
        self.lines.append("    " * (depth + 1) + line)

    def statement(self, depth: int) -> None:
        kind = self.rng.random()
        if kind < 0.55 or depth > 1:
            name = self.fresh()
            self.add(f"{name} = {self.expression()}", depth)
            self.names.append(name)
        elif kind < 0.75:
            self.write(depth)
        elif kind < 0.9:
            self.branch(depth)
        else:
            self.loop(depth)

    def write(self, depth: int) -> None:
        name, source = self.fresh(), self.expression()
        self.add(f"{name} = ({source}) * 1", depth)
        target = self.pick("[0]", "[1:, 2]", "[:, ::2]", "[2, 1:3]", "[-1:]")
        self.add(f"{name}{target} = ({self.name()}{target}) * 0.5 + 0.1", depth)
        if self.rng.random() < 0.5:
            self.add(f"view = {name}[1]", depth)
            self.add("view[0:2] = 0.25", depth)
            self.add(f"{name} = {name} + view.sum() * 0.1", depth)
        self.names.append(name)

    def branch(self, depth: int) -> None:
        name = self.fresh()
        self.add(f"{name} = {self.expression()}", depth)
        self.add(
            f"if {self.name()}.sum() + 0.0173 > {self.name()}.mean() * {self.rng.integers(-2, 3)}:", depth
        )
        self.inner(name, depth + 1)
        if self.rng.random() < 0.7:
            self.add("else:", depth)
            self.inner(name, depth + 1)
        self.names.append(name)

    def inner(self, name: str, depth: int) -> None:
        kept = list(self.names)
        for _ in range(self.rng.integers(0, 2)):
            self.statement(depth)
        self.add(f"{name} = {self.expression()}", depth)
        self.names = kept

    def loop(self, depth: int) -> None:
        name, steps = self.fresh(), self.fresh()
        self.add(f"{name} = ops.tanh({self.name()})", depth)
        self.add(f"{steps} = ops.square({self.name()}).mean() * 0 ", depth)
        self.add(f"while {steps} < {self.rng.integers(1, 4)}.5:", depth)
        self.add(f"{name} = {name} * 0.6 + ops.tanh({self.name()}) * 0.3", depth + 1)
        self.add(f"{steps} = {steps} + 1", depth + 1)
        self.names.append(name)

    def program(self) -> str:
        for _ in range(self.rng.integers(4, 10)):
            self.statement(0)
        total = " + ".join(f"{n} * {0.3 + 0.1 * i:.1f}" for i, n in enumerate(self.names[-4:]))
        return "\n".join(["def program(x, y, row, w, mask):", *self.lines, f"    return {total}", ""])


def compile_program(seed: int):
    source = Writer(seed).program()
    file = f"<program {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"ops": ops}
    exec(compile(source, file, "exec"), space)
    return space["program"], source


def inputs(seed: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1000 + seed)
    arrays = [
        rng.standard_normal(s).astype(dtype)
        for s in ((ROWS, COLUMNS), (ROWS, COLUMNS), (COLUMNS,), (COLUMNS, COLUMNS))
    ]
    return [*arrays, rng.random((ROWS, COLUMNS)) < 0.5]


def tensors(arrays):
    return [Tensor(a) for a in arrays]


def interpreted(function, arrays) -> list[np.ndarray]:
    """The function traced, and the graph as it stands run by the NumPy interpreter."""
    trace = Trace("program")
    with dispatch.interpreting(trace):
        result = stage(function)(*[trace.argument(t) for t in tensors(arrays)])
    graph = trace.finish(result if isinstance(result, tuple) else [result])
    return interpret(graph, [t.asnumpy() for t in trace.captures])[0]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("seed", range(100))
def test_all_ways_agree(seed: int, dtype: str) -> None:
    program, source = compile_program(seed)
    arrays = inputs(seed, dtype)

    def loss(*args):
        return ops.square(program(*args)).sum()

    gradient = ms.grad(loss, (0, 1, 2, 3))
    tolerance = TOLERANCE[dtype]
    ways = {
        "interpreter": (interpreted(program, arrays)[0], interpreted(gradient, arrays)),
        "pynative": (program(*tensors(arrays)).asnumpy(), [g.asnumpy() for g in gradient(*tensors(arrays))]),
        "graph": (
            ms.jit(program)(*tensors(arrays)).asnumpy(),
            [g.asnumpy() for g in ms.jit(gradient)(*tensors(arrays))],
        ),
    }
    value, grads = ways["interpreter"]
    assert np.isfinite(value).all()
    for way in ("pynative", "graph"):
        other_value, other_grads = ways[way]
        np.testing.assert_allclose(
            other_value, value, rtol=tolerance, atol=tolerance, err_msg=f"{way}\n{source}"
        )
        for got, expected in zip(other_grads, grads):
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(
                got, expected, rtol=tolerance, atol=tolerance * scale, err_msg=f"{way} gradient\n{source}"
            )
