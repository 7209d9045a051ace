"""The `sync_wait` node: rows that wait for the program."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mycelia.dataset import config
from mycelia.dataset.block import Block
from mycelia.dataset.dataset import Dataset, DerivedStream, Stream, checked_integer
from mycelia.dataset.randomness import Draws


class SyncWaitDataset(Dataset):
    """Rows that pass while there are permits; see `Dataset.sync_wait`."""

    def __init__(
        self, child: Dataset, condition_name: str, num_batch: int, callback: Callable[[Any], Any] | None
    ) -> None:
        super().__init__(child)
        if not isinstance(condition_name, str):
            raise TypeError(
                f"sync_wait: condition_name must be a text. Received: condition_name={condition_name!r}"
            )
        if callback is not None and not callable(callback):
            raise TypeError(f"sync_wait: callback must be a function. Received: callback={callback!r}")
        if any(
            isinstance(node, SyncWaitDataset) and node.condition_name == condition_name
            for node in child.nodes()
        ):
            raise RuntimeError(f"sync_wait: the condition {condition_name!r} is used already")
        self.condition_name, self.callback = condition_name, callback
        self.num_batch = checked_integer("sync_wait", "num_batch", num_batch, 1)
        self.pure, self.read_ahead = False, 1
        self.permits, self.changed, self.disabled = 0, threading.Condition(), False

    def open(self, draws: Draws) -> Stream:
        self.permits = self.num_batch
        return _Waiting(self, self.children[0].open(draws))

    def take_permit(self) -> None:
        """Waits for a permit.

        Raises:
            RuntimeError: none came within `config.get_callback_timeout` seconds.
        """
        timeout = config.get_callback_timeout()
        with self.changed:
            if not self.changed.wait_for(lambda: self.permits > 0 or self.disabled, timeout):
                raise RuntimeError(
                    f"sync_wait: waited {timeout} seconds for sync_update({self.condition_name!r}), which "
                    f"must be called after every {self.num_batch} rows"
                )
            self.permits -= not self.disabled

    def give_permits(self, count: int | None, data: Any) -> None:
        """Calls the callback and lets `count` more rows pass; default: as many as at first."""
        if self.callback is not None:
            self.callback(data)
        with self.changed:
            self.permits += (
                self.num_batch if count is None else checked_integer("sync_update", "num_batch", count, 1)
            )
            self.changed.notify_all()

    def disable(self) -> None:
        """Lets all rows pass from now on."""
        with self.changed:
            self.disabled = True
            self.changed.notify_all()


class _Waiting(DerivedStream):
    def __init__(self, node: SyncWaitDataset, inner: Stream) -> None:
        super().__init__(inner)
        self.node = node

    def read(self, count: int) -> Block | None:
        block = self.inner.read(1)
        if block is not None:
            self.node.take_permit()
        return block
