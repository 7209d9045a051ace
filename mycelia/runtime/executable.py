"""Executable: a plan as a native object that is launched with the addresses of its slots.

The plan compiler hands over instructions, argument words and relocations; `Executable.launch` puts the
addresses in and walks the instructions on the calling thread and the pool's. Launches are re-entrant: several
threads may launch one executable.

Example (``kernel`` is the address of a native kernel that takes three pointers and a length)::

    words = np.array([0, 0, 0, 1024])
    executable = Executable([Instruction(kernel, args=0, chunks=4, node=0)], words,
                            relocations=[(0, 0, 0), (1, 1, 0), (2, 2, 0)], slots=3)
    executable.launch([x.address, y.address, z.address])
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.runtime import threads
from mycelia.runtime.cpu import cpu_memory
from mycelia.runtime.native import plan as native_plan

_METH_FASTCALL = 0x80


class PlanError(RuntimeError):
    """A kernel returned a status other than zero.

    Attributes:
        status: what the kernel returned.
        node: the number that the instruction carries, an index into the plan compiler's table of nodes.
    """

    def __init__(self, status: int, node: int) -> None:
        super().__init__(f"the kernel of node {node} stopped the plan with status {status}")
        self.status, self.node = status, node


@dataclass(frozen=True)
class Instruction:
    """One step of a plan.

    Attributes:
        function: address of a native kernel, or a Python callable (a host call), which gets the argument
            words from ``args`` on, as ``count`` integers.
        args: index of the first argument word.
        chunks: how many chunks the kernel has; an instruction without chunks is left out. Ignored for a host
            call.
        node: reported when the instruction fails.
        count: number of argument words of a host call.
    """

    function: int | Callable[..., Any]
    args: int
    chunks: int = 1
    node: int = 0
    count: int = 0


class Executable:
    """A plan, ready to launch.

    Args:
        instructions: in order.
        words: int64 argument words; pointers to tables are in place, pointers to slots are filled in at
            launch.
        relocations: rows (word index, slot, byte offset): ``words[word] = address of slot + offset`` at
            launch.
        slots: number of slots the caller gives. With ``arena_bytes`` there is one more, numbered ``slots``:
            the arena.
        arena_bytes: scratch memory for the length of a launch.
        keep: whatever must live as long as the plan (constant tables).
        release_gil: give up the GIL while running: for plans of more than about 50 µs. Only such plans look
            for Ctrl-C.
        name: for reports.
        slot_bytes: bytes that the plan touches behind each slot's address, for devices that check it.
        explain: turns a PlanError, with the addresses of all slots, into what `launch` raises.

    Attributes:
        native: a builtin function of the slots' addresses (the arena's last): the fastest way to launch.
    """

    def __init__(
        self,
        instructions: Sequence[Instruction],
        words: Any,
        relocations: Any,
        *,
        slots: int,
        arena_bytes: int = 0,
        keep: Sequence[Any] = (),
        release_gil: bool = True,
        name: str = "plan",
        explain: Callable[[PlanError, Sequence[int]], BaseException] | None = None,
        slot_bytes: Sequence[int] | None = None,
    ) -> None:
        self.name, self.slots, self.arena_bytes, self.release_gil = name, slots, arena_bytes, release_gil
        self.instructions = tuple(i for i in instructions if callable(i.function) or i.chunks > 0)
        total_slots = slots + bool(arena_bytes)
        words = np.ascontiguousarray(words, np.int64)
        relocations = np.ascontiguousarray(relocations, np.int64).reshape(-1, 3)
        self._check(words, relocations, total_slots)
        hosts = [
            _host_function(i.function, i.count) if callable(i.function) else None for i in self.instructions
        ]
        runtime = _runtime()
        flags = (native_plan.RELEASE_GIL if release_gil else 0) | (
            native_plan.PARALLEL
            if any(i.chunks > 1 and not callable(i.function) for i in self.instructions)
            else 0
        )
        # One block: header, instructions, relocations, words. A bytearray, whose memory the native side finds
        # by itself.
        n = len(self.instructions)
        sizes = np.array([len(native_plan.HEADER), 4 * n, relocations.size, words.size])
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self._block = bytearray(int(starts[-1]) * 8)
        view = np.frombuffer(self._block, np.int64)
        base = view.ctypes.data
        first_word = base + 8 * int(starts[3])
        rows: list[tuple[Any, int, int, int]] = [
            (i.function, first_word + 8 * i.args, i.chunks, i.node)
            if host is None
            else (id(host), first_word + 8 * i.args, 0, i.node)
            for i, host in zip(self.instructions, hosts)
        ]
        view[starts[1] : starts[2]] = np.array(rows, np.int64).ravel()
        view[starts[2] : starts[3]] = relocations.ravel()
        view[starts[3] :] = words
        view[: starts[1]] = (
            n,
            base + 8 * starts[1],
            len(relocations),
            base + 8 * starts[2],
            words.size,
            base + 8 * starts[3],
            total_slots,
            flags,
            runtime.ctypes.data,
            0,
            0,
            0,
        )
        self._header = view[: starts[1]]
        self._timing: np.ndarray | None = None
        self._hook: Callable[[int, int], None] | None = None
        self._pins: list[Any] = []  # timing buffers and hooks that a launch under way may still use
        self._keep = (tuple(keep), hosts)
        self.native: Callable[..., None] = _builtin(
            native_symbol("launch"), (self._block, view, self._keep, self._pins)
        )
        self.explain = explain
        self.slot_bytes = None if slot_bytes is None else tuple(slot_bytes)
        self._memory = cpu_memory()

    def _check(self, words: np.ndarray, relocations: np.ndarray, slots: int) -> None:
        for i in self.instructions:
            if not 0 <= i.args <= words.size:
                raise ValueError(
                    f"{self.name}: an instruction's arguments begin at word {i.args} of {words.size}"
                )
            if not callable(i.function) and not i.function:
                raise ValueError(f"{self.name}: the instruction of node {i.node} has no function")
            if i.chunks >= 2**32 - 1:
                raise ValueError(
                    f"{self.name}: the instruction of node {i.node} has {i.chunks} chunks, more than 2**32 "
                    f"- 2"
                )
        if len(relocations) and not (
            relocations[:, 0].min() >= 0
            and relocations[:, 0].max() < words.size
            and relocations[:, 1].min() >= 0
            and relocations[:, 1].max() < slots
        ):
            raise ValueError(
                f"{self.name}: a relocation lies outside the {words.size} words or the {slots} slots"
            )

    def launch(self, addresses: Sequence[int]) -> None:
        """Runs the plan over the given memory and returns when it is done.

        Args:
            addresses: one for each of the caller's slots.

        Raises:
            PlanError: a kernel returned a status other than zero (or what ``explain`` makes of it).
            KeyboardInterrupt: Ctrl-C; what the plan writes is then unspecified.
            Exception: whatever a host call or the hook raised.
            TypeError: another number of addresses.
        """
        try:
            if not self.arena_bytes:
                self.native(*addresses)
                return
            arena = self._memory.allocate(self.arena_bytes)
            addresses = [*addresses, arena]
            try:
                self.native(*addresses)
            except PlanError as error:
                raise self._explained(error, addresses) from None
            finally:
                self._memory.free(arena, self.arena_bytes)
        except PlanError as error:
            raise self._explained(error, addresses) from None

    def _explained(self, error: PlanError, addresses: Sequence[int]) -> BaseException:
        return error if self.explain is None else self.explain(error, addresses)

    def profile(self, on: bool = True) -> None:
        """Switches the timing of each instruction on or off."""
        self._timing = np.zeros((len(self.instructions), 2), np.int64) if on else None
        self._pins.append(self._timing)
        self._header[native_plan.HEADER.index("timing")] = (
            self._timing.ctypes.data if self._timing is not None else 0
        )

    def times(self) -> np.ndarray:
        """Start and end of each instruction in the latest launch, in nanoseconds of the monotonic clock;
        int64, shape (n, 2).

        Raises:
            RuntimeError: `profile` is not on.
        """
        if self._timing is None:
            raise RuntimeError(f"{self.name}: call profile() before the launch that is to be timed")
        return self._timing.copy()

    def set_hook(self, hook: Callable[[int, int], None] | None) -> None:
        """Calls ``hook(instruction index, node)`` after each instruction; an exception that it raises stops
        the plan."""
        self._pins.append(hook)
        self._hook = hook
        self._header[native_plan.HEADER.index("hook")] = id(hook) if hook is not None else 0

    def __repr__(self) -> str:
        return (
            f"<executable {self.name}: {len(self.instructions)} instructions, {self.slots} slots, "
            f"arena of {self.arena_bytes} bytes>"
        )


def _host_function(function: Callable[..., Any], count: int) -> Callable[[int], None]:
    words = ctypes.c_int64 * count

    def call(address: int) -> None:
        function(*words.from_address(address))

    return call


def native_symbol(name: str) -> int:
    return threads.native_symbols()[name]


@lru_cache(1)
def _runtime() -> np.ndarray:
    block = threads.runtime_block()
    block[native_plan.RUNTIME.index("plan_error")] = id(PlanError)
    return block


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_method_definitions: dict[int, _MethodDef] = {}  # CPython keeps pointers to them


def _builtin(address: int, state: tuple) -> Callable[..., None]:
    """A builtin function over native code of CPython's fast-call convention, with ``state`` as its self."""
    definition = _method_definitions.get(address)
    if definition is None:
        definition = _MethodDef(b"launch", address, _METH_FASTCALL, b"launch(*slot_addresses)")
        _method_definitions[address] = definition
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(definition), state, None)
