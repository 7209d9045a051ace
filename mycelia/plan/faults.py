"""What a user reads when a kernel stopped a plan: operator, operands, line, and the index at fault."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from mycelia.ir.graph import Node
from mycelia.ir.types import TensorType
from mycelia.plan.plan import Instruction, Plan

# Operators whose kernels stop at an index out of range: which operand holds the indices, and which is indexed
# (None: the attribute ``shape`` says what would be).
INDEXED: dict[str, tuple[int, int | None]] = {
    "Gather": (1, 0),
    "GatherGrad": (0, None),
    "GatherD": (1, 0),
    "GatherDGrad": (0, None),
    "ScatterUpdate": (1, 0),
}


def explain(plan: Plan, status: int, instruction: int, slots: Sequence[int]) -> Exception:
    """The error for a kernel that returned a status other than zero.

    Args:
        instruction: index into ``plan.instructions``.
        slots: host addresses of the caller's slots and, if the plan has one, of the arena; still valid.
    """
    step = plan.instructions[instruction]
    where = f"\n  at {step.loc}" if step.loc else ""
    if step.node is None:
        return RuntimeError(f"{step.kernel} returned status {status}{where}")
    name, operands = step.node.op.name, ", ".join(str(v.type) for v in step.node.inputs)
    if name in INDEXED:
        return IndexError(f"{name}({operands}): {_index_at_fault(plan, step, step.node, slots)}{where}")
    return RuntimeError(f"{name}({operands}): kernel {step.kernel} returned status {status}{where}")


def _index_at_fault(plan: Plan, step: Instruction, node: Node, slots: Sequence[int]) -> str:
    position, indexed = INDEXED[node.op.name]
    shape = node.attrs["shape"] if indexed is None else node.inputs[indexed].shape
    axis = node.attrs.get("axis", 0)
    extent = shape[axis]
    (slot, offset), kind = step.operands[position]
    indices = _read(plan, slot, offset, kind, slots)
    unsigned = kind.dtype.numpy.kind == "u"
    allowed = f"0 to {extent - 1}" if unsigned else f"{-extent} to {extent - 1}"
    # compared as Python's integers, so that unsigned ones beyond int64 stay what they are
    bad = [i for i in indices.reshape(-1).tolist() if not (0 if unsigned else -extent) <= i < extent][:1]
    if not bad:
        return f"an index is out of range of axis {axis}, which takes {allowed}"
    places = np.argwhere(indices == indices.dtype.type(bad[0]))[0].tolist()
    at = f" at {tuple(places)}" if places else ""
    value = bad[0] - 2**64 if bad[0] >= 2**63 else bad[0]
    takes = f"takes {allowed}" if extent else "is empty"
    return f"index {value}{at} of the indices is out of range: axis {axis} of shape {tuple(shape)} {takes}"


def _read(plan: Plan, slot: int, offset: int, kind: TensorType, slots: Sequence[int]) -> np.ndarray:
    if slot >= plan.first_data_slot:
        memory = plan.data[slot - plan.first_data_slot].view(np.uint8).reshape(-1)[offset:]
    else:
        bytes_there = (ctypes.c_ubyte * kind.nbytes).from_address(slots[slot] + offset)
        memory = np.frombuffer(memoryview(bytes_there), np.uint8)
    return np.ndarray(kind.shape, kind.dtype.numpy, memory).copy()  # type: ignore[arg-type]
