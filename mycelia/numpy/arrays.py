"""Making tensors: from Python's data, by shape, by rule."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir.dtypes import DType, bool_, float32, int32
from mycelia.ops.constants import constant
from mycelia.ops.function import arranging, creating, shaping
from mycelia.ops.promotion import cast, promote, refuse, resolve_dtype
from mycelia.tensor.tensor import Tensor

_KINDS = {"b": bool_, "i": int32, "f": float32}


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """A tensor of a tensor, a number, or lists of these; whole numbers become int32, others float32.

    Raises:
        TypeError: anything else; NumPy arrays too, as in MindSpore.
    """
    if isinstance(a, Tensor):
        return a if dtype is None else cast(a, resolve_dtype("asarray", dtype))
    if isinstance(a, (list, tuple)) and any(isinstance(item, Tensor) for item in a):
        return shaping.stack([asarray(item, dtype) for item in a])
    if isinstance(a, (bool, int, float, list, tuple)):
        made = np.asarray(a)
        if made.dtype.kind in _KINDS:
            target = _KINDS[made.dtype.kind] if dtype is None else resolve_dtype("asarray", dtype)
            return constant(made.astype(target.numpy))
    raise refuse("asarray", "a", a, "a Tensor, a number or lists of numbers")


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """`asarray` with memory of its own, and at least ``ndmin`` axes."""
    x = asarray(obj, dtype)
    if x.ndim < ndmin:
        x = shaping.reshape(x, (*(1,) * (ndmin - x.ndim), *x.shape))
    return x.copy() if copy and isinstance(obj, Tensor) else x


def asfarray(a: Any, dtype: Any = float32) -> Tensor:
    """`asarray` of floats."""
    target = resolve_dtype("asfarray", dtype)
    return asarray(a, target if target.is_float else float32)


def _by_shape(name: str) -> Any:
    def function(shape: Any, dtype: Any = float32) -> Tensor:
        return getattr(creating, name)(shape, dtype=resolve_dtype(name, dtype))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(creating, name).__doc__
    return function


def _by_likeness(name: str) -> Any:
    def function(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
        x = asarray(a)
        return getattr(creating, name)(x.shape if shape is None else shape, dtype=dtype or x.dtype)

    function.__name__ = function.__qualname__ = f"{name}_like"
    function.__doc__ = f"`{name}` with another tensor's shape and dtype."
    return function


zeros, ones, empty = (_by_shape(name) for name in ("zeros", "ones", "empty"))
zeros_like, ones_like, empty_like = (_by_likeness(name) for name in ("zeros", "ones", "empty"))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """A tensor of one value, or of values that broadcast to the shape."""
    return shaping.broadcast_to(asarray(fill_value, dtype), shaping.extents("full", shape)).copy()


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """`full` with another tensor's shape and dtype."""
    x = asarray(a)
    return full(x.shape if shape is None else shape, fill_value, dtype or x.dtype)


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    """Numbers from ``start`` (0 unless given) to before ``stop``; int32, or float32 if one is a float."""
    first, last = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    kind = float32 if any(isinstance(v, float) for v in (first, last, step)) else int32
    kind = kind if dtype is None else resolve_dtype("arange", dtype)
    return constant(np.arange(first, last, step).astype(kind.numpy))


def _spaced(name: str, make: Any, start: Any, stop: Any, num: int, dtype: Any, axis: int, **how: Any) -> Any:
    ends = [v.asnumpy() if isinstance(v, Tensor) else v for v in (start, stop)]
    if not isinstance(num, int) or num < 0:
        raise TypeError(f"{name}: num must be an int that is not negative. Received: num={num!r}")
    made = make(*ends, num, axis=axis, **how)
    return constant(np.asarray(made, np.float32) if dtype is None else
                    np.asarray(made).astype(resolve_dtype(name, dtype).numpy))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: Any = None, axis: int = 0) -> Any:
    """``num`` numbers at equal distances; with ``retstep`` also the distance."""
    line = _spaced("linspace", np.linspace, start, stop, num, dtype, axis, endpoint=endpoint)
    if not retstep:
        return line
    parts = num - 1 if endpoint else num
    return line, (asarray(stop, float32) - asarray(start, float32)) / float(parts if parts else "nan")


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0,
             dtype: Any = None, axis: int = 0) -> Tensor:
    """``base`` to the powers of `linspace`."""
    return _spaced("logspace", np.logspace, start, stop, num, dtype, axis, endpoint=endpoint, base=base)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None,
              axis: int = 0) -> Tensor:
    """Numbers at equal ratios."""
    return _spaced("geomspace", np.geomspace, start, stop, num, dtype, axis, endpoint=endpoint)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Tensor:
    """A matrix with ones on a diagonal."""
    return constant(np.eye(N, M, k, resolve_dtype("eye", dtype).numpy))


def identity(n: int, dtype: Any = float32) -> Tensor:
    """`eye` of a square."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float32) -> Tensor:
    """Ones on and below a diagonal, 0 above."""
    return constant(np.tri(N, M, k, resolve_dtype("tri", dtype).numpy))


def _window(name: str) -> Any:
    def function(M: int) -> Tensor:
        if not isinstance(M, int):
            raise TypeError(f"{name}: M must be an int. Received: M={M!r} (of type {type(M).__name__})")
        return constant(getattr(np, name)(M).astype(np.float32))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name.capitalize()} window of M points."
    return function


bartlett, blackman, hamming, hanning = (_window(n) for n in ("bartlett", "blackman", "hamming", "hanning"))


class _Grid:
    """``mgrid[0:2, 0:3]``: coordinates by slices, dense or open."""

    def __init__(self, maker: Any, dense: bool) -> None:
        self._maker, self._dense = maker, dense

    def __getitem__(self, keys: Any) -> Any:
        made = self._maker[keys]
        if self._dense or isinstance(made, np.ndarray):
            return asarray(np.asarray(made).tolist())
        return tuple(asarray(line.tolist()) for line in made)


mgrid, ogrid = _Grid(np.mgrid, True), _Grid(np.ogrid, False)


def indices(dimensions: Any, dtype: Any = int32, sparse: bool = False) -> Any:
    """The coordinates of a grid, one tensor for each axis."""
    made = np.indices(tuple(dimensions), sparse=sparse)
    return tuple(constant(np.asarray(line).astype(resolve_dtype("indices", dtype).numpy)) for line in made)


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Grids of coordinates; without repetition if ``sparse``."""
    lines = [arranging.ravel(asarray(x)) for x in xi]
    if not sparse:
        return shaping.meshgrid(*lines, indexing=indexing)
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    return tuple(
        shaping.reshape(x, tuple(-1 if i == order[k] else 1 for i in range(len(lines))))
        for k, x in enumerate(lines)
    )


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Vectors as the open grid that picks their product."""
    return meshgrid(*args, sparse=True, indexing="ij")


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal."""
    return (arange(n),) * ndim


def _triangle(name: str) -> tuple[Any, Any]:
    make = getattr(np, name)

    def function(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
        return tuple(constant(i.astype(np.int32)) for i in make(n, k, m))

    def of(arr: Any, k: int = 0) -> tuple[Tensor, ...]:
        return function(arr.shape[-2], k, arr.shape[-1])

    for made, title in ((function, name), (of, f"{name}_from")):
        made.__name__ = made.__qualname__ = title
        made.__doc__ = f"The indices of a triangle, as NumPy's `{title}`."
    return function, of


(tril_indices, tril_indices_from), (triu_indices, triu_indices_from) = map(
    _triangle, ("tril_indices", "triu_indices")
)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements, one row for each."""
    made = arranging.vander(asarray(x), N)
    return arranging.fliplr(made) if increasing else made


# -- dtypes --------------------------------------------------------------------------------------------------
def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype to which two convert."""
    return promote("promote_types", *(resolve_dtype("promote_types", t) for t in (type1, type2)))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype to which all convert."""
    kinds = [
        asarray(v).dtype if isinstance(v, (Tensor, int, float, list, tuple)) else _named(v)
        for v in arrays_and_dtypes
    ]
    kind = kinds[0]
    for other in kinds[1:]:
        kind = promote("result_type", kind, other)
    return kind


def _named(dtype: Any) -> DType:
    return resolve_dtype("result_type", np.dtype(dtype) if isinstance(dtype, str) else dtype)


__all__: Sequence[str] = [
    "arange", "array", "asarray", "asfarray", "bartlett", "blackman", "diag_indices", "empty", "empty_like",
    "eye", "full", "full_like", "geomspace", "hamming", "hanning", "identity", "indices", "ix_", "linspace",
    "logspace", "meshgrid", "mgrid", "ogrid", "ones", "ones_like", "promote_types", "result_type", "tri",
    "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "vander", "zeros", "zeros_like",
]
