"""The event files that TensorBoard reads, written field by field.

A file is a sequence of records, each framed by its length and two checksums (the format of TFRecord)::

    uint64 length;  uint32 masked CRC-32C of the length;  bytes data;  uint32 masked CRC-32C of the data

and each record is an ``Event`` in protobuf's wire format. See https://www.tensorflow.org/tutorials/load_data/tfrecord
and RFC 3720, appendix B.4, for the checksum.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The CRC-32C of some bytes."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as records hold it, so that checksums of checksums are unlike."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """The frame of one record."""
    length = struct.pack("<Q", len(data))
    frame = length + struct.pack("<I", masked_crc32c(length)), data, struct.pack("<I", masked_crc32c(data))
    return b"".join(frame)


# -- protobuf ------------------------------------------------------------------------------------------
def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def _doubles(number: int, values: np.ndarray) -> bytes:
    return _bytes(number, values.astype("<f8").tobytes())


def _value(tag: str, content: bytes) -> bytes:
    return _bytes(1, _bytes(1, tag.encode()) + content)


def scalar(tag: str, value: float) -> bytes:
    """A number: one value of a Summary."""
    return _value(tag, _float(2, value))


def image(tag: str, pixels: np.ndarray) -> bytes:
    """An image ``[height, width, 1 or 3]`` of uint8, as a PNG."""
    height, width, channels = pixels.shape
    fields = _integer(1, height) + _integer(2, width) + _integer(3, channels) + _bytes(4, png(pixels))
    return _value(tag, _bytes(4, fields))


def histogram(tag: str, array: np.ndarray, bins: int = 30) -> bytes:
    """How often numbers fall into equal ranges; what is not finite is left out."""
    numbers = np.asarray(array, np.float64).reshape(-1)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        numbers = np.zeros(1)
    counts, edges = np.histogram(numbers, bins)
    fields = (
        _double(1, numbers.min())
        + _double(2, numbers.max())
        + _double(3, numbers.size)
        + _double(4, numbers.sum())
        + _double(5, np.square(numbers).sum())
        + _doubles(6, edges[1:])
        + _doubles(7, counts)
    )
    return _value(tag, _bytes(5, fields))


_TENSOR_TYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "int64": 9,
    "bool": 10,
}


def tensor(tag: str, array: np.ndarray) -> bytes:
    """An array as it is."""
    if array.dtype.name not in _TENSOR_TYPES:
        array = array.astype(np.float32)
    shape = b"".join(_bytes(2, _integer(1, extent)) for extent in array.shape)
    content = _integer(1, _TENSOR_TYPES[array.dtype.name]) + _bytes(2, shape)
    return _value(tag, _bytes(8, content + _bytes(4, np.ascontiguousarray(array).tobytes())))


def text(tag: str, words: str) -> bytes:
    """A text."""
    plugin = _bytes(9, _bytes(1, _bytes(1, b"text")))
    return _value(tag, plugin + _bytes(8, _integer(1, 7) + _bytes(2, b"") + _bytes(8, words.encode())))


def png(pixels: np.ndarray) -> bytes:
    """A PNG file (https://www.w3.org/TR/png) of ``[height, width, 1 or 3]`` bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = pixels.reshape(height, -1)
    body = zlib.compress(rows.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


class EventFile:
    """A file that events are appended to.

    Args:
        path: the file.
        max_bytes: nothing is written that would make the file larger; None for no limit.
    """

    def __init__(self, path: str, max_bytes: int | None = None) -> None:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self.path, self.max_bytes, self.full = path, max_bytes, False
        self._file = open(path, "ab")  # noqa: SIM115  (closed by `close`)
        self._append(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))

    def add(self, values: list[bytes], step: int) -> bool:
        """Appends an event with some values; False where the file is full."""
        event = _double(1, time.time()) + _integer(2, step) + _bytes(5, b"".join(values))
        return self._append(event)

    def _append(self, event: bytes) -> bool:
        framed = record(event)
        if self.full or self.max_bytes is not None and self._file.tell() + len(framed) > self.max_bytes:
            self.full = True
            return False
        self._file.write(framed)
        return True

    def flush(self) -> None:
        """Hands what was written to the system."""
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        self._file.close()


def read_events(path: str) -> list[dict[str, Any]]:
    """The events of a file: ``step`` and the numbers by ``tag``; for scripts that have no TensorBoard.

    Raises:
        ValueError: a damaged record.
    """
    events = []
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        length = data[at : at + 8]
        if len(length) < 8 or struct.unpack("<I", data[at + 8 : at + 12])[0] != masked_crc32c(length):
            raise ValueError(f"{path}: a damaged record at byte {at} of {len(data)}")
        end = at + 12 + struct.unpack("<Q", length)[0]
        body = data[at + 12 : end]
        if len(data) < end + 4 or struct.unpack("<I", data[end : end + 4])[0] != masked_crc32c(body):
            raise ValueError(f"{path}: a damaged record at byte {at} of {len(data)}")
        events.append(_event(body))
        at = end + 4
    return events


def _event(body: bytes) -> dict[str, Any]:
    event: dict[str, Any] = {"step": 0, "scalars": {}, "tags": []}
    for number, value in _fields(body):
        if number == 2:
            event["step"] = value
        elif number == 5:
            for _, item in _fields(value):
                parts = dict(_fields(item))
                tag = parts[1].decode()
                event["tags"].append(tag)
                if 2 in parts:
                    event["scalars"][tag] = struct.unpack("<f", parts[2])[0]
    return event


def _fields(data: bytes) -> list[tuple[int, Any]]:
    fields, at = [], 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            fields.append((key >> 3, varint()))
            continue
        size = {1: 8, 5: 4}[kind] if kind != 2 else varint()
        fields.append((key >> 3, data[at : at + size]))
        at += size
    return fields
