"""Schema: names, types and shapes of the columns of a file."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType


class Schema:
    """Names, types and shapes of columns.

    Args:
        schema_file: a JSON file with ``columns``: a dict from name to ``{"type": ..., "shape": [...]}`` or
            a list of
            such with a ``name``; and perhaps ``numRows``.

    Raises:
        RuntimeError: a file that does not exist or is no such description.

    Example:
        >>> schema = Schema()
        >>> schema.add_column("label", "int32", [1])
        >>> schema.columns["label"]["shape"]
        [1]
    """

    def __init__(self, schema_file: str | None = None) -> None:
        self.columns: dict[str, dict[str, Any]] = {}
        self.num_rows: int | None = None
        self.dataset_type = ""
        if schema_file is None:
            return
        try:
            with open(schema_file, encoding="utf-8") as text:
                self.from_json(json.load(text))
        except (OSError, ValueError) as error:
            raise RuntimeError(f"Schema: cannot read {os.fspath(schema_file)}: {error}") from error

    def add_column(self, name: str, de_type: Any, shape: list[int] | None = None) -> None:
        """Adds a column of an element type (MindSpore's, or its name) and a shape; -1 for an extent that
        varies.

        Raises:
            TypeError: a name that is no text, or no type.
        """
        if not isinstance(name, str):
            raise TypeError(f"add_column: name must be a text. Received: name={name!r}")
        if isinstance(de_type, DType):
            kind = de_type.name
        elif de_type == "string" or de_type is str:
            kind = "string"
        elif isinstance(de_type, str):
            kind = de_type.removesuffix("_")
        else:
            try:
                kind = dtypes.from_numpy_dtype(de_type).name
            except TypeError as error:
                raise TypeError(
                    f"add_column: de_type must be an element type. Received: {de_type!r}"
                ) from error
        if kind != "string" and not hasattr(np, "bool_" if kind == "bool" else kind):
            raise TypeError(f"add_column: de_type must be an element type. Received: {de_type!r}")
        self.columns[name] = {"type": kind} | ({} if shape is None else {"shape": list(shape)})

    def parse_columns(self, columns: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Adds the columns of a description as in a JSON file.

        Raises:
            RuntimeError: no columns, or one without a type.
            TypeError: neither a dict nor a list.
        """
        if not isinstance(columns, (dict, list)):
            raise TypeError(f"parse_columns: columns must be a dict or a list. Received: {columns!r:.80}")
        pairs = (
            list(columns.items())
            if isinstance(columns, dict)
            else [(column.get("name"), column) for column in columns]
        )
        if not pairs:
            raise RuntimeError("Schema: a description must have columns")
        for name, column in pairs:
            if not isinstance(column, dict) or "type" not in column or name is None:
                raise RuntimeError(
                    f"Schema: column {name!r} must have a name and a type. Received: {column!r}"
                )
            self.add_column(name, column["type"], column.get("shape"))

    def from_json(self, json_obj: dict[str, Any]) -> None:
        """Takes a description as in a JSON file."""
        if not isinstance(json_obj, dict) or "columns" not in json_obj:
            raise RuntimeError("Schema: a description must be a dict with columns")
        self.dataset_type = json_obj.get("datasetType", "")
        rows = json_obj.get("numRows")
        if rows is not None and (type(rows) is not int or rows <= 0):
            raise ValueError(f"Schema: numRows must be a positive integer. Received: numRows={rows!r}")
        self.num_rows = rows
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """The description as JSON."""
        described: dict[str, Any] = {
            "columns": {
                name: {"rank": len(column.get("shape", ())), **column}
                for name, column in self.columns.items()
            }
        }
        if self.num_rows is not None:
            described["numRows"] = self.num_rows
        if self.dataset_type:
            described["datasetType"] = self.dataset_type
        return json.dumps(described, indent=2)
