"""What a graph becomes: a list of instructions over memory slots, ready to be linked and walked.

Memory is addressed by slot and offset. Slots are numbered: the graph's inputs, then its outputs, then the
arena that holds all temporaries, then constant data (one slot for each array, fixed for the life of the
plan).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Union

import numpy as np

from mycelia.ir.graph import Location, Node
from mycelia.ir.types import TensorType
from mycelia.kernels.api import Code, HostCall
from mycelia.plan.memory import aligned


class Address(NamedTuple):
    """``offset`` bytes into a slot; becomes a pointer when the plan is launched."""

    slot: int
    offset: int


Word = Union[int, Address]


@dataclass
class Instruction:
    """One native call, or one call into Python.

    Attributes:
        node: the node it belongs to; None for copies that the plan itself adds.
        kernel: name of the kernel that made it.
        code, words, chunks: the native call: its argument table, and how many times it is invoked.
        host: the call into Python.
        operands, results: where the node's operands and results are, and their types.
        refusals: kernels that were asked before, and why they refused.
    """

    node: Node | None
    kernel: str
    code: Code | None = None
    words: list[Word] = field(default_factory=list)
    chunks: int = 1
    host: HostCall | None = None
    operands: list[tuple[Address, TensorType]] = field(default_factory=list)
    results: list[tuple[Address, TensorType]] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)

    @property
    def loc(self) -> Location | None:
        return self.node.loc if self.node is not None else None


@dataclass
class Buffer:
    """A line of the memory plan: what lives where, from which instruction to which."""

    name: str
    type: str
    nbytes: int
    address: Address
    start: int
    end: int
    note: str = ""


@dataclass
class Plan:
    """A compiled graph's instructions and memory plan, before linking.

    Attributes:
        inputs, outputs: types of the external slots; inputs include captured tensors and parameters.
        writes: indices of the inputs whose memory the plan overwrites.
        arena_bytes: size of the slot of temporaries. ``peak_bytes`` is the least that any layout could reach.
        data: constants and tables, one slot each.
    """

    name: str
    inputs: list[TensorType]
    outputs: list[TensorType]
    writes: tuple[int, ...]
    instructions: list[Instruction]
    arena_bytes: int
    peak_bytes: int
    data: list[np.ndarray]
    buffers: Callable[[], list[Buffer]]

    @property
    def arena_slot(self) -> int:
        return len(self.inputs) + len(self.outputs)

    @property
    def first_data_slot(self) -> int:
        return self.arena_slot + 1

    def codes(self) -> dict[str, Code]:
        """The distinct native functions that the plan calls, by key."""
        return {i.code.key: i.code for i in self.instructions if i.code is not None}

    def host_calls(self) -> list[Instruction]:
        return [i for i in self.instructions if i.host is not None]

    def slot_name(self, slot: int) -> str:
        if slot < len(self.inputs):
            return f"input {slot}"
        if slot < self.arena_slot:
            return f"output {slot - len(self.inputs)}"
        return "arena" if slot == self.arena_slot else f"data {slot - self.first_data_slot}"

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(plan: Plan) -> Iterator[str]:
    external = sum(t.nbytes for t in plan.inputs) + sum(t.nbytes for t in plan.outputs)
    yield f"plan {plan.name}: {len(plan.instructions)} instructions, {len(plan.codes())} native functions, " \
          f"{len(plan.host_calls())} host calls"
    data = sum(aligned(array.nbytes) for array in plan.data)
    yield f"memory: arena {plan.arena_bytes} bytes (peak of live buffers {plan.peak_bytes}), " \
          f"inputs and outputs {external}, data {data} in {len(plan.data)} arrays"
    yield ""
    yield f"{'instruction':>11}  {'kernel':<28} {'chunks':>6}  node"
    for index, step in enumerate(plan.instructions):
        operator = step.node.op.name if step.node is not None else "-"
        where = f"  # {step.loc}" if step.loc is not None else ""
        how = f"  [{step.host.reason}]" if step.host is not None else ""
        yield f"{index:>11}  {step.kernel:<28} {step.chunks:>6}  {operator}{how}{where}"
        for kernel, reason in step.refusals:
            yield f"{'':>11}  not {kernel}: {reason}"
    yield ""
    yield f"{'slot':<10} {'offset':>10} {'bytes':>10} {'alive':>11}  value"
    for buffer in plan.buffers():
        alive = f"{buffer.start}..{buffer.end}"
        note = f"  ({buffer.note})" if buffer.note else ""
        slot, offset = buffer.address
        yield f"{plan.slot_name(slot):<10} {offset:>10} {buffer.nbytes:>10} {alive:>11}  " \
              f"{buffer.name}: {buffer.type}{note}"
