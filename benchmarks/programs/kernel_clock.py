"""How much of the time of a call passes inside kernels. Mycelia only: it times its own launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock


def seconds_in_kernels(function: Callable[[], Any], calls: int = 5) -> float:
    """Seconds that native instructions take in one call, the median over some calls.

    Each launch of a plan is timed instruction by instruction. What Tensor's native fast path carries out (an
    addition of at most 1,024 elements and the like) is no launch and counts as time outside.
    """
    from mycelia.engine.compiled import Launchable

    plain, spent = Launchable.run, 0.0
    timed: dict[int, Any] = {}  # the executables whose instructions are timed

    def run(launchable: Any, inputs: Any) -> Any:
        nonlocal spent
        executable = launchable.executable
        if id(executable) not in timed:
            timed[id(executable)] = executable
            executable.profile(True)
        outputs = plain(launchable, inputs)
        spans = executable.times()
        spent += float((spans[:, 1] - spans[:, 0]).sum()) / 1e9
        return outputs

    seconds = []
    try:
        with mock.patch.object(Launchable, "run", run):
            function()  # switches the timing on
            for _ in range(calls):
                spent = 0.0
                function()
                seconds.append(spent)
    finally:
        for executable in timed.values():
            executable.profile(False)
    return sorted(seconds)[len(seconds) // 2]
