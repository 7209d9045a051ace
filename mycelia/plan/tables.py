"""The plan as the three tables that the native walker reads."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from mycelia.plan.plan import Address, Instruction, Plan


class Tables(NamedTuple):
    """Rows of 8-byte words.

    Attributes:
        instructions: int64[n, 4]: function address, index of the first word of its arguments (the loader turns it into
            an address once ``words`` has one), chunks, index of the instruction in ``Plan.instructions``.
        words: int64[m]: arguments of all instructions, one after another; pointers are zero.
        relocations: int64[r, 3]: word index, slot, offset: ``words[word] = base[slot] + offset`` at launch.
        fixed: the same for the slots of constant data, to be done once at loading; slots count from 0 here.
    """

    instructions: np.ndarray
    words: np.ndarray
    relocations: np.ndarray
    fixed: np.ndarray


def tables(plan: Plan, addresses: Mapping[str, int], host: Callable[[int, Instruction], tuple[int, list[int]]]) -> Tables:
    """Converts a plan.

    Args:
        addresses: of the linked functions, by code key.
        host: gives function address and argument words for an instruction that calls into Python, by its index.
    """
    rows: list[tuple[int, int, int, int]] = []
    words: list[int] = []
    moving: list[tuple[int, int, int]] = []
    fixed: list[tuple[int, int, int]] = []
    data = plan.first_data_slot
    for index, step in enumerate(plan.instructions):
        first = len(words)
        if step.code is None:
            function, arguments = host(index, step)
            words += arguments
            rows.append((function, first, 1, index))
            continue
        for word in step.words:
            if type(word) is Address:
                slot, offset = word
                if slot < data:
                    moving.append((len(words), slot, offset))
                else:
                    fixed.append((len(words), slot - data, offset))
                words.append(0)
            else:
                words.append(word)
        rows.append((addresses[step.code.key], first, step.chunks, index))
    return Tables(np.array(rows, np.int64).reshape(-1, 4), np.array(words, np.int64),
                  np.array(moving, np.int64).reshape(-1, 3), np.array(fixed, np.int64).reshape(-1, 3))
