"""Compiled functions whose arguments change from call to call in kind, number, nesting, size and dtype give
what the functions themselves give, whatever they were called with before."""
from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

SHAPES = [(), (0,), (1,), (2,), (3,), (5,), (7,), (0, 2), (1, 2), (3, 2), (2, 2), (2, 1), (4, 3)]
NUMBERS = [0, 1, 2, 3, -1, 0.5, 2.0, 0.0, -0.0, 1e30, -2.5, True, False, None, 10**20]
OTHERS = [float("nan"), "name", 1 + 2j, np.float32(2), np.int64(3), *NUMBERS]
SECONDS = 6  # for each function


def _tensor(rng: random.Random) -> Tensor:
    values = np.random.default_rng(rng.randrange(99)).normal(0, 2, rng.choice(SHAPES))
    return Tensor(values.astype(rng.choice(["f4", "f4", "f8", "i4", "f2", "?"])))


def _argument(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth < 2 and kind < 0.35:
        items = [_argument(rng, depth + 1) for _ in range(rng.choice([0, 1, 2]))]
        return items if kind < 0.25 else tuple(items)
    if depth < 2 and kind < 0.45:
        return {key: _argument(rng, depth + 1) for key in rng.choice([["a"], ["a", "b"], ["b", "a"], []])}
    return _tensor(rng) if kind < 0.75 else rng.choice(OTHERS)


def _fold(value: Any, x: Any) -> Any:
    """A number that tells kinds, values, lengths and the order of keys apart."""
    if isinstance(value, (list, tuple)):
        total = x * len(value) - (0 if isinstance(value, list) else 1)
        for i, item in enumerate(value):
            total = _fold(item, total + i)
        return total
    if isinstance(value, dict):
        for i, (key, item) in enumerate(value.items()):
            x = _fold(item, x * (i + 1) + len(key))
        return x
    if value is None or isinstance(value, (bool, str)):
        return x + {None: 100, True: 1000, False: 2000}.get(value, -7)  # type: ignore[call-overload]
    if isinstance(value, complex):
        return x + value.real * 3 + value.imag
    if isinstance(value, Tensor):
        return x + (value.astype(ms.float32) if value.dtype == ms.bool_ else value).sum()
    return x * (float(value) if isinstance(value, np.generic) else value)


def nested(x, first=None, *rest, scale=2.0, **named):
    y = _fold(named, _fold(rest, _fold(scale, _fold(first, x * 1))))
    return y, y.shape, None if isinstance(first, np.generic) else first


def optional(x, n=None, scale=1.0):
    if n is None:
        return x * scale
    if isinstance(n, bool):
        return x - scale
    if isinstance(n, Tensor):
        return x + n.astype(ms.float32).sum()
    return x * n + scale


def returned(x, n=1, scale=2.0):
    return x * n, scale, n, (x.astype(ms.float32) - (scale or 0)).sum()


def sized(x, n=1):
    total = x.astype(ms.float32)
    for i in range(x.shape[0] if x.ndim else 1):
        total = total + i
    if x.ndim and x.shape[0] > 2:
        total = total * 2
    return total.reshape(-1), x.size, len(x.shape), ops.concat([x.reshape(-1), ops.ones((x.size,), x.dtype)])


def branching(x, n=1):
    x = x.astype(ms.float32)
    if x.sum() > 0:
        return x * n
    return x - n


def _outcome(function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    try:
        return function(*arguments, **named)
    except Exception as error:
        return error


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype is not b.dtype or a.shape != b.shape:
            return False
        tolerance = 2e-3 if a.dtype is ms.float16 else 1e-4
        x, y = a.astype(ms.float64).asnumpy(), b.astype(ms.float64).asnumpy()
        return np.allclose(x, y, tolerance, 1e-3, equal_nan=True)
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(_same, a.values(), b.values()))
    return isinstance(a, Exception) or repr(a) == repr(b)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("function", [nested, optional, returned, sized, branching])
def test_as_the_function_itself(function):
    rng = random.Random(3)
    compiled = ms.jit(function)
    end, calls = time.monotonic() + SECONDS, 0
    while calls < 120 and (calls < 20 or time.monotonic() < end):
        arguments: list[Any] = [_tensor(rng)]
        named: dict[str, Any] = {}
        if function is nested:
            arguments += [_argument(rng) for _ in range(rng.choice([0, 1, 1, 2]))]
            named = {name: _argument(rng) for name in ("scale", "other") if rng.random() < 0.3}
        else:
            if rng.random() < 0.8:
                of_any_kind = function is optional and rng.random() < 0.3
                arguments.append(_tensor(rng) if of_any_kind else rng.choice(NUMBERS))
            if function in (optional, returned) and rng.random() < 0.3:
                named["scale"] = rng.choice(NUMBERS)
        found, expected = _outcome(compiled, arguments, named), _outcome(function, arguments, named)
        assert _same(found, expected), f"{arguments} {named}: {found!r}, not {expected!r}"
        calls += 1
