"""Cells that hold cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mycelia.nn.cell import Cell


def _outer_prefix(holder: Cell) -> str:
    """What stands before the name of a cell that it holds, in the names of parameters."""
    for name, cell in holder._cells.items():
        for path, parameter in cell.parameters_and_names():
            suffix = f"{name}.{path}"
            if parameter.name.endswith(suffix):
                return parameter.name[: -len(suffix)]
    return ""


class _Row(Cell):
    """A list of cells named by position; parameters follow when positions change."""

    def _named(self) -> list[Cell]:
        return list(self._cells.values())

    def _require_cell(self, cell: Any) -> Cell:
        if not isinstance(cell, Cell):
            raise TypeError(
                f"{self.cls_name}: items must be Cells. Received: {cell!r:.80} (of type "
                f"{type(cell).__name__})"
            )
        return cell

    def _index(self, index: Any) -> int:
        if type(index) is not int:
            raise TypeError(
                f"{self.cls_name}: an index must be an int or a slice. Received: {index!r} (of type "
                f"{type(index).__name__})"
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.cls_name}: index {index} is out of range for {len(self)} cells")
        return index % len(self)

    def _arrange(self, cells: list[Cell]) -> None:
        """Takes over cells in this order, and names their parameters by the new positions."""
        prefix = _outer_prefix(self)
        self._cells.replace({str(i): cell for i, cell in enumerate(cells)})
        if self._auto_prefix:
            for i, cell in enumerate(cells):
                cell.update_parameters_name(f"{prefix}{i}.")

    def append(self, cell: Cell) -> None:
        """Adds a cell at the end."""
        self._require_cell(cell)
        if self._auto_prefix:
            cell.update_parameters_name(f"{_outer_prefix(self)}{len(self)}.")
        self._cells[str(len(self))] = cell

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            part = type(self)(auto_prefix=False) if isinstance(self, CellList) else type(self)()
            part._cells.update({str(i): cell for i, cell in enumerate(self._named()[index])})
            return part
        return self._named()[self._index(index)]

    def __setitem__(self, index: int, cell: Cell) -> None:
        cells = self._named()
        cells[self._index(index)] = self._require_cell(cell)
        self._arrange(cells)

    def __delitem__(self, index: Any) -> None:
        cells = self._named()
        if not isinstance(index, slice):
            index = self._index(index)
        del cells[index]
        self._arrange(cells)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._named())


class SequentialCell(_Row):
    """Applies its cells one after the other.

    Args:
        *args: cells, one list of them, or one dict from name to cell.

    Example:
        >>> SequentialCell(Dense(784, 10), ReLU())
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, cell in args[0].items():
                setattr(self, name, self._require_cell(cell))
            return
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        for cell in args:
            self.append(cell)

    def construct(self, input_data: Any) -> Any:
        for cell in self._cells.values():
            input_data = cell(input_data)
        return input_data


class CellList(_Row):
    """A list of cells, to be used in a network's ``construct``.

    Args:
        *args: cells, or one list of them.
        auto_prefix: whether parameters are named after the positions.
    """

    def __init__(self, *args: Any, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        self.extend(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)

    def extend(self, cells: Iterable[Cell]) -> CellList:
        """Adds cells at the end."""
        for cell in cells:
            self.append(cell)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Adds a cell before a position."""
        cells = self._named()
        cells.insert(index, self._require_cell(cell))
        self._arrange(cells)

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError(
            "CellList is not called itself; call its cells, e.g. `for cell in self.blocks: x = cell(x)`"
        )


class CellDict(Cell):
    """A dict of cells, to be used in a network's ``construct``; parameters are named after the keys.

    Args:
        *args: a dict, an OrderedDict, another CellDict, or a list of (key, cell).
        auto_prefix: whether parameters are named after the keys.

    Raises:
        TypeError: a key that is no string or a value that is no Cell.
        ValueError: an empty key, or one with a dot.
        KeyError: a key that names an attribute of Cells.
    """

    def __init__(self, *args: Any, auto_prefix: bool = True) -> None:
        super().__init__(auto_prefix)
        if len(args) > 1:
            raise TypeError(f"CellDict: takes one dict or list of pairs. Received: {len(args)} arguments")
        if args:
            self.update(args[0])

    def _require(self, key: Any, cell: Any) -> None:
        if not isinstance(key, str) or not isinstance(cell, Cell):
            raise TypeError(
                f"CellDict: needs strings and Cells. Received: {key!r}: {cell!r:.80} (of types "
                f"{type(key).__name__} and {type(cell).__name__})"
            )
        if not key or "." in key:
            raise ValueError(f"CellDict: a key must be a non-empty string without a dot. Received: {key!r}")
        if hasattr(type(self), key):
            raise KeyError(f"CellDict: {key!r} is an attribute of Cells; take another key")

    def __setitem__(self, key: str, cell: Cell) -> None:
        self._require(key, cell)
        if self._auto_prefix:
            cell.update_parameters_name(f"{_outer_prefix(self)}{key}.")
        self._cells[key] = cell

    def __getitem__(self, key: str) -> Any:
        return self._cells[key]

    def __delitem__(self, key: str) -> None:
        del self._cells[key]

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._cells))

    def keys(self) -> Any:
        return self._cells.keys()

    def values(self) -> Any:
        return self._cells.values()

    def items(self) -> Any:
        return self._cells.items()

    def clear(self) -> None:
        """Takes out all cells."""
        self._cells.clear()

    def pop(self, key: str) -> Cell:
        """Takes out a cell and returns it."""
        return self._cells.pop(key)

    def update(self, cells: Any) -> None:  # type: ignore[override]
        """Adds or replaces cells."""
        if not isinstance(cells, (dict, CellDict)) and not (
            isinstance(cells, (list, tuple))
            and all(isinstance(c, (list, tuple)) and len(c) == 2 for c in cells)
        ):
            raise TypeError(
                f"CellDict: needs a dict, a CellDict or a list of (key, cell). Received: {cells!r:.80} (of "
                f"type "
                f"{type(cells).__name__})"
            )
        for key, cell in cells.items() if isinstance(cells, (dict, CellDict)) else cells:
            self[key] = cell

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError(
            "CellDict is not called itself; call its cells, e.g. `self.blocks['conv'](x)`"
        )
