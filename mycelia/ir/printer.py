"""The text form of a graph. `mycelia.ir.parser` reads it back to an equal graph.

Example:
    graph net[s0: 1..64](%x: float32[s0, 3], %w: float32[3, 4]) {
      %0: float32[s0, 4] = MatMul(%x, %w) {transpose_a=False, transpose_b=False}  # net.py:12 in construct
      write %w = %1
      return %0
    }
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mycelia.ir.dtypes import DType, from_numpy_dtype
from mycelia.ir.graph import Graph, Location, Node, Value
from mycelia.ir.types import Sym, TensorType

UNBOUNDED = 2**62  # the default upper end of a symbol's range, which the text leaves out
_INLINE = 16  # arrays of at most so many elements are written out
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_VALUE_NAME = re.compile(r"[\w.]+")
_PLAIN_FILE = re.compile(r"[^\s\[\]'\":]+")


def to_text(graph: Graph, *, full: bool = False, locations: bool = True, canonical: bool = False) -> str:
    """The graph as text.

    Args:
        full: writes the elements of every constant; otherwise arrays of more than 16 elements become a
        digest.
        locations: writes the user's file and line, and the pass that made a node.
        canonical: names, locations and origins are left out and all constants are written in full, so that
        two graphs of
            the same structure have the same text.
    """
    printer = _Printer(full or canonical, locations and not canonical, canonical)
    return "\n".join(printer.graph(graph, "", header=True))


def array_text(array: np.ndarray, full: bool = True) -> str:
    """A NumPy array as ``array(float32[2], [1.0, 2.0])``; large ones as base64 data, or as a digest unless
    ``full``.
    """
    array = np.asarray(array)
    kind = f"{from_numpy_dtype(array.dtype).name}[{', '.join(map(str, array.shape))}]"
    if array.size <= _INLINE:
        elements = [element_text(x) for x in array.reshape(-1)]
        if _reads_back(elements, array):
            return f"array({kind}, {_nested(iter(elements), array.shape)})"
    data = np.ascontiguousarray(array).tobytes()
    if full or array.size <= _INLINE:
        return f"array({kind}, base64 '{base64.b64encode(data).decode()}')"
    return f"array({kind}, sha256 '{hashlib.sha256(data).hexdigest()[:16]}')"


def element_text(x: np.generic) -> str:
    """The shortest text that reads back to the same number."""
    if x.dtype.kind == "b":
        return str(bool(x))
    if x.dtype.kind in "iu":
        return str(int(x))
    short = str(x)
    with np.errstate(over="ignore"):
        exact = x.dtype.type(float(short)) == x
    return _as_float(short if exact else repr(float(x)))


def _as_float(text: str) -> str:
    return text if any(c in text for c in ".einf") else text + ".0"


def _reads_back(elements: list[str], array: np.ndarray) -> bool:
    """False for a NaN with a payload of its own, whose bits the decimal text would lose."""
    if array.dtype.kind in "biu":
        return True
    with np.errstate(over="ignore"):
        again = np.array([float(e) for e in elements], np.float64).astype(array.dtype)
    return again.tobytes() == np.ascontiguousarray(array).tobytes()


def _nested(elements: Iterator[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return next(elements)
    return "[" + ", ".join(_nested(elements, shape[1:]) for _ in range(shape[0])) + "]"


def location_text(loc: Location | None, origin: str) -> str:
    """What stands behind ``#``: ``net.py:12 in construct [simplify: x*1]``."""
    parts = []
    if loc is not None:
        name = loc.file if _PLAIN_FILE.fullmatch(loc.file) else json.dumps(loc.file)
        parts.append(f"{name}:{loc.line}" + (f" in {loc.function}" if loc.function else ""))
    if origin:
        parts.append(f"[{origin}]")
    return " ".join(parts)


def atoms(graph: Graph) -> dict[str, Sym]:
    """The symbols that occur in a graph's types and attributes (those of nested graphs too), by name."""
    found: dict[str, Sym] = {}

    def visit(item: Any) -> None:
        if isinstance(item, Sym):
            if item.parts is None:
                found.setdefault(item.text, item)
            else:
                visit(item.parts[1])
                visit(item.parts[2])
        elif isinstance(item, TensorType):
            visit(item.shape)
        elif isinstance(item, tuple):
            for part in item:
                visit(part)
        elif isinstance(item, Graph):
            for value in item.inputs:
                visit(value.type)
            for node in item.nodes:
                for attr in node.attrs.values():
                    visit(attr)
                for value in node.outputs:
                    visit(value.type)

    visit(graph)
    return found


class _Printer:
    def __init__(self, full: bool, locations: bool, canonical: bool) -> None:
        self.full, self.locations, self.canonical = full, locations, canonical

    def graph(self, graph: Graph, indent: str, header: bool) -> Iterable[str]:
        names = self.names(graph)
        inputs = ", ".join(f"{names[v]}: {v.type}" for v in graph.inputs)
        title = "graph" if self.canonical else f"graph {_identifier(graph.name)}"
        yield f"{title}{self.symbols(graph) if header else ''}({inputs}) {{"
        for node in graph.nodes:
            yield from self.node(node, names, indent + "  ")
        for index, value in graph.writes.items():
            yield f"{indent}  write {names[graph.inputs[index]]} = {names[value]}"
        yield f"{indent}  return {', '.join(names[v] for v in graph.outputs)}".rstrip()
        yield indent + "}"

    def symbols(self, graph: Graph) -> str:
        found = atoms(graph)
        texts = [
            f"{s.text}: {s.lo}..{'' if s.hi == UNBOUNDED else s.hi}{' bounded' if s.bounded else ''}"
            for s in found.values()
        ]
        return f"[{', '.join(texts)}]" if texts else ""

    def names(self, graph: Graph) -> dict[Value, str]:
        """Inputs and named results keep their names where they are unique; the others count up."""
        table: dict[Value, str] = {}
        taken: set[str] = set()
        count = 0
        values = list(graph.inputs)
        for node in graph.nodes:
            values += node.outputs
        if not self.canonical:
            for value in values:
                if value.name and not value.name.isdigit() and value.name not in taken:
                    taken.add(value.name)
                    table[value] = "%" + (
                        value.name if _VALUE_NAME.fullmatch(value.name) else json.dumps(value.name)
                    )
        for value in values:
            if value not in table:
                table[value] = f"%{count}"
                count += 1
        return table

    def node(self, node: Node, names: dict[Value, str], indent: str) -> Iterable[str]:
        results = ", ".join(f"{names[v]}: {v.type}" for v in node.outputs)
        operands = ", ".join(names.get(v) or f"%<not in this graph: {v.type}>" for v in node.inputs)
        text = f"{indent}{results}{' = ' if results else ''}{node.op.name}({operands})"
        where = location_text(node.loc, node.origin) if self.locations else ""
        tail = f"  # {where}" if where else ""
        attrs = node.attrs
        if not attrs:
            yield text + tail
            return
        if not any(isinstance(a, Graph) for a in attrs.values()):
            yield f"{text} {{{', '.join(f'{k}={self.attr(a)}' for k, a in attrs.items())}}}{tail}"
            return
        yield text + " {"
        for key, attr in attrs.items():
            if isinstance(attr, Graph):
                first, *rest = self.graph(attr, indent + "  ", header=False)
                yield f"{indent}  {key}={first}"
                yield from rest[:-1]
                yield rest[-1] + ","
            else:
                yield f"{indent}  {key}={self.attr(attr)},"
        yield indent + "}" + tail

    def attr(self, value: Any) -> str:
        if isinstance(value, np.ndarray):
            return array_text(value, self.full)
        if isinstance(value, np.generic):
            return f"array({from_numpy_dtype(value.dtype).name}[], {element_text(value)})"
        if isinstance(value, DType):
            return value.name
        if isinstance(value, tuple):
            return f"({', '.join(self.attr(v) for v in value)}{',' if len(value) == 1 else ''})"
        if value is None or isinstance(value, (bool, int, float, str, TensorType, Sym)):
            return str(value) if isinstance(value, (TensorType, Sym)) else repr(value)
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"<object {json.dumps(name)}>"


def _identifier(name: str) -> str:
    return name if _NAME.fullmatch(name) else json.dumps(name)
