"""Control flow in plans: the branches of `Cond` and the parts of `While` are plans of their own, run from a
call into Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.ir.graph import Graph, Node
from mycelia.ir.interpreter import interpret
from mycelia.kernels.api import HostCall, KernelBase
from mycelia.plan.plan import Plan

Run = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], None]
"""Runs a plan over arrays: ``run(inputs, outputs)`` fills the outputs."""

_load: Callable[[Plan], Run] | None = None


def set_loader(load: Callable[[Plan], Run]) -> None:
    """Registers how a plan is made runnable (the runtime does)."""
    global _load
    _load = load


class Part:
    """A subgraph that runs as a plan; by the interpreter where no runtime is registered. Built at its first
    run.
    """

    def __init__(self, graph: Graph, build: Callable[[Graph], Plan]) -> None:
        self.graph, self._build = graph, build
        self._run: Run | None = None

    def run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        if _load is None:
            for output, result in zip(outputs, interpret(self.graph, inputs)[0]):
                output[...] = result
            return
        if self._run is None:
            self._run = _load(self._build(self.graph))
        self._run(inputs, outputs)

    def fresh(self) -> list[np.ndarray]:
        """Arrays for the outputs."""
        return [np.empty(v.shape, v.dtype.numpy) for v in self.graph.outputs]


class ControlFlow(KernelBase):
    """Runs `Cond`, `While` and `WhileGrad`."""

    name = "ControlFlow"

    def __init__(self, build: Callable[[Graph], Plan]) -> None:
        self.build = build

    def lower(self, node: Node, target: Any) -> list[HostCall]:
        function = {"Cond": self.cond, "While": self.loop, "WhileGrad": self.loop_back}[node.op.name](node)
        return [HostCall(function, f"{node.op.name} chooses what to run")]

    def cond(self, node: Node) -> Run:
        then, orelse = Part(node.attrs["then"], self.build), Part(node.attrs["orelse"], self.build)

        def run(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
            (then if inputs[0].reshape(-1)[0] else orelse).run(inputs[1:], outputs)

        return run

    def loop(self, node: Node) -> Run:
        cond, body = Part(node.attrs["cond"], self.build), Part(node.attrs["body"], self.build)
        count = node.attrs["n_state"]

        def run(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
            constants = list(inputs[count:])
            state, spare = list(inputs[:count]), body.fresh()
            (test,) = cond.fresh()
            owned: list[np.ndarray] | None = None
            while True:
                cond.run([*state, *constants], [test])
                if not test.reshape(-1)[0]:
                    break
                body.run([*state, *constants], spare)
                state, spare = spare, owned or body.fresh()
                owned = state
            for output, value in zip(outputs, state):
                output[...] = value

        return run

    def loop_back(self, node: Node) -> Run:
        from mycelia.autodiff.control_flow import walk_back

        parts = {name: Part(node.attrs[name], self.build) for name in ("cond", "body", "pull")}

        def call(part: Part) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
            def apply(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
                outputs = part.fresh()
                part.run(inputs, outputs)
                return outputs

            return apply

        cond, body, pull = (call(part) for part in parts.values())

        def run(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
            results = walk_back(
                inputs, cond, body, pull, len(node.attrs["body"].inputs), node.attrs["n_state"]
            )
            for output, value in zip(outputs, results):
                output[...] = value

        return run
