"""The `map` node: operations and Python functions over columns."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.dataset.block import Block, Column, as_array, column_of, describe
from mycelia.dataset.dataset import Dataset, Stream, column_names
from mycelia.dataset.randomness import Draws
from mycelia.dataset.transforms.operation import Operation, flatten


class MapDataset(Dataset):
    """Operations on columns of each row; see `Dataset.map`."""

    def __init__(self, child: Dataset, operations: Any, input_columns: Any = None,
                 output_columns: Any = None) -> None:
        super().__init__(child)
        self.operations: list[Callable[..., Any]] = flatten(operations)
        if not self.operations:
            raise ValueError("map: operations must not be empty")
        for operation in self.operations:
            if not callable(operation):
                raise TypeError("map: operations must be operations of vision or transforms, or functions. "
                                f"Received: {operation!r} (of type {type(operation).__name__})")
        names = child.get_col_names()
        if input_columns is None:
            input_columns = names[:_positional_parameters(self.operations[0])]
        self.inputs = column_names("map", "input_columns", input_columns, names)
        self.outputs = self.inputs if output_columns is None else column_names("map", "output_columns",
                                                                               output_columns)
        kept = [name for name in names if name not in self.inputs]
        for name in self.outputs:
            if name in kept:
                raise ValueError(f"map: output column {name!r} exists already and is not an input of the "
                                 "operation")
        if len(self.inputs) == len(self.outputs):  # results take the inputs' places, else they come first
            renamed = dict(zip(self.inputs, self.outputs))
            self._names = [renamed.get(name, name) for name in names]
        else:
            self._names = self.outputs + kept
        self.pure = child.pure and all(isinstance(operation, Operation) and operation.pure
                                       for operation in self.operations)

    def get_col_names(self) -> list[str]:
        return list(self._names)

    def open(self, draws: Draws) -> Stream:
        return _Mapped(self, self.children[0].open(draws), draws.generator(self))


class _Mapped(Stream):
    def __init__(self, node: MapDataset, inner: Stream, rng: np.random.Generator) -> None:
        self.node, self.inner, self.rng = node, inner, rng

    def close(self) -> None:
        self.inner.close()

    def read(self, count: int) -> Block | None:
        block = self.inner.read(count)
        if block is None:
            return None
        node = self.node
        columns: list[Column] = [block.columns[name] for name in node.inputs]
        for operation in node.operations:
            if isinstance(operation, Operation):
                columns = self._operate(operation, columns)
            else:
                columns = self._call(operation, columns)
        if len(columns) != len(node.outputs):
            raise RuntimeError(f"map: the operations returned {len(columns)} columns for {len(node.outputs)} "
                               f"output_columns ({', '.join(node.outputs)})")
        named = block.columns | dict(zip(node.outputs, columns))
        return Block({name: named[name] for name in node._names}, block.size)

    def _operate(self, operation: Operation, columns: list[Column]) -> list[Column]:
        try:
            return operation.on_columns(columns, self.rng)
        except Exception as error:
            raise RuntimeError(self._message(operation, columns, 0, error)) from error

    def _call(self, function: Callable[..., Any], columns: list[Column]) -> list[Column]:
        rows = []
        for i in range(len(columns[0])):
            try:
                result = function(*[np.asarray(column[i]) for column in columns])
                elements = result if isinstance(result, tuple) else (result,)
                rows.append([as_array(element) for element in elements])
            except Exception as error:
                raise RuntimeError(self._message(function, columns, i, error)) from error
            if len(rows[i]) != len(rows[0]):
                raise RuntimeError(f"map: {_name(function)} returned {len(rows[0])} columns for one row and "
                                   f"{len(rows[i])} for another")
        return [column_of([row[j] for row in rows]) for j in range(len(rows[0]))]

    def _message(self, operation: Callable[..., Any], columns: Sequence[Column], row: int,
                 error: Exception) -> str:
        # Between operations the columns have no names of their own; the inputs' are what the user knows.
        names = self.node.inputs
        if len(names) != len(columns):
            names = [f"#{i}" for i in range(len(columns))]
        got = ", ".join(f"{name!r}: "
                        f"{describe(np.asarray(column[row]))}" for name, column in zip(names, columns))
        return f"map: {_name(operation)} failed on column {got}: {type(error).__name__}: {error}"


def _name(operation: Callable[..., Any]) -> str:
    if isinstance(operation, Operation):
        return type(operation).__name__
    return f"function {getattr(operation, '__qualname__', type(operation).__name__)}"


def _positional_parameters(operation: Callable[..., Any]) -> int:
    """How many columns a function takes: its required positional parameters; operations take one."""
    if isinstance(operation, Operation):
        return 1
    try:
        parameters = inspect.signature(operation).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return max(1, sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters))
