"""The MindRecord format: rows in pages of a binary file, found through an SQLite index beside it.

A file is ``[u64 length][JSON header]`` padded to `header_size`, then pages of `page_size` bytes. A row has
two parts:
its single numbers and texts as one MessagePack map in a raw page, and its bytes and arrays (the blob
fields, in
the header's order) in a blob page. Each part begins with its length, a little-endian u64; where there are
several blob fields, each begins with its own length, a big-endian u64. Arrays of int32 and int64 are
packed: the
number of elements (big-endian u32), two bits for the width of each (1, 2, 4 or 8 bytes), and the
elements in their widths. ``FILE.db`` holds a table INDEXES with the place of both parts of each row.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

HEADER_SIZE, PAGE_SIZE = 1 << 24, 1 << 25
INDEX_SUFFIX = ".db"
TYPES = (
    "bytes",
    "string",
    "int32",
    "int64",
    "float32",
    "float64",
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "uint64",
    "float16",
)
_PACKED = {"int32": np.dtype("<i4"), "int64": np.dtype("<i8")}


def is_blob(field: dict[str, Any]) -> bool:
    """Whether values of a field of the schema are kept in blob pages: bytes and arrays."""
    return field["type"] == "bytes" or "shape" in field


# -- MessagePack: the part of it that rows use (https://github.com/msgpack/msgpack/blob/master/spec.md)
# -------------
def pack(value: Any) -> bytes:
    """A map, text, number or truth value in MessagePack, each number in its shortest form."""
    if isinstance(value, dict):
        head = bytes([0x80 | len(value)]) if len(value) < 16 else b"\xde" + struct.pack(">H", len(value))
        return head + b"".join(pack(part) for pair in value.items() for part in pair)
    if isinstance(value, str):
        data = value.encode()
        if len(data) < 32:
            return bytes([0xA0 | len(data)]) + data
        for code, kind, limit in (
            (b"\xd9", ">B", 1 << 8),
            (b"\xda", ">H", 1 << 16),
            (b"\xdb", ">I", 1 << 32),
        ):
            if len(data) < limit:
                return code + struct.pack(kind, len(data)) + data
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return _pack_integer(value)
    if isinstance(value, float):
        single = struct.unpack(">f", struct.pack(">f", value))[0] if abs(value) < 3e38 else None
        return b"\xca" + struct.pack(">f", value) if single == value else b"\xcb" + struct.pack(">d", value)
    raise TypeError(
        f"MindRecord rows hold numbers and text. Received: {value!r:.80} (of type {type(value).__name__})"
    )


def _pack_integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value)
    codes = (
        zip(range(0xCC, 0xD0), [">B", ">H", ">I", ">Q"])
        if value > 0
        else zip(range(0xD0, 0xD4), [">b", ">h", ">i", ">q"])
    )
    for code, kind in codes:
        try:
            return bytes([code]) + struct.pack(kind, value)
        except struct.error:
            continue
    raise ValueError(f"MindRecord integers have at most 64 bits. Received: {value}")


_FIXED = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpack(data: bytes) -> Any:
    """The value that `pack` wrote.

    Raises:
        ValueError: bytes that are no such value.
    """
    try:
        value, end = _unpack(data, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"damaged row: {error}") from error
    if end != len(data):
        raise ValueError(f"damaged row: {len(data) - end} bytes too many")
    return value


def _unpack(data: bytes, at: int) -> tuple[Any, int]:
    code, at = data[at], at + 1
    if code < 0x80:
        return code, at
    if code >= 0xE0:
        return code - 256, at
    if code in _CONSTANTS:
        return _CONSTANTS[code], at
    if code in _FIXED:
        kind = _FIXED[code]
        return struct.unpack_from(kind, data, at)[0], at + struct.calcsize(kind)
    if code < 0x90 or code == 0xDE:
        count = code & 15
        if code == 0xDE:
            count, at = struct.unpack_from(">H", data, at)[0], at + 2
        pairs = {}
        for _ in range(count):
            key, at = _unpack(data, at)
            pairs[key], at = _unpack(data, at)
        return pairs, at
    if 0xA0 <= code < 0xC0:
        length = code & 31
    elif code in _LENGTHS:
        kind = _LENGTHS[code]
        length, at = struct.unpack_from(kind, data, at)[0], at + struct.calcsize(kind)
    else:
        raise ValueError(f"damaged row: no value begins with byte {code:#x}")
    if at + length > len(data):
        raise ValueError("damaged row: a text ends beyond the row")
    return data[at : at + length].decode(), at + length


# -- blob fields
# ---------------------------------------------------------------------------------------------------
def blob_part(fields: dict[str, dict[str, Any]], names: list[str], row: dict[str, Any]) -> bytes:
    """The blob part of a row, without the length that begins it."""
    parts = [_encoded(fields[name], row[name]) for name in names]
    if not parts:
        return bytes(4)
    if len(parts) == 1:
        return parts[0]
    return b"".join(struct.pack(">Q", len(part)) + part for part in parts)


def blob_values(fields: dict[str, dict[str, Any]], names: list[str], data: bytes) -> dict[str, Any]:
    """The values in a blob part."""
    values, at = {}, 0
    for name in names:
        length = len(data)
        if len(names) > 1:
            if at + 8 > len(data):
                raise ValueError(f"damaged row: field {name!r} begins beyond the row")
            length, at = struct.unpack_from(">Q", data, at)[0], at + 8
        if at + length > len(data):
            raise ValueError(f"damaged row: field {name!r} ends beyond the row")
        values[name] = _decoded(name, fields[name], data[at : at + length])
        at += length
    return values


def _encoded(field: dict[str, Any], value: Any) -> bytes:
    if field["type"] == "bytes":
        return bytes(value)
    array = np.ascontiguousarray(value, np.dtype(field["type"]).newbyteorder("<"))
    return packed_integers(array) if field["type"] in _PACKED else array.tobytes()


def _decoded(name: str, field: dict[str, Any], data: bytes) -> Any:
    if field["type"] == "bytes":
        return data
    kind = np.dtype(field["type"])
    if field["type"] in _PACKED:
        array = unpacked_integers(data, _PACKED[field["type"]])
    else:
        if len(data) % kind.itemsize:
            raise ValueError(
                f"damaged row: field {name!r} has {len(data)} bytes, no multiple of {kind.itemsize}"
            )
        array = np.frombuffer(data, kind.newbyteorder("<")).astype(kind)
    shape = field["shape"]
    try:
        return array.reshape(shape)
    except ValueError as error:
        raise ValueError(f"damaged row: field {name!r} of shape {shape} has {array.size} elements") from error


def packed_integers(values: np.ndarray) -> bytes:
    """Integers in one, two, four or eight bytes each.

    Example:
        >>> packed_integers(np.array([1, 300])).hex(" ")
        '00 00 00 02 10 01 2c 01'
    """
    values = values.reshape(-1)
    width = np.zeros(len(values), np.uint8)
    for i, kind in enumerate((np.int8, np.int16, np.int32)):
        limits = np.iinfo(kind)
        width[(values < limits.min) | (values > limits.max)] = i + 1
    codes = np.zeros(-(-len(values) // 4) * 4, np.uint8)
    codes[: len(values)] = width
    bits = codes.reshape(-1, 4) << np.array([6, 4, 2, 0], np.uint8)
    table = np.bitwise_or.reduce(bits, axis=1).astype(np.uint8)
    octets = np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(-1, 8)
    used = np.arange(8) < (1 << width)[:, np.newaxis]
    return struct.pack(">I", len(values)) + table.tobytes() + octets[used].tobytes()


def unpacked_integers(data: bytes, kind: np.dtype) -> np.ndarray:
    """The integers that `packed_integers` wrote."""
    if len(data) < 4:
        raise ValueError("damaged row: an array of integers has no length")
    count = struct.unpack_from(">I", data)[0]
    tables = -(-count // 4)
    codes = np.frombuffer(data[4 : 4 + tables], np.uint8)
    if len(codes) < tables:
        raise ValueError(f"damaged row: an array of {count} integers has {len(data)} bytes")
    width = 1 << ((codes[:, np.newaxis] >> np.array([6, 4, 2, 0], np.uint8)) & 3).reshape(-1)[:count].astype(
        np.int64
    )
    elements = np.frombuffer(data, np.uint8, offset=4 + tables)
    if len(elements) != width.sum():
        raise ValueError(
            f"damaged row: {count} integers take {int(width.sum())} bytes, found {len(elements)}"
        )
    octets = np.zeros((count, 8), np.uint8)
    octets[np.arange(8) < width[:, np.newaxis]] = elements
    if count:
        sign = octets[np.arange(count), width - 1] >> 7
        octets[(np.arange(8) >= width[:, np.newaxis]) & (sign[:, np.newaxis] == 1)] = 255
    return octets.view("<i8").reshape(-1).astype(kind.newbyteorder("="))
