"""The decorator that turns a class of rules into an operator record."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mycelia.ir.operator import Effects, Operator, register
from mycelia.ops.inference import HOLOMORPHIC

_RULES = ("infer", "vjp", "batch", "body", "reference", "samples", "errors")


def operator(
    name: str,
    *,
    pointwise: bool = False,
    num_outputs: int = 1,
    effects: Effects | None = None,
    subgraphs: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
) -> Callable[[type], Operator]:
    """Registers an operator: its rules are the plain functions of the decorated class (see `Operator` for
    each).

    The decorated name becomes the record itself, and calling it applies the operator to tensors.

    Example:
        >>> @operator("Tanh", pointwise=True)
        ... class Tanh:
        ...     infer = same_shape_float
        ...     def vjp(g, x, y): return g * (1 - y * y)
        ...     def body(m, x): return m.tanh(x)
        ...     reference = numpy.tanh
        >>> y = Tanh(x)
    """

    def build(cls: type) -> Operator:
        rules = {rule: cls.__dict__[rule] for rule in _RULES if rule in cls.__dict__}
        rules = {
            key: rule.__func__ if isinstance(rule, staticmethod) else rule for key, rule in rules.items()
        }
        if name in HOLOMORPHIC and "vjp" in rules:
            rules["vjp"] = _conjugated(rules["vjp"])
        if "infer" not in rules:
            raise TypeError(f"operator {name} has no infer rule")
        if pointwise and "body" not in rules:
            raise TypeError(f"pointwise operator {name} has no body")
        return register(
            Operator(
                name,
                num_outputs=num_outputs,
                pointwise=pointwise,
                effects=effects or Effects(),
                subgraphs=subgraphs,
                tags=frozenset(tags),
                definition=cls,
                **rules,
            )
        )

    return build


def _conjugated(vjp: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient rule of a function f of complex numbers that has a derivative there: a rule that gives
    ``g * f'`` gives ``g * conj(f')`` when it gets and gives conjugates."""

    @functools.wraps(vjp)
    def rule(g: Any, *operands: Any, **attrs: Any) -> Any:
        results = vjp(_conj(g), *operands, **attrs) if _is_complex(g) else vjp(g, *operands, **attrs)
        if not _is_complex(g):
            return results
        return tuple(map(_conj, results)) if isinstance(results, tuple) else _conj(results)

    return rule


def _is_complex(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _conj(x: Any) -> Any:
    from mycelia.ops.complex_numbers import Conj

    return Conj(x) if _is_complex(x) else x
