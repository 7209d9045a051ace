"""Reads the text form of a graph (see `mycelia.ir.printer`)."""

from __future__ import annotations

import ast
import base64
import json
import re
from typing import Any, NoReturn

import numpy as np

from mycelia.ir import operator as registry
from mycelia.ir.dtypes import BY_NAME, DType
from mycelia.ir.graph import Graph, Location, Node, Value
from mycelia.ir.printer import UNBOUNDED
from mycelia.ir.types import Dim, Sym, TensorType


class ParseError(SyntaxError):
    """The text is not a graph; the message holds line and column and shows the line."""


def parse(text: str) -> Graph:
    """The graph that a text describes. A result's type may be left out: the operator's rule then gives it.

    Raises:
        ParseError: with line and column.

    Example:
        >>> parse("graph(%x: float32[2]) { %y = Add(%x, %x)  return %y }")
        <graph main: 1 inputs, 1 nodes, 1 outputs>
    """
    parser = _Parser(text)
    graph = parser.graph({})
    parser.expect("end")
    return graph


_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
  | (?P<comment>\#[^\n]*)
  | (?P<value>%(?:"(?:[^"\\\n]|\\.)*"|[\w.]+))
  | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
  | (?P<number>(?:\d+\.(?!\.)\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)
  | (?P<mark>\.\.|//|[-+*=(){}\[\],:<>])
""",
    re.VERBOSE,
)

_COMMENT = re.compile(
    r"""\#\s*
    (?:(?P<file>"(?:[^"\\]|\\.)*"|[^\s\[\]'":]+):(?P<line>\d+)(?:\ in\ (?P<function>\S+))?)?
    \s*(?:\[(?P<origin>.*)\])?\s*""",
    re.VERBOSE,
)


class _Token:
    __slots__ = ("kind", "text", "start")

    def __init__(self, kind: str, text: str, start: int) -> None:
        self.kind, self.text, self.start = kind, text, start


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens: list[_Token] = []
        self.comments: dict[int, _Token] = {}  # by the number of tokens before it
        at = 0
        while at < len(source):
            match = _TOKEN.match(source, at)
            if match is None:
                self.fail(f"unexpected character {source[at]!r}", at)
            kind = match.lastgroup or ""
            token = _Token(match.group() if kind == "mark" else kind, match.group(), at)
            if kind == "comment":
                self.comments[len(self.tokens)] = token
            elif kind != "space":
                self.tokens.append(token)
            at = match.end()
        self.tokens.append(_Token("end", "the end of the text", at))
        self.at = 0
        self.symbols: dict[str, Sym] = {}

    # -- tokens --------------------------------------------------------------------------------------------
    def fail(self, message: str, start: int | None = None) -> NoReturn:
        start = self.tokens[self.at].start if start is None else start
        before = self.source[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        shown = self.source.splitlines()[line - 1] if line <= len(self.source.splitlines()) else ""
        raise ParseError(f"line {line}, column {column}: {message}\n  {shown}\n  {' ' * (column - 1)}^")

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def next(self) -> _Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, kind: str, what: str = "") -> _Token:
        if self.kind != kind:
            self.fail(f"expected {what or repr(kind)}, found {self.tokens[self.at].text!r}")
        return self.next()

    def accept(self, kind: str) -> bool:
        if self.kind != kind:
            return False
        self.at += 1
        return True

    def word(self, text: str) -> bool:
        if self.kind == "name" and self.tokens[self.at].text == text:
            self.at += 1
            return True
        return False

    # -- graphs --------------------------------------------------------------------------------------------
    def graph(self, outer: dict[str, Value]) -> Graph:
        if not self.word("graph"):
            self.fail(f"expected 'graph', found {self.tokens[self.at].text!r}")
        graph = Graph()
        if self.kind in ("name", "string"):
            token = self.next()
            graph.name = json.loads(token.text) if token.kind == "string" else token.text
        if self.accept("["):
            self.symbol_ranges()
        values: dict[str, Value] = {}
        self.expect("(")
        while not self.accept(")"):
            token = self.expect("value", "an input such as %x")
            name = _value_name(token.text)
            if name in values:
                self.fail(f"input {token.text} is there twice", token.start)
            self.expect(":")
            value = graph.input(self.type(), name)
            values[name] = value
            if name.isdigit():
                value.name = ""
            if self.kind != ")":
                self.expect(",", "',' or ')'")
        self.expect("{")
        while not (self.kind == "name" and self.tokens[self.at].text in ("return", "write")):
            if self.kind not in ("value", "name"):
                self.fail(f"expected a node, 'write' or 'return', found {self.tokens[self.at].text!r}")
            self.node(graph, values)
        while self.word("write"):
            token = self.expect("value", "a graph input")
            target = self.lookup(token, values)
            if target.node is not None or target.index >= len(graph.inputs):
                self.fail(
                    f"{token.text} is not an input of the graph, only inputs can be written", token.start
                )
            self.expect("=")
            graph.writes[target.index] = self.operand(values)
        if not self.word("return"):
            self.fail(f"expected 'write' or 'return', found {self.tokens[self.at].text!r}")
        while self.kind == "value":
            graph.outputs.append(self.operand(values))
            if not self.accept(","):
                break
        self.expect("}", "'}' after the results")
        return graph

    def symbol_ranges(self) -> None:
        while not self.accept("]"):
            name = self.expect("name", "a symbol").text
            self.expect(":")
            lo = int(self.expect("number").text)
            self.expect("..")
            hi = int(self.next().text) if self.kind == "number" else UNBOUNDED
            self.symbols[name] = Sym(name, lo, hi, bounded=self.word("bounded"))
            if self.kind != "]":
                self.expect(",", "',' or ']'")

    def node(self, graph: Graph, values: dict[str, Value]) -> None:
        results: list[tuple[_Token, TensorType | None]] = []
        while self.kind == "value":
            token = self.next()
            results.append((token, self.type() if self.accept(":") else None))
            if not self.accept(","):
                break
        if results:
            self.expect("=")
        name = self.expect("name", "an operator")
        try:
            op = registry.get(name.text)
        except KeyError as error:
            self.fail(error.args[0], name.start)
        inputs = []
        self.expect("(")
        while not self.accept(")"):
            inputs.append(self.operand(values))
            if self.kind != ")":
                self.expect(",", "',' or ')'")
        attrs = self.attributes() if self.accept("{") else {}
        loc, origin = self.comment()
        types = tuple(kind for _, kind in results)
        if any(kind is None for kind in types) or not types:
            try:
                inferred = op.output_types(tuple(v.type for v in inputs), attrs)
            except Exception as error:
                self.fail(f"{op.name}: {error}", name.start)
            if len(inferred) != len(types):
                self.fail(f"{op.name} has {len(inferred)} results, {len(types)} names were given", name.start)
            types = tuple(given or found for given, found in zip(types, inferred))
        node = Node(op, inputs, attrs, types, loc, origin)  # type: ignore[arg-type]
        graph.nodes.append(node)
        for (token, _), value in zip(results, node.outputs):
            result = _value_name(token.text)
            if result in values:
                self.fail(f"{token.text} is defined twice", token.start)
            values[result] = value
            if not result.isdigit():
                value.name = result

    def comment(self) -> tuple[Location | None, str]:
        token = self.comments.get(self.at)
        if token is None or "\n" in self.source[self.tokens[self.at - 1].start : token.start]:
            return None, ""
        match = _COMMENT.fullmatch(token.text)
        if match is None:
            return None, ""  # an ordinary remark
        file, line = match["file"], match["line"]
        loc = None
        if file is not None:
            loc = Location(
                json.loads(file) if file.startswith('"') else file, int(line), match["function"] or ""
            )
        return loc, match["origin"] or ""

    def lookup(self, token: _Token, values: dict[str, Value]) -> Value:
        value = values.get(_value_name(token.text))
        if value is None:
            self.fail(f"{token.text} is used before it is defined", token.start)
        return value

    def operand(self, values: dict[str, Value]) -> Value:
        return self.lookup(self.expect("value", "a value such as %x"), values)

    # -- types and attributes ------------------------------------------------------------------------------
    def type(self) -> TensorType:
        token = self.expect("name", "an element type")
        dtype = BY_NAME.get(token.text)
        if dtype is None:
            self.fail(f"no element type {token.text!r}; there are {', '.join(BY_NAME)}", token.start)
        return TensorType(dtype, self.shape())

    def shape(self) -> tuple[Dim, ...]:
        self.expect("[")
        dims: list[Dim] = []
        while not self.accept("]"):
            start = self.tokens[self.at].start
            dim = self.attribute()
            if not isinstance(dim, (int, Sym)) or isinstance(dim, bool):
                self.fail(f"a dimension is a number or a symbol, not {dim!r}", start)
            dims.append(dim)
            if self.kind != "]":
                self.expect(",", "',' or ']'")
        return tuple(dims)

    def attributes(self) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        while not self.accept("}"):
            key = self.expect("name", "an attribute").text
            self.expect("=")
            attrs[key] = self.attribute()
            if self.kind != "}":
                self.expect(",", "',' or '}'")
        return attrs

    def attribute(self) -> Any:
        token = self.tokens[self.at]
        if token.kind == "-":
            self.next()
            return -self.attribute()
        if token.kind == "number":
            self.next()
            return int(token.text) if token.text.isdigit() else float(token.text)
        if token.kind == "string":
            self.next()
            return ast.literal_eval(token.text)
        if token.kind == "(":
            return self.parenthesised()
        if token.kind == "<":
            self.fail("this attribute was a Python object, whose text cannot be read back")
        if token.kind != "name":
            self.fail(f"expected an attribute's value, found {token.text!r}")
        if token.text == "graph":
            return self.graph({})
        self.next()
        word = token.text
        if word in _WORDS:
            return _WORDS[word]
        if word == "array":
            return self.array()
        if word in BY_NAME:
            return TensorType(BY_NAME[word], self.shape()) if self.kind == "[" else BY_NAME[word]
        if word in self.symbols:
            return self.symbols[word]
        self.fail(f"unknown word {word!r}", token.start)
        return None

    def parenthesised(self) -> Any:
        """A tuple, or an expression over symbols such as ``(s0*2)``."""
        self.expect("(")
        if self.accept(")"):
            return ()
        first = self.attribute()
        if self.kind in ("+", "-", "*", "//"):
            op = self.next().kind
            second = self.attribute()
            self.expect(")")
            return {
                "+": lambda: first + second,
                "-": lambda: first - second,
                "*": lambda: first * second,
                "//": lambda: first // second,
            }[op]()
        items = [first]
        while not self.accept(")"):
            self.expect(",", "',' or ')'")
            if self.kind != ")":
                items.append(self.attribute())
        return tuple(items)

    def array(self) -> np.ndarray:
        self.expect("(")
        kind = self.type()
        self.expect(",")
        start = self.tokens[self.at].start
        if self.word("sha256"):
            self.fail(
                "this constant was written as a digest, without its elements; print the graph with full=True",
                start,
            )
        if self.word("base64"):
            data = base64.b64decode(ast.literal_eval(self.expect("string").text))
            array = np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape).copy()
        else:
            array = _array(self.elements(), kind.dtype)
            if array.size != kind.size:
                self.fail(f"{array.size} elements for {kind}", start)
            array = array.reshape(kind.shape)
        self.expect(")")
        return array

    def elements(self) -> list[Any]:
        if not self.accept("["):
            return [self.attribute()]
        items: list[Any] = []
        while not self.accept("]"):
            items += self.elements()
            if self.kind != "]":
                self.expect(",", "',' or ']'")
        return items


_WORDS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}


def _array(elements: list[Any], dtype: DType) -> np.ndarray:
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return np.array([float(e) for e in elements], np.float64).astype(dtype.numpy)
    return np.array(elements, dtype.numpy)


def _value_name(text: str) -> str:
    return json.loads(text[1:]) if text.startswith('%"') else text[1:]
