"""What a kernel declares, how kernels register, and how one is chosen for a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Union

import numpy as np

from mycelia.ir.graph import Node


@dataclass(frozen=True)
class Code:
    """Native code of a kernel: a symbol, and its IR text, made only when the object cache does not hold it.

    ``key`` names the generator and every compile-time parameter; equal keys mean equal code. ``symbol`` is
    the function's name in
    the text, which may hold several functions.
    """

    symbol: str
    key: str
    text: Callable[[], str] = field(compare=False)


@dataclass(frozen=True)
class In:
    """Address of the node's i-th input, plus ``offset`` bytes."""

    index: int
    offset: int = 0


@dataclass(frozen=True)
class Out:
    """Address of the node's i-th output, plus ``offset`` bytes."""

    index: int
    offset: int = 0


@dataclass(frozen=True)
class Work:
    """Address of scratch memory that lives for the node; equal ``key`` within a node means the same
    memory."""

    nbytes: int
    key: str = "work"
    offset: int = 0


class Table:
    """Address of constant data that lives as long as the plan (offset tables, packed constants)."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = np.ascontiguousarray(array)


Arg = Union[In, Out, Work, Table, int]


@dataclass
class Call:
    """One native call: ``chunks`` invocations of ``code`` over one argument table."""

    code: Code
    args: Sequence[Arg]
    chunks: int = 1


@dataclass
class HostCall:
    """A call into Python: ``function(inputs, outputs)`` over NumPy views of the node's buffers. Takes the
    GIL."""

    function: Callable[[list[np.ndarray], list[np.ndarray]], None]
    reason: str


@dataclass(frozen=True)
class Refusal:
    """Why a kernel does not take a node."""

    reason: str


class Kernel(Protocol):
    """What a registered class offers. ``alias`` pairs (output, input) may share memory: the kernel reads
    element i of the input
    before it writes element i of the output."""

    name: str
    operator: str
    device: str

    def accepts(self, node: Node, target: Any) -> Refusal | None: ...

    def lower(self, node: Node, target: Any) -> list[Call | HostCall]: ...

    def alias(self, node: Node) -> list[tuple[int, int]]: ...


_KERNELS: dict[tuple[str, str], list[Kernel]] = {}


class KernelBase:
    """Defaults for kernels: takes everything, shares nothing."""

    name = operator = device = ""

    def accepts(self, node: Node, target: Any) -> Refusal | None:
        return None

    def alias(self, node: Node) -> list[tuple[int, int]]:
        return []


def kernel(operator: str | Sequence[str], device: str = "CPU", priority: int = 0) -> Callable[[type], type]:
    """Registers a kernel class for an operator (or several) on a device; a higher priority is asked first.

    Example:
        >>> @kernel("MatMul", device="CPU")
        ... class Gemm(KernelBase):
        ...     def lower(self, node, target): ...
    """
    names = [operator] if isinstance(operator, str) else list(operator)

    def add(cls: type) -> type:
        for name in names:
            instance = cls()
            instance.name, instance.operator, instance.device = cls.__name__, name, device
            instance.priority = priority
            entries = _KERNELS.setdefault((name, device), [])
            entries.append(instance)
            entries.sort(key=lambda k: -k.priority)  # type: ignore[attr-defined]
        return cls

    return add


def candidates(operator: str, device: str) -> list[Kernel]:
    return _KERNELS.get((operator, device), [])


def candidates_for(node: Node, device: str) -> list[Kernel]:
    """The operator's own kernels, then those registered as ``"*pointwise"`` for whatever has a scalar
    body."""
    own = candidates(node.op.name, device)
    return own + candidates("*pointwise", device) if node.op.pointwise and node.op.body else own


@dataclass
class Selection:
    """The chosen kernel, and the refusals of those that were asked before it."""

    kernel: Kernel
    refusals: list[tuple[str, str]]


class NoKernel(NotImplementedError):
    """No kernel takes the node; the message holds each refusal and the user's line."""


def select(node: Node, device: str, target: Any) -> Selection:
    """The first kernel that accepts the node.

    Raises:
        NoKernel: none does.
    """
    refusals: list[tuple[str, str]] = []
    for candidate in candidates_for(node, device):
        refusal = candidate.accepts(node, target)
        if refusal is None:
            return Selection(candidate, refusals)
        refusals.append((candidate.name, refusal.reason))
    asked = ", ".join(str(v.type) for v in node.inputs)
    reasons = (
        "".join(f"\n  {name}: {reason}" for name, reason in refusals) or "\n  no kernel is registered for it"
    )
    where = f"\n  at {node.loc}" if node.loc else ""
    raise NoKernel(f"Operator {node.op.name} not supported on {device} for ({asked}):{reasons}{where}")
