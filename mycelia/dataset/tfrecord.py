"""TFRecord files: framed records, each a ``tf.train.Example`` in protocol-buffer encoding.

A record is its length (little-endian u64), the masked CRC-32C of these eight bytes, the data, and the
data's masked
CRC-32C (https://www.tensorflow.org/tutorials/load_data/tfrecord). An Example holds features by name: bytes,
float32 or int64 (https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/example/feature.proto).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.dataset.block import Block
from mycelia.dataset.dataset import column_names
from mycelia.dataset.row_files import RowFilesDataset, Shuffle
from mycelia.dataset.schema import Schema


@lru_cache(maxsize=1)
def _table() -> list[int]:
    """CRC-32C (Castagnoli) of each byte."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


def masked_crc(data: bytes) -> int:
    """The checksum that stands in the file."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def record_places(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the records of a file begin, and their lengths; the lengths' checksums are verified.

    Raises:
        RuntimeError: a file that is truncated, damaged or of another kind; the message names the record.
    """
    size, at, starts, lengths = os.path.getsize(path), 0, [], []
    with open(path, "rb") as file:
        while at < size:
            file.seek(at)
            head = file.read(12)
            if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
                state = "no TFRecord file" if not starts else "damaged" if len(head) == 12 else "truncated"
                raise RuntimeError(
                    f"TFRecordDataset: {path} is {state}: record {len(starts)}, at byte {at} "
                    f"of {size}, "
                    f"begins with {head.hex(' ')}, no length with its checksum"
                )
            length = struct.unpack("<Q", head[:8])[0]
            if at + 16 + length > size:
                raise RuntimeError(
                    f"TFRecordDataset: {path} is truncated: record {len(starts)}, at byte "
                    f"{at}, takes "
                    f"{length + 16} bytes. Received: {size - at}"
                )
            starts.append(at + 12)
            lengths.append(length)
            at += 16 + length
    return np.array(starts, np.int64), np.array(lengths, np.int64)


# -- protocol buffers ------------------------------------------------------------------------------------
def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, wire type and value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind in (1, 5):
            width = 8 if kind == 1 else 4
            value, at = data[at : at + width], at + width
        elif kind == 2:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {kind}")
        if at > len(data):
            raise ValueError("a field ends beyond the record")
        yield key >> 3, kind, value


def parse_example(data: bytes) -> dict[str, tuple[str, Any]]:
    """The features of an Example: for each name its kind (bytes, float, int64) and values.

    Raises:
        ValueError: not an Example.
    """
    features: dict[str, tuple[str, Any]] = {}
    try:
        for number, kind, message in _fields(data):
            if number != 1 or kind != 2:
                raise ValueError(f"field {number}")
            for _, _, entry in _fields(message):
                name, feature = b"", b""
                for number, _, value in _fields(entry):
                    if number == 1:
                        name = value
                    else:
                        feature = value
                features[name.decode()] = _feature(feature)
    except (IndexError, UnicodeDecodeError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error
    return features


def _feature(data: bytes) -> tuple[str, Any]:
    kind, values = "bytes", []
    for number, _, message in _fields(data):
        kind = {1: "bytes", 2: "float", 3: "int64"}[number]
        for _, wire, value in _fields(message):
            if number == 1:
                values.append(value)
            elif number == 2:
                values.append(np.frombuffer(value, "<f4"))
            elif wire == 0:
                values.append(np.array([value], np.uint64).view(np.int64))
            else:
                values.append(_packed_varints(value))
    if kind == "bytes":
        return kind, values
    dtype = np.float32 if kind == "float" else np.int64
    return kind, np.concatenate(values).astype(dtype, copy=False) if values else np.empty(0, dtype)


def _packed_varints(data: bytes) -> np.ndarray:
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return np.array(values, np.uint64).view(np.int64)


class TFRecordDataset(RowFilesDataset):
    """Rows of TFRecord files.

    Args:
        dataset_files: a path, a pattern, or a list of them.
        schema: a `Schema` or the path of one; its columns, types, shapes and number of rows. Default: every
            feature of the first record; bytes as uint8.
        columns_list: the columns wanted, in order; default: all, sorted by name.
        num_samples, shuffle: as `TextFileDataset`'s.
        num_shards, shard_id, shard_equal_rows: shards get whole files; with `shard_equal_rows`, equally many
            neighbouring rows.
        compression_type: not supported.
        num_parallel_workers, cache: accepted.

    Raises:
        ValueError: a pattern without files; a column that does not exist.
        RuntimeError: a file that is truncated, damaged or of another kind, a record that lacks a column or
            does not fit
            its shape; the message names file and record.
    """

    def __init__(
        self,
        dataset_files: Any,
        schema: Schema | str | None = None,
        columns_list: Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        shard_equal_rows: bool = False,
        cache: Any = None,
        compression_type: str | None = None,
    ) -> None:
        if compression_type:
            raise ValueError(
                "TFRecordDataset: compressed files are not supported; unpack them first. "
                "Received: "
                f"compression_type={compression_type!r}"
            )
        if schema is not None and not isinstance(schema, (Schema, str, os.PathLike)):
            raise TypeError(f"TFRecordDataset: schema must be a Schema or a path. Received: {schema!r:.80}")
        super().__init__(dataset_files, shuffle, num_samples, num_shards, shard_id, num_parallel_workers)
        self.schema = (
            schema if isinstance(schema, Schema) else None if schema is None else Schema(str(schema))
        )
        if self.schema is not None and self.num_samples is None:
            self.num_samples = self.schema.num_rows
        if num_shards is not None and not shard_equal_rows:
            if len(self.files) < num_shards:
                raise ValueError(
                    f"TFRecordDataset: there must be a file for each shard, unless "
                    f"shard_equal_rows. "
                    f"Received: {len(self.files)} files for num_shards={num_shards}"
                )
            self.files = self.files[self.shard_id :: num_shards]
            self.num_shards, self.shard_id = 1, 0
        self._places: list[tuple[np.ndarray, np.ndarray]] | None = None
        self._bytes: dict[int, np.ndarray] = {}
        known = self._known_columns()
        self.names = (
            known
            if columns_list is None
            else column_names("TFRecordDataset", "columns_list", columns_list, known)
        )

    def _known_columns(self) -> list[str]:
        if self.schema is not None:
            return list(self.schema.columns)
        for file, (starts, _) in enumerate(self.places):
            if len(starts):
                return sorted(self._example(file, 0))
        raise RuntimeError(f"TFRecordDataset: no records in {', '.join(self.files)}")

    @property
    def places(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Where the records of each file are."""
        if self._places is None:
            self._places = [record_places(path) for path in self.files]
        return self._places

    def get_col_names(self) -> list[str]:
        return list(self.names)

    def _sizes(self) -> list[int]:
        return [len(starts) for starts, _ in self.places]

    def _example(self, file: int, row: int) -> dict[str, tuple[str, Any]]:
        if file not in self._bytes:
            self._bytes[file] = np.asarray(np.memmap(self.files[file], np.uint8, "r"))
        starts, lengths = self.places[file]
        data = self._bytes[file][starts[row] : starts[row] + lengths[row]].tobytes()
        try:
            return parse_example(data)
        except (ValueError, KeyError) as error:
            raise RuntimeError(
                f"TFRecordDataset: {self.files[file]}, record {row}, is damaged or no Example: {error}"
            ) from error

    def _file_rows(self, file: int, rows: np.ndarray) -> Block:
        made = []
        for row in rows.tolist():
            features = self._example(file, row)
            made.append([self._array(file, row, name, features) for name in self.names])
        return Block.of_rows(self.names, made)

    def _array(self, file: int, row: int, name: str, features: dict[str, tuple[str, Any]]) -> np.ndarray:
        place = f"TFRecordDataset: {self.files[file]}, record {row}"
        if name not in features:
            raise RuntimeError(f"{place}, lacks column {name!r}; it has: {', '.join(sorted(features))}")
        kind, values = features[name]
        column = None if self.schema is None else self.schema.columns[name]
        if column is None:
            return np.frombuffer(b"".join(values), np.uint8).copy() if kind == "bytes" else values
        if column["type"] == "string":
            if kind != "bytes":
                raise RuntimeError(f"{place}: column {name!r} must be text. Received: {kind}")
            array = np.array([value.decode("utf-8", "surrogateescape") for value in values])
        elif kind == "bytes":
            array = np.frombuffer(b"".join(values), np.uint8).copy()
            if column["type"] not in ("uint8", "int8"):
                raise RuntimeError(f"{place}: column {name!r} must be {column['type']}. Received: bytes")
        else:
            array = values.astype(column["type"])
        shape = column.get("shape")
        if shape is None:
            return array
        try:
            return array.reshape(shape)
        except ValueError as error:
            raise RuntimeError(
                f"{place}: column {name!r} must have the shape {shape}. Received: {array.size} elements"
            ) from error
