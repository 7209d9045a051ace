"""Guards on what a function reads from outside and what can change without being another object: containers,
arrays, classes, modules, objects with slots, and values that only look equal."""
from __future__ import annotations

import argparse
import collections
import types
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import nn, ops

OPTIONS = {"scale": 2.0, "shape": (2, 3)}
FACTORS = [1, 2.0]


def test_a_global_dict_or_list_that_stays_is_compiled_once():
    @ms.jit
    def function(x):
        return x * OPTIONS["scale"] + FACTORS[1]

    x = ms.Tensor(np.ones((2, 3), np.float32))
    for _ in range(3):
        np.testing.assert_array_equal(function(x).asnumpy(), np.full((2, 3), 4, np.float32))
    assert [len(v) for v in function.specialisations.values()] == [1, 1]
    OPTIONS["scale"] = 3.0
    try:
        np.testing.assert_array_equal(function(x).asnumpy(), np.full((2, 3), 5, np.float32))
    finally:
        OPTIONS["scale"] = 2.0


class Settings:
    rate = 1.0


class Slotted:
    __slots__ = ("rate",)

    def __init__(self) -> None:
        self.rate = 1.0


class Called:
    rate = 1.0

    def __call__(self, x):
        return x * self.rate


def helper(x):
    return x * helper.rate  # type: ignore[attr-defined]


def _item(container: Any, read: Any, key: Any) -> tuple:
    return container, read, lambda c, v: c.__setitem__(key, v)


def _attribute(owner: Any, read: Any = lambda o, x: x * o.rate) -> tuple:
    return owner, read, lambda o, v: setattr(o, "rate", v)


def _cases() -> dict[str, tuple]:
    nested = [[1.0]]
    deep = {"model": {"rate": 1.0}}
    inner = ([1.0],)
    return {
        "list in a list": (nested, lambda c, x: x * c[0][0], lambda c, v: c[0].__setitem__(0, v)),
        "dict in a dict": (deep, lambda c, x: x * c["model"]["rate"], lambda c, v: c["model"].update(rate=v)),
        "list in a tuple": (inner, lambda c, x: x * c[0][0], lambda c, v: c[0].__setitem__(0, v)),
        "tuples in a list": ([(1.0, 2)], lambda c, x: x * c[0][0], lambda c, v: c.__setitem__(0, (v, 2))),
        "OrderedDict": _item(collections.OrderedDict(a=1.0), lambda c, x: x * c["a"], "a"),
        "defaultdict": _item(collections.defaultdict(float, a=1.0), lambda c, x: x * c["a"], "a"),
        "deque": _item(collections.deque([1.0]), lambda c, x: x * c[0], 0),
        "array": _item(np.ones(3, np.float32), lambda c, x: x * ms.Tensor(c), 1),
        "element of an array": _item(np.ones(3), lambda c, x: x * float(c[1]), 1),
        "set": ({1.0}, lambda c, x: x * max(c), lambda c, v: (c.clear(), c.add(v))),
        "class": _attribute(type("Own", (Settings,), {})),
        "module": _attribute(types.ModuleType("settings")),
        "slots": _attribute(Slotted()),
        "Namespace": _attribute(argparse.Namespace(rate=1.0)),
        "SimpleNamespace": _attribute(types.SimpleNamespace(rate=1.0)),
        "by name": _attribute(Settings(), lambda o, x: x * getattr(o, "rate")),  # noqa: B009
        "__call__": _attribute(Called(), lambda o, x: o(x)),
        "attribute of a function": _attribute(helper, lambda o, x: helper(x)),
        "object in a list": ([Settings()], lambda c, x: x * c[0].rate, lambda c, v: setattr(c[0], "rate", v)),
    }


@pytest.mark.parametrize("name", _cases())
def test_changes_in_place(name):
    owner, read, change = _cases()[name]
    compiled = ms.jit(lambda x: read(owner, x))
    x = ms.Tensor(np.array([-1.0, 2.0, 3.0], np.float32))
    for value in (1.0, 3.0, -2.0, 0.5, *(i / 4 for i in range(8))):
        change(owner, value)
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x).asnumpy(), read(owner, x).asnumpy())


def test_what_only_looks_equal():
    pair, zero = (1,), 0.0

    @ms.jit
    def function(x):
        return ops.cast(x, ms.int32) * pair[0], x * zero

    x = ms.Tensor(np.ones(2, np.float32))
    for pair, zero in (((1,), 0.0), ((1.0,), 0.0), ((True,), -0.0), ((1,), -0.0)):  # noqa: B007
        first, second = function(x)
        assert first.dtype is (ms.float32 if pair == (1,) and type(pair[0]) is float else ms.int32)
        assert np.signbit(second.asnumpy()).all() == (str(zero) == "-0.0")


def test_a_default_that_changes_in_place():
    def function(x, factors=[1.0], *, shift=[0.0]):  # noqa: B006
        if len(factors) > 1:
            x = x + 1
        return x * factors[0] + shift[0]

    compiled = ms.jit(function)
    x = ms.Tensor(np.ones(2, np.float32))
    for change in (
        lambda: None,
        lambda: function.__defaults__[0].__setitem__(0, 3.0),
        lambda: function.__kwdefaults__["shift"].__setitem__(0, 7.0),
        lambda: setattr(function, "__defaults__", ([5.0, 2.0],)),
    ):
        change()
        np.testing.assert_array_equal(compiled(x).asnumpy(), function(x).asnumpy())


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.scales = [1.0]
        self.options = {"model": {"rate": 1.0}}
        self.weights = np.ones(2, np.float32)

    def construct(self, x):
        return x * self.scales[0] * self.options["model"]["rate"] * ms.Tensor(self.weights)


def test_containers_of_a_cell_change_in_place():
    net = Scaled()
    compiled = ms.jit(net)
    x = ms.Tensor(np.ones(2, np.float32))
    for change in (
        lambda: None,
        lambda: net.scales.__setitem__(0, 2.0),
        lambda: net.options["model"].update(rate=3.0),
        lambda: net.weights.__setitem__(1, 5.0),
    ):
        change()
        np.testing.assert_array_equal(compiled(x).asnumpy(), net.construct(x).asnumpy())


def test_arguments_that_change_in_place_or_come_anew():
    @ms.jit
    def function(x, options, array, part, apply):
        return apply(x[part]) * options["rate"] * float(array[0])

    class Owner:
        def twice(self, x):
            return x * 2

    x = ms.Tensor(np.arange(4, dtype=np.float32))
    options, array, owner = collections.OrderedDict(rate=1.0), np.ones(1), Owner()
    for rate, first in ((1.0, 1.0), (2.0, 1.0), (2.0, 3.0)):
        options["rate"], array[0] = rate, first
        for _ in range(3):
            y = function(x, options, array, slice(1, 3), owner.twice).asnumpy()
            np.testing.assert_array_equal(y, np.array([1, 2]) * 2 * rate * first)
    kept = sum(len(v) for key, v in function.specialisations.items() if key[0] == "family")
    assert kept == 3


class Remembering(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.kept = None
        self.size = None

    def construct(self, x):
        if self.kept is not None:
            x = x + self.kept[0] + self.kept[1]["last"]
        self.kept = (x * 2, {"last": x})
        self.size = x.shape[0] + 1
        return x


def test_containers_of_tensors_that_construct_leaves_in_attributes():
    plain, net = Remembering(), Remembering()
    compiled = ms.jit(net)
    for n in (2, 2, 2):
        x = ms.Tensor(np.ones(n, np.float32))
        np.testing.assert_array_equal(compiled(x).asnumpy(), plain.construct(x).asnumpy())
        np.testing.assert_array_equal(net.kept[0].asnumpy(), plain.kept[0].asnumpy())
        np.testing.assert_array_equal(net.kept[1]["last"].asnumpy(), plain.kept[1]["last"].asnumpy())
    for n in (3, 4, 5):
        plain.kept = net.kept = None
        x = ms.Tensor(np.ones(n, np.float32))
        np.testing.assert_array_equal(compiled(x).asnumpy(), plain.construct(x).asnumpy())
        assert net.size == plain.size and type(net.size) is int
