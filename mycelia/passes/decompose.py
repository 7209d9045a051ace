"""Operators that are pointwise operators and reductions in disguise are written as such, so that they fuse.

``OneHot`` compares indices with 0, 1, ...; ``ArgMax`` is the least index at which the largest element stands.
"""
from __future__ import annotations

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.graph import Graph, Value
from mycelia.passes.rewrite import Match, Result, Rewriter, RuleSet, rule

_BEYOND = 2**31 - 1  # no index along an axis is as large


def decompose(graph: Graph) -> bool:
    """Rewrites a graph in place; says whether anything changed."""
    if not any(node.op.name in RULES.by_operator for node in graph.nodes):
        return False
    return Rewriter(RULES, "decompose").run(graph)


@rule("OneHot(indices)")
def one_hot(m: Match) -> Result:
    attrs, indices = m.node.attrs, m.indices
    if not isinstance(attrs["depth"], int):
        return m.fail("the depth is symbolic")
    kind = indices.dtype
    if attrs["depth"] - 1 > np.iinfo(kind.numpy).max:
        kind = dtypes.int64
        indices = m.add("Cast", indices, dtype=kind)
    places = m.add("Iota", size=attrs["depth"], dtype=kind)
    hit = m.add("Equal", m.add("Reshape", indices, shape=(*indices.shape, 1)), places)
    on, off = (m.constant(np.asarray(attrs[key]).astype(attrs["dtype"].numpy)) for key in ("on", "off"))
    return m.add("Select", hit, on, off)


@rule("ArgMax|ArgMin(x)")
def argument_of_an_extreme(m: Match) -> Result:
    x, axis = m.x, m.node.attrs["axis"]
    if x.dtype is dtypes.bool_:
        x = m.add("Cast", x, dtype=dtypes.uint8)
    reduction = "ReduceMax" if m.node.op.name == "ArgMax" else "ReduceMin"
    extreme = m.add(reduction, x, axes=(axis,), keepdims=True)
    hit = m.add("Equal", x, extreme)
    if x.dtype.is_float:  # the extreme of a row that holds a NaN is NaN, which equals nothing
        hit = m.add("LogicalOr", hit, m.add("IsNan", x))
    places: Value = m.add("Iota", size=x.shape[axis], dtype=dtypes.int32)
    places = m.add("Reshape", places, shape=(x.shape[axis], *(1,) * (len(x.shape) - 1 - axis)))
    candidates = m.add("Select", hit, places, m.constant(np.int32(_BEYOND)))
    first = m.add("ReduceMin", candidates, axes=(axis,), keepdims=m.node.attrs["keepdims"])
    return m.add("Cast", first, dtype=m.node.attrs["dtype"])


RULES = RuleSet([one_hot, argument_of_an_extreme])
