"""Loads a plan: its kernels are compiled or found, its tables filled. The result is an Executable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mycelia.plan import control, faults
from mycelia.plan.plan import Plan
from mycelia.plan.tables import tables
from mycelia.runtime.compile import compile_all
from mycelia.runtime.executable import Executable, Instruction

SHORT_BYTES = 128 << 10  # plans over less memory take less than about 50 µs: not worth giving up the GIL for
SHORT_CHUNKS = 64


def load(plan: Plan) -> Executable:
    """Makes a plan executable. Its slots are the plan's inputs, then its outputs; the arena is the
    executable's own. What a kernel that fails raises is said by `mycelia.plan.faults`.

    Raises:
        SymbolError, RuntimeError: a kernel cannot be compiled or linked (see `mycelia.runtime.compile`).
    """
    table = tables(plan, compile_all(plan.codes().values()))
    slot_bytes = [t.nbytes for t in (*plan.inputs, *plan.outputs)]
    return Executable(
        [Instruction(*step) for step in table.steps],
        table.words,
        table.relocations,
        slots=plan.arena_slot,
        arena_bytes=plan.arena_bytes,
        keep=table.keep,
        release_gil=not _is_short(plan, sum(slot_bytes)),
        name=plan.name,
        explain=lambda error, slots: faults.explain(plan, error.status, error.node, slots),
        slot_bytes=slot_bytes,
    )


def _is_short(plan: Plan, slot_bytes: int) -> bool:
    chunks = sum(step.chunks for step in plan.instructions)
    return slot_bytes + plan.arena_bytes <= SHORT_BYTES and chunks <= SHORT_CHUNKS and not plan.host_calls()


def _runnable(plan: Plan) -> control.Run:
    """A part of control flow as a function of arrays."""
    executable = load(plan)

    def run(inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        arrays = [*map(np.ascontiguousarray, inputs), *outputs]
        executable.launch([a.__array_interface__["data"][0] for a in arrays])

    return run


control.set_loader(_runnable)
