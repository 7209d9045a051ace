"""Reading MindRecord files, of MindSpore or of `FileWriter`."""

from __future__ import annotations

import bisect
import json
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mycelia.mindrecord.errors import MRMOpenError, ParamValueError
from mycelia.mindrecord.format import INDEX_SUFFIX, TYPES, blob_values, is_blob, unpack


class _ShardFile:
    """One file: its header, the places of its rows, and the mapped bytes."""

    def __init__(self, path: str) -> None:
        self.path = path
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            head = file.read(8)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
            if not 2 <= length <= size - 8:
                raise MRMOpenError(
                    f"{path} is truncated or no MindRecord file: its {size} bytes begin with "
                    f"{head.hex(' ')}, which must be the length of a header"
                )
            text = file.read(length)
        try:
            self.header = json.loads(text)
            schema = self.header["schema"][0]
            self.fields: dict[str, dict[str, Any]] = schema["schema"]
            self.blobs: list[str] = schema["blob_fields"]
            self.description: str = schema.get("desc", "")
            self.header_size, self.page_size = self.header["header_size"], self.header["page_size"]
            self._check()
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise MRMOpenError(
                f"{path} is no MindRecord file, or its header is damaged: {error!r}"
            ) from error
        self.places = self._index(path + INDEX_SUFFIX)
        self.bytes: np.ndarray = np.memmap(path, np.uint8, "r")

    def _check(self) -> None:
        """Raises ValueError where the header describes no fields that a file can have."""
        for name, field in self.fields.items():
            shape = field.get("shape", [])
            if field.get("type") not in TYPES or not all(type(extent) is int for extent in shape):
                raise ValueError(f"field {name!r}: {field!r}")
        if sorted(self.blobs) != sorted(name for name, field in self.fields.items() if is_blob(field)):
            raise ValueError(f"blob fields {self.blobs!r}")
        if not all(type(size) is int and size > 0 for size in (self.header_size, self.page_size)):
            raise ValueError(f"sizes {self.header_size!r} and {self.page_size!r}")

    def _index(self, path: str) -> np.ndarray:
        if not os.path.exists(path):
            raise MRMOpenError(
                f"{path}, the index of {self.path}, does not exist; a MindRecord file is moved together with "
                f"it"
            )
        query = (
            "SELECT PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, "
            "PAGE_OFFSET_BLOB_END FROM INDEXES ORDER BY ROW_ID"
        )
        database = sqlite3.connect(path)
        try:
            places = np.array(database.execute(query).fetchall(), np.int64).reshape(-1, 6)
        except sqlite3.Error as error:
            raise MRMOpenError(f"{path}, the index of {self.path}, is damaged: {error}") from error
        finally:
            database.close()
        return places

    def part(self, row: int, page: int, start: int, end: int) -> bytes:
        at = self.header_size + page * self.page_size
        stop = at + end
        if stop > len(self.bytes):
            raise MRMOpenError(
                f"{self.path} is truncated: row {row} ends at byte {stop}, the file at {len(self.bytes)}"
            )
        data = self.bytes[at + start : stop].tobytes()
        if len(data) < 8 or struct.unpack_from("<Q", data)[0] != len(data) - 8:
            raise MRMOpenError(
                f"{self.path} is damaged in row {row}: at byte {at + start} must stand a length of "
                f"{end - start - 8}. Received: {data[:8].hex(' ')}"
            )
        return data[8:]

    def row(self, row: int) -> dict[str, Any]:
        page, start, end, blob_page, blob_start, blob_end = self.places[row].tolist()
        try:
            values = unpack(self.part(row, page, start, end))
            if self.blobs:
                values |= blob_values(
                    self.fields, self.blobs, self.part(row, blob_page, blob_start, blob_end)
                )
            return {name: values[name] for name in self.fields}
        except (ValueError, KeyError, TypeError) as error:
            raise MRMOpenError(f"{self.path}, row {row}: {error}") from error


class Record:
    """The rows of one or several MindRecord files, one after another.

    Args:
        paths: the files; where it is one, all shards that were written with it are read.
        reader: who asks, for messages.

    Raises:
        ValueError: a file that does not exist.
        MRMOpenError: a file that is truncated, damaged or of another kind; several of unequal schemas.
    """

    def __init__(self, paths: Sequence[str], reader: str) -> None:
        for path in paths:
            if not os.path.isfile(path):
                raise ParamValueError(f"{reader}: the file {path} does not exist or is not a file")
        shards = [_ShardFile(path) for path in paths]
        if len(paths) == 1:
            folder = os.path.dirname(paths[0])
            names = [os.path.basename(name) for name in shards[0].header.get("shard_addresses", [])]
            if os.path.basename(paths[0]) in names and len(names) > 1:
                for name in names:
                    if not os.path.isfile(os.path.join(folder, name)):
                        raise ParamValueError(
                            f"{reader}: {name}, which was written together with {paths[0]}, does not exist"
                        )
                shards = [_ShardFile(os.path.join(folder, name)) for name in names]
        for shard in shards[1:]:
            if shard.fields != shards[0].fields:
                raise MRMOpenError(
                    f"{reader}: files read together must have one schema. Received: {shards[0].fields} in "
                    f"{shards[0].path} and {shard.fields} in {shard.path}"
                )
        self.shards = shards
        self.fields, self.description = shards[0].fields, shards[0].description
        self.starts = np.cumsum([0, *(len(shard.places) for shard in shards)]).tolist()

    def __len__(self) -> int:
        return self.starts[-1]

    def row(self, index: int) -> dict[str, Any]:
        """The values of a row: Python numbers and texts, bytes, and arrays."""
        shard = bisect.bisect_right(self.starts, index) - 1
        return self.shards[shard].row(index - self.starts[shard])

    def array(self, name: str, value: Any) -> np.ndarray:
        """The value of a field as the element of a dataset's row."""
        field = self.fields[name]
        if field["type"] == "bytes":
            return np.array([value], f"S{max(len(value), 1)}")
        if is_blob(field):
            return value
        return np.asarray(value) if field["type"] == "string" else np.asarray(value, field["type"])

    def close(self) -> None:
        for shard in self.shards:
            shard.bytes = np.empty(0, np.uint8)


class FileReader:
    """Reads MindRecord files row by row.

    Args:
        file_name: the file, or a list of files.
        num_consumer: accepted; rows are read from mapped memory.
        columns: the fields wanted; default: all.

    Example:
        >>> reader = FileReader("train.mindrecord")
        >>> for row in reader.get_next():
        ...     print(row["label"])
    """

    def __init__(
        self,
        file_name: str | Sequence[str],
        num_consumer: int = 4,
        columns: Sequence[str] | None = None,
        operator: Any = None,
    ) -> None:
        paths = [file_name] if isinstance(file_name, (str, os.PathLike)) else list(file_name)
        self._record = Record([os.fspath(path) for path in paths], "FileReader")
        for name in columns or ():
            if name not in self._record.fields:
                raise ParamValueError(
                    f"FileReader: column {name!r} does not exist. The columns are: "
                    f"{', '.join(self._record.fields)}"
                )
        self._columns = list(columns) if columns else list(self._record.fields)

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries."""
        for i in range(len(self._record)):
            row = self._record.row(i)
            yield {name: row[name] for name in self._columns}

    def schema(self) -> dict[str, dict[str, Any]]:
        """The fields as `FileWriter.add_schema` took them."""
        return self._record.fields

    def len(self) -> int:
        """Number of rows."""
        return len(self._record)

    def close(self) -> None:
        """Lets the files go."""
        self._record.close()
