"""Mathematics element by element: `mycelia.ops` with NumPy's names and the parameter ``dtype``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.numpy.arrays import asarray
from mycelia.ops.function import arranging, elementwise, linear, scalars
from mycelia.ops.promotion import cast, is_number, resolve_dtype
from mycelia.tensor.tensor import Tensor

_UNARY = """
    abs absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil cos cosh deg2rad exp exp2
    expm1 fix floor isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative positive
    rad2deg reciprocal rint sign signbit sin sinh sqrt square tan tanh trunc"""
_BINARY = """
    add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide equal float_power floor_divide fmod gcd
    greater greater_equal heaviside hypot lcm less less_equal logaddexp logaddexp2 logical_and logical_or
    logical_xor matmul maximum minimum mod multiply not_equal remainder subtract true_divide"""
# NumPy's name: ours
_RENAMED = {"fabs": "abs", "invert": "bitwise_not", "radians": "deg2rad", "power": "pow"}


def _operand(x: Any) -> Any:
    return x if isinstance(x, Tensor) or is_number(x) else asarray(x)


def _view(name: str, function: Callable[..., Tensor], arity: int) -> Callable[..., Tensor]:
    def unary(x: Any, dtype: Any = None) -> Tensor:
        y = function(asarray(x))
        return y if dtype is None else cast(y, resolve_dtype(name, dtype))

    def binary(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        first = asarray(x1) if is_number(x2) or name == "matmul" else _operand(x1)
        y = function(first, asarray(x2) if name == "matmul" else _operand(x2))
        return y if dtype is None else cast(y, resolve_dtype(name, dtype))

    made = unary if arity == 1 else binary
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"{(function.__doc__ or name).strip()}\n\n``dtype``: converts the result."
    return made


def _found(name: str) -> Callable[..., Tensor]:
    own = _RENAMED.get(name, name)
    for module in (elementwise, scalars, linear, arranging):
        if hasattr(module, own):
            return getattr(module, own)
    raise LookupError(name)


_TABLE = {
    **{name: _view(name, _found(name), 1) for name in f"{_UNARY} fabs invert radians".split()},
    **{name: _view(name, _found(name), 2) for name in f"{_BINARY} power".split()},
}
globals().update(_TABLE)


def divmod(x1: Any, x2: Any, dtype: Any = None) -> tuple[Tensor, Tensor]:
    """The quotient rounded down, and what remains."""
    return _TABLE["floor_divide"](x1, x2, dtype), _TABLE["remainder"](x1, x2, dtype)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """The input between two bounds; either may be None."""
    y = elementwise.clamp(asarray(x), xmin, xmax)
    return y if dtype is None else cast(y, resolve_dtype("clip", dtype))


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds, else ``y``."""
    if x is None and y is None:
        from mycelia.ops.function.shaping import nonzero
        return nonzero(asarray(condition), as_tuple=True)
    return elementwise.where(asarray(condition), _operand(x), _operand(y))


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``|a - b| <= atol + rtol * |b|``, element by element."""
    return elementwise.isclose(asarray(a), asarray(b), rtol, atol, equal_nan)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and all elements are equal."""
    x, y = asarray(a1), asarray(a2)
    if x.shape != y.shape:
        return asarray(False)
    same = elementwise.equal(x, y)
    if equal_nan:
        both = elementwise.logical_and(elementwise.isnan(x), elementwise.isnan(y))
        same = elementwise.logical_or(same, both)
    return same.all()


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether the elements are equal once the shapes broadcast."""
    try:
        return elementwise.equal(asarray(a1), asarray(a2)).all()
    except ValueError:
        return asarray(False)


def isscalar(element: Any) -> bool:
    """Whether it is a number or a string."""
    return isinstance(element, (bool, int, float, complex, str))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Of each place the choice of the first condition that holds there, else the default."""
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: there must be a choice for each condition. Received: {len(condlist)} conditions, "
            f"{len(choicelist)} choices"
        )
    y: Any = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        y = elementwise.where(asarray(condition), _operand(choice), _operand(y))
    return y


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """The function (or number) of each condition where it holds, the last one elsewhere if there is one more;
    of several that hold the last."""
    x = asarray(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    value = lambda f: f(x, *args, **kw) if callable(f) else asarray(f)
    rest = funclist[-1] if len(funclist) == len(conditions) + 1 else 0
    y = elementwise.where(elementwise.isfinite(x * 0), value(rest), value(rest))
    for condition, function in zip(conditions, funclist):
        y = elementwise.where(asarray(condition), value(function), y)
    return cast(y, x.dtype)


__all__ = [
    *_TABLE, "array_equal", "array_equiv", "clip", "divmod", "isclose", "isscalar", "piecewise", "select",
    "where",
]
