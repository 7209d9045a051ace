"""Random numbers of a pipeline: reproducible from the seed, different in every epoch, apart for every
node."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.common.seed import on_seed

_SHARDED = 5489

_seed: int | None = None
_eager: list[np.random.Generator] = []
_eager_seed: int | None = None
_generation = 0  # counts the calls that set a seed: each starts the epochs of every pipeline anew


def seed_eager(seed: int) -> None:
    """Makes operations that are called directly draw from `seed` on."""
    global _eager_seed
    _eager_seed = seed
    _eager.clear()  # the generator is made when one is asked for


@on_seed
def set_seed(seed: int) -> None:
    """Makes `seed` the one from which pipelines draw, and starts their epochs anew."""
    global _seed, _generation
    _seed = seed
    _generation += 1
    seed_eager(seed)


def get_seed() -> int | None:
    return _seed


def eager_generator() -> np.random.Generator:
    """Where a random operation draws from when it is called on an image outside of any pipeline."""
    if not _eager:
        _eager.append(np.random.default_rng(_eager_seed))
    return _eager[0]


def eager_state() -> Any:
    """Where the generator of operations that are called directly stands; see `restore_eager`."""
    return _eager_seed, [(generator, generator.bit_generator.state) for generator in _eager]


def restore_eager(state: Any) -> None:
    """Goes back to the generator of an `eager_state`."""
    global _eager_seed
    _eager_seed, _eager[:] = state[0], [generator for generator, _ in state[1]]


class Draws:
    """The generators of one epoch of a pipeline.

    A node asks for one each time that it starts a pass over its data. The numbers depend on the seed, the
    epoch, the node's place in the pipeline and the number of the pass in this epoch: the same in every run of
    a program, in whichever order and thread the nodes ask, and new in every epoch and every repetition.
    """

    def __init__(self, nodes: list[Any], entropy: int, epoch: int) -> None:
        self._entropy, self._epoch = entropy, epoch
        self._places = {id(node): place for place, node in enumerate(nodes)}
        self._passes = [0] * len(nodes)

    def generator(self, node: Any) -> np.random.Generator:
        place = self._places[id(node)]
        key = (self._epoch, place, self._passes[place])
        self._passes[place] += 1
        return np.random.default_rng(np.random.SeedSequence(self._entropy, spawn_key=key))


class Epochs:
    """The epochs of one pipeline, counted since the last seed was set."""

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes, self._generation, self._count = nodes, _generation, 0
        if _seed is not None:
            self._entropy = _seed
        elif any(node.is_sharded for node in nodes):
            # without a seed too, all shards must agree on the order that they share out
            self._entropy = _SHARDED
        else:
            self._entropy = int(np.random.SeedSequence().entropy or 0)  # type: ignore[arg-type]

    @property
    def is_current(self) -> bool:
        """False once a seed was set after these epochs began."""
        return self._generation == _generation

    def next(self) -> Draws:
        """The random numbers of the next epoch."""
        draws = Draws(self._nodes, self._entropy, self._count)
        self._count += 1
        return draws
