"""The generator of random numbers that programs share, and generators of their own."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mycelia.ir.operator import Operator
from mycelia.ops import inplace
from mycelia.tensor.tensor import Tensor


class Generator:
    """A position in an endless reproducible sequence of random numbers: a seed and an offset.

    Args:
        seed: selects the sequence; any int64.

    Example:
        >>> g = Generator().manual_seed(7)
        >>> g.seed, g.offset
        (7, 0)
    """

    def __init__(self, seed: int = 0) -> None:
        self._state: Tensor | None = None
        self._start = (seed, 0)

    @property
    def state(self) -> Tensor:
        """int64[2]: (seed, offset); each draw moves it on."""
        if self._state is None:
            self._state = Tensor(np.array(self._start, np.int64))
        return self._state

    @property
    def seed(self) -> int:
        return int(self.state.asnumpy()[0])

    @property
    def offset(self) -> int:
        return int(self.state.asnumpy()[1])

    def initial_seed(self) -> int:
        return self.seed

    def manual_seed(self, seed: int) -> Generator:
        """Goes to the start of the sequence of another seed."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise TypeError(
                f"Generator.manual_seed: seed must be an int. Received: seed={seed!r} (of type "
                f"{type(seed).__name__})"
            )
        return self._move((int(seed), 0))

    def get_state(self) -> Tensor:
        """A copy of the state, for `set_state`."""
        return Tensor(self.state.asnumpy().copy())

    def set_state(self, state: Tensor) -> Generator:
        seed, offset = (int(v) for v in state.asnumpy())
        return self._move((seed, offset))

    def _move(self, start: tuple[int, int]) -> Generator:
        if self._state is None:
            self._start = start
        else:  # in place: compiled graphs hold this tensor
            inplace.write(self._state, Tensor(np.array(start, np.int64)))
        return self

    def draw(self, op: Operator, *inputs: Tensor, **attrs: Any) -> Tensor:
        """Applies a random operator to the state, moves the state on, and gives the values."""
        state, values = op(self.state, *inputs, **attrs)
        inplace.write(self.state, state)
        return values


default_generator = Generator()


def seed_default(seed: int) -> None:
    """What `set_seed` does to the default generator."""
    default_generator.manual_seed(seed)


_given: list[Generator] = []


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Makes draws within the block come from a generator instead of the default one."""
    _given.append(generator)
    try:
        yield
    finally:
        _given.pop()


def generator_of(seed: int | None) -> Generator:
    """The generator in use, or one of its own for a seed given to a single draw."""
    if seed is not None:
        return Generator(seed)
    return _given[-1] if _given else default_generator
