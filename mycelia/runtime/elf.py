"""Reads relocatable ELF objects: sections, symbols, relocations. As much as the linker of
`mycelia.runtime.image` needs."""

from __future__ import annotations

import struct
from dataclasses import dataclass

X86_64, AARCH64 = 62, 183

PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8
ALLOC = 2
UNDEFINED, ABSOLUTE = 0, 0xFFF1
GLOBAL_BINDINGS = (1, 2)  # global, weak

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")


class ObjectError(ValueError):
    """The bytes are no object file that can be linked."""


@dataclass(frozen=True)
class Section:
    index: int
    name: str
    type: int
    flags: int
    align: int
    link: int
    info: int
    size: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    name: str
    section: int
    value: int
    is_global: bool


@dataclass(frozen=True)
class Relocation:
    """At ``offset`` of section ``section``: put the address of ``symbol`` plus ``addend``, encoded as
    ``type`` says."""

    section: int
    offset: int
    type: int
    symbol: Symbol
    addend: int


@dataclass(frozen=True)
class ObjectFile:
    machine: int
    sections: list[Section]
    symbols: list[Symbol]
    relocations: list[Relocation]


def read(image: bytes) -> ObjectFile:
    """Parses a 64-bit little-endian relocatable object.

    Raises:
        ObjectError: the bytes are something else, or end too early.
    """
    try:
        return _read(image)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ObjectError(f"malformed object file of {len(image)} bytes: {error}") from None


def _read(image: bytes) -> ObjectFile:
    ident, kind, machine, *_, offset, _, _, _, _, entry, count, names = _HEADER.unpack_from(image)
    if ident[:6] != b"\x7fELF\x02\x01" or kind != 1:
        raise ObjectError(f"not a 64-bit little-endian relocatable ELF object: starts with {image[:6]!r}")
    raw = [_SECTION.unpack_from(image, offset + i * entry) for i in range(count)]
    strings = image[raw[names][4] : raw[names][4] + raw[names][5]]
    sections = [
        Section(
            i,
            _string(strings, name),
            type,
            flags,
            max(align, 1),
            link,
            info,
            size,
            b"" if type == NOBITS else image[start : start + size],
        )
        for i, (name, type, flags, _, start, size, link, info, align, _) in enumerate(raw)
    ]
    symbols: list[Symbol] = []
    for table in sections:
        if table.type == SYMTAB:
            texts = sections[table.link].data
            symbols = [
                Symbol(_string(texts, name), section, value, info >> 4 in GLOBAL_BINDINGS)
                for name, info, _, section, value, _ in _SYMBOL.iter_unpack(table.data)
            ]
    relocations = [
        Relocation(table.info, where, info & 0xFFFFFFFF, symbols[info >> 32], addend)
        for table in sections
        if table.type == RELA
        for where, info, addend in _RELA.iter_unpack(table.data)
    ]
    return ObjectFile(machine, sections, symbols, relocations)


def _string(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()


def undefined_symbols(image: bytes) -> set[str]:
    """Names that an object needs from outside: what continuous integration holds against its allow-list.

    Example:
        >>> undefined_symbols(emit(code, X86_64_V3)) <= {"memcpy", "memset", "memmove"}
        True
    """
    parsed = read(image)
    return {s.name for s in parsed.symbols if s.section == UNDEFINED and s.name}
