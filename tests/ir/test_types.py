"""Arithmetic of symbolic dimensions."""
from __future__ import annotations

import pytest

from mycelia.ir.types import NeedsConcrete, Sym, evaluate


@pytest.mark.parametrize("n", [2, 7, 9])
def test_remainders(n):
    s = Sym("n", 2, 9)
    assert evaluate(s % 4, {"n": n}) == n % 4
    assert evaluate(20 % s, {"n": n}) == 20 % n
    assert (4 * s) % 2 == 0
    assert (s % 4).lo == 0 and (s % 4).hi == 3


def test_what_needs_the_number_says_so():
    s = Sym("n")
    asks = (lambda: bool(s % 2), lambda: s / 2, lambda: 2 / s, lambda: s**0.5, lambda: 2**s, lambda: round(s))
    for ask in asks:
        with pytest.raises(NeedsConcrete, match="the number of the dimension"):
            ask()
