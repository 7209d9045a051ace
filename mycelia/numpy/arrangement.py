"""Shapes, axes, joining, picking, products of tensors, polynomials."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.ir.dtypes import float32, int32
from mycelia.numpy.arrays import asarray
from mycelia.ops import searching
from mycelia.ops.constants import constant, like
from mycelia.ops.function import (
    arranging,
    elementwise,
    finding,
    linear,
    padding,
    products,
    reducing,
    shaping,
)
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import cast, resolve_dtype
from mycelia.tensor.tensor import Tensor

# Views of one tensor with the same parameters in the same order under NumPy's names.
_SAME = {
    "broadcast_to": shaping.broadcast_to,
    "diagflat": arranging.diagflat,
    "diagonal": arranging.diagonal,
    "dsplit": arranging.dsplit,
    "expand_dims": shaping.expand_dims,
    "fliplr": arranging.fliplr,
    "flipud": arranging.flipud,
    "hsplit": arranging.hsplit,
    "moveaxis": arranging.movedim,
    "ravel": arranging.ravel,
    "repeat": shaping.repeat_interleave,
    "reshape": shaping.reshape,
    "roll": shaping.roll,
    "rot90": arranging.rot90,
    "squeeze": shaping.squeeze,
    "swapaxes": shaping.swapaxes,
    "tile": shaping.tile,
    "transpose": shaping.transpose,
    "tril": shaping.tril,
    "triu": shaping.triu,
    "vsplit": arranging.vsplit,
    "array_split": arranging.tensor_split,
    "diag": arranging.numpy_diag,
}
# Views of a list of tensors.
_LISTS = {
    "column_stack": arranging.column_stack,
    "dstack": arranging.dstack,
    "hstack": arranging.hstack,
    "stack": shaping.stack,
    "vstack": arranging.vstack,
}


def _view(name: str, function: Any, several: bool) -> Any:
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return function([asarray(x) for x in a] if several else asarray(a), *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


_TABLE = {
    **{name: _view(name, function, False) for name, function in _SAME.items()},
    **{name: _view(name, function, True) for name, function in _LISTS.items()},
}
globals().update(_TABLE)


def concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    """The tensors one after the other along an axis; flattened ones without an axis."""
    items = [asarray(x) for x in arrays]
    return shaping.cat([arranging.ravel(x) for x in items] if axis is None else items, axis or 0)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """`concatenate` of two."""
    return concatenate((arr, values), axis)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Views along an axis: so many of equal size, or cut at the indices given.

    Raises:
        ValueError: sections that do not divide the extent.
    """
    x = asarray(x)
    if isinstance(indices_or_sections, int) and x.shape[axis] % indices_or_sections:
        raise ValueError(
            f"split: the sections must divide the extent {x.shape[axis]}. Received: {indices_or_sections}. "
            "Use array_split"
        )
    return arranging.tensor_split(x, indices_or_sections, axis)


def flip(m: Any, axis: Any = None) -> Tensor:
    """Axes (all of them unless given) in reverse order."""
    x = asarray(m)
    return shaping.flip(x, tuple(np.arange(x.ndim).tolist()) if axis is None else axis)


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """An axis moved to before another one."""
    x = asarray(x)
    at = normalise_axis("rollaxis", axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    return arranging.movedim(x, at, start - 1 if start > at else start)


def copy(a: Any) -> Tensor:
    """The same elements in memory of its own."""
    return asarray(a).copy()


def shape(a: Any) -> tuple[int, ...]:
    """The extents."""
    return asarray(a).shape


def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the extent of an axis."""
    x = asarray(a)
    return x.size if axis is None else x.shape[axis]


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """The tensors broadcast to one shape."""
    items = [asarray(x) for x in args]
    shape = np.broadcast_shapes(*(x.shape for x in items))
    return [shaping.broadcast_to(x, shape) for x in items]


def _at_least(rank: int) -> Any:
    raised = getattr(arranging, f"atleast_{rank}d")

    def function(*arys: Any) -> Any:
        found = raised(*(asarray(x) for x in arys))
        return list(found) if isinstance(found, tuple) else found

    function.__name__ = function.__qualname__ = f"atleast_{rank}d"
    function.__doc__ = raised.__doc__
    return function


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def pad(arr: Any, pad_width: Any, mode: str = "constant", stat_length: Any = None, constant_values: Any = 0,
        end_values: Any = 0, reflect_type: str = "even", **kwargs: Any) -> Tensor:
    """Elements added around the axes.

    Args:
        arr: a tensor.
        pad_width: an int, (before, after), or such a pair for each axis.
        mode: ``"constant"``, ``"reflect"``, ``"edge"``, ``"wrap"`` or ``"symmetric"``.
        constant_values: the constant.

    Raises:
        ValueError: another mode.
    """
    x = asarray(arr)
    pairs = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    known = {"reflect": "reflect", "edge": "replicate", "wrap": "circular", "symmetric": "symmetric"}
    if mode == "constant":
        return padding.pad(x, [n for pair in pairs[::-1] for n in pair], value=constant_values)
    if mode not in known or reflect_type != "even":
        raise ValueError(
            f"pad: mode must be 'constant' or one of {list(known)}, reflect_type 'even'. Received: "
            f"mode={mode!r}, reflect_type={reflect_type!r}"
        )
    return padding.mirrored("pad", x, pairs, known[mode])


# -- picking -------------------------------------------------------------------------------------------------
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Slices along an axis (elements of the flattened tensor without one); indices out of range are brought
    into it (``"clip"``) or count on (``"wrap"``)."""
    x, at = asarray(a), asarray(indices)
    if axis is None:
        x, axis = arranging.ravel(x), 0
    extent = int(x.shape[axis])
    if mode == "wrap":
        at = elementwise.floor_mod(at, extent)
    elif mode == "clip":
        at = elementwise.clamp(at, 0, extent - 1)
    elif mode != "raise":
        raise ValueError(f"take: mode must be 'clip', 'wrap' or 'raise'. Received: mode={mode!r}")
    return shaping.gather(x, at, axis)


def take_along_axis(arr: Any, indices: Any, axis: int | None) -> Tensor:
    """The element at each index along an axis."""
    x, at = asarray(arr), asarray(indices)
    if axis is None:
        return shaping.gather_elements(arranging.ravel(x), 0, arranging.ravel(at))
    return shaping.gather_elements(x, axis, at)


def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """Of each place the choice whose number stands there."""
    items = broadcast_arrays(asarray(a), *choices)
    at, rest = items[0], shaping.stack(items[1:], 0)
    count = len(items) - 1
    at = elementwise.floor_mod(at, count) if mode == "wrap" else elementwise.clamp(at, 0, count - 1)
    return shaping.squeeze(shaping.gather_elements(rest, 0, shaping.expand_dims(at, 0)), 0)


def argwhere(a: Any) -> Tensor:
    """The indices of the elements that are not 0, one row each."""
    return shaping.argwhere(asarray(a))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """Places in the flattened tensor as coordinates."""
    rest, found = asarray(indices), []
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for extent in reversed(extents) if order == "C" else extents:
        found.append(elementwise.floor_mod(rest, extent))
        rest = elementwise.floor_div(rest, extent)
    return tuple(found[::-1] if order == "C" else found)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Tensor:
    """Coordinates as places in the flattened tensor."""
    pairs = list(zip(multi_index, dims))
    place: Any = 0
    for at, extent in pairs if order == "C" else pairs[::-1]:
        at = asarray(at)
        at = elementwise.floor_mod(at, extent) if mode == "wrap" else elementwise.clamp(at, 0, extent - 1)
        place = place * extent + at
    return place


def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """Whether each element is among others."""
    found = finding.isin(asarray(element), asarray(test_elements))
    return elementwise.logical_not(found) if invert else found


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """`isin` of the flattened tensor."""
    return isin(arranging.ravel(asarray(ar1)), ar2, invert)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where elements would go into a rising vector."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right'. Received: side={side!r}")
    x = asarray(a) if sorter is None else shaping.gather(asarray(a), asarray(sorter), 0)
    y = asarray(v)
    kind = elementwise.promoted_dtype(x, y)
    return finding.searchsorted(cast(x, kind), cast(y, kind), out_int32=True, right=side == "right")


# -- differences ---------------------------------------------------------------------------------------------
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Each element less the one before it along an axis, n times."""
    x = asarray(a)
    at = normalise_axis("diff", axis, x.ndim)
    line = tuple(1 if i == at else d for i, d in enumerate(x.shape))
    ends = [None if e is None else asarray(e) for e in (prepend, append)]
    ends = [shaping.broadcast_to(e, line) if e is not None and e.ndim == 0 else e for e in ends]
    return finding.diff(x, n, at, *ends)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of the flattened tensor, with elements before and after."""
    parts = [
        arranging.ravel(asarray(p)) for p in (to_begin, diff(arranging.ravel(asarray(ary))), to_end)
        if p is not None
    ]
    return shaping.cat(parts) if len(parts) > 1 else parts[0]


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences along axes, one-sided at the ends.

    Args:
        f: a tensor.
        varargs: the distance between elements, one for all axes or one for each.
        axis: an axis or several; all unless given.
        edge_order: 1.
    """
    x = asarray(f)
    x = x if x.dtype.is_float else cast(x, float32)
    axes = [axis] if isinstance(axis, int) else list(np.arange(x.ndim)) if axis is None else list(axis)
    steps = list(varargs) if len(varargs) == len(axes) else list(varargs or (1.0,)) * len(axes)
    if edge_order != 1 or len(steps) != len(axes):
        raise ValueError(
            "gradient: edge_order must be 1, and there must be one distance or one for each axis. Received: "
            f"edge_order={edge_order}, {len(varargs)} distances"
        )
    found = []
    for a, step in zip(axes, steps):
        at = normalise_axis("gradient", int(a), x.ndim)
        n = int(x.shape[at])
        part = lambda first, count, at=at: shaping.narrow(x, at, first, count)
        middle = (part(2, n - 2) - part(0, n - 2)) * 0.5
        ends = part(1, 1) - part(0, 1), part(n - 1, 1) - part(n - 2, 1)
        found.append(shaping.cat((ends[0], middle, ends[1]), at) / step)
    return found[0] if len(found) == 1 else found


def unwrap(p: Any, discont: float = math.pi, axis: int = -1) -> Tensor:
    """Angles without jumps of more than ``discont``, by adding multiples of 2 pi."""
    x = asarray(p)
    at = normalise_axis("unwrap", axis, x.ndim)
    steps = diff(x, axis=at)
    turned = elementwise.floor_mod(steps + math.pi, 2 * math.pi) - math.pi
    edge = elementwise.logical_and(elementwise.equal(turned, like(-math.pi, turned)), steps > 0)
    turned = elementwise.where(edge, like(math.pi, turned), turned)
    correction = elementwise.where(elementwise.abs(steps) < discont, like(0, steps), turned - steps)
    first, rest = shaping.narrow(x, at, 0, 1), shaping.narrow(x, at, 1, x.shape[at] - 1)
    return shaping.cat((first, rest + reducing.cumsum(correction, at)), at)


# -- products ------------------------------------------------------------------------------------------------
def _floats(*xs: Any) -> list[Tensor]:
    items = [asarray(x) for x in xs]
    kind = elementwise.promoted_dtype(*items)
    return [cast(x, kind) for x in items]


def dot(a: Any, b: Any) -> Tensor:
    """The product over the last axis of the first and the last but one of the second."""
    x, y = _floats(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return tensordot(x, y, ([x.ndim - 1], [y.ndim - 2 if y.ndim > 1 else 0]))


def inner(a: Any, b: Any) -> Tensor:
    """The product over the last axes of both."""
    x, y = _floats(a, b)
    return x * y if x.ndim == 0 or y.ndim == 0 else tensordot(x, y, ([x.ndim - 1], [y.ndim - 1]))


def outer(a: Any, b: Any) -> Tensor:
    """The products of all pairs of elements."""
    x, y = _floats(a, b)
    return shaping.reshape(x, (-1, 1)) * shaping.reshape(y, (1, -1))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """The product summed over axes.

    Args:
        a, b: tensors.
        axes: how many of the last of a and the first of b, or two lists of axes.

    Raises:
        ValueError: extents that differ.
    """
    x, y = _floats(a, b)
    return products.tensor_dot(x, y, axes)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product."""
    return products.kron(*_floats(a, b))


def multi_dot(arrays: Any) -> Tensor:
    """The product of several matrices."""
    total, *rest = _floats(*arrays)
    for x in rest:
        total = linear.matmul(total, x)
    return total


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The vector product of vectors of two or three elements."""
    x, y = _floats(a, b)
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    x, y = shaping.moveaxis(x, axisa, -1), shaping.moveaxis(y, axisb, -1)
    parts = []
    for t in (x, y):
        if t.shape[-1] not in (2, 3):
            raise ValueError(
                f"cross: the vectors must have two or three elements. Received: {x.type}, {y.type}"
            )
        third = t[..., 2] if t.shape[-1] == 3 else t[..., 0] * 0
        parts.append((t[..., 0], t[..., 1], third))
    (x0, x1, x2), (y0, y1, y2) = parts
    last = x0 * y1 - x1 * y0
    if x.shape[-1] == y.shape[-1] == 2:
        return last
    return shaping.moveaxis(shaping.stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, last], -1), -1, axisc)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum along a diagonal."""
    x = asarray(a)
    line = arranging.diagonal(x, offset, axis1, axis2)
    y = reducing.sum(line, -1, dtype=x.dtype if x.dtype.is_float else None)
    return y if dtype is None else cast(y, resolve_dtype("trace", dtype))


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """The convolution of two vectors: ``"full"``, ``"same"`` or ``"valid"``."""
    x, y = _floats(a, v)
    return correlate(*((x, shaping.flip(y, (0,))) if x.size >= y.size else (y, shaping.flip(x, (0,)))), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """The correlation of two vectors: ``"full"``, ``"same"`` or ``"valid"``."""
    from mycelia.ops.function.convolving import conv1d
    x, y = _floats(a, v)
    x, y = (t if t.dtype.is_float else cast(t, float32) for t in (x, y))
    n, k = int(x.shape[0]), int(y.shape[0])
    turned = k > n
    x, y, n, k = (y, x, k, n) if turned else (x, y, n, k)
    margins = {"valid": (0, 0), "full": (k - 1, k - 1), "same": (k // 2, k - 1 - k // 2)}
    if mode not in margins:
        raise ValueError(f"correlate: mode must be one of {list(margins)}. Received: mode={mode!r}")
    lo, hi = margins[mode]
    line = conv1d(padding.pad(x, (lo, hi)).reshape(1, 1, -1), y.reshape(1, 1, -1)).reshape(-1)
    return shaping.flip(line, (0,)) if turned else line


# -- polynomials ---------------------------------------------------------------------------------------------
def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of polynomials, given by coefficients from the highest on."""
    x, y = (arranging.ravel(t) for t in _floats(a1, a2))
    count = int(np.maximum(x.shape[0], y.shape[0]))
    return padding.pad(x, (count - x.shape[0], 0)) + padding.pad(y, (count - y.shape[0], 0))


def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of polynomials."""
    x, y = _floats(a1, a2)
    return polyadd(x, -y)


def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of polynomials."""
    x, y = (arranging.ravel(t) for t in _floats(a1, a2))
    return convolve(x, y)


def polyval(p: Any, x: Any) -> Tensor:
    """The value of a polynomial at x (Horner's scheme)."""
    coefficients, x = _floats(p, x)
    y = x * 0
    for c in shaping.unstack(coefficients, 0):
        y = y * x + c
    return y


def polyder(p: Any, m: int = 1) -> Tensor:
    """The m-th derivative of a polynomial."""
    x = asarray(p)
    for _ in [None] * m:
        degree = int(x.shape[0]) - 1
        x = x[:-1] * cast(constant(np.arange(degree, 0, -1)), x.dtype)
    return x


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The m-th integral of a polynomial, with constants k."""
    x = asarray(p)
    x = x if x.dtype.is_float else cast(x, float32)
    constants = asarray([0.0] * m if k is None else k if isinstance(k, (list, tuple)) else [k] * m, x.dtype)
    for i in np.arange(m).tolist():
        degree = int(x.shape[0])
        x = x / cast(constant(np.arange(degree, 0, -1)), x.dtype)
        x = shaping.cat((x, constants[i:i + 1]))
    return x


# -- the rest ------------------------------------------------------------------------------------------------
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A function of vectors applied to each along an axis."""
    x = asarray(arr)
    moved = shaping.moveaxis(x, axis, -1)
    lines = shaping.unstack(shaping.reshape(moved, (-1, moved.shape[-1])), 0)
    found = shaping.stack([asarray(func1d(line, *args, **kwargs)) for line in lines])
    inner = found.ndim - 1
    y = shaping.reshape(found, (*moved.shape[:-1], *found.shape[1:]))
    at = normalise_axis("apply_along_axis", axis, x.ndim)
    order = list(np.arange(moved.ndim - 1))
    order[at:at] = list(np.arange(moved.ndim - 1, moved.ndim - 1 + inner))
    return shaping.transpose(y, tuple(int(i) for i in order)) if order else y


def apply_over_axes(func: Any, a: Any, axes: Any) -> Tensor:
    """A reduction applied along one axis after the other, which stay with extent 1."""
    x = asarray(a)
    for axis in [axes] if isinstance(axes, int) else axes:
        y = func(x, axis)
        x = y if y.ndim == x.ndim else shaping.expand_dims(y, axis)
    return x


def array_str(a: Any) -> str:
    """The elements as text."""
    return np.array_str(asarray(a).asnumpy())


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different elements in rising order, and the place of each element among them if asked for."""
    flat = arranging.ravel(asarray(x))
    values, places = searching.found(searching.Unique, flat, sorted=True)[:2]
    return (values, cast(places, int32)) if return_inverse else values


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that are in both, in rising order, and their first places if asked for."""
    x, y = (arranging.ravel(t) for t in _floats(ar1, ar2))
    values = unique(x[isin(x, y)])
    if not return_indices:
        return values
    column = shaping.expand_dims(values, -1)
    return (values, *(reducing.argmax(cast(elementwise.equal(column, t), int32), -1) for t in (x, y)))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The elements of the first that are not in the second."""
    x = arranging.ravel(asarray(ar1))
    left = x[isin(x, ar2, True)]
    return left if assume_unique else unique(left)


def _drawn(name: str) -> Any:
    def function(*shape: Any, dtype: Any = float32) -> Tensor:
        from mycelia.ops.function import drawing
        return getattr(drawing, name)(*shape, dtype=resolve_dtype(name, dtype))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Uniform numbers of [0, 1)." if name == "rand" else "Standard normal numbers."
    return function


rand, randn = _drawn("rand"), _drawn("randn")


def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = int32) -> Tensor:
    """Whole numbers of [minval, maxval), or of [0, minval)."""
    from mycelia.ops.function import drawing
    low, high = (0, minval) if maxval is None else (minval, maxval)
    size = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return drawing.randint(low, high, size, dtype=resolve_dtype("randint", dtype))


__all__ = [
    *_TABLE,
    "append", "apply_along_axis", "apply_over_axes", "argwhere", "array_str", "atleast_1d", "atleast_2d",
    "atleast_3d", "broadcast_arrays", "choose", "concatenate", "convolve", "copy", "correlate", "cross",
    "diff", "dot", "ediff1d", "flip", "gradient", "in1d", "inner", "intersect1d", "isin", "kron",
    "multi_dot", "outer", "pad", "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval", "rand",
    "randint", "randn", "ravel_multi_index", "rollaxis", "searchsorted", "setdiff1d", "shape", "size",
    "split", "take", "take_along_axis", "tensordot", "trace", "unique", "unravel_index", "unwrap",
]
