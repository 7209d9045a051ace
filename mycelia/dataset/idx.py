"""The IDX file format: the header says type and shape, then the elements follow.

Big-endian: two zero bytes, a type code (8 for uint8), the number of axes, and each axis' extent as 32 bits
(http://yann.lecun.com/exdb/mnist).
"""
from __future__ import annotations

import gzip
import os
import struct
import zlib

import numpy as np

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str, axes: int | None = None) -> np.ndarray:
    """The array in an IDX file, mapped into memory (read-only), or unpacked where the name ends in ``.gz``.

    Raises:
        ValueError: not an IDX file of `axes` axes, or shorter or longer than its header says.

    Example:
        >>> read_idx("train-images-idx3-ubyte", axes=3).shape
        (60000, 28, 28)
    """
    packed = path.endswith(".gz")
    try:
        with gzip.open(path) if packed else open(path, "rb") as file:
            head = file.read(4)
            kind = _TYPES.get(head[2]) if len(head) == 4 and head[:2] == b"\0\0" else None
            if kind is None or axes is not None and head[3] != axes:
                raise ValueError(f"{path} is not an IDX "
                                 f"file{f' of {axes} axes' if axes is not None else ''}: must begin with 00 "
                                 f"00 08{f' {axes:02x}' if axes is not None else ''}. Received: "
                                 f"{head.hex(' ')}")
            extents = file.read(4 * head[3])
            if len(extents) < 4 * head[3]:
                raise ValueError(f"{path} is truncated: its header must have {4 + 4 * head[3]} bytes. "
                                 f"Received: {4 + len(extents)}")
            shape = struct.unpack(f">{head[3]}I", extents)
            start = 4 + 4 * head[3]
            expected = start + int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
            data = file.read() if packed else None
            actual = os.path.getsize(path) if data is None else start + len(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is truncated or damaged: {error} ({os.path.getsize(path)} "
                         "bytes)") from error
    if actual != expected:
        state = "truncated" if actual < expected else "damaged"
        raise ValueError(f"{path} is {state}: its header says shape {shape}, which takes {expected} bytes. "
                         f"Received: {actual} bytes")
    if data is not None:
        array = np.frombuffer(data, kind)
    elif expected == start:
        array = np.empty(0, kind)
    else:
        array = np.asarray(np.memmap(path, kind, "r", start))
    return array.reshape(shape)
