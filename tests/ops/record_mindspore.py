"""Records what MindSpore gives for the calls of `mindspore_cases`: ``python tests/ops/record_mindspore.py``
with MindSpore installed.

What MindSpore itself refuses on the CPU is left out of the record, and named on the output.
"""
from __future__ import annotations

from pathlib import Path

import mindspore
import numpy as np
from mindspore_cases import expressions, flat, names

FILE = Path(__file__).parent / "data" / "mindspore_2_10.npz"


def main() -> None:
    scope, record = names(mindspore), {}
    for text in expressions():
        try:
            results = flat(eval(text, scope))
        except Exception as error:
            print(f"{text}\n    {type(error).__name__}: {str(error).splitlines()[0][:150]}")
            continue
        for number, array in enumerate(results):
            record[f"{text}#{number}"] = array
    np.savez_compressed(
        FILE, **{f"a{i}": a for i, a in enumerate(record.values())}, keys=np.array(list(record))
    )


if __name__ == "__main__":
    main()
