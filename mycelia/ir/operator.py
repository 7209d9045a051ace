"""The record of an operator and the registry by name. The definitions themselves live in `mycelia.ops`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mycelia.ir.types import TensorType


@dataclass(frozen=True)
class Effects:
    """What a node does besides computing its outputs; the order of nodes that share an effect is kept.

    Attributes:
        writes: indices of inputs whose storage is overwritten (``Assign``).
        random: takes and returns a generator state.
        io: visible outside (``Print``), or a call into Python.
    """

    writes: tuple[int, ...] = ()
    random: bool = False
    io: bool = False

    def __bool__(self) -> bool:
        return bool(self.writes) or self.random or self.io


@dataclass
class Operator:
    """Everything the house knows of an operator, apart from its kernels.

    Attributes:
        name: MindSpore's primitive name, e.g. ``"MatMul"``.
        infer: ``infer(*types, **attrs)`` gives the output type, or a tuple of types when ``num_outputs`` is
        not 1.
        num_outputs: number of outputs; -1 when ``infer``'s tuple decides.
        pointwise: output element i depends on input elements i only; inputs broadcast as in NumPy.
        body: scalar code ``body(m, *xs, **attrs)`` of a pointwise operator.
        reference: NumPy code ``reference(*arrays, **attrs)``.
        vjp: ``vjp(g, *inputs, *outputs, **attrs)`` gives one cotangent per input, None where there is none. A
            rule with a keyword argument ``needed`` is told, by a bool for each input, which of them are asked
            for.
        ``g`` is a
            tuple when the operator has several outputs. A pointwise rule need not undo broadcasting: the
            engine sums.
        batch: ``batch(axes, *inputs, **attrs)`` for `vmap`: inputs whose axis is not None carry the batch
        there; returns
            ``(outputs, axes)``. Pointwise operators need none.
        effects: see `Effects`.
        subgraphs: names of the attributes that hold graphs (``Cond``, ``While``, ``Fused``).
        definition: the class that was decorated, for `mycelia op`.
    """

    name: str
    infer: Callable[..., Any]
    num_outputs: int = 1
    pointwise: bool = False
    body: Callable[..., Any] | None = None
    reference: Callable[..., Any] | None = None
    vjp: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None
    effects: Effects = field(default_factory=Effects)
    subgraphs: tuple[str, ...] = ()
    samples: Callable[..., Any] | None = None
    errors: Callable[..., Any] | None = None
    definition: type | None = None
    tags: frozenset[str] = frozenset()

    def output_types(self, types: tuple[TensorType, ...], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        result = self.infer(*types, **attrs)
        return result if isinstance(result, tuple) else (result,)

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """Applies the operator to tensors through the current interpreter (see `mycelia.ops.dispatch`)."""
        return _binder(self, inputs, attrs)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __reduce__(self) -> tuple:
        return get, (self.name,)


def _unbound(op: Operator, inputs: tuple, attrs: dict[str, Any]) -> Any:
    raise RuntimeError(f"operator {op.name} was applied before mycelia.ops was imported")


_binder: Callable[..., Any] = _unbound


def set_binder(bind: Callable[..., Any]) -> None:
    """Registers what applying an operator to tensors does."""
    global _binder
    _binder = bind


REGISTRY: dict[str, Operator] = {}


def register(operator: Operator) -> Operator:
    if operator.name in REGISTRY:
        raise ValueError(
            f"operator {operator.name} is defined twice: {REGISTRY[operator.name].definition} and "
            f"{operator.definition}"
        )
    REGISTRY[operator.name] = operator
    return operator


def get(name: str) -> Operator:
    """The operator of that name.

    Raises:
        KeyError: with the nearest names.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        import difflib

        near = difflib.get_close_matches(name, REGISTRY, 3)
        raise KeyError(
            f"no operator named {name!r}" + (f"; did you mean {', '.join(near)}?" if near else "")
        ) from None
