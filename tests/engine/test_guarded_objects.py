"""Attributes and methods of ordinary objects that a compiled function reads or writes."""
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn

SCALE = 2.0


def one():
    return Tensor(np.float32(1.0))


class Settings:
    factor = 3.0

    def __init__(self):
        self.weight = Tensor(np.float32(2.0))
        self.table = {"a": 1.0}
        self.count = 0
        self._calls = 0

    def helper(self):
        return self.factor * self.table["a"]

    @property
    def double(self):
        return self.factor * 2

    @ms.jit
    def method(self, x):
        return x * self.weight * self.helper()

    def step(self, x):
        self.count += 1
        self._calls += 1
        return x * self.count

    def fails(self, x):
        self.count += 1
        raise ValueError("the user's own error")


def test_attributes_of_self_in_a_decorated_method():
    first, second = Settings(), Settings()
    assert first.method(one()).item() == 6
    first.weight = Tensor(np.float32(5.0))
    assert first.method(one()).item() == 15
    first.table["a"] = 2.0
    assert first.method(one()).item() == 30
    assert second.method(one()).item() == 6


def test_an_attribute_that_hides_the_classes():
    settings = Settings()
    function = ms.jit(lambda x: x * settings.double)
    assert function(one()).item() == 6
    settings.factor = 1.0
    assert function(one()).item() == 2


def test_an_object_as_an_argument():
    function = ms.jit(lambda settings, x: x * settings.helper())
    settings = Settings()
    assert function(settings, one()).item() == 3
    settings.factor = 4.0
    assert function(settings, one()).item() == 4


def test_written_attributes_count_on(caplog):
    settings = Settings()
    function = ms.jit(settings.step)
    assert [function(one()).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert settings.count == settings._calls == 5
    assert caplog.text.count("compiled again") <= 1


def test_a_failed_trace_leaves_attributes_alone():
    settings = Settings()
    with pytest.raises(ValueError, match="own error"):
        ms.jit(settings.fails)(one())
    assert settings.count == 0 and type(settings.count) is int


class Network(nn.Cell):
    def __init__(self, settings):
        super().__init__()
        self.settings = settings
        self._shift = 0.0

    def helper(self):
        return SCALE * self.settings.factor

    def construct(self, x):
        return x * self.helper() + self._shift


def test_helper_methods_and_private_attributes_of_a_cell(monkeypatch):
    settings = Settings()
    network = Network(settings)
    function = ms.jit(network)
    assert function(one()).item() == 6
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert function(one()).item() == 15
    settings.factor = 1.0
    assert function(one()).item() == 5
    network._shift = 1.0
    assert function(one()).item() == 6
