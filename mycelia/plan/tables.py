"""A plan in the form that the runtime takes: steps, argument words, relocations."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union

import numpy as np

from mycelia.ir.types import TensorType
from mycelia.kernels.api import HostCall
from mycelia.plan.plan import Address, Instruction, Plan


class Step(NamedTuple):
    """One instruction: a native function's address, or a callable that takes ``count`` words from ``args``
    on.
    """

    function: Union[int, Callable[..., None]]
    args: int
    chunks: int
    node: int
    count: int


class Tables(NamedTuple):
    """What `mycelia.runtime.executable.Executable` is made of.

    Attributes:
        steps: in order; ``node`` is the index into ``Plan.instructions``.
        words: argument words; addresses of the plan's own data are in place, those of slots are zero.
        relocations: rows (word index, slot, byte offset), filled in at launch. Slots are the inputs, the
        outputs, the arena.
        keep: arrays to whose memory words point.
    """

    steps: list[Step]
    words: np.ndarray
    relocations: np.ndarray
    keep: list[np.ndarray]


def tables(plan: Plan, addresses: Mapping[str, int]) -> Tables:
    """Converts a plan, given the addresses of its native functions by code key."""
    steps: list[Step] = []
    words: list[int] = []
    relocations: list[tuple[int, int, int]] = []
    first_data = plan.first_data_slot
    bases = [array.ctypes.data for array in plan.data]

    def put(word: Any) -> None:
        if type(word) is Address:
            slot, offset = word
            if slot < first_data:
                relocations.append((len(words), slot, offset))
                words.append(0)
            else:
                words.append(bases[slot - first_data] + offset)
        else:
            words.append(word)

    for index, step in enumerate(plan.instructions):
        first = len(words)
        if step.host is not None:
            for address, _ in (*step.operands, *step.results):
                put(address)
            steps.append(Step(host_function(step), first, 0, index, len(words) - first))
            continue
        for word in step.words:
            put(word)
        steps.append(Step(addresses[step.code.key], first, step.chunks, index, 0))  # type: ignore[union-attr]
    return Tables(steps, np.array(words, np.int64), np.array(relocations, np.int64).reshape(-1, 3), plan.data)


def host_function(step: Instruction) -> Callable[..., None]:
    """A call into Python as a function of addresses, which it sees as arrays."""
    host: HostCall = step.host  # type: ignore[assignment]
    inputs = [kind for _, kind in step.operands]
    outputs = [kind for _, kind in step.results]
    count = len(inputs)

    def call(*addresses: int) -> None:
        host.function([array_at(a, k) for a, k in zip(addresses, inputs)],
                      [array_at(a, k) for a, k in zip(addresses[count:], outputs)])

    return call


def array_at(address: int, kind: TensorType) -> np.ndarray:
    """The elements at an address as an array over that memory."""
    nbytes = kind.nbytes
    if not nbytes:
        return np.empty(kind.shape, kind.dtype.numpy)
    memory: Any = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.frombuffer(memory, kind.dtype.numpy).reshape(kind.shape)
