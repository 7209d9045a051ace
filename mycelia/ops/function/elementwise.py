"""Functions that work element by element: arithmetic, mathematics, comparison, logic.

Operands are tensors, numbers or lists; two tensors broadcast, and dtypes convert as `mycelia.ops.promotion`
says.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import bool_, float32
from mycelia.ir.operator import Operator
from mycelia.ops import (
    activation,
    arithmetic,
    comparison,
    exponential,
    logic,
    rounding,
    selection,
    special,
    trigonometric,
)
from mycelia.ops.composite import composite
from mycelia.ops.constants import like, scalar
from mycelia.ops.promotion import (
    as_tensor,
    float_operands,
    floating,
    is_number,
    operands,
    promote,
    promote_scalar,
    refuse,
    resolve_dtype,
)
from mycelia.tensor.tensor import Tensor

Function = Callable[..., Tensor]


def _named(function: Function, name: str, doc: str) -> Function:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _sentence(op: Operator) -> str:
    return (op.definition.__doc__ or op.name).strip()


def _binary(name: str, op: Operator) -> Function:
    def function(input: Any, other: Any) -> Tensor:
        if isinstance(input, Tensor) and isinstance(other, Tensor) and input._dtype is other._dtype:
            return op(input, other)
        return op(*operands(name, input, other))
    return _named(function, name, f"{_sentence(op)} Operands broadcast and convert to one dtype.")


def _float_binary(name: str, op: Operator) -> Function:
    def function(input: Any, other: Any) -> Tensor:
        return op(*float_operands(name, input, other))
    return _named(function, name, f"{_sentence(op)} Integers convert to float32.")


def _unary(name: str, op: Operator) -> Function:
    def function(input: Any) -> Tensor:
        return op(input if isinstance(input, Tensor) else as_tensor(name, input))
    return _named(function, name, _sentence(op))


def _float_unary(name: str, op: Operator) -> Function:
    def function(input: Any) -> Tensor:
        return op(input if isinstance(input, Tensor) and input._dtype.kind == "f" else floating(name, input))
    return _named(function, name, f"{_sentence(op)} Integers convert to float32.")


def _logical(name: str, op: Operator) -> Function:
    def function(*inputs: Any) -> Tensor:
        return op(*(cast(as_tensor(name, x), bool_) for x in inputs))
    return _named(function, name, f"{_sentence(op)} What is not 0 counts as true.")


# -- arithmetic ----------------------------------------------------------------------------------------------
_add, _sub = _binary("add", arithmetic.Add), _binary("sub", arithmetic.Sub)


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """``input + alpha * other``; of booleans: or."""
    return _add(input, other if alpha == 1 else mul(other, alpha))


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """``input - alpha * other``."""
    return _sub(input, other if alpha == 1 else mul(other, alpha))


mul = _binary("mul", arithmetic.Mul)
_true_div = _float_binary("div", arithmetic.Div)
floor_div = _binary("floor_div", arithmetic.FloorDiv)
floor_mod = _binary("floor_mod", arithmetic.FloorMod)
maximum = _binary("maximum", arithmetic.Maximum)
minimum = _binary("minimum", arithmetic.Minimum)
atan2 = _float_binary("atan2", trigonometric.Atan2)
neg = _unary("neg", arithmetic.Neg)
_real_abs = _unary("abs", arithmetic.Abs)


def abs(input: Any) -> Tensor:
    """The sizes of numbers; of complex ones (real) the distances from 0."""
    if isinstance(input, Tensor) and input._dtype.kind == "c":
        from mycelia.ops.complex_numbers import ComplexAbs
        return ComplexAbs(input)
    return _real_abs(input)


sign = _unary("sign", arithmetic.Sign)
square = _unary("square", arithmetic.Square)
reciprocal = _float_unary("reciprocal", arithmetic.Reciprocal)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``, of integers in float32.

    Args:
        input, other: tensors or numbers that broadcast.
        rounding_mode: None, ``"floor"`` or ``"trunc"`` (toward zero).

    Raises:
        ValueError: another rounding mode.

    Example:
        >>> div(Tensor([3, 4]), 2)
        Tensor(shape=[2], dtype=Float32, value= [1.5, 2.])
    """
    if rounding_mode is None:
        return _true_div(input, other)
    if rounding_mode == "floor":
        return floor_div(input, other)
    if rounding_mode == "trunc":
        x, y = operands("div", input, other)
        return cast(rounding.Trunc(_true_div(x, y)), x.dtype)
    raise ValueError(
        f"div: rounding_mode must be None, 'floor' or 'trunc'. Received: rounding_mode={rounding_mode!r}"
    )


def pow(input: Any, exponent: Any) -> Tensor:
    """``input`` to the power of ``exponent``; small whole powers and the square root go their own, faster
    way."""
    if isinstance(input, Tensor) and is_number(exponent) and not isinstance(exponent, bool):
        if exponent == 2:
            return arithmetic.Square(cast(input, promote_scalar("pow", input.dtype, exponent)))
        if exponent == 3:
            x = cast(input, promote_scalar("pow", input.dtype, exponent))
            return arithmetic.Mul(arithmetic.Square(x), x)
        if exponent == 1:
            return cast(input, promote_scalar("pow", input.dtype, exponent))
        if input.dtype.kind == "f" and exponent == 0.5:
            return exponential.Sqrt(input)
        if input.dtype.kind == "f" and exponent == -1:
            return arithmetic.Reciprocal(input)
    return arithmetic.Pow(*operands("pow", input, exponent))


def addn(x: Any) -> Tensor:
    """The sum of the tensors of a list."""
    total, *rest = x
    for y in rest:
        total = add(total, y)
    return total


def fmod(input: Any, other: Any) -> Tensor:
    """The remainder with the sign of ``input``."""
    x, y = operands("fmod", input, other)
    return x - cast(rounding.Trunc(_true_div(x, y)), x.dtype) * y


def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """``input + weight * (end - input)``."""
    return input + weight * (end - input)


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``."""
    return input + value * (tensor1 * tensor2)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``."""
    return input + value * (tensor1 / tensor2)


def hypot(input: Any, other: Any) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)``."""
    x, y = float_operands("hypot", input, other)
    return exponential.Sqrt(x * x + y * y)


def xlogy(input: Any, other: Any) -> Tensor:
    """``input * log(other)``, and 0 where ``input`` is 0."""
    x, y = float_operands("xlogy", input, other)
    zero = like(0, x)
    at_zero = comparison.Equal(x, zero)
    return selection.Select(at_zero, zero, x * exponential.Log(selection.Select(at_zero, like(1, x), y)))


# -- mathematics ---------------------------------------------------------------------------------------------
sqrt = _float_unary("sqrt", exponential.Sqrt)
rsqrt = _float_unary("rsqrt", exponential.Rsqrt)
exp = _float_unary("exp", exponential.Exp)
expm1 = _float_unary("expm1", exponential.Expm1)
log = _float_unary("log", exponential.Log)
log1p = _float_unary("log1p", exponential.Log1p)
erf = _float_unary("erf", exponential.Erf)
erfc = _float_unary("erfc", exponential.Erfc)
erfinv = _float_unary("erfinv", special.Erfinv)
sin = _float_unary("sin", trigonometric.Sin)
cos = _float_unary("cos", trigonometric.Cos)
tan = _float_unary("tan", trigonometric.Tan)
asin = _float_unary("asin", trigonometric.Asin)
acos = _float_unary("acos", trigonometric.ACos)
atan = _float_unary("atan", trigonometric.Atan)
sinh = _float_unary("sinh", trigonometric.Sinh)
cosh = _float_unary("cosh", trigonometric.Cosh)
tanh = _float_unary("tanh", trigonometric.Tanh)
asinh = _float_unary("asinh", trigonometric.Asinh)
acosh = _float_unary("acosh", trigonometric.Acosh)
atanh = _float_unary("atanh", trigonometric.Atanh)
sigmoid = _float_unary("sigmoid", activation.Sigmoid)
floor = _unary("floor", rounding.Floor)
ceil = _unary("ceil", rounding.Ceil)
trunc = _unary("trunc", rounding.Trunc)
rint = _unary("rint", rounding.Rint)


def log2(input: Any) -> Tensor:
    """The logarithm to base 2."""
    return exponential.Log(floating("log2", input)) * (1.0 / math.log(2.0))


def log10(input: Any) -> Tensor:
    """The logarithm to base 10."""
    return exponential.Log(floating("log10", input)) * (1.0 / math.log(10.0))


def exp2(input: Any) -> Tensor:
    """2 to the power of the input."""
    return exponential.Exp(floating("exp2", input) * math.log(2.0))


def logaddexp(input: Any, other: Any) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow."""
    x, y = float_operands("logaddexp", input, other)
    return arithmetic.Maximum(x, y) + exponential.Log1p(exponential.Exp(-arithmetic.Abs(x - y)))


def round(input: Any, *, decimals: int = 0) -> Tensor:
    """The nearest multiple of ``10 ** -decimals``, halves to the even one."""
    x = as_tensor("round", input)
    if decimals == 0:
        return rounding.Rint(x)
    return cast(rounding.Rint(x * 10.0 ** decimals) / 10.0 ** decimals, x.dtype)


# -- comparison and logic ------------------------------------------------------------------------------------
equal = _binary("equal", comparison.Equal)
not_equal = _binary("not_equal", comparison.NotEqual)
less = _binary("less", comparison.Less)
less_equal = _binary("less_equal", comparison.LessEqual)
greater = _binary("greater", comparison.Greater)
greater_equal = _binary("greater_equal", comparison.GreaterEqual)
isnan = _unary("isnan", comparison.IsNan)
isinf = _unary("isinf", comparison.IsInf)
isfinite = _unary("isfinite", comparison.IsFinite)
logical_and = _logical("logical_and", logic.LogicalAnd)
logical_or = _logical("logical_or", logic.LogicalOr)
logical_xor = _logical("logical_xor", logic.LogicalXor)
logical_not = _logical("logical_not", logic.LogicalNot)
bitwise_and = _binary("bitwise_and", logic.BitwiseAnd)
bitwise_or = _binary("bitwise_or", logic.BitwiseOr)
bitwise_xor = _binary("bitwise_xor", logic.BitwiseXor)
bitwise_left_shift = _binary("bitwise_left_shift", logic.LeftShift)
bitwise_right_shift = _binary("bitwise_right_shift", logic.RightShift)
bitwise_not = _unary("bitwise_not", logic.BitwiseNot)


def isclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, element by element."""
    x, y = float_operands("isclose", input, other)
    close = logical_or(equal(x, y), less_equal(abs(x - y), atol + rtol * abs(y)))
    close = logical_and(close, logical_or(isfinite(x - y), equal(x, y)))
    return logical_or(close, logical_and(isnan(x), isnan(y))) if equal_nan else close


# -- choosing, converting ------------------------------------------------------------------------------------
def cast(input: Any, dtype: Any) -> Tensor:
    """The elements converted to a dtype; the tensor itself where it has that dtype.

    Args:
        input: a tensor or number.
        dtype: an element type, e.g. ``mindspore.float32``.

    Raises:
        TypeError: no such dtype.

    Example:
        >>> cast(Tensor([1.7]), mindspore.int32)
        Tensor(shape=[1], dtype=Int32, value= [1])
    """
    x, target = (
        as_tensor("cast", input),
        dtype if isinstance(dtype, dtypes.DType) else resolve_dtype("cast", dtype),
    )
    if x.dtype.kind == "c" and target.kind not in "cb":
        from mycelia.ops.complex_numbers import Real
        x = Real(x)
    return x if x.dtype is target else selection.Cast(x, dtype=target)


def mixed_precision_cast(dst_dtype: Any, input: Any) -> Any:
    """The float tensors of a tensor, list, tuple or dict converted to a dtype; everything else as it is."""
    if isinstance(input, (list, tuple)):
        return type(input)(mixed_precision_cast(dst_dtype, item) for item in input)
    if isinstance(input, dict):
        return {key: mixed_precision_cast(dst_dtype, item) for key, item in input.items()}
    return cast(input, dst_dtype) if isinstance(input, Tensor) and input.dtype.is_float else input


def _choice(name: str, condition: Any, input: Any, other: Any) -> Tensor:
    condition = cast(as_tensor(name, condition, "condition"), bool_)
    if (
        not isinstance(input, Tensor)
        and not isinstance(other, Tensor)
        and is_number(input)
        and is_number(other)
    ):
        floats = isinstance(input, float) or isinstance(other, float)
        kind = (
            float32
            if floats
            else bool_
            if isinstance(input, bool) and isinstance(other, bool)
            else dtypes.int64
        )
        return selection.Select(condition, scalar(input, kind), scalar(other, kind))
    return selection.Select(condition, *operands(name, input, other))


def where(condition: Any, input: Any, other: Any) -> Tensor:
    """``input`` where the condition holds, else ``other``; the three broadcast."""
    return _choice("where", condition, input, other)


def select(condition: Any, input: Any, other: Any) -> Tensor:
    """``input`` where the condition holds, else ``other``; a number takes the tensor's dtype."""
    return _choice("select", condition, input, other)


def masked_fill(input_x: Any, mask: Any, value: Any) -> Tensor:
    """``value`` where the mask holds, else the input.

    Raises:
        TypeError: a mask that holds no booleans.
    """
    x = as_tensor("masked_fill", input_x)
    if not isinstance(mask, Tensor) or mask.dtype is not bool_:
        received = mask.type if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(
            f"masked_fill: the mask must be a Tensor of bool. Received: {received}; compare first, as in "
            "mask != 0"
        )
    value = cast(value, x.dtype) if isinstance(value, Tensor) else scalar(value, x.dtype)
    return selection.Select(mask, value, x)


def _bound(name: str, x: Tensor, bound: Any) -> Tensor:
    if isinstance(bound, Tensor):
        return cast(bound, x.dtype)
    if not is_number(bound):
        raise refuse(name, "a bound", bound, "a Tensor or a number")
    return scalar(bound, x.dtype)


@composite
def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """The input no lower than the first bound and no higher than the second; either may be None. Takes lists
    too.

    Raises:
        ValueError: both bounds are None.
    """
    if isinstance(x, (list, tuple)):
        return type(x)(clip_by_value(item, clip_value_min, clip_value_max) for item in x)
    if clip_value_min is None and clip_value_max is None:
        raise ValueError(
            "clip_by_value: at least one of clip_value_min and clip_value_max must be given. Received: None, "
            "None"
        )
    x = as_tensor("clip_by_value", x)
    if x.dtype.kind != "f" and any(isinstance(b, float) for b in (clip_value_min, clip_value_max)):
        x = cast(x, float32)
    if clip_value_min is not None:
        x = arithmetic.Maximum(x, _bound("clip_by_value", x, clip_value_min))
    return x if clip_value_max is None else arithmetic.Minimum(x, _bound("clip_by_value", x, clip_value_max))


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """`clip_by_value` under another name."""
    return clip_by_value(input, min, max)


def nan_to_num(
    input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and infinities replaced: by 0 and the dtype's largest and smallest number unless told otherwise."""
    x = as_tensor("nan_to_num", input)
    if x.dtype.kind != "f":
        return x
    import ml_dtypes
    limits = ml_dtypes.finfo(x.dtype.numpy)
    zero = like(0, x)
    high = like(float(limits.max) if posinf is None else posinf, x)
    low = like(float(limits.min) if neginf is None else neginf, x)
    infinite = comparison.IsInf(x)
    return selection.Select(
        comparison.IsNan(x),
        like(nan or 0.0, x),
        selection.Select(infinite, selection.Select(comparison.Greater(x, zero), high, low), x),
    )


def promoted_dtype(*xs: Any) -> dtypes.DType:
    """The dtype to which all of the tensors would convert."""
    dtype = xs[0].dtype
    for x in xs[1:]:
        dtype = promote("promoted_dtype", dtype, x.dtype)
    return dtype


negative, absolute, subtract, multiply, divide, true_divide = neg, abs, sub, mul, div, div
real_div, floor_divide, mod, remainder, tensor_pow = div, floor_div, floor_mod, floor_mod, pow
inv, arcsin, arccos, arctan, arctan2 = reciprocal, asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
eq, ne, lt, le, gt, ge = equal, not_equal, less, less_equal, greater, greater_equal
tensor_add, tensor_sub, tensor_mul, tensor_div, tensor_exp = add, sub, mul, div, exp
tensor_lt, tensor_le, tensor_gt, tensor_ge, tensor_mod, tensor_floordiv = lt, le, gt, ge, mod, floor_div
clip = clamp
