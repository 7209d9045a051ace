"""MindSpore's own name for what communication knows of itself."""

from mycelia.communication.management import GlobalComm


def _is_initialized() -> bool:
    """Whether `init` was called."""
    return GlobalComm.INITED


__all__ = ["GlobalComm", "_is_initialized"]
