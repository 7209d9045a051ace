"""The checkpoint file format of MindSpore (``.ckpt``), read and written field by field.

A file is one protobuf message::

    Checkpoint  { repeated Value value = 1 }
    Value       { string tag = 1;  Tensor tensor = 2 }
    Tensor      { repeated int64 dims = 1;  string tensor_type = 2;  bytes tensor_content = 3 }

A tensor above 512 MiB is cut into slices: values with the same tag and dims, one after another. Text has the
    type ``str``,
dims [0], and four bytes for each character. A file may end in ``crc_num`` and the CRC-32 of all before it, as
ten bytes big-endian. The wire format is https://protobuf.dev/programming-guides/encoding. It is written here
by hand because whole checkpoints exceed the 2 GB that the protobuf package takes for a message, and so that
tensors are not copied.
"""
from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from mycelia.ir import dtypes

SLICE_BYTES = 512 * 2**20
_TRAILER = b"crc_num"
_TRAILER_BYTES = len(_TRAILER) + 10
_TEMPORARY = re.compile(r"\.\d+\.tmp$")  # files that `write_beside` writes
_YOUNG = 60.0  # seconds
_TYPES = {str(dtype): dtype for dtype in dtypes.ALL}

Content = np.ndarray | str


class DamagedCheckpoint(ValueError):
    """A file that is not a whole checkpoint."""


class _Field(NamedTuple):
    number: int
    value: int | memoryview  # a varint, or the bytes of a length-delimited field
    offset: int  # in the file


# -- writing ---------------------------------------------------------------------------------------------
def _varint(value: int) -> bytes:
    value &= 2**64 - 1  # negative numbers take ten bytes
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _prefix(number: int, length: int) -> bytes:
    return _varint(number << 3 | 2) + _varint(length)


def _encoded(name: str, content: Content) -> Iterator[tuple[bytes, memoryview]]:
    """Header and content of each value of an entry."""
    if isinstance(content, str):
        dims, kind = (0,), "str"
        raw = np.array([content]).view(np.uint8).data if content else memoryview(b"")
    else:
        dims, kind = content.shape, str(dtypes.from_numpy_dtype(content.dtype))
        raw = np.ascontiguousarray(content).reshape(-1).view(np.uint8).data
    tag = name.encode()
    described = b"".join(b"\x08" + _varint(dim) for dim in dims) + _prefix(2, len(kind)) + kind.encode()
    for start in range(0, max(raw.nbytes, 1), SLICE_BYTES):
        piece = raw[start:start + SLICE_BYTES]
        tensor_head = described + _prefix(3, piece.nbytes)
        value_head = _prefix(1, len(tag)) + tag + _prefix(2, len(tensor_head) + piece.nbytes)
        yield _prefix(1, len(value_head) + len(tensor_head) + piece.nbytes) + value_head + tensor_head, piece


def write_checkpoint(path: str, entries: Iterable[tuple[str, Content]], checksum: bool = False) -> None:
    """Writes a checkpoint as `write_beside` does.

    Args:
        path: the file.
        entries: names and contents, in the file's order.
        checksum: whether the file ends in one.
    """
    write_beside(path, _parts(entries, checksum))


def _parts(entries: Iterable[tuple[str, Content]], checksum: bool) -> Iterator[bytes | memoryview]:
    total = 0
    for name, content in entries:
        for parts in _encoded(name, content):
            for part in parts:
                total = zlib.crc32(part, total) if checksum else 0
                yield part
    if checksum:
        yield _TRAILER + total.to_bytes(10, "big")


def write_beside(path: str, parts: Iterable[bytes | memoryview]) -> None:
    """Writes a file beside `path` and renames it when it is whole and on the disk.

    Until then, and if anything fails, a file that was at `path` stays as it was and nothing else is left.

    Raises:
        OSError: the folder cannot be written, or the disk is full; the message names the file and the room
            needed.
    """
    folder = os.path.dirname(path) or "."
    _remove_abandoned(folder)
    temporary = f"{path}.{os.getpid()}.tmp"
    written = 0
    try:
        with open(temporary, "wb") as file:
            _lock(file)
            for part in parts:
                file.write(part)
                written += len(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(folder)
    except OSError as error:
        _remove(temporary)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, f"the disk is full: the checkpoint {path} was not written ({written} "
                                       "bytes of it "
                          f"were, {_free(folder)} bytes are free). An earlier file of this name is "
                          "unchanged") from error
        raise OSError(error.errno, f"cannot write the checkpoint {path}: {error.strerror}. An earlier file "
                                   "of this name is "
                      "unchanged") from error
    except BaseException:
        _remove(temporary)
        raise


def _sync_folder(folder: str) -> None:
    """Makes the rename itself durable, where folders can be synchronised (not on Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lock(file: BinaryIO) -> bool:
    """Marks a temporary file as in use until it is closed or its process ends; False if another one has.

    A process number would not do: it may be of another machine that shares the folder, or given anew.
    """
    try:
        import fcntl
    except ImportError:  # Windows, which does not let an open file be removed
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(folder: str) -> None:
    """Removes what a process that was killed while it wrote a checkpoint here has left.

    Files of this process are left alone (another thread may be about to lock one), and young ones, which
    their process may have opened this moment.
    """
    own = f".{os.getpid()}.tmp"
    try:
        names = [n for n in os.listdir(folder) if _TEMPORARY.search(n) and not n.endswith(own)]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            info = os.lstat(path)
            if not stat.S_ISREG(info.st_mode) or time.time() - info.st_mtime < _YOUNG:
                continue
            with open(path, "r+b") as file:
                if _lock(file):
                    os.remove(path)
        except OSError:
            continue


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.remove(path)


def _free(folder: str) -> int:
    return shutil.disk_usage(folder).free


# -- reading ---------------------------------------------------------------------------------------------
class _Reader:
    """Fields of a message between two offsets of a file."""

    def __init__(self, path: str, data: memoryview, start: int, end: int) -> None:
        self.path, self.data, self.at, self.end = path, data, start, end

    def fail(self, why: str) -> DamagedCheckpoint:
        return DamagedCheckpoint(f"{self.path} is not a whole checkpoint: {why} at byte {self.at} of "
                                 f"{len(self.data)}. The file is truncated, damaged, or of another format")

    def varint(self) -> int:
        value = shift = 0
        while True:
            if self.at >= self.end:
                raise self.fail("the data ends within a number")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 2**64 - 1
            shift += 7
            if shift > 63:
                raise self.fail("a number has more than ten bytes")

    def fields(self) -> Iterator[_Field]:
        while self.at < self.end:
            key = self.varint()
            number, kind = key >> 3, key & 7
            start = self.at
            if kind == 0:
                yield _Field(number, self.varint(), start)
            elif kind == 2:
                length = self.varint()
                start = self.at
                if length > self.end - start:
                    raise self.fail(f"a field of {length} bytes exceeds the {self.end - start} that are left")
                self.at += length
                yield _Field(number, self.data[start:self.at], start)
            else:
                raise self.fail(f"field {number} is of wire type {kind}, which checkpoints do not have")

    def inside(self, field: _Field) -> _Reader:
        if isinstance(field.value, int):
            raise self.fail(f"field {field.number} is a number instead of a message")
        return _Reader(self.path, self.data, field.offset, field.offset + len(field.value))

    def text(self, field: _Field) -> str:
        try:
            return bytes(field.value).decode()  # type: ignore[arg-type]
        except (UnicodeDecodeError, TypeError) as error:
            raise self.fail(f"field {field.number} is not text") from error


class _Piece(NamedTuple):
    tag: str
    dims: tuple[int, ...]
    kind: str
    content: memoryview


def read_checkpoint(path: str, choose: Callable[[str], bool] | None = None) -> dict[str, Content]:
    """Names and contents of a checkpoint in the file's order; those for whose name `choose` is true.

    A checksum that the file holds is verified.

    Raises:
        DamagedCheckpoint: the file is truncated, damaged, or of another format; the message says where.
    """
    with open(path, "rb") as file:
        data = _content(file)
    end = len(data)
    if end >= _TRAILER_BYTES and data[end - _TRAILER_BYTES:end - 10] == _TRAILER:
        end -= _TRAILER_BYTES
        stored, actual = int.from_bytes(data[end + len(_TRAILER):], "big"), zlib.crc32(data[:end])
        if stored != actual:
            raise DamagedCheckpoint(f"{path} is damaged: its checksum is {stored:08x}, that of its content "
                                    f"{actual:08x}")
    entries: dict[str, Content] = {}
    slices: list[_Piece] = []
    reader = _Reader(path, data, 0, end)
    for piece in _pieces(reader):
        if choose is not None and not choose(piece.tag):
            continue
        if slices and piece.tag != slices[0].tag:
            entries[slices[0].tag] = _joined(reader, slices)
            slices = []
        slices.append(piece)
    if slices:
        entries[slices[0].tag] = _joined(reader, slices)
    return entries


def has_checksum(path: str) -> bool:
    """Whether a checkpoint file ends in a checksum."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TRAILER_BYTES, 0))
        return size >= _TRAILER_BYTES and file.read(len(_TRAILER)) == _TRAILER


def _content(file: BinaryIO) -> memoryview:
    size = os.fstat(file.fileno()).st_size
    # Mapped rather than read: the tensors are copied out once, and a large file need not fit twice.
    return np.memmap(file, np.uint8, "r").data if size else memoryview(b"")


def _pieces(reader: _Reader) -> Iterator[_Piece]:
    for field in reader.fields():
        if field.number != 1:
            raise reader.fail(f"field {field.number} is unknown")
        tag, tensor = None, None
        value = reader.inside(field)
        for part in value.fields():
            if part.number == 1:
                tag = value.text(part)
            elif part.number == 2:
                tensor = value.inside(part)
            elif part.number == 3:
                raise reader.fail(f"the value {tag!r} is a hash map (MapParameter), which is not supported")
            else:
                raise value.fail(f"field {part.number} of a value is unknown")
        if tag is None or tensor is None:
            raise value.fail("a value has no name or no tensor")
        yield _tensor(tag, tensor)


def _tensor(tag: str, reader: _Reader) -> _Piece:
    dims: list[int] = []
    kind, content = None, None
    for field in reader.fields():
        if field.number == 1 and isinstance(field.value, int):
            dims.append(field.value)
        elif field.number == 1:
            packed = reader.inside(field)
            while packed.at < packed.end:
                dims.append(packed.varint())
        elif field.number == 2:
            kind = reader.text(field)
        elif field.number == 3 and isinstance(field.value, memoryview):
            content = field.value
        else:
            raise reader.fail(f"field {field.number} of tensor {tag!r} is unknown")
    if kind is None or content is None:
        raise reader.fail(f"tensor {tag!r} has no type or no content")
    if kind not in _TYPES and kind != "str":
        raise reader.fail(f"tensor {tag!r} is of the unknown type {kind!r}; known are {', '.join(_TYPES)} "
                          "and str")
    return _Piece(tag, tuple(dims), kind, content)


def _joined(reader: _Reader, slices: list[_Piece]) -> Content:
    """The whole tensor, in memory of its own."""
    first = slices[0]
    raw = np.concatenate([np.frombuffer(piece.content, np.uint8) for piece in slices])
    if first.kind == "str":
        if len(raw) % 4:
            raise reader.fail(f"the text {first.tag!r} has {len(raw)} bytes, not four for each character")
        return raw.tobytes().decode("utf-32-le", "replace")
    dtype = _TYPES[first.kind].numpy
    dims = () if first.dims == (0,) and len(raw) == dtype.itemsize else first.dims
    expected = dtype.itemsize
    for dim in dims:
        expected *= dim
    if len(raw) != expected:
        raise reader.fail(f"tensor {first.tag!r} of {first.kind} {list(dims)} must have {expected} bytes and "
                          f"has {len(raw)}")
    if first.kind == "Bool" and raw.size and raw.max() > 1:
        raise reader.fail(f"tensor {first.tag!r} of Bool holds the byte {raw.max()}")
    return raw.view(dtype).reshape(dims)
