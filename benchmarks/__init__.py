"""The same work in every framework on this machine, side by side: ``python -m benchmarks TABLE...``."""
