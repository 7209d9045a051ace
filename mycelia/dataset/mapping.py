"""The `map` node: operations and Python functions over columns."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia.dataset import config
from mycelia.dataset.block import Block, Column, as_array, column_of, describe
from mycelia.dataset.dataset import Dataset, DerivedStream, Stream, column_names
from mycelia.dataset.randomness import Draws
from mycelia.dataset.transforms.operation import BlockRowError, Operation, flatten
from mycelia.dataset.workers import RowError, Serial, checked_workers, user_line, workers_for


class MapDataset(Dataset):
    """Operations on columns of each row; see `Dataset.map`."""

    def __init__(self, child: Dataset, operations: Any, input_columns: Any = None, output_columns: Any = None,
                 num_parallel_workers: int | None = None, python_multiprocessing: bool = False) -> None:
        super().__init__(child)
        self.workers = checked_workers("map", num_parallel_workers)
        if not isinstance(python_multiprocessing, bool):
            raise TypeError("map: python_multiprocessing must be a bool. Received: "
                            f"python_multiprocessing={python_multiprocessing!r}")
        self.processes = python_multiprocessing
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
        self.has_functions = not all(isinstance(operation, Operation) for operation in self.operations)
        # images of Pillow pass from one operation to the next, so that each row goes through all of them
        self.by_rows = any(getattr(operation, "to_pil", False) for operation in self.operations)
        in_processes = self.processes and (self.workers or 1) > 1
        self.pure = child.pure and (in_processes or all(
            isinstance(operation, Operation) and operation.pure for operation in self.operations))

    def get_col_names(self) -> list[str]:
        return list(self._names)

    def open(self, draws: Draws) -> Stream:
        return _Mapped(self, self.children[0].open(draws), draws.generator(self))


class _Rows:
    """The functions of a `map` over one row; worker processes get a copy of it."""

    def __init__(self, operations: list[Callable[..., Any]]) -> None:
        self.operations = operations

    def __call__(self, item: tuple[int, int, list[np.ndarray]]) -> list[np.ndarray]:
        """What operation number `item[0]` makes of the arrays `item[2]`; at -1 all of them, one after
        another, with
        random numbers from the seed `item[1]`."""
        which, seed, values = item[0], item[1], tuple(item[2])
        if which >= 0:
            result = self.operations[which](*values)
        else:
            result, rng = values, np.random.default_rng(seed)
            for operation in self.operations:
                arguments = result if isinstance(result, tuple) else (result,)
                if isinstance(operation, Operation) and len(arguments) == 1:
                    result = operation.sample(arguments[0], rng)
                else:
                    result = operation(*arguments)
        return [as_array(element) for element in (result if isinstance(result, tuple) else (result,))]


class _Mapped(DerivedStream):
    def __init__(self, node: MapDataset, inner: Stream, rng: np.random.Generator) -> None:
        super().__init__(inner)
        self.node, self.rng, self.row = node, rng, 0
        self.runner: Serial | None = None
        if node.by_rows or node.has_functions:
            self.base = int(rng.integers(2**63))
            self.runner = workers_for(_Rows(node.operations), self.base, node.workers, node.processes, "map")

    def close(self) -> None:
        if self.runner is not None:
            self.runner.close()
        super().close()

    def read(self, count: int) -> Block | None:
        while (block := self.inner.read(count)) is not None:
            try:
                result = self._apply(block)
            except RuntimeError:
                if config.get_error_samples_mode() == config.ErrorSamplesMode.RETURN:
                    raise
                result = self._good_rows(block)
            self.row += block.size
            if result is not None:
                return result
        if self.runner is not None:
            self.runner.close()
        return None

    def _good_rows(self, block: Block) -> Block | None:
        """The block row by row; what fails is left out, or the good row before (else after) it takes its
        place."""
        replace = config.get_error_samples_mode() == config.ErrorSamplesMode.REPLACE
        rows: list[Block | None] = []
        for i in range(block.size):
            try:
                rows.append(self._apply(block.slice(i, i + 1)))
            except RuntimeError:
                rows.append(None)
        good = [row for row in rows if row is not None]
        if not good:
            return None
        if not replace:
            return Block.concat(good)
        last, filled = good[0], []
        for row in rows:
            last = row or last
            filled.append(last)
        return Block.concat(filled)

    def _apply(self, block: Block) -> Block:
        node = self.node
        columns: list[Column] = [block.columns[name] for name in node.inputs]
        if node.by_rows:
            columns = self._call(-1, columns)
        else:
            for i, operation in enumerate(node.operations):
                if isinstance(operation, Operation):
                    columns = self._operate(operation, columns)
                else:
                    columns = self._call(i, columns)
        if len(columns) != len(node.outputs):
            raise RuntimeError(f"map: the operations returned {len(columns)} columns for {len(node.outputs)} "
                               f"output_columns ({', '.join(node.outputs)})")
        named = block.columns | dict(zip(node.outputs, columns))
        return Block({name: named[name] for name in node._names}, block.size)

    def _operate(self, operation: Operation, columns: list[Column]) -> list[Column]:
        try:
            return operation.on_columns(columns, self.rng)
        except BlockRowError as error:
            place = "" if operation.pure else user_line(error.error)
            raise self._failure(operation, columns, error.row, error.error, place) from error.error
        except Exception as error:
            for i in range(len(columns[0])):  # the block failed as a whole: which of its rows is it?
                try:
                    operation.on_columns([column[i:i + 1] for column in columns], np.random.default_rng(0))
                except Exception as error_of_row:
                    raise self._failure(operation, columns, i, error_of_row) from error
            raise self._failure(operation, columns, 0, error) from error

    def _call(self, which: int, columns: list[Column]) -> list[Column]:
        """Runs one function, or all operations at -1, row by row."""
        assert self.runner is not None
        function = self.node.operations[which] if which >= 0 else None
        items = [(which, self.base + self.row + i, [np.asarray(column[i]) for column in columns])
                 for i in range(len(columns[0]))]
        try:
            rows = self.runner.map(items, self.row)
        except RowError as error:
            raise self._failure(function, columns, error.row, error.error, error.place) from error.error
        for row in rows:
            if len(row) != len(rows[0]):
                raise RuntimeError(f"map: {_name(function)} returned {len(rows[0])} columns for one row and "
                                   f"{len(row)} for another")
        return [column_of([row[j] for row in rows]) for j in range(len(rows[0]))]

    def _failure(self, operation: Callable[..., Any] | None, columns: Sequence[Column], row: int,
                 error: BaseException, place: str = "") -> RuntimeError:
        # Between operations the columns have no names of their own; the inputs' are what the user knows.
        names = self.node.inputs
        if len(names) != len(columns):
            names = [f"#{i}" for i in range(len(columns))]
        got = ", ".join(f"{name!r}: "
                        f"{describe(np.asarray(column[row]))}" for name, column in zip(names, columns))
        return RuntimeError(f"map: {_name(operation)} failed on row {self.row + row}, column {got}: "
                            f"{type(error).__name__}: {error}{place}")


def _name(operation: Callable[..., Any] | None) -> str:
    if operation is None:
        return "the list of operations"
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
