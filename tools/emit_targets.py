"""Emits native code for every target and holds what it asks of the process against an allow-list.

For each processor kind in `mycelia.codegen.target.ALL`: all operators' samples in every dtype, the layers
of two networks (forward,
backward, optimizer), the plan walker and the eager fast path are lowered, compiled to object files, and
their undefined symbols compared.

    python tools/emit_targets.py [--jobs 2] [--target x86-64-v4]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator

import numpy as np

import mycelia as ms
from mycelia import nn
from mycelia.codegen import target as targets
from mycelia.codegen.target import Target
from mycelia.engine import fast_path
from mycelia.ir import operator as registry
from mycelia.ir.graph import Graph, constant_type
from mycelia.kernels.api import Code
from mycelia.ops import dispatch
from mycelia.passes.pipeline import optimise
from mycelia.plan.build import build
from mycelia.runtime import native
from mycelia.runtime.compile import emit
from mycelia.runtime.elf import undefined_symbols
from mycelia.trace.tracer import Trace

MEMORY = {"memcpy", "memset", "memmove"}  # kernels may ask for these
CPYTHON = ("Py", "_Py")  # the walker and the fast path call the stable interface,
SYSTEM = {
    "pthread_create",
    "pthread_detach",
    "pthread_join",
    "pthread_sigmask",
    "sched_yield",
    "syscall",
    "malloc",
    "free",
    "clock_gettime",
}  # and these


def sample_graphs() -> Iterator[Graph]:
    """Each sample of each operator as a graph of one node."""
    for op in list(registry.REGISTRY.values()):
        for sample in op.samples() if op.samples is not None else ():
            graph = Graph(op.name)
            inputs = [graph.input(constant_type(np.asarray(a))) for a in sample.inputs]
            graph.outputs = list(graph.add(op, *inputs, **sample.attrs).outputs)
            if not op.effects.writes and all(v.type.is_static for v in graph.outputs):
                yield graph


def training_graph(net: nn.Cell, image: tuple[int, ...], classes: int) -> Graph:
    """A whole training step of a network."""
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)
    trace = Trace("step")
    x = trace.argument(ms.Tensor(np.zeros(image, np.float32)))
    y = trace.argument(ms.Tensor(np.zeros(image[0], np.int32) + classes - 1))
    with dispatch.interpreting(trace):
        loss, grads = gradient(x, y)
        optimizer(grads)
    return trace.finish([loss])


def networks() -> Iterator[Graph]:
    net = nn.SequentialCell(
        nn.Conv2d(3, 16, 7, stride=2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(16, 32, 3),
        nn.BatchNorm2d(32),
        nn.GELU(),
        nn.Flatten(),
        nn.Dense(32 * 49, 64),
        nn.LayerNorm((64,)),
        nn.Dense(64, 10),
    )
    net.set_train()
    yield training_graph(net, (4, 3, 32, 32), 10)
    yield training_graph(
        nn.SequentialCell(nn.Flatten(), nn.Dense(784, 128), nn.ReLU(), nn.Dense(128, 10)), (8, 1, 28, 28), 10
    )


def codes(target: Target) -> dict[str, Code]:
    """The distinct codes that all graphs need on a target."""
    found: dict[str, Code] = {}
    for graph in [*sample_graphs(), *networks()]:
        optimised = optimise(graph)
        found |= build(optimised.main, "CPU", target).codes()
    found["native runtime"] = native.code(target)
    found["eager fast path"] = fast_path.code()
    return found


def check(job: tuple[str, int, int]) -> list[str]:
    """Emits every ``step``-th code of a target from ``first`` on; returns what is wrong."""
    cpu, first, step = job
    target = next(t for t in targets.ALL if t.cpu == cpu)
    wrong = []
    for key, code in list(codes(target).items())[first::step]:
        symbols = undefined_symbols(emit(code, target))
        allowed = (
            MEMORY
            if key not in ("native runtime", "eager fast path")
            else MEMORY | SYSTEM | {s for s in symbols if s.startswith(CPYTHON)}
        )
        if symbols - allowed:
            wrong.append(f"{cpu}: {key} asks for {', '.join(sorted(symbols - allowed))}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--target", choices=[t.cpu for t in targets.ALL], help="default: all")
    given = parser.parse_args()
    failed = False
    for target in targets.ALL:
        if given.target not in (None, target.cpu):
            continue
        began = time.perf_counter()
        count = len(codes(target))
        with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
            wrong = [
                line
                for part in pool.map(check, [(target.cpu, i, given.jobs) for i in range(given.jobs)], 1)
                for line in part
            ]
        print(
            f"{target.cpu}: {count} codes emitted in {time.perf_counter() - began:.0f} s, {len(wrong)} with "
            f"symbols outside the "
            f"allow-list",
            flush=True,
        )
        for line in wrong:
            print(f"  {line}")
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
