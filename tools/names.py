"""Which of MindSpore's names that programs need are here: ``python tools/names.py [--all]``.

`tools/data/used_names.tsv` holds the needed names with their uses in public model collections: those with any
use in MindCV or MindYOLO, those with 40 uses or more in all, and whether used or not every loss, optimizer,
rate schedule, metric, callback, initializer and recurrent layer. The exit status is 1 when a name is missing
that is not left out on purpose.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import Counter
from pathlib import Path

LIST = Path(__file__).parent / "data" / "used_names.tsv"

# What is left out on purpose: a pattern of whole names, and why.
LEFT_OUT = (
    (r"mindspore\.ops\.(All|Reduce|Neighbor|Collective)\w*|mindspore\.ops\.(Broadcast|ReduceOp)(\.\w+)?",
     "communication between processes"),
    (r"mindspore\.communication(\.\w+)*|mindspore\.mint\.distributed\.\w+|mindspore\.ops\.communication\.\w+",
     "communication between processes"),
    (r"mindspore\.parallel(\.\w+)*", "automatic parallelism"),
    (r"mindspore\.ops\.(Custom\w*|DataType(\.\w+)*|AiCPURegOp|TBERegOp)", "kernels of the user's own"),
    (r"mindspore\.device_context\.ascend(\.\w+)*", "a setting of Ascend"),
    (r"mindspore\.ops\.auto_generate\.GroupedMatmul\w*", "Ascend only"),
    (r"mindspore\.(nn\.optim|train\.callback)\.(OptTFTWrapper|TrainFaultTolerance|FlopsUtilizationCollector)",
     "Ascend only"),
    (r"mindspore\.nn\.optim\.(thor|AdaSumBy\w+)", "Ascend and several processes only"),
    (r"mindspore\.train\.callback\.SummaryLandscape", "MindInsight only"),
    (r"mindspore\.tensor\.Tensor\.from_numpy|mindspore\._c_expression\.Tensor|mindspore\.ops\.concatcat",
     "MindSpore 2.10 has no such name either"),
)


def needed() -> list[tuple[str, int]]:
    """The needed names with their uses, the most used first."""
    rows = [line.split("\t") for line in LIST.read_text().splitlines()[1:]]
    return [(name, int(total)) for total, _, _, name in rows]


def reason(name: str) -> str | None:
    """Why a name is left out, or None where it is not."""
    return next((why for pattern, why in LEFT_OUT if re.fullmatch(pattern, name)), None)


def resolves(name: str) -> bool:
    """Whether the name, said of `mindspore`, is found when Mycelia stands for it."""
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        if hasattr(found, part):
            found = getattr(found, part)
            continue
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ImportError:
            return False
    return True


def state(name: str) -> str:
    """``"here"``, ``"missing"`` or ``"left out"``."""
    if resolves(name):
        return "here"
    return "left out" if reason(name) else "missing"


def main(arguments: list[str] | None = None) -> int:
    """Prints the names; see the module's text."""
    parser = argparse.ArgumentParser(description="MindSpore's needed names: which are here.")
    parser.add_argument("--all", action="store_true", help="also the names that are here")
    everything = parser.parse_args(arguments).all
    from mycelia import compat

    compat.install()
    counts: Counter[str] = Counter()
    for name, uses in needed():
        found = state(name)
        counts[found] += 1
        if everything or found != "here":
            why = f": {reason(name)}" if found == "left out" else ""
            print(f"{found:9} {uses:6} {name}{why}")
    print(", ".join(f"{counts[key]} {key}" for key in ("here", "left out", "missing")))
    return 1 if counts["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
