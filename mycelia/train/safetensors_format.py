"""The safetensors file format, read and written field by field (https://github.com/huggingface/safetensors).

A file is the length of a header as eight bytes, the header, and the tensors' bytes one behind the other::

    {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"format":
    "ms"}}

Text and the checksum are kept in ``__metadata__``: the format has no tensors of text.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.train.checkpoint_format import Content, DamagedCheckpoint, write_beside

_NAMES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "bfloat16": "BF16",
    "complex64": "C64",
}
_DTYPES = {_NAMES[dtype.numpy.name]: dtype.numpy for dtype in dtypes.ALL if dtype.numpy.name in _NAMES}
_METADATA, _CHECKSUM, _TEXT = "__metadata__", "crc_num", "text:"
_ALIGNMENT = 64  # of the first tensor; the header is padded with blanks
MAX_HEADER = 100_000_000


def write_safetensors(path: str, entries: Iterable[tuple[str, Content]], checksum: bool = False) -> None:
    """Writes a file beside `path` and renames it when it is whole.

    Args:
        path: the file.
        entries: names and contents.
        checksum: whether the header holds the CRC-32 of names and bytes.

    Raises:
        ValueError: a name that the format keeps for itself, or an element type that it does not know.
        OSError: as in `checkpoint_format.write_beside`.
    """
    metadata = {"format": "ms"}
    arrays: dict[str, np.ndarray] = {}
    for name, content in entries:
        if name == _METADATA:
            raise ValueError(f"{path}: {_METADATA!r} cannot be a parameter's name in a safetensors file")
        if isinstance(content, str):
            metadata[_TEXT + name] = content
        elif content.dtype.name not in _NAMES:
            raise ValueError(
                f"{path}: safetensors has no element type for {name!r}. Received: {content.dtype}"
            )
        else:
            arrays[name] = np.ascontiguousarray(content).reshape(content.shape)
    # The widest elements first, so that all lie at multiples of their size.
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    if checksum:
        metadata[_CHECKSUM] = str(_checksum((name, _bytes(arrays[name])) for name in sorted(arrays)))
    header: dict[str, Any] = {_METADATA: metadata}
    at = 0
    for name in order:
        array = arrays[name]
        end = at + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(np.shape(array)),
            "data_offsets": [at, end],
        }
        at = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)

    def parts() -> Iterator[bytes | memoryview]:
        yield len(text).to_bytes(8, "little")
        yield text
        for name in order:
            yield _bytes(arrays[name])

    write_beside(path, parts())


def _checksum(tensors: Iterable[tuple[str, memoryview]]) -> int:
    """The CRC-32 of names and bytes, in the order of the names, as MindSpore has it."""
    total = 0
    for name, content in tensors:
        total = zlib.crc32(content, zlib.crc32(name.encode(), total))
    return total


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


class SafetensorsFile:
    """A file whose tensors are mapped: only what is asked for is read.

    Args:
        path: the file.

    Attributes:
        names: of the tensors, in the order of their bytes.
        metadata: texts by name.

    Raises:
        DamagedCheckpoint: the file is truncated, damaged, or of another format; the message says where.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(size - 8, MAX_HEADER):
                raise self._damaged(f"its header would have {length} bytes at byte 8 of {size}")
            text = file.read(length)
        self._start = 8 + length
        self._rows = self._checked(text, size - self._start)
        self.names = sorted(self._rows, key=lambda name: self._rows[name]["data_offsets"][0])
        self._data = (
            np.memmap(path, np.uint8, "r", self._start) if size > self._start else np.empty(0, np.uint8)
        )

    def _damaged(self, why: str) -> DamagedCheckpoint:
        return DamagedCheckpoint(
            f"{self.path} is not a whole safetensors file: {why}. The file is truncated, damaged, or of "
            f"another "
            "format"
        )

    def _checked(self, text: bytes, room: int) -> dict[str, Any]:
        try:
            header = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._damaged(f"its header at byte 8 is no JSON ({error})") from None
        if not isinstance(header, dict):
            raise self._damaged("its header at byte 8 is no JSON object")
        metadata = header.pop(_METADATA, {})
        if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
            raise self._damaged(f"{_METADATA} in its header is no object of texts")
        self.metadata: dict[str, str] = metadata
        at = 0
        for name, row in sorted(header.items(), key=_first_byte):
            if not isinstance(row, dict) or not {"dtype", "shape", "data_offsets"} <= row.keys():
                raise self._damaged(f"tensor {name!r} has no dtype, shape and data_offsets in the header")
            dtype, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
            if dtype not in _DTYPES:
                raise self._damaged(
                    f"tensor {name!r} is of the unknown type {dtype!r}; known are {', '.join(_DTYPES)}"
                )
            if not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2:
                raise self._damaged(f"tensor {name!r} has shape {shape!r} and data_offsets {offsets!r}")
            expected = _DTYPES[dtype].itemsize
            for extent in shape:
                expected *= extent
            begin, end = offsets
            if begin != at or end - begin != expected or end > room:
                raise self._damaged(
                    f"tensor {name!r} of {dtype} {shape} must have {expected} bytes from byte "
                    f"{self._start + at}. "
                    f"Received: bytes {self._start + begin} to {self._start + end} of {self._start + room}"
                )
            at = end
        if at != room:
            raise self._damaged(f"its tensors end at byte {self._start + at} of {self._start + room}")
        return header

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor, in memory of its own."""
        row = self._rows[name]
        begin, end = row["data_offsets"]
        return np.array(self._data[begin:end]).view(_DTYPES[row["dtype"]]).reshape(row["shape"])

    @property
    def has_checksum(self) -> bool:
        return _CHECKSUM in self.metadata

    def verify(self) -> None:
        """Compares names and bytes with the checksum, if the file holds one.

        Raises:
            DamagedCheckpoint: they differ.
        """
        if not self.has_checksum:
            return
        spans = {name: slice(*row["data_offsets"]) for name, row in self._rows.items()}
        actual = _checksum((name, self._data[spans[name]].data) for name in sorted(spans))
        if self.metadata[_CHECKSUM] != str(actual):
            raise DamagedCheckpoint(
                f"{self.path} is damaged: its checksum is {self.metadata[_CHECKSUM]}, that of its content "
                f"{actual}"
            )

    def texts(self) -> dict[str, str]:
        """Texts that were saved among the tensors."""
        return {name[len(_TEXT) :]: text for name, text in self.metadata.items() if name.startswith(_TEXT)}


def _first_byte(item: tuple[str, Any]) -> tuple[int, int, str]:
    """Sorts a header's rows by their bytes; what is damaged comes last, where it is found."""
    try:
        begin, end = item[1]["data_offsets"]
        return (int(begin), int(end), item[0])
    except (TypeError, KeyError, ValueError):
        return (2**63, 0, item[0])


def _sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**62 for value in values)


def read_safetensors(path: str, choose: Callable[[str], bool] | None = None) -> dict[str, Content]:
    """Names and contents of a file; those for whose name `choose` is true.

    A checksum that the file holds is verified.

    Raises:
        DamagedCheckpoint: the file is truncated, damaged, or of another format; the message says where.
    """
    file = SafetensorsFile(path)
    file.verify()
    contents: dict[str, Content] = {name: file[name] for name in file.names if choose is None or choose(name)}
    contents.update((name, text) for name, text in file.texts().items() if choose is None or choose(name))
    return contents
