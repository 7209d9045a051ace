"""Types of values: element type and shape, whose dimensions may be symbols with a range."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NoReturn, Union

from mycelia.ir.dtypes import DType

_fresh = itertools.count()


class NeedsConcrete(Exception):
    """Python code asked a symbolic dimension for its number; the function is then compiled for the concrete
    size.
    """


class Sym:
    """A dimension that is not known when the graph is made: an atom with a range, or an expression over
    atoms.

    An expression is ``(operator, left, right)`` with operator one of ``+ - * //``. Two symbols are equal when
    their normalised text is. ``bounded`` marks a data-dependent extent (``nonzero``): its value is known only
    after the producing node ran, and ``hi`` is the extent to reserve.
    """

    __slots__ = ("text", "lo", "hi", "parts", "bounded")

    def __init__(
        self,
        text: str | None = None,
        lo: int = 0,
        hi: int = 2**62,
        *,
        parts: tuple[str, Dim, Dim] | None = None,
        bounded: bool = False,
    ) -> None:
        self.text = text or f"s{next(_fresh)}"
        self.lo, self.hi, self.parts, self.bounded = lo, hi, parts, bounded

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            if self.lo <= other <= self.hi:
                raise NeedsConcrete(f"is the dimension {self.text} equal to {other}?")
            return False
        return isinstance(other, Sym) and self.text == other.text

    def __index__(self) -> int:
        raise NeedsConcrete(f"the number of the dimension {self.text}")

    def _number(self, *_: object) -> int:
        return self.__index__()

    __int__ = __float__ = __bool__ = __index__
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __round__ = __trunc__ = _number

    def _below(self, other: Dim, least: int) -> bool:
        """Whether ``other - self >= least`` for all numbers in the ranges; not for any is False."""
        low, high = _bounds(other)
        if low - self.hi >= least:
            return True
        if high - self.lo < least:
            return False
        raise NeedsConcrete(f"how the dimension {self.text} compares with {other}")

    def __lt__(self, other: Dim) -> bool:
        return self._below(other, 1)

    def __le__(self, other: Dim) -> bool:
        return self._below(other, 0)

    def __gt__(self, other: Dim) -> bool:
        return not self._below(other, 0)

    def __ge__(self, other: Dim) -> bool:
        return not self._below(other, 1)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def __add__(self, other: Dim) -> Dim:
        return _combine("+", self, other)

    def __radd__(self, other: Dim) -> Dim:
        return _combine("+", other, self)

    def __sub__(self, other: Dim) -> Dim:
        return _combine("-", self, other)

    def __rsub__(self, other: Dim) -> Dim:
        return _combine("-", other, self)

    def __mul__(self, other: Dim) -> Dim:
        return _combine("*", self, other)

    def __rmul__(self, other: Dim) -> Dim:
        return _combine("*", other, self)

    def __floordiv__(self, other: Dim) -> Dim:
        return _combine("//", self, other)

    def __rfloordiv__(self, other: Dim) -> Dim:
        return _combine("//", other, self)

    def __mod__(self, other: Dim) -> Dim:
        return _remainder(self, other)

    def __rmod__(self, other: Dim) -> Dim:
        return _remainder(other, self)

    def __neg__(self) -> Dim:
        return _combine("-", 0, self)


Dim = Union[int, Sym]


def _bounds(x: Dim) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else (x.lo, x.hi)


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two dimensions are the same number or the same symbol; never asks a symbol for its number."""
    return a is b or (type(a) is type(b) and a == b)


def same_shape(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """`same_dim` for each axis."""
    return len(a) == len(b) and all(map(same_dim, a, b))


def merge_shapes(*shapes: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """The shape to which all broadcast by NumPy's rule; None where symbols leave that open, or they do not
    broadcast.
    """
    merged: tuple[Dim, ...] = shapes[0]
    for shape in shapes[1:]:
        if shape is merged:
            continue
        longer, shorter = (merged, shape) if len(merged) >= len(shape) else (shape, merged)
        lead = len(longer) - len(shorter)
        dims = list(longer)
        for i, b in enumerate(shorter, lead):
            a = dims[i]
            if same_dim(a, b) or _is(b, 1):
                continue
            if not _is(a, 1):
                return None
            dims[i] = b
        merged = tuple(dims)
    return merged


def _is(dim: Dim, number: int) -> bool:
    return isinstance(dim, int) and dim == number


def _combine(op: str, a: Dim, b: Dim) -> Dim:
    """Folds the cases that occur in shape rules; anything else becomes an expression."""
    if op == "+" and (_is(a, 0) or _is(b, 0)):
        return b if _is(a, 0) else a
    if op == "-" and _is(b, 0):
        return a
    if op == "-" and same_dim(a, b):
        return 0
    if op == "*":
        if _is(a, 0) or _is(b, 0):
            return 0
        if _is(a, 1) or _is(b, 1):
            return b if _is(a, 1) else a
        if isinstance(a, Sym) and isinstance(b, int):
            a, b = b, a
        if (
            isinstance(a, int)
            and isinstance(b, Sym)
            and b.parts
            and b.parts[0] == "*"
            and isinstance(b.parts[1], int)
        ):
            return _combine("*", a * b.parts[1], b.parts[2])
    if op == "//":
        if _is(b, 1):
            return a
        if same_dim(a, b):
            return 1
        if isinstance(b, int) and isinstance(a, Sym) and a.parts and a.parts[0] == "*":
            factor, rest = a.parts[1], a.parts[2]
            if isinstance(factor, int) and factor % b == 0:
                return _combine("*", factor // b, rest)
        if (
            isinstance(b, Sym)
            and isinstance(a, Sym)
            and a.parts
            and a.parts[0] == "*"
            and same_dim(a.parts[2], b)
        ):
            return a.parts[1]
    if (
        op in "+-"
        and isinstance(b, int)
        and isinstance(a, Sym)
        and a.parts
        and a.parts[0] in "+-"
        and isinstance(a.parts[2], int)
    ):
        inner = a.parts[2] if a.parts[0] == "+" else -a.parts[2]
        total = inner + (b if op == "+" else -b)
        return _combine("+", a.parts[1], total) if total >= 0 else _combine("-", a.parts[1], -total)
    (al, ah), (bl, bh) = _bounds(a), _bounds(b)
    if op == "//":
        corners = [x // y for x in (al, ah) for y in (max(bl, 1), max(bh, 1))]
    else:
        function = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[op]
        corners = [function(x, y) for x in (al, ah) for y in (bl, bh)]
    bounded = any(isinstance(x, Sym) and x.bounded for x in (a, b))
    return Sym(f"({a}{op}{b})", min(corners), max(corners), parts=(op, a, b), bounded=bounded)


def _remainder(a: Dim, b: Dim) -> Dim:
    rest = a - a // b * b
    if isinstance(rest, int):
        return rest
    return Sym(rest.text, 0, min(_bounds(a)[1], _bounds(b)[1] - 1), parts=rest.parts, bounded=rest.bounded)


def evaluate(dim: Dim, binding: dict[str, int]) -> int:
    """The number that a dimension stands for, given a number for each atom.

    Raises:
        KeyError: an atom has no number.
    """
    if isinstance(dim, int):
        return dim
    if dim.text in binding:
        return binding[dim.text]
    if dim.parts is None:
        raise KeyError(dim.text)
    op, a, b = dim.parts
    x, y = evaluate(a, binding), evaluate(b, binding)
    return {"+": x + y, "-": x - y, "*": x * y, "//": x // y if op == "//" else 0}[op]


@dataclass(frozen=True, eq=False)
class TensorType:
    """Element type and shape of a value, e.g. ``float32[s0, 3]``."""

    dtype: DType
    shape: tuple[Dim, ...] = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, TensorType)
            and self.dtype is other.dtype
            and same_shape(self.shape, other.shape)
        )

    def __hash__(self) -> int:
        return hash((self.dtype.code, self.shape))

    def __call__(self, dtype: object = None) -> NoReturn:
        """What ``x.type(dtype)`` is answered with, which converts in other frameworks.

        Raises:
            TypeError: always; it names the method that converts.
        """
        wanted = f"x.astype(mindspore.{dtype.name})" if isinstance(dtype, DType) else "x.astype(dtype)"
        raise TypeError(
            f"Tensor.type: here it is no method but the tensor's element type and shape, {self}; to convert "
            f"use {wanted}, and x.dtype is the element type. Received: dtype={dtype!r}"
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return all(isinstance(d, int) for d in self.shape)

    @property
    def size(self) -> Dim:
        total: Dim = 1
        for d in self.shape:
            total = total * d
        return total

    @property
    def nbytes(self) -> int:
        """Bytes to reserve; needs a static shape or bounded symbols, whose upper end counts."""
        total = self.dtype.itemsize
        for d in self.shape:
            total *= d if isinstance(d, int) else d.hi
        return total

    def with_shape(self, *shape: Dim) -> TensorType:
        return TensorType(self.dtype, tuple(shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.shape)

    def bind(self, binding: dict[str, int]) -> TensorType:
        """The static type under a binding of the atoms."""
        return TensorType(self.dtype, tuple(evaluate(d, binding) for d in self.shape))

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"
