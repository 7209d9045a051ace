"""Functions that make tensors: constants, ranges, grids."""
from __future__ import annotations

import math
from typing import Any

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType, bool_, float32, int64
from mycelia.ir.types import Sym
from mycelia.ops.constants import constant, scalar
from mycelia.ops.creation import Full, Iota
from mycelia.ops.function.shaping import extents
from mycelia.ops.promotion import cast, require_tensor, resolve_dtype
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor


def _number(name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.asnumpy().item()
    if not isinstance(value, (bool, int, float)) and not hasattr(value, "item"):
        raise TypeError(
            f"{name}: the value must be a number. Received: {value!r} (of type {type(value).__name__})"
        )
    return value.item() if hasattr(value, "item") else value


def _kind(value: Any) -> DType:
    return bool_ if isinstance(value, bool) else int64 if isinstance(value, int) else float32


def zeros(size: Any, dtype: Any = None) -> Tensor:
    """A tensor of zeros, float32 unless told otherwise."""
    return Full(
        shape=extents("zeros", size, "size"),
        value=0,
        dtype=float32 if dtype is None else resolve_dtype("zeros", dtype),
    )


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones, float32 unless told otherwise."""
    return Full(
        shape=extents("ones", shape),
        value=1,
        dtype=float32 if dtype is None else resolve_dtype("ones", dtype),
    )


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of one number; its dtype is the number's kind (int64, float32 or bool) unless told otherwise.

    Args:
        size: the shape, an int or a tuple of ints.
        fill_value: a number, or a tensor of one.
        dtype: element type.

    Raises:
        ValueError: a negative extent.

    Example:
        >>> full((2,), 3)
        Tensor(shape=[2], dtype=Int64, value= [3, 3])
    """
    if isinstance(fill_value, Tensor):
        from mycelia.ops.function.shaping import broadcast_to
        filled = fill_value if dtype is None else cast(fill_value, resolve_dtype("full", dtype))
        return broadcast_to(filled, size)
    value = _number("full", fill_value)
    return Full(
        shape=extents("full", size, "size"),
        value=value,
        dtype=_kind(value) if dtype is None else resolve_dtype("full", dtype),
    )


def fill(type: Any, shape: Any, value: Any) -> Tensor:
    """A tensor of one number with the dtype given first."""
    return full(shape, value, dtype=type)


def _like(name: str, input: Any, value: Any, dtype: Any) -> Tensor:
    x = require_tensor(name, input)
    return Full(shape=x.shape, value=value, dtype=x.dtype if dtype is None else resolve_dtype(name, dtype))


def zeros_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Zeros with the input's shape and dtype."""
    return _like("zeros_like", input, 0, dtype)


def ones_like(input: Any, *, dtype: Any = None) -> Tensor:
    """Ones with the input's shape and dtype."""
    return _like("ones_like", input, 1, dtype)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One number with the input's shape and dtype."""
    return _like("full_like", input, _number("full_like", fill_value), dtype)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """``start``, ``start + step``, ... up to before ``end``; int64, or float32 if any of them is a float.

    Raises:
        ValueError: a step of 0, or one that leads away from ``end``.

    Example:
        >>> arange(1, 7, 2)
        Tensor(shape=[3], dtype=Int64, value= [1, 3, 5])
    """
    if end is None:
        start, end = 0, start
    start, end, step = (
        v if isinstance(v, (int, float, Sym)) else _number("arange", v) for v in (start, end, step)
    )
    symbolic = not all(isinstance(v, (int, float)) for v in (start, end, step))
    floats = any(isinstance(v, float) for v in (start, end, step))
    kind = resolve_dtype("arange", dtype) if dtype is not None else float32 if floats else int64
    if symbolic:
        count: Any = (end - start + (step - 1)) // step
    else:
        if step == 0 or (end - start) * step < 0:
            raise ValueError(
                f"arange: step must lead from start to end. Received: start={start}, end={end}, step={step}"
            )
        count = max(math.ceil((end - start) / step), 0)
    exact = dtypes.float64 if floats else int64
    values = Iota(size=count, dtype=exact)
    if not (isinstance(step, int) and step == 1):
        values = values * scalar(step, exact)
    if not (isinstance(start, int) and start == 0):
        values = values + scalar(start, exact)
    return cast(values, kind)


def range(start: Any, end: Any, step: Any = 1) -> Tensor:
    """`arange` with all three given."""
    return arange(start, end, step)


def linspace(start: Any, end: Any, steps: int) -> Tensor:
    """``steps`` numbers at equal distances from ``start`` to ``end``, both included; float32."""
    first, last = _number("linspace", start), _number("linspace", end)
    if steps < 1:
        raise ValueError(f"linspace: steps must be positive. Received: steps={steps}")
    import numpy as np
    return constant(np.linspace(first, last, steps).astype(np.float32))


def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Ones on the diagonal of an n by m matrix, zeros elsewhere."""
    from mycelia.ops.comparison import Equal
    from mycelia.ops.movement import Reshape
    wide = n if m is None else m
    kind = float32 if dtype is None else resolve_dtype("eye", dtype)
    rows, columns = (Iota(size=count, dtype=int64) for count in (n, wide))
    hit = Equal(Reshape(rows, shape=(n, 1)), Reshape(columns, shape=(1, wide)))
    return Select(hit, scalar(1, kind), scalar(0, kind))


def scalar_to_tensor(input_x: Any, dtype: Any = float32) -> Tensor:
    """A 0-d tensor of a number."""
    return scalar(input_x, resolve_dtype("scalar_to_tensor", dtype))


empty = zeros
empty_like = zeros_like
