"""Shape and dtype rules that many operators share, and the errors they raise.

A rule object in an operator's class learns the operator's name from the class, so that its errors can name
it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ir.types import Dim, TensorType, same_shape

NUMBERS = (*dtypes.INTEGERS, *dtypes.FLOATS)
SIGNED_NUMBERS = tuple(d for d in NUMBERS if d.kind in "if")
INTEGERS_AND_BOOL = (dtypes.bool_, *dtypes.INTEGERS)
HALVES = (dtypes.float16, dtypes.bfloat16)


# Operators that also take complex numbers; the gradients of the first are conjugated (see `definition`).
HOLOMORPHIC = frozenset([
    "Add", "Sub", "Mul", "Div", "Neg", "Square", "Reciprocal", "Pow", "Exp", "Expm1", "Log", "Log1p", "Sqrt",
    "Rsqrt", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Sigmoid", "ReduceSum", "ReduceMean", "ReduceProd",
    "MatMul", "BatchMatMul", "CumSum",
])
OF_ANY_ELEMENT = frozenset([
    "Equal", "NotEqual", "Select", "Concat", "Gather", "ScatterUpdate", "GatherD", "Pad", "SliceScatter",
])


def wide(dtype: DType) -> DType:
    """The dtype in which statistics of a tensor are kept: float32 for float16 and bfloat16, else its own."""
    return dtypes.float32 if dtype in HALVES else dtype


def _listed(types: Sequence[TensorType]) -> str:
    return "(" + ", ".join(str(t) for t in types) + ")"


def wrong_dtype(operator: str, types: Sequence[TensorType], expected: str, cure: str) -> TypeError:
    return TypeError(f"{operator}: {expected}. Received: {_listed(types)}. {cure}")


def wrong_shape(operator: str, types: Sequence[TensorType], expected: str, cure: str) -> ValueError:
    return ValueError(f"{operator}: {expected}. Received: {_listed(types)}. {cure}")


def names(allowed: Sequence[DType]) -> str:
    if len(allowed) == len(dtypes.ALL):
        return "any dtype"
    if tuple(allowed) == NUMBERS:
        return "a number type"
    return ", ".join(d.name for d in allowed)


def require_dtypes(operator: str, types: Sequence[TensorType], allowed: Sequence[DType]) -> DType:
    """The one dtype of all inputs.

    Raises:
        TypeError: the dtypes differ, or are not among the allowed ones.
    """
    first = types[0].dtype
    for t in types:
        if t.dtype is not first:
            raise wrong_dtype(
                operator, types, "the inputs must have one dtype", "Convert one of them with astype"
            )
    if first not in allowed and not (first.kind == "c" and operator in HOLOMORPHIC | OF_ANY_ELEMENT):
        raise wrong_dtype(
            operator, types, f"the dtype must be {names(allowed)}", "Convert with astype, e.g. to float32"
        )
    return first


def require_rank(operator: str, types: Sequence[TensorType], *ranks: int | None) -> None:
    """Raises ValueError unless each input has the number of dimensions given for it (None: any)."""
    for t, rank in zip(types, ranks):
        if rank is not None and t.ndim != rank:
            wanted = ", ".join("any" if r is None else f"{r}-D" for r in ranks)
            raise wrong_shape(operator, types, f"the inputs must be {wanted}", "Reshape them first")


def _cure_of_shapes(operator: str, types: Sequence[TensorType]) -> str:
    if operator == "Add" and len(types) == 2 and types[0].ndim == types[1].ndim == 4:
        (n, c, *size), (m, d, *other) = (t.shape for t in types)
        if c > d:
            (c, d), (size, other) = (d, c), (other, size)
        known = all(isinstance(e, int) for e in (c, d, *size, *other))
        if known and n == m and c != d and 0 < other[0] <= size[0]:
            step = size[0] // other[0]
            stride = f", stride={step}" if step > 1 else ""
            return (
                "If this is a residual connection, its shortcut needs a 1x1 convolution to get as many "
                f"channels: nn.Conv2d({c}, {d}, 1{stride})"
            )
    return "Reshape or transpose one of them"


def broadcast_shapes(operator: str, types: Sequence[TensorType]) -> tuple[Dim, ...]:
    """The shape to which NumPy's rule broadcasts all inputs.

    Raises:
        ValueError: two extents differ and neither is 1.
    """
    shape: tuple[Dim, ...] = types[0].shape
    for t in types[1:]:
        if t.shape is shape or same_shape(t.shape, shape):
            continue
        longer, shorter = (shape, t.shape) if len(shape) >= len(t.shape) else (t.shape, shape)
        lead = len(longer) - len(shorter)
        merged = list(longer)
        for i, b in enumerate(shorter):
            a = longer[lead + i]
            if a == b or b == 1:
                continue
            if a != 1:
                raise wrong_shape(
                    operator,
                    types,
                    "the shapes must broadcast: counted from the last, two extents must "
                    f"be equal or one of them 1, but axis {i - len(shorter)} has {a} and {b}",
                    _cure_of_shapes(operator, types),
                )
            merged[lead + i] = b
        shape = tuple(merged)
    return shape


def normalise_axis(operator: str, axis: Any, ndim: int, what: str = "axis") -> int:
    """A non-negative axis.

    Raises:
        TypeError: not an integer.
        ValueError: out of range.
    """
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(
            f"{operator}: {what} must be an int. Received: {what}={axis!r} (of type {type(axis).__name__})"
        )
    index = axis.__index__()
    if not -ndim <= index < ndim:
        raise ValueError(f"{operator}: {what} must be in [{-ndim}, {ndim}) for a {ndim}-D input. Received: "
                         f"{what}={index}")
    return index % ndim


def normalise_axes(operator: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Sorted non-negative axes from None or () (all), an int, or a sequence of ints."""
    if axes is None or (isinstance(axes, (tuple, list)) and not axes):
        return tuple(range(ndim))
    if not isinstance(axes, (tuple, list)):
        axes = (axes,)
    if ndim == 0:
        return () if all(a in (0, -1) for a in axes) else (normalise_axis(operator, axes[0], ndim),)
    chosen = sorted(normalise_axis(operator, a, ndim) for a in axes)
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{operator}: axis must not name a dimension twice. Received: axis={tuple(axes)}")
    return tuple(chosen)


class Elementwise:
    """Inputs of one dtype that broadcast together; ``gives`` is the output's dtype when it is not theirs."""

    operator = "?"

    def __init__(self, takes: Sequence[DType], gives: DType | None = None, arity: int = 1) -> None:
        self.takes, self.gives, self.arity = frozenset(takes), gives, arity
        self._order = tuple(takes)

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(self, *types: TensorType, **attrs: Any) -> TensorType:
        if len(types) != self.arity or attrs:
            raise TypeError(
                f"{self.operator}: takes {self.arity} tensors and no attributes. Received: {_listed(types)} "
                f"{attrs or ''}"
            )
        first = types[0]
        dtype = first.dtype
        if dtype not in self.takes or any(t.dtype is not dtype for t in types):
            require_dtypes(self.operator, types, self._order)
        shape = first.shape if self.arity == 1 else broadcast_shapes(self.operator, types)
        return TensorType(self.gives or dtype, shape)


def same_type(takes: Sequence[DType] = NUMBERS) -> Elementwise:
    """One input; the output has its dtype and shape."""
    return Elementwise(takes)



def no_gradient(*_: Any, **__: Any) -> None:
    """The rule of operators whose derivative is zero wherever it exists."""
    return


Infer = Callable[..., Any]
