"""Mixed precision: an interpreter that chooses in which floating dtype each operator computes.

It sits on top of the stack while a Cell with a `Policy` runs and adds `Cast` nodes for what lies below, so
that
gradients, batching and graphs see ordinary operators. See Micikevicius et al., "Mixed Precision Training",
2018.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia.ir import operator as registry
from mycelia.ir.dtypes import DType, float32
from mycelia.ir.operator import Operator
from mycelia.ops import dispatch
from mycelia.ops.dispatch import Interpreter
from mycelia.tensor.tensor import Tensor

# Operators whose dtype the program states, or which hold others that choose for themselves.
_AS_THEY_ARE = frozenset(["Cast", "Assign", "Print", "PyCall", "Cond", "While", "Constant"])


@dataclass(frozen=True)
class Policy:
    """How a Cell computes.

    Attributes:
        dtype: the narrow dtype.
        narrow: names of the operators that compute in it; None for all.
        wide: names of the operators that compute in float32 instead.
        restore: whether results of narrow operators are float32 again.
        output: the dtype that the Cell's floating outputs are cast to; None leaves them.
    """

    dtype: DType
    narrow: frozenset[str] | None = None
    wide: frozenset[str] = frozenset()
    restore: bool = False
    output: DType | None = None

    def run(self, construct: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Calls ``construct`` under this policy, which replaces that of a Cell around this one."""
        below = dispatch.current()
        if isinstance(below, Precision):
            below = below.below
        with dispatch.interpreting(Precision(self, below)):
            if self.narrow is None:
                args, kwargs = cast_floats((args, kwargs), self.dtype)
            result = construct(*args, **kwargs)
        return result if self.output is None else cast_floats(result, self.output)


class Precision:
    """The interpreter of a `Policy`.

    Args:
        policy: which operators compute in which dtype.
        below: what carries them out.
    """

    def __init__(self, policy: Policy, below: Interpreter) -> None:
        self.policy, self.below = policy, below

    def bind(self, op: Operator, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        below, policy = self.below, self.policy
        if op.name in _AS_THEY_ARE or op.name.startswith("Random"):
            return below.bind(op, inputs, attrs)
        if op.name in policy.wide:
            return below.bind(op, [self._cast(x, float32) for x in inputs], attrs)
        if policy.narrow is not None and op.name not in policy.narrow:
            return below.bind(op, self._agreeing(inputs) if op.pointwise else inputs, attrs)
        result = below.bind(op, [self._cast(x, policy.dtype) for x in inputs], attrs)
        if not policy.restore:
            return result
        outputs = [self._cast(y, float32) for y in (result if type(result) is tuple else (result,))]
        return tuple(outputs) if type(result) is tuple else outputs[0]

    def _agreeing(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Operands of one operator in the widest of their dtypes."""
        floats = {x.dtype for x in inputs if x.dtype.is_float}
        if len(floats) < 2:
            return inputs
        return [self._cast(x, float32) for x in inputs]

    def _cast(self, x: Any, dtype: DType) -> Any:
        if not x.dtype.is_float or x.dtype is dtype:
            return x
        return self.below.bind(registry.get("Cast"), (x,), {"dtype": dtype})

    def write(self, target: Any, value: Any) -> None:
        self.below.write(target, self._cast(value, target.dtype))

    def __getattr__(self, name: str) -> Any:
        # What tapes and traces offer to each other beyond `bind` and `write`.
        if name in ("constant", "snapshot", "settle", "value_of"):
            return getattr(self.below, name)
        raise AttributeError(name)


def under_same_policy(interpreter: Interpreter) -> Interpreter:
    """An interpreter for a part of the program (a branch, a loop's body), under the policy that holds
    here."""
    above: Any = dispatch.current() if dispatch.is_tracing() else None
    while above is not None and not isinstance(above, Precision):
        above = getattr(above, "below", None)
    return interpreter if above is None else Precision(above.policy, interpreter)


def converts() -> bool:
    """Whether a policy holds, so that operands of unlike floating dtypes will be brought into one."""
    interpreter: Any = dispatch.current() if dispatch.is_tracing() else None
    while interpreter is not None and not isinstance(interpreter, Precision):
        interpreter = getattr(interpreter, "below", None)
    return interpreter is not None


def cast_floats(tree: Any, dtype: DType) -> Any:
    """The same nested values with floating tensors in another dtype."""
    if isinstance(tree, Tensor):
        return tree.astype(dtype) if tree.dtype.is_float and tree.dtype is not dtype else tree  # type: ignore[attr-defined]
    if isinstance(tree, dict):
        return {key: cast_floats(item, dtype) for key, item in tree.items()}
    if type(tree) in (tuple, list):
        return type(tree)(cast_floats(item, dtype) for item in tree)
    return tree
