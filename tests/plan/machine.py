"""Executes plans over NumPy memory: garbage in the arena and the outputs, chunks backwards if asked."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mycelia.plan.plan import Address, Plan
from tests.codegen.harness import aligned, function


def execute(
    plan: Plan, inputs: Sequence[np.ndarray], backwards: bool = False
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs, and the inputs as the plan leaves them."""
    given = []
    for array, kind in zip(inputs, plan.inputs, strict=True):
        assert array.shape == kind.shape and array.dtype == kind.dtype.numpy
        given.append(aligned(array.shape, array.dtype, array))
    outputs = [aligned(kind.shape, kind.dtype.numpy) for kind in plan.outputs]
    arena = aligned((plan.arena_bytes,), np.uint8, 0xCD)
    for output in outputs:
        output.reshape(-1).view(np.uint8)[:] = 0xCD
    slots = [*given, *outputs, arena, *plan.data]

    def pointer(address: Address) -> int:
        return slots[address.slot].ctypes.data + address.offset

    def view(address: Address, kind) -> np.ndarray:
        raw = slots[address.slot].reshape(-1).view(np.uint8)[address.offset:address.offset + kind.nbytes]
        assert raw.nbytes == kind.nbytes, "an operand leaves its slot"
        return raw.view(kind.dtype.numpy).reshape(kind.shape)

    for step in plan.instructions:
        if step.host is not None:
            step.host.function(
                [view(a, t) for a, t in step.operands], [view(a, t) for a, t in step.results]
            )
            continue
        words = np.array([pointer(w) if isinstance(w, Address) else w for w in step.words], np.int64)
        chunks = range(step.chunks)
        for chunk in reversed(chunks) if backwards else chunks:
            status = function(step.code)(words.ctypes.data, chunk)
            assert status == 0, f"{step.kernel} gave status {status}"
    return outputs, given
