"""Kills a process while it saves a checkpoint, again and again, and looks at what lies there afterwards.

kill_while_saving.py [TIMES] [ckpt|safetensors]     ends with status 1 where a checkpoint was not whole

Each time a process saves checkpoints over one file without a pause, each whole of one number, and is killed
at another moment. The file must then hold one number throughout, with its checksum, and no smaller one than
before.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from mycelia import load_checkpoint

SAVER = """
import sys
import numpy as np
from mycelia import save_checkpoint
path, number, form = sys.argv[1], int(sys.argv[2]), sys.argv[3]
print("ready", flush=True)
while True:
    number += 1
    save_checkpoint({f"w{i}": np.full((256, 1024), number, np.float32) for i in range(8)}, path,
                    crc_check=True, format=form)
    print(number, flush=True)
"""


def number_of(path: str) -> int:
    """The number that a checkpoint holds throughout.

    Raises:
        ValueError: it holds several, or is damaged.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing checksum
        loaded = load_checkpoint(path, crc_check=True)
    arrays = [value.asnumpy() for value in loaded.values()]  # type: ignore[union-attr]
    numbers = {float(number) for array in arrays for number in np.unique(array)}
    if len(numbers) != 1 or len(loaded) != 8:
        raise ValueError(f"{path} holds the numbers {sorted(numbers)} in {len(loaded)} tensors")
    return int(numbers.pop())


def main(times: int = 100, form: str = "ckpt", seed: int = 0) -> int:
    """How many times a checkpoint was not whole, or had gone back to an older one."""
    failures, moments = 0, random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, known = str(Path(folder, f"w.{form}")), 0
        for attempt in range(times):
            saver = subprocess.Popen(
                [sys.executable, "-c", SAVER, path, str(known), form], stdout=subprocess.PIPE, text=True
            )
            assert saver.stdout is not None
            saver.stdout.readline()
            if not known:
                known = int(saver.stdout.readline())
            time.sleep(moments.uniform(0, 0.05))
            saver.send_signal(signal.SIGKILL)
            finished = [int(line) for line in saver.stdout.read().split() if line.isdigit()]
            saver.wait()
            least = max([known, *finished])
            try:
                found = number_of(path)
                if not least <= found <= least + 1:
                    raise ValueError(f"{path} holds number {found}; {least} was saved")
                known = found
            except (OSError, ValueError) as error:
                failures += 1
                print(f"attempt {attempt}: {error}")
        left = [name for name in os.listdir(folder) if name != os.path.basename(path)]
    print(
        f"killed {times} times while saving {form}: {failures} checkpoints not whole, {len(left)} parts left"
    )
    return failures


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(1 if main(int(given[0]) if given else 100, given[1] if len(given) > 1 else "ckpt") else 0)
