"""A traced graph made executable: passes once, one plan for each set of sizes, one launch for each call."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from mycelia.codegen.target import Target
from mycelia.engine import graph_files
from mycelia.engine.clock import compiling
from mycelia.engine.segmented import Segmented
from mycelia.ir.graph import Graph
from mycelia.ir.types import Sym
from mycelia.kernels import cpu  # noqa: F401  (registers the kernels)
from mycelia.passes.pipeline import optimise
from mycelia.passes.segments import cut
from mycelia.passes.specialise import specialise
from mycelia.plan.build import build
from mycelia.plan.plan import Plan
from mycelia.runtime.fork import ForkLock
from mycelia.tensor.device import Device, default_device
from mycelia.tensor.storage import Storage
from mycelia.tensor.tensor import Tensor, dense_strides

MAX_PLANS = 64
LIVE: weakref.WeakSet[CompiledGraph] = weakref.WeakSet()  # for `mycelia explain`


class Launchable:
    """A plan that is linked, and what its outputs look like."""

    __slots__ = ("plan", "executable", "device", "outputs", "waits")

    def __init__(self, graph: Graph, device: Device) -> None:
        self.device = device
        self.plan: Plan = build(graph, device.kernels, Target.host())
        self.executable = device.load(self.plan)
        # What a plan prints or calls in Python happens before the next line of the user's program.
        self.waits = not device.host_addressable and bool(self.plan.host_calls())
        self.outputs = [(t.nbytes, t.shape, dense_strides(t.shape), t.dtype) for t in self.plan.outputs]

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        slots = [
            x._storage.address + x._offset * x._dtype.itemsize if x._offset else x._storage.address
            for x in inputs
        ]
        results = []
        device = self.device
        for nbytes, shape, strides, dtype in self.outputs:
            storage = Storage(device, nbytes)
            results.append(Tensor.wrap(storage, shape, dtype, strides))
            slots.append(storage.address)
        device.launch(self.executable, slots)
        if self.waits:
            device.synchronize()
        for i in self.plan.writes:
            inputs[i]._storage.version += 1
        return results


class CompiledGraph:
    """What runs when a function that was traced is called.

    What depends only on ``stable`` inputs (packed weights, folded batch norms) is computed by a plan of its
    own, which
    runs again only when one of those inputs was written.

    Args:
        graph: the trace's graph; writes may still be ``Assign`` nodes.
        stable: inputs that the graph never writes and that seldom change (captured parameters and constants).
        name: the function's name, for reports.
    """

    def __init__(self, graph: Graph, stable: Sequence[int], name: str) -> None:
        self.name, self.stable = name, list(stable)
        self.graph = graph
        self.symbolic = any(isinstance(d, Sym) for v in graph.inputs for d in v.type.shape)
        self._plans: OrderedDict[Any, _Staged] = OrderedDict()
        self.calls = 0
        self._only: Any = None  # the one plan of a graph without symbols
        self.direct: Launchable | None = None  # that plan, if one launch carries it out
        self._lock = ForkLock()
        LIVE.add(self)

    def run(self, inputs: list[Tensor]) -> list[Tensor]:
        """One call.

        Args:
            inputs: tensors for the graph's inputs; those that are written must be dense.
        """
        inputs = [x if x._view is None or x.is_contiguous() else _dense(x) for x in inputs]
        staged = self._only
        if staged is None:
            staged = self.plan_for(inputs)
        return staged.run(inputs)

    @compiling
    def plan_for(self, inputs: Sequence[Tensor]) -> _Staged:
        """The plan for the inputs' sizes, made at the first call with them."""
        key = tuple(x._shape for x in inputs) if self.symbolic else ()
        staged = self._plans.get(key)
        if staged is None:
            with self._lock:
                graph = specialise(self.graph, [x._shape for x in inputs]) if self.symbolic else self.graph
                device = inputs[0]._storage.device if inputs else default_device()
                parts = cut(graph)
                staged = (
                    _Staged(graph, self.stable, device, self.name)
                    if parts is None
                    else Segmented(parts, lambda part: CompiledGraph(part, self.stable, part.name))
                )
                self._plans[key] = staged
                while len(self._plans) > MAX_PLANS:
                    self._plans.popitem(last=False)
            if not self.symbolic:
                self._only = staged
                if isinstance(staged, _Staged) and staged.prologue is None:
                    self.direct = staged.main
        return staged


class _Staged:
    """The main plan, and the prologue over stable inputs if there is one."""

    def __init__(self, graph: Graph, stable: list[int], device: Device, name: str) -> None:
        files = graph_files.begin(name)
        optimised = optimise(graph, stable, None if files is None else files.stage)
        self.report = optimised.report
        self.main = Launchable(optimised.main, device)
        self.prologue = None if optimised.prologue is None else Launchable(optimised.prologue, device)
        if files is not None:
            files.write("passes.txt", f"{self.report}\n")
            files.write("plan.txt", f"{self.main.plan}\n")
            if self.prologue is not None:
                files.write("plan_prologue.txt", f"{self.prologue.plan}\n")
        self.stable = stable
        self.seen: Any = None
        self.derived: list[Tensor] = []

    def run(self, inputs: list[Tensor]) -> list[Tensor]:
        if self.prologue is None:
            return self.main.run(inputs)
        seen = [(x._storage, x._storage.version) for x in (inputs[i] for i in self.stable)]
        if seen != self.seen:
            self.derived = self.prologue.run(inputs)
            self.seen = seen
        return self.main.run(inputs + self.derived)


def _dense(x: Tensor) -> Tensor:
    from mycelia.engine.eager import ENGINE

    return ENGINE.contiguous(x)
