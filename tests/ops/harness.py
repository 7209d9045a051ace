"""What the tests of operators share: the samples of all operators. The checks are in
`mycelia.tools.operator_checks`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mycelia.ir.operator import REGISTRY, Operator
from mycelia.ops.samples import Sample
from mycelia.tools.operator_checks import (  # noqa: F401  (tests take them from here)
    REFERENCE,
    TOLERANCE,
    WITHOUT_BATCH,
    as_tuple,
    assert_close,
    attrs_in_float64,
    by_reference,
    eagerly,
    in_a_graph,
    in_float64,
    is_float,
    noise,
    pullback,
    shown,
)


def operators() -> list[Operator]:
    """Every operator that has samples, by name."""
    return sorted((op for op in REGISTRY.values() if op.samples is not None), key=lambda op: op.name)


def cases(
    select: Callable[[Operator, Sample], bool] = lambda op, sample: True,
    most: int | None = None,
    one_of: Callable[[Sample], Any] | None = None,
) -> list[Any]:
    """pytest parameters (operator, sample): at most ``most`` for each operator, and the first of each kind
    that ``one_of`` tells apart."""
    parameters = []
    for op in operators():
        kept, names, kinds = 0, set(), set()
        for sample in op.samples():
            kind = sample.label if one_of is None else one_of(sample)
            if not select(op, sample) or one_of is not None and kind in kinds:
                continue
            if most is not None and kept >= most:
                break
            kept += 1
            kinds.add(kind)
            name = f"{op.name}-{sample.label}"
            while name in names:
                name += "'"
            names.add(name)
            parameters.append(pytest.param(op, sample, id=name))
    return parameters


def dtypes_and_layout(sample: Sample) -> tuple:
    """Tells samples apart by what a mode may treat differently: dtypes, memory order, emptiness."""
    return (
        tuple(str(a.dtype) for a in sample.inputs),
        str(sample.attrs.get("dtype")),
        all(a.flags.c_contiguous for a in sample.inputs),
        any(a.size == 0 for a in sample.inputs),
        any(a.ndim == 0 for a in sample.inputs),
    )
