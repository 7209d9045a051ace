"""The fallback: operators without a native kernel run through their NumPy reference, in a host call.

Every operator of the registry gets such a kernel at the lowest priority. `mycelia explain` shows each node
that lands here; `fallbacks` lists the operators for which nothing else is registered.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir import operator as registry
from mycelia.ir.graph import Node
from mycelia.ir.interpreter import apply
from mycelia.ir.operator import Operator
from mycelia.kernels.api import HostCall, KernelBase, Refusal, candidates
from mycelia.passes import decompose
from mycelia.passes.layout import IMAGE

PRIORITY = -1000


class ReferenceKernel(KernelBase):
    """Runs a node with NumPy."""

    name, device, priority = "Reference", "CPU", PRIORITY

    def __init__(self, op: Operator) -> None:
        self.operator = op.name
        self.runnable = op.reference is not None or bool(op.subgraphs)

    def accepts(self, node: Node, target: Any) -> Refusal | None:
        return None if self.runnable else Refusal("the operator has no NumPy reference")

    def lower(self, node: Node, target: Any) -> list[HostCall]:
        def run(inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
            for output, result in zip(outputs, apply(node, inputs)):
                np.copyto(output, result, casting="no")

        return [HostCall(run, f"no native kernel takes {node.op.name}; NumPy does")]


_kernels: dict[str, ReferenceKernel] = {}


def reference_kernel(op: Operator) -> ReferenceKernel:
    """The fallback kernel of an operator."""
    kernel = _kernels.get(op.name)
    if kernel is None:
        kernel = _kernels[op.name] = ReferenceKernel(op)
    return kernel


def fallbacks(device: str = "CPU") -> list[str]:
    """Names of the operators that run on NumPy on a device, once its kernels are registered.

    Those that passes always replace (images in NCHW, `Assign`, one-hot) and control flow, which runs as plans
    of its own, are not among them.
    """
    pointwise = bool(candidates("*pointwise", device))
    elsewhere = {"Constant", "Reshape", "Assign", "Cond", "While", "WhileGrad", *IMAGE,
                 *decompose.RULES.by_operator}
    return sorted(op.name for op in registry.REGISTRY.values() if op.name not in elsewhere
                  and not candidates(op.name, device) and not (op.pointwise and pointwise))
