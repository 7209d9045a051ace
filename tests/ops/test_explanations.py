"""Arguments that public functions do not have or cannot use: one TypeError that names the argument."""
from __future__ import annotations

import inspect
import pickle
import traceback

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, mint, ops
from mycelia.mint.nn import functional

X = np.abs(np.random.default_rng(0).normal(size=(2, 3))).astype(np.float32) + 0.1


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: ops.softmax(x, dim=1), r"softmax: has no argument 'dim'; here it is called axis.*dim=1"),
        (lambda x: ops.sum(x, axis=0), "sum: has no argument 'axis'; here it is called dim"),
        (lambda x: ops.sum(x, keepdims=True), "sum: has no argument 'keepdims'; here it is called keepdim"),
        (lambda x: ops.clip(x, a_min=0), "clip: has no argument 'a_min'; here it is called min"),
        (lambda x: ops.mse_loss(x, labels=x), "mse_loss: has no argument 'labels'; here it is called target"),
        (lambda x: mint.softmax(x, axis=1), "softmax: has no argument 'axis'; here it is called dim"),
        (lambda x: functional.softmax(x, axis=1), "softmax: has no argument 'axis'; here it is called dim"),
        (lambda x: x.softmax(dim=1), "softmax: has no argument 'dim'; here it is called axis"),
        (lambda x: ops.relu(x, nonsense=1), r"relu: has no argument 'nonsense'\. Received: nonsense=1"),
        (lambda x: ops.kl_div(x, 2), "kl_div: labels must be a Tensor. Received: labels=2 .of type int"),
        (lambda x: ops.kl_div(x, None), "kl_div: labels must be a Tensor. Received: labels=None"),
        (lambda x: x.type(ms.int32), r"Tensor\.type: .* float32\[2, 3\]; .* x\.astype\(mindspore\.int32\)"),
        (lambda x: ops.einsum(2, x), "einsum: equation must be a string. Received: equation=2"),
        (lambda x: ops.clip_by_global_norm([x, 1.5]), "clip_by_global_norm: x must be Tensors. Received: x="),
        (lambda x: x.expand_as(2), "expand_as: .* must be a Tensor. Received: .*=2"),
        (lambda x: mint.normal(2), "normal: size must be given"),
    ],
)
@pytest.mark.parametrize("mode", ["pynative", "jit"])
def test_the_argument_is_named(call, message, mode):
    with pytest.raises(TypeError, match=message):
        (ms.jit(call) if mode == "jit" else call)(Tensor(X))


def test_errors_of_the_users_own_functions_pass():
    def wrong(x):
        return x.shape[0].nothing

    for function in (lambda: ops.HyperMap()(wrong, (Tensor(X),)), lambda: ms.grad(wrong)(Tensor(X))):
        with pytest.raises(AttributeError, match="'int' object has no attribute 'nothing'"):
            function()


def test_public_functions_are_pickled_by_their_public_name():
    for function in (ops.relu, mint.abs, functional.softmax):
        assert pickle.loads(pickle.dumps(function)) is function


def _public():
    for place, names in ((ops, ops.__all__), (mint, mint.__all__), (functional, functional.__all__),
                         (Tensor, [name for name in dir(Tensor) if not name.startswith("_")])):
        for name in names:
            if inspect.isfunction(getattr(place, name, None)):
                yield place, name


@pytest.mark.parametrize("value", [2, 1.5, None, [1.0, 2.0], "s"], ids=str)
def test_no_raw_error_from_inside_for_what_is_no_tensor(value):
    raw = []
    for place, name in _public():
        function = getattr(place, name)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind < 2]
        required = sum(p.default is p.empty for p in parameters) or min(1, len(parameters))
        for i in range(place is Tensor, required):
            given = [Tensor(X) for _ in range(required)]
            given[i] = value  # type: ignore[call-overload]
            try:
                function(*given)
            except (LookupError, AttributeError, AssertionError, RecursionError, StopIteration) as error:
                if not isinstance(error, IndexError) and "Received" not in str(error):
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    where = f"{last.filename}:{last.lineno}"
                    raw.append(f"{place.__name__}.{name}, argument {i}: {error!r} at {where}")
            except Exception:  # said in words, as other tests check
                pass
    assert not raw
