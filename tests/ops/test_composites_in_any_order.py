"""Functions of ops that run as one compiled plan give what they give operator by operator, whatever shapes,
dtypes and kinds of arguments the calls before had."""
from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, mint, ops
from mycelia.engine.eager import ENGINE
from mycelia.ops import composite

SIZES = [0, 1, 1, 2, 3, 4, 5, 7]
DTYPES = [ms.bool_, ms.int8, ms.int32, ms.int64, ms.uint8, ms.float16, ms.bfloat16, ms.float64]
DTYPES += [ms.float32] * 4
NUMBERS = [0, 1, 2, -1, 0.0, -0.0, 0.5, 1.0, 2.0, -1.5, True, 1e-3]
AXES = [None, 0, -1, 1, -2, (0,), (0, 1), 2]
TOLERANCE = {ms.float16: 3e-3, ms.bfloat16: 3e-2, ms.float32: 2e-5, ms.float64: 1e-10}
SECONDS = 15

ONE = "silu mish softsign tanhshrink relu6 hardsigmoid "
ONE += "hardswish selu logsigmoid fast_gelu cbrt signbit sinc"
TWO = "xdivy copysign heaviside ldexp "
TWO += "logaddexp2 pow fmod floor_divide cosine_similarity"
LOSSES = "mse_loss l1_loss smooth_l1_loss "
LOSSES += "huber_loss soft_margin_loss hinge_embedding_loss"
NUMBERED = dict(leaky_relu="alpha", elu="alpha", celu="alpha", hardshrink="lambd", softplus="beta")
NUMBERED["logit"] = "eps"


class Calls:
    """Random calls, the same ones for one seed."""

    def __init__(self, seed: int) -> None:
        self.rng, self.values = random.Random(seed), np.random.default_rng(seed)

    def tensor(self, shape: Any = None, dtype: Any = None) -> Tensor:
        """Dense, or a view with a transposed or a sparse last axis."""
        rng = self.rng
        if shape is None:
            shape = tuple(rng.choice(SIZES) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))
        dtype = dtype or rng.choice(DTYPES)
        view = rng.choice(["dense", "transposed", "strided"]) if shape else "dense"
        whole = shape[::-1] if view == "transposed" else shape
        if view == "strided":
            whole = (*shape[:-1], 2 * shape[-1])
        values = np.asarray(self.values.normal(0, 2, whole))
        x = Tensor(values.astype(np.float32) if dtype.is_float else (values * 3).astype(np.int64))
        x = x.astype(dtype)
        if view == "transposed":
            return x.transpose(tuple(range(len(shape)))[::-1])
        return x[..., ::2] if view == "strided" else x

    def like(self, x: Tensor) -> Tensor:
        shape = tuple(1 if self.rng.random() < 0.2 else d for d in x.shape)
        return self.tensor(shape, x.dtype if self.rng.random() < 0.6 else None)

    def bound(self, x: Tensor) -> Any:
        return self.rng.choice([None, self.rng.choice(NUMBERS), self.rng.choice(NUMBERS), self.like(x)])

    def options(self, **choices: list[Any]) -> dict[str, Any]:
        return {name: self.rng.choice(of) for name, of in choices.items() if self.rng.random() < 0.6}

    def draw(self) -> tuple[str, Callable[..., Any], list[Any], dict[str, Any]]:
        rng, x = self.rng, self.tensor()
        kind = rng.choice(["one", "two", "loss", "number", "bounds", "spread", "norm", "sum", "threshold"])
        if kind == "one":
            name = rng.choice(ONE.split())
            return name, getattr(ops, name), [x], {}
        if kind in ("two", "loss"):
            name = rng.choice((TWO if kind == "two" else LOSSES).split())
            reduction = self.options(reduction=["mean", "sum", "none"]) if kind == "loss" else {}
            other = self.like(x) if kind == "loss" or rng.random() < 0.6 else rng.choice(NUMBERS)
            return name, getattr(ops, name), [x, other], reduction
        if kind == "number":
            name = rng.choice(list(NUMBERED))
            return name, getattr(ops, name), [x], self.options(**{NUMBERED[name]: NUMBERS})
        if kind == "bounds":
            function = rng.choice([ops.clamp, ops.clip_by_value, mint.clamp])
            return "clamp", function, [x, self.bound(x), self.bound(x)], {}
        if kind == "spread":
            name = rng.choice(["std", "var"])
            choices = self.options(axis=AXES, ddof=[0, 1, True, False, 2], keepdims=[True, False])
            return name, getattr(ops, name), [x], choices
        if kind == "norm":
            choices = self.options(ord=[None, 1, 2, 2.0, 0, np.inf, -1, 0.5], dim=AXES, keepdim=[True, False],
                                   dtype=[None, ms.float32, ms.float64])
            return "norm", ops.norm, [x], choices
        if kind == "sum":
            return "logsumexp", ops.logsumexp, [x], self.options(dim=AXES, keepdim=[True, False])
        return "threshold", ops.threshold, [x, rng.choice(NUMBERS), rng.choice(NUMBERS)], {}


def _outcome(function: Callable[..., Any], arguments: list[Any], named: dict[str, Any]) -> Any:
    try:
        return function(*arguments, **named)
    except Exception as error:
        return error


def _difference(found: Any, expected: Any) -> str:
    if type(found) is not type(expected):
        return f"{found!r}, not {expected!r}"
    if not isinstance(found, Tensor):
        return ""
    if found.dtype is not expected.dtype or found.shape != expected.shape:
        return f"{found.type}, not {expected.type}"
    x, y = found.astype(ms.float64).asnumpy(), expected.astype(ms.float64).asnumpy()
    tolerance = TOLERANCE.get(found.dtype, 0)
    close = np.allclose(x, y, tolerance, 4 * tolerance, equal_nan=True)
    return "" if close else f"{x}, not {y}"


@pytest.mark.filterwarnings("ignore")
def test_composites_remember_nothing():
    calls, end, count = Calls(1), time.monotonic() + SECONDS, 0
    while count < 600 and (count < 50 or time.monotonic() < end):
        name, function, arguments, named = calls.draw()
        found = _outcome(function, arguments, named)
        composite.set_composite_runner(None)
        try:
            expected = _outcome(function, arguments, named)
        finally:
            composite.set_composite_runner(ENGINE.run_composite)
        shown = [x.type if isinstance(x, Tensor) else x for x in arguments]
        assert not _difference(found, expected), f"{name} {shown} {named}: {_difference(found, expected)}"
        count += 1
