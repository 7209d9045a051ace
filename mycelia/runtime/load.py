"""Loads a plan: kernels compiled or found, tables filled, host calls bound to NumPy views. The result is an Executable."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.ir.types import TensorType
from mycelia.plan.plan import Instruction as Step
from mycelia.plan.plan import Plan
from mycelia.plan.tables import tables
from mycelia.runtime.compile import compile_all
from mycelia.runtime.executable import Executable, Instruction, PlanError
from mycelia.runtime.host_memory import view

_HOST = 1  # stands for a host call's function until the executable binds it


def load(plan: Plan, *, release_gil: bool = True, explain: Callable[[PlanError], BaseException] | None = None) -> Executable:
    """Makes a plan executable. Its slots are the plan's inputs, then its outputs; the arena is the executable's own.

    Args:
        release_gil: False for plans that surely take less than about 50 µs.
        explain: what to raise for a kernel that fails; `PlanError.node` is an index into ``plan.instructions``.

    Raises:
        SymbolError, RuntimeError: a kernel cannot be compiled or linked (see `mycelia.runtime.compile`).
    """
    addresses = compile_all(plan.codes().values())

    def host(index: int, step: Step) -> tuple[int, list[int]]:
        return _HOST, [0] * (len(step.host_inputs) + len(step.host_outputs))

    table = tables(plan, addresses, host)
    words, moving = table.words.copy(), [tuple(row) for row in table.relocations.tolist()]
    data = [_aligned(a) for a in plan.data]
    for word, slot, offset in table.fixed.tolist():
        words[word] = data[slot].ctypes.data + offset
    instructions = []
    for function, first, chunks, index in table.instructions.tolist():
        step = plan.instructions[index]
        if step.host is None:
            instructions.append(Instruction(function, first, chunks, index))
            continue
        operands = [*step.host_inputs, *step.host_outputs]
        for i, (address, _) in enumerate(operands):
            if address.slot < plan.first_data_slot:
                moving.append((first + i, address.slot, address.offset))
            else:
                words[first + i] = data[address.slot - plan.first_data_slot].ctypes.data + address.offset
        instructions.append(Instruction(_host_call(step), first, 1, index, count=len(operands)))
    return Executable(instructions, words, moving, slots=plan.arena_slot, arena_bytes=plan.arena_bytes, keep=data,
                      release_gil=release_gil, name=plan.name, explain=explain)


def _aligned(array: np.ndarray) -> np.ndarray:
    """The array's bytes at a multiple of 64."""
    if array.flags.c_contiguous and array.ctypes.data % 64 == 0:
        return array
    raw = np.empty(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start:start + array.nbytes]
    copy[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return copy


def _host_call(step: Step) -> Callable[..., Any]:
    assert step.host is not None
    function = step.host.function
    inputs: list[TensorType] = [type for _, type in step.host_inputs]
    outputs: list[TensorType] = [type for _, type in step.host_outputs]

    def call(*addresses: int) -> None:
        function([view(a, t.dtype.numpy, t.shape) for a, t in zip(addresses, inputs)],
                 [view(a, t.dtype.numpy, t.shape) for a, t in zip(addresses[len(inputs):], outputs)])

    return call
