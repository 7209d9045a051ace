"""Attaches arithmetic, indexing and MindSpore's methods to `Tensor`: each is a view of a function."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ops import element_methods, inplace
from mycelia.ops.equivalents import EQUIVALENTS, Elsewhere
from mycelia.ops.explanations import explained
from mycelia.ops.function import (
    activations,
    creating,
    drawing,
    effects,
    elementwise,
    linear,
    products,
    reducing,
    scalars,
    shaping,
    sliding,
)
from mycelia.ops.promotion import cast, require_tensor, resolve_dtype
from mycelia.ops.subscript import getitem, setitem
from mycelia.tensor.tensor import Tensor

E = elementwise


def _operands(args: tuple) -> Any:
    """``f(1, 2)`` and ``f((1, 2))`` alike."""
    return args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


# -- Python's protocols --------------------------------------------------------------------------------------
def _flipped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


def _comparable(other: Any) -> bool:
    return isinstance(other, (Tensor, bool, int, float, np.number, np.bool_, list, tuple))


def _eq(self: Tensor, other: Any) -> Any:
    """Element by element; False for what is no tensor or number, as in MindSpore."""
    return E.equal(self, other) if _comparable(other) else False


def _ne(self: Tensor, other: Any) -> Any:
    return E.not_equal(self, other) if _comparable(other) else True


def _single(self: Tensor) -> Any:
    """The one element as a Python number.

    Raises:
        ValueError: there is not exactly one.
    """
    if self.size != 1:
        raise ValueError(
            f"The tensor should have only one element, but got {self.size}, more than one element is "
            "ambiguous."
        )
    return self.asnumpy().item()


def _number(kind: type) -> Callable[[Tensor], Any]:
    def convert(self: Tensor) -> Any:
        if self.size != 1:
            raise ValueError(
                f"Only one element tensors can be converted to Python scalars. Received: shape {self.shape}"
            )
        return kind(self.asnumpy().item())
    return convert


def _iter(self: Tensor) -> Iterator[Tensor]:
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return iter(shaping.unstack(self, 0))


def _contains(self: Tensor, item: Any) -> bool:
    return bool(reducing.any(E.equal(self, item)))


def _index(self: Tensor) -> int:
    if self.dtype.kind == "f":
        raise TypeError(f"only integer tensors can be an index. Received: {self.type}")
    return int(_single(self))


def _bitwise(function: Callable[..., Any], logical: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Tensor, other: Any) -> Tensor:
        both = self.dtype is dtypes.bool_ and (
            isinstance(other, bool) or isinstance(other, Tensor) and other.dtype is dtypes.bool_
        )
        return logical(self, other) if both else function(self, other)
    return apply


PROTOCOL: dict[str, Callable[..., Any]] = {
    "__add__": E.add,
    "__radd__": _flipped(E.add),
    "__sub__": E.sub,
    "__rsub__": _flipped(E.sub),
    "__mul__": E.mul,
    "__rmul__": _flipped(E.mul),
    "__truediv__": E.div,
    "__rtruediv__": _flipped(E.div),
    "__floordiv__": E.floor_div,
    "__rfloordiv__": _flipped(E.floor_div),
    "__mod__": E.floor_mod,
    "__rmod__": _flipped(E.floor_mod),
    "__pow__": E.pow,
    "__rpow__": _flipped(E.pow),
    "__matmul__": linear.matmul,
    "__rmatmul__": _flipped(linear.matmul),
    "__neg__": E.neg,
    "__pos__": lambda self: self,
    "__abs__": E.abs,
    "__invert__": E.bitwise_not,
    "__and__": _bitwise(E.bitwise_and, E.logical_and),
    "__or__": _bitwise(E.bitwise_or, E.logical_or),
    "__xor__": _bitwise(E.bitwise_xor, E.logical_xor),
    "__rand__": _flipped(E.bitwise_and),
    "__ror__": _flipped(E.bitwise_or),
    "__rxor__": _flipped(E.bitwise_xor),
    "__lt__": E.less,
    "__le__": E.less_equal,
    "__gt__": E.greater,
    "__ge__": E.greater_equal,
    "__eq__": _eq,
    "__ne__": _ne,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__iter__": _iter,
    "__contains__": _contains,
    "__bool__": lambda self: bool(_single(self)),
    "__int__": _number(int),
    "__float__": _number(float),
    "__index__": _index,
}


# -- methods -------------------------------------------------------------------------------------------------
def _view(self: Tensor, *shape: Any) -> Tensor:
    """The same elements under another shape, in the same memory."""
    return shaping.reshape(self, _operands(shape))


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    order = _operands(axes)
    return shaping.transpose(self, order if order and order[0] is not None else None)


def _flatten(self: Tensor, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    return shaping.flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def _sum(
    self: Tensor,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    *,
    keepdim: bool = False,
    dim: Any = None,
) -> Tensor:
    if isinstance(dtype, bool):  # x.sum(dim, keepdim)
        keepdim, dtype = dtype, None
    total = reducing.sum(self, axis if dim is None else dim, keepdims or keepdim, dtype=dtype)
    return total if initial is None else total + initial


def _mean(
    self: Tensor,
    axis: Any = None,
    keep_dims: bool = False,
    *,
    dtype: Any = None,
    dim: Any = None,
    keepdim: bool = False,
) -> Tensor:
    return reducing.mean(self, axis if dim is None else dim, keep_dims or keepdim, dtype=dtype)


def _extremum(name: str, reduce: Callable[..., Any], both: Callable[..., Any]) -> Callable[..., Any]:
    """``x.max()`` and ``x.max(axis=1)`` give elements; ``x.max(1)`` and ``x.max(dim=1)`` give their indices
    too."""

    def method(
        self: Tensor,
        dim: Any = None,
        keepdim: bool = False,
        *,
        axis: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
        return_indices: bool = False,
    ) -> Any:
        if isinstance(dim, Tensor):
            return getattr(E, f"{name}imum")(self, dim)
        if dim is not None or return_indices:
            return both(self, axis if dim is None else dim, keepdims or keepdim)
        return reduce(reducing._masked(name, self, initial, where), axis, keepdims or keepdim)
    return method


def _arg(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(
        self: Tensor, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool = False
    ) -> Tensor:
        return function(self, axis if dim is None else dim, keepdims or keepdim)
    return method


def _repeat(self: Tensor, repeats: int, axis: int | None = None) -> Tensor:
    return shaping.repeat_interleave(self, repeats, axis)


def _copy(self: Tensor) -> Tensor:
    """The same elements in memory of its own."""
    from mycelia.ops.constants import scalar
    from mycelia.ops.selection import Select
    return Select(scalar(True, dtypes.bool_), self, self)


def _to(self: Tensor, *args: Any, dtype: Any = None, **_: Any) -> Tensor:
    """The tensor as another dtype; a device named here must be the tensor's own."""
    for arg in args:
        if isinstance(arg, str) and arg.upper().split(":")[0] in ("CPU", "GPU", "ASCEND"):
            if arg.upper().split(":")[0] != self.device.upper():
                raise ValueError(
                    f"Tensor.to: the tensor is on {self.device}. Received: {arg!r}. Choose the device with "
                    "set_device"
                )
        elif isinstance(arg, str) and arg.split(":")[0] in ("cuda", "npu", "xpu", "mps"):
            raise ValueError(
                f"Tensor.to: there is no device {arg!r} here; the tensor is on {self.device}. Leave the call "
                "out: tensors are made where set_device says"
            )
        else:
            dtype = arg
    return self if dtype is None else elementwise.cast(self, dtype)


def _fill(self: Tensor, value: Any) -> Tensor:
    return creating.full_like(self, value)


def _new(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, size: Any, *, dtype: Any = None) -> Tensor:
        return function(size, dtype=dtype or self.dtype)
    return method


def _new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    return creating.full(size, fill_value, dtype=dtype or self.dtype)


def _inplace(function: Callable[..., Any]) -> Callable[..., Any]:
    """The form with a trailing underscore: the tensor takes over the result."""
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace.write(self, cast(function(self, *args, **kwargs), self.dtype))
    return method


def _copy_(self: Tensor, src: Any) -> Tensor:
    return effects.assign(self, shaping.broadcast_to(src, self.shape) if isinstance(src, Tensor) else src)


def _as_dtype(dtype: dtypes.DType) -> Callable[[Tensor], Tensor]:
    return lambda self: cast(self, dtype)


_SAME = {
    products: "addbmm addmv addr cross inner",
    scalars: """
        copysign deg2rad float_power fmax fmin frac gcd heaviside isneginf isposinf lcm ldexp
        logaddexp2 positive rad2deg sgn signbit sinc xdivy""",
    sliding: "fold unfold",
    E: """
        abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh
        asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clip cos cosh
        div divide eq equal erf erfc exp expm1 floor floor_divide fmod ge greater greater_equal gt hypot inv
        isclose isfinite isinf isnan le lerp less less_equal log log10 log1p log2 logaddexp logical_and
        logical_not logical_or logical_xor lt masked_fill maximum minimum mul multiply nan_to_num ne neg
        negative not_equal pow reciprocal remainder round rsqrt sigmoid sign sin sinh sqrt square sub
        subtract tan tanh true_divide trunc where xlogy""",
    reducing: """
        all amax amin any argsort count_nonzero cumsum logsumexp median norm prod sort std top_k topk var""",
    shaping: """
        argwhere broadcast_to chunk expand_dims flip gather gather_elements gather_nd index_select moveaxis
        narrow nonzero repeat_interleave reshape roll split squeeze swapaxes t tile tril triu unbind
        unsqueeze""",
    linear: "addmm baddbmm bmm dot ger matmul mm outer",
    activations: "hardshrink logit soft_shrink softmax",
    drawing: "bernoulli",
}

_WITH_UNDERSCORE = """abs add sub mul div exp log floor neg sqrt rsqrt square sigmoid sin cos tanh clamp
    masked_fill pow"""

METHODS: dict[str, Callable[..., Any]] = {
    "view": _view,
    "transpose": _transpose,
    "permute": lambda self, *axis: shaping.permute(self, _operands(axis)),
    "reshape": lambda self, *shape: shaping.reshape(self, _operands(shape)),
    "tile": lambda self, *dims: shaping.tile(self, _operands(dims)),
    "broadcast_to": lambda self, *shape: shaping.broadcast_to(self, _operands(shape)),
    "expand": lambda self, *size: shaping.broadcast_to(self, _operands(size)),
    "flip": lambda self, *dims: shaping.flip(self, _operands(dims)),
    "expand_as": lambda self, other: shaping.broadcast_to(self, other.shape),
    "view_as": lambda self, other: shaping.reshape(self, other.shape),
    "reshape_as": lambda self, other: shaping.reshape(self, other.shape),
    "flatten": _flatten,
    "ravel": lambda self: shaping.reshape(self, (-1,)),
    "swapdims": shaping.swapaxes,
    "where": lambda self, condition, other: E.where(condition, self, other),
    "sum": _sum,
    "mean": _mean,
    "max": _extremum("max", reducing.amax, reducing.max),
    "min": _extremum("min", reducing.amin, reducing.min),
    "argmax": _arg(reducing.argmax),
    "argmin": _arg(reducing.argmin),
    "repeat": _repeat,
    "dim": lambda self: self.ndim,
    "astype": lambda self, dtype, copy=True: elementwise.cast(self, resolve_dtype("astype", dtype)),
    "to": _to,
    "type_as": lambda self, other: cast(self, require_tensor("type_as", other, "other").dtype),
    "float": _as_dtype(dtypes.float32),
    "half": _as_dtype(dtypes.float16),
    "double": _as_dtype(dtypes.float64),
    "bfloat16": _as_dtype(dtypes.bfloat16),
    "int": _as_dtype(dtypes.int32),
    "long": _as_dtype(dtypes.int64),
    "bool": _as_dtype(dtypes.bool_),
    "byte": _as_dtype(dtypes.uint8),
    "short": _as_dtype(dtypes.int16),
    "item": lambda self, index=None: _single(self) if index is None else self.asnumpy().item(index),
    "copy": _copy,
    "clone": _copy,
    "contiguous": lambda self: self if self.is_contiguous() else _copy(self),
    "numel": lambda self: self.size,
    "nelement": lambda self: self.size,
    "fill": _fill,
    "new_zeros": _new(creating.zeros),
    "new_ones": _new(creating.ones),
    "new_empty": _new(creating.empty),
    "new_full": _new_full,
    "assign_value": effects.assign,
    "copy_": _copy_,
    "zero_": _inplace(creating.zeros_like),
    "fill_": _inplace(lambda self, value: creating.full_like(self, value)),
    "init_data": lambda self, *_, **__: self,  # what `initializer` gives holds its elements already
    "is_floating_point": lambda self: self.dtype.is_float,
    "detach": effects.stop_gradient,
    **{
        f"{name}_": _inplace(getattr(E, name))
        for name in _WITH_UNDERSCORE.split()
    },
}


def install() -> None:
    """Attaches everything to `Tensor`, once."""
    for module, names in _SAME.items():
        for name in names.split():
            METHODS.setdefault(name, getattr(module, name))
    METHODS.update(element_methods.METHODS)
    for name, function in PROTOCOL.items():
        setattr(Tensor, name, function)
    for name, function in METHODS.items():
        if name not in ("numpy", "asnumpy"):
            plain = isinstance(function, FunctionType)
            setattr(Tensor, name, explained(name, function, __name__) if plain else function)
    for name in EQUIVALENTS["Tensor"]:
        setattr(Tensor, name, Elsewhere("Tensor", name))
    Tensor.T = property(lambda self: shaping.transpose(self))  # type: ignore[attr-defined]
    Tensor.mT = property(lambda self: shaping.swapaxes(self, -1, -2))  # type: ignore[attr-defined]
