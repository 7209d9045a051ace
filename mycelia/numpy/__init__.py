"""``mindspore.numpy``: NumPy's interface over `mycelia.ops`, for tensors, numbers and lists of numbers."""
from __future__ import annotations

import math as _math
from typing import Any

from mycelia.ir.dtypes import (  # noqa: F401
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mycelia.numpy import arrangement, arrays, elementwise, reductions

float_, int_, uint = float32, int32, uint32
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
euler_gamma = 0.5772156649015329
PINF, NINF, NAN = inf, -inf, nan

_DTYPES = """
    bool_ float16 float32 float64 float_ int8 int16 int32 int64 int_ uint uint8 uint16 uint32 uint64"""

__all__ = [
    *_DTYPES.split(),
    *(name for module in (arrays, elementwise, reductions, arrangement) for name in module.__all__),
    "pi", "e", "inf", "nan", "newaxis", "euler_gamma", "PINF", "NINF", "NAN",
]

for _module in (arrays, elementwise, reductions, arrangement):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
del _module, _name


def __getattr__(name: str) -> Any:
    import difflib
    near = difflib.get_close_matches(name, __all__, 3)
    raise AttributeError(
        f"module 'mycelia.numpy' has no attribute {name!r}"
        + (f"; did you mean {', '.join(near)}?" if near else "")
    )
