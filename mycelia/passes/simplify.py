"""Algebraic identities that hold bit for bit, folding of small constants, and common subexpressions: one
sweep.

Floating point keeps its meaning: ``x + 0.0`` is no identity (it turns -0.0 into 0.0), ``x * 0`` neither (NaN,
infinity), but ``x + -0.0``, ``x - 0.0``, ``x * 1`` and division by a power of two are.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir.dtypes import DType
from mycelia.ir.graph import Graph, Node, Value
from mycelia.ir.interpreter import apply
from mycelia.ir.types import merge_shapes, same_shape
from mycelia.passes.rewrite import (
    Match,
    Refused,
    Result,
    Rewriter,
    Rule,
    RuleSet,
    filled_with,
    make_node,
    rule,
)

_FOLDED = 1024  # elements of the largest result that is computed while compiling


def simplify(graph: Graph) -> bool:
    """Rewrites a graph in place; says whether anything changed. Dead nodes stay behind for `dead_code`."""
    return Simplifier().run(graph)


class Simplifier(Rewriter):
    """The rules of this file, plus folding and common subexpressions."""

    def __init__(self) -> None:
        super().__init__(RULES, "simplify")

    def begin(self, graph: Graph) -> None:
        self.known: dict[Any, Node] = {}

    def visit(self, node: Node) -> Sequence[Value] | None:
        op = node.op
        if op.name != "Constant" and not op.effects and not op.subgraphs:
            folded = self.fold(node)
            if folded is not None:
                return folded
            if op.pointwise:
                self.read_unbroadcast(node)
        return super().visit(node)

    def fold(self, node: Node) -> Sequence[Value] | None:
        """A constant in place of a node whose operands are all constants."""
        size = 0
        for value in node.inputs:
            if value.node is None or value.node.op.name != "Constant":
                return None
            size += value.node.attrs["value"].size
        if node.op.reference is None or not node.outputs or not all(
                v.type.is_static and v.type.size <= max(min(size, _FOLDED), 1) for v in node.outputs):
            return None
        if not node.inputs:
            return None
        results = apply(node, [v.node.attrs["value"] for v in node.inputs])  # type: ignore[union-attr]
        self.applied["constants folded"] = self.applied.get("constants folded", 0) + 1
        return [
            self.emit("Constant", (), {"value": np.array(r)}, node, f"folded {node.op.name}")[0]
            for r in results
        ]

    def read_unbroadcast(self, node: Node) -> None:
        """Pointwise operators broadcast: they read the operand of a BroadcastTo where their own shape stays
        the same.
        """
        for index, value in enumerate(node.inputs):
            source = value.node
            if source is None or source.op.name != "BroadcastTo":
                continue
            inputs = list(node.inputs)
            inputs[index] = source.inputs[0]
            shape = merge_shapes(*[v.shape for v in inputs])
            if shape is not None and same_shape(shape, node.output.shape):
                node.inputs = inputs
                self.applied["broadcast read through"] = self.applied.get("broadcast read through", 0) + 1

    def keep(self, node: Node) -> Sequence[Value] | None:
        if not node.op.effects and not node.op.subgraphs:
            key = expression_key(node)
            twin = self.known.setdefault(key, node) if key is not None else node
            if twin is not node:
                self.applied["common subexpression"] = self.applied.get("common subexpression", 0) + 1
                return twin.outputs
        self.nodes.append(node)
        return None


def expression_key(node: Node) -> Any:
    """Equal for nodes that compute the same; None where no key is worth making."""
    if node.op.name == "Constant":
        array = node.attrs["value"]
        if array.size > _FOLDED:
            return ("Constant", id(array))
        return ("Constant", array.dtype, array.shape, array.tobytes())
    attrs = node.attrs
    return (node.op.name, *[id(v) for v in node.inputs], *[_exact(a) for a in attrs.values()]) if attrs else \
        (node.op.name, *[id(v) for v in node.inputs])


def _exact(attr: Any) -> Any:
    """Tells 1 from True and 1.0, and 0.0 from -0.0, which Python's equality does not."""
    kind = type(attr)
    if kind is float:
        return attr.hex()
    if kind is tuple:
        return tuple(map(_exact, attr))
    return (kind, attr) if kind is bool else attr


# -- rules
# -----------------------------------------------------------------------------------------------------
def _same(m: Match, x: Value) -> Result:
    """``x`` in place of the root, unless the root broadcast it."""
    return x if x.type == m.node.output.type else m.fail("the other operand broadcasts it to a larger shape")


def _negative_zero(array: np.ndarray) -> bool:
    return bool(np.signbit(array).all()) if array.dtype.kind not in "biu" else False


@rule("Mul(x, 1)")
def times_one(m: Match) -> Result:
    return _same(m, m.x)


@rule("Mul(x, -1)")
def times_minus_one(m: Match) -> Result:
    x = _same(m, m.x)
    return x if isinstance(x, Refused) else m.add("Neg", m.x)


@rule("Div(x, 1)")
def divided_by_one(m: Match) -> Result:
    return _same(m, m.x)


@rule("Div(x, c:*)")
def divided_by_a_power_of_two(m: Match) -> Result:
    if not m.x.dtype.is_float or m.c.size != 1:
        return None
    divisor = float(m.c.reshape(-1)[0])
    if divisor == 0 or not math.isfinite(divisor) or abs(math.frexp(divisor)[0]) != 0.5:
        return m.fail(f"the reciprocal of {divisor} is not exact")
    inverse = np.asarray(1.0 / divisor).astype(m.c.dtype)
    if not np.isfinite(inverse.astype(np.float64)) or abs(float(inverse)) < 2.0 ** -14:
        return m.fail(f"the reciprocal of {divisor} is not a normal number of every float type")
    return m.add("Mul", m.x, m.constant(inverse.reshape(m.c.shape)))


@rule("Add(x, c:*)")
def plus_zero(m: Match) -> Result:
    if not filled_with(m.c, 0):
        return None
    if m.x.dtype.is_float and not _negative_zero(m.c):
        return m.fail("x + 0.0 turns -0.0 into 0.0")
    return _same(m, m.x)


@rule("Sub(x, c:*)")
def minus_zero(m: Match) -> Result:
    if not filled_with(m.c, 0):
        return None
    if m.x.dtype.is_float and np.signbit(m.c).any():
        return m.fail("x - -0.0 turns -0.0 into 0.0")
    return _same(m, m.x)


@rule("Neg(Neg(x))")
def double_negation(m: Match) -> Result:
    return m.x


@rule("LogicalNot(LogicalNot(x))")
def double_logical_not(m: Match) -> Result:
    return _same(m, m.x)


@rule("BitwiseNot(BitwiseNot(x))")
def double_bitwise_not(m: Match) -> Result:
    return m.x


@rule("Add(x, Neg(y))")
def plus_a_negation(m: Match) -> Result:
    return m.add("Sub", m.x, m.y)


@rule("Sub(x, Neg(y))")
def minus_a_negation(m: Match) -> Result:
    return m.add("Add", m.x, m.y)


@rule("Abs(Abs|Neg(x))")
def absolute_of_either_sign(m: Match) -> Result:
    return m.add("Abs", m.x)


@rule("ReLU(inner:ReLU(x))")
def relu_twice(m: Match) -> Result:
    return m.inner.output


@rule("Square(Abs|Neg(x))")
def square_of_either_sign(m: Match) -> Result:
    return m.add("Square", m.x)


@rule("Mul(x, x)")
def times_itself(m: Match) -> Result:
    return m.add("Square", m.x)


@rule("Pow(x, 1)")
def power_one(m: Match) -> Result:
    return _same(m, m.x)


@rule("Pow(x, 2)")
def power_two(m: Match) -> Result:
    x = _same(m, m.x)
    return x if isinstance(x, Refused) else m.add("Square", m.x)


@rule("Select(c:*, a, b)")
def select_of_a_constant(m: Match) -> Result:
    if not (m.c.all() or not m.c.any()) or m.c.size == 0:
        return m.fail("the condition has elements of both kinds")
    return _same(m, m.a if m.c.all() else m.b)


@rule("Select(c, a, a)")
def select_of_equals(m: Match) -> Result:
    return _same(m, m.a)


@rule("Cast(x)")
def cast_to_own_type(m: Match) -> Result:
    return m.x if m.x.dtype is m.node.output.dtype else None


@rule("Cast(inner:Cast(x))")
def cast_of_a_lossless_cast(m: Match) -> Result:
    if not lossless(m.x.dtype, m.inner.output.dtype):
        return m.fail(f"the cast from {m.x.dtype.name} to {m.inner.output.dtype.name} may lose something")
    source, middle, target = m.x.dtype, m.inner.output.dtype, m.node.output.dtype
    if source is target:
        return m.x
    if source.is_integer and middle.is_float and target.is_integer and not lossless(source, target):
        return m.fail("casts of out-of-range floats and integers differ")
    return m.add("Cast", m.x, dtype=m.node.output.dtype)


@rule("Transpose(x)")
def transpose_without_effect(m: Match) -> Result:
    """The identity, or one that moves only axes of extent 1, which is a reshape."""
    perm = m.node.attrs["perm"]
    if perm == tuple(range(len(perm))):
        return m.x
    shape = m.x.shape
    moving = [p for p in perm if not (isinstance(shape[p], int) and shape[p] == 1)]
    if moving == sorted(moving):
        return m.add("Reshape", m.x, shape=m.node.output.shape)
    return None


@rule("Transpose(inner:Transpose(x))")
def transposes_composed(m: Match) -> Result:
    first, second = m.inner.attrs["perm"], m.node.attrs["perm"]
    return m.add("Transpose", m.x, perm=tuple(first[p] for p in second))


@rule("MatMul|BatchMatMul(a, inner:Transpose(b))")
def product_with_a_transpose(m: Match) -> Result:
    return _flag_instead(m, (m.a, m.b), "transpose_b")


@rule("MatMul|BatchMatMul(inner:Transpose(a), b)")
def product_of_a_transpose(m: Match) -> Result:
    return _flag_instead(m, (m.a, m.b), "transpose_a")


def _flag_instead(m: Match, operands: tuple[Value, Value], flag: str) -> Result:
    """The product reads the operand's rows as columns, which costs it nothing."""
    perm = m.inner.attrs["perm"]
    if perm != (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2):
        return m.fail(f"the transpose {perm} moves other axes than the last two")
    return m.add(m.node.op.name, *operands, **{**m.node.attrs, flag: not m.node.attrs[flag]})


@rule("Reshape(x)")
def reshape_to_own_shape(m: Match) -> Result:
    return m.x if m.x.type == m.node.output.type else None


@rule("Reshape(Reshape(x))")
def reshapes_composed(m: Match) -> Result:
    return m.x if m.x.type == m.node.output.type else m.add("Reshape", m.x, shape=m.node.output.shape)


@rule("BroadcastTo(x)")
def broadcast_to_own_shape(m: Match) -> Result:
    return m.x if m.x.type == m.node.output.type else None


@rule("BroadcastTo(BroadcastTo(x))")
def broadcasts_composed(m: Match) -> Result:
    return m.add("BroadcastTo", m.x, shape=m.node.output.shape)


@rule("Full()")
def full_as_a_broadcast_scalar(m: Match) -> Result:
    """A scalar constant, so that pointwise readers see a number."""
    kind = m.node.output.type
    value = np.asarray(m.node.attrs["value"]).astype(kind.dtype.numpy)
    scalar = m.constant(value)
    return scalar if not kind.shape else m.add("BroadcastTo", scalar, shape=kind.shape)


@rule("Iota()")
def short_iota(m: Match) -> Result:
    size, dtype = m.node.attrs["size"], m.node.attrs["dtype"]
    if not isinstance(size, int) or size > _FOLDED:
        return None
    return m.constant(np.arange(size).astype(dtype.numpy))


@rule("StridedSlice(x)")
def slice_of_everything(m: Match) -> Result:
    attrs = m.node.attrs
    if m.x.type == m.node.output.type and all(s == 1 for s in attrs["strides"]):
        return m.x
    return None


@rule("Concat(x)")
def concat_of_one(m: Match) -> Result:
    return m.x


@rule("Pad(x)")
def pad_by_nothing(m: Match) -> Result:
    return m.x if all(pair == (0, 0) for pair in m.node.attrs["paddings"]) else None


@rule("ReduceSum|ReduceMean|ReduceProd|ReduceMax|ReduceMin|ReduceAll|ReduceAny(x)")
def reduction_over_extents_of_one(m: Match) -> Result:
    shape = m.x.shape
    if all(isinstance(shape[a], int) and shape[a] == 1 for a in m.node.attrs["axes"]) \
            and m.x.dtype is m.node.output.dtype:
        if same_shape(shape, m.node.output.shape):
            return m.x
        return m.add("Reshape", m.x, shape=m.node.output.shape)
    return None


def lossless(source: DType, target: DType) -> bool:
    """Whether every number of one element type is one of the other."""
    if source is target or source.kind == "b":
        return True
    if source.kind == "f":
        narrower = {
            "float16": ("float32", "float64"),
            "bfloat16": ("float32", "float64"),
            "float32": ("float64",),
        }
        return target.name in narrower.get(source.name, ())
    if target.kind == "f":
        digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[target.name]
        return source.bits - (source.kind == "i") <= digits
    if source.kind == target.kind:
        return target.bits >= source.bits
    return source.kind == "u" and target.kind == "i" and target.bits > source.bits


RULES = RuleSet([entry for entry in list(globals().values()) if isinstance(entry, Rule)])

__all__ = ["RULES", "Simplifier", "expression_key", "lossless", "make_node", "simplify"]
