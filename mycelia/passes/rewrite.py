"""The rewriting engine: rules of pattern, check and replacement, applied in one sweep from inputs to outputs.

A pattern is written as text. ``outer:Transpose(inner:Transpose(x))`` matches a Transpose whose operand is the
result of another; the rule's function gets a `Match` with the nodes ``outer`` and ``inner`` and the value
``x``. A number matches a constant whose elements all equal it, ``c:*`` any constant, and the operands of
commutative operators match in either order. A rule returns the value that takes the node's place, or says why
it does not apply with ``m.fail(reason)``.

Example:
    >>> @rule("Neg(Neg(x))")
    ... def double_negation(m):
    ...     return m.x
    >>> Rewriter(RuleSet([double_negation])).run(graph)
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from mycelia.ir.graph import Graph, Node, Value

COMMUTATIVE = frozenset(["Add", "Mul", "Maximum", "Minimum", "LogicalAnd", "LogicalOr", "LogicalXor",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "NotEqual"])


@dataclass(frozen=True)
class Refused:
    """A match whose check failed: which rule, where, and why."""

    rule: str
    node: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.node}: {self.reason}"


Result = Union[Value, Sequence[Value], Refused, None]


class Match:
    """What a pattern bound: nodes and values by the names in the pattern, plus ``node``, the root.

    New nodes are made with `add` and `constant`; they take the root's location and the rule's name as origin.
    """

    def __init__(self, rewriter: Rewriter, rule: Rule, node: Node, bound: dict[str, Any]) -> None:
        self.node = node
        self._rewriter, self._rule = rewriter, rule
        self.__dict__.update(bound)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"rule {self._rule.name}: the pattern binds no {name!r}")

    def fail(self, reason: str) -> Refused:
        """The rule does not apply here; the reason is recorded."""
        return Refused(self._rule.name, repr(self.node), reason)

    def add(self, op: str, *inputs: Value, **attrs: Any) -> Value:
        """The first result of a new node, which is rewritten in turn."""
        return self._rewriter.emit(op, inputs, attrs, self.node, self._rule.name)[0]

    def constant(self, array: Any) -> Value:
        return self.add("Constant", value=np.asarray(array))

    def single_use(self, value: Value) -> bool:
        """Whether the value had one reader, and is no result of the graph, when the sweep began."""
        return self._rewriter.uses.get(value, 0) <= 1


@dataclass
class Rule:
    """A pattern and the function that checks a match and builds the replacement."""

    name: str
    pattern: Pattern
    apply: Callable[[Match], Result]


def rule(pattern: str, name: str = "") -> Callable[[Callable[[Match], Result]], Rule]:
    """Makes a `Rule` of a function; its name is the function's, spaces for underscores."""
    def make(function: Callable[[Match], Result]) -> Rule:
        return Rule(
            name or function.__name__.strip("_").replace("_", " "), compile_pattern(pattern), function
        )
    return make


class RuleSet:
    """Rules indexed by the operator at the root of their patterns."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.by_operator: dict[str, list[Rule]] = {}
        for entry in rules:
            for name in entry.pattern.operators:
                self.by_operator.setdefault(name, []).append(entry)


class Rewriter:
    """Applies rules to every node, operands first; a replacement is itself rewritten.

    Attributes:
        refused: the matches whose checks failed.
        applied: how often each rule did something.
    """

    def __init__(self, rules: RuleSet, label: str = "") -> None:
        self.rules, self.label = rules.by_operator, label
        self.refused: list[Refused] = []
        self.applied: dict[str, int] = {}
        self.uses: dict[Value, int] = {}

    def run(self, graph: Graph) -> bool:
        """Rewrites a graph in place and says whether anything changed. Nodes that lost their readers stay
        behind for `passes.dead_code`."""
        self.uses = count_uses(graph)
        self.replaced: dict[Value, Value] = {}
        self.nodes: list[Node] = []
        self.depth = 0
        self.begin(graph)
        replaced = self.replaced
        for node in graph.nodes:
            if replaced:
                for value in node.inputs:
                    if value in replaced:
                        node.inputs = [replaced.get(v, v) for v in node.inputs]
                        break
            results = self.visit(node)
            if results is not None:
                replaced.update(zip(node.outputs, results))
        changed = bool(replaced) or len(self.nodes) != len(graph.nodes)
        graph.nodes = self.nodes
        if replaced:
            graph.outputs = [replaced.get(v, v) for v in graph.outputs]
            graph.writes = {i: replaced.get(v, v) for i, v in graph.writes.items()}
        return changed

    def begin(self, graph: Graph) -> None:
        """For subclasses: called before a sweep."""

    def visit(self, node: Node) -> Sequence[Value] | None:
        """Values that take the place of a node's results; None when the node stays and was appended."""
        candidates = self.rules.get(node.op.name)
        if candidates is not None and self.depth < 16:
            for entry in candidates:
                result = self.attempt(entry, node)
                if result is not None:
                    return result
        return self.keep(node)

    def keep(self, node: Node) -> Sequence[Value] | None:
        self.nodes.append(node)
        return None

    def attempt(self, entry: Rule, node: Node) -> Sequence[Value] | None:
        for bound in entry.pattern.match(node):
            result = entry.apply(Match(self, entry, node, bound))
            if result is None:
                continue
            if isinstance(result, Refused):
                self.refused.append(result)
                continue
            self.applied[entry.name] = self.applied.get(entry.name, 0) + 1
            return (result,) if isinstance(result, Value) else result
        return None

    def emit(
        self, op: str, inputs: Sequence[Value], attrs: dict[str, Any], at: Node, origin: str
    ) -> Sequence[Value]:
        """The results of a new node, or of what the rules make of it."""
        node = make_node(op, inputs, attrs, at, f"{self.label}: {origin}" if self.label else origin)
        self.depth += 1
        results = self.visit(node)
        self.depth -= 1
        return node.outputs if results is None else results


def make_node(op: str, inputs: Sequence[Value], attrs: dict[str, Any], at: Node | None, origin: str) -> Node:
    """A node outside any graph, with types by its operator's rule and the location of the node that it stands
    for.
    """
    from mycelia.ir import operator as registry

    operator = registry.get(op)
    types = operator.output_types(tuple(v.type for v in inputs), attrs)
    return Node(operator, list(inputs), attrs, types, at.loc if at is not None else None, origin)


def count_uses(graph: Graph) -> dict[Value, int]:
    """How often each value is read; results of the graph count as well."""
    uses: dict[Value, int] = {}
    for node in graph.nodes:
        for value in node.inputs:
            uses[value] = uses.get(value, 0) + 1
    for value in graph.results():
        uses[value] = uses.get(value, 0) + 1
    return uses


# -- patterns
# ------------------------------------------------------------------------------------------------------
@dataclass
class Pattern:
    """An operator applied to sub-patterns: names, numbers or patterns."""

    operators: tuple[str, ...]
    label: str
    operands: tuple[Any, ...]

    def match(self, node: Node) -> Iterator[dict[str, Any]]:
        """The ways in which a node fits, each as names bound to nodes and values."""
        return self.match_node(node, {})

    def match_node(self, node: Node, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if node.op.name not in self.operators:
            return
        if self.label:
            bound = {**bound, self.label: node}
        if len(self.operands) != len(node.inputs):
            return
        yield from _match_all(self.operands, node.inputs, bound)
        if len(self.operands) == 2 and node.op.name in COMMUTATIVE and self.operands[0] != self.operands[1]:
            yield from _match_all(self.operands, node.inputs[::-1], bound)

    def match_value(self, value: Value, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if value.node is not None and value.index == 0:
            yield from self.match_node(value.node, bound)


@dataclass(frozen=True)
class _Name:
    """Matches any value; the same name twice, the same value."""

    name: str

    def match_value(self, value: Value, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self.name in bound:
            if bound[self.name] is value:
                yield bound
        else:
            yield {**bound, self.name: value}


@dataclass(frozen=True)
class _Constant:
    """Matches a constant: any, or one whose elements all equal a number."""

    label: str
    number: float | None

    def match_value(self, value: Value, bound: dict[str, Any]) -> Iterator[dict[str, Any]]:
        node = value.node
        if node is None or node.op.name != "Constant":
            return
        array = node.attrs["value"]
        if self.number is not None and not filled_with(array, self.number):
            return
        yield {**bound, self.label: array} if self.label else bound


def filled_with(array: np.ndarray, number: float) -> bool:
    """Whether all elements equal a number; only arrays of up to 1024 elements are looked at."""
    if array.size == 1:
        return bool(array.reshape(-1)[0] == number)
    return 0 < array.size <= 1024 and bool((array == number).all())


def _match_all(
    patterns: Sequence[Any], values: Sequence[Value], bound: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if not patterns:
        yield bound
        return
    for found in patterns[0].match_value(values[0], bound):
        yield from _match_all(patterns[1:], values[1:], found)


_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>-?\d+(?:\.\d+)?)|(?P<mark>[():,*|]))")


def compile_pattern(text: str) -> Pattern:
    """Reads a pattern; ``A|B(x)`` matches either operator.

    Raises:
        ValueError: the text is not a pattern.
    """
    tokens = []
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"pattern {text!r}: unexpected {text[at:]!r}")
        tokens.append(found.group().strip())
        at = found.end()
    tokens.append("")
    position = 0

    def take(expected: str = "") -> str:
        nonlocal position
        token = tokens[position]
        if expected and token != expected:
            raise ValueError(f"pattern {text!r}: expected {expected!r}, found {token!r}")
        position += 1
        return token

    def operand() -> Any:
        token = take()
        label = ""
        if tokens[position] == ":":
            take(":")
            label, token = token, take()
        if token == "*":
            return _Constant(label, None)
        if token.lstrip("-")[:1].isdigit():
            return _Constant(label, float(token))
        names = [token]
        while tokens[position] == "|":
            take("|")
            names.append(take())
        if tokens[position] != "(":
            if not token[:1].isalpha() or label or len(names) > 1:
                raise ValueError(f"pattern {text!r}: expected an operand, found {token!r}")
            return _Name(token)
        take("(")
        operands = []
        while tokens[position] != ")":
            operands.append(operand())
            if tokens[position] != ")":
                take(",")
        take(")")
        return Pattern(tuple(names), label, tuple(operands))

    pattern = operand()
    if not isinstance(pattern, Pattern) or tokens[position]:
        raise ValueError(f"pattern {text!r}: must be an operator applied to operands")
    return pattern
