"""A small linker: from an object file to a flat image, and from images to executable memory.

An image is position independent: every reference inside it is resolved when it is made, what remains are
eight-byte slots that hold addresses of the process (``memcpy``, CPython functions). So a cached image is
mapped in microseconds and without loading LLVM. An unknown symbol, a writable global or an unknown relocation
is an error when the image is made or mapped, never at a call. Mapped code is never unmapped: CPython and
running threads may still call it.
"""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mycelia.runtime import elf, pages
from mycelia.runtime.elf import ObjectError, Relocation

_MACHINES = {elf.X86_64: "x86_64", elf.AARCH64: "aarch64"}
_DROPPED = (".eh_frame", ".note", ".llvm", ".comment")
_PAGE = 4096


@dataclass(frozen=True)
class Image:
    """Machine code without a place.

    Attributes:
        machine: ``"x86_64"`` or ``"aarch64"``.
        code: the bytes; symbols, constants and slots alike.
        exports: offsets of the global symbols.
        slots: (offset, name, addend): eight bytes that get an address when the image is mapped: that of a
            symbol of the process, or of the image's own start when the name is empty, plus the addend.
    """

    machine: str
    code: bytes
    exports: Mapping[str, int]
    slots: Sequence[tuple[int, str, int]]

    def to_bytes(self) -> bytes:
        head = json.dumps([self.machine, dict(self.exports), list(self.slots)]).encode()
        return struct.pack("<Q", len(head)) + head + self.code

    @staticmethod
    def from_bytes(data: bytes) -> Image:
        (length,) = struct.unpack_from("<Q", data)
        machine, exports, slots = json.loads(data[8 : 8 + length])
        return Image(machine, data[8 + length :], exports, [tuple(s) for s in slots])


def link(object_file: bytes) -> Image:
    """Lays out an object's sections and resolves its references.

    Raises:
        ObjectError: malformed, or with writable globals, or with a relocation that position-independent code
        does not have.
    """
    parsed = elf.read(object_file)
    machine = _MACHINES.get(parsed.machine)
    if machine is None:
        raise ObjectError(
            f"object file for machine {parsed.machine}; this linker knows {', '.join(_MACHINES.values())}"
        )
    code, place = bytearray(), {}
    for section in parsed.sections:
        if not section.flags & elf.ALLOC or section.name.startswith(_DROPPED) or not section.size:
            continue
        if section.type == elf.NOBITS or (section.flags & 1 and not section.name.startswith(".data.rel.ro")):
            raise ObjectError(
                f"section {section.name} of {section.size} bytes is writable: kernels hold no globals"
            )
        code.extend(bytes(-len(code) % section.align))
        place[section.index] = len(code)
        code.extend(section.data)
    code.extend(bytes(-len(code) % 16))
    linker = _LINKERS[machine](code)
    for relocation in parsed.relocations:
        if relocation.section in place:
            symbol = relocation.symbol
            if symbol.section == elf.UNDEFINED:
                target: int | str = symbol.name
            elif symbol.section in place:
                target = place[symbol.section] + symbol.value
            else:
                raise ObjectError(f"reference to {symbol.name or 'a symbol'} in a section that is not loaded")
            linker.apply(place[relocation.section] + relocation.offset, relocation, target)
    exports = {
        s.name: place[s.section] + s.value for s in parsed.symbols if s.is_global and s.section in place
    }
    return Image(machine, bytes(linker.code), exports, linker.slots)


class _Linker:
    """What both machines share: slots for absolute addresses and stubs that jump through them."""

    def __init__(self, code: bytearray) -> None:
        self.code = code
        self.slots: list[tuple[int, str, int]] = []
        self._slot_of: dict[int | str, int] = {}
        self._stub_of: dict[str, int] = {}

    def apply(self, at: int, relocation: Relocation, target: int | str) -> None:
        raise NotImplementedError

    def jump_through(self, slot: int, at: int) -> bytes:
        raise NotImplementedError

    def absolute(self, at: int, target: int | str, addend: int) -> None:
        self.slots.append((at, target, addend) if isinstance(target, str) else (at, "", target + addend))

    def slot(self, target: int | str) -> int:
        """Offset of eight bytes that will hold the target's address."""
        if target not in self._slot_of:
            self._slot_of[target] = len(self.code)
            self.absolute(len(self.code), target, 0)
            self.code.extend(bytes(8))
        return self._slot_of[target]

    def callee(self, target: int | str) -> int:
        """Offset to call: the target itself, or a stub when it lies outside, maybe too far for a direct
        call."""
        if isinstance(target, int):
            return target
        if target not in self._stub_of:
            slot = self.slot(target)
            self._stub_of[target] = len(self.code)
            self.code.extend(self.jump_through(slot, len(self.code)))
        return self._stub_of[target]

    def inside(self, target: int | str, relocation: Relocation) -> int:
        if isinstance(target, str):
            raise ObjectError(f"relocation {relocation.type} wants the external symbol {target} within reach")
        return target

    def word(self, at: int) -> int:
        return struct.unpack_from("<I", self.code, at)[0]

    def put(self, at: int, value: int) -> None:
        struct.pack_into("<I", self.code, at, value & 0xFFFFFFFF)


class _X86Linker(_Linker):
    ABS64, PC32, PLT32, GOTPCREL, PC64, GOTPCRELX, REX_GOTPCRELX = 1, 2, 4, 9, 24, 41, 42

    def apply(self, at: int, relocation: Relocation, target: int | str) -> None:
        type, addend = relocation.type, relocation.addend
        if type == self.ABS64:
            self.absolute(at, target, addend)
        elif type in (self.PC32, self.PLT32):
            self.put(at, self.callee(target) + addend - at)
        elif type in (self.GOTPCREL, self.GOTPCRELX, self.REX_GOTPCRELX):
            self.put(at, self.slot(target) + addend - at)
        elif type == self.PC64:
            struct.pack_into("<q", self.code, at, self.inside(target, relocation) + addend - at)
        else:
            raise ObjectError(
                f"x86-64 relocation {type} of {relocation.symbol.name!r} is none of position-independent code"
            )

    def jump_through(self, slot: int, at: int) -> bytes:
        return b"\xff\x25" + struct.pack("<i", slot - (at + 6)) + b"\x90\x90"  # jmp *slot(%rip)


class _Arm64Linker(_Linker):
    ABS64, PREL64, PREL32 = 257, 260, 261
    TSTBR14, CONDBR19, JUMP26, CALL26 = 279, 280, 282, 283
    ADR_PREL_PG_HI21, ADD_ABS_LO12, ADR_GOT_PAGE, LD64_GOT_LO12 = 275, 277, 311, 312
    LOW12_SHIFT = {
        ADD_ABS_LO12: 0,
        278: 0,
        284: 1,
        285: 2,
        286: 3,
        299: 4,
    }  # add, then loads of 1 to 16 bytes

    def apply(self, at: int, relocation: Relocation, target: int | str) -> None:
        type, addend = relocation.type, relocation.addend
        if type == self.ABS64:
            self.absolute(at, target, addend)
        elif type == self.PREL64:
            struct.pack_into("<q", self.code, at, self.inside(target, relocation) + addend - at)
        elif type == self.PREL32:
            self.put(at, self.inside(target, relocation) + addend - at)
        elif type in (self.JUMP26, self.CALL26):
            self._field(at, (self.callee(target) + addend - at) >> 2, 26, 0)
        elif type == self.CONDBR19:
            self._field(at, (self.inside(target, relocation) + addend - at) >> 2, 19, 5)
        elif type == self.TSTBR14:
            self._field(at, (self.inside(target, relocation) + addend - at) >> 2, 14, 5)
        elif type == self.ADR_PREL_PG_HI21:
            self._page(at, self.inside(target, relocation) + addend)
        elif type == self.ADR_GOT_PAGE:
            self._page(at, self.slot(target) + addend)
        elif type == self.LD64_GOT_LO12:
            self._field(at, ((self.slot(target) + addend) & 0xFFF) >> 3, 12, 10)
        elif type in self.LOW12_SHIFT:
            self._field(
                at, ((self.inside(target, relocation) + addend) & 0xFFF) >> self.LOW12_SHIFT[type], 12, 10
            )
        else:
            raise ObjectError(
                f"aarch64 relocation {type} of {relocation.symbol.name!r} is none of position-independent "
                f"code"
            )

    def slot(self, target: int | str) -> int:
        self.code.extend(bytes(-len(self.code) % 8))
        return super().slot(target)

    def _field(self, at: int, value: int, bits: int, shift: int) -> None:
        mask = ((1 << bits) - 1) << shift
        self.put(at, self.word(at) & ~mask | value << shift & mask)

    def _page(self, at: int, target: int) -> None:
        pages = (target >> 12) - (at >> 12)  # an image starts on a page
        mask = 0x60FFFFE0
        self.put(at, self.word(at) & ~mask | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)

    def jump_through(self, slot: int, at: int) -> bytes:
        literal = (slot - at) >> 2 & 0x7FFFF
        return struct.pack("<II", 0x58000010 | literal << 5, 0xD61F0200)  # ldr x16, slot; br x16


_LINKERS: dict[str, type[_Linker]] = {"x86_64": _X86Linker, "aarch64": _Arm64Linker}


class SymbolError(LookupError):
    """Code refers to a symbol that the process does not have."""


def process_symbol(name: str) -> int:
    """Address of a symbol of libc or CPython.

    Raises:
        SymbolError: there is none.
    """
    try:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise SymbolError(
            f"native code refers to the symbol {name!r}, which is not in this process"
        ) from None


def map_images(images: Sequence[Image]) -> list[dict[str, int]]:
    """Makes images executable, all in one mapping, for good. Returns each image's symbols with their
    addresses.

    Raises:
        SymbolError: an image needs a symbol that the process lacks.
        MemoryError, PermissionError: the system gives no executable memory.
    """
    starts, size = [], 0
    for image in images:
        size += -size % (_PAGE if image.machine == "aarch64" else 64)
        starts.append(size)
        size += len(image.code)
    if not size:
        return [{} for _ in images]
    size += -size % _PAGE
    content = bytearray(size)
    addresses = {name: process_symbol(name) for image in images for _, name, _ in image.slots if name}
    base = pages.map_pages(size)
    for start, image in zip(starts, images):
        content[start : start + len(image.code)] = image.code
        for offset, name, addend in image.slots:
            struct.pack_into(
                "<Q", content, start + offset, (addresses[name] if name else base + start) + addend
            )
    ctypes.memmove(base, bytes(content), size)
    pages.protect(base, size, pages.READ_EXECUTE)
    return [
        {name: base + start + offset for name, offset in image.exports.items()}
        for start, image in zip(starts, images)
    ]
