"""Records what MindSpore gives for the calls of `mindspore_cases` and `network_cases`: ``python
tests/ops/record_mindspore.py [networks]`` with MindSpore installed.

What MindSpore itself refuses on the CPU is left out of the record, and named on the output.
"""
from __future__ import annotations

import sys
from pathlib import Path

import mindspore
import mindspore_cases
import network_cases
import numpy as np

DATA = Path(__file__).parent / "data"
RECORDS = {
    "all": (mindspore_cases, DATA / "mindspore_2_10.npz"),
    "networks": (network_cases, DATA / "mindspore_2_10_networks.npz"),
}


def record(cases, file: Path) -> None:
    scope, results = cases.names(mindspore), {}
    for text in mindspore_cases.expressions(cases.EXPRESSIONS):
        try:
            found = mindspore_cases.flat(eval(text, scope))
        except Exception as error:
            print(f"{text}\n    {type(error).__name__}: {str(error).splitlines()[0][:150]}")
            continue
        for number, array in enumerate(found):
            results[f"{text}#{number}"] = array
    arrays = {f"a{i}": a for i, a in enumerate(results.values())}
    np.savez_compressed(file, **arrays, keys=np.array(list(results)))


if __name__ == "__main__":
    for which in sys.argv[1:] or RECORDS:
        record(*RECORDS[which])
