"""Shows that MindSpore reads Mycelia's checkpoints, and Mycelia MindSpore's, bit for bit.

checkpoint_oracle.py compare PYTHON             everything below, for LeNet and ResNet-50 with an optimizer,
    in both formats, with PYTHON's MindSpore as the other side
checkpoint_oracle.py write NETWORK FILE         in either environment: parameters of a network and its
    optimizer; of LeNet also every element type, and text where the format has it
checkpoint_oracle.py show FILE                  prints a digest of each entry
checkpoint_oracle.py back NETWORK FILE COPY     loads a file into the network, and saves the network again
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

try:
    import mindspore as ms
except ImportError:
    import mycelia as ms  # type: ignore[no-redef]

nn: Any = ms.nn


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="same")
        self.norm = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc = nn.SequentialCell(
            nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10)
        )


class Bottleneck(nn.Cell):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, pad_mode="pad", padding=1)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU()
        self.down_sample = None
        if stride != 1 or channels != 4 * width:
            self.down_sample = nn.SequentialCell(
                nn.Conv2d(channels, 4 * width, 1, stride), nn.BatchNorm2d(4 * width)
            )


class ResNet50(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, pad_mode="pad", padding=3), nn.BatchNorm2d(64)
        channels = 64
        for number, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
            layer = []
            for block in range(blocks):
                layer.append(Bottleneck(channels, width, 2 if number > 1 and not block else 1))
                channels = 4 * width
            setattr(self, f"layer{number}", nn.SequentialCell(layer))
        self.end_point = nn.Dense(2048, 10)


NETWORKS = {"lenet": LeNet5, "resnet50": ResNet50}
KINDS = (
    "bool_",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bfloat16",
)


class Training(nn.Cell):
    """A network and its optimizer, as a training step holds them."""

    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network
        make = nn.Adam if isinstance(network, LeNet5) else nn.Momentum
        arguments = (1e-3,) if isinstance(network, LeNet5) else (0.1, 0.9)
        self.optimizer = make(network.trainable_params(), *arguments)


def write(name: str, path: str) -> None:
    ms.set_seed(0)
    form = path.rpartition(".")[2]
    training = Training(NETWORKS[name]())
    entries = [{"name": p.name, "data": p} for _, p in training.parameters_and_names()]
    appended: dict[str, Any] = {}
    if name == "lenet":
        array = np.arange(6).reshape(2, 3)
        entries += [{"name": f"types.{kind}", "data": ms.Tensor(array, getattr(ms, kind))} for kind in KINDS]
        if form == "ckpt":
            appended = {"epoch": 3, "rate": 0.5, "best": True, "note": "grüße"}
    ms.save_checkpoint(entries, path, append_dict=appended, format=form)


def show(path: str) -> None:
    loaded = ms.load_checkpoint(path, format=path.rpartition(".")[2])
    for name, value in sorted(loaded.items()):
        if isinstance(value, str):
            print(f"{name:40}{value!r}")
            continue
        array = value.asnumpy() if value.dtype != ms.bfloat16 else value.astype(ms.float32).asnumpy()
        kind = str(value.dtype)
        print(f"{name:40}{kind:10}{value.shape!s:22}{hashlib.sha256(array.tobytes()).hexdigest()[:16]}")


def back(name: str, path: str, copy: str) -> None:
    training = Training(NETWORKS[name]())
    form = path.rpartition(".")[2]
    missing, _ = ms.load_param_into_net(training, ms.load_checkpoint(path, format=form), strict_load=True)
    if missing:
        raise SystemExit(f"{path}: these parameters of the network are not in it: {missing}")
    ms.save_checkpoint(training, copy, format=form)


def _without_scalars(line: str) -> str:
    """MindSpore writes scalars into safetensors files as vectors of one element."""
    return " ".join(line.replace("(1,)", "()").split())


def compare(python: str) -> None:
    """Runs every action on both sides; ends with status 1 where anything differs."""

    def run(side: str, *action: str) -> str:
        done = subprocess.run([side, __file__, *action], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{side} {' '.join(action)} failed:\n{done.stderr[-2000:]}")
        return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("["))

    here, sides = sys.executable, {"Mycelia": sys.executable, "MindSpore": python}
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            for form in ("ckpt", "safetensors"):
                files = {}
                for side, program in sides.items():
                    files[side] = str(Path(folder, f"{name}_{side}.{form}"))
                    run(program, "write", name, files[side])
                names = {}
                for side, path in files.items():
                    ours, theirs = (run(program, "show", path) for program in sides.values())
                    entries = ours.splitlines()
                    names[side] = sorted(line.split()[0] for line in entries)
                    failed |= ours != theirs or not entries
                    verdict = "equal" if ours == theirs else "DIFFERENT"
                    print(f"{name} {form} of {side}: {len(entries)} entries, read by both: {verdict}")
                    if not entries[0].startswith("types."):
                        copy = path.replace(f".{form}", f"_back.{form}")
                        run(here, "back", name, path, copy)
                        again = set(map(_without_scalars, run(python, "show", copy).splitlines()))
                        kept = again & set(map(_without_scalars, theirs.splitlines()))
                        same = len(again) == len(kept)
                        failed |= not same
                        print(
                            f"{name} {form} of {side}: through a network of Mycelia and back to MindSpore: "
                            f"{len(kept)} of {len(again)} parameters equal"
                        )
                failed |= names["Mycelia"] != names["MindSpore"]
                verdict = "equal" if names["Mycelia"] == names["MindSpore"] else "DIFFERENT"
                print(f"{name} {form}: names {verdict}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    {"write": write, "show": show, "back": back, "compare": compare}[sys.argv[1]](*sys.argv[2:])
