"""FileWriter: makes MindRecord files."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from mycelia.mindrecord.errors import (
    MRMDefineIndexError,
    MRMInvalidSchemaError,
    MRMOpenError,
    MRMValidateDataError,
    ParamTypeError,
    ParamValueError,
)
from mycelia.mindrecord.format import HEADER_SIZE, INDEX_SUFFIX, PAGE_SIZE, TYPES, blob_part, is_blob, pack

_SQL_TYPES = {"string": "TEXT", "float32": "REAL", "float64": "REAL"}


class _Shard:
    """One file: pages are filled in memory and written when full; the index is made at the end."""

    def __init__(self, path: str, number: int, page_size: int, header_size: int) -> None:
        self.path, self.number, self.page_size, self.header_size = path, number, page_size, header_size
        self.file: BinaryIO = open(path, "w+b")  # noqa: SIM115  closed by finish
        self.blob, self.raw = bytearray(), bytearray()
        self.pages: list[dict[str, Any]] = []
        self.rows: list[list[Any]] = []  # ROW_ID to PAGE_OFFSET_BLOB_END, then the values of the index fields
        self.group, self.group_start, self.groups = 0, 0, [{"id": 0, "offset": 0}]
        self.raw_start, self.raw_pages = 0, 0

    def add(self, raw: bytes, blob: bytes, keys: list[Any]) -> None:
        raw, blob = struct.pack("<Q", len(raw)) + raw, struct.pack("<Q", len(blob)) + blob
        if max(len(raw), len(blob)) > self.page_size:
            raise MRMValidateDataError(
                f"FileWriter: a row must fit into a page of {self.page_size} bytes; see "
                f"set_page_size. Received: row {len(self.rows)} of {max(len(raw), len(blob))} bytes"
            )
        if len(self.raw) + len(raw) > self.page_size:
            self.end_group()
            self.end_raw()
        elif len(self.blob) + len(blob) > self.page_size:
            self.end_group()
        self.rows.append(
            [
                len(self.rows),
                -1,
                len(self.raw),
                len(self.raw) + len(raw),
                self.group,
                -1,
                len(self.blob),
                len(self.blob) + len(blob),
                *keys,
            ]
        )
        self.raw += raw
        self.blob += blob

    def end_group(self) -> None:
        """Writes the blob page; its rows are one group."""
        if self.group_start == len(self.rows):
            return
        page = self.write(
            self.blob, "BLOB_DATA", self.group, [{"id": 0, "offset": 0}], self.group_start, len(self.rows)
        )
        for row in self.rows[self.group_start :]:
            row[5] = page
        self.group, self.group_start = self.group + 1, len(self.rows)
        self.groups.append({"id": self.group, "offset": len(self.raw)})

    def end_raw(self) -> None:
        if self.raw_start == len(self.rows):
            return
        groups = [group for group in self.groups if group["id"] < self.group]
        page = self.write(self.raw, "RAW_DATA", self.raw_pages, groups, 0, 0)
        for row in self.rows[self.raw_start :]:
            row[1] = page
        self.raw_pages, self.raw_start = self.raw_pages + 1, len(self.rows)
        self.groups = [{"id": self.group, "offset": 0}]

    def write(
        self, data: bytearray, kind: str, kind_id: int, groups: list[dict[str, int]], start: int, end: int
    ) -> int:
        page = len(self.pages)
        self.pages.append(
            {
                "end_row_id": end,
                "page_id": page,
                "page_size": len(data),
                "page_type": kind,
                "page_type_id": kind_id,
                "row_group_ids": groups,
                "shard_id": self.number,
                "start_row_id": start,
            }
        )
        self.file.seek(self.header_size + page * self.page_size)
        self.file.write(data)
        data.clear()
        return page

    def finish(self, header: dict[str, Any], index: list[tuple[str, str]]) -> None:
        self.end_group()
        self.end_raw()
        text = json.dumps(
            header | {"page": self.pages, "shard_id": self.number}, separators=(",", ":")
        ).encode()
        if len(text) + 8 > self.header_size:
            raise MRMOpenError(
                f"FileWriter: the header of {self.path} takes {len(text)} bytes, more than the "
                f"{self.header_size} reserved; see set_header_size"
            )
        self.file.seek(0)
        self.file.write(struct.pack("<Q", len(text)) + text)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        self.index(index)

    def index(self, fields: list[tuple[str, str]]) -> None:
        path = self.path + INDEX_SUFFIX
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        database = sqlite3.connect(path)
        try:
            names = ["ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END"]
            names += ["ROW_GROUP_ID", "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END"]
            columns = [f"{name} INT NOT NULL" for name in names]
            columns += [
                f'INC_{i} INT, "{name}_0" {_SQL_TYPES.get(kind, "INTEGER")}'
                for i, (name, kind) in enumerate(fields)
            ]
            keys = ", ".join(["ROW_ID", *(f"INC_{i}" for i in range(len(fields)))])
            database.execute(f"CREATE TABLE INDEXES({', '.join(columns)}, PRIMARY KEY({keys}))")
            database.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
            database.execute("INSERT INTO SHARD_NAME VALUES (?)", (os.path.basename(self.path),))
            marks = ", ".join("?" * (len(names) + 2 * len(fields)))
            database.executemany(
                f"INSERT INTO INDEXES VALUES ({marks})",
                ([*row[:8], *(part for key in row[8:] for part in (0, key))] for row in self.rows),
            )
            database.commit()
        finally:
            database.close()


class FileWriter:
    """Writes rows into MindRecord files, which `MindDataset` reads; MindSpore reads them too.

    Args:
        file_name: path of the file; with several shards, of each but for its number at the end.
        shard_num: files that the rows are dealt out to, from 1 to 1000.
        overwrite: whether files that exist are replaced.

    Raises:
        ParamValueError: an argument out of range.
        RuntimeError: a file that exists.

    Example:
        >>> writer = FileWriter("train.mindrecord", overwrite=True)
        >>> writer.add_schema({"label": {"type": "int32"}, "image": {"type": "bytes"}}, "pictures")
        0
        >>> writer.write_raw_data([{"label": 3, "image": b"..."}])
        >>> writer.commit()
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        if not isinstance(file_name, (str, os.PathLike)) or not os.fspath(file_name):
            raise ParamValueError(f"FileWriter: file_name must be a path. Received: file_name={file_name!r}")
        if type(shard_num) is not int or not 1 <= shard_num <= 1000:
            raise ParamValueError(
                f"FileWriter: shard_num must be an integer from 1 to 1000. Received: shard_num={shard_num!r}"
            )
        if not isinstance(overwrite, bool):
            raise ParamValueError(f"FileWriter: overwrite must be a bool. Received: overwrite={overwrite!r}")
        name, digits = os.fspath(file_name), len(str(shard_num - 1))
        self._paths = [name] if shard_num == 1 else [f"{name}{i:0{digits}}" for i in range(shard_num)]
        for path in self._paths:
            if not overwrite and (os.path.exists(path) or os.path.exists(path + INDEX_SUFFIX)):
                raise RuntimeError(f"FileWriter: {path} exists already; overwrite=True replaces it")
        self._schema: dict[str, dict[str, Any]] | None = None
        self._description = ""
        self._index: list[str] | None = None
        self._page_size, self._header_size = PAGE_SIZE, HEADER_SIZE
        self._shards: list[_Shard] | None = None
        self._committed = False

    def add_schema(self, content: dict[str, dict[str, Any]], desc: str | None = None) -> int:
        """The fields of a row: for each name a ``type`` (bytes, string, int32, int64, float32, float64)
        and, for
        an array, its ``shape`` with at most one -1.

        Raises:
            MRMInvalidSchemaError: not such a description.
        """
        if not isinstance(content, dict) or not content:
            raise MRMInvalidSchemaError(
                f"add_schema: content must be a dict of fields. Received: {content!r:.80}"
            )
        for name, field in content.items():
            if not isinstance(name, str) or not name.replace("_", "").isalnum():
                raise MRMInvalidSchemaError(
                    "add_schema: names of fields must be of letters, digits and underscores. "
                    f"Received: {name!r}"
                )
            if (
                not isinstance(field, dict)
                or field.get("type") not in TYPES
                or set(field) - {"type", "shape"}
            ):
                raise MRMInvalidSchemaError(
                    f"add_schema: field {name!r} must have a type (one of {', '.join(TYPES)}) and, "
                    f"if an array, a shape. Received: {field!r}"
                )
            shape = field.get("shape", [])
            if (
                not isinstance(shape, (list, tuple))
                or list(shape).count(-1) > 1
                or any(type(extent) is not int or extent < -1 or not extent for extent in shape)
                or "shape" in field
                and field["type"] in ("bytes", "string")
            ):
                raise MRMInvalidSchemaError(
                    f"add_schema: the shape of field {name!r} must be a list of extents, at most "
                    f"one of them -1, and bytes and text have none. Received: {field!r}"
                )
        self._schema, self._description = {key: dict(content[key]) for key in sorted(content)}, desc or ""
        return 0

    def add_index(self, index_fields: Sequence[str]) -> None:
        """Fields that the index can be searched by; default: all single numbers and texts."""
        if not isinstance(index_fields, (list, tuple)):
            raise ParamTypeError(f"add_index: index_fields must be a list. Received: {index_fields!r}")
        for name in index_fields:
            field = (self._schema or {}).get(name)
            if field is None or is_blob(field):
                raise MRMDefineIndexError(
                    "add_index: index_fields must be fields of the schema that are single numbers or "
                    f"texts. Received: {name!r}"
                )
        self._index = sorted(index_fields)

    def set_header_size(self, header_size: int) -> None:
        """Bytes reserved for the header: a power of two from 16 KB to 128 MB."""
        self._header_size = _power_of_two("set_header_size", "header_size", header_size, 1 << 14, 1 << 27)

    def set_page_size(self, page_size: int) -> None:
        """Bytes of a page, the most that a row may take: a power of two from 32 KB to 256 MB."""
        self._page_size = _power_of_two("set_page_size", "page_size", page_size, 1 << 15, 1 << 28)

    def write_raw_data(
        self, raw_data: Sequence[dict[str, Any]] | dict[str, Any], parallel_writer: bool = False
    ) -> None:
        """Adds rows: dictionaries from the schema's fields to values. Shards get neighbouring rows of each
        call.

        Raises:
            ParamTypeError: not a list of dictionaries.
            MRMValidateDataError: a row that lacks a field, or a value that does not fit its type.
        """
        if self._schema is None:
            raise MRMInvalidSchemaError("write_raw_data: add_schema must be called first")
        if self._committed:
            raise RuntimeError("write_raw_data: the files were committed already")
        rows = [raw_data] if isinstance(raw_data, dict) else raw_data
        if not isinstance(rows, (list, tuple)) or not all(isinstance(row, dict) for row in rows):
            raise ParamTypeError(
                f"write_raw_data: raw_data must be a list of dictionaries. Received: {raw_data!r:.80}"
            )
        if self._shards is None:
            self._shards = [
                _Shard(path, i, self._page_size, self._header_size) for i, path in enumerate(self._paths)
            ]
        index = self._index_fields()
        blobs = [name for name, field in self._schema.items() if is_blob(field)]
        each = -(-len(rows) // len(self._shards))
        for i, row in enumerate(rows):
            scalars = {name: self._scalar(i, name, row) for name in self._schema if name not in blobs}
            try:
                blob = blob_part(self._schema, blobs, row)
            except KeyError as error:
                raise MRMValidateDataError(
                    f"write_raw_data: row {i} lacks field {error}; it has: {', '.join(row)}"
                ) from error
            except (TypeError, ValueError) as error:
                raise MRMValidateDataError(
                    f"write_raw_data: row {i} does not fit the schema: {error}"
                ) from error
            self._shards[i // each].add(pack(scalars), blob, [scalars[name] for name in index])

    def _scalar(self, row_number: int, name: str, row: dict[str, Any]) -> Any:
        assert self._schema is not None
        kind = self._schema[name]["type"]
        if name not in row:
            raise MRMValidateDataError(
                f"write_raw_data: row {row_number} lacks field {name!r}; it has: {', '.join(row)}"
            )
        value = row[name]
        if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
            value = value.item()
        wanted = str if kind == "string" else (int, float) if kind.startswith("float") else int
        if not isinstance(value, wanted):
            raise MRMValidateDataError(
                f"write_raw_data: field {name!r} of row {row_number} must be {kind}. Received: "
                f"{value!r:.80} (of type {type(value).__name__})"
            )
        return float(value) if kind.startswith("float") else value

    def _index_fields(self) -> list[str]:
        assert self._schema is not None
        return (
            self._index
            if self._index is not None
            else [name for name, field in self._schema.items() if not is_blob(field)]
        )

    def commit(self) -> None:
        """Writes headers and indices; the files are whole from then on."""
        if self._schema is None:
            raise MRMInvalidSchemaError("commit: add_schema must be called first")
        if self._shards is None:
            self.write_raw_data([])
        assert self._shards is not None
        index = self._index_fields()
        blobs = [name for name, field in self._schema.items() if is_blob(field)]
        header = {
            "compression_size": 0,
            "header_size": self._header_size,
            "index_fields": [{"index_field": name, "schema_id": 0} for name in index],
            "page_size": self._page_size,
            "schema": [{"blob_fields": blobs, "desc": self._description, "schema": self._schema}],
            "shard_addresses": [os.path.basename(path) for path in self._paths],
            "statistics": None,
            "version": "3.0",
        }
        for shard in self._shards:
            shard.finish(header, [(name, self._schema[name]["type"]) for name in index])
        self._committed = True

    @classmethod
    def open_for_append(cls, file_name: str) -> FileWriter:
        """A writer that adds rows to the files that one before has written, which it copies anew at
        `commit`."""
        from mycelia.mindrecord.reader import Record

        record = Record([file_name], "FileWriter.open_for_append")
        writer = cls(file_name, overwrite=True)
        writer._paths = [shard.path for shard in record.shards]
        writer._page_size, writer._header_size = record.shards[0].page_size, record.shards[0].header_size
        writer.add_schema(record.fields, record.description)
        writer.add_index([field["index_field"] for field in record.shards[0].header["index_fields"]])
        rows = [record.row(i) for i in range(len(record))]
        record.close()
        writer.write_raw_data(rows)
        return writer


def _power_of_two(function: str, name: str, value: Any, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high or value & (value - 1):
        raise ParamValueError(
            f"{function}: {name} must be a power of two from {low} to {high}. Received: {name}={value!r}"
        )
    return value
