"""Settings of one kind of device: MindSpore's ``mindspore.device_context``."""

from __future__ import annotations

from types import SimpleNamespace


def _threads_num(num: int) -> None:
    """Sets the number of threads that run an operator on the CPU (the same threads as of
    `mycelia.runtime.dispatch_threads_num`)."""
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(
            f"threads_num: num must be an int. Received: num={num!r} (of type {type(num).__name__})"
        )
    if num < 1:
        raise ValueError(f"threads_num: num must be positive. Received: num={num}")
    from mycelia.runtime.threads import set_num_threads

    set_num_threads(num)


def _available() -> bool:
    return True


def _absent() -> bool:
    return False


cpu = SimpleNamespace(
    op_tuning=SimpleNamespace(threads_num=_threads_num), is_available=_available, device_count=lambda: 1
)
ascend = SimpleNamespace(is_available=_absent, device_count=lambda: 0)
gpu = SimpleNamespace(is_available=_absent, device_count=lambda: 0)

__all__ = ["ascend", "cpu", "gpu"]
