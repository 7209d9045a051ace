"""Iteration over the batches of a dataset for a network, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class DatasetHelper:
    """Gives the batches of one epoch each time that it is iterated over.

    Args:
        dataset: where batches come from.
        dataset_sink_mode: accepted; data go to the network directly.
        sink_size: with dataset_sink_mode, batches of an epoch; -1 for the whole dataset.
        epoch_num: accepted.

    Raises:
        TypeError: dataset is no dataset.
        ValueError: sink_size is neither -1 nor positive.
    """

    def __init__(
        self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1
    ) -> None:
        if not hasattr(dataset, "create_tuple_iterator"):
            raise TypeError(
                f"DatasetHelper: dataset must be a dataset. Received: {dataset!r:.80} (of type "
                f"{type(dataset).__name__})"
            )
        if (
            isinstance(sink_size, bool)
            or not isinstance(sink_size, int)
            or (sink_size < 1 and sink_size != -1)
        ):
            raise ValueError(
                f"DatasetHelper: sink_size must be -1 or positive. Received: sink_size={sink_size!r}"
            )
        self.dataset = dataset
        self._steps = sink_size if dataset_sink_mode else -1
        self._rest: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._steps == -1:
            yield from self.dataset.create_tuple_iterator(num_epochs=1)
            return
        given = 0
        while given < self._steps:
            if self._rest is None:
                self._rest = iter(self.dataset.create_tuple_iterator(num_epochs=1))
            batch = next(self._rest, None)
            if batch is None:
                if not given and not self.dataset.get_dataset_size():
                    return
                self._rest = None
                continue
            given += 1
            yield batch

    def sink_size(self) -> int:
        """Batches of an epoch."""
        return self.dataset.get_dataset_size() if self._steps == -1 else self._steps

    def types_shapes(self) -> tuple[list[Any], list[Any]]:
        """dtypes and shapes of a batch's columns."""
        return self.dataset.output_types(), self.dataset.output_shapes()

    def release(self) -> None:
        """Lets the iteration under way go."""
        self._rest = None

    stop_send = continue_send = release


def connect_network_with_dataset(network: Any, dataset_helper: DatasetHelper) -> Any:
    """The network itself: it is called with the batches that the helper gives."""
    return network
