"""The decorator that turns a class of rules into an operator record."""

from __future__ import annotations

from collections.abc import Callable

from mycelia.ir.operator import Effects, Operator, register

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
