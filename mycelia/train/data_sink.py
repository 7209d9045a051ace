"""`data_sink`: a training step that fetches its own data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def data_sink(
    fn: Callable[..., Any],
    dataset: Any,
    sink_size: int = 1,
    jit_config: Any = None,
    input_signature: Any = None,
) -> Callable[[], Any]:
    """A function without arguments that runs ``fn`` on the next batches of a dataset, which begins again at
    its
    end.

    Args:
        fn: takes a batch's columns.
        dataset: where batches come from.
        sink_size: batches for each call.
        jit_config: a `JitConfig`: compiles ``fn``; None leaves it as it is.
        input_signature: accepted, as `jit` has it.

    Returns:
        A function that returns what ``fn`` did for the last of its batches.

    Raises:
        TypeError: fn is not callable, or dataset no dataset.
        ValueError: sink_size is not positive, or the dataset has no batches.

    Example:
        >>> step = data_sink(train_step, dataset, sink_size=10)
        >>> for _ in range(steps // 10):
        ...     loss = step()
    """
    if not callable(fn):
        raise TypeError(f"data_sink: fn must be callable. Received: {fn!r} (of type {type(fn).__name__})")
    if not hasattr(dataset, "create_tuple_iterator"):
        raise TypeError(
            f"data_sink: dataset must be a dataset. Received: {dataset!r:.80} (of type "
            f"{type(dataset).__name__})"
        )
    if isinstance(sink_size, bool) or not isinstance(sink_size, int) or sink_size < 1:
        raise ValueError(
            f"data_sink: sink_size must be a positive integer. Received: sink_size={sink_size!r}"
        )
    if not dataset.get_dataset_size():
        raise ValueError("data_sink: the dataset has no batches")
    step = fn
    if jit_config is not None:
        from mycelia.engine.jit import jit

        step = jit(fn)
    batches: list[Any] = []  # the iterator under way

    def following() -> Any:
        while True:
            if not batches:
                batches.append(iter(dataset.create_tuple_iterator(num_epochs=1)))
            for batch in batches[0]:
                return batch
            batches.clear()

    def run() -> Any:
        result = None
        for _ in range(sink_size):
            result = step(*following())
        return result

    return run
